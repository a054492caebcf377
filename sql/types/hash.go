package types

import (
	"encoding/binary"
	"math/bits"
)

// mix folds the 128-bit product of two words; the building block of all hashes here.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0xa0761d6478bd642f, b^0xe7037ed1a0b428db)
	return hi ^ lo
}

// HashString hashes a byte string. It depends on the bytes only, never on the process, so that
// hashes may decide where a row lives on disk.
func HashString(s string) uint64 {
	n := uint64(len(s))
	h := uint64(0x8ebc6af09c88c6e3)
	for len(s) > 16 {
		h = mix(load64(s)^h, load64(s[8:])^0x589965cc75374cc3)
		s = s[16:]
	}
	var a, b uint64
	switch {
	case len(s) >= 8:
		a, b = load64(s), load64(s[len(s)-8:])
	case len(s) >= 4:
		a, b = uint64(load32(s)), uint64(load32(s[len(s)-4:]))
	case len(s) > 0:
		a = uint64(s[0])<<16 | uint64(s[len(s)/2])<<8 | uint64(s[len(s)-1])
	}
	return mix(n^0x1d8e4e27c47d124f, mix(a^h, b^0x2d358dccaa6c78a5))
}

func load64(s string) uint64 {
	return binary.LittleEndian.Uint64([]byte(s[:8]))
}

func load32(s string) uint32 {
	return binary.LittleEndian.Uint32([]byte(s[:4]))
}
