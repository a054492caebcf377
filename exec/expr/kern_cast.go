package expr

import (
	"math"
	"unicode/utf8"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// narrow checks the range of an integer type.
func narrow(k types.Kind) factory {
	lo, hi := intLimits(k)
	return unaryErr(func(a int64) (int64, error) {
		if a < lo || a > hi {
			return 0, rangeError(k)
		}
		return a, nil
	})
}

// floatToInt rounds half to even and checks the range.
func floatToInt(k types.Kind) factory {
	lo, hi := intLimits(k)
	return unaryErr(func(a float64) (int64, error) {
		r := math.RoundToEven(a)
		// float64(hi) of int8 is 2^63, which does not fit.
		if math.IsNaN(r) || r < float64(lo) || r > float64(hi) || k == types.Int8 && r == float64(hi) {
			return 0, rangeError(k)
		}
		return int64(r), nil
	})
}

func decimalToInt(k types.Kind) factory {
	return unaryErr(func(d types.Decimal) (int64, error) { return d.Int64(k) })
}

// float32Of rounds to float4.
func float32Of(a float64) (float64, error) {
	x := float64(float32(a))
	switch {
	case math.IsInf(x, 0) && !math.IsInf(a, 0):
		return 0, errOverflow
	case x == 0 && a != 0:
		return 0, errUnderflow
	}
	return x, nil
}

// oidOf takes the 32 bits of a negative int4.
func oidOf(a int64) int64 { return int64(uint32(a)) }

// toText casts to text by the text form of the value.
func toText(_ *compiler, call *scalar.Call, args []node) (node, error) {
	return &textOut{newCallNode(call, args)}, nil
}

type textOut struct{ callNode }

func (n *textOut) eval(st *state, sel []int32) (*vec.Vector, error) {
	if err := n.start(st, sel); err != nil {
		return nil, err
	}
	v, t, env := n.argv[0], n.args[0].info().typ, st.tenv()
	var buf []byte
	return &n.out, st.rows(sel, func(i int) error {
		if !n.out.Nulls.Get(i) {
			buf = types.AppendText(buf[:0], t, v.Datum(i), env)
			n.out.Str[i] = string(buf)
		}
		return nil
	})
}

// fromText casts from text by parsing.
func fromText(x *genCall, args []types.Datum) (types.Datum, error) {
	return types.ParseText(x.ret.WithoutMod(), args[0].S, x.st.tenv())
}

// castArray casts the elements with an evaluator of its own.
func castArray(explicit bool) factory {
	return func(c *compiler, call *scalar.Call, args []node) (node, error) {
		from, to := args[0].info().typ.ElemType(), call.T.ElemType()
		ctx := fn.Assignment
		if explicit {
			ctx = fn.Explicit
		}
		steps, err := fn.Default().ResolveCast(from, to, ctx)
		if err != nil {
			return nil, err
		}
		var e scalar.Expr = &scalar.Column{Node: scalar.Node{T: from}}
		for _, s := range steps {
			e = &scalar.Call{Node: scalar.Node{T: s.To, Pos: call.Pos}, Fn: s.Fn, Args: []scalar.Expr{e}}
		}
		ev, err := Compile(e, nil)
		if err != nil {
			return nil, err
		}
		ctxEval := &EvalContext{}
		return datums(func(x *genCall, a []types.Datum) (types.Datum, error) {
			arr, err := types.DecodeArray(a[0].S)
			if err != nil {
				return types.Null, err
			}
			out := types.ArrayValue{Elem: to.Kind, Dims: arr.Dims, Elems: make([]types.Datum, len(arr.Elems))}
			ctxEval.Env = x.st.env
			for i, d := range arr.Elems {
				if out.Elems[i], err = ev.EvalRow(ctxEval, []types.Datum{d}); err != nil {
					return types.Null, err
				}
			}
			return types.DStr(out.Encode()), nil
		})(c, call, args)
	}
}

// modCast enforces the modifier of the result type.
func modCast(explicit bool) factory {
	return datums(func(x *genCall, a []types.Datum) (types.Datum, error) {
		return types.ApplyTypmod(x.ret, a[0], explicit)
	})
}

// nameOf cuts an identifier to 63 bytes, at a character.
func nameOf(s string) string {
	if len(s) <= 63 {
		return s
	}
	n := 63
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func addCastKernels(t table) {
	ints := []types.Kind{types.Int2, types.Int4, types.Int8}
	cast := func(from, to types.Kind, f factory) { t.add("cast("+from.Name()+" as "+to.Name()+")", f) }
	for i, k := range ints {
		for _, to := range ints[:i] {
			cast(k, to, narrow(to))
		}
		for _, to := range []types.Kind{types.Float4, types.Float8} {
			single := to == types.Float4
			cast(k, to, unary(func(a int64) float64 {
				if single {
					return float64(float32(a))
				}
				return float64(a)
			}))
		}
		cast(k, types.Numeric, unary(func(a int64) types.Decimal { return types.NewDecimal(a, 0) }))
		cast(types.Float4, k, floatToInt(k))
		cast(types.Float8, k, floatToInt(k))
		cast(types.Numeric, k, decimalToInt(k))
	}
	for _, k := range []types.Kind{types.Oid, types.Regclass, types.Regtype, types.Regproc, types.Regnamespace, types.Regrole} {
		cast(types.Int2, k, unary(oidOf))
		cast(types.Int4, k, unary(oidOf))
		cast(types.Int8, k, unaryErr(func(a int64) (int64, error) {
			if a < 0 || a > math.MaxUint32 {
				return 0, sqlerr.Newf(sqlerr.NumericValueOutOfRange, "OID out of range")
			}
			return a, nil
		}))
		cast(k, types.Int4, unary(func(a int64) int64 { return int64(int32(a)) }))
	}
	cast(types.Bool, types.Int4, unary(func(b bool) int64 {
		if b {
			return 1
		}
		return 0
	}))
	cast(types.Int4, types.Bool, unary(func(a int64) bool { return a != 0 }))
	boolText := unary(func(b bool) string {
		if b {
			return "true"
		}
		return "false"
	})
	for _, k := range []types.Kind{types.Text, types.Varchar, types.Char} {
		cast(types.Bool, k, boolText)
		cast(k, types.QChar, unary(func(s string) string {
			if k == types.Char {
				s = trimBlanks(s)
			}
			return s[:min(len(s), 1)]
		}))
		cast(k, types.Name, unary(func(s string) string {
			if k == types.Char {
				s = trimBlanks(s)
			}
			return nameOf(s)
		}))
	}
	cast(types.QChar, types.Int4, unary(func(s string) int64 {
		if s == "" {
			return 0
		}
		return int64(int8(s[0]))
	}))
	cast(types.Int4, types.QChar, unaryErr(func(a int64) (string, error) {
		switch {
		case a < math.MinInt8 || a > math.MaxInt8:
			return "", sqlerr.Newf(sqlerr.NumericValueOutOfRange, `"char" out of range`)
		case a == 0:
			return "", nil
		}
		return string([]byte{byte(a)}), nil
	}))
	cast(types.Float8, types.Float4, unaryErr(float32Of))
	cast(types.Float8, types.Numeric, unary(types.FromFloat64))
	cast(types.Float4, types.Numeric, unary(func(a float64) types.Decimal { return types.FromFloat32(float32(a)) }))
	single := func(d types.Decimal) (float64, error) {
		f, err := d.ToFloat32()
		return float64(f), err
	}
	cast(types.Numeric, types.Float4, unaryErr(single))
	cast(types.Numeric, types.Float8, unaryErr(types.Decimal.ToFloat64))
	cast(types.Char, types.Text, unary(trimBlanks))
	cast(types.Char, types.Varchar, unary(trimBlanks))
	for _, f := range fn.Default().All() {
		if f.Kind != fn.Cast || t[f.ID] != nil {
			continue
		}
		switch {
		case f.ID == fn.CastArray || f.ID == fn.CastArrayExplicit:
			t.add(f.ID, castArray(f.ID == fn.CastArrayExplicit))
		case f.ID == "mod("+f.Name+")":
			t.add(f.ID, modCast(false))
		case f.ID == "mod("+f.Name+",explicit)":
			t.add(f.ID, modCast(true))
		case f.Ret.Kind == types.Text:
			t.add(f.ID, toText)
		case f.Args[0].Kind == types.Text || f.Args[0].Kind == types.Varchar:
			t.add(f.ID, datums(fromText))
		}
	}
}
