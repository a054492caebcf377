package bind

import (
	"slices"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// l ASOF JOIN r ON l.k = r.k AND l.ts >= r.ts joins a row of l with that one of the matching rows of r whose ts is the
// greatest (or with <= and <, the smallest). It is l JOIN LATERAL (SELECT * FROM r WHERE the condition ORDER BY ts DESC
// LIMIT 1) ON true: what removes the correlation gives a first row for each combination of values of l, and the changes of both
// sides are followed as everywhere.

// asof turns the bound join into that. Of rows of r with equal ts the first one by r's key is taken.
func (b *Binder) asof(node *logical.Join, j *ast.Join, using bool) {
	if node.Kind != logical.Inner && node.Kind != logical.Left {
		fail(sqlerr.FeatureNotSupported, j.Pos, "an ASOF JOIN that is neither ASOF JOIN nor ASOF LEFT JOIN is not supported")
	}
	if using && len(node.On) > 0 {
		last := node.On[len(node.On)-1].(*scalar.Call)
		node.On[len(node.On)-1] = b.operator(">=", last.Args[0], last.Args[1], j.Pos)
	}
	ls, rs := logical.OutSet(node.L), logical.OutSet(node.R)
	var by scalar.Expr
	desc := false
	for _, p := range node.On {
		c, ok := p.(*scalar.Call)
		if !ok || c.Fn.Kind != fn.Operator || len(c.Args) != 2 || logical.HasSubquery(p) || logical.Volatile(p) {
			b.badAsof(p)
		}
		op, l, r := c.Fn.Name, c.Args[0], c.Args[1]
		if logical.ColsOf(l).Meets(rs) {
			l, r = r, l
			op = map[string]string{"<": ">", "<=": ">=", ">": "<", ">=": "<="}[op]
			if op == "" {
				op = c.Fn.Name
			}
		}
		if !logical.ColsOf(l).Within(ls) || !logical.ColsOf(r).Within(rs) || !logical.ColsOf(r).Meets(rs) {
			b.badAsof(p)
		}
		switch op {
		case "=":
		case "<", "<=", ">", ">=":
			if by != nil {
				b.badAsof(p)
			}
			by, desc = r, op[0] == '>'
		default:
			b.badAsof(p)
		}
	}
	if by == nil {
		raise(sqlerr.New(sqlerr.SyntaxError, j.Pos, "ASOF JOIN must have a condition that compares the two sides with >=, >, <= or <").
			WithHint("For example, ON l.key = r.key AND l.ts >= r.ts."))
	}
	right := node.R
	at := logical.ColID(0)
	if c, ok := by.(*scalar.Column); ok {
		at = c.Index
	} else {
		at = b.Meta.New("asof", by.Type())
		right = b.extend(right, []logical.ProjCol{{ID: at, Expr: by}})
	}
	order := []logical.Order{{Col: at, Desc: desc}}
	rest := node.R.Cols()
	if s, ok := node.R.(*logical.Scan); ok && len(s.Rel.Key) > 0 {
		rest = nil
		for _, k := range s.Rel.Key {
			if i := slices.Index(s.Ords, k.Col); i >= 0 {
				rest = append(rest, s.Out[i])
			}
		}
	}
	for _, c := range rest {
		if c != at {
			order = append(order, logical.Order{Col: c})
		}
	}
	one := &scalar.Const{Node: scalar.Node{T: types.T(types.Int8), Pos: sqlerr.NoPos}, Val: types.DInt(1)}
	node.R = &logical.TopN{
		In: &logical.Filter{In: right, Preds: node.On}, Order: order, Limits: logical.Limits{Limit: one},
	}
	node.On = nil
}

// badAsof refuses a condition.
func (b *Binder) badAsof(p scalar.Expr) {
	raise(sqlerr.New(sqlerr.FeatureNotSupported, p.Position(), "this condition of an ASOF JOIN is not supported").
		WithHint("It may have any number of equalities between the two sides, and exactly one comparison with >=, >, <= or <. Other conditions belong into WHERE or a subquery."))
}
