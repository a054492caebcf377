package storage

import (
	"bytes"
	"fmt"
	"testing"
)

// TestRowBlockWidths: small blocks and those of more than 64 KiB give their rows back.
func TestRowBlockWidths(t *testing.T) {
	for _, size := range []int{0, 1, 100, 5000} {
		var buf []byte
		var ends []int
		for i := range 40 {
			buf = fmt.Appendf(buf, "key%03d", i)
			ends = append(ends, len(buf))
			buf = append(buf, bytes.Repeat([]byte{byte(i)}, size)...)
			ends = append(ends, len(buf))
		}
		b := newBlock(buf, ends, 2)
		if b == nil {
			t.Fatal("not a block")
		}
		for _, part := range [][2]int{{0, 40}, {0, 1}, {39, 40}, {7, 31}} {
			enc := encodeRows(nil, b, part[0], part[1])
			s, err := decodeRows(enc)
			if err != nil || s.n != part[1]-part[0] {
				t.Fatal(size, part, s.n, err)
			}
			for i := range s.n {
				if !bytes.Equal(s.key(i), b.key(part[0]+i)) || !bytes.Equal(s.value(i), b.value(part[0]+i)) {
					t.Fatalf("size %d, rows %v: row %d is %q", size, part, i, s.key(i))
				}
				if at, ok := s.search(b.key(part[0] + i)); at != i || !ok {
					t.Fatalf("size %d, rows %v: row %d found at %d %t", size, part, i, at, ok)
				}
			}
			for n := range min(len(enc), 300) {
				if _, err := decodeRows(enc[:n]); err == nil {
					t.Fatalf("size %d, rows %v: the first %d bytes are a block", size, part, n)
				}
			}
		}
	}
}

// FuzzDecodeRows: whatever is read, a block that is accepted can be walked.
func FuzzDecodeRows(f *testing.F) {
	b := &rowBlock{buf: []byte("a1b2"), ends: []uint32{1, 2, 3, 4}}
	f.Add(encodeRows(nil, b, 0, 2))
	f.Add([]byte{4, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 'k'})
	f.Add([]byte{2, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, in []byte) {
		s, err := decodeRows(in)
		if err != nil {
			return
		}
		size := 0
		for i := range s.n {
			size += len(s.key(i)) + len(s.value(i))
		}
		if size != len(s.buf) {
			t.Fatalf("rows of %d bytes in %d", size, len(s.buf))
		}
		s.search([]byte("b"))
	})
}
