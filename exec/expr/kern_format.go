package expr

import (
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
)

// compileDateFormat is CompileDateFormat in the form that a cache wants.
func compileDateFormat(s string) (types.DateFormat, error) { return types.CompileDateFormat(s), nil }

// template makes a kernel of (value, template) with a cache of compiled templates.
func template[F any](compile func(string) (F, error), f func(st *state, tmpl F, d types.Datum) (types.Datum, error)) factory {
	return func(c *compiler, call *scalar.Call, args []node) (node, error) {
		cache := newCache(compile)
		return datums(func(x *genCall, a []types.Datum) (types.Datum, error) {
			tmpl, err := cache.get(a[1].S)
			if err != nil {
				return types.Null, err
			}
			return f(x.st, tmpl, a[0])
		})(c, call, args)
	}
}

// textDatum makes a Datum of what an Append function of package types gave.
func textDatum(b []byte, err error) (types.Datum, error) {
	if err != nil {
		return types.Null, err
	}
	return types.DStr(string(b)), nil
}

func addFormatKernels(t table) {
	// The date forms give NULL for the empty template and for infinite values.
	type stampFunc = func(st *state, tmpl types.DateFormat, d types.Datum) (types.Datum, error)
	finite := func(f stampFunc) stampFunc {
		return func(st *state, tmpl types.DateFormat, d types.Datum) (types.Datum, error) {
			if tmpl.Empty() || types.IsInfinite(d.I) {
				return types.Null, nil
			}
			return f(st, tmpl, d)
		}
	}
	t.add("to_char(timestamp,text)", stampTexts(template(compileDateFormat, finite(func(_ *state, tmpl types.DateFormat, d types.Datum) (types.Datum, error) {
		return textDatum(tmpl.AppendTimestamp(nil, d.I))
	}))))
	t.add("to_char(timestamptz,text)", template(compileDateFormat, finite(func(st *state, tmpl types.DateFormat, d types.Datum) (types.Datum, error) {
		return textDatum(tmpl.AppendTimestamptz(nil, d.I, st.location()))
	})))
	t.add("to_char(interval,text)", template(compileDateFormat, func(_ *state, tmpl types.DateFormat, d types.Datum) (types.Datum, error) {
		if tmpl.Empty() {
			return types.Null, nil
		}
		return textDatum(tmpl.AppendInterval(nil, d.Span))
	}))
	number := func(f func(tmpl *types.NumberFormat, d types.Datum) ([]byte, error)) factory {
		return template(types.CompileNumberFormat, func(_ *state, tmpl *types.NumberFormat, d types.Datum) (types.Datum, error) {
			if tmpl.Empty() {
				return types.DStr(""), nil
			}
			return textDatum(f(tmpl, d))
		})
	}
	ints := number(func(tmpl *types.NumberFormat, d types.Datum) ([]byte, error) {
		return tmpl.AppendDecimal(nil, types.NewDecimal(d.I, 0))
	})
	t.add("to_char(int4,text)", ints)
	t.add("to_char(int8,text)", ints)
	t.add("to_char(numeric,text)", number(func(tmpl *types.NumberFormat, d types.Datum) ([]byte, error) {
		return tmpl.AppendDecimal(nil, d.Dec)
	}))
	t.add("to_char(float4,text)", number(func(tmpl *types.NumberFormat, d types.Datum) ([]byte, error) {
		return tmpl.AppendFloat(nil, d.F, 32)
	}))
	t.add("to_char(float8,text)", number(func(tmpl *types.NumberFormat, d types.Datum) ([]byte, error) {
		return tmpl.AppendFloat(nil, d.F, 64)
	}))
	t.add("to_number(text,text)", template(types.CompileNumberFormat, func(_ *state, tmpl *types.NumberFormat, d types.Datum) (types.Datum, error) {
		if tmpl.Empty() {
			return types.Null, nil
		}
		n, err := tmpl.Parse(d.S)
		return types.DDec(n), err
	}))
	t.add("to_date(text,text)", template(compileDateFormat, func(_ *state, tmpl types.DateFormat, d types.Datum) (types.Datum, error) {
		n, err := tmpl.ParseDate(d.S)
		return types.DInt(n), err
	}))
	t.add("to_timestamp(text,text)", template(compileDateFormat, func(st *state, tmpl types.DateFormat, d types.Datum) (types.Datum, error) {
		n, err := tmpl.ParseTimestamptz(d.S, st.location())
		return types.DInt(n), err
	}))
}

// stampText is to_char of a timestamp with a constant template. Many timestamps have one text, if the template has days or minutes,
// say: each text is made once as long as it is among the last ones, and shared.
type stampText struct {
	callNode
	tmpl types.DateFormat
	unit int64
	made [keptStampTexts]struct {
		// from is the first timestamp with the text, of which there are unit; the zero value of this type has none.
		from int64
		text string
		ok   bool
	}
}

// keptStampTexts is how many texts are kept.
const keptStampTexts = 16

// stampTexts makes stampText where it can be, and what other makes elsewhere.
func stampTexts(other factory) factory {
	return func(c *compiler, call *scalar.Call, args []node) (node, error) {
		con := args[1].info().con
		if con == nil || !con.Valid {
			return other(c, call, args)
		}
		tmpl := types.CompileDateFormat(con.S)
		unit := tmpl.Unit()
		if tmpl.Empty() || unit == 1 {
			return other(c, call, args)
		}
		return &stampText{callNode: newCallNode(call, args), tmpl: tmpl, unit: unit}, nil
	}
}

func (n *stampText) eval(st *state, sel []int32) (*vec.Vector, error) {
	if err := n.start(st, sel); err != nil {
		return nil, err
	}
	in, out := n.argv[0].Int, n.out.Str
	last := &n.made[0]
	return &n.out, st.rows(sel, func(i int) error {
		t := in[i]
		if last.ok && uint64(t-last.from) < uint64(n.unit) {
			out[i] = last.text // what stands in rows that are NULL is nobody's business
			return nil
		}
		switch {
		case n.out.Nulls.Get(i):
			return nil
		case types.IsInfinite(t):
			n.out.SetNull(i)
			return nil
		}
		k := t / n.unit
		if t%n.unit < 0 {
			k--
		}
		last = &n.made[uint64(k)%keptStampTexts]
		if !last.ok || last.from != k*n.unit {
			text, err := n.tmpl.AppendTimestamp(nil, t)
			if err != nil {
				return st.fail(&n.out, i, err)
			}
			last.from, last.text, last.ok = k*n.unit, string(text), true
		}
		out[i] = last.text
		return nil
	})
}
