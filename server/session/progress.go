package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weirdb/weir/server/engine"
	"github.com/weirdb/weir/server/syscat"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// boolOption reads the value of an option that is on if it has none.
func boolOption(o ast.Option) (bool, error) {
	if !o.IsSet {
		return true, nil
	}
	d, err := types.ParseText(types.T(types.Bool), o.Value, nil)
	if err != nil {
		return false, sqlerr.New(sqlerr.InvalidParameterValue, o.Pos, "invalid value for boolean option %q: %s", o.Name, o.Value)
	}
	return d.Bool(), nil
}

// watch tells the client how far the relation is that its statement creates.
func (d *definer) watch(f engine.Fill) {
	text := fmt.Sprintf("%s %q: %d rows read", kindWord(f.Rel.Kind), f.Rel.Name, f.Read)
	if part, ok := f.Fraction(); ok {
		text = fmt.Sprintf("%s %q: %d %% filled", kindWord(f.Rel.Kind), f.Rel.Name, int(part*100))
		if left, ok := f.Left(time.Now()); ok {
			text += fmt.Sprintf(", about %v left", left.Round(time.Second))
		}
	}
	d.s.notice(sqlerr.SuccessfulCompletion, text)
}

// fills are the rows of weir_progress.
func fills(inc *engine.Incarnation) []syscat.Fill {
	var out []syscat.Fill
	now := time.Now()
	for _, f := range inc.Fills() {
		s := syscat.Fill{Rel: f.Rel, State: "filling", Since: f.Since, Read: f.Read, Total: f.Total, Background: f.Background, Resumable: f.Resumable, Percent: -1, Left: -1}
		if part, ok := f.Fraction(); ok {
			s.Percent = part * 100
		}
		if left, ok := f.Left(now); ok {
			s.Left = left
		}
		if f.Err != nil {
			s.State, s.Error = "failed", sqlerr.From(f.Err).Message
		}
		out = append(out, s)
	}
	return out
}

// notYet explains the error of a statement that reads a view which is still being created in the background.
func (s *session) notYet(t *tx, err error) error {
	var e *sqlerr.Error
	if !errors.As(err, &e) || e.Code != sqlerr.UndefinedTable {
		return err
	}
	for _, f := range t.inc.Fills() {
		if !f.Background || !strings.Contains(e.Message, fmt.Sprintf("%q does not exist", f.Rel.Name)) {
			continue
		}
		if p := t.inc.PendingError(f.Rel.Schema, f.Rel.Name); p != nil {
			var k *sqlerr.Error
			if errors.As(p, &k) && e.Pos != sqlerr.NoPos {
				c := *k
				c.Pos = e.Pos
				return &c
			}
			return p
		}
	}
	return err
}

// dropPending ends the creation in the background of views that are named, and gives the names that are left.
func (d *definer) dropPending(ctx context.Context, st *ast.Drop) ([]ast.Name, error) {
	if st.Kind != ast.KindMatView {
		return st.Names, nil
	}
	var rest []ast.Name
	for _, n := range st.Names {
		schema, name, err := d.qualify(n, false)
		if err != nil {
			return nil, err
		}
		var id catalog.ID
		for _, f := range d.t.inc.Fills() {
			if f.Background && f.Rel.Schema == schema && f.Rel.Name == name {
				id = f.Rel.ID
			}
		}
		if id == 0 || d.cat.Relation(schema, name) != nil {
			rest = append(rest, n)
			continue
		}
		if d.t.defs != nil {
			return nil, sqlerr.Newf(sqlerr.FeatureNotSupported, "DROP of a view that is being created in the background inside a transaction block is not supported yet")
		}
		if err := d.t.inc.CancelBackground(ctx, id); err != nil {
			return nil, err
		}
		d.cat = d.t.catalog()
	}
	return rest, nil
}

// notPending refuses a change of what a view reads that is being created in the background.
func (d *definer) notPending(verb string, rels map[catalog.ID]*catalog.Relation) error {
	for id, r := range rels {
		for _, p := range d.t.inc.PendingReaders(id) {
			return sqlerr.Newf(sqlerr.DependentObjectsStillExist, "cannot %s %s %s because materialized view %s is being created from it",
				verb, kindWord(r.Kind), d.displayName(r), d.displayName(p)).
				WithHint("Wait until it is complete, or drop it.")
		}
	}
	return nil
}
