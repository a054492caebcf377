package file

import (
	"fmt"

	"github.com/weirdb/weir/sql/sqlerr"
)

// tailSize is how many bytes before an offset its checksum covers.
const tailSize = 512

// offset is a position in a file, between two records.
type offset struct {
	// bytes, lines and rows are what lies before the position.
	bytes, lines, rows int64
	// inode identifies the file, 0 where the system has none.
	inode uint64
	// sum is the checksum of the last tailSize bytes before the position, fewer if there are fewer.
	sum uint64
	// ended says that the reader took this position for the end, so that nothing follows even if the
	// file grows: its last line may have been half of one.
	ended bool
}

// The text form has a version number in front.
const offsetForm = "1 bytes=%d lines=%d rows=%d inode=%d sum=%x ended=%t"

func (o offset) encode() []byte {
	return fmt.Appendf(nil, offsetForm, o.bytes, o.lines, o.rows, o.inode, o.sum, o.ended)
}

func decodeOffset(b []byte) (offset, error) {
	var o offset
	n, err := fmt.Sscanf(string(b), offsetForm, &o.bytes, &o.lines, &o.rows, &o.inode, &o.sum, &o.ended)
	if err != nil || n != 6 || o.bytes < 0 || o.lines < 0 || o.rows < 0 {
		return offset{}, sqlerr.Newf(sqlerr.DataCorrupted, "invalid offset %q of a file source", b)
	}
	return o, nil
}

// checksum is FNV-1a.
func checksum(b []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range b {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}
