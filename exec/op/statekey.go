package op

import (
	"encoding/binary"
	"math"
	"strings"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// Keys of state tables: the vnode byte, then the key columns, each 0 for NULL or 1 and the value.
// Values that are equal in SQL have equal bytes (or with exact, values that are the same to the
// last bit), and no encoding is a prefix of another one, so that a prefix of columns is a prefix of
// keys. Integers are ordered, for locality; the order of other types means nothing.

func appendStateKey(dst []byte, cols []*vec.Vector, row int, exact bool) []byte {
	for _, v := range cols {
		if v.Type.Phys() == types.PhysInt && !v.Nulls.Get(row) {
			dst = append(dst, 1)
			dst = binary.BigEndian.AppendUint64(dst, uint64(v.Int[row])^1<<63)
			continue
		}
		dst = appendDatumKey(dst, v.Type, v.Datum(row), exact)
	}
	return dst
}

func appendDatumKey(dst []byte, t types.Type, d types.Datum, exact bool) []byte {
	if !d.Valid {
		return append(dst, 0)
	}
	dst = append(dst, 1)
	switch t.Phys() {
	case types.PhysBool:
		return append(dst, byte(d.I))
	case types.PhysInt:
		return binary.BigEndian.AppendUint64(dst, uint64(d.I)^1<<63)
	case types.PhysFloat:
		f := d.F
		if !exact && f == 0 {
			f = 0 // -0
		}
		if f != f {
			f = math.NaN()
		}
		return binary.BigEndian.AppendUint64(dst, math.Float64bits(f))
	case types.PhysDec:
		if !exact {
			d.Dec = d.Dec.Trim()
		}
		return d.Dec.AppendBinary(dst)
	case types.PhysInterval:
		x := d.Span
		if exact {
			dst = binary.AppendVarint(dst, int64(x.Months))
			dst = binary.AppendVarint(dst, int64(x.Days))
			return binary.AppendVarint(dst, x.Micros)
		}
		days, micros := canonicalSpan(x)
		dst = binary.AppendVarint(dst, days)
		return binary.AppendVarint(dst, micros)
	}
	if exact {
		return appendStringKey(dst, d.S)
	}
	switch t.Kind {
	case types.Char:
		return appendStringKey(dst, strings.TrimRight(d.S, " "))
	case types.Jsonb:
		return appendStringKey(dst, canonicalJSON(d.S))
	case types.Array:
		if a, err := types.DecodeArray(d.S); err == nil {
			dst = binary.AppendUvarint(dst, uint64(len(a.Dims)))
			for _, x := range a.Dims {
				dst = binary.AppendVarint(dst, int64(x.Len))
				dst = binary.AppendVarint(dst, int64(x.Lower))
			}
			for _, e := range a.Elems {
				dst = appendDatumKey(dst, types.T(a.Elem), e, false)
			}
			return dst
		}
	case types.Record:
		if ts, fields, err := types.DecodeRecord(d.S); err == nil {
			dst = binary.AppendUvarint(dst, uint64(len(fields)))
			for i, f := range fields {
				dst = appendDatumKey(dst, ts[i], f, false)
			}
			return dst
		}
	}
	return appendStringKey(dst, d.S)
}

// canonicalSpan gives the whole days and the rest of an interval's canonical length.
func canonicalSpan(x types.Span) (days, micros int64) {
	const day = 24 * 3600 * 1000000
	days = int64(x.Months)*30 + int64(x.Days) + x.Micros/day
	micros = x.Micros % day
	if micros < 0 {
		days--
		micros += day
	}
	return days, micros
}

// canonicalJSON drops the trailing zeros of fractions from canonical jsonb text: 1.0 equals 1.
func canonicalJSON(s string) string {
	if strings.IndexByte(s, '.') < 0 {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '"':
			j := i + 1
			for j < len(s) && s[j] != '"' {
				if s[j] == '\\' {
					j++
				}
				j++
			}
			j = min(j+1, len(s))
			out = append(out, s[i:j]...)
			i = j
		case c == '-' || c >= '0' && c <= '9':
			j := i + 1
			for j < len(s) && (s[j] >= '0' && s[j] <= '9' || s[j] == '.') {
				j++
			}
			num := s[i:j]
			if strings.IndexByte(num, '.') >= 0 {
				num = strings.TrimRight(strings.TrimRight(num, "0"), ".")
			}
			out = append(out, num...)
			i = j
		default:
			out = append(out, c)
			i++
		}
	}
	return string(out)
}

// appendStringKey escapes zero bytes as 0 255 and ends with 0 1: ordered and prefix-free.
func appendStringKey(dst []byte, s string) []byte {
	for {
		i := strings.IndexByte(s, 0)
		if i < 0 {
			break
		}
		dst = append(dst, s[:i]...)
		dst = append(dst, 0, 255)
		s = s[i+1:]
	}
	dst = append(dst, s...)
	return append(dst, 0, 1)
}

// stateKeys makes the state keys of the rows of a chunk.
type stateKeys struct {
	hashes []uint64
	buf    []byte
	dist   []*vec.Vector
}

// prepare computes the vnodes of n rows from the distribution columns.
func (k *stateKeys) prepare(dist []*vec.Vector, n int) { k.hashes = vec.HashRows(dist, n, k.hashes) }

// key gives the state key of a row for its key columns, valid until the next call.
func (k *stateKeys) key(cols []*vec.Vector, row int, exact bool) []byte {
	k.buf = append(k.buf[:0], vec.Vnode(k.hashes[row]))
	k.buf = appendStateKey(k.buf, cols, row, exact)
	return k.buf
}

// more appends further columns to the last key.
func (k *stateKeys) more(cols []*vec.Vector, row int, exact bool) []byte {
	k.buf = appendStateKey(k.buf, cols, row, exact)
	return k.buf
}

func pick(c *vec.Chunk, cols []int, dst []*vec.Vector) []*vec.Vector {
	dst = dst[:0]
	for _, k := range cols {
		dst = append(dst, c.Cols[k])
	}
	return dst
}
