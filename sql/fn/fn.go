// Package fn is the registry of functions, operators, casts and aggregates, with Postgres's
// overload resolution (manual, chapter 10 "Type Conversion"). It says what exists and how it is
// typed; package exec/expr has the kernels and exec/op the aggregates, both found by Func.ID.
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
	// Variadic: the last of Args repeats, as its element type.
	Variadic bool
	// Ret is the declared result type (AnyElement and AnyArray are resolved per call).
	Ret        types.Type
	Strict     bool // NULL if any argument is NULL
	Volatility Volatility
	// CanFail: a kernel may give an error for some non-NULL input.
	CanFail bool
}
