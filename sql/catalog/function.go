package catalog

import (
	"slices"
	"sort"

	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/types"
)

// Param is a parameter of a Function, or a column of its result.
type Param struct {
	Name string `json:",omitempty"`
	Type types.Type
	// Mode is "" for an input, else "out", "inout", "variadic" or "table".
	Mode string `json:",omitempty"`
	// Default is the text of the default value. HasDefault: there is one.
	Default    string `json:",omitempty"`
	HasDefault bool   `json:",omitempty"`
}

// Input tells whether a call gives a value for the parameter.
func (p Param) Input() bool { return p.Mode != "out" && p.Mode != "table" }

// Function is a function in SQL. A call of it is replaced by its body when the statement is planned.
type Function struct {
	ID                  ID
	Schema, Name, Owner string
	ACL                 ACL `json:",omitempty"`
	Params              []Param
	// Returns is the type of the result, or of one of its rows if SetOf; Record if it has several columns, which are the
	// parameters that are no inputs.
	Returns types.Type
	SetOf   bool `json:",omitempty"`
	// Body is a query as SQL text. Form is "" if it was written as a string, of which Source is the text, else "return" or "atomic".
	Body   string
	Source string `json:",omitempty"`
	Form   string `json:",omitempty"`
	// SearchPath is what the body's names are resolved with; nil: the caller's. SetPath: by SET search_path.
	SearchPath []string `json:",omitempty"`
	SetPath    bool     `json:",omitempty"`
	// Relations and Calls are what a body that is not a string read and called when it was made: its names go on to mean that.
	Relations []ID `json:",omitempty"`
	Calls     []ID `json:",omitempty"`
	// Volatility is "immutable", "stable" or "" for volatile.
	Volatility string `json:",omitempty"`
	Strict     bool   `json:",omitempty"`
	Definer    bool   `json:",omitempty"` // SECURITY DEFINER
	Leakproof  bool   `json:",omitempty"`
	// Parallel is "safe", "restricted" or "" for unsafe.
	Parallel string  `json:",omitempty"`
	Cost     float64 `json:",omitempty"`
	Rows     float64 `json:",omitempty"`
	Comment  string  `json:",omitempty"`
}

// OnFunction are all the privileges that there are on a function. Everybody has them on one without an ACL.
const OnFunction = Execute

// Inputs are the parameters that a call gives values for.
func (f *Function) Inputs() []Param {
	var ps []Param
	for _, p := range f.Params {
		if p.Input() {
			ps = append(ps, p)
		}
	}
	return ps
}

// Outputs are the columns of the result where they are declared: out, inout and table parameters.
func (f *Function) Outputs() []Param {
	var ps []Param
	for _, p := range f.Params {
		if p.Mode == "out" || p.Mode == "inout" || p.Mode == "table" {
			ps = append(ps, p)
		}
	}
	return ps
}

// ArgTypes are the types of the inputs, which with the name identify a function.
func (f *Function) ArgTypes() []types.Type {
	var ts []types.Type
	for _, p := range f.Inputs() {
		ts = append(ts, p.Type.WithoutMod())
	}
	return ts
}

// Signature is the function as messages name it: f(integer, text).
func (f *Function) Signature() string { return fn.Signature(f.Name, f.ArgTypes()) }

// Func describes the function to overload resolution; a default is marked by a text that is not NoDefault. Each call gives
// a new Func.
func (f *Function) Func() *fn.Func {
	x := &fn.Func{
		ID: "sql(" + f.Schema + "." + f.Signature() + ")", Name: f.Name, Kind: fn.Scalar, Ret: f.Returns.WithoutMod(), Strict: f.Strict,
		Volatility: fn.Volatile, Direct: -1, CanFail: true,
	}
	switch f.Volatility {
	case "immutable":
		x.Volatility = fn.Immutable
	case "stable":
		x.Volatility = fn.Stable
	}
	if f.SetOf {
		x.Kind = fn.Table
	}
	named, defaults := false, false
	for _, p := range f.Inputs() {
		x.Args = append(x.Args, p.Type.WithoutMod())
		x.ArgNames = append(x.ArgNames, p.Name)
		named = named || p.Name != ""
		d := fn.NoDefault
		if p.HasDefault {
			d, defaults = p.Default, true
		}
		x.Defaults = append(x.Defaults, d)
		x.Variadic = x.Variadic || p.Mode == "variadic"
	}
	if !named {
		x.ArgNames = nil
	}
	if !defaults {
		x.Defaults = nil
	}
	if f.Returns.Kind == types.Record {
		for _, o := range f.Outputs() {
			x.Outs = append(x.Outs, fn.Out{Name: o.Name, Type: o.Type})
		}
	}
	return x
}

// FunctionsNamed lists the functions of a name in a schema, by id.
func (c *Catalog) FunctionsNamed(schema, name string) []*Function {
	var fs []*Function
	for _, f := range c.Functions {
		if f.Name == name && f.Schema == schema {
			fs = append(fs, f)
		}
	}
	sort.Slice(fs, func(i, j int) bool { return fs[i].ID < fs[j].ID })
	return fs
}

// Function finds a function by its name and the types of its inputs, nil if there is none.
func (c *Catalog) Function(schema, name string, args []types.Type) *Function {
	for _, f := range c.FunctionsNamed(schema, name) {
		if slices.Equal(f.ArgTypes(), args) {
			return f
		}
	}
	return nil
}

// SortedFunctions lists all functions by id.
func (c *Catalog) SortedFunctions() []*Function {
	fs := make([]*Function, 0, len(c.Functions))
	for _, f := range c.Functions {
		fs = append(fs, f)
	}
	sort.Slice(fs, func(i, j int) bool { return fs[i].ID < fs[j].ID })
	return fs
}

// PutFunction adds or replaces a function.
func (c *Catalog) PutFunction(f *Function) {
	if c.Functions == nil {
		c.Functions = map[ID]*Function{}
	}
	c.Functions[f.ID] = f
}

// Callers lists the relations whose query calls a function, directly or through other functions, by id.
func (c *Catalog) Callers(id ID) []*Relation {
	var rs []*Relation
	for _, r := range c.Sorted() {
		if slices.Contains(r.Functions, id) {
			rs = append(rs, r)
		}
	}
	return rs
}
