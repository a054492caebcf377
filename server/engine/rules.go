package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/expr"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/planner"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/server/table"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/parse"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// rules are the table.Rules of one statement: what the definitions of tables say of rows that foreign keys change.
type rules struct {
	i   *Incarnation
	cat *catalog.Catalog
	env *exec.Env
	// made are the tables that were asked for.
	made map[catalog.ID]*tableRules
}

type tableRules struct {
	rel       *catalog.Relation
	p         *planner.Planner
	checks    []plan.Check
	generated []plan.Generated
}

// Rules gives what referential actions of a statement do with the rows that they change.
func (i *Incarnation) Rules(cat *catalog.Catalog, env *exec.Env) table.Rules {
	return &rules{i: i, cat: cat, env: env, made: map[catalog.ID]*tableRules{}}
}

// stored is the environment of expressions that no session runs.
func (i *Incarnation) stored() *exec.Env {
	return &exec.Env{Location: time.UTC, Database: "weir", Now: time.Now(), Types: userTypes{i}}
}

func (r *rules) of(t *table.Table) (*tableRules, error) {
	if m := r.made[t.Rel.ID]; m != nil {
		return m, nil
	}
	rel := r.cat.RelationByID(t.Rel.ID)
	if rel == nil {
		return nil, sqlerr.Newf(sqlerr.UndefinedTable, "relation %q does not exist", t.Rel.Name)
	}
	m := &tableRules{rel: rel, p: r.i.storedPlanner(r.cat, &catalog.Relation{SearchPath: rel.SearchPath, Functions: rel.Functions}, r.env.Now)}
	d, err := tableDML(m.p, rel)
	if err != nil {
		return nil, err
	}
	m.checks, m.generated = d.Checks, d.Generated
	r.made[rel.ID] = m
	return m, nil
}

// tableDML plans an insert, for the constraints and generated columns of a table.
func tableDML(p *planner.Planner, rel *catalog.Relation) (*plan.DML, error) {
	text := fmt.Sprintf("INSERT INTO %s.%s DEFAULT VALUES", parse.QuoteIdent(rel.Schema), parse.QuoteIdent(rel.Name))
	stmts, err := parse.Parse(text)
	if err != nil {
		return nil, err
	}
	b, err := p.Bind(stmts[0].AST, nil)
	if err != nil {
		return nil, err
	}
	return p.DML(b)
}

func (r *rules) eval(x scalar.Expr, c *vec.Chunk) (*vec.Vector, error) { return evalAll(x, r.env, c) }

// evalAll computes an expression over the rows of c, every one of which must have a value.
func evalAll(x scalar.Expr, env *exec.Env, c *vec.Chunk) (*vec.Vector, error) {
	ev, err := expr.Compile(x, env)
	if err != nil {
		return nil, err
	}
	v, err := ev.Eval(&expr.EvalContext{Env: env, RowError: func(_ *vec.Chunk, _ int, err error) error { return err }}, c)
	if err != nil {
		return nil, err
	}
	return v.Clone(), nil
}

// Complete implements table.Rules.
func (r *rules) Complete(t *table.Table, rows *vec.Chunk) (*vec.Chunk, error) {
	m, err := r.of(t)
	if err != nil {
		return nil, err
	}
	out := &vec.Chunk{Cols: slices.Clone(rows.Cols)}
	out.SetLen(rows.Len())
	for _, g := range m.generated {
		v, err := r.eval(g.Expr, out)
		if err != nil {
			return nil, err
		}
		out.Cols[g.Col] = v
	}
	for k, c := range m.rel.Columns {
		if !c.NotNull || !out.Cols[k].Nulls.Any() {
			continue
		}
		for i := range out.Len() {
			if out.Cols[k].IsNull(i) {
				err := sqlerr.Newf(sqlerr.NotNullViolation, "null value in column %q of relation %q violates not-null constraint", c.Name, m.rel.Name).
					WithDetail("Failing row contains (%s).", m.describe(out, i))
				err.Schema, err.Table, err.Column = m.rel.Schema, m.rel.Name, c.Name
				return nil, err
			}
		}
	}
	for _, ck := range m.checks {
		v, err := r.eval(ck.Expr, out)
		if err != nil {
			return nil, err
		}
		for i := range out.Len() {
			if !v.Nulls.Get(i) && !v.Bool[i] {
				if ck.Domain != "" {
					return nil, types.DomainViolation(ck.Domain, ck.Name)
				}
				err := sqlerr.Newf(sqlerr.CheckViolation, "new row for relation %q violates check constraint %q", m.rel.Name, ck.Name).
					WithDetail("Failing row contains (%s).", m.describe(out, i))
				err.Schema, err.Table, err.Constraint = m.rel.Schema, m.rel.Name, ck.Name
				return nil, err
			}
		}
	}
	return out, nil
}

func (m *tableRules) describe(rows *vec.Chunk, i int) string {
	var parts []string
	for k, c := range m.rel.Columns {
		switch {
		case c.Hidden:
		case rows.Cols[k].IsNull(i):
			parts = append(parts, "null")
		default:
			parts = append(parts, string(types.AppendText(nil, c.Type, rows.Cols[k].Datum(i), nil)))
		}
	}
	return strings.Join(parts, ", ")
}

// Default implements table.Rules.
func (r *rules) Default(t *table.Table, col int) (types.Datum, error) {
	m, err := r.of(t)
	if err != nil {
		return types.Null, err
	}
	c := m.rel.Columns[col]
	switch {
	case c.Serial || c.Identity != "":
		seq := r.cat.RelationByID(c.Sequence)
		if seq == nil {
			return types.Null, sqlerr.Newf(sqlerr.UndefinedTable, "could not open relation with OID %d", uint32(c.Sequence))
		}
		v, _, _, err := r.i.FillColumn(seq, vec.NewConst(c.Type, types.Null, 1), 1, true)
		if err != nil {
			return types.Null, err
		}
		return v.Datum(0), nil
	case c.Default == "" || c.Generated:
		return types.Null, nil
	}
	x, err := parse.ParseExpr(c.Default)
	if err != nil {
		return types.Null, err
	}
	e, err := m.p.Expr(x, nil, c.Type, "DEFAULT expressions")
	if err != nil {
		return types.Null, err
	}
	return expr.FoldConst(e, r.env)
}
