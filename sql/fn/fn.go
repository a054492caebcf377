// Package fn is the registry of functions, operators, casts and aggregates, with Postgres's
// overload resolution (manual, chapter 10 "Type Conversion"). It says what exists and how it is
// typed; package exec/expr has the kernels and exec/op the aggregates, both found by Func.ID.
//
// To add a function: one line in the defs file of its section (defs_math.go and so on; parseDefs
// explains the notation), a kernel under the same ID in exec/expr, and lines in its testdata.
package fn

import "github.com/weirdb/weir/sql/types"

// Kind says what a Func is.
type Kind uint8

// The kinds of Func.
const (
	Scalar Kind = iota
	Operator
	Cast
	Aggregate
	Window
	Table // set-returning
)

// Volatility is Postgres's promise about a function's result.
type Volatility uint8

// The volatilities.
const (
	Immutable Volatility = iota
	Stable
	Volatile
)

// Func is one overload. Funcs are made once and never change; pointers may be compared.
type Func struct {
	// ID is unique, "name(argtypes)" for functions and operators ("+(int4,int4)"),
	// "cast(int4 as text)" for casts.
	ID   string
	Name string
	Kind Kind
	// Args are the declared argument types; a prefix operator has one.
	Args []types.Type
	// Variadic: the last of Args repeats, as its element type (Any repeats as itself).
	Variadic bool
	// Ret is the declared result type (AnyElement and AnyArray are resolved per call). For a
	// Table function it is the type of the only column, or Record if Outs has several.
	Ret        types.Type
	Strict     bool // NULL if any argument is NULL
	Volatility Volatility
	// CanFail: a kernel may give an error for some non-NULL input.
	CanFail bool
	// Compatible: the polymorphic types of the signature are Postgres's anycompatible family: the
	// arguments are cast to their common type instead of having to agree.
	Compatible bool
	// NonArray: AnyElement does not stand for arrays (Postgres's anynonarray).
	NonArray bool
	// Direct is the number of direct arguments of an ordered-set aggregate (the others stand in
	// WITHIN GROUP), and -1 for everything else.
	Direct int
	// Hypothetical: the aggregate is a hypothetical-set one: as many direct arguments as ordering columns,
	// of the same types. Direct is 0.
	Hypothetical bool
	// ArgNames are the names for named notation (name => value), nil if the arguments have none.
	ArgNames []string
	// Defaults are the default values of arguments as text, NoDefault where there is none; nil if
	// no argument has one.
	Defaults []string
	// Spread is the form of a function of variadic "any" for a call with VARIADIC, whose last
	// argument is an array; nil for all others. It is not found by name.
	Spread *Func
	// Impl is the implementation of a function that package exec/expr has no kernel for, such as a
	// catalog function of a server: it is called for each row. Nil for everything else.
	Impl func(args []types.Datum) (types.Datum, error)
	// Catalog: the function asks the session's catalog. Package exec/expr has no kernel for it; its
	// calls go to exec.Env.Objects.
	Catalog bool
	// Outs are the columns of a Table function that has named ones, else nil.
	Outs []Out
}

// NoDefault marks an argument without default value in Func.Defaults.
const NoDefault = "\x00"

// Out is one column of a set-returning function.
type Out struct {
	Name string
	Type types.Type
}

// DirectArgs is how many of the n arguments of a call of an ordered-set aggregate are direct.
func (f *Func) DirectArgs(n int) int {
	if f.Hypothetical {
		return n / 2
	}
	return f.Direct
}
