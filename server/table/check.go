package table

import (
	"bytes"
	"fmt"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/storage"
)

// Check compares the stored rows of a table, or of a materialized view, with its definition: each row can be
// decoded, its key is that of its columns, and the unique indexes have each row and nothing else. It calls
// problem for what is not so, a bounded number of times, and gives the number of rows.
func (t *Table) Check(sn *storage.Snapshot, problem func(what string)) (rows int64) {
	const most = 10
	bad := 0
	report := func(format string, args ...any) {
		if bad++; bad <= most {
			problem(fmt.Sprintf("%s %s: ", t.Rel.Kind, t.Rel.Name) + fmt.Sprintf(format, args...))
		}
	}
	indexed := make([]int64, len(t.indexes))
	it := sn.Table(t.Arr.ID()).Iterator(nil, nil, false)
	c := vec.NewChunk(t.types, 1)
	var key []byte
	for it.Next() {
		rows++
		c.Reset()
		rest, err := vec.DecodeRow(it.Value(), c.Cols)
		if err != nil || len(rest) > 0 {
			report("row %x cannot be decoded: %v, %d bytes left", it.Key(), err, len(rest))
			continue
		}
		c.PushDiff(1)
		if key = t.Key(key[:0], c, 0); !bytes.Equal(key, it.Key()) {
			report("row %x has the columns of key %x", it.Key(), key)
		}
		for j, u := range t.indexes {
			uk, ok, err := u.entry(c, 0, it.Key())
			if err != nil {
				report("row %x has no entry in the index %s: %v", it.Key(), u.name, err)
				continue
			}
			if !ok {
				continue
			}
			indexed[j]++
			owner, ok, err := sn.Table(u.arr.ID()).Get(uk)
			if err != nil || !ok || !bytes.Equal(owner, it.Key()) {
				report("row %x is not in the index of %s: %v", it.Key(), u.name, err)
			}
		}
	}
	if err := it.Close(); err != nil {
		report("%s", err)
	}
	for j, u := range t.indexes {
		n := int64(0)
		ix := sn.Table(u.arr.ID()).Iterator(nil, nil, false)
		for ix.Next() {
			n++
		}
		if err := ix.Close(); err != nil {
			report("%s: %s", u.name, err)
		} else if n != indexed[j] {
			report("the index of %s has %d entries for %d rows", u.name, n, indexed[j])
		}
	}
	return rows
}

// CheckRecord says whether a log record can be decoded.
func CheckRecord(rec []byte) error {
	_, err := decodeRecord(rec)
	return err
}
