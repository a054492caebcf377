package byhand

import (
	"bufio"
	"bytes"
	"errors"
	"hash/maphash"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// lineWriter writes rows as lines of CSV, as a file sink of Weir does: times as PostgreSQL prints them, quotes where they are needed.
type lineWriter struct {
	f    *os.File
	w    *bufio.Writer
	line []byte
	err  error
	// at is the second whose text is atText.
	at     int64
	atText string
}

func newLineWriter(path string) *lineWriter {
	l := &lineWriter{at: math.MinInt64}
	if l.f, l.err = os.Create(path); l.err == nil {
		l.w = bufio.NewWriterSize(l.f, 1<<20)
	}
	return l
}

func (l *lineWriter) add(c *vec.Chunk) {
	for i := 0; i < c.Len() && l.err == nil; i++ {
		l.line = l.line[:0]
		for k, v := range c.Cols {
			if k > 0 {
				l.line = append(l.line, ',')
			}
			switch {
			case v.Type.Kind == types.Timestamp:
				l.time(v.Int[i])
			case v.Type.Phys() == types.PhysInt:
				l.line = strconv.AppendInt(l.line, v.Int[i], 10)
			case v.Type.Phys() == types.PhysStr:
				l.text(v.Str[i])
			default:
				l.line = v.Dec[i].AppendText(l.line)
			}
		}
		l.line = append(l.line, '\n')
		_, l.err = l.w.Write(l.line)
	}
}

func (l *lineWriter) time(t int64) {
	s := windowOf(t, second)
	if s != l.at {
		l.at, l.atText = s, timeOf(s).Format("2006-01-02 15:04:05")
	}
	l.line = append(l.line, l.atText...)
	if t == s {
		return
	}
	frac := strconv.AppendInt(nil, second+t-s, 10) // a 1 and six digits
	l.line = append(append(l.line, '.'), bytes.TrimRight(frac[1:], "0")...)
}

func (l *lineWriter) text(s string) {
	if s != "" && !strings.ContainsAny(s, ",\"\n\r") {
		l.line = append(l.line, s...)
		return
	}
	l.line = append(l.line, '"')
	l.line = append(l.line, strings.ReplaceAll(s, `"`, `""`)...)
	l.line = append(l.line, '"')
}

// close makes the file durable.
func (l *lineWriter) close() error {
	if l.f == nil {
		return l.err
	}
	if l.err == nil {
		l.err = l.w.Flush()
	}
	if l.err == nil {
		l.err = l.f.Sync()
	}
	return errors.Join(l.err, l.f.Close())
}

// SameLines tells whether two files have the same lines, in any order, and how many the first one has.
func SameLines(a, b string) (same bool, lines int64, err error) {
	seed := maphash.MakeSeed()
	sum := func(path string) (n int64, total uint64, err error) {
		f, err := os.Open(path)
		if err != nil {
			return 0, 0, err
		}
		defer f.Close()
		r := bufio.NewReaderSize(f, 1<<20)
		for {
			line, err := r.ReadBytes('\n')
			if err == io.EOF && len(line) == 0 {
				return n, total, nil
			}
			if err != nil && err != io.EOF {
				return 0, 0, err
			}
			n++
			total += maphash.Bytes(seed, line)
		}
	}
	n, x, err := sum(a)
	if err != nil {
		return false, 0, err
	}
	m, y, err := sum(b)
	return n == m && x == y, n, err
}
