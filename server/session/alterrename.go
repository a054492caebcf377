package session

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/weirdb/weir/planner"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/parse"
	"github.com/weirdb/weir/sql/sqlerr"
)

// Names of tables and columns are in the texts of what reads them. When one is changed, these are written anew where they name the
// table in FROM: it gets its old name, and its columns their old names, as an alias there, and everything else in the text
// means what it meant. A text for which that is not enough is not changed, and the statement is refused.

// renamed is a relation with another name or other names of columns.
type renamed struct {
	old, new *catalog.Relation
}

// rename changes a relation and the texts of everything that names it.
func (d *definer) rename(ctx context.Context, x renamed, also ...func(*catalog.Catalog)) error {
	others, err := d.retext(x)
	if err != nil {
		return err
	}
	also = append(also, func(c *catalog.Catalog) {
		for _, r := range others {
			c.Put(r)
		}
	})
	if x.old.Kind != catalog.Table || d.to().Table(x.old.ID) == nil {
		return d.to().Change(ctx, func(c *catalog.Catalog) {
			c.Put(x.new)
			for _, change := range also {
				change(c)
			}
		})
	}
	held, err := d.to().Alter(ctx, x.old)
	if err != nil {
		return err
	}
	defer held.Release()
	x.new.Altered++
	return held.Define(ctx, x.new, also...)
}

// retext gives what names the relation in its text, with texts that name it as it will be.
func (d *definer) retext(x renamed) ([]*catalog.Relation, error) {
	var out []*catalog.Relation
	cat := d.cat.Clone()
	cat.Put(x.new)
	for _, r := range d.cat.Dependents(x.old.ID) {
		if r.Kind == catalog.Index || r.Query == "" {
			continue
		}
		refuse := func(why string) error {
			return sqlerr.Newf(sqlerr.FeatureNotSupported, "cannot rename what %s %q reads in this way: %s", kindWord(r.Kind), r.Name, why)
		}
		uses, err := d.t.inc.TableUses(d.cat, r)
		if err != nil {
			return nil, refuse(sqlerr.From(err).Message)
		}
		c := *r
		if c.Query, err = x.text(r, uses); err != nil {
			return nil, refuse(sqlerr.From(err).Message)
		}
		before, err := d.t.inc.QueryColumns(d.cat, r)
		if err != nil {
			return nil, refuse(sqlerr.From(err).Message)
		}
		after, err := d.t.inc.QueryColumns(cat, &c)
		if err != nil {
			return nil, refuse(sqlerr.From(err).Message)
		}
		if !slices.Equal(before, after) {
			return nil, refuse("its columns would be others")
		}
		cat.Put(&c)
		out = append(out, &c)
	}
	for _, ix := range d.cat.AllIndexes(x.old.ID) {
		c, err := d.reindex(x, ix)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// text writes a query anew.
func (x *renamed) text(r *catalog.Relation, uses []planner.TableUse) (string, error) {
	uses = slices.DeleteFunc(slices.Clone(uses), func(u planner.TableUse) bool { return u.Rel.ID != x.old.ID || u.Pos < 0 })
	slices.SortFunc(uses, func(a, b planner.TableUse) int { return a.Pos - b.Pos })
	uses = slices.CompactFunc(uses, func(a, b planner.TableUse) bool { return a.Pos == b.Pos })
	name := quoteIdent(x.new.Name)
	if x.new.Schema != x.old.Schema {
		name = quoteIdent(x.new.Schema) + "." + name
	}
	var places []parse.TablePlace
	for _, u := range uses {
		p := parse.TablePlace{Pos: u.Pos, Parts: u.Parts, Alias: x.old.Name, Name: name}
		if u.Parts > 1 {
			p.Name = quoteIdent(x.new.Schema) + "." + quoteIdent(x.new.Name)
		}
		var given []string
		if u.Alias != nil {
			p.Alias, given = u.Alias.Name, u.Alias.Columns
		}
		// The columns as the text knows them.
		seen := x.old.Seen(r)
		last := len(given)
		var cols []string
		for i, k := range seen.Columns {
			if k.Hidden {
				continue
			}
			n := k.Name
			if len(cols) < len(given) {
				n = given[len(cols)]
			}
			cols = append(cols, n)
			if i < len(x.new.Columns) && x.new.Columns[i].Name != k.Name {
				last = max(last, len(cols))
			}
		}
		p.Columns = cols[:min(last, len(cols))]
		places = append(places, p)
	}
	return parse.RenameTables(r.Query, places)
}

// reindex gives an index of the relation as it will be.
func (d *definer) reindex(x renamed, ix *catalog.Relation) (*catalog.Relation, error) {
	c := *ix
	def := *ix.Index
	def.Columns, def.Include = slices.Clone(def.Columns), slices.Clone(def.Include)
	for i, k := range x.old.Columns {
		if i >= len(x.new.Columns) || x.new.Columns[i].Name == k.Name {
			continue
		}
		to := x.new.Columns[i].Name
		for j := range def.Columns {
			if def.Columns[j].Expr == "" && def.Columns[j].Column == k.Name {
				def.Columns[j].Column = to
			}
		}
		for j := range def.Include {
			if def.Include[j] == k.Name {
				def.Include[j] = to
			}
		}
		if j := c.ColumnIndex(k.Name); j >= 0 {
			c.Columns = slices.Clone(c.Columns)
			c.Columns[j].Name = to
		}
	}
	var err error
	for j := range def.Columns {
		if def.Columns[j].Expr, err = d.reexpr(x, def.Columns[j].Expr); err != nil {
			return nil, err
		}
	}
	if def.Where, err = d.reexpr(x, def.Where); err != nil {
		return nil, err
	}
	if c.Owner = x.new.Owner; !c.Internal {
		c.Schema = x.new.Schema
	}
	c.Index, c.Query = &def, indexQuery(x.new, &def, def.Expressions())
	return &c, nil
}

// reexpr writes an expression over the relation with the new names of its columns.
func (d *definer) reexpr(x renamed, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	e, err := d.s.parseExpr(text)
	if err != nil {
		return "", err
	}
	uses, err := d.planner().FieldsIn(e, x.old, "check constraints")
	if err != nil {
		return "", err
	}
	names := map[int]parse.ColumnPlace{}
	for _, u := range uses {
		if to := x.new.Columns[u.Ord].Name; u.Parts > 0 && to != x.old.Columns[u.Ord].Name {
			names[u.Pos] = parse.ColumnPlace{Parts: u.Parts, Name: quoteIdent(to)}
		} else if u.Parts > 1 && x.new.Name != x.old.Name {
			names[u.Pos] = parse.ColumnPlace{Parts: u.Parts, Name: quoteIdent(to)}
		}
	}
	return parse.RenameColumns(text, names), nil
}

func (d *definer) renameColumn(ctx context.Context, r *catalog.Relation, x ast.AlterAction) error {
	switch r.Kind {
	case catalog.Table, catalog.View, catalog.MatView:
	default:
		return sqlerr.Newf(sqlerr.WrongObjectType, "cannot rename columns of relation \"%s\"", r.Name).
			WithDetail("This operation is not supported for %s.", strings.Replace(kindWord(r.Kind)+"s", "indexs", "indexes", 1))
	}
	if r.HasConnector() || r.Watermark != nil {
		return sqlerr.New(sqlerr.FeatureNotSupported, x.Pos, "RENAME COLUMN of a table with a connector or a watermark is not supported yet")
	}
	i := r.ColumnIndex(x.Column)
	if i < 0 || r.Columns[i].Hidden {
		return sqlerr.Newf(sqlerr.UndefinedColumn, "column \"%s\" does not exist", x.Column)
	}
	if r.ColumnIndex(x.Name) >= 0 {
		return sqlerr.Newf(sqlerr.DuplicateColumn, "column \"%s\" of relation \"%s\" already exists", x.Name, r.Name)
	}
	if len(d.cat.SinksInto(r.ID)) > 0 {
		return sqlerr.New(sqlerr.FeatureNotSupported, x.Pos, "cannot rename a column of table %q because a sink writes to it, which is not supported yet", r.Name)
	}
	c := *r
	c.Columns, c.Checks = slices.Clone(r.Columns), slices.Clone(r.Checks)
	c.Columns[i].Name = x.Name
	if text, ok := r.ColumnComments[x.Column]; ok {
		c.ColumnComments = maps.Clone(r.ColumnComments)
		delete(c.ColumnComments, x.Column)
		c.ColumnComments[x.Name] = text
	}
	to := renamed{old: r, new: &c}
	var err error
	for k := range c.Columns {
		if c.Columns[k].Generated {
			if c.Columns[k].Default, err = d.reexpr(to, c.Columns[k].Default); err != nil {
				return err
			}
		}
	}
	for k := range c.Checks {
		if c.Checks[k].Expr, err = d.reexpr(to, c.Checks[k].Expr); err != nil {
			return err
		}
	}
	return d.rename(ctx, to, func(cat *catalog.Catalog) {
		for _, q := range cat.Owned(r.ID) {
			if q.Seq.OwnedColumn == x.Column {
				y, s := *q, *q.Seq
				s.OwnedColumn = x.Name
				y.Seq = &s
				cat.Put(&y)
			}
		}
	})
}

// renameRelation gives a relation another name or schema; what belongs to it goes with it.
func (d *definer) renameRelation(ctx context.Context, r, c *catalog.Relation) error {
	x := renamed{old: r, new: c}
	c.Columns, c.Checks = slices.Clone(r.Columns), slices.Clone(r.Checks)
	var err error
	if r.Kind == catalog.Table {
		for k := range c.Columns {
			if c.Columns[k].Generated {
				if c.Columns[k].Default, err = d.reexpr(x, c.Columns[k].Default); err != nil {
					return err
				}
			}
		}
		for k := range c.Checks {
			if c.Checks[k].Expr, err = d.reexpr(x, c.Checks[k].Expr); err != nil {
				return err
			}
		}
	}
	return d.rename(ctx, x, func(cat *catalog.Catalog) {
		for _, q := range cat.Owned(r.ID) {
			y := *q
			y.Schema = c.Schema
			cat.Put(&y)
		}
	})
}
