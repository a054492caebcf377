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

var pow10 = func() (p [19]int64) {
	x := int64(1)
	for i := range p {
		p[i] = x
		x *= 10
	}
	return p
}()

func compareDecimal(a, b types.Decimal) int {
	ac, as, aok := a.Small()
	bc, bs, bok := b.Small()
	if aok && bok {
		if as == bs {
			return cmp.Compare(ac, bc)
		}
		if as < bs {
			if c, ok := scaleUp(ac, bs-as); ok {
				return cmp.Compare(c, bc)
			}
		} else if c, ok := scaleUp(bc, as-bs); ok {
			return cmp.Compare(ac, c)
		}
	}
	return compareBigDecimal(a, b)
}

// scaleUp gives c * 10^n if it fits.
func scaleUp(c int64, n int) (int64, bool) {
	if c == 0 {
		return 0, true
	}
	if n >= len(pow10) {
		return 0, false
	}
	hi, lo := bits.Mul64(uint64(c), uint64(pow10[n]))
	if c < 0 {
		hi -= uint64(pow10[n])
	}
	if int64(hi) != int64(lo)>>63 {
		return 0, false
	}
	return int64(lo), true
}

func hashDecimal(d types.Decimal) uint64 {
	c, s, ok := d.Small()
	if !ok {
		return hashBigDecimal(d)
	}
	if c == 0 {
		return hashSmallDecimal(0, 0)
	}
	for c%10 == 0 {
		c /= 10
		s--
	}
	return hashSmallDecimal(c, s)
}

// hashSmallDecimal hashes coef * 10^-scale, where coef does not end in zero.
func hashSmallDecimal(coef int64, scale int) uint64 {
	return mix(uint64(coef)^hashK1, uint64(int64(scale))^hashK3)
}
