package vec

import (
	"encoding/binary"
	"math"
	"slices"
	"unsafe"

	"github.com/weirdb/weir/sql/types"
)

// textBlock is how much text a RowDecoder copies into one allocation. A string that somebody keeps keeps all of its block.
const textBlock = 16 << 10

// RowDecoder decodes some of the columns of encoded rows and steps over the others. It stops behind the last that it wants, so
// bytes behind that are not looked at. Strings are copied, many into one allocation. It is used by one goroutine.
type RowDecoder struct {
	steps []decodeStep
	head  int
	text  []byte
}

// decodeStep is one column: it is stepped over, or goes to column to.
type decodeStep struct {
	phys types.Phys
	t    types.Type
	to   int // -1: it is not wanted
}

// NewRowDecoder makes one for rows of columns of types ts, of which it decodes cols, in ascending order.
func NewRowDecoder(ts []types.Type, cols []int) *RowDecoder {
	d := &RowDecoder{head: (len(ts) + 7) / 8}
	if len(cols) == 0 {
		return d
	}
	d.steps = make([]decodeStep, cols[len(cols)-1]+1)
	for k := range d.steps {
		to, ok := slices.BinarySearch(cols, k)
		if !ok {
			to = -1
		}
		d.steps[k] = decodeStep{phys: ts[k].Phys(), t: ts[k], to: to}
	}
	return d
}

// Decode appends the wanted columns of the row that b begins with to dst, a value each. After an error (ErrCorruptRow) the columns
// may have different lengths.
func (d *RowDecoder) Decode(b []byte, dst []*Vector) error {
	if len(b) < d.head {
		return ErrCorruptRow
	}
	nulls := b[:d.head]
	b = b[d.head:]
	for k := range d.steps {
		s := &d.steps[k]
		if nulls[k>>3]&(1<<(k&7)) != 0 {
			if s.to >= 0 {
				dst[s.to].AppendNull()
			}
			continue
		}
		var ok bool
		if s.to < 0 {
			b, ok = skipValue(b, s.phys)
		} else {
			b, ok = d.value(b, s, dst[s.to])
		}
		if !ok {
			return ErrCorruptRow
		}
	}
	return nil
}

func (d *RowDecoder) value(b []byte, s *decodeStep, v *Vector) (rest []byte, ok bool) {
	switch s.phys {
	case types.PhysInt:
		x, n := binary.Varint(b)
		if n <= 0 {
			return nil, false
		}
		v.Int = append(v.Int, x)
		return b[n:], true
	case types.PhysStr:
		n, h := binary.Uvarint(b)
		if h <= 0 || n > uint64(len(b)-h) {
			return nil, false
		}
		end := h + int(n)
		v.Str = append(v.Str, d.copyText(b[h:end]))
		return b[end:], true
	case types.PhysFloat:
		if len(b) < 8 {
			return nil, false
		}
		v.Float = append(v.Float, math.Float64frombits(binary.LittleEndian.Uint64(b)))
		return b[8:], true
	case types.PhysDec:
		x, rest, err := types.DecodeDecimal(b)
		if err != nil {
			return nil, false
		}
		v.Dec = append(v.Dec, x)
		return rest, true
	default:
		x, rest, err := decodeDatum(b, s.t, false)
		if err != nil {
			return nil, false
		}
		v.AppendDatum(x)
		return rest, true
	}
}

func (d *RowDecoder) copyText(p []byte) string {
	if len(p) == 0 {
		return ""
	}
	if len(p) > textBlock/8 {
		return string(p)
	}
	if cap(d.text)-len(d.text) < len(p) {
		d.text = make([]byte, 0, textBlock)
	}
	at := len(d.text)
	d.text = append(d.text, p...)
	return unsafe.String(&d.text[at], len(p)) // never written again: the block is only appended to
}

// skipValue steps over a value.
func skipValue(b []byte, p types.Phys) (rest []byte, ok bool) {
	switch p {
	case types.PhysBool:
		return skipBytes(b, 1)
	case types.PhysInt:
		return skipVarint(b)
	case types.PhysFloat:
		return skipBytes(b, 8)
	case types.PhysStr:
		n, h := binary.Uvarint(b)
		if h <= 0 || n > uint64(len(b)-h) {
			return nil, false
		}
		return b[h+int(n):], true
	case types.PhysDec:
		rest, err := types.SkipDecimal(b)
		return rest, err == nil
	default:
		for range 3 {
			if b, ok = skipVarint(b); !ok {
				return nil, false
			}
		}
		return b, true
	}
}

func skipBytes(b []byte, n int) ([]byte, bool) {
	if len(b) < n {
		return nil, false
	}
	return b[n:], true
}

func skipVarint(b []byte) ([]byte, bool) {
	for i, c := range b {
		if c < 0x80 {
			return b[i+1:], true
		}
	}
	return nil, false
}
