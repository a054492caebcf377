package expr

import "github.com/weirdb/weir/exec/vec"

// orBitmaps gives a | b in the memory of dst, which must be neither.
func orBitmaps(dst, a, b vec.Bitmap) vec.Bitmap {
	if len(a) < len(b) {
		a, b = b, a
	}
	dst = append(dst[:0], a...)
	for i, w := range b {
		dst[i] |= w
	}
	return dst
}

// orInto adds the rows of b to dst.
func orInto(dst *vec.Bitmap, b vec.Bitmap) {
	for len(*dst) < len(b) {
		*dst = append(*dst, 0)
	}
	for i, w := range b {
		(*dst)[i] |= w
	}
}

// setFirst adds rows 0 to n-1.
func setFirst(b *vec.Bitmap, n int) {
	for i := range n >> 6 {
		if i < len(*b) {
			(*b)[i] = ^uint64(0)
		} else {
			*b = append(*b, ^uint64(0))
		}
	}
	if r := uint(n) & 63; r != 0 {
		i := n >> 6
		if i >= len(*b) {
			*b = append(*b, 0)
		}
		(*b)[i] |= 1<<r - 1
	}
}

// clearRow removes row i.
func clearRow(b vec.Bitmap, i int) {
	if w := i >> 6; w < len(b) {
		b[w] &^= 1 << (uint(i) & 63)
	}
}

// unionNulls sets out's NULLs to the union of those of args.
func unionNulls(out *vec.Vector, args ...*vec.Vector) {
	out.Nulls = out.Nulls[:0]
	for _, a := range args {
		if len(a.Nulls) > 0 {
			orInto(&out.Nulls, a.Nulls)
		}
	}
}
