package storage

import (
	"encoding/binary"
	"errors"
)

// Epoch is a positive, growing number; every input change belongs to exactly one. Zero means
// "before everything".
type Epoch uint64

// TableID names a key range in the store: a state table or an arrangement. Ids are given out by
// the catalog and never used again after a drop.
type TableID uint32

// LogPos is the position of a record in the log: the first record ever has position 1, and the
// positions of records grow by one. Zero means "before every record".
type LogPos uint64

// Errors that callers may want to tell apart.
var (
	// ErrClosed is returned by operations on a closed store or log.
	ErrClosed = errors.New("storage: closed")
	// ErrEpochGone is returned for an epoch whose version is released or was never complete.
	ErrEpochGone = errors.New("storage: epoch is not readable")
	// ErrFailed is returned once the engine has met an error after which it cannot go on: the disk
	// refused a write of Pebble's log. Close the store and end the process; the next one recovers,
	// and what was acknowledged is safe. (In the same process the failed engine may still hold
	// its files.) A full disk does not come to this: see Config.ReserveBytes.
	ErrFailed = errors.New("storage: engine failed")
)

// Key kinds: the first byte of every key in Pebble.
const (
	kindMeta   = 'm' // caller's metadata: 'm' key
	kindSystem = 's' // the store's own records: 's' name
	kindTable  = 't' // table contents: 't' id(4, big endian) key
)

// tablePrefixLen is the length of what precedes a table's own key.
const tablePrefixLen = 5

func appendTablePrefix(dst []byte, id TableID) []byte {
	dst = append(dst, kindTable)
	return binary.BigEndian.AppendUint32(dst, uint32(id))
}

func tablePrefix(id TableID) []byte { return appendTablePrefix(make([]byte, 0, 64), id) }

func tableEnd(id TableID) []byte {
	if id == ^TableID(0) {
		return []byte{kindTable + 1}
	}
	return appendTablePrefix(nil, id+1)
}

// PrefixEnd gives the smallest key that is greater than every key with the given prefix, or nil
// when there is none (the prefix is empty or all 0xff), which bounds of this package take as
// "no upper bound".
func PrefixEnd(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xff {
			end := append([]byte(nil), prefix[:i+1]...)
			end[i]++
			return end
		}
	}
	return nil
}
