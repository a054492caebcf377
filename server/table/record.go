package table

import (
	"encoding/binary"
	"errors"
	"math"
)

// A log record is what one transaction changed:
//
//	record = version(1) tables
//	tables = uvarint count, then for each: uvarint table id, uvarint changes, change*
//	change = key old new             each uvarint length+1 and bytes; 0: there is none
//
// Rows are in the row codec of exec/vec with the columns that the table had at the checkpoint before
// the record: a change of columns makes a checkpoint.
//
// A record may begin with a catalog, see definitionsVersion.
const recordVersion = 1

var errRecord = errors.New("corrupt log record")

// change is one row's change. A nil Old means that the key is new, a nil New that it is deleted.
type change struct{ Key, Old, New []byte }

func appendBytes(dst, b []byte) []byte {
	if b == nil {
		return append(dst, 0)
	}
	dst = binary.AppendUvarint(dst, uint64(len(b))+1)
	return append(dst, b...)
}

func cutBytes(b []byte) (val, rest []byte, err error) {
	n, k := binary.Uvarint(b)
	if k <= 0 {
		return nil, nil, errRecord
	}
	b = b[k:]
	if n == 0 {
		return nil, b, nil
	}
	if n-1 > uint64(len(b)) {
		return nil, nil, errRecord
	}
	return b[: n-1 : n-1], b[n-1:], nil
}

func cutUvarint(b []byte) (uint64, []byte, error) {
	n, k := binary.Uvarint(b)
	if k <= 0 {
		return 0, nil, errRecord
	}
	return n, b[k:], nil
}

// tableChanges is the part of a record that concerns one table.
type tableChanges struct {
	id      uint32
	changes []change
	bulk    []bulk // inserts after changes; a record that is read has none
}

func encodeRecord(ts []tableChanges) []byte {
	size := 16
	for _, t := range ts {
		for _, c := range t.changes {
			size += len(c.Key) + len(c.Old) + len(c.New) + 12
		}
		for _, bk := range t.bulk {
			size += len(bk.Buf) + 4*len(bk.Ends)
		}
	}
	b := append(make([]byte, 0, size), recordVersion)
	b = binary.AppendUvarint(b, uint64(len(ts)))
	for _, t := range ts {
		b = binary.AppendUvarint(b, uint64(t.id))
		n := len(t.changes)
		for _, bk := range t.bulk {
			n += len(bk.Ends) / 2
		}
		b = binary.AppendUvarint(b, uint64(n))
		for _, c := range t.changes {
			b = appendBytes(b, c.Key)
			b = appendBytes(b, c.Old)
			b = appendBytes(b, c.New)
		}
		for _, bk := range t.bulk {
			bk.each(func(key, row []byte) {
				b = appendBytes(b, key)
				b = appendBytes(b, nil)
				b = appendBytes(b, row)
			})
		}
	}
	return b
}

// decodeRecord reads a record; the result refers to b.
func decodeRecord(b []byte) ([]tableChanges, error) {
	b, err := tablesOf(b)
	if err != nil {
		return nil, err
	}
	n, b, err := cutUvarint(b)
	if err != nil || n > uint64(len(b)) {
		return nil, errRecord
	}
	ts := make([]tableChanges, n)
	for i := range ts {
		var id, m uint64
		if id, b, err = cutUvarint(b); err != nil || id > math.MaxUint32 {
			return nil, errRecord
		}
		if m, b, err = cutUvarint(b); err != nil || m > uint64(len(b)) {
			return nil, errRecord
		}
		ts[i] = tableChanges{id: uint32(id), changes: make([]change, m)}
		for j := range ts[i].changes {
			c := &ts[i].changes[j]
			if c.Key, b, err = cutBytes(b); err != nil {
				return nil, err
			}
			if c.Old, b, err = cutBytes(b); err != nil {
				return nil, err
			}
			if c.New, b, err = cutBytes(b); err != nil {
				return nil, err
			}
		}
	}
	if len(b) != 0 {
		return nil, errRecord
	}
	return ts, nil
}
