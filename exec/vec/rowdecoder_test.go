package vec

import (
	"math/rand"
	"testing"
)

// TestRowDecoder checks that some columns are decoded as all are, and what is kept of them stays.
func TestRowDecoder(t *testing.T) {
	r := rand.New(rand.NewSource(7))
	c := randomChunk(t, r, 300, false)
	ts := c.Types()
	for range 60 {
		var cols []int
		for k := range ts {
			if r.Intn(3) == 0 {
				cols = append(cols, k)
			}
		}
		var want, got Chunk
		want.View(c, cols)
		d := NewRowDecoder(ts, cols)
		decoded := NewChunk(want.Types(), 0)
		var b []byte
		for i := range c.Len() {
			b = EncodeRow(b[:0], c.Cols, i) // the bytes are another row's next
			if err := d.Decode(b, decoded.Cols); err != nil {
				t.Fatal(err)
			}
			decoded.PushDiff(1)
		}
		got.View(decoded, sequence(len(cols)))
		sameChunk(t, &want, &got)
	}
}

// TestRowDecoderCut checks that rows that are cut off are errors when the last column is wanted, whatever is stepped over.
func TestRowDecoderCut(t *testing.T) {
	c := randomChunk(t, rand.New(rand.NewSource(8)), 100, false)
	ts := c.Types()
	for _, cols := range [][]int{{len(ts) - 1}, sequence(len(ts))} {
		d := NewRowDecoder(ts, cols)
		for i := range c.Len() {
			b := EncodeRow(nil, c.Cols, i)
			for cut := range b {
				e := NewChunk(ts, 1)
				var to Chunk
				to.View(e, cols)
				if err := d.Decode(b[:cut], to.Cols); err == nil && !c.Cols[len(ts)-1].IsNull(i) {
					t.Fatalf("row %d cut to %d of %d bytes decodes", i, cut, len(b))
				}
			}
		}
	}
}

func sequence(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}
