package vec

import (
	"bytes"
	"math/rand"
	"slices"
	"testing"

	"github.com/weirdb/weir/sql/types"
)

// pool holds the values that go wrong.
var pool = map[string][]string{
	"bool":      {"t", "f"},
	"int4":      {"0", "1", "-1", "2147483647", "-2147483648"},
	"int8":      {"0", "1", "-1", "9223372036854775807", "-9223372036854775808", "64", "-65"},
	"float8":    {"0", "-0", "1.5", "NaN", "Infinity", "-Infinity", "1e300", "5e-324"},
	"numeric":   {"0", "0.00", "1.0", "1.00", "1", "-2.5", "NaN", "Infinity", "-Infinity", "1.000000000000000000000000000000", "123456789012345678901234567890.5"},
	"text":      {"", "a", "NULL", "two words", "quote\"d", "back\\slash", "line\nbreak", "longer than sixteen bytes, and then some"},
	"bpchar":    {"a", "a  ", "b", ""},
	"bytea":     {"\\x", "\\x00ff", "\\x00"},
	"interval":  {"24:00:00", "1 day", "30 days", "1 mon", "-1 day", "0", "-00:00:00.000001"},
	"jsonb":     {"null", "1.0", "1.00", "[1, 2]", "{\"a\": 1.0}", "{\"a\": 1}", "\"x\""},
	"date":      {"2024-02-29", "infinity", "-infinity", "0001-01-01 BC"},
	"timestamp": {"2024-03-31 02:30:00", "infinity", "1999-12-31 23:59:59.999999"},
	"uuid":      {"00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"},
	"int4[]":    {"{}", "{1,NULL}", "{{1,2},{3,4}}"},
	"numeric[]": {"{1.0}", "{1.00}"},
}

func poolTypes(t testing.TB) ([]string, []types.Type) {
	t.Helper()
	var names []string
	for n := range pool {
		names = append(names, n)
	}
	slices.Sort(names)
	var ts []types.Type
	for _, n := range names {
		one, err := ParseTypes(n)
		if err != nil {
			t.Fatal(err)
		}
		ts = append(ts, one...)
	}
	return names, ts
}

// randomChunk has n rows of values from the pool.
func randomChunk(t testing.TB, r *rand.Rand, n int, diffs bool) *Chunk {
	t.Helper()
	names, ts := poolTypes(t)
	c := NewChunk(ts, 0)
	for range n {
		row := make([]types.Datum, len(ts))
		for k, name := range names {
			vals := pool[name]
			if i := r.Intn(len(vals) + 1); i < len(vals) {
				d, err := types.ParseText(ts[k], vals[i], nil)
				if err != nil {
					t.Fatal(err)
				}
				row[k] = d
			}
		}
		d := int64(1)
		if diffs {
			d = []int64{1, -1, 3, -2}[r.Intn(4)]
		}
		c.AppendRow(row, d)
	}
	return c
}

func sameChunk(t testing.TB, a, b *Chunk) {
	t.Helper()
	if a.Len() != b.Len() {
		t.Fatalf("%d rows, want %d", b.Len(), a.Len())
	}
	for i := range a.Len() {
		if a.Diff(i) != b.Diff(i) {
			t.Fatalf("row %d: diff %d, want %d", i, b.Diff(i), a.Diff(i))
		}
		for k := range a.Cols {
			if !SameAt(a.Cols[k], i, b.Cols[k], i) {
				t.Fatalf("row %d, column %d: %s, want %s", i, k, FormatRow(b, i), FormatRow(a, i))
			}
		}
	}
}

// TestCopies checks that all ways of copying rows agree, into fresh and into used memory.
func TestCopies(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	used := randomChunk(t, r, 200, true)
	for round := range 50 {
		c := randomChunk(t, r, 1+r.Intn(150), round%2 == 0)
		n := c.Len()
		sameChunk(t, c, c.Clone())

		used.Reset()
		lo := r.Intn(n)
		used.AppendRange(c, 0, lo)
		used.AppendRange(c, lo, n)
		sameChunk(t, c, used)

		used.Reset()
		for i := range n {
			used.AppendFrom(c, i)
		}
		sameChunk(t, c, used)

		used.Reset()
		for i := range n {
			used.AppendRow(c.Row(i, nil), c.Diff(i))
		}
		sameChunk(t, c, used)

		sel := make([]int32, n)
		for i := range sel {
			sel[i] = int32(n - 1 - i)
		}
		used.Reset()
		used.AppendSel(c, sel)
		back := NewChunk(c.Types(), 0)
		back.AppendSel(used, sel)
		sameChunk(t, c, back)

		for _, v := range c.Cols {
			w := v.Clone()
			w.Truncate(lo)
			if w.Len() != lo {
				t.Fatalf("%d values after Truncate(%d)", w.Len(), lo)
			}
			w.AppendRange(v, lo, n)
			x := NewVector(types.T(types.Bool), 3)
			x.CopyFrom(w)
			for i := range n {
				if !SameAt(v, i, x, i) {
					t.Fatalf("value %d differs", i)
				}
			}
			k := NewConst(v.Type, v.Datum(lo), 3)
			if k.Len() != 3 || !SameAt(k, 2, v, lo) {
				t.Fatal("NewConst")
			}
		}
		var view Chunk
		view.View(c, []int{1, 0})
		if view.Len() != n || view.Cols[1] != c.Cols[0] || view.Diff(lo) != c.Diff(lo) {
			t.Fatal("View")
		}
	}
}

// TestTextForm checks that printing and parsing are inverse.
func TestTextForm(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	c := randomChunk(t, r, 300, true)
	d, err := ParseChunk(c.Types(), c.String())
	if err != nil {
		t.Fatal(err)
	}
	sameChunk(t, c, d)
	for _, bad := range []string{"* 1", "+ 1 2", "+", "+0 1", "+ x", "+ \"1"} {
		if _, err := ParseChunk([]types.Type{types.T(types.Int4)}, bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

// TestRowCodec checks that rows survive, one after the other, and that no prefix decodes.
func TestRowCodec(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	c := randomChunk(t, r, 200, false)
	var b []byte
	for i := range c.Len() {
		at := len(b)
		b = EncodeRow(b, c.Cols, i)
		if !bytes.Equal(b[at:], EncodeDatums(nil, c.Types(), c.Row(i, nil))) {
			t.Fatalf("row %d: EncodeDatums differs", i)
		}
		for cut := range b[at:] {
			d := NewChunk(c.Types(), 1)
			if _, err := DecodeRow(b[at:at+cut], d.Cols); err == nil {
				t.Fatalf("row %d cut to %d of %d bytes decodes", i, cut, len(b)-at)
			}
		}
	}
	d := NewChunk(c.Types(), 0)
	rest := b
	for i := range c.Len() {
		row, tail, err := DecodeDatums(nil, c.Types(), rest)
		if err != nil {
			t.Fatal(err)
		}
		if rest, err = DecodeRow(rest, d.Cols); err != nil {
			t.Fatal(err)
		}
		if len(rest) != len(tail) {
			t.Fatal("DecodeDatums ends elsewhere")
		}
		d.PushDiff(1)
		for k, x := range row {
			if !SameDatum(c.Cols[k].Type, x, c.Cols[k].Datum(i)) {
				t.Fatalf("row %d, column %d", i, k)
			}
		}
	}
	sameChunk(t, c, d)
	if len(rest) > 0 {
		t.Fatalf("%d bytes left", len(rest))
	}
}

// TestHashAgreesWithEquality checks that equal rows hash alike, that others practically do not,
// and that keys are equal or ordered exactly as the values are.
func TestHashAgreesWithEquality(t *testing.T) {
	r := rand.New(rand.NewSource(4))
	c := randomChunk(t, r, 120, false)
	equal := 0
	for k, v := range c.Cols {
		h := HashRows([]*Vector{v}, c.Len(), nil)
		again := HashCols(c, []int{k}, nil)
		for i := range c.Len() {
			if h[i] != again[i] {
				t.Fatal("HashCols differs from HashRows")
			}
			for j := range c.Len() {
				eq := EqualAt(v, i, v, j)
				if eq != (h[i] == h[j]) {
					t.Fatalf("column %d: %s and %s: equal %t, hashes %x %x", k, FormatDatum(v.Type, v.Datum(i)), FormatDatum(v.Type, v.Datum(j)), eq, h[i], h[j])
				}
				if eq && i != j && !SameAt(v, i, v, j) {
					equal++
				}
				if eq != EqualDatum(v.Type, v.Datum(i), v.Datum(j)) {
					t.Fatal("EqualDatum differs from EqualAt")
				}
				for _, key := range []SortKey{{}, {Desc: true}, {NullsFirst: true}, {Desc: true, NullsFirst: true}} {
					key.Col = k
					want := CompareRows(c.Cols, i, c.Cols, j, []SortKey{key})
					if got := Comparator(c.Cols, []SortKey{key})(i, j); sign(got) != sign(want) {
						t.Fatalf("Comparator: %d, want %d", got, want)
					}
					a, b := EncodeKey(nil, c.Cols, i, []SortKey{key}), EncodeKey(nil, c.Cols, j, []SortKey{key})
					if got := bytes.Compare(a, b); got != sign(want) {
						t.Fatalf("column %d: keys of %s and %s: %d, want %d", k, FormatDatum(v.Type, v.Datum(i)), FormatDatum(v.Type, v.Datum(j)), got, want)
					}
				}
			}
		}
	}
	if equal == 0 {
		t.Fatal("no two values are equal without being the same: the test tests nothing")
	}
	if HashInts(3, 4) != HashRows([]*Vector{NewConst(types.T(types.Int8), types.DInt(3), 1), NewConst(types.T(types.Int8), types.DInt(4), 1)}, 1, nil)[0] {
		t.Fatal("HashInts differs from HashRows")
	}
	rows := SortedRows(c, []SortKey{{Col: 1}, {Col: 3, Desc: true}})
	for i := 1; i < len(rows); i++ {
		if CompareRows(c.Cols, int(rows[i-1]), c.Cols, int(rows[i]), []SortKey{{Col: 1}, {Col: 3, Desc: true}}) > 0 {
			t.Fatal("SortedRows")
		}
	}
}

func sign(x int) int {
	switch {
	case x < 0:
		return -1
	case x > 0:
		return 1
	}
	return 0
}

// TestVnodesAreStable pins the hash function: it decides where state lies on disk.
func TestVnodesAreStable(t *testing.T) {
	c, err := ParseChunk([]types.Type{types.T(types.Int8), types.T(types.Text)}, "+ 1 a\n+ 42 \"a longer string than that\"\n+ NULL NULL")
	if err != nil {
		t.Fatal(err)
	}
	h := HashCols(c, []int{0, 1}, nil)
	got := []uint8{Vnode(h[0]), Vnode(h[1]), Vnode(h[2])}
	if want := vnodesOfTest; !slices.Equal(got, want) {
		t.Fatalf("vnodes %v, want %v: the hash function has changed; that needs a new state format version", got, want)
	}
	// A distribution that is grossly uneven would be a bug, too.
	var count [VnodeCount]int
	v := NewVector(types.T(types.Int8), 0)
	for i := range int64(256 * 100) {
		v.AppendInt(i)
	}
	for _, h := range HashRows([]*Vector{v}, v.Len(), nil) {
		count[Vnode(h)]++
	}
	for n, k := range count {
		if k < 50 || k > 150 {
			t.Fatalf("vnode %d has %d of %d keys", n, k, v.Len())
		}
	}
}

var vnodesOfTest = []uint8{31, 131, 181}

// FuzzDecodeRow checks that any bytes either fail or encode back to themselves.
func FuzzDecodeRow(f *testing.F) {
	c := randomChunk(f, rand.New(rand.NewSource(5)), 20, false)
	ts := c.Types()
	for i := range c.Len() {
		f.Add(EncodeRow(nil, c.Cols, i))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		d := NewChunk(ts, 1)
		rest, err := DecodeRow(b, d.Cols)
		if err != nil {
			return
		}
		for _, cols := range [][]int{sequence(len(ts)), {0, 2, 5}, {1, 4, len(ts) - 1}} {
			p, want := NewChunk(ts, 1), Chunk{}
			p.View(p.Clone(), cols)
			want.View(d, cols)
			if err := NewRowDecoder(ts, cols).Decode(b, p.Cols); err != nil {
				t.Fatalf("%x: some columns do not decode: %v", b, err)
			}
			for k := range p.Cols {
				if !SameAt(p.Cols[k], 0, want.Cols[k], 0) {
					t.Fatalf("column %d of %v is another one", k, cols)
				}
			}
		}
		// Varints have several forms; a second round must be stable.
		once := EncodeRow(nil, d.Cols, 0)
		e := NewChunk(ts, 1)
		if left, err := DecodeRow(once, e.Cols); err != nil || len(left) > 0 {
			t.Fatalf("%x: re-encoding gives %v, %d bytes left", b[:len(b)-len(rest)], err, len(left))
		}
		for k := range d.Cols {
			if !SameAt(d.Cols[k], 0, e.Cols[k], 0) {
				t.Fatalf("column %d changed", k)
			}
		}
	})
}

// TestRowsEncoder compares with encoding row by row.
func TestRowsEncoder(t *testing.T) {
	var e RowsEncoder
	for seed := range int64(20) {
		r := rand.New(rand.NewSource(seed))
		c := randomChunk(t, r, r.Intn(70), false)
		if seed == 0 {
			c.Reset()
		}
		var keys []SortKey
		for range r.Intn(3) {
			keys = append(keys, SortKey{Col: r.Intn(len(c.Cols)), Desc: r.Intn(2) == 0, NullsFirst: r.Intn(2) == 0})
		}
		if seed%2 == 0 {
			keys = nil
			for i, v := range c.Cols {
				if v.Type.Phys() == types.PhysInt && !v.HasNulls() {
					keys = append(keys, SortKey{Col: i, Desc: i%2 == 0})
				}
			}
		}
		buf, ends := e.Encode([]int{-7}, c.Cols, c.Len(), keys)
		if ends[0] != -7 || len(ends) != 1+2*c.Len() {
			t.Fatalf("seed %d: ends %v", seed, ends)
		}
		at := 0
		for i := range c.Len() {
			k, v := ends[1+2*i], ends[2+2*i]
			if want := EncodeKey(nil, c.Cols, i, keys); !bytes.Equal(buf[at:k], want) {
				t.Fatalf("seed %d, row %d: key %x, want %x", seed, i, buf[at:k], want)
			}
			if want := EncodeRow(nil, c.Cols, i); !bytes.Equal(buf[k:v], want) {
				t.Fatalf("seed %d, row %d: row %x, want %x", seed, i, buf[k:v], want)
			}
			at = v
		}
		if at != len(buf) {
			t.Fatalf("seed %d: %d bytes too many", seed, len(buf)-at)
		}
	}
}
