package session

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weirdb/weir/server/table"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

func uniqueState(constraint string) string { return table.UniqueStateName(constraint) }

// addNewColumn is ADD COLUMN. The new column stands before the hidden one.
func (a *alteration) addNewColumn(x ast.AlterAction) error {
	cd := *x.Def
	if i := a.rel.ColumnIndex(cd.Name); i >= 0 && !a.rel.Columns[i].Hidden {
		if x.IfExists {
			a.s.notice(sqlerr.DuplicateColumn, fmt.Sprintf("column \"%s\" of relation \"%s\" already exists, skipping", cd.Name, a.rel.Name))
			return nil
		}
		return sqlerr.Newf(sqlerr.DuplicateColumn, "column \"%s\" of relation \"%s\" already exists", cd.Name, a.rel.Name)
	}
	var rowID *catalog.Column
	var rowIDFrom columnSource
	if i := a.rel.ColumnIndex(rowIDColumn); i >= 0 {
		c := a.rel.Columns[i]
		rowID, rowIDFrom = &c, a.from[i]
		a.rel.Columns, a.from = a.rel.Columns[:i:i], a.from[:i:i]
	}
	// Constraints on keys come when the columns are in their places.
	var keys []ast.ColumnConstraint
	cd.Constraints = slices.DeleteFunc(slices.Clone(cd.Constraints), func(k ast.ColumnConstraint) bool {
		key := k.Kind == ast.ConPrimaryKey || k.Kind == ast.ConUnique
		if key {
			keys = append(keys, k)
		}
		return key
	})
	sequences := len(a.sequences)
	if err := a.addColumn(cd); err != nil {
		return err
	}
	at := len(a.rel.Columns) - 1
	c := &a.rel.Columns[at]
	a.rewrite = true
	src := columnSource{old: -1, expr: &scalar.Const{Node: scalar.Node{T: c.Type, Pos: sqlerr.NoPos}}}
	switch {
	case len(a.sequences) > sequences:
		src = columnSource{old: -1, seq: a.sequences[sequences]}
	case c.Default != "":
		bound, err := a.checkDefault(a.pl, at, a.calls)
		if err != nil {
			return err
		}
		if src.expr = bound; c.Generated {
			a.fresh[c.Name] = bound
			src.expr = &scalar.Const{Node: scalar.Node{T: c.Type, Pos: sqlerr.NoPos}}
		}
		if c = &a.rel.Columns[at]; c.Serial {
			src = columnSource{old: -1, seq: a.cat.RelationByID(c.Sequence)}
		}
	}
	if c.NotNull {
		a.notNull[c.Name] = true
	}
	a.from = append(a.from, src)
	if rowID != nil {
		a.rel.Columns, a.from = append(a.rel.Columns, *rowID), append(a.from, rowIDFrom)
		if len(a.rel.Key) == 1 {
			a.rel.Key[0].Col = len(a.rel.Columns) - 1
		}
	}
	n := len(a.rel.Checks)
	if err := a.addChecks(a.pl, a.calls); err != nil {
		return err
	}
	a.checks = nil
	for _, k := range a.rel.Checks[n:] {
		a.newChecks[k.Name] = true
	}
	for _, k := range keys {
		err := a.addNewConstraint(ast.AlterAction{Constraint: &ast.TableConstraint{Name: k.Name, Kind: k.Kind, Columns: []string{cd.Name}, Pos: k.Pos}})
		if err != nil {
			return err
		}
	}
	return nil
}

// cut takes column i out of the definition.
func (a *alteration) cut(i int) {
	rel := a.rel
	rel.Columns = slices.Delete(rel.Columns, i, i+1)
	a.from = slices.Delete(a.from, i, i+1)
	for k := range rel.Key {
		if rel.Key[k].Col > i {
			rel.Key[k].Col--
		}
	}
	for k := range rel.Uniques {
		for j, c := range rel.Uniques[k].Columns {
			if c > i {
				rel.Uniques[k].Columns[j]--
			}
		}
	}
	shift := func(cols []int) []int {
		cols = slices.Clone(cols)
		for k, c := range cols {
			if c > i {
				cols[k]--
			}
		}
		return cols
	}
	rel.ForeignKeys = slices.Clone(rel.ForeignKeys)
	for k := range rel.ForeignKeys {
		f := &rel.ForeignKeys[k]
		f.Columns, f.SetColumns = shift(f.Columns), shift(f.SetColumns)
		if f.Ref == a.old.ID {
			f.RefColumns = shift(f.RefColumns)
		}
	}
	a.rewrite = true
}

func (a *alteration) dropColumn(i int, x ast.AlterAction) error {
	c := a.rel.Columns[i]
	ord := a.from[i].old
	var direct []*catalog.Relation
	if ord >= 0 {
		direct = a.dependsOnColumn(ord)
	}
	// Generated columns depend on it, and go with CASCADE.
	var extra, generated []string
	for _, g := range a.rel.Columns {
		if g.Generated && g.Name != c.Name && slices.Contains(a.columnsIn(g.Default), c.Name) {
			generated = append(generated, g.Name)
			extra = append(extra, fmt.Sprintf("column %s of table %s depends on %s", quoteIdent(g.Name), a.displayName(a.old), a.displayColumn(c.Name)))
		}
	}
	if err := a.dropDependents(c.Name, direct, extra, x.Cascade); err != nil {
		return err
	}
	for _, g := range generated {
		j, err := a.at(g)
		if err != nil {
			return err
		}
		if err := a.dropColumn(j, ast.AlterAction{Column: g, Cascade: true}); err != nil {
			return err
		}
		if i, err = a.at(c.Name); err != nil {
			return err
		}
	}
	// What is the table's own goes silently.
	for _, q := range a.cat.Owned(a.old.ID) {
		if q.Seq.OwnedColumn == c.Name {
			uses := slices.DeleteFunc(a.sequenceUses(map[catalog.ID]*catalog.Relation{q.ID: q}), func(u sequenceUse) bool {
				return u.table.ID == a.old.ID && u.table.Columns[u.col].Name == c.Name
			})
			if len(uses) > 0 {
				return sqlerr.Newf(sqlerr.DependentObjectsStillExist, "cannot drop %s because other objects depend on it", a.displayColumn(c.Name)).
					WithDetail("default value for column %s of table %s depends on sequence %s",
						uses[0].table.Columns[uses[0].col].Name, a.displayName(uses[0].table), a.displayName(q)).
					WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
			}
			a.gone[q.ID] = q
		}
	}
	for _, ix := range a.cat.AllIndexes(a.old.ID) {
		if a.indexUses(ix, c.Name) {
			a.gone[ix.ID] = ix
		}
	}
	a.rel.Checks = slices.DeleteFunc(a.rel.Checks, func(k catalog.Check) bool { return slices.Contains(a.columnsIn(k.Expr), c.Name) })
	for k := len(a.rel.Uniques) - 1; k >= 0; k-- {
		if slices.Contains(a.rel.Uniques[k].Columns, i) {
			a.dropUnique(k)
		}
	}
	a.rel.ForeignKeys = slices.DeleteFunc(slices.Clone(a.rel.ForeignKeys), func(f catalog.ForeignKey) bool { return slices.Contains(f.Columns, i) })
	delete(a.rel.ColumnComments, c.Name)
	delete(a.notNull, c.Name)
	if ord >= 0 {
		a.dropped[ord] = true
	}
	a.cut(i)
	return nil
}

// indexUses tells whether an index of the table names a column.
func (a *alteration) indexUses(ix *catalog.Relation, name string) bool {
	def := ix.Index
	if slices.Contains(def.Include, name) || def.Where != "" && slices.Contains(a.columnsIn(def.Where), name) {
		return true
	}
	return slices.ContainsFunc(def.Columns, func(c catalog.IndexColumn) bool {
		return c.Expr == "" && c.Column == name || c.Expr != "" && slices.Contains(a.columnsIn(c.Expr), name)
	})
}

func (a *alteration) alterType(i int, x ast.AlterAction) error {
	c := &a.rel.Columns[i]
	nc, err := a.column(&catalog.Relation{}, *x.Def)
	if err != nil {
		return err
	}
	for _, g := range a.rel.Columns {
		if g.Generated && g.Name != c.Name && slices.Contains(a.columnsIn(g.Default), c.Name) {
			return sqlerr.Newf(sqlerr.FeatureNotSupported, "cannot alter type of a column used by a generated column").
				WithDetail("Column \"%s\" is used by generated column \"%s\".", c.Name, g.Name)
		}
	}
	ord := a.from[i].old
	if ord >= 0 {
		for _, r := range a.dependsOnColumn(ord) {
			if r.Kind == catalog.Sink {
				return sqlerr.Newf(sqlerr.FeatureNotSupported, "cannot alter type of a column used by a view or rule").
					WithDetail("sink %s depends on column \"%s\"", a.displayName(r), c.Name)
			}
			return sqlerr.Newf(sqlerr.FeatureNotSupported, "cannot alter type of a column used by a view or rule").
				WithDetail("rule _RETURN on %s %s depends on column \"%s\"", kindWord(r.Kind), a.displayName(r), c.Name)
		}
	}
	if c.Identity != "" {
		if !nc.Type.Kind.IsInteger() {
			return sqlerr.Newf(sqlerr.InvalidParameterValue, "identity column type must be smallint, integer, or bigint")
		}
		seq := *a.cat.RelationByID(c.Sequence)
		q := *seq.Seq
		seq.Seq = &q
		o := sequenceOptions{d: a.definer, rel: &seq, identity: true, last: q.Start}
		if err := o.typedAs(nc.Type); err != nil {
			return err
		}
		a.others[seq.ID] = &seq
	}
	from := c.Type
	var bound scalar.Expr
	if x.Expr != nil {
		e, err := a.s.parseExpr(x.ExprText)
		if err != nil {
			return err
		}
		bound, err = a.pl.Expr(e, a.old, nc.Type, "transform expressions")
		if err != nil {
			if e := sqlerr.From(err); e.Code != sqlerr.DatatypeMismatch || !strings.HasPrefix(e.Message, "column is of type") {
				return relocate(err, x.ExprText, a.e.p.text)
			}
			return sqlerr.Newf(sqlerr.DatatypeMismatch, "result of USING clause for column \"%s\" cannot be cast automatically to type %s", c.Name, nc.Type).
				WithHint("You might need to add an explicit cast.")
		}
	} else {
		ref := &scalar.Column{Node: scalar.Node{T: from, Pos: sqlerr.NoPos}, Index: max(ord, 0), Name: c.Name}
		if bound, err = a.pl.Assign(ref, nc.Type); err != nil {
			return sqlerr.Newf(sqlerr.DatatypeMismatch, "column \"%s\" cannot be cast automatically to type %s", c.Name, nc.Type).
				WithHint("You might need to specify \"USING %s::%s\".", quoteIdent(c.Name), nc.Type)
		}
	}
	c.Type = nc.Type
	if c.Default != "" && !c.Generated {
		e, err := a.s.parseExpr(c.Default)
		if err != nil {
			return err
		}
		d, err := a.pl.Expr(e, nil, types.T(types.Unknown), "DEFAULT expressions")
		if err == nil {
			_, err = a.pl.Assign(d, c.Type)
		}
		if err != nil {
			return sqlerr.Newf(sqlerr.DatatypeMismatch, "default for column \"%s\" cannot be cast automatically to type %s", c.Name, c.Type)
		}
		if _, ok := e.(*ast.StrLit); ok && c.Type != from {
			// It was of the type of the column.
			c.Default = strings.TrimSpace(c.Default) + "::" + from.String()
		}
	}
	for _, k := range a.rel.Checks {
		// As it was: with the new type it may have no meaning, which rowChecks says.
		if slices.Contains(a.columnsOf(a.old, k.Expr), c.Name) {
			a.newChecks[k.Name] = !k.NotValid
		}
	}
	a.from[i] = columnSource{old: ord, expr: bound}
	a.rewrite = true
	return nil
}

// typedAs gives a sequence another type, with the limits that follow.
func (o *sequenceOptions) typedAs(t types.Type) error {
	q := o.rel.Seq
	_, oldHi := catalog.TypeLimits(q.Type)
	lo, hi := catalog.TypeLimits(t)
	if q.Type = t; q.Max == oldHi {
		q.Max = hi
	}
	if q.Max > hi {
		return o.fail("MAXVALUE (%d) is out of range for sequence data type %s", q.Max, t)
	}
	if q.Min < lo {
		return o.fail("MINVALUE (%d) is out of range for sequence data type %s", q.Min, t)
	}
	return nil
}

func (a *alteration) setDefault(i int, x ast.AlterAction) error {
	c := &a.rel.Columns[i]
	dropping := x.Kind == ast.DropDefault
	switch {
	case c.Identity != "":
		e := sqlerr.Newf(sqlerr.SyntaxError, "column \"%s\" of relation \"%s\" is an identity column", c.Name, a.rel.Name)
		if dropping {
			e = e.WithHint("Use ALTER TABLE ... ALTER COLUMN ... DROP IDENTITY instead.")
		}
		return e
	case c.Generated:
		e := sqlerr.Newf(sqlerr.SyntaxError, "column \"%s\" of relation \"%s\" is a generated column", c.Name, a.rel.Name)
		if dropping {
			e = e.WithHint("Use ALTER TABLE ... ALTER COLUMN ... DROP EXPRESSION instead.")
		}
		return e
	}
	c.Default, c.Serial, c.Sequence, c.Uses = "", false, 0, nil
	if dropping {
		return nil
	}
	if lit, ok := x.Expr.(*ast.NullLit); ok && lit != nil {
		return nil
	}
	c.Default = x.ExprText
	_, err := a.checkDefault(a.pl, i, a.calls)
	return err
}

func (a *alteration) dropNotNull(i int) error {
	c := &a.rel.Columns[i]
	if c.Identity != "" {
		return sqlerr.Newf(sqlerr.SyntaxError, "column \"%s\" of relation \"%s\" is an identity column", c.Name, a.rel.Name)
	}
	for _, u := range a.rel.Uniques {
		if u.Primary && slices.Contains(u.Columns, i) {
			return sqlerr.Newf(sqlerr.InvalidTableDefinition, "column \"%s\" is in a primary key", c.Name)
		}
	}
	c.NotNull = false
	delete(a.notNull, c.Name)
	return nil
}

// identity is ADD GENERATED, SET GENERATED, DROP IDENTITY and DROP EXPRESSION.
func (a *alteration) identity(i int, x ast.AlterAction) error {
	c := &a.rel.Columns[i]
	state := func(format string) error {
		return sqlerr.Newf(sqlerr.ObjectNotInPrerequisiteState, format, c.Name, a.rel.Name)
	}
	switch x.Kind {
	case ast.AddIdentity:
		switch {
		case !c.NotNull:
			return state("column \"%s\" of relation \"%s\" must be declared NOT NULL before identity can be added")
		case c.Identity != "":
			return state("column \"%s\" of relation \"%s\" is already an identity column")
		case c.Default != "" || c.Serial:
			return state("column \"%s\" of relation \"%s\" already has a default value")
		case !c.Type.Kind.IsInteger() || strings.Contains(c.Type.String(), "oid"):
			return sqlerr.Newf(sqlerr.InvalidParameterValue, "identity column type must be smallint, integer, or bigint")
		}
		if c.Identity = "by default"; x.Always {
			c.Identity = "always"
		}
		return a.columnSequence(c, x.Sequence)
	case ast.SetIdentity:
		if c.Identity == "" {
			return state("column \"%s\" of relation \"%s\" is not an identity column")
		}
		if x.AlwaysSet {
			if c.Identity = "by default"; x.Always {
				c.Identity = "always"
			}
		}
		if len(x.Sequence) == 0 {
			return nil
		}
		seq := *a.cat.RelationByID(c.Sequence)
		q := *seq.Seq
		seq.Seq = &q
		stands, err := a.s.standing(a.t, &seq).SequenceStanding(&seq)
		if err != nil {
			return err
		}
		o := sequenceOptions{d: a.definer, rel: &seq, identity: true, last: stands.Last, called: stands.Called}
		if err := o.apply(x.Sequence); err != nil {
			return err
		}
		a.others[seq.ID] = &seq
		a.after = append(a.after, func() error { return a.s.standing(a.t, &seq).SetSequence(&seq, o.last, o.called) })
		return nil
	case ast.DropIdentity:
		if c.Identity == "" {
			if x.IfExists {
				a.s.notice(sqlerr.SuccessfulCompletion, fmt.Sprintf("column \"%s\" of relation \"%s\" is not an identity column, skipping", c.Name, a.rel.Name))
				return nil
			}
			return state("column \"%s\" of relation \"%s\" is not an identity column")
		}
		if q := a.cat.RelationByID(c.Sequence); q != nil {
			a.gone[q.ID] = q
		}
		c.Identity, c.Sequence = "", 0
		return nil
	}
	if !c.Generated {
		if x.IfExists {
			a.s.notice(sqlerr.SuccessfulCompletion, fmt.Sprintf("column \"%s\" of relation \"%s\" is not a stored generated column, skipping", c.Name, a.rel.Name))
			return nil
		}
		return state("column \"%s\" of relation \"%s\" is not a stored generated column")
	}
	c.Generated, c.Default = false, ""
	return nil
}
