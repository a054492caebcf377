// Package physical chooses the operators of a plan: it turns the algebra's column numbers into positions,
// splits join conditions into keys and a rest, finds reads by key, and cuts stream plans into
// fragments.
package physical

import (
	"cmp"
	"slices"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/planner/prop"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
)

// Config is what the builder needs besides the plan.
type Config struct {
	Meta     *logical.Meta
	Registry *fn.Registry
	// Parallelism is the number of actors of a parallel fragment; 0 for a batch plan.
	Parallelism int
	// Indexes lists the indexes of a relation that a batch plan may read; nil: none.
	Indexes func(*catalog.Relation) []Index
	// KeyIndexes lists the indexes of a relation that joins of a stream plan may read in its place; nil: none.
	KeyIndexes func(*catalog.Relation) []*catalog.Relation
	// Zoned: local time is that of a zone whose clock is changed.
	Zoned bool
	// Share: which sides of joins of a stream plan that a relation keeps under the join key are not kept by the join.
	Share plan.Sharing
	// Common are nodes of a stream plan with several parents, which are built once, and what these need.
	Common map[logical.Node]logical.ColSet
}

type builder struct {
	Config
	stream bool
	rels   map[catalog.ID]*catalog.Relation
	sys    []*catalog.Relation
	// loops counts the recursive queries around what is being built.
	loops int
	// common has what was built for nodes with several parents.
	common map[logical.Node]built
	// taken are the indexes that joins read.
	taken []*catalog.Relation
}

// failure carries an error out of the recursion; see Batch and Stream.
type failure struct{ err error }

func catch(err *error) {
	switch r := recover().(type) {
	case nil:
	case failure:
		*err = r.err
	default:
		panic(r)
	}
}

func unsupported(pos int, what string) {
	panic(failure{sqlerr.New(sqlerr.FeatureNotSupported, pos, "%s is not supported yet", what)})
}

// built is a physical node and the column at each position of its output.
type built struct {
	node plan.Node
	cols []logical.ColID
}

func (b built) pos(id logical.ColID) int {
	i := slices.Index(b.cols, id)
	if i < 0 {
		panic("physical: a column is used that the input does not have")
	}
	return i
}

func (b built) positions(ids []logical.ColID) []int {
	if ids == nil {
		return nil
	}
	out := make([]int, len(ids))
	for i, id := range ids {
		out[i] = b.pos(id)
	}
	return out
}

func (b built) order(os []logical.Order) []plan.SortKey {
	var out []plan.SortKey
	for _, o := range os {
		out = append(out, plan.SortKey{Col: b.pos(o.Col), Desc: o.Desc, NullsFirst: o.NullsFirst})
	}
	return out
}

// expr rewrites column numbers to positions in cols.
func expr(e scalar.Expr, cols []logical.ColID) scalar.Expr {
	return logical.MapExpr(e, func(x scalar.Expr) scalar.Expr {
		if c, ok := x.(*scalar.Column); ok {
			i := slices.Index(cols, c.Index)
			if i < 0 {
				panic("physical: expression uses a column that the input does not have: " + c.Name)
			}
			d := *c
			d.Index = i
			return &d
		}
		return nil
	})
}

// props makes the Props of a node from its logical one.
func (b *builder) props(n logical.Node, cols []logical.ColID) plan.Props {
	p := plan.Props{AppendOnly: !b.stream || prop.AppendOnly(n)}
	for _, c := range cols {
		i := b.Meta.Info(c)
		p.Cols = append(p.Cols, plan.Column{Name: i.Name, Type: i.Type})
	}
	if b.stream {
		if key := keyWithin(n, cols); key != nil {
			p.HasKey = true
			p.Key = make([]int, len(key))
			for i, c := range key {
				p.Key[i] = slices.Index(cols, c)
			}
		}
	}
	return p
}

// keyWithin gives a key of n that consists of cols, nil if there is none.
func keyWithin(n logical.Node, cols []logical.ColID) []logical.ColID {
	set := logical.SetOf(cols...)
	var out []logical.ColID
	for _, k := range prop.Keys(n) {
		if k.Within(set) && (out == nil || len(k) < len(out)) {
			out = append([]logical.ColID{}, k.Sorted()...)
		}
	}
	if out != nil {
		slices.SortFunc(out, func(x, y logical.ColID) int { return cmp.Compare(slices.Index(cols, x), slices.Index(cols, y)) })
	}
	return out
}

func (b *builder) use(r *catalog.Relation) {
	if r.Kind == catalog.System {
		if !slices.Contains(b.sys, r) {
			b.sys = append(b.sys, r)
		}
		return
	}
	b.rels[r.ID] = r
}

func (b *builder) relations() []*catalog.Relation {
	var rs []*catalog.Relation
	for _, r := range b.rels {
		rs = append(rs, r)
	}
	slices.SortFunc(rs, func(x, y *catalog.Relation) int { return cmp.Compare(x.ID, y.ID) })
	return append(rs, b.sys...)
}

// node builds n; at least the columns in need are output.
func (b *builder) node(n logical.Node, need logical.ColSet) built {
	if used, ok := b.Common[n]; ok {
		return b.fork(n, used)
	}
	return b.own(n, need)
}

// own builds a node for one consumer.
func (b *builder) own(n logical.Node, need logical.ColSet) built {
	switch n := n.(type) {
	case *logical.Scan:
		return b.scan(n, nil)
	case *logical.Values:
		out := &plan.Values{Props: b.props(n, n.Out), Moving: b.stream && slices.ContainsFunc(logical.NodeExprs(n), prop.Clock)}
		for _, r := range n.Rows {
			row := make([]scalar.Expr, len(r))
			for i, e := range r {
				row[i] = expr(e, nil)
			}
			out.Rows = append(out.Rows, row)
		}
		return built{out, n.Out}
	case *logical.Filter:
		return b.filter(n, need)
	case *logical.Project:
		in := b.node(n.In, logical.ColsOf(logical.NodeExprs(n)...))
		if b.Parallelism <= 1 && b.onlyDrops(n) {
			// Every consumer says itself which columns it wants. (Before an exchange less is sent.)
			return in
		}
		in, timed := b.procTime(in, n, logical.ColsOf(logical.NodeExprs(n)...))
		out := &plan.Project{In: in.node}
		var cols []logical.ColID
		for _, e := range n.Exprs {
			out.Exprs = append(out.Exprs, expr(timed(e.Expr), in.cols))
			cols = append(cols, e.ID)
		}
		out.Props = b.props(n, cols)
		return built{out, cols}
	case *logical.Join:
		return b.join(n, need)
	case *logical.Lookup:
		return b.lookup(n, need)
	case *logical.Agg:
		return b.agg(n)
	case *logical.TopN:
		return b.topN(n, need)
	case *logical.Window:
		return b.window(n, need)
	case *logical.UnionAll:
		if len(n.Ins) == 1 && n.Source == 0 {
			return b.arrange(b.node(n.Ins[0], logical.SetOf(n.Map[0]...)), n.Map[0], n.Out)
		}
		out := &plan.UnionAll{SourceColumn: n.Source != 0}
		for k, in := range n.Ins {
			x := b.node(in, logical.SetOf(n.Map[k]...))
			out.Ins = append(out.Ins, b.arrange(x, n.Map[k], n.Out).node)
		}
		out.Props = b.props(n, n.Cols())
		if b.stream {
			out.AppendOnly = prop.AppendOnly(n)
		}
		return built{out, n.Cols()}
	case *logical.Hop:
		used := logical.ColSet{}
		used.AddSet(need)
		delete(used, n.Start)
		delete(used, n.End)
		used.Add(n.Time)
		in := b.node(n.In, used)
		in = b.narrow(in, used, n.In)
		cols := append(slices.Clone(in.cols), n.Start, n.End)
		return built{&plan.Hop{Props: b.props(n, cols), In: in.node, TimeCol: in.pos(n.Time), Size: n.Size, Slide: n.Slide, Offset: n.Offset, Cumulate: n.Cumulate}, cols}
	case *logical.Session:
		return b.session(n, need)
	case *logical.ProjectSet:
		used := logical.ColsOf(logical.NodeExprs(n)...)
		used.AddSet(need.And(logical.OutSet(n.In)))
		in := b.node(n.In, used)
		out := &plan.ProjectSet{In: in.node, Ordinality: n.Ord != 0}
		cols := slices.Clone(in.cols)
		for _, f := range n.Funcs {
			sf := plan.SetFunc{Fn: f.Fn}
			for _, a := range f.Args {
				sf.Args = append(sf.Args, expr(a, in.cols))
			}
			for _, c := range f.Out {
				sf.Types = append(sf.Types, b.Meta.Type(c))
			}
			cols = append(cols, f.Out...)
			out.Funcs = append(out.Funcs, sf)
		}
		if n.Ord != 0 {
			cols = append(cols, n.Ord)
		}
		out.Props = b.props(n, cols)
		return built{out, cols}
	case *logical.Lock:
		return b.lock(n, need)
	case *logical.Max1Row:
		used := logical.SetOf(n.GroupBy...)
		used.AddSet(need)
		in := b.node(n.In, used)
		return built{&plan.Max1Row{Props: b.props(n, in.cols), In: in.node, GroupBy: in.positions(n.GroupBy)}, in.cols}
	case *logical.Recursive:
		return b.recursive(n)
	case *logical.Working:
		return built{&plan.Working{Props: b.props(n, n.Out), ID: n.ID, Name: n.Name}, n.Out}
	}
	panic("physical: unknown node")
}

func (b *builder) session(n *logical.Session, need logical.ColSet) built {
	used := logical.SetOf(n.Partition...)
	used.AddSet(need)
	used.AddSet(logical.SetOf(n.RowKey...))
	delete(used, n.Start)
	delete(used, n.End)
	used.Add(n.Time)
	last := n.Time
	if n.Last != 0 {
		last = n.Last
		used.Add(last)
	}
	in := b.node(n.In, used)
	in = b.narrow(in, used, n.In)
	cols := append(slices.Clone(in.cols), n.Start, n.End)
	out := &plan.Session{Props: b.props(n, cols), In: in.node, TimeCol: in.pos(n.Time), LastCol: in.pos(last), Gap: n.Gap,
		Partition: in.positions(n.Partition), AppendOnlyIn: in.node.Properties().AppendOnly}
	if b.stream {
		out.RowKey = in.positions(n.RowKey)
	}
	return built{out, cols}
}

// arrange projects x to the columns from, which are then called to.
func (b *builder) arrange(x built, from, to []logical.ColID) built {
	if slices.Equal(x.cols, from) {
		same := true
		for i := range from {
			same = same && b.Meta.Type(from[i]) == b.Meta.Type(to[i])
		}
		if same {
			return built{x.node, to}
		}
	}
	p := &plan.Project{In: x.node}
	in := x.node.Properties()
	p.AppendOnly = in.AppendOnly
	for i, c := range from {
		ref := b.Meta.Ref(c)
		ref.Index = x.pos(c)
		p.Exprs = append(p.Exprs, ref)
		info := b.Meta.Info(to[i])
		p.Cols = append(p.Cols, plan.Column{Name: info.Name, Type: b.Meta.Type(c)})
	}
	p.HasKey, p.Key = mapKey(in, p.Exprs)
	return built{p, to}
}

// mapKey carries a key through a projection.
func mapKey(in *plan.Props, exprs []scalar.Expr) (bool, []int) {
	if !in.HasKey {
		return false, nil
	}
	key := []int{}
	for _, k := range in.Key {
		at := -1
		for i, e := range exprs {
			if c, ok := e.(*scalar.Column); ok && c.Index == k {
				at = i
				break
			}
		}
		if at < 0 {
			return false, nil
		}
		key = append(key, at)
	}
	return true, key
}

// narrow drops the columns of x that are not in used.
func (b *builder) narrow(x built, used logical.ColSet, n logical.Node) built {
	var keep []logical.ColID
	for _, c := range x.cols {
		if used.Has(c) {
			keep = append(keep, c)
		}
	}
	if len(keep) == len(x.cols) {
		return x
	}
	return b.arrange(x, keep, keep)
}

func (b *builder) filter(n *logical.Filter, need logical.ColSet) built {
	used := logical.ColsOf(n.Preds...)
	used.AddSet(need)
	var in built
	preds := n.Preds
	var bounds []prop.TimeBound
	if b.stream {
		preds, bounds = b.timeBounds(preds)
	}
	if s, ok := n.In.(*logical.Scan); ok && !b.stream {
		var rest []scalar.Expr
		in, rest = b.scanWith(s, preds)
		preds = rest
	} else {
		in = b.node(n.In, used)
	}
	in, timed := b.procTime(in, n, used)
	preds = slices.Clone(preds)
	for i := range preds {
		preds[i] = timed(preds[i])
	}
	if len(preds) > 0 {
		rows := n
		if len(bounds) > 0 {
			rows = &logical.Filter{In: n.In, Preds: preds}
		}
		in = built{&plan.Filter{Props: b.props(rows, in.cols), In: in.node, Pred: expr(logical.Conj(preds), in.cols)}, in.cols}
	}
	return b.temporal(n, in, bounds)
}

func (b *builder) scanWith(s *logical.Scan, preds []scalar.Expr) (built, []scalar.Expr) {
	if s.Rel.Kind == catalog.Source || s.Rel.Made() {
		return b.scan(s, nil), preds
	}
	acc, rest := b.access(s, preds)
	if x := b.indexScan(s, preds, &acc); x != nil {
		b.use(x.Rel)
		in := b.scan(s, nil)
		x.Props = *in.node.Properties()
		return built{x, in.cols}, preds
	}
	return b.scan(s, &acc), rest
}

func (b *builder) scan(n *logical.Scan, acc *plan.Access) built {
	b.use(n.Rel)
	cols := n.Cols()
	p := b.props(n, cols)
	for i := range p.Cols {
		if i < len(n.Ords) {
			p.Cols[i].Hidden = n.Rel.Columns[n.Ords[i]].Hidden
		}
	}
	switch {
	case n.Rel.Kind == catalog.Source:
		if n.Rel.Watermark != nil {
			return b.watermark(n)
		}
		return built{&plan.SourceScan{Props: p, Rel: n.Rel, Cols: n.Ords, RowID: n.RowID != 0}, cols}
	case b.stream && n.Rel.Kind == catalog.System:
		unsupported(sqlerr.NoPos, "a materialized view over the system relation "+n.Rel.Name)
	case b.stream && n.Rel.Made():
		unsupported(sqlerr.NoPos, "a materialized view over the sequence "+n.Rel.Name)
	case b.stream:
		return built{&plan.TableScan{Props: p, Rel: n.Rel, Cols: n.Ords, Taken: n.Taken}, cols}
	}
	s := &plan.Scan{Props: p, Rel: n.Rel, Cols: n.Ords}
	if acc != nil {
		s.Access = *acc
	}
	return built{s, cols}
}

func (b *builder) agg(n *logical.Agg) built {
	if b.paned(n) {
		return b.hopAgg(n)
	}
	used := logical.SetOf(n.Keys...)
	for _, a := range n.Aggs {
		used.AddSet(logical.SetOf(a.Args...))
		if a.Filter != 0 {
			used.Add(a.Filter)
		}
		for _, o := range a.OrderBy {
			used.Add(o.Col)
		}
	}
	in := b.node(n.In, used)
	out := &plan.HashAgg{In: in.node, Keys: in.positions(n.Keys), AppendOnlyIn: in.node.Properties().AppendOnly}
	out.Aggs = b.aggs(n.Aggs, in)
	cols := n.Cols()
	out.Props = b.props(n, cols)
	return built{out, cols}
}

func (b *builder) aggs(as []logical.AggCol, in built) []plan.Agg {
	var out []plan.Agg
	for _, a := range as {
		x := plan.Agg{Fn: a.Fn, Args: in.positions(a.Args), Distinct: a.Distinct, Filter: -1, OrderBy: in.order(a.OrderBy), Type: b.Meta.Type(a.ID)}
		if a.Filter != 0 {
			x.Filter = in.pos(a.Filter)
		}
		out = append(out, x)
	}
	return out
}

func (b *builder) topN(n *logical.TopN, need logical.ColSet) built {
	used := logical.SetOf(n.GroupBy...)
	used.AddSet(need)
	used.AddSet(logical.SetOf(n.RowKey...))
	for _, o := range n.Order {
		used.Add(o.Col)
	}
	delete(used, n.Rank)
	in := b.node(n.In, used)
	in = b.narrow(in, used, n.In)
	cols := in.cols
	if n.Rank != 0 {
		cols = append(slices.Clone(cols), n.Rank)
	}
	p := b.props(n, cols)
	limit, offset := paramOnly(n.Limit), paramOnly(n.Offset)
	if !b.stream && len(n.GroupBy) == 0 && n.Rank == 0 {
		switch {
		case limit == nil && offset == nil:
			return b.sorted(in, n)
		case n.RowKey != nil || n.WithTies:
		case b.lockIn(in, n.Order) != nil:
			b.lockIn(in, n.Order).Each = limit != nil
			return built{&plan.Limit{Props: p, In: in.node, Limit: limit, Offset: offset}, cols}
		case len(n.Order) == 0, b.inOrder(in, n.Order):
			if len(n.Order) > 0 {
				in = b.sorted(in, n)
			}
			return built{&plan.Limit{Props: p, In: in.node, Limit: limit, Offset: offset}, cols}
		}
	}
	if b.stream {
		if limit != nil && !isConst(limit) || offset != nil && !isConst(offset) {
			unsupported(sqlerr.NoPos, "a LIMIT or OFFSET that is not a constant in a materialized view")
		}
	}
	out := &plan.TopN{
		Props: p, In: in.node, OrderBy: in.order(n.Order), Limit: limit, Offset: offset, WithTies: n.WithTies,
		GroupBy: in.positions(n.GroupBy), AppendOnlyIn: in.node.Properties().AppendOnly, RankOutput: n.Rank != 0,
	}
	out.RowKey = in.positions(n.RowKey)
	if b.stream {
		if out.RowKey == nil {
			out.RowKey = []int{}
		}
		out.RisingIn = limit != nil && risesIn(out)
	}
	return built{out, cols}
}

func isConst(e scalar.Expr) bool { _, ok := e.(*scalar.Const); return ok }

func paramOnly(e scalar.Expr) scalar.Expr {
	if e == nil {
		return nil
	}
	return expr(e, nil)
}

// sorted orders x, by nothing if a scan below gives that order.
func (b *builder) sorted(x built, n *logical.TopN) built {
	if len(n.Order) == 0 {
		return x
	}
	if b.lockIn(x, n.Order) != nil {
		return x
	}
	if s := b.orderedScan(x.node, x.order(n.Order)); s != nil {
		s.Ordered = true
		return x
	}
	return built{&plan.Sort{Props: *x.node.Properties(), In: x.node, OrderBy: x.order(n.Order)}, x.cols}
}

func (b *builder) inOrder(x built, os []logical.Order) bool {
	return b.orderedScan(x.node, x.order(os)) != nil
}

// orderedScan finds the scan below filters and projections whose key order is the wanted one.
func (b *builder) orderedScan(n plan.Node, want []plan.SortKey) *plan.Scan {
	for {
		switch x := n.(type) {
		case *plan.Filter:
			n = x.In
		case *plan.Limit:
			n = x.In
		case *plan.Project:
			next := make([]plan.SortKey, len(want))
			for i, w := range want {
				c, ok := x.Exprs[w.Col].(*scalar.Column)
				if !ok {
					return nil
				}
				next[i] = w
				next[i].Col = c.Index
			}
			want, n = next, x.In
		case *plan.Scan:
			if x.Access.Points != nil || x.Rel.Made() || x.Base != nil {
				return nil
			}
			fixed := map[int]bool{}
			for i := range x.Access.Prefix {
				fixed[x.Rel.Key[i].Col] = true
			}
			key := x.Rel.Key
			notNull := func(ord int) bool { return x.Rel.Columns[ord].NotNull || x.Rel.PrimaryKey != "" }
			k := 0
			for _, w := range want {
				ord := x.Cols[w.Col]
				if fixed[ord] {
					continue
				}
				for k < len(key) && fixed[key[k].Col] {
					k++
				}
				if k >= len(key) || key[k].Col != ord || key[k].Desc != w.Desc || key[k].NullsFirst != w.NullsFirst && !notNull(ord) {
					return nil
				}
				k++
			}
			return x
		default:
			return nil
		}
	}
}

// onlyDrops tells whether a projection computes nothing.
func (b *builder) onlyDrops(n *logical.Project) bool {
	for _, e := range n.Exprs {
		if c, ok := e.Expr.(*scalar.Column); !ok || c.Index != e.ID {
			return false
		}
	}
	return true
}
