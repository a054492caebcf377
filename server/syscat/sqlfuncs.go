package syscat

import (
	"slices"
	"strconv"
	"strings"

	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// This file presents the functions in SQL that users make; those that come with the server are in procs.go.

// The oids of pg_proc and of the language SQL.
const (
	procID      = catalog.ID(1255)
	sqlLanguage = catalog.ID(14)
)

// sqlFunc finds a function that was made by a user, nil if the oid is of another kind.
func (e *Env) sqlFunc(oid catalog.ID) *catalog.Function { return e.Catalog.Functions[oid] }

// functionVisible tells whether the name and the types of f alone mean f.
func (e *Env) functionVisible(f *catalog.Function) bool {
	for _, p := range procs().byName[f.Name] {
		if slices.Equal(p.fn.Args, f.ArgTypes()) && !slices.Contains(e.SearchPath, pgCatalog) {
			return false
		}
	}
	for _, schema := range e.SearchPath {
		if g := e.Catalog.Function(schema, f.Name, f.ArgTypes()); g != nil {
			return g == f
		}
	}
	return false
}

// findFunctions lists the functions of a name, by schema in the order of the search path.
func (e *Env) findFunctions(parts []string) []*catalog.Function {
	path := e.SearchPath
	if len(parts) > 1 {
		path = []string{parts[len(parts)-2]}
	}
	var fs []*catalog.Function
	for _, schema := range path {
		for _, f := range e.Catalog.FunctionsNamed(schema, parts[len(parts)-1]) {
			if !slices.ContainsFunc(fs, func(g *catalog.Function) bool { return slices.Equal(g.ArgTypes(), f.ArgTypes()) }) {
				fs = append(fs, f)
			}
		}
	}
	return fs
}

// functionOID resolves the text of a regproc, or of a regprocedure, which has the types of the arguments.
func (e *Env) functionOID(text string) (uint32, error) {
	name, list, listed := strings.Cut(strings.TrimSpace(text), "(")
	parts, err := splitName(name)
	if err != nil {
		return 0, err
	}
	fs := e.findFunctions(parts)
	if listed {
		list, closed := strings.CutSuffix(list, ")")
		if !closed {
			return 0, sqlerr.Newf(sqlerr.InvalidTextRepresentation, "expected a right parenthesis")
		}
		var args []types.Type
		for item := range strings.SplitSeq(list, ",") {
			if strings.TrimSpace(list) == "" {
				break
			}
			t, err := e.typeByName(item)
			if err != nil {
				return 0, err
			}
			args = append(args, t.WithoutMod())
		}
		for _, f := range fs {
			if slices.Equal(f.ArgTypes(), args) {
				return uint32(f.ID), nil
			}
		}
		if len(parts) == 1 || parts[0] == pgCatalog {
			for _, p := range procs().byName[parts[len(parts)-1]] {
				if slices.Equal(p.fn.Args, args) {
					return uint32(p.oid), nil
				}
			}
		}
		return 0, sqlerr.Newf(sqlerr.UndefinedFunction, "function \"%s\" does not exist", text)
	}
	if len(fs) == 0 {
		return procOID(text)
	}
	if len(fs) > 1 || len(parts) == 1 && len(procs().byName[parts[0]]) > 0 {
		return 0, sqlerr.Newf(sqlerr.AmbiguousFunction, "more than one function named \"%s\"", text)
	}
	return uint32(fs[0].ID), nil
}

// functionName gives the text of a regproc.
func (e *Env) functionName(oid uint32) (string, bool) {
	f := e.sqlFunc(catalog.ID(oid))
	if f == nil {
		return procName(oid)
	}
	name := quoteIdent(f.Name)
	if fs := e.findFunctions([]string{f.Name}); len(fs) != 1 || fs[0] != f || len(procs().byName[f.Name]) > 0 {
		name = quoteIdent(f.Schema) + "." + name
	}
	return name, true
}

// paramText is a parameter as CREATE FUNCTION has it.
func paramText(p catalog.Param, defaults bool) string {
	s := formatType(p.Type)
	if p.Name != "" {
		s = quoteIdent(p.Name) + " " + s
	}
	switch p.Mode {
	case "out", "inout", "variadic":
		s = strings.ToUpper(p.Mode) + " " + s
	}
	if defaults && p.HasDefault {
		s += " DEFAULT " + defaultAsPostgres(p.Default, p.Type)
	}
	return s
}

// paramsText are the parameters of f: all of them or, to identify it, without defaults.
func paramsText(f *catalog.Function, defaults bool) string {
	var out []string
	for _, p := range f.Params {
		if p.Mode != "table" {
			out = append(out, paramText(p, defaults))
		}
	}
	return strings.Join(out, ", ")
}

// returnsText is the result of f.
func returnsText(f *catalog.Function) string {
	var cols []string
	for _, p := range f.Params {
		if p.Mode == "table" {
			cols = append(cols, paramText(p, false))
		}
	}
	switch {
	case len(cols) > 0:
		return "TABLE(" + strings.Join(cols, ", ") + ")"
	case f.SetOf:
		return "SETOF " + formatType(f.Returns)
	}
	return formatType(f.Returns)
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// cost and rows of a function, as the planner of PostgreSQL would have them.
func costs(f *catalog.Function) (cost, rows float64) {
	cost, rows = f.Cost, f.Rows
	if cost == 0 {
		cost = 100
	}
	if rows == 0 && f.SetOf {
		rows = 1000
	}
	return cost, rows
}

// createFunctionText is the statement that would make f, as pg_get_functiondef gives it.
func createFunctionText(f *catalog.Function) string {
	var b strings.Builder
	b.WriteString("CREATE OR REPLACE FUNCTION " + quoteIdent(f.Schema) + "." + quoteIdent(f.Name) + "(" + paramsText(f, true) + ")\n")
	b.WriteString(" RETURNS " + returnsText(f) + "\n LANGUAGE sql\n")
	var attrs []string
	if f.Volatility != "" {
		attrs = append(attrs, strings.ToUpper(f.Volatility))
	}
	if f.Parallel != "" {
		attrs = append(attrs, "PARALLEL "+strings.ToUpper(f.Parallel))
	}
	if f.Strict {
		attrs = append(attrs, "STRICT")
	}
	if f.Definer {
		attrs = append(attrs, "SECURITY DEFINER")
	}
	if f.Leakproof {
		attrs = append(attrs, "LEAKPROOF")
	}
	if f.Cost != 0 && f.Cost != 100 {
		attrs = append(attrs, "COST "+number(f.Cost))
	}
	if f.Rows != 0 && f.Rows != 1000 {
		attrs = append(attrs, "ROWS "+number(f.Rows))
	}
	if len(attrs) > 0 {
		b.WriteString(" " + strings.Join(attrs, " ") + "\n")
	}
	if f.SetPath {
		var names []string
		for _, s := range f.SearchPath {
			names = append(names, quoteLiteral(s))
		}
		b.WriteString(" SET search_path TO " + strings.Join(names, ", ") + "\n")
	}
	switch f.Form {
	case "return":
		b.WriteString("RETURN " + strings.TrimPrefix(f.Body, "SELECT ") + "\n")
	case "atomic":
		b.WriteString("BEGIN ATOMIC\n " + f.Body + ";\nEND\n")
	default:
		tag := "$function$"
		for strings.Contains(f.Source, tag) {
			tag = "$x" + tag[1:]
		}
		b.WriteString("AS " + tag + f.Source + tag + "\n")
	}
	return b.String()
}

// sqlProcRows adds the functions in SQL to pg_proc.
func sqlProcRows(c *content) {
	c.columns("oid", "proname", "pronamespace", "proowner", "prolang", "procost", "prorows", "provariadic", "prokind", "prosecdef",
		"proleakproof", "proisstrict", "proretset", "provolatile", "proparallel", "pronargs", "pronargdefaults", "prorettype",
		"proargtypes", "proallargtypes", "proargmodes", "proargnames", "proargdefaults", "prosrc", "prosqlbody", "proconfig", "proacl")
	modes := map[string]string{"": "i", "out": "o", "inout": "b", "variadic": "v", "table": "t"}
	for _, f := range c.cat.SortedFunctions() {
		cost, rows := costs(f)
		var args, allArgs []uint32
		var argModes, names, defaults []string
		var variadic uint32
		named, plain := false, true
		for _, p := range f.Params {
			allArgs = append(allArgs, p.Type.OID())
			argModes, names = append(argModes, modes[p.Mode]), append(names, p.Name)
			named, plain = named || p.Name != "", plain && p.Mode == ""
			if p.Input() {
				args = append(args, p.Type.OID())
			}
			if p.Mode == "variadic" {
				variadic = types.T(p.Type.Elem).OID()
			}
			if p.HasDefault {
				defaults = append(defaults, defaultAsPostgres(p.Default, p.Type))
			}
		}
		var all, ms, ns, ds, body, config any
		if !plain {
			ms, all = argModes, allArgs
		}
		if named {
			ns = names
		}
		if len(defaults) > 0 {
			ds = strings.Join(defaults, ", ")
		}
		if f.Form != "" {
			body = f.Body
		}
		if f.SetPath {
			config = []string{"search_path=" + strings.Join(f.SearchPath, ", ")}
		}
		volatility := map[string]rune{"immutable": 'i', "stable": 's', "": 'v'}[f.Volatility]
		parallel := map[string]rune{"safe": 's', "restricted": 'r', "": 'u'}[f.Parallel]
		if args == nil {
			args = []uint32{}
		}
		c.add(f.ID, f.Name, c.env.schemaID(f.Schema), roleID(f.Owner), sqlLanguage, cost, rows, variadic, 'f', f.Definer,
			f.Leakproof, f.Strict, f.SetOf, volatility, parallel, len(args), len(defaults), f.Returns.OID(), args, all, ms, ns, ds,
			f.Source, body, config, aclText(f.ACL))
	}
}

// specificName is the name of a function in information_schema.
func specificName(f *catalog.Function) string {
	return f.Name + "_" + strconv.FormatUint(uint64(f.ID), 10)
}

func infoRoutineRows(c *content) {
	c.columns("specific_catalog", "specific_schema", "specific_name", "routine_catalog", "routine_schema", "routine_name",
		"routine_type", "data_type", "type_udt_catalog", "type_udt_schema", "type_udt_name", "dtd_identifier", "routine_body",
		"routine_definition", "external_language", "parameter_style", "is_deterministic", "sql_data_access", "is_null_call",
		"schema_level_routine", "max_dynamic_result_sets", "security_type", "as_locator", "is_udt_dependent")
	db := c.env.Database
	for _, f := range c.cat.SortedFunctions() {
		null, security := any("NO"), "INVOKER"
		if f.Strict {
			null = "YES"
		}
		if f.Definer {
			security = "DEFINER"
		}
		source := f.Source
		if f.Form != "" {
			source = f.Body
		}
		c.add(db, f.Schema, specificName(f), db, f.Schema, f.Name, "FUNCTION", infoType(f.Returns), db, pgCatalog, f.Returns.Name(), "0",
			"SQL", source, "SQL", "GENERAL", yesNo(f.Volatility == "immutable"), "MODIFIES", null, "YES", 0, security, "NO", "NO")
	}
}

func infoParameterRows(c *content) {
	c.columns("specific_catalog", "specific_schema", "specific_name", "ordinal_position", "parameter_mode", "is_result",
		"as_locator", "parameter_name", "data_type", "udt_catalog", "udt_schema", "udt_name", "dtd_identifier", "parameter_default")
	db := c.env.Database
	modes := map[string]string{"": "IN", "variadic": "IN", "out": "OUT", "inout": "INOUT", "table": "OUT"}
	for _, f := range c.cat.SortedFunctions() {
		for i, p := range f.Params {
			var def any
			if p.HasDefault {
				def = defaultAsPostgres(p.Default, p.Type)
			}
			c.add(db, f.Schema, specificName(f), i+1, modes[p.Mode], "NO", "NO", orNull(p.Name), infoType(p.Type), db, pgCatalog,
				p.Type.Name(), strconv.Itoa(i+1), def)
		}
	}
}

// functionPrivileges: has_function_privilege.
func (t implTable) functionPrivileges() {
	check := func(c *call, user string, f *catalog.Function, text string) (types.Datum, error) {
		return wanted(text, func(p catalog.Privileges) (catalog.Privileges, catalog.Privileges) {
			if f == nil || f.ACL == nil {
				return p & catalog.Execute, 0
			}
			return c.Catalog.Allowed(user, f.Owner, f.ACL, p)
		})
	}
	numbered := func(u int) impl {
		return func(c *call) (types.Datum, error) {
			oid := c.oid(u + 1)
			f := c.sqlFunc(oid)
			if f == nil && procs().byOID[oid] == nil {
				return types.Null, nil
			}
			return check(c, c.userAt(u), f, c.text(len(c.args)-1))
		}
	}
	named := func(u int) impl {
		return func(c *call) (types.Datum, error) {
			oid, err := c.functionOID(c.text(u + 1))
			if err != nil {
				return types.Null, err
			}
			return check(c, c.userAt(u), c.sqlFunc(catalog.ID(oid)), c.text(len(c.args)-1))
		}
	}
	t.set(named(-1), "has_function_privilege(text,text)")
	t.set(named(0), "has_function_privilege(name,text,text)")
	t.set(numbered(-1), "has_function_privilege(oid,text)")
	t.set(numbered(0), "has_function_privilege(name,oid,text)")
}
