package vec

import (
	"github.com/weirdb/weir/sql/types"
)

// NewVector makes an empty vector with room for capacity values.
func NewVector(t types.Type, capacity int) *Vector {
	v := &Vector{Type: t}
	v.Grow(capacity)
	return v
}

// NewConst makes a vector of n times the same value.
func NewConst(t types.Type, d types.Datum, n int) *Vector {
	v := NewVector(t, n)
	v.AppendRepeat(d, n)
	return v
}

// Grow makes room for n more values.
func (v *Vector) Grow(n int) {
	switch v.Type.Phys() {
	case types.PhysBool:
		v.Bool = grow(v.Bool, n)
	case types.PhysInt:
		v.Int = grow(v.Int, n)
	case types.PhysFloat:
		v.Float = grow(v.Float, n)
	case types.PhysStr:
		v.Str = grow(v.Str, n)
	case types.PhysDec:
		v.Dec = grow(v.Dec, n)
	case types.PhysInterval:
		v.Span = grow(v.Span, n)
	}
}

func grow[T any](s []T, n int) []T {
	if cap(s)-len(s) >= n {
		return s
	}
	c := max(len(s)+n, 2*cap(s))
	d := make([]T, len(s), c)
	copy(d, s)
	return d
}

// resize gives a slice of length n that keeps the first values of s; later ones are unspecified.
func resize[T any](s []T, n int) []T {
	if n <= cap(s) {
		return s[:n]
	}
	return grow(s, n-len(s))[:n]
}

// Len is the number of values.
func (v *Vector) Len() int {
	switch v.Type.Phys() {
	case types.PhysBool:
		return len(v.Bool)
	case types.PhysInt:
		return len(v.Int)
	case types.PhysFloat:
		return len(v.Float)
	case types.PhysStr:
		return len(v.Str)
	case types.PhysDec:
		return len(v.Dec)
	default:
		return len(v.Span)
	}
}

// Resize sets the number of values to n and forgets all NULLs: for kernels that then write every
// value. Values that are not written are unspecified but valid.
func (v *Vector) Resize(n int) {
	v.Nulls = v.Nulls[:0]
	switch v.Type.Phys() {
	case types.PhysBool:
		v.Bool = resize(v.Bool, n)
	case types.PhysInt:
		v.Int = resize(v.Int, n)
	case types.PhysFloat:
		v.Float = resize(v.Float, n)
	case types.PhysStr:
		v.Str = resize(v.Str, n)
	case types.PhysDec:
		v.Dec = resize(v.Dec, n)
	case types.PhysInterval:
		v.Span = resize(v.Span, n)
	}
}

// Reset empties the vector and keeps its memory.
func (v *Vector) Reset() { v.Resize(0) }

// ResetType empties the vector and makes it one of type t.
func (v *Vector) ResetType(t types.Type) {
	v.Reset()
	v.Type = t
	v.Reset()
}

// Truncate keeps the first n values.
func (v *Vector) Truncate(n int) {
	nulls := v.Nulls
	v.Resize(n)
	words := (n + 63) / 64
	if len(nulls) > words {
		nulls = nulls[:words]
	}
	if len(nulls) == words && n&63 != 0 {
		nulls[words-1] &= 1<<(uint(n)&63) - 1
	}
	v.Nulls = nulls
}

// IsNull tells whether value i is NULL.
func (v *Vector) IsNull(i int) bool { return v.Nulls.Get(i) }

// HasNulls tells whether any value is NULL.
func (v *Vector) HasNulls() bool { return v.Nulls.Any() }

// SetNull makes value i NULL; what lies behind it stays.
func (v *Vector) SetNull(i int) { v.Nulls.Set(i) }

// AppendNull appends a NULL.
func (v *Vector) AppendNull() {
	v.Nulls.Set(v.appendZero())
}

// appendZero appends a zero value and gives its row.
func (v *Vector) appendZero() int {
	switch v.Type.Phys() {
	case types.PhysBool:
		v.Bool = append(v.Bool, false)
		return len(v.Bool) - 1
	case types.PhysInt:
		v.Int = append(v.Int, 0)
		return len(v.Int) - 1
	case types.PhysFloat:
		v.Float = append(v.Float, 0)
		return len(v.Float) - 1
	case types.PhysStr:
		v.Str = append(v.Str, "")
		return len(v.Str) - 1
	case types.PhysDec:
		v.Dec = append(v.Dec, types.Decimal{})
		return len(v.Dec) - 1
	default:
		v.Span = append(v.Span, types.Span{})
		return len(v.Span) - 1
	}
}

// AppendBool appends to a PhysBool vector.
func (v *Vector) AppendBool(x bool) { v.Bool = append(v.Bool, x) }

// AppendInt appends to a PhysInt vector.
func (v *Vector) AppendInt(x int64) { v.Int = append(v.Int, x) }

// AppendFloat appends to a PhysFloat vector.
func (v *Vector) AppendFloat(x float64) { v.Float = append(v.Float, x) }

// AppendStr appends to a PhysStr vector.
func (v *Vector) AppendStr(x string) { v.Str = append(v.Str, x) }

// AppendDec appends to a PhysDec vector.
func (v *Vector) AppendDec(x types.Decimal) { v.Dec = append(v.Dec, x) }

// AppendSpan appends to a PhysInterval vector.
func (v *Vector) AppendSpan(x types.Span) { v.Span = append(v.Span, x) }

// AppendDatum appends a value of the vector's type, or NULL.
func (v *Vector) AppendDatum(d types.Datum) {
	if !d.Valid {
		v.AppendNull()
		return
	}
	switch v.Type.Phys() {
	case types.PhysBool:
		v.Bool = append(v.Bool, d.I != 0)
	case types.PhysInt:
		v.Int = append(v.Int, d.I)
	case types.PhysFloat:
		v.Float = append(v.Float, d.F)
	case types.PhysStr:
		v.Str = append(v.Str, d.S)
	case types.PhysDec:
		v.Dec = append(v.Dec, d.Dec)
	case types.PhysInterval:
		v.Span = append(v.Span, d.Span)
	}
}

// AppendRepeat appends n times d.
func (v *Vector) AppendRepeat(d types.Datum, n int) {
	if n <= 0 {
		return
	}
	at := v.Len()
	v.Grow(n)
	for range n {
		v.appendZero()
	}
	if !d.Valid {
		for i := at; i < at+n; i++ {
			v.Nulls.Set(i)
		}
		return
	}
	switch v.Type.Phys() {
	case types.PhysBool:
		fill(v.Bool[at:], d.I != 0)
	case types.PhysInt:
		fill(v.Int[at:], d.I)
	case types.PhysFloat:
		fill(v.Float[at:], d.F)
	case types.PhysStr:
		fill(v.Str[at:], d.S)
	case types.PhysDec:
		fill(v.Dec[at:], d.Dec)
	case types.PhysInterval:
		fill(v.Span[at:], d.Span)
	}
}

func fill[T any](s []T, x T) {
	for i := range s {
		s[i] = x
	}
}

// Datum gives value i.
func (v *Vector) Datum(i int) types.Datum {
	if v.Nulls.Get(i) {
		return types.Null
	}
	switch v.Type.Phys() {
	case types.PhysBool:
		return types.DBool(v.Bool[i])
	case types.PhysInt:
		return types.DInt(v.Int[i])
	case types.PhysFloat:
		return types.DFloat(v.Float[i])
	case types.PhysStr:
		return types.DStr(v.Str[i])
	case types.PhysDec:
		return types.DDec(v.Dec[i])
	default:
		return types.DSpan(v.Span[i])
	}
}

// AppendFrom appends value row of src, which has the same physical type.
func (v *Vector) AppendFrom(src *Vector, row int) {
	at := 0
	switch v.Type.Phys() {
	case types.PhysBool:
		at = len(v.Bool)
		v.Bool = append(v.Bool, src.Bool[row])
	case types.PhysInt:
		at = len(v.Int)
		v.Int = append(v.Int, src.Int[row])
	case types.PhysFloat:
		at = len(v.Float)
		v.Float = append(v.Float, src.Float[row])
	case types.PhysStr:
		at = len(v.Str)
		v.Str = append(v.Str, src.Str[row])
	case types.PhysDec:
		at = len(v.Dec)
		v.Dec = append(v.Dec, src.Dec[row])
	case types.PhysInterval:
		at = len(v.Span)
		v.Span = append(v.Span, src.Span[row])
	}
	if src.Nulls.Get(row) {
		v.Nulls.Set(at)
	}
}

// AppendRange appends the values lo to hi-1 of src, which has the same physical type.
func (v *Vector) AppendRange(src *Vector, lo, hi int) {
	at := v.Len()
	switch v.Type.Phys() {
	case types.PhysBool:
		v.Bool = append(v.Bool, src.Bool[lo:hi]...)
	case types.PhysInt:
		v.Int = append(v.Int, src.Int[lo:hi]...)
	case types.PhysFloat:
		v.Float = append(v.Float, src.Float[lo:hi]...)
	case types.PhysStr:
		v.Str = append(v.Str, src.Str[lo:hi]...)
	case types.PhysDec:
		v.Dec = append(v.Dec, src.Dec[lo:hi]...)
	case types.PhysInterval:
		v.Span = append(v.Span, src.Span[lo:hi]...)
	}
	if !src.Nulls.Any() {
		return
	}
	if lo == 0 && at == 0 && hi == src.Len() {
		v.Nulls = append(v.Nulls[:0], src.Nulls...)
		return
	}
	for i := lo; i < hi; i++ {
		if src.Nulls.Get(i) {
			v.Nulls.Set(at + i - lo)
		}
	}
}

// AppendSel appends the values of src at the rows of sel, in that order; src has the same physical
// type.
func (v *Vector) AppendSel(src *Vector, sel []int32) {
	at := v.Len()
	switch v.Type.Phys() {
	case types.PhysBool:
		v.Bool = gather(v.Bool, src.Bool, sel)
	case types.PhysInt:
		v.Int = gather(v.Int, src.Int, sel)
	case types.PhysFloat:
		v.Float = gather(v.Float, src.Float, sel)
	case types.PhysStr:
		v.Str = gather(v.Str, src.Str, sel)
	case types.PhysDec:
		v.Dec = gather(v.Dec, src.Dec, sel)
	case types.PhysInterval:
		v.Span = gather(v.Span, src.Span, sel)
	}
	if !src.Nulls.Any() {
		return
	}
	for i, r := range sel {
		if src.Nulls.Get(int(r)) {
			v.Nulls.Set(at + i)
		}
	}
}

func gather[T any](dst, src []T, sel []int32) []T {
	at := len(dst)
	dst = resize(dst, at+len(sel))
	out := dst[at:]
	out = out[:len(sel)]
	for i, r := range sel {
		out[i] = src[r]
	}
	return dst
}

// Gather gives a new vector of the values at the rows of sel.
func (v *Vector) Gather(sel []int32) *Vector {
	d := NewVector(v.Type, len(sel))
	d.AppendSel(v, sel)
	return d
}

// Slice gives a new vector with a copy of the values lo to hi-1.
func (v *Vector) Slice(lo, hi int) *Vector {
	d := NewVector(v.Type, hi-lo)
	d.AppendRange(v, lo, hi)
	return d
}

// Clone copies the vector.
func (v *Vector) Clone() *Vector { return v.Slice(0, v.Len()) }

// CopyFrom makes v equal to src, type included, in v's memory.
func (v *Vector) CopyFrom(src *Vector) {
	v.ResetType(src.Type)
	v.AppendRange(src, 0, src.Len())
}

// Bytes estimates the memory in use by the values, strings included.
func (v *Vector) Bytes() int {
	n := len(v.Nulls)*8 + len(v.Bool) + 8*len(v.Int) + 8*len(v.Float) + 24*len(v.Dec) + 16*len(v.Span) + 16*len(v.Str)
	for _, s := range v.Str {
		n += len(s)
	}
	return n
}
