package keycodec

import (
	"bytes"
	"math"
	"math/rand"
	"strings"
	"testing"

	"github.com/weirdb/weir/sql/types"
)

func dec(t testing.TB, s string) types.Decimal {
	t.Helper()
	d, err := types.ParseDecimal(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func json(t testing.TB, s string) string {
	t.Helper()
	s, err := types.ParseJSON(s)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var testTypes = []types.Type{
	types.T(types.Bool), types.T(types.Int2), types.T(types.Int4), types.T(types.Int8), types.T(types.Float4), types.T(types.Float8),
	types.T(types.Numeric), types.T(types.Text), types.T(types.Varchar), types.T(types.Char), types.T(types.Bytea),
	types.T(types.Date), types.T(types.Time), types.T(types.Timestamp), types.T(types.Timestamptz), types.T(types.Interval),
	types.T(types.UUID), types.T(types.Jsonb), types.T(types.Oid), types.T(types.Name),
	types.ArrayOf(types.Int4), types.ArrayOf(types.Text), types.ArrayOf(types.Numeric), types.T(types.Record),
}

// gen makes random values, the difficult ones often.
type gen struct {
	t testing.TB
	*rand.Rand
}

func pick[T any](g gen, vs ...T) T { return vs[g.Intn(len(vs))] }

func (g gen) int() int64 {
	return pick(g, 0, 1, -1, math.MaxInt64, math.MinInt64, 255, 256, -256, int64(g.Intn(5)), int64(g.Uint64()))
}

func (g gen) float() float64 {
	return pick(g, 0, math.Copysign(0, -1), math.NaN(), math.Float64frombits(0xfff8000000000123), math.Inf(1), math.Inf(-1),
		math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, g.NormFloat64(), float64(g.Intn(4)), math.Float64frombits(g.Uint64()))
}

func (g gen) decimal() types.Decimal {
	switch g.Intn(8) {
	case 0:
		return dec(g.t, pick(g, "NaN", "Infinity", "-Infinity", "0", "0.000", "1.0", "1.00", "1", "-1.0", "100", "1e20", "-1e-20",
			"9223372036854775807", "-9223372036854775808", "18446744073709551616", "0.1", "0.10", "9.99", "99.9", "1e131071", "1e-16383"))
	case 1:
		return types.NewDecimal(g.int(), g.Intn(20))
	case 2: // many digits
		var b strings.Builder
		if g.Intn(2) == 0 {
			b.WriteByte('-')
		}
		for range 1 + g.Intn(40) {
			b.WriteByte(pick(g, '0', byte('0'+g.Intn(10))))
		}
		if g.Intn(2) == 0 {
			b.WriteByte('.')
			for range 1 + g.Intn(40) {
				b.WriteByte(pick(g, '0', byte('0'+g.Intn(10))))
			}
		}
		return dec(g.t, b.String())
	}
	return types.NewDecimal(int64(g.Intn(2001)-1000), g.Intn(5))
}

func (g gen) str(alphabet string) string {
	b := make([]byte, g.Intn(5))
	for i := range b {
		b[i] = alphabet[g.Intn(len(alphabet))]
	}
	return string(b)
}

func (g gen) span() types.Span {
	small := func() int32 { return pick(g, 0, 1, -1, int32(g.Intn(70)-35)) }
	return types.Span{
		Months: pick(g, small(), math.MaxInt32, math.MinInt32),
		Days:   pick(g, small(), math.MaxInt32, math.MinInt32),
		Micros: pick(g, 0, 24*3600*1e6, -24*3600*1e6, 1, -1, math.MaxInt64, math.MinInt64, int64(g.Intn(1000))*3600*1e6),
	}
}

func (g gen) jsonText(depth int) string {
	n := 8
	if depth > 3 {
		n = 6
	}
	switch g.Intn(n) {
	case 0:
		return "null"
	case 1:
		return pick(g, "true", "false")
	case 2, 3:
		d := g.decimal()
		for !d.IsFinite() {
			d = g.decimal()
		}
		return d.String()
	case 4, 5:
		return string(types.AppendJSONString(nil, strings.ReplaceAll(g.str("ab\"\\\n \x01"), "\x00", "")))
	case 6:
		var els []string
		for range g.Intn(4) {
			els = append(els, g.jsonText(depth+1))
		}
		return "[" + strings.Join(els, ",") + "]"
	}
	var els []string
	for range g.Intn(4) {
		els = append(els, string(types.AppendJSONString(nil, g.str("ab\"")))+":"+g.jsonText(depth+1))
	}
	return "{" + strings.Join(els, ",") + "}"
}

func (g gen) value(t types.Type, depth int) types.Datum {
	if g.Intn(8) == 0 {
		return types.Null
	}
	switch t.Phys() {
	case types.PhysBool:
		return types.DBool(g.Intn(2) == 0)
	case types.PhysInt:
		return types.DInt(g.int())
	case types.PhysFloat:
		return types.DFloat(g.float())
	case types.PhysDec:
		return types.DDec(g.decimal())
	case types.PhysInterval:
		return types.DSpan(g.span())
	}
	switch t.Kind {
	case types.Char:
		return types.DStr(g.str("ab ") + strings.Repeat(" ", g.Intn(3)))
	case types.Jsonb:
		return types.DStr(json(g.t, g.jsonText(0)))
	case types.Array:
		var els []types.Datum
		for range g.Intn(4) {
			els = append(els, g.value(types.T(t.Elem), depth+1))
		}
		if len(els) == 2 && g.Intn(2) == 0 {
			return types.DStr(types.ArrayValue{Elem: t.Elem, Elems: els, Dims: pick(g,
				[]types.Dim{{Len: 2, Lower: -1}}, []types.Dim{{Len: 1, Lower: 1}, {Len: 2, Lower: 1}}, []types.Dim{{Len: 2, Lower: 1}, {Len: 1, Lower: 1}})}.Encode())
		}
		return types.DStr(types.MakeArray(t.Elem, els))
	case types.Record:
		var ts []types.Type
		var vals []types.Datum
		for i := range g.Intn(3) {
			ts = append(ts, []types.Type{types.T(types.Int4), types.T(types.Text)}[i])
			vals = append(vals, g.value(ts[i], depth+1))
		}
		return types.DStr(types.EncodeRecord(ts, vals))
	case types.Text, types.Varchar, types.Name:
		return types.DStr(g.str("ab\x01\x7f"))
	}
	return types.DStr(g.str("a\x00\x01\xfe\xff"))
}

// compare is SQL's order with the given placement of NULLs.
func compare(t types.Type, a, b types.Datum, desc, nullsFirst bool) int {
	switch {
	case !a.Valid && !b.Valid:
		return 0
	case !a.Valid || !b.Valid:
		if a.Valid != nullsFirst {
			return -1
		}
		return 1
	}
	c := types.Compare(t, a, b)
	if desc {
		c = -c
	}
	return c
}

// TestOrder checks that keys of several columns sort like SQL sorts the rows, that keys are equal
// exactly when the rows are, and that decoding gives equal values.
func TestOrder(t *testing.T) {
	for seed := range int64(40) {
		g := gen{t, rand.New(rand.NewSource(seed))}
		for _, ty := range testTypes {
			cols := []types.Type{ty}
			for range g.Intn(3) {
				cols = append(cols, pick(g, testTypes...))
			}
			desc, first := make([]bool, len(cols)), make([]bool, len(cols))
			for i := range cols {
				desc[i], first[i] = g.Intn(2) == 0, g.Intn(2) == 0
			}
			rows := make([][]types.Datum, 12)
			keys := make([][]byte, len(rows))
			for r := range rows {
				for i, c := range cols {
					d := g.value(c, 0)
					if r > 0 && g.Intn(3) == 0 {
						d = rows[g.Intn(r)][i] // make equal prefixes likely
					}
					rows[r] = append(rows[r], d)
					keys[r] = AppendDatum(keys[r], c, d, desc[i], first[i])
				}
			}
			for a := range rows {
				for b := range rows {
					want := 0
					for i := 0; i < len(cols) && want == 0; i++ {
						want = compare(cols[i], rows[a][i], rows[b][i], desc[i], first[i])
					}
					if got := bytes.Compare(keys[a], keys[b]); got != want {
						t.Fatalf("seed %d: types %v desc %v nulls first %v\n%+v\n%+v\nkeys %x\n     %x\nkeys compare %d, values %d",
							seed, cols, desc, first, rows[a], rows[b], keys[a], keys[b], got, want)
					}
				}
				rest := keys[a]
				for i, c := range cols {
					var d types.Datum
					var err error
					if d, rest, err = DecodeDatum(rest, c, desc[i]); err != nil {
						t.Fatalf("seed %d: type %v: decode %+v: %v", seed, c, rows[a][i], err)
					}
					if compare(c, d, rows[a][i], false, false) != 0 {
						t.Fatalf("seed %d: type %v: decoded %+v, want %+v", seed, c, d, rows[a][i])
					}
				}
				if len(rest) != 0 {
					t.Fatalf("seed %d: %d bytes left", seed, len(rest))
				}
			}
		}
	}
}

// TestEqualKeys lists values that SQL calls equal.
func TestEqualKeys(t *testing.T) {
	num, chr, jsn, flt, ivl := types.T(types.Numeric), types.T(types.Char), types.T(types.Jsonb), types.T(types.Float8), types.T(types.Interval)
	for _, c := range []struct {
		t    types.Type
		a, b types.Datum
	}{
		{num, types.DDec(dec(t, "1.0")), types.DDec(dec(t, "1.00"))},
		{num, types.DDec(dec(t, "0")), types.DDec(dec(t, "-0.000"))},
		{num, types.DDec(dec(t, "100")), types.DDec(dec(t, "100.00000000000000000000000000"))},
		{num, types.DDec(dec(t, "12345678901234567890.0")), types.DDec(dec(t, "12345678901234567890"))},
		{flt, types.DFloat(0), types.DFloat(math.Copysign(0, -1))},
		{flt, types.DFloat(math.NaN()), types.DFloat(math.Float64frombits(0xfff8000000000123))},
		{chr, types.DStr("a"), types.DStr("a   ")},
		{jsn, types.DStr(json(t, `{"a": 1.0, "b": [2]}`)), types.DStr(json(t, `{"b":[2.00],"a":1}`))},
		{ivl, types.DSpan(types.Span{Days: 1}), types.DSpan(types.Span{Micros: 24 * 3600 * 1e6})},
		{ivl, types.DSpan(types.Span{Months: 1}), types.DSpan(types.Span{Days: 31, Micros: -24 * 3600 * 1e6})},
	} {
		a, b := AppendDatum(nil, c.t, c.a, false, false), AppendDatum(nil, c.t, c.b, false, false)
		if !bytes.Equal(a, b) {
			t.Errorf("type %v: %+v and %+v are equal, their keys are not: %x %x", c.t, c.a, c.b, a, b)
		}
	}
}

func TestPrefixEnd(t *testing.T) {
	for _, c := range []struct{ prefix, want string }{
		{"a", "b"}, {"a\xff", "b"}, {"\xff\xff", ""}, {"", ""}, {"a\x00", "a\x01"},
	} {
		if got := string(PrefixEnd([]byte(c.prefix))); got != c.want {
			t.Errorf("PrefixEnd(%q) = %q, want %q", c.prefix, got, c.want)
		}
	}
}

// FuzzDecode checks that no bytes make a decoder panic, and that what decodes encodes to a key
// that decodes to an equal value.
func FuzzDecode(f *testing.F) {
	g := gen{f, rand.New(rand.NewSource(1))}
	for i, ty := range testTypes {
		for range 3 {
			f.Add(uint8(i), false, AppendDatum(nil, ty, g.value(ty, 0), false, false))
			f.Add(uint8(i), true, AppendDatum(nil, ty, g.value(ty, 0), true, false))
		}
	}
	f.Fuzz(func(t *testing.T, i uint8, desc bool, b []byte) {
		ty := testTypes[int(i)%len(testTypes)]
		d, rest, err := DecodeDatum(b, ty, desc)
		if err != nil {
			return
		}
		if len(rest) >= len(b) {
			t.Fatal("nothing was read")
		}
		k := AppendDatum(nil, ty, d, desc, false)
		e, rest, err := DecodeDatum(k, ty, desc)
		if err != nil || len(rest) != 0 {
			t.Fatalf("type %v: %+v encodes to %x: %v", ty, d, k, err)
		}
		if k2 := AppendDatum(nil, ty, e, desc, false); !bytes.Equal(k, k2) {
			t.Fatalf("type %v: %x decodes to %+v, which encodes to %x", ty, k, e, k2)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	vals := map[string]func(dst []byte) []byte{
		"int": func(dst []byte) []byte { return AppendInt(dst, 12345678, false) },
		"string": func(dst []byte) []byte {
			return AppendString(dst, "https://www.example.com/some/item.htm?query=1", false)
		},
		"decimal": func(dst []byte) []byte { return AppendDecimal(dst, types.NewDecimal(1234567, 2), false) },
		"span":    func(dst []byte) []byte { return AppendSpan(dst, types.Span{Days: 3}, false) },
	}
	for _, name := range []string{"int", "string", "decimal", "span"} {
		b.Run(name, func(b *testing.B) {
			buf := make([]byte, 0, 128)
			b.ReportAllocs()
			for range b.N {
				buf = vals[name](buf[:0])
			}
		})
	}
	b.Run("decode decimal", func(b *testing.B) {
		k := AppendDecimal(nil, types.NewDecimal(1234567, 2), false)
		b.ReportAllocs()
		for range b.N {
			if _, _, err := DecodeDecimal(k, false); err != nil {
				b.Fatal(err)
			}
		}
	})
}
