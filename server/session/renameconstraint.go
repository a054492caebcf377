package session

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
)

// renameConstraint is ALTER TABLE ... RENAME CONSTRAINT. The index of a constraint has its name.
func (d *definer) renameConstraint(ctx context.Context, r *catalog.Relation, x ast.AlterAction) error {
	if !hasConstraint(r, x.Column) {
		return sqlerr.Newf(sqlerr.UndefinedObject, "constraint \"%s\" for table \"%s\" does not exist", x.Column, r.Name)
	}
	if d.to().Table(r.ID) == nil {
		return sqlerr.New(sqlerr.FeatureNotSupported, x.Pos, "RENAME CONSTRAINT of %s \"%s\" is not supported yet", kindWord(r.Kind), r.Name)
	}
	c := *r
	c.Checks, c.Uniques, c.StateTables, c.ForeignKeys = slices.Clone(r.Checks), slices.Clone(r.Uniques), maps.Clone(r.StateTables), slices.Clone(r.ForeignKeys)
	if i := slices.IndexFunc(r.Uniques, func(u catalog.Unique) bool { return u.Name == x.Column }); i >= 0 {
		if d.indexNamed(r.Schema, x.Name) {
			return sqlerr.Newf(sqlerr.DuplicateTable, "relation \"%s\" already exists", x.Name)
		}
		if hasConstraint(r, x.Name) {
			return constraintExists(r, x.Name)
		}
		c.Uniques[i].Name = x.Name
		if id, ok := c.StateTables[uniqueState(x.Column)]; ok {
			delete(c.StateTables, uniqueState(x.Column))
			c.StateTables[uniqueState(x.Name)] = id
		}
		if c.PrimaryKey == x.Column {
			c.PrimaryKey = x.Name
		}
	} else {
		if hasConstraint(r, x.Name) {
			return constraintExists(r, x.Name)
		}
		if i := findForeign(r, x.Column); i >= 0 {
			c.ForeignKeys[i].Name = x.Name
		} else {
			c.Checks[slices.IndexFunc(r.Checks, func(k catalog.Check) bool { return k.Name == x.Column })].Name = x.Name
		}
	}
	if text, ok := r.ConstraintComments[x.Column]; ok {
		c.ConstraintComments = maps.Clone(r.ConstraintComments)
		delete(c.ConstraintComments, x.Column)
		c.ConstraintComments[x.Name] = text
	}
	return d.renameKey(ctx, r, &c, x.Column, x.Name)
}

func constraintExists(r *catalog.Relation, name string) error {
	return sqlerr.Newf(sqlerr.DuplicateObject, "constraint \"%s\" for relation \"%s\" already exists", name, r.Name)
}

// renameKey gives a table another definition, in which a constraint or unique index has another name; foreign keys that
// reference the key follow.
func (d *definer) renameKey(ctx context.Context, r, c *catalog.Relation, from, to string, also ...func(*catalog.Catalog)) error {
	held, err := d.to().Alter(ctx, r)
	if err != nil {
		return err
	}
	defer held.Release()
	c.ForeignKeys = slices.Clone(c.ForeignKeys)
	for i := range c.ForeignKeys {
		if f := &c.ForeignKeys[i]; f.Ref == r.ID && f.Key == from {
			f.Key = to
		}
	}
	c.Altered++
	return held.Define(ctx, c, append(also, func(cat *catalog.Catalog) {
		for _, f := range cat.Referrers(r.ID) {
			if f.Key.Key != from || f.Table.ID == r.ID || !hasKey(r, d.cat, from) {
				continue
			}
			child := *cat.RelationByID(f.Table.ID)
			child.ForeignKeys = slices.Clone(child.ForeignKeys)
			child.ForeignKeys[findForeign(&child, f.Key.Name)].Key = to
			cat.Put(&child)
		}
	})...)
}

// hasKey tells whether a name is that of a unique constraint or index of a table, which foreign keys can reference.
func hasKey(r *catalog.Relation, cat *catalog.Catalog, name string) bool {
	return hasUnique(r, name) ||
		slices.ContainsFunc(cat.Indexes(r.ID), func(ix *catalog.Relation) bool { return ix.Name == name })
}

// keyNamed gives the table with the constraint whose index has a name, nil if there is none.
func (d *definer) keyNamed(n ast.Name) (*catalog.Relation, string, error) {
	schema, name, err := d.qualify(n, false)
	if err != nil || d.cat.Relation(schema, name) != nil {
		return nil, name, err
	}
	for _, r := range d.cat.Sorted() {
		if r.Schema == schema && hasUnique(r, name) {
			return r, name, nil
		}
	}
	return nil, name, nil
}

// renameIndex is ALTER INDEX ... RENAME of a unique index.
func (d *definer) renameIndex(ctx context.Context, r, c *catalog.Relation) error {
	parent := *d.cat.RelationByID(r.Parent)
	return d.renameKey(ctx, d.cat.RelationByID(r.Parent), &parent, r.Name, c.Name, func(cat *catalog.Catalog) { cat.Put(c) })
}

// constraintsIndex refuses to drop the index of a constraint.
func (d *definer) constraintsIndex(n ast.Name) error {
	r, name, err := d.keyNamed(n)
	if err != nil || r == nil {
		return err
	}
	what := "constraint " + name + " on table " + d.displayName(r)
	return sqlerr.Newf(sqlerr.DependentObjectsStillExist, "cannot drop index %s because %s requires it", strings.Join(n.Parts, "."), what).
		WithHint("You can drop %s instead.", what)
}
