// Package rule has the rewrites of logical plans, one a file. Each keeps the result of the plan (the
// multiset of rows) and the numbers of the columns that its consumer uses.
package rule

import (
	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
)

// Env is what rules work with.
type Env struct {
	Meta     *logical.Meta
	Registry *fn.Registry
	// Eval computes an expression without columns and parameters; nil: constants are folded only
	// where no computing is needed.
	Eval func(scalar.Expr) (types.Datum, error)
	// Stable: functions that are stable within a statement may be computed now (batch plans only).
	Stable bool
	// Zoned: local time is that of a zone whose clock is changed.
	Zoned bool
	// Rows guesses the number of rows of a relation, for plans that are run once; nil: the order of joins does not depend on it, as that of views
	// must not, which are planned again at each start.
	Rows func(*catalog.Relation) float64
	// leaves are nodes that Prune leaves as they are, with what is needed of each: see Common.
	leaves map[logical.Node]logical.ColSet
	// all: Prune keeps what can be left out because of keys, which may not be known later.
	all bool
}

// Rule is a named rewrite of a whole plan.
type Rule struct {
	Name  string
	Apply func(*Env, logical.Node) logical.Node
}

// Logical lists the rules in the order in which they are applied.
func Logical() []Rule {
	return []Rule{
		{"fold", Fold},
		{"merge-projections", Merge},
		{"push-down", PushDown},
		{"outer-to-inner", OuterToInner},
		{"push-down", PushDown},
		{"merge-projections", Merge},
		{"rank-to-topn", RankToTopN},
		{"max-join", MaxJoin},
		{"window-max-join", WindowMaxJoin},
		{"distinct", Distinct},
		{"distinct-join", DistinctJoin},
		{"hop-project", HopProject},
		{"panes", Panes},
		{"session-panes", SessionPanes},
		{"window-end", WindowEnd},
		{"join-order", JoinOrder},
		{"join-cost", JoinCost},
		{"push-down", PushDown},
		{"fold", Fold},
		{"merge-projections", Merge},
		{"empty", Empty},
	}
}

// Optimize applies all rules but Prune.
func Optimize(e *Env, n logical.Node) logical.Node {
	for _, r := range Logical() {
		n = r.Apply(e, n)
	}
	return n
}

// up rebuilds n from the leaves with f.
func up(n logical.Node, f func(logical.Node) logical.Node) logical.Node {
	ins := n.Inputs()
	changed := false
	nins := make([]logical.Node, len(ins))
	for i, in := range ins {
		nins[i] = up(in, f)
		changed = changed || nins[i] != in
	}
	if changed {
		n = n.WithInputs(nins)
	}
	return f(n)
}

func (e *Env) passAll(ids []logical.ColID) []logical.ProjCol {
	out := make([]logical.ProjCol, len(ids))
	for i, id := range ids {
		out[i] = logical.ProjCol{ID: id, Expr: e.Meta.Ref(id)}
	}
	return out
}

// passes tells whether a projected column is passed through under its own number.
func passes(p logical.ProjCol) bool {
	c, ok := p.Expr.(*scalar.Column)
	return ok && c.Index == p.ID
}
