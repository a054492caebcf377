package expr

import (
	"slices"
	"sync"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
)

// factory makes the node of a call whose arguments are compiled.
type factory func(c *compiler, call *scalar.Call, args []node) (node, error)

// table maps IDs to kernels.
type table map[string]factory

// builtin holds the kernels, made when first needed and never changed.
var builtin struct {
	once    sync.Once
	kernels table
}

// kernels gives the kernels of every function of the default registry.
func kernels() table {
	builtin.once.Do(func() { builtin.kernels = makeKernels() })
	return builtin.kernels
}

func makeKernels() table {
	t := table{}
	for _, add := range []func(table){
		addIntKernels, addFloatKernels, addNumericKernels, addCompareKernels, addDateKernels,
		addJSONKernels, addJSONTextKernels, addJSONPathKernels, addArrayKernels, addCastKernels, addMiscKernels, addFormatKernels,
		addTextKernels, addBytesKernels, addLikeKernels, addRegexKernels, addEnumKernels,
	} {
		add(t)
	}
	return t
}

// add enters a kernel; two for one ID are a broken invariant.
func (t table) add(id string, f factory) {
	if t[id] != nil {
		panic("expr: two kernels for " + id)
	}
	t[id] = f
}

// value is any of the types of which a vector can hold values.
type value interface {
	bool | int64 | float64 | string | types.Decimal | types.Span
}

// values gives the slice of v that holds values of type T. T must fit the vector's type.
func values[T value](v *vec.Vector) []T {
	var z T
	switch any(z).(type) {
	case bool:
		return *any(&v.Bool).(*[]T)
	case int64:
		return *any(&v.Int).(*[]T)
	case float64:
		return *any(&v.Float).(*[]T)
	case string:
		return *any(&v.Str).(*[]T)
	case types.Decimal:
		return *any(&v.Dec).(*[]T)
	default:
		return *any(&v.Span).(*[]T)
	}
}

// callNode is the common part of nodes of calls.
type callNode struct {
	nodeInfo
	fn   *fn.Func
	args []node
	out  vec.Vector
	argv []*vec.Vector
}

func newCallNode(call *scalar.Call, args []node) callNode {
	n := callNode{fn: call.Fn, args: args, argv: make([]*vec.Vector, len(args))}
	n.typ = call.T
	n.out.Type = call.T
	n.canFail = call.Fn.CanFail
	n.lazy = n.canFail || call.Fn.Volatility == fn.Volatile
	for _, a := range args {
		n.canFail = n.canFail || a.info().canFail
		n.lazy = n.lazy || a.info().lazy
	}
	return n
}

// start evaluates the arguments and makes the result ready to be written: its length is that of
// the chunk, and for strict functions its NULLs are those of the arguments.
func (n *callNode) start(st *state, sel []int32) error {
	for i, a := range n.args {
		v, err := a.eval(st, sel)
		if err != nil {
			return err
		}
		n.argv[i] = v
	}
	n.out.Resize(st.n)
	if n.fn.Strict {
		unionNulls(&n.out, n.argv...)
	}
	return nil
}

// un0 is a function of no arguments and the environment.
type un0[R value] struct {
	callNode
	f func(st *state) (R, error)
}

func nullary[R value](f func(st *state) (R, error)) factory {
	return func(_ *compiler, call *scalar.Call, args []node) (node, error) {
		return &un0[R]{newCallNode(call, args), f}, nil
	}
}

func (n *un0[R]) eval(st *state, sel []int32) (*vec.Vector, error) {
	if err := n.start(st, sel); err != nil {
		return nil, err
	}
	out := values[R](&n.out)
	return &n.out, st.rows(sel, func(i int) error {
		r, err := n.f(st)
		if err != nil {
			return st.fail(&n.out, i, err)
		}
		out[i] = r
		return nil
	})
}

// un1 is a strict function of one argument, called for each selected row that is not NULL.
type un1[A, R value] struct {
	callNode
	f func(st *state, a A) (R, error)
}

func unary[A, R value](f func(a A) R) factory {
	return unaryEnv(func(_ *state, a A) (R, error) { return f(a), nil })
}

func unaryErr[A, R value](f func(a A) (R, error)) factory {
	return unaryEnv(func(_ *state, a A) (R, error) { return f(a) })
}

func unaryEnv[A, R value](f func(st *state, a A) (R, error)) factory {
	return func(_ *compiler, call *scalar.Call, args []node) (node, error) {
		return &un1[A, R]{newCallNode(call, args), f}, nil
	}
}

func (n *un1[A, R]) eval(st *state, sel []int32) (*vec.Vector, error) {
	if err := n.start(st, sel); err != nil {
		return nil, err
	}
	a, out := values[A](n.argv[0]), values[R](&n.out)
	return &n.out, st.rows(sel, func(i int) error {
		if n.out.Nulls.Get(i) {
			return nil
		}
		r, err := n.f(st, a[i])
		if err != nil {
			return st.fail(&n.out, i, err)
		}
		out[i] = r
		return nil
	})
}

// un2 is a strict function of two arguments.
type un2[A, B, R value] struct {
	callNode
	f func(st *state, a A, b B) (R, error)
}

func binary[A, B, R value](f func(a A, b B) R) factory {
	return binaryEnv(func(_ *state, a A, b B) (R, error) { return f(a, b), nil })
}

func binaryErr[A, B, R value](f func(a A, b B) (R, error)) factory {
	return binaryEnv(func(_ *state, a A, b B) (R, error) { return f(a, b) })
}

func binaryEnv[A, B, R value](f func(st *state, a A, b B) (R, error)) factory {
	return func(_ *compiler, call *scalar.Call, args []node) (node, error) {
		return &un2[A, B, R]{newCallNode(call, args), f}, nil
	}
}

func (n *un2[A, B, R]) eval(st *state, sel []int32) (*vec.Vector, error) {
	if err := n.start(st, sel); err != nil {
		return nil, err
	}
	a, b, out := values[A](n.argv[0]), values[B](n.argv[1]), values[R](&n.out)
	return &n.out, st.rows(sel, func(i int) error {
		if n.out.Nulls.Get(i) {
			return nil
		}
		r, err := n.f(st, a[i], b[i])
		if err != nil {
			return st.fail(&n.out, i, err)
		}
		out[i] = r
		return nil
	})
}

// un3 is a strict function of three arguments.
type un3[A, B, C, R value] struct {
	callNode
	f func(st *state, a A, b B, c C) (R, error)
}

func ternary[A, B, C, R value](f func(a A, b B, c C) R) factory {
	return ternaryEnv(func(_ *state, a A, b B, c C) (R, error) { return f(a, b, c), nil })
}

func ternaryErr[A, B, C, R value](f func(a A, b B, c C) (R, error)) factory {
	return ternaryEnv(func(_ *state, a A, b B, c C) (R, error) { return f(a, b, c) })
}

func ternaryEnv[A, B, C, R value](f func(st *state, a A, b B, c C) (R, error)) factory {
	return func(_ *compiler, call *scalar.Call, args []node) (node, error) {
		return &un3[A, B, C, R]{newCallNode(call, args), f}, nil
	}
}

func (n *un3[A, B, C, R]) eval(st *state, sel []int32) (*vec.Vector, error) {
	if err := n.start(st, sel); err != nil {
		return nil, err
	}
	a, b, c := values[A](n.argv[0]), values[B](n.argv[1]), values[C](n.argv[2])
	out := values[R](&n.out)
	return &n.out, st.rows(sel, func(i int) error {
		if n.out.Nulls.Get(i) {
			return nil
		}
		r, err := n.f(st, a[i], b[i], c[i])
		if err != nil {
			return st.fail(&n.out, i, err)
		}
		out[i] = r
		return nil
	})
}

// general is a function of any arguments by way of Datums, for what has no need to be fast. If
// the function is strict it is not called with NULLs.
type general struct {
	callNode
	f   func(x *genCall, args []types.Datum) (types.Datum, error)
	buf []types.Datum
	x   genCall
}

// genCall is what a general kernel knows of its call.
type genCall struct {
	st *state
	// types are those of the arguments, ret that of the result.
	types []types.Type
	ret   types.Type
	fn    *fn.Func
}

func datums(f func(x *genCall, args []types.Datum) (types.Datum, error)) factory {
	return func(_ *compiler, call *scalar.Call, args []node) (node, error) {
		n := &general{callNode: newCallNode(call, args), f: f, buf: make([]types.Datum, len(args))}
		n.x = genCall{ret: call.T, fn: call.Fn}
		for _, a := range args {
			n.x.types = append(n.x.types, a.info().typ)
		}
		return n, nil
	}
}

// spread makes the kernel of a function of variadic "any" from f, which takes the arguments one by
// one: the elements of the array in the last place are the rest of them. A NULL array gives NULL.
func spread(f func(x *genCall, args []types.Datum) (types.Datum, error)) factory {
	return datums(func(x *genCall, args []types.Datum) (types.Datum, error) {
		last := len(args) - 1
		if !args[last].Valid {
			return types.Null, nil
		}
		arr, err := types.DecodeArray(args[last].S)
		if err != nil {
			return types.Null, err
		}
		y := *x
		y.types = slices.Clone(x.types[:last])
		for range arr.Elems {
			y.types = append(y.types, types.T(arr.Elem))
		}
		return f(&y, append(slices.Clone(args[:last]), arr.Elems...))
	})
}

// variadic enters a function of variadic "any" and its form for arrays. prefix has the arguments before it,
// each with a comma.
func (t table) variadic(name, prefix string, f func(x *genCall, args []types.Datum) (types.Datum, error)) {
	t.add(name+"("+prefix+"variadic any)", datums(f))
	t.add(name+"("+prefix+"variadic anyarray)", spread(f))
}

func (n *general) eval(st *state, sel []int32) (*vec.Vector, error) {
	if err := n.start(st, sel); err != nil {
		return nil, err
	}
	n.x.st = st
	return &n.out, st.rows(sel, func(i int) error {
		if n.fn.Strict && n.out.Nulls.Get(i) {
			return nil
		}
		for k, v := range n.argv {
			n.buf[k] = v.Datum(i)
		}
		d, err := n.f(&n.x, n.buf)
		if err != nil {
			return st.fail(&n.out, i, err)
		}
		put(&n.out, i, d)
		return nil
	})
}

// put sets row i of v.
func put(v *vec.Vector, i int, d types.Datum) {
	if !d.Valid {
		v.SetNull(i)
		return
	}
	switch v.Type.Phys() {
	case types.PhysBool:
		v.Bool[i] = d.I != 0
	case types.PhysInt:
		v.Int[i] = d.I
	case types.PhysFloat:
		v.Float[i] = d.F
	case types.PhysStr:
		v.Str[i] = d.S
	case types.PhysDec:
		v.Dec[i] = d.Dec
	case types.PhysInterval:
		v.Span[i] = d.Span
	}
}
