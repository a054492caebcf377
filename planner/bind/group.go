package bind

import (
	"slices"
	"strconv"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

func itoa(i int) string { return strconv.Itoa(i) }

// maxGroupingSets is Postgres's limit of expanded grouping sets.
const maxGroupingSets = 4096

// groupBy binds GROUP BY: the grouping sets as lists of indexes into the distinct expressions.
// Without GROUP BY there is one empty set.
func (b *Binder) groupBy(s *scope, c *ast.SelectCore, targets []target) ([][]int, []scalar.Expr) {
	if len(c.GroupBy) == 0 {
		return [][]int{{}}, nil
	}
	s.q.clause = "GROUP BY"
	defer func() { s.q.clause = "" }()
	var exprs []scalar.Expr
	add := func(e ast.Expr) int {
		var x scalar.Expr
		if i, ok := b.findTarget(s, e, targets, "GROUP BY", false); ok {
			if targets[i].expr.Type().Kind == types.Unknown {
				targets[i].expr = b.resolve(targets[i].expr)
			}
			x = targets[i].expr
			noAggIn(s, x)
		} else {
			x = b.resolve(b.expr(s, e))
		}
		b.needEquality(x.Type(), e.Position())
		for i, o := range exprs {
			if logical.Equal(o, x) {
				return i
			}
		}
		exprs = append(exprs, x)
		return len(exprs) - 1
	}
	var expand func(it ast.GroupItem) [][]int
	setOf := func(it ast.GroupItem) []int {
		var set []int
		switch it.Kind {
		case ast.GroupSet:
			for _, e := range it.Sets {
				set = append(set, add(e.Expr))
			}
		default:
			set = append(set, groupExprs(add, it)...)
		}
		return set
	}
	expand = func(it ast.GroupItem) [][]int {
		switch it.Kind {
		case ast.GroupExpr, ast.GroupSet:
			return [][]int{setOf(it)}
		case ast.GroupRollup:
			var parts [][]int
			for _, p := range it.Sets {
				parts = append(parts, setOf(p))
			}
			var out [][]int
			for n := len(parts); n >= 0; n-- {
				var set []int
				for _, p := range parts[:n] {
					set = append(set, p...)
				}
				out = append(out, set)
			}
			return out
		case ast.GroupCube:
			var parts [][]int
			for _, p := range it.Sets {
				parts = append(parts, setOf(p))
			}
			if len(parts) > 12 {
				fail(sqlerr.TooManyColumns, it.Pos, "CUBE is limited to 12 elements")
			}
			var out [][]int
			for m := 0; m < 1<<len(parts); m++ {
				var set []int
				for i, p := range parts {
					if m>>(len(parts)-1-i)&1 == 0 {
						set = append(set, p...)
					}
				}
				out = append(out, set)
			}
			return out
		case ast.GroupGroupingSets:
			var out [][]int
			for _, p := range it.Sets {
				out = append(out, expand(p)...)
			}
			return out
		}
		return nil
	}
	sets := [][]int{{}}
	for _, it := range c.GroupBy {
		var next [][]int
		for _, base := range sets {
			for _, more := range expand(it) {
				next = append(next, union(base, more))
			}
		}
		if len(next) > maxGroupingSets {
			fail(sqlerr.StatementTooComplex, it.Pos, "too many grouping sets present (maximum %d)", maxGroupingSets)
		}
		sets = next
	}
	if c.GroupDist {
		sets = dedupSets(sets)
	}
	return sets, exprs
}

func groupExprs(add func(ast.Expr) int, it ast.GroupItem) []int {
	if r, ok := it.Expr.(*ast.Row); ok && !r.Explicit {
		var set []int
		for _, e := range r.Elems {
			set = append(set, add(e))
		}
		return set
	}
	return []int{add(it.Expr)}
}

func union(a, b []int) []int {
	out := append([]int(nil), a...)
	for _, x := range b {
		found := false
		for _, y := range out {
			found = found || x == y
		}
		if !found {
			out = append(out, x)
		}
	}
	return out
}

func dedupSets(sets [][]int) [][]int {
	var out [][]int
	for _, s := range sets {
		dup := false
		for _, o := range out {
			if len(union(o, s)) == len(o) && len(union(s, o)) == len(s) {
				dup = true
			}
		}
		if !dup {
			out = append(out, s)
		}
	}
	return out
}

func noAggIn(s *scope, e scalar.Expr) {
	cols := logical.ColsOf(e)
	for _, a := range s.q.aggs {
		if cols.Has(a.id) {
			fail(sqlerr.GroupingError, a.pos, "aggregate functions are not allowed in GROUP BY")
		}
	}
	for _, w := range s.q.windows {
		if cols.Has(w.id) {
			fail(sqlerr.WindowingError, w.pos, "window functions are not allowed in GROUP BY")
		}
	}
}

// group builds the aggregation and rewrites targets and having over its output.
func (b *Binder) group(s *scope, node logical.Node, sets [][]int, exprs []scalar.Expr, targets []target, having *scalar.Expr) logical.Node {
	// Everything that the aggregation reads becomes a column.
	have := logical.OutSet(node)
	pre := b.passAll(node)
	computed := false
	colOf := func(e scalar.Expr, name string) logical.ColID {
		if c, ok := e.(*scalar.Column); ok && have.Has(c.Index) && c.T == b.Meta.Type(c.Index) {
			return c.Index
		}
		for _, p := range pre {
			if logical.Equal(p.Expr, e) && !volatileExpr(e) {
				return p.ID
			}
		}
		id := b.Meta.New(name, e.Type())
		pre = append(pre, logical.ProjCol{ID: id, Expr: e})
		computed = true
		return id
	}
	keys := make([]logical.ColID, len(exprs))
	for i, e := range exprs {
		keys[i] = colOf(e, exprName(e))
	}
	// Columns that are functionally dependent on the grouping (a primary key is grouped by) are keys
	// as well.
	dependent := b.dependents(s, sets, exprs, targets, having)
	keySet := logical.SetOf(keys...)
	for _, d := range dependent {
		keySet.Add(d)
	}
	var aggs []logical.AggCol
	// Of several sets each has its own value of a direct argument that depends on the grouping.
	direct := map[[2]int]scalar.Expr{}
	for k, a := range s.q.aggs {
		ac := logical.AggCol{ID: a.id, Fn: a.fn, Distinct: a.distinct}
		for i, x := range a.args {
			if a.fn.Direct >= 0 && i < a.fn.DirectArgs(len(a.args)) {
				s.q.direct = true
				y := b.ungrouped(s, x, exprs, keys, keySet)
				s.q.direct = false
				if len(sets) > 1 && logical.ColsOf(y).Meets(keySet) {
					direct[[2]int{k, i}] = y
				}
			}
			ac.Args = append(ac.Args, colOf(x, "arg"))
		}
		if a.filter != nil {
			ac.Filter = colOf(a.filter, "filter")
		}
		for _, o := range a.order {
			ac.OrderBy = append(ac.OrderBy, logical.Order{Col: colOf(o.expr, "order"), Desc: o.desc, NullsFirst: o.nullsFirst})
		}
		aggs = append(aggs, ac)
	}
	in := node
	if computed {
		in = &logical.Project{In: node, Exprs: pre}
	}
	var out logical.Node
	if len(sets) == 1 {
		set := make([]logical.ColID, 0, len(keys))
		seen := logical.ColSet{}
		for _, i := range sets[0] {
			if !seen.Has(keys[i]) {
				seen.Add(keys[i])
				set = append(set, keys[i])
			}
		}
		for _, d := range dependent {
			if !seen.Has(d) {
				seen.Add(d)
				set = append(set, d)
			}
		}
		agg := &logical.Agg{In: in, Keys: set, Aggs: aggs}
		out = agg
		if len(set) == 0 && len(aggs) == 0 {
			// GROUP BY () or a bare HAVING: one row without columns.
			out = oneRow()
		}
	} else {
		out = b.groupingSets(s, in, sets, keys, aggs, direct)
		keySet = logical.SetOf(keys...)
	}
	b.groupingCalls(s, sets, exprs, keys)
	rewrite := func(e scalar.Expr) scalar.Expr {
		return b.ungrouped(s, e, exprs, keys, keySet)
	}
	for i := range targets {
		targets[i].expr = rewrite(targets[i].expr)
	}
	if *having != nil {
		*having = rewrite(*having)
	}
	for _, w := range s.q.windows {
		for i := range w.args {
			w.args[i] = rewrite(w.args[i])
		}
		if w.filter != nil {
			w.filter = rewrite(w.filter)
		}
		for i := range w.partition {
			w.partition[i] = rewrite(w.partition[i])
		}
		for i := range w.order {
			w.order[i].expr = rewrite(w.order[i].expr)
		}
	}
	for _, f := range s.q.srfs {
		for i := range f.args {
			f.args[i] = rewrite(f.args[i])
		}
	}
	return out
}

// exprName is a name for a computed grouping column, for EXPLAIN.
func exprName(e scalar.Expr) string {
	switch e := e.(type) {
	case *scalar.Column:
		return e.Name
	case *scalar.Call:
		return e.Fn.Name
	}
	return "key"
}

// groupingSets is the union of one aggregation for each set. The columns of the union are fresh,
// and stand for keys and aggs from here on: the ids are swapped so that references stay right.
func (b *Binder) groupingSets(s *scope, in logical.Node, sets [][]int, keys []logical.ColID, aggs []logical.AggCol, direct map[[2]int]scalar.Expr) logical.Node {
	u := &logical.UnionAll{}
	outKeys := make([]logical.ColID, len(keys))
	for i, k := range keys {
		outKeys[i] = b.Meta.Copy(k)
		u.Out = append(u.Out, outKeys[i])
	}
	for _, a := range aggs {
		u.Out = append(u.Out, a.ID)
	}
	if len(s.q.groupingIDs()) > 0 {
		s.q.setID = b.Meta.New("grouping_set", types.T(types.Int4))
		u.Source = s.q.setID
	}
	for _, set := range sets {
		agg := &logical.Agg{In: in}
		inSet := map[int]bool{}
		for _, i := range set {
			if !inSet[i] {
				inSet[i] = true
				agg.Keys = append(agg.Keys, keys[i])
			}
		}
		agg.Keys = dedupIDs(agg.Keys)
		var m []logical.ColID
		own := map[logical.ColID]logical.ColID{}
		var computed map[[2]int]logical.ColID
		agg.In, computed = b.directArgs(in, agg.Keys, keys, direct)
		for k, a := range aggs {
			c := a
			c.Args = slices.Clone(a.Args)
			for i := range c.Args {
				if id, ok := computed[[2]int{k, i}]; ok {
					c.Args[i] = id
				}
			}
			c.ID = b.Meta.Copy(a.ID)
			own[a.ID] = c.ID
			agg.Aggs = append(agg.Aggs, c)
		}
		var branch logical.Node = agg
		if len(agg.Keys) == 0 && len(agg.Aggs) == 0 {
			branch = oneRow()
		}
		proj := &logical.Project{In: branch, Exprs: b.passAll(branch)}
		for i, k := range keys {
			if inSet[i] {
				m = append(m, k)
				continue
			}
			id := b.Meta.Copy(k)
			proj.Exprs = append(proj.Exprs, logical.ProjCol{ID: id, Expr: logical.NullConst(b.Meta.Type(k))})
			m = append(m, id)
		}
		for _, a := range aggs {
			m = append(m, own[a.ID])
		}
		u.Ins = append(u.Ins, proj)
		u.Map = append(u.Map, m)
	}
	copy(keys, outKeys)
	return u
}

func dedupIDs(ids []logical.ColID) []logical.ColID {
	seen := logical.ColSet{}
	var out []logical.ColID
	for _, id := range ids {
		if !seen.Has(id) {
			seen.Add(id)
			out = append(out, id)
		}
	}
	return out
}

// ungrouped rewrites e over the output of the aggregation; a column of FROM that is neither grouped nor in
// an aggregate is error 42803.
func (b *Binder) ungrouped(s *scope, e scalar.Expr, exprs []scalar.Expr, keys []logical.ColID, keySet logical.ColSet) scalar.Expr {
	depth := 0
	var f func(x scalar.Expr) scalar.Expr
	f = func(x scalar.Expr) scalar.Expr {
		for i, g := range exprs {
			if x.Type() == g.Type() && logical.Equal(x, g) {
				if _, isConst := x.(*scalar.Const); isConst {
					continue
				}
				return b.Meta.RefAt(keys[i], x.Position())
			}
		}
		switch x := x.(type) {
		case *scalar.Column:
			// A relabelled column (varchar shown as text) is as grouped as the column itself.
			for i, g := range exprs {
				if c, ok := g.(*scalar.Column); ok && c.Index == x.Index {
					n := *x
					n.Index = keys[i]
					return &n
				}
			}
			if s.q.owned.Has(x.Index) && !keySet.Has(x.Index) {
				if depth > 0 {
					fail(sqlerr.GroupingError, x.Pos, "subquery uses ungrouped column \"%s\" from outer query", b.qualifiedName(s, x.Index))
				}
				if s.q.direct {
					raise(sqlerr.New(sqlerr.GroupingError, x.Pos, "column \"%s\" must appear in the GROUP BY clause or be used in an aggregate function", b.qualifiedName(s, x.Index)).
						WithDetail("Direct arguments of an ordered-set aggregate must use only grouped columns."))
				}
				fail(sqlerr.GroupingError, x.Pos, "column \"%s\" must appear in the GROUP BY clause or be used in an aggregate function", b.qualifiedName(s, x.Index))
			}
			return x
		case *logical.Subquery:
			var pred scalar.Expr
			if x.Pred != nil {
				pred = logical.MapExpr(x.Pred, f)
			}
			depth++
			p := logical.MapPlanExprs(x.Plan, f)
			depth--
			c := *x
			c.Pred, c.Plan = pred, p
			return &c
		}
		return nil
	}
	return logical.MapExpr(e, f)
}

// qualifiedName names a column as Postgres does in grouping errors.
func (b *Binder) qualifiedName(s *scope, id logical.ColID) string {
	for _, r := range s.rels {
		for _, c := range r.cols {
			if c.id == id {
				return r.name + "." + c.name
			}
		}
	}
	for _, c := range s.cols {
		if c.id == id {
			return c.name
		}
	}
	return b.Meta.Info(id).Name
}

// dependents lists ungrouped columns that are determined by the grouping because it contains
// the primary key of their table.
func (b *Binder) dependents(s *scope, sets [][]int, exprs []scalar.Expr, targets []target, having *scalar.Expr) []logical.ColID {
	if len(sets) != 1 {
		return nil
	}
	grouped := logical.ColSet{}
	for _, i := range sets[0] {
		if c, ok := exprs[i].(*scalar.Column); ok {
			grouped.Add(c.Index)
		}
	}
	used := logical.ColSet{}
	for _, t := range targets {
		logical.ExprCols(t.expr, used)
	}
	if *having != nil {
		logical.ExprCols(*having, used)
	}
	for _, w := range s.q.windows {
		logical.ExprCols(w.filter, used)
		for _, e := range append(w.args[:len(w.args):len(w.args)], w.partition...) {
			logical.ExprCols(e, used)
		}
		for _, o := range w.order {
			logical.ExprCols(o.expr, used)
		}
	}
	var out []logical.ColID
	for _, r := range s.rels {
		if r.rel == nil || r.rel.PrimaryKey == "" {
			continue
		}
		all := true
		for _, k := range r.rel.Key {
			all = all && grouped.Has(r.cols[k.Col].id)
		}
		if !all || len(r.rel.Key) == 0 {
			continue
		}
		for _, c := range r.cols {
			if used.Has(c.id) && !grouped.Has(c.id) {
				out = append(out, c.id)
			}
		}
	}
	return out
}

// groupingCall is GROUPING(exprs): a bit for each expression that is not in the row's set.
type groupingCall struct {
	args  []scalar.Expr
	pos   int
	value *scalar.Case
}

func (q *queryState) groupingIDs() []*groupingCall { return q.groupings }

// groupingCalls fills in the values of GROUPING calls now that the sets are known.
func (b *Binder) groupingCalls(s *scope, sets [][]int, exprs []scalar.Expr, keys []logical.ColID) {
	for _, g := range s.q.groupings {
		bits := make([]int64, len(sets))
		for _, a := range g.args {
			at := -1
			for i, e := range exprs {
				if logical.Equal(e, a) {
					at = i
				}
			}
			if at < 0 {
				fail(sqlerr.GroupingError, a.Position(), "arguments to GROUPING must be grouping expressions of the associated query level")
			}
			for k, set := range sets {
				bit := int64(1)
				for _, i := range set {
					if i == at {
						bit = 0
					}
				}
				bits[k] = bits[k]<<1 | bit
			}
		}
		int4 := func(v int64) scalar.Expr {
			return &scalar.Const{Node: scalar.Node{T: types.T(types.Int4), Pos: -1}, Val: types.DInt(v)}
		}
		g.value.Else = int4(bits[len(bits)-1])
		for k := range sets[:len(sets)-1] {
			cond := b.operator("=", b.Meta.Ref(s.q.setID), int4(int64(k)), g.pos)
			g.value.Whens = append(g.value.Whens, scalar.When{Cond: cond, Result: int4(bits[k])})
		}
	}
}
