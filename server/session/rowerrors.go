package session

import (
	"fmt"

	"github.com/weirdb/weir/exec/rowerr"
	"github.com/weirdb/weir/server/syscat"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/storage"
)

// checkRelations warns of what is not complete in relations that are read, or in what they depend on, and refuses what
// must not be read as long as rows fail.
func (s *session) checkRelations(t *tx, snap *storage.Snapshot, rels []*catalog.Relation) error {
	var seen map[catalog.ID]bool
	for _, rel := range t.stored(rels) {
		if rel.Made() {
			continue
		}
		if seen == nil {
			seen = map[catalog.ID]bool{}
		}
		if err := s.checkRelation(t, snap, rel, seen); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) checkRelation(t *tx, snap *storage.Snapshot, rel *catalog.Relation, seen map[catalog.ID]bool) error {
	if seen[rel.ID] {
		return nil
	}
	seen[rel.ID] = true
	if err := t.inc.Problem(rel.ID); err != nil {
		s.warn(sqlerr.Warning, fmt.Sprintf("source %q does not deliver any more: %s", rel.Name, sqlerr.From(err).Message), "")
	}
	if err := s.checkRowErrors(t, snap, rel); err != nil {
		return err
	}
	cat := t.catalog()
	if err := s.checkTaken(t, snap, rel, rel.Takes); err != nil {
		return err
	}
	for _, d := range rel.DependsOn {
		if r := cat.RelationByID(d); r != nil {
			if err := s.checkRelation(t, snap, r, seen); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkTaken does so for what fails in relations whose rows rel takes: there it is a part of rel's query that fails.
func (s *session) checkTaken(t *tx, snap *storage.Snapshot, rel *catalog.Relation, taken []catalog.ID) error {
	for _, id := range taken {
		r := t.catalog().RelationByID(id)
		if r == nil {
			continue
		}
		as := *r
		as.Name, as.Kind, as.OnError = rel.Name, rel.Kind, rel.OnError
		if err := s.checkRowErrors(t, snap, &as); err != nil {
			return err
		}
		if err := s.checkTaken(t, snap, rel, r.Takes); err != nil {
			return err
		}
	}
	return nil
}

// checkRowErrors warns of rows that fail.
func (s *session) checkRowErrors(t *tx, snap *storage.Snapshot, rel *catalog.Relation) error {
	v := t.inc.RowErrorsAt(snap, rel)
	if v == nil {
		return nil
	}
	n, err := rowerr.Total(v)
	if err != nil || n <= 0 {
		return err
	}
	one, _, err := rowerr.One(v)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%s %q has %d row errors", kindWord(rel.Kind), rel.Name, n)
	if n == 1 {
		what = fmt.Sprintf("%s %q has a row error", kindWord(rel.Kind), rel.Name)
	}
	if rel.OnError == catalog.OnErrorFail && rel.Kind == catalog.MatView {
		e := one.Err()
		e.Detail, e.Hint = what+".", "It can be read again when there is none, or after ALTER MATERIALIZED VIEW ... SET (on_error = 'null'). See weir_errors."
		if one.Row != "" {
			e.Detail += " Row: " + one.Row
		}
		return e
	}
	how := "and NULL in place of what failed"
	if rel.OnError == catalog.OnErrorSkip || rel.Kind == catalog.Table {
		how = "and leaves out what fails"
	}
	if n > 1 {
		what += " " + how + "; one of them: " + one.Message
	} else {
		what += " " + how + ": " + one.Message
	}
	s.warn(sqlerr.Warning, what, "See weir_errors.")
	return nil
}

// strictRelations are those that must not be read as long as rows fail, among rels and what they depend on.
func strictRelations(cat *catalog.Catalog, rels []*catalog.Relation) []*catalog.Relation {
	var out []*catalog.Relation
	seen := map[catalog.ID]bool{}
	var visit func(r *catalog.Relation)
	visit = func(r *catalog.Relation) {
		if r == nil || seen[r.ID] {
			return
		}
		seen[r.ID] = true
		if r.OnError == catalog.OnErrorFail && r.Kind == catalog.MatView {
			out = append(out, r)
		}
		for _, d := range r.DependsOn {
			visit(cat.RelationByID(d))
		}
	}
	for _, r := range rels {
		visit(r)
	}
	return out
}

// checkFeed says whether a subscription that began before may go on.
func (s *session) checkFeed(t *tx, strict []*catalog.Relation) error {
	cat := t.catalog()
	for _, r := range strict {
		// It may have been changed, or filled again.
		rel := cat.RelationByID(r.ID)
		if rel == nil || rel.OnError != catalog.OnErrorFail || t.inc.RowErrors(rel) <= 0 {
			continue
		}
		snap, err := t.inc.Store.Latest()
		if err == nil {
			err = s.checkRowErrors(t, snap, rel)
			snap.Release()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// rowErrors are the rows of weir_errors that the user may see: those of what he may read. The row that fails is one of what lies
// under the view, which he who may read the view only has no right to see: its owner sees it.
func (s *session) rowErrors(t *tx, snap *storage.Snapshot) ([]syscat.RowError, error) {
	cat := t.catalog()
	allowed := s.authorize(cat)
	var out []syscat.RowError
	for _, rel := range cat.Sorted() {
		of := rel
		if rel.Kind == catalog.Index {
			if of = cat.RelationByID(rel.Parent); of == nil {
				continue
			}
		}
		v := t.inc.RowErrorsAt(snap, rel)
		if v == nil || allowed(of, catalog.Select, "") != nil {
			continue
		}
		owns := cat.Owns(s.user(), of.Owner)
		err := rowerr.Each(v, func(e rowerr.Entry) error {
			if !owns {
				e.Row = ""
			}
			out = append(out, syscat.RowError{
				Relation: rel, Operator: e.Operator, Expression: e.Expression, Code: string(e.Code), Message: e.Message, Row: e.Row,
				Count: e.Count, FirstEpoch: int64(e.FirstEpoch), LastEpoch: int64(e.LastEpoch), FirstTime: e.FirstTime, LastTime: e.LastTime,
			})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// onErrorOption takes the option on_error out of os and sets it in r.
func onErrorOption(r *catalog.Relation, os []ast.Option) ([]ast.Option, error) {
	var rest []ast.Option
	for _, o := range os {
		if o.Name != "on_error" {
			rest = append(rest, o)
			continue
		}
		switch o.Value {
		case "null":
			r.OnError = catalog.OnErrorNull
		case "skip":
			r.OnError = catalog.OnErrorSkip
		case "fail":
			r.OnError = catalog.OnErrorFail
		default:
			return nil, sqlerr.New(sqlerr.InvalidParameterValue, o.Pos, "on_error is %q, but can only be 'null', 'skip' or 'fail'", o.Value)
		}
	}
	return rest, nil
}

// jobOptions takes those options out of os that every view and sink has, and sets them in r.
func jobOptions(r *catalog.Relation, os []ast.Option) ([]ast.Option, error) {
	os, err := failoverOption(r, os)
	if err != nil {
		return nil, err
	}
	return onErrorOption(r, os)
}

// changeOnError says whether a job can go on with what to is, which was from: its rows, and what is noted of them, must be
// the same ones.
func changeOnError(from, to *catalog.Relation, pos int) error {
	if from.OnError == to.OnError {
		return nil
	}
	if from.Kind == catalog.Sink {
		return sqlerr.New(sqlerr.FeatureNotSupported, pos, "on_error of a sink cannot be changed").
			WithHint("Create it again with the other setting.")
	}
	if from.OnError == catalog.OnErrorSkip || to.OnError == catalog.OnErrorSkip {
		return sqlerr.New(sqlerr.FeatureNotSupported, pos, "on_error cannot be changed to or from 'skip', which decides what rows %q has", from.Name).
			WithHint("CREATE OR REPLACE MATERIALIZED VIEW ... WITH (on_error = ...) makes it again.")
	}
	return nil
}

// onErrorName is how users call it.
func onErrorName(r *catalog.Relation) string {
	if r.OnError == catalog.OnErrorNull {
		return "null"
	}
	return r.OnError
}
