package copyfmt

import (
	"bytes"
	"errors"
	"io"
	"math/rand"
	"testing"
	"testing/iotest"

	"github.com/weirdb/weir/sql/sqlerr"
)

// What is written in binary format is what is read, however the data arrives.
func TestBinary(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	for range 200 {
		columns := rng.Intn(5)
		var rows [][][]byte
		data := AppendBinaryHeader(nil)
		for range rng.Intn(20) {
			row := make([][]byte, columns)
			for k := range row {
				if rng.Intn(4) > 0 {
					row[k] = bytes.Repeat([]byte{byte(rng.Intn(256))}, rng.Intn(1<<rng.Intn(12)))
				}
			}
			rows = append(rows, row)
			data = AppendBinaryRow(data, row)
		}
		data = AppendBinaryTrailer(data)
		var in io.Reader = bytes.NewReader(data)
		if rng.Intn(2) == 0 {
			in = iotest.OneByteReader(in)
		}
		r := NewBinaryReader(in, columns)
		for i, want := range rows {
			got, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			if r.Line() != i+1 || len(got) != columns {
				t.Fatalf("row %d has %d fields, want row %d of %d", r.Line(), len(got), i+1, columns)
			}
			for k, f := range got {
				if f.Null != (want[k] == nil) || !bytes.Equal(f.Value, want[k]) {
					t.Fatalf("row %d, field %d: %q, want %q", i, k, f.Value, want[k])
				}
			}
		}
		for range 2 {
			if _, err := r.Next(); err != io.EOF {
				t.Fatalf("after the last row: %v", err)
			}
		}
	}
}

// FuzzBinary: whatever a client sends is rows, or an error that it is told, and never takes more room than it sent.
func FuzzBinary(f *testing.F) {
	good := AppendBinaryTrailer(AppendBinaryRow(AppendBinaryHeader(nil), [][]byte{[]byte("a"), nil}))
	f.Add(good)
	f.Add(good[:len(good)-2])
	f.Add(append(AppendBinaryHeader(nil), 0, 2, 0x7f, 0xff, 0xff, 0xff, 'a'))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := NewBinaryReader(bytes.NewReader(data), 2)
		for {
			fields, err := r.Next()
			if err == io.EOF {
				return
			}
			if err != nil {
				var e *sqlerr.Error
				if !errors.As(err, &e) {
					t.Fatal(err)
				}
				return
			}
			size := 0
			for _, f := range fields {
				size += len(f.Value)
			}
			if len(fields) != 2 || size > len(data) {
				t.Fatalf("%d fields of %d bytes from %d", len(fields), size, len(data))
			}
		}
	})
}
