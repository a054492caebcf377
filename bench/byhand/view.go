package byhand

import (
	"slices"
	"unsafe"

	"github.com/weirdb/weir/connector/blackhole"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// View is a result that stays readable in memory, row by row under its key: what a materialized view
// promises, without durability and without changes. Rows are in pages of columns; the bytes of strings are
// copied, so that the view owns what it shows.
//
// The key of the queries that pass bids on is the number of the bid. It is a row's place where every bid
// passes, and found by bisection where only some do. The other queries have a map from the key.
type View struct {
	cols  []types.Type
	pages []page
	rows  int
	byKey map[Key]int // nil: the key is the bid's number
}

// Key is the key of a row: one number or two (window and auction, say).
type Key [2]int64

// page is the rows of one chunk.
type page struct {
	first int // row
	n     int
	bids  []int64 // the numbers of the bids; nil: the same as the rows'
	cols  []keptColumn
}

// keptColumn is a column without NULLs. Numbers that have a common scale are kept as integers.
type keptColumn struct {
	ints  []int64
	scale int
	decs  []types.Decimal
	bytes []byte
	ends  []uint32
}

func keepColumn(v *vec.Vector) keptColumn {
	switch v.Type.Phys() {
	case types.PhysInt:
		return keptColumn{ints: slices.Clone(v.Int)}
	case types.PhysStr:
		size := 0
		for _, s := range v.Str {
			size += len(s)
		}
		k := keptColumn{bytes: make([]byte, 0, size), ends: make([]uint32, len(v.Str))}
		for i, s := range v.Str {
			k.bytes = append(k.bytes, s...)
			k.ends[i] = uint32(len(k.bytes))
		}
		return k
	default:
		k := keptColumn{ints: make([]int64, len(v.Dec))}
		for i, d := range v.Dec {
			coef, scale, ok := d.Small()
			if !ok || i > 0 && scale != k.scale {
				return keptColumn{decs: slices.Clone(v.Dec)}
			}
			k.ints[i], k.scale = coef, scale
		}
		return k
	}
}

// value gives value i of a column of type t.
func (k *keptColumn) value(t types.Type, i int) types.Datum {
	switch {
	case t.Phys() == types.PhysInt:
		return types.DInt(k.ints[i])
	case t.Phys() == types.PhysStr:
		from := uint32(0)
		if i > 0 {
			from = k.ends[i-1]
		}
		b := k.bytes[from:k.ends[i]]
		return types.DStr(unsafe.String(unsafe.SliceData(b), len(b)))
	case k.decs != nil:
		return types.DDec(k.decs[i])
	default:
		return types.DDec(types.NewDecimal(k.ints[i], k.scale))
	}
}

func newView(cols []exec.Column) *View { return &View{cols: typesOf(cols)} }

// add keeps the rows of c. bids are the numbers of their bids, nil if those are the row numbers.
func (v *View) add(c *vec.Chunk, bids []int64) {
	if c.Len() == 0 {
		return
	}
	p := page{first: v.rows, n: c.Len(), bids: slices.Clone(bids), cols: make([]keptColumn, len(c.Cols))}
	for i, col := range c.Cols {
		p.cols[i] = keepColumn(col)
	}
	v.pages = append(v.pages, p)
	v.rows += p.n
}

// index makes the keys of the rows known, in their order.
func (v *View) index(keys []Key) {
	v.byKey = make(map[Key]int, len(keys))
	for i, k := range keys {
		v.byKey[k] = i
	}
}

// Len is the number of rows.
func (v *View) Len() int { return v.rows }

// row finds the row under a key.
func (v *View) row(k Key) (p *page, i int, ok bool) {
	row := int(k[0])
	if v.byKey != nil {
		if row, ok = v.byKey[k]; !ok {
			return nil, 0, false
		}
	} else if len(v.pages) > 0 && v.pages[0].bids != nil {
		n, found := slices.BinarySearchFunc(v.pages, k[0], func(p page, bid int64) int {
			switch {
			case p.bids[p.n-1] < bid:
				return -1
			case p.bids[0] > bid:
				return 1
			}
			return 0
		})
		if !found {
			return nil, 0, false
		}
		i, ok = slices.BinarySearch(v.pages[n].bids, k[0])
		return &v.pages[n], i, ok
	}
	if row < 0 || row >= v.rows {
		return nil, 0, false
	}
	n, found := slices.BinarySearchFunc(v.pages, row, func(p page, row int) int { return p.first - row })
	if !found {
		n--
	}
	return &v.pages[n], row - v.pages[n].first, true
}

// Get gives the row under a key.
func (v *View) Get(k Key) ([]types.Datum, bool) {
	p, i, ok := v.row(k)
	if !ok {
		return nil, false
	}
	row := make([]types.Datum, len(v.cols))
	for c := range row {
		row[c] = p.cols[c].value(v.cols[c], i)
	}
	return row, true
}

// Keys lists the keys, in no particular order.
func (v *View) Keys() []Key {
	keys := make([]Key, 0, v.rows)
	if v.byKey != nil {
		for k := range v.byKey {
			keys = append(keys, k)
		}
		return keys
	}
	for _, p := range v.pages {
		for i := range p.n {
			k := Key{int64(p.first + i)}
			if p.bids != nil {
				k[0] = p.bids[i]
			}
			keys = append(keys, k)
		}
	}
	return keys
}

// Each calls f with all rows, some at a time, until it returns false.
func (v *View) Each(f func(*vec.Chunk) bool) {
	c := vec.NewChunk(v.cols, 0)
	for _, p := range v.pages {
		c.Reset()
		for k, col := range c.Cols {
			for i := range p.n {
				col.AppendDatum(p.cols[k].value(v.cols[k], i))
			}
		}
		c.SetLen(p.n)
		if !f(c) {
			return
		}
	}
}

// Checksum reads all rows.
func (v *View) Checksum() blackhole.Checksum {
	var a blackhole.Adder
	v.Each(func(c *vec.Chunk) bool {
		a.Add(c)
		return true
	})
	return a.Checksum
}
