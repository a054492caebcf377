package physical

import (
	"slices"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
)

// maxPoints bounds the complete keys that IN lists are multiplied out to.
const maxPoints = 1000

// bounds is what conditions say of one key column.
type bounds struct {
	eq     scalar.Expr
	in     []scalar.Expr
	lo, hi *plan.Endpoint
	// The conditions that are used up by eq, in, lo and hi.
	eqPred, inPred, loPred, hiPred int
}

// keyColumn is a column of an arrangement's key as conditions on a relation may name it.
type keyColumn struct {
	is func(scalar.Expr) bool
	t  types.Type
}

// keyOf gives the leading columns of its relation's key that s reads.
func (b *builder) keyOf(s *logical.Scan) []keyColumn {
	var keys []keyColumn
	for _, k := range s.Rel.Key {
		at := slices.Index(s.Ords, k.Col)
		if at < 0 {
			break
		}
		keys = append(keys, columnKey(s.Out[at], b.Meta.Type(s.Out[at])))
	}
	return keys
}

func columnKey(c logical.ColID, t types.Type) keyColumn {
	return keyColumn{t: t, is: func(x scalar.Expr) bool {
		y, ok := x.(*scalar.Column)
		return ok && y.Index == c && y.T.Kind == t.Kind
	}}
}

// access finds the part of s's arrangement that preds restrict the read to, and what conditions are
// left.
func (b *builder) access(s *logical.Scan, preds []scalar.Expr) (plan.Access, []scalar.Expr) {
	if s.Rel.Kind != catalog.Table && s.Rel.Kind != catalog.MatView || len(s.Rel.Key) == 0 {
		return plan.Access{}, preds
	}
	acc, used := accessBy(b.keyOf(s), len(s.Rel.Key), preds)
	return acc, unused(preds, used)
}

// accessBy finds what preds say of the leading columns of a key that has n columns.
func accessBy(keys []keyColumn, n int, preds []scalar.Expr) (acc plan.Access, used map[int]bool) {
	used = map[int]bool{}
	var eqs []bounds
	for _, k := range keys {
		bd := columnBounds(k, preds)
		if bd.eq == nil && bd.in == nil {
			if bd.lo != nil || bd.hi != nil {
				eqs = append(eqs, bd)
			}
			break
		}
		eqs = append(eqs, bd)
	}
	// A list, or a complete key: points. Other conditions behind the last of these remain.
	exact, points, lists := 0, 1, false
	for _, e := range eqs {
		if e.eq == nil && (e.in == nil || points*len(e.in) > maxPoints) {
			break
		}
		if e.eq == nil {
			points *= len(e.in)
			lists = true
		}
		exact++
	}
	if exact > 0 && (lists || exact == n) {
		acc.Points = [][]scalar.Expr{{}}
		for _, e := range eqs[:exact] {
			if e.eq != nil {
				for i := range acc.Points {
					acc.Points[i] = append(slices.Clip(acc.Points[i]), e.eq)
				}
				used[e.eqPred] = true
				continue
			}
			var next [][]scalar.Expr
			for _, p := range acc.Points {
				for _, v := range e.in {
					next = append(next, append(slices.Clone(p), v))
				}
			}
			acc.Points = next
			used[e.inPred] = true
		}
		return acc, used
	}
	for _, e := range eqs {
		if e.eq != nil {
			acc.Prefix = append(acc.Prefix, e.eq)
			used[e.eqPred] = true
			continue
		}
		if e.in != nil && e.lo == nil && e.hi == nil {
			break
		}
		acc.Lo, acc.Hi = e.lo, e.hi
		if e.lo != nil {
			used[e.loPred] = true
		}
		if e.hi != nil {
			used[e.hiPred] = true
		}
		break
	}
	return acc, used
}

// narrowness tells how little of an arrangement acc reads, by rough steps: there are no statistics.
func narrowness(acc *plan.Access, n int) int {
	switch {
	case len(acc.Points) > 0 && len(acc.Points[0]) == n:
		return 1000
	case len(acc.Points) > 0:
		return 20*len(acc.Points[0]) - 1
	}
	x := 20 * len(acc.Prefix)
	if acc.Lo != nil {
		x += 5
	}
	if acc.Hi != nil {
		x += 5
	}
	return x
}

func unused(preds []scalar.Expr, used map[int]bool) []scalar.Expr {
	var rest []scalar.Expr
	for i, p := range preds {
		if !used[i] {
			rest = append(rest, p)
		}
	}
	return rest
}

// columnBounds reads what preds say of a key column. Values have exactly its kind and no columns.
func columnBounds(k keyColumn, preds []scalar.Expr) bounds {
	var bd bounds
	t, isCol := k.t, k.is
	if t.Kind == types.Char {
		// Blank padding: the key order is not that of the bytes.
		return bd
	}
	isVal := func(x scalar.Expr) bool {
		return sameKind(x.Type(), t) && len(logical.ColsOf(x)) == 0 && !logical.Volatile(x)
	}
	for i, p := range preds {
		switch p := p.(type) {
		case *scalar.Call:
			if len(p.Args) != 2 || p.Fn.Args[0] != p.Fn.Args[1] {
				continue
			}
			op := p.Fn.Name
			l, r := p.Args[0], p.Args[1]
			if isCol(r) && isVal(l) {
				l, r = r, l
				op = map[string]string{"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}[op]
			}
			if !isCol(l) || !isVal(r) {
				continue
			}
			switch op {
			case "=":
				if bd.eq == nil {
					bd.eq, bd.eqPred = r, i
				}
			case ">", ">=":
				if bd.lo == nil {
					bd.lo, bd.loPred = &plan.Endpoint{Val: r, Inclusive: op == ">="}, i
				}
			case "<", "<=":
				if bd.hi == nil {
					bd.hi, bd.hiPred = &plan.Endpoint{Val: r, Inclusive: op == "<="}, i
				}
			}
		case *scalar.In:
			if p.Not || !isCol(p.X) || bd.in != nil {
				continue
			}
			all := true
			for _, v := range p.List {
				all = all && isVal(v)
			}
			if all {
				bd.in, bd.inPred = p.List, i
			}
		}
	}
	return bd
}
