package types

import (
	"testing"
)

// FuzzParseText gives arbitrary text to the parser of every kind: none may panic, and what one
// accepts must print to text that reads back to the same value.
func FuzzParseText(f *testing.F) {
	for i, s := range []string{"12", "-1.5e3", "2020-01-02 03:04:05.6+07", "Jan 2 2020 BC", "1 year 2 mons -3 days 04:05:06",
		"P1Y2M3DT4H5M6S", `{1,NULL,"a b"}`, `[0:1]={{1},{2}}`, `{"a": [1]}`, `\xdead`, "infinity", "2001.360", "T040506-08", "J2451187"} {
		f.Add(uint8(i), s)
	}
	env := testEnv("America/New_York")
	f.Fuzz(func(t *testing.T, kind uint8, s string) {
		if len(s) > 300 {
			return
		}
		typ := T(Kind(int(kind) % NumKinds))
		if typ.Kind >= Array {
			typ = ArrayOf(valueKinds[int(kind)%len(valueKinds)])
		}
		if typ.Kind == Numeric || typ.Kind == Jsonb || typ.Elem == Numeric || typ.Elem == Jsonb {
			for i := range len(s) {
				if s[i]|0x20 == 'e' {
					return // exponents make numbers of any length
				}
			}
		}
		d, err := ParseText(typ, s, env)
		if err != nil {
			return
		}
		text := Format(typ, d, env)
		back, err := ParseText(typ, text, env)
		if typ.Kind == Char {
			return
		}
		if err != nil {
			t.Fatalf("%s: %q prints as %q: %v", typ, s, text, err)
		}
		// A zone may repeat an hour; Postgres's text does not say which, but it has the offset.
		if Compare(typ, d, back) != 0 || Hash(typ, d) != Hash(typ, back) {
			t.Fatalf("%s: %q prints as %q, which reads as %q", typ, s, text, Format(typ, back, env))
		}
	})
}

// FuzzParseBinary gives arbitrary bytes to the binary and storage decoders of every kind.
func FuzzParseBinary(f *testing.F) {
	f.Add(uint8(Int4), []byte{0, 0, 0, 1})
	f.Add(uint8(Numeric), []byte{0, 1, 0, 0, 0, 0, 0, 2, 0, 5})
	f.Add(uint8(Array), []byte{0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 23, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 5})
	f.Add(uint8(Record), []byte{0, 0, 0, 1, 0, 0, 0, 23, 0, 0, 0, 4, 0, 0, 0, 5})
	f.Fuzz(func(t *testing.T, kind uint8, b []byte) {
		typ := T(Kind(int(kind) % NumKinds))
		if typ.Kind == Array {
			typ = ArrayOf(Int4)
		}
		if d, err := ParseBinary(typ, b); err == nil && typ.Kind != Jsonb {
			back, err := ParseBinary(typ, AppendBinary(nil, typ, d))
			if err != nil || Compare(typ, d, back) != 0 {
				t.Fatalf("%s: %x reads as %s, written again it does not", typ, b, Format(typ, d, nil))
			}
		}
		s := string(b)
		if d, rest, err := DecodeDatum(s, typ.Kind); err == nil && d.Valid && typ.Kind != Array && typ.Kind != Record && typ.Kind != Jsonb {
			again := string(AppendDatum(nil, typ.Kind, d))
			d2, _, err := DecodeDatum(again, typ.Kind)
			if err != nil || Compare(typ, d, d2) != 0 || len(rest) > len(s) {
				t.Fatalf("%s: %x does not survive", typ, b)
			}
		}
		if a, err := DecodeArray(s); err == nil {
			if b, err := DecodeArray(a.Encode()); err != nil || len(a.Elems) != len(b.Elems) {
				t.Fatalf("array %x does not survive", s)
			}
		}
		if ts, vals, err := DecodeRecord(s); err == nil {
			if _, v2, err := DecodeRecord(EncodeRecord(ts, vals)); err != nil || len(v2) != len(vals) {
				t.Fatalf("record %x does not survive", s)
			}
		}
	})
}

// FuzzTemplates gives arbitrary templates and inputs to the formatting functions.
func FuzzTemplates(f *testing.F) {
	f.Add("YYYY-MM-DD HH24:MI:SS.US", "2020-01-02 03:04:05.6")
	f.Add("FM9,999.99PR", "<1,234.5>")
	f.Add("IYYY-IW-ID \"x\" TZH", "2020-53-7 x +2")
	f.Fuzz(func(t *testing.T, template, input string) {
		if len(template) > 100 {
			return
		}
		df := CompileDateFormat(template)
		for _, ts := range []int64{0, testNow, minTimestamp, endTimestamp - 1} {
			if _, err := df.AppendTimestamp(nil, ts); err != nil {
				t.Fatal(err)
			}
		}
		_, _ = df.AppendInterval(nil, Span{-14, -3, -1})
		_, _ = df.ParseTimestamptz(input, nil)
		_, _ = df.ParseDate(input)
		nf, err := CompileNumberFormat(template)
		if err != nil {
			return
		}
		for _, d := range []Decimal{{}, NewDecimal(-12345, 2), NewDecimal(5, 3), DecNaN, DecInf} {
			_, _ = nf.AppendDecimal(nil, d)
		}
		_, _ = nf.AppendFloat(nil, -0.5, 64)
		_, _ = nf.Parse(input)
	})
}
