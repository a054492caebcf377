package arena

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestStringsStay: what was handed out does not change when more is, whatever the sizes.
func TestStringsStay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a Strings
		var got, want []string
		buf := make([]byte, 0, 4096)
		for i, n := range rapid.SliceOfN(rapid.IntRange(0, 3000), 0, 60).Draw(t, "lengths") {
			w := strings.Repeat(string(rune('a'+i%26)), n)
			buf = append(buf[:0], w...)
			if i%3 == 0 {
				got = append(got, a.Join(w[:n/2], "", w[n/2:]))
			} else {
				got = append(got, a.Copy(buf))
			}
			want = append(want, w)
			clear(buf) // the bytes were copied
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("string %d of %d bytes changed", i, len(want[i]))
			}
		}
	})
}

// TestFewAllocations: short strings share blocks.
func TestFewAllocations(t *testing.T) {
	var a Strings
	p := []byte("0123456789")
	if n := testing.AllocsPerRun(10_000, func() { a.Copy(p) }); n > 0.1 {
		t.Errorf("%.2f allocations a string", n)
	}
}
