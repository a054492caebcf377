package prop

import (
	"slices"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
)

// StreamKey gives n with columns added, where needed, so that every TopN knows a key of its
// input, and n itself has the key that is returned. Of several keys the one with the fewest columns
// outside prefer is taken, then the one with the fewest columns.
func StreamKey(m *logical.Meta, n logical.Node, prefer logical.ColSet) (logical.Node, []logical.ColID) {
	k := keyer{m}
	return k.keyed(k.tops(n), prefer)
}

// TopNKeys is StreamKey for a plan whose root needs no key.
func TopNKeys(m *logical.Meta, n logical.Node) logical.Node { return keyer{m}.tops(n) }

type keyer struct{ m *logical.Meta }

// tops gives every TopN below n its RowKey.
func (k keyer) tops(n logical.Node) logical.Node {
	ins := n.Inputs()
	changed := false
	nins := make([]logical.Node, len(ins))
	for i, in := range ins {
		nins[i] = k.tops(in)
		changed = changed || nins[i] != in
	}
	if changed {
		n = n.WithInputs(nins)
	}
	switch t := n.(type) {
	case *logical.TopN:
		c := *t
		c.In, c.RowKey = k.keyed(t.In, nil)
		return &c
	case *logical.Window:
		c := *t
		c.In, c.RowKey = k.keyed(t.In, nil)
		return &c
	case *logical.Session:
		c := *t
		c.In, c.RowKey = k.keyed(t.In, nil)
		return &c
	}
	return n
}

func best(keys []logical.ColSet, prefer logical.ColSet) []logical.ColID {
	var out logical.ColSet
	cost := func(s logical.ColSet) int {
		c := 0
		for id := range s {
			c++
			if !prefer.Has(id) {
				c += 100
			}
		}
		return c
	}
	for _, s := range keys {
		if out == nil || cost(s) < cost(out) || cost(s) == cost(out) && slices.Compare(s.Sorted(), out.Sorted()) < 0 {
			out = s
		}
	}
	return out.Sorted()
}

func (k keyer) pass(ids []logical.ColID) []logical.ProjCol {
	var es []logical.ProjCol
	for _, id := range ids {
		es = append(es, logical.ProjCol{ID: id, Expr: k.m.Ref(id)})
	}
	return es
}

// keyed gives n with a key among its columns.
func (k keyer) keyed(n logical.Node, prefer logical.ColSet) (logical.Node, []logical.ColID) {
	if keys := Keys(n); len(keys) > 0 {
		return n, best(keys, prefer)
	}
	one := func(in logical.Node) (logical.Node, []logical.ColID) {
		x, key := k.keyed(in, prefer)
		return n.WithInputs([]logical.Node{x}), key
	}
	switch n := n.(type) {
	case *logical.Filter:
		return one(n.In)
	case *logical.Window:
		return one(n.In)
	case *logical.Session:
		return one(n.In)
	case *logical.Max1Row:
		return one(n.In)
	case *logical.TopN:
		return one(n.In)
	case *logical.Project:
		in, key := k.keyed(n.In, prefer)
		p := &logical.Project{In: in, Exprs: slices.Clone(n.Exprs)}
		have := logical.OutSet(p)
		for _, c := range key {
			if !have.Has(c) {
				p.Exprs = append(p.Exprs, logical.ProjCol{ID: c, Expr: k.m.Ref(c)})
			}
		}
		return p, key
	case *logical.Join:
		l, lk := k.keyed(n.L, prefer)
		if n.Kind == logical.Semi || n.Kind == logical.Anti {
			return n.WithInputs([]logical.Node{l, n.R}), lk
		}
		r, rk := k.keyed(n.R, prefer)
		j := n.WithInputs([]logical.Node{l, r})
		if keys := Keys(j); len(keys) > 0 {
			return j, best(keys, prefer)
		}
		if n.Kind == logical.Full {
			// A column that is NULL in the unmatched rows of the right side only tells these from those of the left side.
			there := k.m.New("_left", types.T(types.Bool))
			c := &scalar.Const{Node: scalar.Node{T: types.T(types.Bool), Pos: -1}, Val: types.DBool(true)}
			l = &logical.Project{In: l, Exprs: append(k.pass(l.Cols()), logical.ProjCol{ID: there, Expr: c})}
			key := logical.SetOf(append(append(slices.Clone(lk), there), rk...)...)
			return n.WithInputs([]logical.Node{l, r}), key.Sorted()
		}
		return j, j.Cols()
	case *logical.Lookup:
		in, _ := k.keyed(n.In, prefer)
		l := n.WithInputs([]logical.Node{in})
		if keys := Keys(l); len(keys) > 0 {
			return l, best(keys, prefer)
		}
		return l, l.Cols()
	case *logical.Hop:
		in, key := k.keyed(n.In, prefer)
		h := n.WithInputs([]logical.Node{in})
		if w := n.WindowKey(); w != 0 {
			key = append(slices.Clone(key), w)
		}
		return h, key
	case *logical.ProjectSet:
		in, key := k.keyed(n.In, prefer)
		c := *n
		c.In = in
		if c.Ord == 0 {
			c.Ord = k.m.New("ordinality", types.T(types.Int8))
		}
		return &c, append(slices.Clone(key), c.Ord)
	case *logical.Values:
		id := k.m.New("_row_id", types.T(types.Int8))
		v := &logical.Values{Out: append(slices.Clone(n.Out), id)}
		for i, r := range n.Rows {
			v.Rows = append(v.Rows, append(slices.Clone(r), &scalar.Const{
				Node: scalar.Node{T: types.T(types.Int8), Pos: -1}, Val: types.DInt(int64(i))}))
		}
		return v, []logical.ColID{id}
	case *logical.UnionAll:
		return k.union(n, prefer)
	case *logical.Recursive:
		c := *n
		c.Ord = k.m.New("ordinality", types.T(types.Int8))
		return &c, c.Cols()
	}
	return n, n.Cols()
}

// union gives a union the number of the input, and the keys of the inputs, as key: a key column
// that an input already gives to a column of the union is used as it is, for the others there are
// columns that the other inputs fill with NULL.
func (k keyer) union(n *logical.UnionAll, prefer logical.ColSet) (logical.Node, []logical.ColID) {
	u := &logical.UnionAll{Out: slices.Clone(n.Out), Source: n.Source}
	if u.Source == 0 && len(n.Ins) > 1 {
		u.Source = k.m.New("_input", types.T(types.Int4))
	}
	var keys [][]logical.ColID
	for i, in := range n.Ins {
		x, key := k.keyed(in, logical.SetOf(n.Map[i]...))
		u.Ins = append(u.Ins, x)
		u.Map = append(u.Map, slices.Clone(n.Map[i]))
		keys = append(keys, key)
	}
	set := logical.ColSet{}
	type slot struct {
		out logical.ColID
		// used tells which input has taken it.
		used map[int]bool
	}
	var slots []*slot
	nulls := make([][]logical.ProjCol, len(n.Ins))
	for i, key := range keys {
		for _, c := range key {
			if at := slices.Index(n.Map[i], c); at >= 0 {
				set.Add(n.Out[at])
				continue
			}
			var s *slot
			for _, o := range slots {
				if !o.used[i] && k.m.Type(o.out) == k.m.Type(c) {
					s = o
					break
				}
			}
			if s == nil {
				s = &slot{out: k.m.Copy(c), used: map[int]bool{}}
				slots = append(slots, s)
				u.Out = append(u.Out, s.out)
				for j := range u.Ins {
					u.Map[j] = append(u.Map[j], 0)
				}
			}
			s.used[i] = true
			u.Map[i][len(n.Out)+slices.Index(slots, s)] = c
			set.Add(s.out)
		}
	}
	for i := range u.Ins {
		for j := len(n.Out); j < len(u.Out); j++ {
			if u.Map[i][j] != 0 {
				continue
			}
			id := k.m.Copy(u.Out[j])
			nulls[i] = append(nulls[i], logical.ProjCol{ID: id, Expr: logical.NullConst(k.m.Type(id))})
			u.Map[i][j] = id
		}
		if len(nulls[i]) > 0 {
			u.Ins[i] = &logical.Project{In: u.Ins[i], Exprs: append(k.pass(u.Ins[i].Cols()), nulls[i]...)}
		}
	}
	if u.Source != 0 {
		set.Add(u.Source)
	}
	return u, set.Sorted()
}

// WindowKeys gives every Window, and every TopN that numbers its rows, below n, for a plan that is run once, the key of its input by which a stream
// orders equal rows; with all, every other TopN, too, so that the plan picks the rows that a stream picks. An input whose rows have no key, as
// that of a system relation, stays a multiset.
func WindowKeys(m *logical.Meta, n logical.Node, all bool) logical.Node {
	return keyer{m}.windows(n, all)
}

func (k keyer) windows(n logical.Node, all bool) logical.Node {
	ins := n.Inputs()
	changed := false
	nins := make([]logical.Node, len(ins))
	for i, in := range ins {
		nins[i] = k.windows(in, all)
		changed = changed || nins[i] != in
	}
	if changed {
		n = n.WithInputs(nins)
	}
	switch t := n.(type) {
	case *logical.Window:
		if identified(t.In) {
			c := *t
			c.In, c.RowKey = k.keyed(t.In, nil)
			c.RowKey = append([]logical.ColID{}, c.RowKey...)
			return &c
		}
	case *logical.TopN:
		if (t.Rank != 0 || all && (t.Limit != nil || t.Offset != nil)) && identified(t.In) {
			c := *t
			c.In, c.RowKey = k.keyed(t.In, nil)
			c.RowKey = append([]logical.ColID{}, c.RowKey...)
			return &c
		}
	}
	return n
}

// identified tells whether what keyed gives for n tells its rows apart.
func identified(n logical.Node) bool {
	if len(Keys(n)) > 0 {
		return true
	}
	switch n := n.(type) {
	case *logical.Values:
		return true
	case *logical.Join:
		return identified(n.L) && (n.Kind == logical.Semi || n.Kind == logical.Anti || identified(n.R))
	case *logical.Filter, *logical.Window, *logical.Session, *logical.Max1Row, *logical.TopN, *logical.Project, *logical.Lookup, *logical.Hop,
		*logical.ProjectSet, *logical.UnionAll:
		return !slices.ContainsFunc(n.Inputs(), func(in logical.Node) bool { return !identified(in) })
	}
	return false
}
