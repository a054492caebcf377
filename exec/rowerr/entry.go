package rowerr

import (
	"encoding/binary"
	"errors"

	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/storage"
)

// Entry is an expression that fails on a row, or without Row on all rows that have no entry of their own.
type Entry struct {
	Operator, Expression string
	Code                 sqlerr.Code
	Message              string
	// Row shows the row; it may be shortened.
	Row string
	// Count is how often the row is there.
	Count int64
	// First is when the expression first failed on the row, and Last when it last did for one more such row. Times are
	// timestamptz values.
	FirstEpoch, LastEpoch storage.Epoch
	FirstTime, LastTime   int64
}

// Err is what failed.
func (e *Entry) Err() *sqlerr.Error {
	err := sqlerr.Newf(e.Code, "%s", e.Message)
	if e.Row != "" {
		err.Detail = "Row: " + e.Row
	}
	return err
}

var errCorrupt = errors.New("an entry of row errors is corrupt")

func encodeTotal(total, listed int64) []byte {
	return binary.AppendVarint(binary.AppendVarint(nil, total), listed)
}

func decodeTotal(b []byte) (total, listed int64, err error) {
	d := decoder{b: b}
	total, listed = d.int(), d.int()
	return total, listed, d.end()
}

func (e *Entry) encode() []byte {
	var b []byte
	for _, x := range []int64{e.Count, int64(e.FirstEpoch), int64(e.LastEpoch), e.FirstTime, e.LastTime} {
		b = binary.AppendVarint(b, x)
	}
	for _, s := range []string{e.Operator, e.Expression, string(e.Code), e.Message, e.Row} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	return b
}

func decodeEntry(b []byte) (e Entry, err error) {
	d := decoder{b: b}
	e.Count, e.FirstEpoch, e.LastEpoch, e.FirstTime, e.LastTime = d.int(), storage.Epoch(d.int()), storage.Epoch(d.int()), d.int(), d.int()
	e.Operator, e.Expression, e.Code, e.Message, e.Row = d.string(), d.string(), sqlerr.Code(d.string()), d.string(), d.string()
	return e, d.end()
}

// decoder reads numbers and strings until something is wrong.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) int() int64 {
	x, n := binary.Varint(d.b)
	if n <= 0 {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[n:]
	return x
}

func (d *decoder) string() string {
	x, n := binary.Uvarint(d.b)
	if n <= 0 || x > uint64(len(d.b)-n) {
		d.bad, d.b = true, nil
		return ""
	}
	s := string(d.b[n : n+int(x)])
	d.b = d.b[n+int(x):]
	return s
}

func (d *decoder) end() error {
	if d.bad || len(d.b) > 0 {
		return errCorrupt
	}
	return nil
}

// Total is how many errors a version of the arrangement has.
func Total(v *storage.Version) (int64, error) {
	val, ok, err := v.Get(totalKey)
	if err != nil || !ok {
		return 0, err
	}
	total, _, err := decodeTotal(val)
	return total, err
}

// Each calls fn for the entries of a version until it returns an error, those with rows first, and otherwise in an order that
// depends on nothing but the entries.
func Each(v *storage.Version, fn func(e Entry) error) error {
	it := v.Iterator([]byte{keyRow}, nil, false)
	for it.Next() {
		e, err := decodeEntry(it.Value())
		if err == nil && e.Count != 0 {
			err = fn(e)
		}
		if err != nil {
			return errors.Join(err, it.Close())
		}
	}
	return it.Close()
}

// One gives one of the entries of a version, always the same.
func One(v *storage.Version) (one Entry, ok bool, err error) {
	found := errors.New("found")
	err = Each(v, func(e Entry) error {
		if e.Count < 0 {
			return nil
		}
		one, ok = e, true
		return found
	})
	if ok {
		err = nil
	}
	return one, ok, err
}
