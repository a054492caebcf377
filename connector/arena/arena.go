// Package arena makes many small strings with few allocations.
//
// A string that is cut from a block keeps the whole block in memory, so blocks are small: an
// operator that keeps one short string of a million pays for at most one block.
package arena

import "strings"

// blockSize is a compromise between allocations and what a kept string pins.
const blockSize = 8 << 10

// Strings hands out strings with copied bytes. The zero value is ready. It is used by one goroutine.
type Strings struct {
	b strings.Builder
}

// Copy gives a string with the bytes of p.
func (a *Strings) Copy(p []byte) string {
	if len(p) == 0 {
		return ""
	}
	off := a.reserve(len(p))
	if off < 0 {
		return string(p)
	}
	a.b.Write(p)
	return a.b.String()[off:]
}

// Join gives the concatenation of parts.
func (a *Strings) Join(parts ...string) string {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	off := a.reserve(n)
	if off < 0 {
		return strings.Join(parts, "")
	}
	for _, p := range parts {
		a.b.WriteString(p)
	}
	return a.b.String()[off:]
}

// reserve makes room for n bytes in the current block and gives where they will begin, or -1 if
// they are so many that they are better alone.
func (a *Strings) reserve(n int) int {
	if n > blockSize/8 {
		return -1
	}
	// A Builder never moves its bytes while it stays within its capacity, so the strings that
	// were cut from it before stay valid; a full block is left to them.
	if a.b.Cap()-a.b.Len() < n {
		a.b = strings.Builder{}
		a.b.Grow(blockSize)
	}
	return a.b.Len()
}
