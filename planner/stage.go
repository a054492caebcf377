package planner

import (
	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/planner/rule"
	"github.com/weirdb/weir/planner/unnest"
)

// Stage gives the text of a query's logical plan on its way: as bound ("bind"), without subqueries and
// correlation ("unnest"), after all rules ("opt").
func (p *Planner) Stage(b *Bound, stage string) (string, error) {
	m := copyMeta(b)
	n := b.query.Node
	if stage == "bind" {
		return logical.String(m, n), nil
	}
	n, err := unnest.Plan(m, p.cfg.Registry, n)
	if err != nil {
		return "", err
	}
	if stage == "opt" {
		ids, _ := outIDs(b.query)
		env := p.env(m, false)
		n = rule.Prune(env, rule.Optimize(env, n), logical.SetOf(ids...))
	}
	return logical.String(m, n), nil
}
