package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/parse"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

func badFunction(format string, args ...any) *sqlerr.Error {
	return sqlerr.Newf(sqlerr.InvalidFunctionDefinition, format, args...)
}

// createFunction runs CREATE [OR REPLACE] FUNCTION.
func (d *definer) createFunction(st *ast.CreateFunction) error {
	schema, name, err := d.qualify(st.Name, true)
	if err != nil {
		return err
	}
	if !d.cat.HasSchema(schema) {
		return sqlerr.Newf(sqlerr.InvalidSchemaName, "schema %q does not exist", schema)
	}
	if err := d.mayCreate(schema); err != nil {
		return err
	}
	if err := functionLanguage(st); err != nil {
		return err
	}
	f := &catalog.Function{Schema: schema, Name: name, Owner: d.s.user()}
	if err := d.params(f, st); err != nil {
		return err
	}
	if err := d.functionResult(f, st); err != nil {
		return err
	}
	if err := d.attributes(f, st.Options); err != nil {
		return err
	}
	if err := d.body(f, st); err != nil {
		return err
	}
	old := d.cat.Function(schema, name, f.ArgTypes())
	if old == nil {
		f.ID = d.t.inc.AllocID()
	} else {
		if !st.OrReplace {
			return sqlerr.Newf(sqlerr.DuplicateFunction, "function %q already exists with same argument types", name)
		}
		if err := d.replaceableFunction(old, f); err != nil {
			return err
		}
		f.ID, f.Owner, f.ACL, f.Comment = old.ID, old.Owner, old.ACL, old.Comment
	}
	if err := d.checkBody(f, st); err != nil {
		return err
	}
	if old != nil && !sameMeaning(old, f) {
		if err := d.noJobs("replace", old); err != nil {
			return err
		}
	}
	return d.to().Change(d.ctx, func(c *catalog.Catalog) { c.PutFunction(f) })
}

// functionLanguage refuses languages other than SQL.
func functionLanguage(st *ast.CreateFunction) error {
	switch st.Language {
	case "":
		if st.Query == nil {
			return badFunction("no language specified")
		}
	case "sql":
	case "plpgsql", "c", "internal":
		return sqlerr.New(sqlerr.FeatureNotSupported, st.Pos, "a function in language %q is not supported", st.Language).
			WithHint("Functions can be written in SQL.")
	default:
		return sqlerr.Newf(sqlerr.UndefinedObject, "language %q does not exist", st.Language)
	}
	if st.Language != "" && st.Language != "sql" && st.Query != nil {
		return badFunction("inline SQL function body only valid for language SQL")
	}
	return nil
}

// params completes f with its parameters and result columns.
func (d *definer) params(f *catalog.Function, st *ast.CreateFunction) error {
	pl := d.planner()
	needDefault := false
	for i, p := range st.Params {
		t, err := undomained(pl, "a function with arguments", p.Type)
		if err != nil {
			return d.rowType(err, p.Type)
		}
		if t.Kind == types.Unknown || t.Kind == types.Void || t.Kind == types.Any || t.Kind == types.Record {
			return badFunction("SQL functions cannot have arguments of type %s", t)
		}
		c := catalog.Param{Name: p.Name, Type: t.WithoutMod(), Mode: p.Mode}
		if c.Mode == "in" {
			c.Mode = ""
		}
		if c.Mode == "variadic" {
			if slices.ContainsFunc(st.Params[i+1:], func(q ast.FuncParam) bool { return q.Mode == "in" || q.Mode == "inout" || q.Mode == "variadic" }) {
				return badFunction("VARIADIC parameter must be the last input parameter")
			}
			if t.Kind != types.Array && t.Kind != types.AnyArray {
				return badFunction("VARIADIC parameter must be an array")
			}
		}
		for _, o := range f.Params {
			// An input and an output may share a name.
			if p.Name != "" && o.Name == p.Name && !(o.Input() && p.Mode == "out" && o.Mode != "inout" || o.Mode == "out" && (p.Mode == "in" || p.Mode == "variadic")) {
				return badFunction("parameter name %q used more than once", p.Name)
			}
		}
		switch {
		case p.Default != nil && !c.Input():
			return badFunction("only input parameters can have default values")
		case p.Default != nil:
			if err := pl.CheckDefault(p.Default, c.Type); err != nil {
				return err
			}
			c.Default, c.HasDefault, needDefault = p.DefaultText, true, true
		case needDefault && c.Input():
			return badFunction("input parameters after one with a default value must also have defaults")
		}
		f.Params = append(f.Params, c)
	}
	return nil
}

// rowType says of a type that is the row of a relation that it is not supported.
func (d *definer) rowType(err error, tn ast.TypeName) error {
	if schema, name, qerr := d.qualify(tn.Name, false); qerr == nil && d.cat.Relation(schema, name) != nil {
		return sqlerr.New(sqlerr.FeatureNotSupported, tn.Pos, "the rows of %q as a type are not supported", name).
			WithHint("List the columns, as in RETURNS TABLE (a integer, b text).")
	}
	if e := sqlerr.From(err); e.Code == sqlerr.UndefinedObject {
		return sqlerr.Newf(sqlerr.UndefinedObject, "type %s does not exist", strings.Join(tn.Name.Parts, "."))
	}
	return err
}

// functionResult completes f with the type of its result.
func (d *definer) functionResult(f *catalog.Function, st *ast.CreateFunction) error {
	outs := f.Outputs()
	var implied types.Type
	switch len(outs) {
	case 0:
	case 1:
		implied = outs[0].Type
	default:
		implied = types.T(types.Record)
	}
	f.SetOf = st.SetOf
	if st.Returns == nil {
		if len(outs) == 0 {
			return badFunction("function result type must be specified")
		}
		f.Returns = implied
	} else {
		t, err := undomained(d.planner(), "a function with a result", *st.Returns)
		if err != nil {
			return d.rowType(err, *st.Returns)
		}
		f.Returns = t.WithoutMod()
		if len(outs) > 0 && f.Returns != implied {
			return badFunction("function result type must be %s because of OUT parameters", implied)
		}
	}
	switch f.Returns.Kind {
	case types.Record:
		if len(outs) == 0 {
			return sqlerr.New(sqlerr.FeatureNotSupported, st.Pos, "a function that returns record without OUT parameters is not supported").
				WithHint("List the columns, as in RETURNS TABLE (a integer, b text).")
		}
	case types.Void:
		return sqlerr.New(sqlerr.FeatureNotSupported, st.Pos, "a function that returns void is not supported")
	case types.Unknown, types.Any:
		return badFunction("SQL functions cannot return type %s", f.Returns)
	}
	results := []types.Type{f.Returns}
	for _, o := range outs {
		results = append(results, o.Type)
	}
	for _, t := range results {
		if (t.Kind == types.AnyElement || t.Kind == types.AnyArray) && !polymorphic(f) {
			return badFunction("cannot determine result data type").
				WithDetail("A result of type %s requires at least one input of type anyelement, anyarray, anynonarray, anyenum, anyrange, or anymultirange.", t)
		}
	}
	return nil
}

// polymorphic tells whether an input of f has a polymorphic type.
func polymorphic(f *catalog.Function) bool {
	return slices.ContainsFunc(f.Inputs(), func(p catalog.Param) bool {
		return p.Type.Kind == types.AnyElement || p.Type.Kind == types.AnyArray
	})
}

// attributes sets what CREATE and ALTER FUNCTION say besides the signature and the body.
func (d *definer) attributes(f *catalog.Function, os []ast.FuncOption) error {
	positive := func(o ast.FuncOption, what string) (float64, error) {
		v, err := strconv.ParseFloat(o.Value, 64)
		if err != nil || v <= 0 {
			return 0, sqlerr.Newf(sqlerr.InvalidParameterValue, "%s must be positive", what)
		}
		return v, nil
	}
	var err error
	for _, o := range os {
		switch o.Name {
		case "volatility":
			if f.Volatility = o.Value; o.Value == "volatile" {
				f.Volatility = ""
			}
		case "strict":
			f.Strict = o.Value == "true"
		case "security":
			f.Definer = o.Value == "definer"
		case "leakproof":
			if f.Leakproof = o.Value == "true"; f.Leakproof && !d.s.trusted(d.cat, d.s.user()) {
				return sqlerr.Newf(sqlerr.InsufficientPrivilege, "only superuser can define a leakproof function")
			}
		case "cost":
			if f.Cost, err = positive(o, "COST"); err != nil {
				return err
			}
		case "rows":
			if f.Rows, err = positive(o, "ROWS"); err != nil {
				return err
			}
			if !f.SetOf {
				return sqlerr.Newf(sqlerr.InvalidParameterValue, "ROWS is not applicable when function does not return a set")
			}
		case "parallel":
			switch o.Value {
			case "safe", "restricted":
				f.Parallel = o.Value
			case "unsafe":
				f.Parallel = ""
			default:
				return sqlerr.Newf(sqlerr.SyntaxError, "parameter \"parallel\" must be SAFE, RESTRICTED, or UNSAFE")
			}
		case "set", "reset":
			if o.Setting != "search_path" && (o.Name == "set" || o.Setting != "all") {
				return sqlerr.New(sqlerr.FeatureNotSupported, o.Pos, "SET %s of a function is not supported", o.Setting)
			}
			f.SearchPath, f.SetPath = nil, false
			if o.Name == "set" && o.Value != "" {
				v := &vars{set: map[string]string{"search_path": o.Value}}
				f.SearchPath, f.SetPath = append([]string{}, v.searchPath(d.s.user())...), true
			}
		default:
			return sqlerr.New(sqlerr.FeatureNotSupported, o.Pos, "%s of a function is not supported", strings.ToUpper(o.Name))
		}
	}
	return nil
}

// body sets the body of f.
func (d *definer) body(f *catalog.Function, st *ast.CreateFunction) error {
	switch {
	case st.Query != nil && st.HasBody:
		return badFunction("duplicate function body specified")
	case st.Query != nil:
		if polymorphic(f) {
			return badFunction("SQL function with unquoted function body cannot have polymorphic arguments")
		}
		f.Body, f.Form = st.QueryText, st.Form
		if f.SearchPath == nil {
			// Its names have their meaning from now on.
			f.SearchPath = append([]string{}, d.s.vars.searchPath(d.s.user())...)
		}
		return nil
	case !st.HasBody:
		return badFunction("no function body specified")
	}
	f.Source = st.Body
	stmts, err := parse.Parse(st.Body)
	if err != nil {
		return d.bodyError(err, f, st)
	}
	final := badFunction("return type mismatch in function declared to return %s", f.Returns).
		WithDetail("Function's final statement must be SELECT or INSERT/UPDATE/DELETE RETURNING.")
	switch len(stmts) {
	case 0:
		return final
	case 1:
	default:
		return sqlerr.New(sqlerr.FeatureNotSupported, st.Pos, "a function of more than one statement is not supported")
	}
	if _, ok := stmts[0].AST.(*ast.Select); !ok {
		return sqlerr.New(sqlerr.FeatureNotSupported, st.Pos, "a function whose body is not a query is not supported")
	}
	f.Body = stmts[0].Text
	return nil
}

// bodyError moves an error in the body to where the body stands in the statement.
func (d *definer) bodyError(err error, f *catalog.Function, st *ast.CreateFunction) error {
	var e *sqlerr.Error
	if !errors.As(err, &e) {
		return err
	}
	c := *e
	part, at := st.Body, c.Pos
	if st.Query != nil {
		part = strings.TrimPrefix(st.QueryText, "SELECT ")
		at -= len(st.QueryText) - len(part)
	} else if i := strings.Index(st.Body, f.Body); f.Body != "" && i > 0 {
		at += i
	}
	start := strings.Index(d.e.p.text, part)
	if c.Pos == sqlerr.NoPos || start < 0 || at < 0 {
		c.Pos = sqlerr.NoPos
		if c.Where != "" {
			c.Where += "\n"
		}
		c.Where += "SQL function \"" + f.Name + "\""
		return &c
	}
	c.Pos = start + at
	return &c
}

// checkBody binds the body unless it means something only in a call.
func (d *definer) checkBody(f *catalog.Function, st *ast.CreateFunction) error {
	if polymorphic(f) || st.Query == nil && d.s.vars.get("check_function_bodies") == "off" {
		return nil
	}
	if err := d.planner().CheckFunction(f); err != nil {
		return d.bodyError(err, f, st)
	}
	return nil
}

// replaceableFunction checks what CREATE OR REPLACE FUNCTION allows.
func (d *definer) replaceableFunction(old, f *catalog.Function) error {
	if err := d.owner("function", old.Name, old.Owner); err != nil {
		return err
	}
	hint := fmt.Sprintf("Use DROP FUNCTION %s first.", d.displayFunction(old))
	if old.Returns != f.Returns || old.SetOf != f.SetOf {
		return badFunction("cannot change return type of existing function").WithHint("%s", hint)
	}
	if old.Returns.Kind == types.Record && !slices.EqualFunc(old.Outputs(), f.Outputs(), func(a, b catalog.Param) bool { return a.Type == b.Type && a.Name == b.Name }) {
		return badFunction("cannot change return type of existing function").
			WithDetail("Row type defined by OUT parameters is different.").WithHint("%s", hint)
	}
	ins := f.Inputs()
	for i, p := range old.Inputs() {
		if p.Name != "" && p.Name != ins[i].Name {
			return badFunction("cannot change name of input parameter %q", p.Name).WithHint("%s", hint)
		}
		if p.HasDefault && !ins[i].HasDefault {
			return badFunction("cannot remove parameter defaults from existing function").WithHint("%s", hint)
		}
	}
	return nil
}

// sameMeaning tells whether calls of f give what those of old do.
func sameMeaning(old, f *catalog.Function) bool {
	return old.Body == f.Body && old.Strict == f.Strict && old.Definer == f.Definer && slices.Equal(old.Params, f.Params) &&
		slices.Equal(old.SearchPath, f.SearchPath) && old.Returns == f.Returns
}

// noJobs refuses to change what a function means while something is kept up to date with it: that would have to be filled again.
func (d *definer) noJobs(verb string, f *catalog.Function) error {
	for _, r := range d.cat.Callers(f.ID) {
		switch r.Kind {
		case catalog.MatView, catalog.Sink, catalog.Index:
			return sqlerr.Newf(sqlerr.FeatureNotSupported, "cannot %s function %s because %s %s calls it, which is not supported yet",
				verb, d.displayFunction(f), kindWord(r.Kind), d.displayName(r)).
				WithHint("Drop what calls it first, or create a function of another name.")
		}
	}
	return d.noPendingCall(verb, f)
}

// noPendingCall refuses to change a function that is called by a view that is being created.
func (d *definer) noPendingCall(verb string, f *catalog.Function) error {
	for _, p := range d.cat.Pending {
		if slices.Contains(p.Functions, f.ID) {
			return sqlerr.Newf(sqlerr.DependentObjectsStillExist, "cannot %s function %s because materialized view %s is being created with it",
				verb, d.displayFunction(f), d.displayName(p)).
				WithHint("Wait until it is complete, or drop it.")
		}
	}
	return nil
}

// displayFunction is the signature of a function, qualified if it is not in the search path.
func (d *definer) displayFunction(f *catalog.Function) string {
	sig := strings.ReplaceAll(f.Signature(), ", ", ",")
	if slices.Contains(d.s.vars.searchPath(d.s.user()), f.Schema) {
		return sig
	}
	return f.Schema + "." + sig
}

// findFunction finds the function that a statement names; nil if there is none and ifExists allows that.
func (d *definer) findFunction(r ast.FuncRef, ifExists bool) (*catalog.Function, error) {
	name := r.Name.Parts[len(r.Name.Parts)-1]
	path := d.s.vars.searchPath(d.s.user())
	if len(r.Name.Parts) > 1 {
		path = []string{r.Name.Parts[len(r.Name.Parts)-2]}
	}
	var args []types.Type
	for _, a := range r.Args {
		t, err := d.typeOf(a)
		if err != nil {
			if ifExists {
				d.s.notice(sqlerr.SuccessfulCompletion, fmt.Sprintf("type %q does not exist, skipping", strings.Join(a.Name.Parts, ".")))
				return nil, nil
			}
			return nil, err
		}
		args = append(args, t.WithoutMod())
	}
	shown := strings.Join(r.Name.Parts, ".")
	sig := (&catalog.Function{Name: shown, Params: inputsOf(args)}).Signature()
	for _, schema := range path {
		if r.Listed {
			if f := d.cat.Function(schema, name, args); f != nil {
				return f, nil
			}
			continue
		}
		switch fs := d.cat.FunctionsNamed(schema, name); len(fs) {
		case 0:
		case 1:
			return fs[0], nil
		default:
			return nil, sqlerr.Newf(sqlerr.AmbiguousFunction, "function name %q is not unique", shown).
				WithHint("Specify the argument list to select the function unambiguously.")
		}
	}
	switch {
	case ifExists:
		d.s.notice(sqlerr.SuccessfulCompletion, fmt.Sprintf("function %s does not exist, skipping", sig))
		return nil, nil
	case d.s.b.Registry.HasName(name) && (len(r.Name.Parts) == 1 || path[0] == "pg_catalog"):
		return nil, sqlerr.Newf(sqlerr.InsufficientPrivilege, "must be owner of function %s", name)
	case !r.Listed:
		return nil, sqlerr.Newf(sqlerr.UndefinedFunction, "could not find a function named %q", shown)
	}
	return nil, sqlerr.Newf(sqlerr.UndefinedFunction, "function %s does not exist", sig)
}

func inputsOf(ts []types.Type) []catalog.Param {
	ps := make([]catalog.Param, len(ts))
	for i, t := range ts {
		ps[i].Type = t
	}
	return ps
}

// ownFunction is findFunction for what only the owner may do.
func (d *definer) ownFunction(r ast.FuncRef, ifExists bool) (*catalog.Function, error) {
	f, err := d.findFunction(r, ifExists)
	if err != nil || f == nil {
		return nil, err
	}
	return f, d.owner("function", f.Name, f.Owner)
}

func (d *definer) dropFunctions(ctx context.Context, st *ast.Drop) error {
	var fs []*catalog.Function
	for _, r := range st.Funcs {
		f, err := d.ownFunction(r, st.IfExists)
		if err != nil {
			return err
		}
		if f != nil && !slices.Contains(fs, f) {
			fs = append(fs, f)
		}
	}
	return d.dropWithFunctions(ctx, nil, fs, st.Cascade)
}

// uses are the objects that call functions which are to be dropped.
type uses struct {
	functions []*catalog.Function
	// relations are dropped with them; tables lose the defaults and constraints that call them.
	relations []*catalog.Relation
	tables    []*catalog.Relation
	// details say of each what it depends on.
	details []string
}

// callers finds what calls functions.
func (d *definer) callers(fs []*catalog.Function) (*uses, error) {
	u := &uses{functions: fs}
	pl := d.planner()
	tables := map[catalog.ID]*catalog.Relation{}
	seen := map[catalog.ID]bool{}
	for _, f := range fs {
		if err := d.noPendingCall("drop", f); err != nil {
			return nil, err
		}
		on := "function " + d.displayFunction(f)
		for _, r := range d.cat.Callers(f.ID) {
			if r.Kind != catalog.Table {
				if !seen[r.ID] {
					seen[r.ID] = true
					u.relations = append(u.relations, r)
					u.details = append(u.details, fmt.Sprintf("%s %s depends on %s", kindWord(r.Kind), d.displayName(r), on))
				}
				continue
			}
			t := tables[r.ID]
			if t == nil {
				c := *r
				t = &c
				t.Columns, t.Checks = slices.Clone(r.Columns), slices.Clone(r.Checks)
				tables[r.ID] = t
			}
			calls := func(text, what string) bool {
				x, err := d.s.parseExpr(text)
				return err == nil && slices.Contains(pl.FunctionsIn(x, r, what), f.ID)
			}
			for i := range t.Columns {
				c := &t.Columns[i]
				if c.Default == "" || !calls(c.Default, "column generation expressions") {
					continue
				}
				if c.Generated {
					return nil, sqlerr.Newf(sqlerr.DependentObjectsStillExist, "cannot drop %s because other objects depend on it", on).
						WithDetail("column %s of table %s depends on %s", c.Name, d.displayName(r), on).
						WithHint("Drop the table first.")
				}
				c.Default = ""
				u.details = append(u.details, fmt.Sprintf("default value for column %s of table %s depends on %s", c.Name, d.displayName(r), on))
			}
			t.Checks = slices.DeleteFunc(t.Checks, func(k catalog.Check) bool {
				if !calls(k.Expr, "check constraints") {
					return false
				}
				u.details = append(u.details, fmt.Sprintf("constraint %s on table %s depends on %s", k.Name, d.displayName(r), on))
				return true
			})
			t.Functions = slices.DeleteFunc(slices.Clone(t.Functions), func(id catalog.ID) bool { return id == f.ID })
		}
	}
	for _, id := range slices.Sorted(maps.Keys(tables)) {
		u.tables = append(u.tables, tables[id])
	}
	return u, nil
}

// remove takes the functions out of a catalog, with what tables have of them.
func (u *uses) remove(c *catalog.Catalog) {
	for _, f := range u.functions {
		delete(c.Functions, f.ID)
	}
	for _, t := range u.tables {
		if c.RelationByID(t.ID) != nil {
			c.Put(t)
		}
	}
}

// dropWithFunctions drops relations and functions and, with cascade, all that depends on them.
func (d *definer) dropWithFunctions(ctx context.Context, named map[catalog.ID]*catalog.Relation, fs []*catalog.Function, cascade bool) error {
	if len(fs) == 0 {
		return d.dropRelations(ctx, named, cascade)
	}
	u, err := d.callers(fs)
	if err != nil {
		return err
	}
	all := maps.Clone(named)
	if all == nil {
		all = map[catalog.ID]*catalog.Relation{}
	}
	for _, r := range u.relations {
		all[r.ID] = r
	}
	all, more := d.dependent(all)
	details := append(u.details, more...)
	if err := d.notPending("drop", all); err != nil {
		return err
	}
	if len(details) > 0 && !cascade {
		what := "desired object(s)"
		if len(fs) == 1 && len(named) == 0 {
			what = "function " + d.displayFunction(fs[0])
		}
		return sqlerr.Newf(sqlerr.DependentObjectsStillExist, "cannot drop %s because other objects depend on it", what).
			WithDetail("%s", strings.Join(details, "\n")).
			WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
	}
	d.cascades(details)
	if len(all) == 0 {
		return d.to().Change(d.ctx, u.remove)
	}
	return d.to().Drop(ctx, newestFirst(all), u.remove)
}

// alterFunction runs ALTER FUNCTION.
func (d *definer) alterFunction(st *ast.Alter) error {
	f, err := d.ownFunction(*st.Func, false)
	if err != nil {
		return err
	}
	c := *f
	taken := func(schema, name string) error {
		if d.cat.Function(schema, name, f.ArgTypes()) != nil {
			c.Name = name
			return sqlerr.Newf(sqlerr.DuplicateFunction, "function %s already exists in schema %q", c.Signature(), schema)
		}
		// Texts name it.
		for _, r := range d.cat.Callers(f.ID) {
			return sqlerr.Newf(sqlerr.FeatureNotSupported, "cannot rename function %s because %s %s calls it, which is not supported yet",
				d.displayFunction(f), kindWord(r.Kind), d.displayName(r))
		}
		return d.noPendingCall("rename", f)
	}
	switch st.Action {
	case "rename":
		if err := taken(f.Schema, st.NewName); err != nil {
			return err
		}
		c.Name = st.NewName
	case "set_schema":
		if !d.cat.HasSchema(st.NewName) {
			return sqlerr.Newf(sqlerr.InvalidSchemaName, "schema %q does not exist", st.NewName)
		}
		if st.NewName == f.Schema {
			return nil
		}
		if err := d.mayCreate(st.NewName); err != nil {
			return err
		}
		if err := taken(st.NewName, f.Name); err != nil {
			return err
		}
		c.Schema = st.NewName
	case "owner":
		to, err := d.newOwner(st.NewName, f.Schema)
		if err != nil {
			return err
		}
		c.Owner, c.ACL = to, f.ACL.WithOwner(catalog.OwnerName(f.Owner), to)
	case "attributes":
		if err := d.attributes(&c, st.Attributes); err != nil {
			return err
		}
		if !sameMeaning(f, &c) {
			if err := d.noJobs("alter", f); err != nil {
				return err
			}
		}
	}
	return d.to().Change(d.ctx, func(cat *catalog.Catalog) { cat.PutFunction(&c) })
}

func (d *definer) commentFunction(st *ast.Comment) error {
	f, err := d.ownFunction(*st.Func, false)
	if err != nil {
		return err
	}
	c := *f
	c.Comment = ""
	if st.Text != nil {
		c.Comment = *st.Text
	}
	return d.to().Change(d.ctx, func(cat *catalog.Catalog) { cat.PutFunction(&c) })
}

// grantFunctions runs GRANT and REVOKE of EXECUTE.
func (d *definer) grantFunctions(st *ast.Grant, roles []string, privs catalog.Privileges) error {
	var fs []*catalog.Function
	for _, r := range st.Funcs {
		f, err := d.findFunction(r, false)
		if err != nil {
			return err
		}
		fs = append(fs, f)
	}
	for _, n := range st.Names {
		name := strings.Join(n.Parts, ".")
		if !d.cat.HasSchema(name) {
			return sqlerr.Newf(sqlerr.InvalidSchemaName, "schema %q does not exist", name)
		}
		for _, f := range d.cat.SortedFunctions() {
			if f.Schema == name {
				fs = append(fs, f)
			}
		}
	}
	changed := map[catalog.ID]catalog.ACL{}
	for _, f := range fs {
		acl := f.ACL
		if acl == nil {
			// Everybody may call a new function.
			owner := catalog.OwnerName(f.Owner)
			acl = withOwner(nil, owner, catalog.OnFunction).Grant(catalog.ACLItem{Grantor: owner, Privs: catalog.Execute})
		}
		acl, err := d.changeACL(st, roles, privs, f.Owner, acl, "function", f.Name, catalog.OnFunction)
		if err != nil {
			return err
		}
		changed[f.ID] = acl
	}
	return d.to().Change(d.ctx, func(c *catalog.Catalog) {
		for id, acl := range changed {
			x := *c.Functions[id]
			x.ACL = acl
			c.PutFunction(&x)
		}
	})
}

// authorizeFunction gives the check of the planner for calls of functions in SQL.
func (s *session) authorizeFunction(cat *catalog.Catalog) func(*catalog.Function, string) error {
	return func(f *catalog.Function, as string) error {
		refused := sqlerr.Newf(sqlerr.InsufficientPrivilege, "permission denied for function %s", f.Name)
		user := as
		if as == "" {
			user = s.user()
			if s.trusted(cat, user) {
				return nil
			}
			if gone(cat, user) {
				return refused
			}
		}
		if sc, ok := cat.Schemas[f.Schema]; ok {
			if has, _ := cat.AllowedOnSchema(user, sc, catalog.Usage); has == 0 {
				return sqlerr.Newf(sqlerr.InsufficientPrivilege, "permission denied for schema %s", f.Schema)
			}
		}
		if f.ACL == nil {
			return nil
		}
		if has, _ := cat.Allowed(user, f.Owner, f.ACL, catalog.Execute); has == 0 {
			return refused
		}
		return nil
	}
}
