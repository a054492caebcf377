package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/parse"
	"github.com/weirdb/weir/sql/sqlerr"
)

// typeUses is what depends on types that are to be dropped.
type typeUses struct {
	// types are these types and others that depend on them; columns are those of tables, by relation.
	types   []*catalog.Type
	columns map[catalog.ID][]string
	// defaults are columns whose defaults name them.
	defaults  map[catalog.ID][]string
	relations map[catalog.ID]*catalog.Relation
	functions []*catalog.Function
	details   []string
}

func (u *typeUses) empty() bool {
	return len(u.columns) == 0 && len(u.relations) == 0 && len(u.functions) == 0
}

// typeUses finds what depends on types.
func (d *definer) typeUses(ts []*catalog.Type) *typeUses {
	u := &typeUses{types: slices.Clone(ts), columns: map[catalog.ID][]string{}, relations: map[catalog.ID]*catalog.Relation{}}
	for i := 0; i < len(u.types); i++ {
		t := u.types[i]
		on := "type " + d.displayType(t)
		add := func(format string, args ...any) {
			u.details = append(u.details, fmt.Sprintf(format, args...)+" depends on "+on)
		}
		for _, o := range d.cat.SortedTypes() {
			if slices.ContainsFunc(u.types, func(x *catalog.Type) bool { return x.ID == o.ID }) {
				continue
			}
			for _, a := range o.Attrs {
				if isOfType(a.Type, t) {
					add("column %s of composite type %s", a.Name, d.displayType(o))
					u.types = append(u.types, o)
					break
				}
			}
			if o.Kind == catalog.DomainType && (o.Over == t.ID || isOfType(o.Base, t)) {
				add("type %s", d.displayType(o))
				u.types = append(u.types, o)
			}
		}
		for _, r := range d.cat.Sorted() {
			if r.Kind == catalog.Index {
				continue
			}
			used := false
			for _, c := range r.Columns {
				if c.Domain == t.ID || isOfType(c.Type, t) || t.Kind == catalog.CompositeType && d.contains(c.Type, t.Type().Kind) {
					used = true
					if r.Kind == catalog.Table || r.Kind == catalog.Source {
						if !slices.Contains(u.columns[r.ID], c.Name) {
							u.columns[r.ID] = append(u.columns[r.ID], c.Name)
							add("column %s of %s %s", c.Name, kindWord(r.Kind), d.displayName(r))
						}
					}
				}
			}
			if r.Query != "" && (used || d.queryNames(r, t)) && u.relations[r.ID] == nil {
				u.relations[r.ID] = r
				add("%s %s", kindWord(r.Kind), d.displayName(r))
			}
		}
		for _, f := range d.cat.SortedFunctions() {
			used := isOfType(f.Returns, t) || slices.ContainsFunc(f.Params, func(p catalog.Param) bool { return isOfType(p.Type, t) })
			if !used && f.Form != "" {
				if q, err := parse.ParseQuery(f.Body); err == nil {
					used = d.namesType(f.SearchPath, q, t)
				}
			}
			if used && !slices.Contains(u.functions, f) {
				u.functions = append(u.functions, f)
				add("function %s", d.displayFunction(f))
			}
		}
	}
	return u
}

func (d *definer) dropTypes(ctx context.Context, st *ast.Drop) error {
	var ts []*catalog.Type
	for _, n := range st.Names {
		t, err := d.ownType(n, st.Kind == ast.KindDomain, st.IfExists)
		var row *rowTypeError
		if errors.As(err, &row) {
			return sqlerr.Newf(sqlerr.DependentObjectsStillExist, "cannot drop type %s because %s %s requires it",
				row.r.Name, kindWord(row.r.Kind), d.displayName(row.r)).
				WithHint("You can drop %s %s instead.", kindWord(row.r.Kind), d.displayName(row.r))
		}
		if err != nil {
			return err
		}
		if t != nil && !slices.Contains(ts, t) {
			ts = append(ts, t)
		}
	}
	if len(ts) == 0 {
		return nil
	}
	what := "desired object(s)"
	if len(ts) == 1 {
		what = "type " + d.displayType(ts[0])
	}
	return d.dropTypesWith(ctx, ts, what, st.Cascade)
}

// dropTypesOf drops the types of schemas that are dropped.
func (d *definer) dropTypesOf(ctx context.Context, schemas []string, cascade bool) error {
	var ts []*catalog.Type
	for _, t := range d.cat.SortedTypes() {
		if !slices.Contains(schemas, t.Schema) {
			continue
		}
		if !cascade {
			return sqlerr.Newf(sqlerr.DependentObjectsStillExist, "cannot drop schema %s because other objects depend on it", t.Schema).
				WithDetail("type %s depends on schema %s", d.displayType(t), t.Schema).
				WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
		}
		ts = append(ts, t)
	}
	if len(ts) == 0 {
		return nil
	}
	if err := d.quietly().dropTypesWith(ctx, ts, "", true); err != nil {
		return err
	}
	d.cat = d.t.catalog()
	return nil
}

// dropTypesWith drops types and, with cascade, all that depends on them.
func (d *definer) dropTypesWith(ctx context.Context, ts []*catalog.Type, what string, cascade bool) error {
	u := d.typeUses(ts)
	if len(u.details) > 0 && !cascade {
		on := "it"
		if len(ts) > 1 {
			on = "them"
		}
		return sqlerr.Newf(sqlerr.DependentObjectsStillExist, "cannot drop %s because other objects depend on %s", what, on).
			WithDetail("%s", strings.Join(u.details, "\n")).
			WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
	}
	d.cascades(u.details)
	gone := func(c *catalog.Catalog) {
		for _, t := range u.types {
			c.RemoveType(t.ID)
		}
	}
	if u.empty() {
		return d.to().Change(d.ctx, gone)
	}
	// What reads the columns goes first, then the columns, and the types last: whatever interrupts it, nothing is of a type that is not there.
	if len(u.relations) > 0 || len(u.functions) > 0 {
		if err := d.quietly().dropWithFunctions(ctx, u.relations, u.functions, true); err != nil {
			return err
		}
		d.cat = d.t.catalog()
	}
	for _, r := range d.cat.Sorted() {
		cols := u.columns[r.ID]
		if len(cols) == 0 {
			continue
		}
		if r.Kind != catalog.Table || r.HasConnector() {
			if err := d.quietly().dropRelations(ctx, map[catalog.ID]*catalog.Relation{r.ID: r}, true); err != nil {
				return err
			}
			d.cat = d.t.catalog()
			continue
		}
		at := &ast.AlterTable{Kind: ast.KindTable, Name: ast.Name{Parts: []string{r.Schema, r.Name}}}
		for _, c := range cols {
			at.Actions = append(at.Actions, ast.AlterAction{Kind: ast.DropColumn, Column: c, Cascade: true})
		}
		if err := d.quietly().alterTable(ctx, at); err != nil {
			return err
		}
		d.cat = d.t.catalog()
	}
	return d.to().Change(d.ctx, gone)
}

// quietly is d; what CASCADE drops has been said.
func (d *definer) quietly() *definer {
	c := *d
	c.quiet = true
	return &c
}
