package storage

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
)

// Sorting a delta by key.
//
//  1. Eight bytes of each key, as a number, go into an array next to the entry's number, so that
//     what is compared lies together and not all over an arena.
//  2. The array is sorted by that number: by radix when it is long, leaving out the bytes that all
//     keys share (keys begin with a vnode and often with the zeros of a small integer).
//  3. Runs of equal numbers are sorted by the next eight bytes; a key that ends there, by
//     comparing what is left.
//
// Cost: about a quarter of sorting with comparisons at a million keys; no worse than that for keys
// with long common prefixes.

// sortItem is eight bytes of a key and the number of its entry.
type sortItem struct {
	u uint64
	i uint32
}

// radixFrom is the length from which counting pays.
const radixFrom = 512

func (d *Delta) sortByKey() []uint32 {
	items := make([]sortItem, d.n)
	for i := range items {
		items[i].i = uint32(i)
	}
	var buf []sortItem
	if d.n >= radixFrom {
		buf = make([]sortItem, d.n)
	}
	d.sortFrom(items, buf, 0)
	out := make([]uint32, len(items))
	for i := range items {
		out[i] = items[i].i
	}
	return out
}

// sortFrom sorts items, whose keys agree in the first depth bytes. buf is at least as long if
// items is long enough for a radix sort.
func (d *Delta) sortFrom(items, buf []sortItem, depth int) {
	if len(items) <= 8 {
		d.sortRest(items, depth)
		return
	}
	ends := false // some key ends in these eight bytes
	for k := range items {
		rest := d.keyOf(d.at(items[k].i))[depth:]
		if len(rest) >= 8 {
			items[k].u = binary.BigEndian.Uint64(rest)
			continue
		}
		ends = true
		var pad [8]byte
		copy(pad[:], rest)
		items[k].u = binary.BigEndian.Uint64(pad[:])
	}
	if len(items) >= radixFrom {
		radixSort(items, buf)
	} else {
		slices.SortFunc(items, func(a, b sortItem) int { return cmp.Compare(a.u, b.u) })
	}
	for from := 0; from < len(items); {
		to := from + 1
		for to < len(items) && items[to].u == items[from].u {
			to++
		}
		switch {
		case to-from == 1:
		case ends:
			d.sortRest(items[from:to], depth)
		default:
			d.sortFrom(items[from:to], buf, depth+8)
		}
		from = to
	}
}

// sortRest sorts by comparing what follows depth.
func (d *Delta) sortRest(items []sortItem, depth int) {
	slices.SortFunc(items, func(a, b sortItem) int {
		return bytes.Compare(d.keyOf(d.at(a.i))[depth:], d.keyOf(d.at(b.i))[depth:])
	})
}

// radixSort sorts by u, byte by byte from the last one. buf is at least as long as items.
func radixSort(items, buf []sortItem) {
	var counts [8][256]uint32
	for _, it := range items {
		for b := range counts {
			counts[b][byte(it.u>>(8*b))]++
		}
	}
	from, to := items, buf[:len(items)]
	for b := range counts {
		c := &counts[b]
		if c[byte(items[0].u>>(8*b))] == uint32(len(items)) {
			continue // the same in all keys
		}
		sum := uint32(0)
		for v := range c {
			c[v], sum = sum, sum+c[v]
		}
		for _, it := range from {
			v := byte(it.u >> (8 * b))
			to[c[v]] = it
			c[v]++
		}
		from, to = to, from
	}
	if &from[0] != &items[0] {
		copy(items, from)
	}
}
