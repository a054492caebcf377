package vec

import (
	"cmp"
	"math/bits"
	"strings"

	"github.com/weirdb/weir/sql/types"
)

// This file says what equality, order and hash mean for the types whose values have several
// representations of one value.

// normalise gives the function that maps strings of kind k to one representative of those equal to
// it, or nil if equality is equality of bytes.
func normalise(k types.Kind) func(string) string {
	switch k {
	case types.Char:
		return trimBlanks
	default:
		return nil
	}
}

func trimBlanks(s string) string { return strings.TrimRight(s, " ") }

func equalStr(k types.Kind, a, b string) bool {
	switch k {
	case types.Char:
		return trimBlanks(a) == trimBlanks(b)
	default:
		return a == b
	}
}

func compareStr(k types.Kind, a, b string) int {
	switch k {
	case types.Char:
		return strings.Compare(trimBlanks(a), trimBlanks(b))
	default:
		return strings.Compare(a, b)
	}
}

// spanLength is the canonical length of an interval in microseconds, as 128 bits: a month is 30
// days, a day 24 hours.
func spanLength(s types.Span) (hi int64, lo uint64) {
	const day = 24 * 3600 * 1000000
	days := int64(s.Months)*30 + int64(s.Days)
	h, l := bits.Mul64(uint64(days), day)
	if days < 0 {
		h -= day // the sign extension of days times day
	}
	l, carry := bits.Add64(l, uint64(s.Micros), 0)
	h, _ = bits.Add64(h, uint64(s.Micros>>63), carry)
	return int64(h), l
}

func compareSpan(a, b types.Span) int {
	ah, al := spanLength(a)
	bh, bl := spanLength(b)
	if ah != bh {
		return cmp.Compare(ah, bh)
	}
	return cmp.Compare(al, bl)
}

func hashSpan(s types.Span) uint64 {
	hi, lo := spanLength(s)
	return mix(lo^hashK3, uint64(hi)^hashK2)
}

func compareDecimal(a, b types.Decimal) int { return a.Cmp(b) }

func hashDecimal(d types.Decimal) uint64 { return d.Hash() }

func sameDecimal(a, b types.Decimal) bool {
	ac, as, aok := a.Small()
	bc, bs, bok := b.Small()
	if aok && bok {
		return ac == bc && as == bs
	}
	return aok == bok && a.Scale() == b.Scale() && a.Cmp(b) == 0
}
