package syscat

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/parse"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// definitions: format_type, pg_get_*, *_description.
func (t implTable) definitions() {
	t.set(func(c *call) (types.Datum, error) {
		if !c.args[0].Valid {
			return types.Null, nil
		}
		return types.DStr(c.formatTypeOID(uint32(c.oid(0)), c.args[1])), nil
	}, "format_type(oid,int4)")
	// What PostgreSQL keeps as a tree is kept as text here.
	t.set(func(c *call) (types.Datum, error) { return c.args[0], nil }, "pg_get_expr(text,oid)")
	t.set(func(c *call) (types.Datum, error) {
		x := c.object(c.oid(1))
		if x == nil || !c.args[2].Bool() {
			return c.args[0], nil
		}
		return types.DStr(c.shown(x.rel, c.text(0), types.T(types.Unknown), true)), nil
	}, "pg_get_expr(text,oid,bool)")
	viewdef := func(c *call, x *object) types.Datum {
		if x == nil || x.kind != kindView && x.kind != kindMatView {
			return types.Null
		}
		pretty := false
		if len(c.args) > 1 {
			pretty = c.args[1].I != 0
			if c.types[1].Kind != types.Bool {
				pretty = true // with a width of lines
			}
		}
		return textOrNull(c.viewDefinition(x.rel, pretty))
	}
	t.set(func(c *call) (types.Datum, error) { return viewdef(c, c.object(c.oid(0))), nil },
		"pg_get_viewdef(oid)", "pg_get_viewdef(oid,bool)", "pg_get_viewdef(oid,int4)")
	t.set(func(c *call) (types.Datum, error) {
		x, err := c.findRelation(c.text(0))
		return viewdef(c, x), err
	}, "pg_get_viewdef(text)", "pg_get_viewdef(text,bool)")
	t.set(func(c *call) (types.Datum, error) {
		return textOrNull(c.indexDefinition(c.object(c.oid(0)), 0, false)), nil
	}, "pg_get_indexdef(oid)")
	t.set(func(c *call) (types.Datum, error) {
		return textOrNull(c.indexDefinition(c.object(c.oid(0)), int(c.args[1].I), c.args[2].Bool())), nil
	}, "pg_get_indexdef(oid,int4,bool)")
	t.set(func(c *call) (types.Datum, error) {
		return textOrNull(c.constraintDefinition(c.oid(0), len(c.args) > 1 && c.args[1].Bool())), nil
	}, "pg_get_constraintdef(oid)", "pg_get_constraintdef(oid,bool)")
	t.set(serialSequence, "pg_get_serial_sequence(text,text)")
	t.always(types.Null, "pg_get_ruledef(oid)", "pg_get_ruledef(oid,bool)", "pg_get_triggerdef(oid)", "pg_get_triggerdef(oid,bool)",
		"pg_get_partkeydef(oid)", "pg_get_statisticsobjdef(oid)", "pg_get_statisticsobjdef_columns(oid)",
		"shobj_description(oid,name)")
	t.set(func(c *call) (types.Datum, error) {
		switch f := c.sqlFunc(c.oid(0)); {
		case f == nil:
			return types.Null, nil
		case f.Form == "return":
			return types.DStr("RETURN " + strings.TrimPrefix(f.Body, "SELECT ")), nil
		case f.Form == "atomic":
			return types.DStr("BEGIN ATOMIC\n " + f.Body + ";\nEND"), nil
		}
		return types.Null, nil
	}, "pg_get_function_sqlbody(oid)")
	ofProc := func(f func(p *fn.Func, c *call) string, inSQL func(f *catalog.Function) string) impl {
		return func(c *call) (types.Datum, error) {
			if f := c.sqlFunc(c.oid(0)); f != nil {
				return types.DStr(inSQL(f)), nil
			}
			p := procs().byOID[c.oid(0)]
			if p == nil {
				return types.Null, nil
			}
			return types.DStr(f(p.fn, c)), nil
		}
	}
	t.set(ofProc(func(f *fn.Func, _ *call) string { return resultText(f) }, returnsText), "pg_get_function_result(oid)")
	t.set(ofProc(func(f *fn.Func, _ *call) string { return argumentsText(f, true) },
		func(f *catalog.Function) string { return paramsText(f, true) }), "pg_get_function_arguments(oid)")
	t.set(ofProc(func(f *fn.Func, _ *call) string { return argumentsText(f, false) },
		func(f *catalog.Function) string { return paramsText(f, false) }), "pg_get_function_identity_arguments(oid)")
	t.set(ofProc(func(f *fn.Func, _ *call) string { return functionDefinition(f) }, createFunctionText), "pg_get_functiondef(oid)")
	t.set(func(c *call) (types.Datum, error) {
		p, n := procs().byOID[c.oid(0)], int(c.args[1].I)-1
		if f := c.sqlFunc(c.oid(0)); f != nil {
			if n < 0 || n >= len(f.Params) || !f.Params[n].HasDefault {
				return types.Null, nil
			}
			return types.DStr(defaultAsPostgres(f.Params[n].Default, f.Params[n].Type)), nil
		}
		if p == nil || n < 0 || n >= len(p.fn.Defaults) || p.fn.Defaults[n] == fn.NoDefault {
			return types.Null, nil
		}
		return types.DStr(p.fn.Defaults[n]), nil
	}, "pg_get_function_arg_default(oid,int4)")
	t.set(func(c *call) (types.Datum, error) {
		if f := c.sqlFunc(c.oid(0)); f != nil && (len(c.args) == 1 || c.text(1) == "pg_proc") {
			return textOrNull(f.Comment), nil
		}
		if text, ok := c.typeComment(c.oid(0), c.args[1:]); ok {
			return textOrNull(text), nil
		}
		if len(c.args) == 1 || c.text(1) == "pg_namespace" {
			for _, s := range c.schemas() {
				if s.ID == c.oid(0) {
					return textOrNull(schemaComment(s)), nil
				}
			}
		}
		if len(c.args) > 1 && c.text(1) != "pg_class" {
			if n := c.objects().constraint[c.oid(0)]; n != nil && c.text(1) == "pg_constraint" {
				return textOrNull(n.rel.rel.ConstraintComments[n.name]), nil
			}
			return types.Null, nil
		}
		if x := c.object(c.oid(0)); x != nil {
			return textOrNull(x.comment), nil
		}
		return types.Null, nil
	}, "obj_description(oid)", "obj_description(oid,name)")
	t.set(func(c *call) (types.Datum, error) {
		if x := c.object(c.oid(0)); x != nil {
			for _, a := range x.cols {
				if int64(a.num) == c.args[1].I {
					return textOrNull(a.comment), nil
				}
			}
		}
		return types.Null, nil
	}, "col_description(oid,int4)")
	t.set(func(c *call) (types.Datum, error) {
		x := c.object(c.oid(1))
		if x == nil || c.oid(0) != classID {
			return types.Null, nil
		}
		s := x.kindName() + " " + c.qualified(x)
		for _, a := range x.cols {
			if c.args[2].I != 0 && int64(a.num) == c.args[2].I {
				s = "column " + quoteIdent(a.Name) + " of " + s
			}
		}
		return types.DStr(s), nil
	}, "pg_describe_object(oid,oid,int4)")
}

// classID is the oid of pg_class.
const classID = catalog.ID(1259)

// kindName is the kind of x in words.
func (x *object) kindName() string {
	switch x.kind {
	case kindView:
		return "view"
	case kindMatView:
		return "materialized view"
	case kindForeign:
		return "foreign table"
	case kindIndex:
		return "index"
	case kindSequence:
		return "sequence"
	}
	return "table"
}

// formatTypeOID is format_type.
func (e *Env) formatTypeOID(oid uint32, mod types.Datum) string {
	if oid == 0 {
		return "-"
	}
	if s, ok := e.formatUserType(catalog.ID(oid)); ok {
		return s
	}
	m := int32(-1)
	if mod.Valid {
		m = int32(mod.I)
	}
	t, ok := types.TypeByOID(oid, m)
	switch {
	case !ok:
		return "???"
	case !mod.Valid:
		return formatType(t)
	}
	return t.String()
}

// viewDefinition is the defining query of a view, as a statement.
func (e *Env) viewDefinition(r *catalog.Relation, pretty bool) string {
	q := strings.TrimRight(strings.TrimSpace(e.unpin(r.Query)), "; \n\t")
	if q == "" {
		return ""
	}
	q = e.withSchemas(q, r.Meant())
	if e.ShownView != nil {
		if s := e.ShownView(r, q, pretty); s != "" {
			return s + ";"
		}
	}
	return " " + q + ";"
}

// withSchemas writes the schemas of those relations of a query that the search path does not find: what dumps the definitions of views
// has an empty one. meant has the relations that the query reads.
func (e *Env) withSchemas(query string, meant []catalog.ID) string {
	q, err := parse.ParseQuery(query)
	if err != nil {
		return query
	}
	with, at := map[string]bool{}, map[int]string{}
	walkNodes(reflect.ValueOf(q), func(n any) bool {
		if c, ok := n.(*ast.With); ok {
			for _, item := range c.CTEs {
				with[item.Name] = true
			}
		}
		return true
	})
	walkNodes(reflect.ValueOf(q), func(n any) bool {
		t, ok := n.(*ast.TableRef)
		if !ok || len(t.Name.Parts) != 1 || with[t.Name.Parts[0]] {
			return true
		}
		for _, id := range meant {
			if x := e.object(id); x != nil && x.name == t.Name.Parts[0] {
				if full := e.qualified(x); full != quoteIdent(x.name) {
					at[t.Name.Pos] = strings.TrimSuffix(full, quoteIdent(x.name))
				}
				break
			}
		}
		return true
	})
	var b strings.Builder
	done := 0
	for _, pos := range slices.Sorted(maps.Keys(at)) {
		b.WriteString(query[done:pos] + at[pos])
		done = pos
	}
	return b.String() + query[done:]
}

// indexDefinition is the statement that would make an index, or the text of its column col if that is not
// 0. pretty leaves away a schema that is not needed.
func (e *Env) indexDefinition(x *object, col int, pretty bool) string {
	if x == nil || x.index == nil {
		return ""
	}
	var items []string
	for i, k := range x.index.key {
		s := ""
		if k > 0 {
			s = quoteIdent(x.rel.Columns[k-1].Name)
		} else {
			s = e.indexExpr(x, x.index.exprs[i], pretty)
		}
		if col != 0 {
			if i+1 == col {
				return s
			}
			continue
		}
		switch desc, first := x.index.desc[i], x.index.nullsFirst[i]; {
		case desc && first:
			s += " DESC"
		case desc:
			s += " DESC NULLS LAST"
		case first:
			s += " NULLS FIRST"
		}
		items = append(items, s)
	}
	if n := col - len(x.index.key); n > 0 && n <= len(x.index.include) {
		return quoteIdent(x.rel.Columns[x.index.include[n-1]-1].Name)
	}
	if col != 0 {
		return ""
	}
	unique := ""
	if x.index.unique {
		unique = "UNIQUE "
	}
	table := quoteIdent(x.rel.Schema) + "." + quoteIdent(x.rel.Name)
	if t := e.object(x.rel.ID); pretty && t != nil {
		table = e.qualified(t)
	}
	return "CREATE " + unique + "INDEX " + quoteIdent(x.name) + " ON " + table + " USING btree (" + strings.Join(items, ", ") + ")" +
		e.indexTail(x, pretty)
}

// indexExpr is an expression of an index: in parentheses, unless it is a call.
func (e *Env) indexExpr(x *object, text string, pretty bool) string {
	s := e.shown(x.rel, text, types.T(types.Unknown), pretty)
	tree, err := parse.ParseExpr(text)
	if err != nil {
		return s
	}
	if f, ok := tree.(*ast.Func); ok && !f.Special {
		return s
	}
	return "(" + s + ")"
}

// shown is an expression over the columns of rel as PostgreSQL shows it, or as it was written if that is not known.
func (e *Env) shown(rel *catalog.Relation, text string, want types.Type, pretty bool) string {
	if e.Shown == nil || rel == nil || strings.TrimSpace(text) == "" {
		return text
	}
	if s := e.Shown(rel, text, want, pretty); s != "" {
		return e.unpin(s)
	}
	return text
}

// indexTail is what follows the columns in CREATE INDEX.
func (e *Env) indexTail(x *object, pretty bool) string {
	tail := ""
	if len(x.index.include) > 0 {
		var names []string
		for _, n := range x.index.include {
			names = append(names, quoteIdent(x.rel.Columns[n-1].Name))
		}
		tail = " INCLUDE (" + strings.Join(names, ", ") + ")"
	}
	if x.index.nullsEqual {
		tail += " NULLS NOT DISTINCT"
	}
	if x.index.where != "" {
		where := "(" + strings.TrimSpace(x.index.where) + ")"
		if s := e.shown(x.rel, x.index.where, types.T(types.Bool), pretty); s != x.index.where {
			where = s
		}
		tail += " WHERE " + where
	}
	return tail
}

// foreignDefinition is a foreign key as it stands in CREATE TABLE.
func (e *Env) foreignDefinition(n *constraint) string {
	f := n.foreign
	s := "FOREIGN KEY (" + columnNames(n.rel.rel, n.cols) + ") REFERENCES " + e.qualified(n.ref) + "(" + columnNames(n.ref.rel, n.refCols) + ")"
	if f.MatchFull {
		s += " MATCH FULL"
	}
	if f.OnUpdate != catalog.NoAction {
		s += " ON UPDATE " + actionWords[f.OnUpdate]
	}
	if f.OnDelete != catalog.NoAction {
		s += " ON DELETE " + actionWords[f.OnDelete]
	}
	if f.SetColumns != nil {
		var nums []int
		for _, k := range f.SetColumns {
			nums = append(nums, k+1)
		}
		s += " (" + columnNames(n.rel.rel, nums) + ")"
	}
	if f.Deferrable {
		s += " DEFERRABLE"
	}
	if f.Deferred {
		s += " INITIALLY DEFERRED"
	}
	if f.NotValid {
		s += " NOT VALID"
	}
	return s
}

// constraintDefinition is a constraint as it stands in CREATE TABLE.
func (e *Env) constraintDefinition(oid catalog.ID, pretty bool) string {
	n := e.objects().constraint[oid]
	if n == nil {
		return e.domainCheckDefinition(oid, pretty)
	}
	switch n.kind {
	case 'p':
		return "PRIMARY KEY (" + columnNames(n.rel.rel, n.cols) + ")"
	case 'u':
		distinct := ""
		if ix := e.object(n.index); ix != nil && ix.index.nullsEqual {
			distinct = "NULLS NOT DISTINCT "
		}
		return "UNIQUE " + distinct + "(" + columnNames(n.rel.rel, n.cols) + ")"
	case 'f':
		return e.foreignDefinition(n)
	}
	tail := ""
	if n.notValid {
		tail = " NOT VALID"
	}
	text := e.unpin(n.expr)
	if !pretty {
		text = "(" + text + ")"
	}
	if s := e.shown(n.rel.rel, n.expr, types.T(types.Bool), pretty); s != n.expr {
		text = s
	}
	return "CHECK (" + text + ")" + tail
}

func serialSequence(c *call) (types.Datum, error) {
	x, err := c.findRelation(c.text(0))
	if err != nil {
		return types.Null, err
	}
	for _, a := range x.cols {
		if a.Name != c.text(1) {
			continue
		}
		for _, s := range c.objects().list {
			if s.seq != nil && s.seq.OwnedBy == x.oid && s.seq.OwnedColumn == a.Name {
				return types.DStr(quoteIdent(s.schema) + "." + quoteIdent(s.name)), nil
			}
		}
		return types.Null, nil
	}
	return types.Null, sqlerr.Newf(sqlerr.UndefinedColumn, "column \"%s\" of relation \"%s\" does not exist", c.text(1), x.name)
}

// resultText is the result of a function as CREATE FUNCTION has it.
func resultText(f *fn.Func) string {
	if f.Outs == nil {
		if f.Kind == fn.Table {
			return "SETOF " + formatType(f.Ret)
		}
		return formatType(f.Ret)
	}
	if len(f.Outs) == 1 {
		return "SETOF " + formatType(f.Outs[0].Type)
	}
	return "SETOF record"
}

// argumentsText are the arguments of a function.
func argumentsText(f *fn.Func, defaults bool) string {
	var out []string
	for i, t := range f.Args {
		s := formatType(t)
		if f.Variadic && i == len(f.Args)-1 {
			if t.Kind != types.Any {
				s += "[]"
			}
			s = "VARIADIC " + s
		}
		if f.ArgNames != nil && f.ArgNames[i] != "" {
			s = quoteIdent(f.ArgNames[i]) + " " + s
		}
		if defaults && f.Defaults != nil && f.Defaults[i] != fn.NoDefault {
			s += " DEFAULT " + f.Defaults[i]
		}
		out = append(out, s)
	}
	for _, o := range f.Outs {
		out = append(out, "OUT "+quoteIdent(o.Name)+" "+formatType(o.Type))
	}
	return strings.Join(out, ", ")
}

func functionDefinition(f *fn.Func) string {
	s := "CREATE OR REPLACE FUNCTION pg_catalog." + quoteIdent(f.Name) + "(" + argumentsText(f, true) + ")\n RETURNS " +
		resultText(f) + "\n LANGUAGE internal\n"
	var attrs []string
	switch f.Volatility {
	case fn.Immutable:
		attrs = append(attrs, "IMMUTABLE")
	case fn.Stable:
		attrs = append(attrs, "STABLE")
	}
	attrs = append(attrs, "PARALLEL SAFE")
	if f.Strict {
		attrs = append(attrs, "STRICT")
	}
	return s + " " + strings.Join(attrs, " ") + "\nAS $function$" + f.Name + "$function$\n"
}
