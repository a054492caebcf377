package session

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/parse"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

func (d *definer) alterType(st *ast.AlterUserType) error {
	t, err := d.ownType(st.Name, st.Domain, false)
	if err != nil {
		return d.notAltered(err, st)
	}
	c := *t
	c.Labels, c.Attrs, c.Checks = slices.Clone(t.Labels), slices.Clone(t.Attrs), slices.Clone(t.Checks)
	switch st.Action {
	case "rename":
		return d.renameType(t, t.Schema, st.NewName)
	case "set_schema":
		if !d.cat.HasSchema(st.NewName) {
			return sqlerr.Newf(sqlerr.InvalidSchemaName, "schema %q does not exist", st.NewName)
		}
		if st.NewName == t.Schema {
			return nil
		}
		if err := d.mayCreate(st.NewName); err != nil {
			return err
		}
		return d.renameType(t, st.NewName, t.Name)
	case "owner":
		to, err := d.newOwner(st.NewName, t.Schema)
		if err != nil {
			return err
		}
		c.Owner, c.ACL = to, t.ACL.WithOwner(catalog.OwnerName(t.Owner), to)
	case "add_value", "rename_value":
		if t.Kind != catalog.EnumType {
			return sqlerr.Newf(sqlerr.WrongObjectType, "%s is not an enum", d.displayType(t))
		}
		change := d.addValue
		if st.Action == "rename_value" {
			change = d.renameValue
		}
		if done, err := change(&c, st); err != nil || !done {
			return err
		}
	case "rename_attribute", "attributes":
		if t.Kind != catalog.CompositeType {
			return sqlerr.Newf(sqlerr.WrongObjectType, "%s is not a composite type", quoted(d.displayType(t)))
		}
		if err := d.alterAttributes(t, &c, st); err != nil {
			return err
		}
	default:
		return d.alterDomain(t, &c, st)
	}
	return d.to().Change(d.ctx, func(cat *catalog.Catalog) { cat.PutType(&c) })
}

// notAltered is what ALTER TYPE says of a name that is not that of a type that it can change.
func (d *definer) notAltered(err error, st *ast.AlterUserType) error {
	e := sqlerr.From(err)
	if e.Code == sqlerr.UndefinedObject {
		return err
	}
	name := strings.Join(st.Name.Parts, ".")
	if ty, _, terr := d.planner().Type(ast.TypeName{Name: st.Name}); terr == nil && ty.UserKind() == 0 {
		name = ty.WithoutMod().String()
	}
	var row *rowTypeError
	switch {
	case st.Domain && e.Code == sqlerr.WrongObjectType:
		return sqlerr.Newf(e.Code, "%s is not a domain", name)
	case strings.HasSuffix(st.Action, "_value") && (errors.As(err, &row) || e.Code == sqlerr.InsufficientPrivilege && d.s.trusted(d.cat, d.s.user())):
		return sqlerr.Newf(sqlerr.WrongObjectType, "%s is not an enum", name)
	}
	return e
}

// addValue is ALTER TYPE ... ADD VALUE.
func (d *definer) addValue(t *catalog.Type, st *ast.AlterUserType) (bool, error) {
	if err := checkLabel(st.Old); err != nil {
		return false, err
	}
	at := func(label string) int {
		return slices.IndexFunc(t.Labels, func(l types.EnumLabel) bool { return l.Name == label })
	}
	if at(st.Old) >= 0 {
		if st.IfNotExists {
			d.s.notice(sqlerr.DuplicateObject, fmt.Sprintf("enum label \"%s\" already exists, skipping", st.Old))
			return false, nil
		}
		return false, sqlerr.Newf(sqlerr.DuplicateObject, "enum label \"%s\" already exists", st.Old)
	}
	i := len(t.Labels)
	if near := st.Before; near != nil || st.After != nil {
		if near == nil {
			near = st.After
		}
		if i = at(*near); i < 0 {
			return false, sqlerr.Newf(sqlerr.InvalidParameterValue, "\"%s\" is not an existing enum label", *near)
		}
		if st.After != nil {
			i++
		}
	}
	pos, ok := labelBetween(t.Labels, i)
	if !ok {
		return false, sqlerr.Newf(sqlerr.ProgramLimitExceeded, "there is no room for another label of the enum %s at this place", t.Name).
			WithDetail("Too many labels were added next to each other.").
			WithHint("Add it elsewhere, or create a new type and change the columns to it.")
	}
	t.Labels = slices.Insert(t.Labels, i, types.EnumLabel{OID: uint32(d.t.inc.AllocID()), Name: st.Old, Pos: pos})
	return true, nil
}

// labelBetween gives a position for a label that is to be the i-th, false if there is none.
func labelBetween(labels []types.EnumLabel, i int) (int64, bool) {
	switch {
	case len(labels) == 0:
		return types.EnumGap, true
	case i == 0:
		first := labels[0].Pos
		return first - types.EnumGap, first > math.MinInt64+types.EnumGap
	case i == len(labels):
		last := labels[i-1].Pos
		return last + types.EnumGap, last < math.MaxInt64-types.EnumGap
	}
	lo, hi := labels[i-1].Pos, labels[i].Pos
	mid := lo + int64(uint64(hi-lo)/2)
	return mid, mid != lo
}

// renameValue is ALTER TYPE ... RENAME VALUE.
func (d *definer) renameValue(t *catalog.Type, st *ast.AlterUserType) (bool, error) {
	if err := checkLabel(st.NewName); err != nil {
		return false, err
	}
	i := slices.IndexFunc(t.Labels, func(l types.EnumLabel) bool { return l.Name == st.Old })
	if i < 0 {
		return false, sqlerr.Newf(sqlerr.InvalidParameterValue, "\"%s\" is not an existing enum label", st.Old)
	}
	if slices.ContainsFunc(t.Labels, func(l types.EnumLabel) bool { return l.Name == st.NewName }) {
		return false, sqlerr.Newf(sqlerr.DuplicateObject, "enum label \"%s\" already exists", st.NewName)
	}
	// What is kept up to date may have made texts of labels; it could not take them back under another name.
	for _, r := range d.cat.Sorted() {
		if r.Kind != catalog.MatView && (r.Kind != catalog.Sink) && (r.Kind != catalog.Index || len(r.Index.Expressions()) == 0 && r.Index.Where == "") {
			continue
		}
		if d.readsType(r, t) {
			return false, sqlerr.Newf(sqlerr.FeatureNotSupported, "cannot rename a label of %s because %s %s is kept up to date with it", t.Name, kindWord(r.Kind), d.displayName(r)).
				WithHint("Drop it first, and create it again.")
		}
	}
	t.Labels[i].Name = st.NewName
	return true, nil
}

// readsType tells whether a relation has columns of a type, reads ones that do, or names it.
func (d *definer) readsType(r *catalog.Relation, t *catalog.Type) bool {
	if columnOf(r, t) != "" || d.queryNames(r, t) {
		return true
	}
	return slices.ContainsFunc(append(slices.Clone(r.DependsOn), r.Parent), func(id catalog.ID) bool {
		x := d.cat.RelationByID(id)
		return x != nil && d.readsType(x, t)
	})
}

// columnOf gives a column of a relation that is of a type, or an array of it; "" if there is none.
func columnOf(r *catalog.Relation, t *catalog.Type) string {
	for _, c := range r.Columns {
		if c.Domain == t.ID || isOfType(c.Type, t) {
			return c.Name
		}
	}
	return ""
}

// queryNames tells whether the query of a relation names a type.
func (d *definer) queryNames(r *catalog.Relation, t *catalog.Type) bool {
	if r.Query == "" {
		return false
	}
	q, err := parse.ParseQuery(r.Query)
	return err == nil && d.namesType(r.SearchPath, q, t)
}

// eachTypeName visits the names of types in a syntax tree.
func eachTypeName(node any, f func(ast.TypeName)) {
	eachNode(node, func(v reflect.Value) bool {
		tn, ok := v.Interface().(ast.TypeName)
		if ok && len(tn.Name.Parts) > 0 {
			f(tn)
		}
		return !ok
	})
}

// eachNode visits the structs of a syntax tree; if f says false, not what is in that one.
func eachNode(node any, f func(v reflect.Value) bool) {
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Interface, reflect.Pointer:
			if !v.IsNil() {
				walk(v.Elem())
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i))
			}
		case reflect.Struct:
			if !f(v) {
				return
			}
			for i := range v.NumField() {
				if v.Type().Field(i).IsExported() {
					walk(v.Field(i))
				}
			}
		}
	}
	walk(reflect.ValueOf(node))
}

// renameType gives a type another name or schema, also in the texts that name it.
func (d *definer) renameType(t *catalog.Type, schema, name string) error {
	if d.typeTaken(schema, name) {
		if schema != t.Schema {
			return sqlerr.Newf(sqlerr.DuplicateObject, "type %q already exists in schema %q", name, schema)
		}
		return sqlerr.Newf(sqlerr.DuplicateObject, "type %q already exists", name)
	}
	c := *t
	c.Schema, c.Name = schema, name
	full := parse.QuoteIdent(schema) + "." + parse.QuoteIdent(name)
	path := d.s.vars.searchPath(d.s.user())
	expr := func(path []string, text string) string {
		if text == "" {
			return ""
		}
		e, err := parse.ParseExpr(text)
		if err != nil {
			return text
		}
		return d.retype(path, text, e, t, full)
	}
	var rels []*catalog.Relation
	for _, r := range d.cat.Sorted() {
		x := *r
		x.Columns, x.Checks = slices.Clone(r.Columns), slices.Clone(r.Checks)
		changed := false
		set := func(to *string, text string) {
			changed = changed || *to != text
			*to = text
		}
		if r.Query != "" {
			if q, err := parse.ParseQuery(r.Query); err == nil {
				set(&x.Query, d.retype(r.SearchPath, r.Query, q, t, full))
			}
		}
		for i := range x.Columns {
			set(&x.Columns[i].Default, expr(path, x.Columns[i].Default))
		}
		for i := range x.Checks {
			set(&x.Checks[i].Expr, expr(path, x.Checks[i].Expr))
		}
		if r.Index != nil {
			ix := *r.Index
			ix.Columns = slices.Clone(r.Index.Columns)
			for i := range ix.Columns {
				set(&ix.Columns[i].Expr, expr(path, ix.Columns[i].Expr))
			}
			set(&ix.Where, expr(path, ix.Where))
			x.Index = &ix
		}
		if changed {
			rels = append(rels, &x)
		}
	}
	var domains []*catalog.Type
	for _, o := range d.cat.SortedTypes() {
		if o.Kind != catalog.DomainType || o.ID == t.ID {
			continue
		}
		x := *o
		x.Default, x.Checks = expr(path, o.Default), slices.Clone(o.Checks)
		for i := range x.Checks {
			x.Checks[i].Expr = expr(path, x.Checks[i].Expr)
		}
		domains = append(domains, &x)
	}
	return d.to().Change(d.ctx, func(cat *catalog.Catalog) {
		for _, r := range rels {
			cat.Put(r)
		}
		for _, x := range domains {
			cat.PutType(x)
		}
		cat.PutType(&c)
	})
}

// alterAttributes changes the columns of a composite type. Values hold their fields, so that only the names of those of a type that
// is used can be changed.
func (d *definer) alterAttributes(t, c *catalog.Type, st *ast.AlterUserType) error {
	missing := func(name string) error {
		return sqlerr.Newf(sqlerr.UndefinedColumn, "column %q of relation %q does not exist", name, t.Name)
	}
	index := func(name string) int {
		return slices.IndexFunc(c.Attrs, func(a types.Attr) bool { return a.Name == name })
	}
	if st.Action == "rename_attribute" {
		i := index(st.Old)
		switch {
		case i < 0:
			return sqlerr.Newf(sqlerr.UndefinedColumn, "column \"%s\" does not exist", st.Old)
		case index(st.NewName) >= 0:
			return sqlerr.Newf(sqlerr.DuplicateColumn, "column %q of relation %q already exists", st.NewName, t.Name)
		}
		c.Attrs[i].Name = st.NewName
		return nil
	}
	for _, x := range st.Attrs {
		i := index(x.Def.Name)
		var err error
		switch x.Action {
		case "add":
			if i >= 0 {
				return sqlerr.Newf(sqlerr.DuplicateColumn, "column %q of relation %q already exists", x.Def.Name, t.Name)
			}
			if c.Attrs, err = d.addAttribute(t, c.Attrs, x.Def); err != nil {
				return err
			}
		case "drop":
			if i < 0 {
				if x.IfExists {
					d.s.notice(sqlerr.SuccessfulCompletion, fmt.Sprintf("column %q of relation %q does not exist, skipping", x.Def.Name, t.Name))
					continue
				}
				return missing(x.Def.Name)
			}
			c.Attrs = slices.Delete(slices.Clone(c.Attrs), i, i+1)
		case "alter":
			if i < 0 {
				return missing(x.Def.Name)
			}
			if c.Attrs[i].Type, err = d.attributeType(t, x.Def); err != nil {
				return err
			}
		}
	}
	for _, r := range d.cat.Sorted() {
		for _, col := range r.Columns {
			if d.contains(col.Type, t.Type().Kind) {
				return sqlerr.Newf(sqlerr.FeatureNotSupported, "cannot alter type %q because column \"%s.%s\" uses it", t.Name, r.Name, col.Name)
			}
		}
	}
	return nil
}
