package types

import (
	"math/rand"
	"strings"
	"testing"
)

// TestHashSpread makes sure that short strings, small integers and equal-length records of bits do
// not share hashes: a hash join would crawl.
func TestHashSpread(t *testing.T) {
	seen := map[uint64]string{}
	add := func(h uint64, what string) {
		if old, ok := seen[h]; ok {
			t.Fatalf("%q and %q share a hash", old, what)
		}
		seen[h] = what
	}
	for i := range 256 {
		add(HashString(string([]byte{byte(i)})), "byte "+string(rune(i)))
		for j := range 256 {
			add(HashString(string([]byte{byte(i), byte(j)})), "bytes "+string(rune(i))+string(rune(j)))
		}
	}
	for n := range 64 {
		add(HashString(strings.Repeat("\x00", n+3)), "zeros "+strings.Repeat("0", n+3))
		add(HashString(strings.Repeat("x", n+3)), strings.Repeat("x", n+3))
	}
	for i := int64(-30000); i < 30000; i++ {
		add(HashInt(i), "int")
		add(NewDecimal(i, 0).Hash(), "decimal")
	}
	rng := rand.New(rand.NewSource(1))
	for range 10000 {
		b := make([]byte, rng.Intn(40)+3)
		rng.Read(b)
		add(HashString(string(b)), string(b))
	}
}

func BenchmarkParseTimestamp(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseTimestamp("2024-03-15 13:45:30.123456", nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendTimestamp(b *testing.B) {
	b.ReportAllocs()
	var buf [64]byte
	for b.Loop() {
		AppendTimestamp(buf[:0], testNow)
	}
}

func BenchmarkAppendTimestamptz(b *testing.B) {
	b.ReportAllocs()
	env := testEnv("America/New_York")
	var buf [64]byte
	for b.Loop() {
		AppendTimestamptz(buf[:0], testNow, env.TimeZone)
	}
}

func BenchmarkParseDecimal(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseDecimal("12345.678"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseInt(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseText(T(Int8), "1234567890", nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseJSON(b *testing.B) {
	b.ReportAllocs()
	const s = `{"id": 17, "name": "abc", "tags": ["x", "y"], "price": 12.50}`
	for b.Loop() {
		if _, err := ParseJSON(s); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkHashString(b *testing.B) {
	b.ReportAllocs()
	for _, s := range []string{"abc", "channel-9", strings.Repeat("x", 60)} {
		b.Run(s, func(b *testing.B) {
			for b.Loop() {
				HashString(s)
			}
		})
	}
}

func BenchmarkHashDecimal(b *testing.B) {
	d := NewDecimal(1234500, 4)
	for b.Loop() {
		d.Hash()
	}
}

func BenchmarkTruncTZ(b *testing.B) {
	env := testEnv("America/New_York")
	f, err := LookupField("day", Timestamptz)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := f.TruncTZ(testNow, env.TimeZone); err != nil {
			b.Fatal(err)
		}
	}
}
