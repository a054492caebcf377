package physical

import (
	"slices"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/planner/prop"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// procTime gives, for a node whose expressions call PROCTIME(), its input with that time as a further column, and what puts the
// column in the place of the calls. In a plan that is run once PROCTIME() is a function like others.
func (b *builder) procTime(in built, n logical.Node, used logical.ColSet) (built, func(scalar.Expr) scalar.Expr) {
	same := func(e scalar.Expr) scalar.Expr { return e }
	if !b.stream {
		return in, same
	}
	var call scalar.Expr
	for _, e := range logical.NodeExprs(n) {
		logical.WalkExpr(e, func(x scalar.Expr) bool {
			if call == nil && prop.ProcTimeCall(x) {
				call = x
			}
			return call == nil
		})
	}
	if call == nil {
		return in, same
	}
	if !in.node.Properties().AppendOnly {
		panic(failure{sqlerr.New(sqlerr.FeatureNotSupported, call.Position(), "PROCTIME() over rows that may change or go is not supported").
			WithHint("Use it over a source, an APPEND ONLY table, or what is computed from such without taking rows back.")})
	}
	in = b.narrow(in, used, n.Inputs()[0])
	id := b.Meta.New("proctime", types.T(types.Timestamptz))
	p := *in.node.Properties()
	p.Cols = append(slices.Clone(p.Cols), plan.Column{Name: "proctime", Type: types.T(types.Timestamptz), Hidden: true})
	timed := func(e scalar.Expr) scalar.Expr {
		return logical.MapExpr(e, func(x scalar.Expr) scalar.Expr {
			if prop.ProcTimeCall(x) {
				return b.Meta.Ref(id)
			}
			return nil
		})
	}
	return built{&plan.ProcTime{Props: p, In: in.node}, append(slices.Clone(in.cols), id)}, timed
}

// tick makes the processing times of a plan move while nothing comes: somebody waits for what they close.
func tick(n plan.Node) {
	if t, ok := n.(*plan.ProcTime); ok {
		t.Tick = true
	}
	for _, in := range n.Inputs() {
		tick(in)
	}
}
