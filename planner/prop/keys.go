package prop

import (
	"slices"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
)

// maxKeys bounds the number of keys that are kept of a node.
const maxKeys = 8

// Keys gives sets of output columns that identify a row of n (an empty set: there is at most one
// row). NULLs count as equal to each other here.
func Keys(n logical.Node) []logical.ColSet {
	var out []logical.ColSet
	add := func(s logical.ColSet) {
		for _, o := range out {
			if o.Within(s) {
				return
			}
		}
		kept := out[:0:0]
		for _, o := range out {
			if !s.Within(o) {
				kept = append(kept, o)
			}
		}
		out = append(kept, s)
		if len(out) > maxKeys {
			out = out[:maxKeys]
		}
	}
	switch n := n.(type) {
	case *logical.Scan:
		if n.RowID != 0 {
			add(logical.SetOf(n.RowID))
		}
		byOrd := map[int]logical.ColID{}
		for i, o := range n.Ords {
			byOrd[o] = n.Out[i]
		}
		set := func(ords []int) (logical.ColSet, bool) {
			s := logical.ColSet{}
			for _, o := range ords {
				id, ok := byOrd[o]
				if !ok {
					return nil, false
				}
				s.Add(id)
			}
			return s, true
		}
		if len(n.Rel.Key) > 0 && (n.Rel.Kind == catalog.Table || n.Rel.Kind == catalog.MatView) {
			var ords []int
			for _, k := range n.Rel.Key {
				ords = append(ords, k.Col)
			}
			if s, ok := set(ords); ok {
				add(s)
			}
		}
		if len(n.Rel.Key) == 0 && n.Rel.Kind == catalog.MatView {
			// A view of one row.
			add(logical.ColSet{})
		}
		nn := NotNull(n)
		for _, u := range n.Rel.Uniques {
			if s, ok := set(u.Columns); ok && s.Within(nn) {
				add(s)
			}
		}
		for _, k := range n.Rel.SourceKeys {
			if s, ok := set(k); ok {
				add(s)
			}
		}
	case *logical.Values:
		if len(n.Rows) <= 1 {
			add(logical.ColSet{})
		}
	case *logical.Filter:
		fixed := constants(n.Preds, logical.OutSet(n.In))
		for _, k := range Keys(n.In) {
			r := logical.ColSet{}
			for c := range k {
				if !fixed.Has(c) {
					r.Add(c)
				}
			}
			add(r)
		}
	case *logical.Project:
		m := map[logical.ColID]logical.ColID{}
		for _, e := range n.Exprs {
			if c, ok := e.Expr.(*scalar.Column); ok {
				if _, dup := m[c.Index]; !dup || c.Index == e.ID {
					m[c.Index] = e.ID
				}
			}
		}
		for _, k := range Keys(n.In) {
			r := logical.ColSet{}
			ok := true
			for c := range k {
				id, has := m[c]
				ok = ok && has
				r.Add(id)
			}
			if ok {
				add(r)
			}
		}
	case *logical.Join:
		lk := Keys(n.L)
		if n.Kind == logical.Semi || n.Kind == logical.Anti {
			for _, k := range lk {
				add(k)
			}
			break
		}
		rk := Keys(n.R)
		le, re := equated(n)
		// A side whose key is fixed by the other side does not multiply it.
		rOne := n.Kind != logical.Right && n.Kind != logical.Full && keyed(rk, re)
		lOne := n.Kind != logical.Left && n.Kind != logical.Full && keyed(lk, le)
		if rOne {
			for _, k := range lk {
				add(k)
			}
		}
		if lOne {
			for _, k := range rk {
				add(k)
			}
		}
		ln, rn := NotNull(n.L), NotNull(n.R)
		for _, a := range lk {
			for _, b := range rk {
				s := copySet(a)
				s.AddSet(b)
				// Of a FULL JOIN a row of the left side that is unmatched and one of the right side look alike if both keys may be NULL.
				if n.Kind == logical.Full && len(a.And(ln)) == 0 && len(b.And(rn)) == 0 {
					continue
				}
				add(s)
			}
		}
	case *logical.Lookup:
		// The relation's key is a key of what one row finds.
		right := logical.ColSet{}
		for _, k := range n.Rel.Key {
			if i := slices.Index(n.Ords, k.Col); i >= 0 {
				right.Add(n.Out[i])
			}
		}
		fixed := logical.ColSet{}
		left := logical.OutSet(n.In)
		for _, p := range n.On {
			a, b, ok := Equality(p)
			for range 2 {
				if c, isCol := a.(*scalar.Column); ok && isCol && right.Has(c.Index) && logical.ColsOf(b).Within(left) {
					fixed.Add(c.Index)
				}
				a, b = b, a
			}
		}
		one := len(right) == len(n.Rel.Key) && right.Within(fixed)
		for _, k := range Keys(n.In) {
			if one {
				add(k)
			} else if len(right) == len(n.Rel.Key) {
				s := copySet(k)
				s.AddSet(right)
				add(s)
			}
		}
	case *logical.Agg:
		add(logical.SetOf(n.Keys...))
		ks := logical.SetOf(n.Keys...)
		for _, k := range Keys(n.In) {
			if k.Within(ks) {
				add(k)
			}
		}
	case *logical.TopN:
		for _, k := range Keys(n.In) {
			add(k)
		}
		if ConstLimit(n.Limit) == 1 && !n.WithTies {
			add(logical.SetOf(n.GroupBy...))
		}
		if n.Rank != 0 {
			add(logical.SetOf(append(n.GroupBy[:len(n.GroupBy):len(n.GroupBy)], n.Rank)...))
		}
	case *logical.Window:
		for _, k := range Keys(n.In) {
			add(k)
		}
		for _, c := range n.Calls {
			if c.Fn.Name == "row_number" {
				add(logical.SetOf(append(n.Partition[:len(n.Partition):len(n.Partition)], c.ID)...))
			}
		}
	case *logical.UnionAll:
		if len(n.Ins) == 1 {
			m := map[logical.ColID]logical.ColID{}
			for i, c := range n.Map[0] {
				m[c] = n.Out[i]
			}
			for _, k := range Keys(n.Ins[0]) {
				r := logical.ColSet{}
				ok := true
				for c := range k {
					id, has := m[c]
					ok = ok && has
					r.Add(id)
				}
				if ok {
					add(r)
				}
			}
		}
	case *logical.Hop:
		for _, k := range Keys(n.In) {
			s := copySet(k)
			if w := n.WindowKey(); w != 0 {
				s.Add(w)
			}
			add(s)
		}
	case *logical.Session:
		for _, k := range Keys(n.In) {
			add(k)
		}
	case *logical.ProjectSet:
		if n.Ord != 0 {
			for _, k := range Keys(n.In) {
				s := copySet(k)
				s.Add(n.Ord)
				add(s)
			}
		}
	case *logical.Recursive:
		if !n.All || n.Ord != 0 {
			add(logical.SetOf(n.Cols()...))
		}
	case *logical.Working:
		if !n.All {
			add(logical.SetOf(n.Out...))
		}
	case *logical.Lock:
		for _, k := range Keys(n.In) {
			add(k)
		}
	case *logical.Max1Row:
		add(logical.SetOf(n.GroupBy...))
		for _, k := range Keys(n.In) {
			add(k)
		}
	}
	return out
}

// ConstLimit gives the value of a constant LIMIT, or -1.
func ConstLimit(e scalar.Expr) int64 {
	if c, ok := e.(*scalar.Const); ok && c.Val.Valid && c.T.Kind == types.Int8 {
		return c.Val.I
	}
	return -1
}

// Unique tells whether cols identify a row of n.
func Unique(n logical.Node, cols logical.ColSet) bool { return keyed(Keys(n), cols) }

// AtMostOne tells whether n has at most one row (for each value of its outer columns).
func AtMostOne(n logical.Node) bool { return Unique(n, logical.ColSet{}) }

func keyed(keys []logical.ColSet, cols logical.ColSet) bool {
	for _, k := range keys {
		if k.Within(cols) {
			return true
		}
	}
	return false
}

// constants gives the columns that preds fix to one value: a constant, a parameter, or something that
// does not depend on the columns in own (of an outer query).
func constants(preds []scalar.Expr, own logical.ColSet) logical.ColSet {
	s := logical.ColSet{}
	for _, p := range preds {
		l, r, ok := Equality(p)
		if !ok {
			continue
		}
		if c, isCol := l.(*scalar.Column); isCol && constLike(r, own) {
			s.Add(c.Index)
		}
		if c, isCol := r.(*scalar.Column); isCol && constLike(l, own) {
			s.Add(c.Index)
		}
	}
	return s
}

// (What depends on the time is not constant: in a stream, the row of the next second may come before the last one goes.)
func constLike(e scalar.Expr, own logical.ColSet) bool {
	return !logical.ColsOf(e).Meets(own) && !logical.Volatile(e) && !Clock(e) && !logical.HasSubquery(e)
}

// Equality splits l = r (or l IS NOT DISTINCT FROM r) whose sides have one type, or are integers.
func Equality(p scalar.Expr) (l, r scalar.Expr, ok bool) {
	switch p := p.(type) {
	case *scalar.Call:
		if p.Fn.Name == "=" && len(p.Args) == 2 && (p.Fn.Args[0] == p.Fn.Args[1] || p.Fn.Args[0].Kind.IsInteger() && p.Fn.Args[1].Kind.IsInteger()) {
			return p.Args[0], p.Args[1], true
		}
	case *scalar.Distinct:
		if p.Not {
			return p.L, p.R, true
		}
	}
	return nil, nil, false
}

// equated gives the columns of either side that are equal to an expression of the other side.
func equated(n *logical.Join) (l, r logical.ColSet) {
	l, r = logical.ColSet{}, logical.ColSet{}
	ls, rs := logical.OutSet(n.L), logical.OutSet(n.R)
	for _, p := range n.On {
		a, b, ok := Equality(p)
		if !ok {
			continue
		}
		for range 2 {
			if c, isCol := a.(*scalar.Column); isCol {
				others := logical.ColsOf(b)
				if rs.Has(c.Index) && others.Within(ls) {
					r.Add(c.Index)
				}
				if ls.Has(c.Index) && others.Within(rs) {
					l.Add(c.Index)
				}
			}
			a, b = b, a
		}
	}
	return l, r
}
