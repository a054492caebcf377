package session

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/parse"
	"github.com/weirdb/weir/sql/plpgsql"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// doScope has the variables of a block or loop.
type doScope struct {
	label string
	vars  map[string]*doVar
}

// doVar is a variable, or a field of a record.
type doVar struct {
	name              string
	typ               types.Type
	val               types.Datum
	constant, notNull bool
	// record: it has fields instead of a value; nil fields were not assigned yet. fixed: its fields are those of a relation.
	record, fixed bool
	fields        []*doVar
}

func (v *doVar) set(d types.Datum) { v.val = d }

// value is a variable as one value.
func (v *doVar) value() (types.Datum, types.Type) {
	if !v.record {
		return v.val, v.typ
	}
	if v.fields == nil {
		return types.Null, types.T(types.Record)
	}
	ts, vals := make([]types.Type, len(v.fields)), make([]types.Datum, len(v.fields))
	for i, f := range v.fields {
		ts[i], vals[i] = f.typ, f.val
	}
	return types.DStr(types.EncodeRecord(ts, vals)), types.T(types.Record)
}

func (v *doVar) field(name string) *doVar {
	for _, f := range v.fields {
		if f.name == name {
			return f
		}
	}
	return nil
}

func (d *doing) push(label string) {
	d.scopes = append(d.scopes, &doScope{label: label, vars: map[string]*doVar{}})
}

// declare makes a variable of the innermost scope.
func (d *doing) declare(name string, t types.Type) *doVar {
	v := &doVar{name: name, typ: t}
	d.scopes[len(d.scopes)-1].vars[name] = v
	return v
}

// find looks a variable up; nil: there is none.
func (d *doing) find(name string) *doVar {
	for _, sc := range slices.Backward(d.scopes) {
		if v := sc.vars[name]; v != nil {
			return v
		}
	}
	return nil
}

// resolve finds what a name means: a variable, a field of a record, either with the label of its block.
func (d *doing) resolve(parts []string) (*doVar, error) {
	if v := d.find(parts[0]); v != nil && (len(parts) == 1 || v.record) {
		if len(parts) == 1 {
			return v, nil
		}
		if len(parts) > 2 {
			return nil, nil
		}
		if v.fields == nil {
			return nil, sqlerr.Newf(sqlerr.ObjectNotInPrerequisiteState, "record \"%s\" is not assigned yet", v.name).
				WithDetail("The tuple structure of a not-yet-assigned record is indeterminate.")
		}
		if f := v.field(parts[1]); f != nil {
			return f, nil
		}
		return nil, sqlerr.Newf(sqlerr.UndefinedColumn, "record \"%s\" has no field \"%s\"", v.name, parts[1])
	}
	if len(parts) < 2 {
		return nil, nil
	}
	for _, sc := range slices.Backward(d.scopes) {
		if v := sc.vars[parts[1]]; v != nil && sc.label == parts[0] {
			switch {
			case len(parts) == 2:
				return v, nil
			case v.record && len(parts) == 3:
				return v.field(parts[2]), nil
			}
		}
	}
	return nil, nil
}

// target finds a variable that can be assigned to.
func (d *doing) target(t plpgsql.Target) (*doVar, error) {
	v, err := d.resolve(t.Parts)
	if err != nil {
		return nil, err
	}
	if v == nil {
		return nil, sqlerr.Newf(sqlerr.SyntaxError, "\"%s\" is not a known variable", strings.Join(t.Parts, "."))
	}
	if v.constant {
		return nil, sqlerr.Newf("22005", "variable \"%s\" is declared CONSTANT", v.name)
	}
	return v, nil
}

// declareOne runs a declaration.
func (d *doing) declareOne(ctx context.Context, c *plpgsql.Decl) error {
	sc := d.scopes[len(d.scopes)-1]
	if sc.vars[c.Name] != nil {
		return sqlerr.Newf(sqlerr.SyntaxError, "duplicate declaration at or near \"%s\"", c.Name)
	}
	if c.Alias != "" {
		v := d.find(c.Alias)
		if v == nil {
			return sqlerr.Newf(sqlerr.UndefinedObject, "variable \"%s\" does not exist", c.Alias)
		}
		sc.vars[c.Name] = v
		return nil
	}
	v, err := d.newVariable(ctx, c)
	if err != nil {
		return err
	}
	val, t := types.Null, v.typ
	if c.Default != nil {
		// The variable itself is not there yet.
		if val, t, err = d.eval(ctx, *c.Default); err != nil {
			return err
		}
	}
	v.notNull = c.NotNull
	if c.Default != nil {
		if err := d.assign(ctx, v, val, t); err != nil {
			return err
		}
	}
	v.constant = c.Constant
	sc.vars[c.Name] = v
	return nil
}

// newVariable makes the variable of a declaration.
func (d *doing) newVariable(ctx context.Context, c *plpgsql.Decl) (*doVar, error) {
	v := &doVar{name: c.Name}
	tn, err := parse.ParseType(c.Type)
	if err != nil {
		return nil, sqlerr.Newf(sqlerr.SyntaxError, "invalid type name \"%s\"", c.Type)
	}
	parts := tn.Name.Parts
	switch {
	case c.Like:
		if o, err := d.resolve(parts); err != nil || o != nil {
			if err == nil {
				v.typ, v.record = o.typ, o.record
			}
			return v, err
		}
		if len(parts) > 1 {
			rel := d.relation(parts[:len(parts)-1])
			if rel == nil {
				return nil, sqlerr.Newf(sqlerr.UndefinedTable, "relation \"%s\" does not exist", strings.Join(parts[:len(parts)-1], "."))
			}
			i := rel.ColumnIndex(parts[len(parts)-1])
			if i < 0 {
				return nil, sqlerr.Newf(sqlerr.UndefinedColumn, "column \"%s\" of relation \"%s\" does not exist", parts[len(parts)-1], rel.Name)
			}
			v.typ = rel.Columns[i].Type
			return v, nil
		}
		return nil, sqlerr.Newf(sqlerr.SyntaxError, "variable \"%s\" does not exist", parts[0])
	case c.RowOf:
		rel := d.relation(parts)
		if rel == nil {
			return nil, sqlerr.Newf(sqlerr.UndefinedTable, "relation \"%s\" does not exist", strings.Join(parts, "."))
		}
		v.rowOf(rel)
		return v, nil
	case len(parts) == 1 && parts[0] == "record" && tn.Dims == 0:
		v.record, v.typ = true, types.T(types.Record)
		return v, nil
	}
	if v.typ, err = d.s.valueTypeOf(ctx, "a variable", tn); err != nil {
		return nil, err
	}
	if k := v.typ.Kind; k.IsComposite() {
		if rel := d.relation(parts); rel != nil && rel.HasRowType() && rel.RowType().Kind == k {
			v.rowOf(rel)
		}
	}
	return v, nil
}

// rowOf gives a variable the fields of a relation.
func (v *doVar) rowOf(rel *catalog.Relation) {
	v.record, v.fixed, v.typ, v.fields = true, true, types.T(types.Record), []*doVar{}
	for _, c := range rel.Columns {
		if !c.Hidden {
			v.fields = append(v.fields, &doVar{name: c.Name, typ: c.Type})
		}
	}
}

// relation finds a relation by its name.
func (d *doing) relation(parts []string) *catalog.Relation {
	df := &definer{s: d.s, t: d.t, cat: d.t.catalog()}
	schema, name, err := df.qualify(ast.Name{Parts: parts, Pos: sqlerr.NoPos}, false)
	if err != nil {
		return nil
	}
	return df.cat.Relation(schema, name)
}

// assign gives a variable a value of type t.
func (d *doing) assign(ctx context.Context, v *doVar, val types.Datum, t types.Type) error {
	if v.record {
		return d.assignRecord(ctx, v, val, t)
	}
	out, err := d.coerce(ctx, val, t, v.typ)
	if err != nil {
		return err
	}
	if v.notNull && !out.Valid {
		return sqlerr.Newf(sqlerr.NullValueNotAllowed, "null value cannot be assigned to variable \"%s\" declared NOT NULL", v.name)
	}
	v.set(out)
	return nil
}

// assignRecord gives a record the fields of a row.
func (d *doing) assignRecord(ctx context.Context, v *doVar, val types.Datum, t types.Type) error {
	if t.Kind != types.Record && val.Valid {
		return sqlerr.Newf(sqlerr.DatatypeMismatch, "cannot assign non-composite value to a record variable")
	}
	if !val.Valid {
		for _, f := range v.fields {
			f.set(types.Null)
		}
		if !v.fixed {
			v.fields = nil
		}
		return nil
	}
	ts, vals, err := types.DecodeRecord(val.S)
	if err != nil {
		return err
	}
	cols := make([]string, len(ts))
	for i := range cols {
		cols[i] = "f" + strconv.Itoa(i+1)
	}
	return d.fill(ctx, v, cols, ts, vals)
}

// fill gives a record a row: its columns become the fields, unless those are given.
func (d *doing) fill(ctx context.Context, v *doVar, names []string, ts []types.Type, vals []types.Datum) error {
	if !v.fixed {
		v.fields = make([]*doVar, len(names))
		for i := range names {
			v.fields[i] = &doVar{name: names[i], typ: ts[i]}
			if vals != nil {
				v.fields[i].set(vals[i])
			}
		}
		return nil
	}
	for i, f := range v.fields {
		val, t := types.Null, f.typ
		if i < len(vals) {
			val, t = vals[i], ts[i]
		}
		if err := d.assign(ctx, f, val, t); err != nil {
			return err
		}
	}
	return nil
}

// assignRow gives the row of a statement to variables: to a record, or a column to each. A nil row is NULL.
func (d *doing) assignRow(ctx context.Context, to []plpgsql.Target, rows *doRows, row []types.Datum) error {
	first, err := d.target(to[0])
	if err != nil {
		return err
	}
	if len(to) == 1 && first.record {
		names := make([]string, len(rows.columns))
		for i, c := range rows.columns {
			names[i] = c.Name
		}
		if len(rows.types) == 1 && rows.types[0].Kind == types.Record && first.fixed && row != nil {
			return d.assignRecord(ctx, first, row[0], rows.types[0])
		}
		return d.fill(ctx, first, names, rows.types, row)
	}
	for i, t := range to {
		v, err := d.target(t)
		if err != nil {
			return err
		}
		val, ty := types.Null, v.typ
		if i < len(row) {
			val, ty = row[i], rows.types[i]
		}
		if err := d.assign(ctx, v, val, ty); err != nil {
			return err
		}
	}
	return nil
}

// text is a value as text.
func (d *doing) text(v types.Datum, t types.Type) string {
	return string(types.AppendText(nil, wireType(t), v, d.s.typeEnv()))
}

// coerce makes a value of type from one of type to, as an assignment does: by a cast if there is one, else by way of its text.
func (d *doing) coerce(ctx context.Context, v types.Datum, from, to types.Type) (types.Datum, error) {
	if from == to || !v.Valid && from.Kind != types.Record {
		return v, nil
	}
	if from.WithoutMod() == to.WithoutMod() {
		return types.ApplyTypmod(to, v, false)
	}
	if wireType(from).Kind.IsString() {
		return types.ParseText(to, v.S, d.s.typeEnv())
	}
	d.push("")
	defer func() { d.scopes = d.scopes[:len(d.scopes)-1] }()
	d.declare("v", from).set(v)
	out, _, err := d.eval(ctx, plpgsql.Expr{Text: "CAST(v AS " + to.WithoutMod().String() + ")", Pos: -1})
	if err != nil {
		if sqlerr.From(err).Code != sqlerr.CannotCoerce {
			return types.Null, err
		}
		return types.ParseText(to, d.text(v, from), d.s.typeEnv())
	}
	return types.ApplyTypmod(to, out, false)
}
