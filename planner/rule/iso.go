package rule

import (
	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/sql/scalar"
)

// same tells whether b computes what a computes, and adds to m, for columns of b, the columns of a that have the
// same value in the same row. Columns of b that a does not have stay out of m.
func same(a, b logical.Node, m map[logical.ColID]logical.ColID) bool {
	if pb, ok := b.(*logical.Project); ok {
		if pa, ok := a.(*logical.Project); ok {
			if !same(pa.In, pb.In, m) {
				return false
			}
			for _, y := range pb.Exprs {
				e, ok := translate(y.Expr, m)
				if !ok || logical.Volatile(e) {
					delete(m, y.ID)
					continue
				}
				found := false
				for _, x := range pa.Exprs {
					if logical.Equal(x.Expr, e) {
						m[y.ID], found = x.ID, true
						break
					}
				}
				if !found {
					delete(m, y.ID)
				}
			}
			return true
		}
		if !same(a, pb.In, m) {
			return false
		}
		for _, y := range pb.Exprs {
			if c, ok := y.Expr.(*scalar.Column); ok {
				if id, ok := m[c.Index]; ok {
					m[y.ID] = id
				}
			}
		}
		return true
	}
	switch x := a.(type) {
	case *logical.Project:
		if !same(x.In, b, m) {
			return false
		}
		renamed := map[logical.ColID]logical.ColID{}
		for _, e := range x.Exprs {
			if c, ok := e.Expr.(*scalar.Column); ok {
				if _, dup := renamed[c.Index]; !dup || c.Index == e.ID {
					renamed[c.Index] = e.ID
				}
			}
		}
		for _, c := range b.Cols() {
			if id, ok := m[c]; ok {
				if r, ok := renamed[id]; ok {
					m[c] = r
				} else {
					delete(m, c)
				}
			}
		}
		return true
	case *logical.Scan:
		y, ok := b.(*logical.Scan)
		if !ok || x.Rel != y.Rel {
			return false
		}
		for i, o := range y.Ords {
			for k, p := range x.Ords {
				if o == p {
					m[y.Out[i]] = x.Out[k]
				}
			}
		}
		if x.RowID != 0 && y.RowID != 0 {
			m[y.RowID] = x.RowID
		}
		return true
	case *logical.Filter:
		y, ok := b.(*logical.Filter)
		return ok && same(x.In, y.In, m) && sameSet(x.Preds, y.Preds, m)
	case *logical.Join:
		y, ok := b.(*logical.Join)
		return ok && x.Kind == y.Kind && same(x.L, y.L, m) && same(x.R, y.R, m) && sameSet(x.On, y.On, m)
	case *logical.Hop:
		y, ok := b.(*logical.Hop)
		if !ok || !same(x.In, y.In, m) || m[y.Time] != x.Time || x.Size != y.Size || x.Slide != y.Slide || x.Offset != y.Offset || x.Cumulate != y.Cumulate {
			return false
		}
		m[y.Start], m[y.End] = x.Start, x.End
		return true
	case *logical.Agg:
		y, ok := b.(*logical.Agg)
		if !ok || len(x.Keys) != len(y.Keys) || !same(x.In, y.In, m) {
			return false
		}
		keys := logical.SetOf(x.Keys...)
		mapped := logical.ColSet{}
		for _, k := range y.Keys {
			if !keys.Has(m[k]) {
				return false
			}
			mapped.Add(m[k])
		}
		if len(mapped) != len(keys) {
			return false
		}
		for _, p := range y.Aggs {
			for _, q := range x.Aggs {
				if sameCall(q, p, m) {
					m[p.ID] = q.ID
					break
				}
			}
		}
		return true
	}
	return false
}

func sameCall(a, b logical.AggCol, m map[logical.ColID]logical.ColID) bool {
	if a.Fn != b.Fn || a.Distinct != b.Distinct || len(a.Args) != len(b.Args) || len(a.OrderBy)+len(b.OrderBy) > 0 ||
		(a.Filter == 0) != (b.Filter == 0) || b.Filter != 0 && m[b.Filter] != a.Filter {
		return false
	}
	for i := range a.Args {
		if m[b.Args[i]] != a.Args[i] {
			return false
		}
	}
	return true
}

// translate writes an expression over b's columns over a's; ok is false if a does not have one.
func translate(e scalar.Expr, m map[logical.ColID]logical.ColID) (scalar.Expr, bool) {
	ok := true
	e = logical.MapExpr(e, func(x scalar.Expr) scalar.Expr {
		if c, isCol := x.(*scalar.Column); isCol {
			id, has := m[c.Index]
			if !has {
				ok = false
				return x
			}
			d := *c
			d.Index = id
			return &d
		}
		return nil
	})
	return e, ok
}

// sameSet tells whether the conditions bs, translated, are the conditions as.
func sameSet(as, bs []scalar.Expr, m map[logical.ColID]logical.ColID) bool {
	if len(as) != len(bs) {
		return false
	}
	used := make([]bool, len(as))
	for _, b := range bs {
		e, ok := translate(b, m)
		if !ok || logical.Volatile(e) {
			return false
		}
		found := false
		for i, a := range as {
			if !used[i] && logical.Equal(a, e) {
				used[i], found = true, true
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}
