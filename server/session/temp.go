package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/pgwire"
	"github.com/weirdb/weir/server/engine"
	"github.com/weirdb/weir/server/table"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
)

// Temporary tables, views, indexes and sequences are the session's (engine.Temp): nobody else knows them, and to define
// them nobody has to wait. They are in a schema of their own, which comes first in the search path unless that says otherwise.

// concernsTemp tells whether a statement defines or changes temporary objects.
func (s *session) concernsTemp(ctx context.Context, t *tx, e *execution) (bool, error) {
	var names []ast.Name
	switch st := e.p.ast.(type) {
	case *ast.CreateTable:
		return st.Temporary || s.tempName(st.Name), nil
	case *ast.CreateView:
		return st.Temporary || !st.Materialized && s.tempName(st.Name), nil
	case *ast.CreateSequence:
		return st.Temporary || s.tempName(st.Name), nil
	case *ast.CreateIndex:
		names = []ast.Name{st.Table}
	case *ast.AlterTable:
		names = []ast.Name{st.Name}
	case *ast.Alter:
		if st.Kind != ast.KindSchema && st.Kind != ast.KindFunction {
			names = []ast.Name{st.Name}
		}
	case *ast.AlterSequence:
		names = []ast.Name{st.Name}
	case *ast.Comment:
		switch st.Kind {
		case ast.KindSchema, ast.KindFunction, ast.KindExtension:
		default:
			names = []ast.Name{st.Name}
		}
	case *ast.Drop:
		if st.Kind != ast.KindSchema && st.Kind != ast.KindFunction {
			names = st.Names
		}
	}
	if t.temp == nil || len(names) == 0 {
		return false, nil
	}
	d := &definer{ctx: ctx, s: s, t: t, e: e, cat: t.catalog()}
	temps := 0
	for _, n := range names {
		schema, name, err := d.qualify(n, false)
		if err != nil {
			return false, nil // the statement will say so
		}
		if schema == d.cat.TempSchema && d.indexNamed(schema, name) {
			temps++
		}
	}
	if temps > 0 && temps < len(names) {
		return false, sqlerr.Newf(sqlerr.FeatureNotSupported, "temporary and other objects in one statement are not supported yet").
			WithHint("Write a statement for each.")
	}
	return temps > 0, nil
}

// tempName tells whether a name is in the schema of temporary objects.
func (s *session) tempName(n ast.Name) bool {
	return len(n.Parts) == 2 && (n.Parts[0] == catalog.TempAlias || s.vars.temp != "" && n.Parts[0] == s.vars.temp)
}

// defineTemp runs a definition of temporary objects.
func (s *session) defineTemp(ctx context.Context, t *tx, e *execution) (pgwire.Result, error) {
	if t.temp == nil {
		if s.temp == nil {
			s.vars.temp = fmt.Sprintf("pg_temp_%d", s.pid)
			s.temp, s.sequences = engine.NewTemp(s.vars.temp, t.inc.AllocID()), table.NewTemporary()
		}
		var err error
		if t.temp, err = t.inc.Temporary(t.writes, s.temp); err != nil {
			return pgwire.Result{}, err
		}
	}
	d := &definer{ctx: ctx, s: s, t: t, e: e, cat: t.catalog(), temp: true}
	tag, err := d.run(ctx)
	return pgwire.Result{Tag: tag}, err
}

// tempTarget is the name of a new temporary object.
func (d *definer) tempTarget(n ast.Name) (schema, name string, err error) {
	if len(n.Parts) > 1 && !d.s.tempName(n) {
		return "", "", sqlerr.Newf(sqlerr.InvalidTableDefinition, "cannot create temporary relation in non-temporary schema")
	}
	return d.s.vars.temp, n.Parts[len(n.Parts)-1], nil
}

// readsTemp tells whether a query reads temporary objects.
func (d *definer) readsTemp(q *ast.Select) bool {
	if d.t.temp == nil {
		return false
	}
	b, err := d.planner().Bind(q, nil)
	return err == nil && slices.ContainsFunc(b.Relations, func(r *catalog.Relation) bool { return r.Temp })
}

// viewOfTemp makes a view temporary that reads something temporary.
func (d *definer) viewOfTemp(st *ast.CreateView) error {
	if d.temp || !d.readsTemp(st.Query) {
		return nil
	}
	d.temp = true
	if _, _, err := d.tempTarget(st.Name); err != nil {
		return err
	}
	d.s.notice(sqlerr.SuccessfulCompletion, fmt.Sprintf("view %q will be a temporary view", strings.Join(st.Name.Parts, ".")))
	return nil
}

// standings are where sequences stand.
type standings interface {
	NextValues(seq *catalog.Relation, n int64) ([]int64, error)
	FillColumn(seq *catalog.Relation, v *vec.Vector, n int, all bool) (out *vec.Vector, last int64, ok bool, err error)
	SetSequence(seq *catalog.Relation, value int64, called bool) error
	SequenceStanding(seq *catalog.Relation) (table.Standing, error)
}

// standing is where a sequence stands.
func (s *session) standing(t *tx, seq *catalog.Relation) standings {
	if seq.Temp {
		return tempStandings{s.sequences}
	}
	return t.inc
}

type tempStandings struct{ *table.Sequences }

func (q tempStandings) NextValues(seq *catalog.Relation, n int64) ([]int64, error) {
	return q.Next(seq, n)
}

func (q tempStandings) FillColumn(seq *catalog.Relation, v *vec.Vector, n int, all bool) (out *vec.Vector, last int64, ok bool, err error) {
	return q.Fill(seq, v, n, all)
}

func (q tempStandings) SetSequence(seq *catalog.Relation, value int64, called bool) error {
	return q.Put(seq, value, called)
}

func (q tempStandings) SequenceStanding(seq *catalog.Relation) (table.Standing, error) {
	return q.Standing(seq)
}
