package op

import (
	"math"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// rowStore keeps rows of fixed types under small numbers (entries), column by column in typed pages.
// Entries that are freed are given out again, the last one first.
type rowStore struct {
	cols []storeCol
	// n is the number of entries ever given out; those not live are in free. The pages have room
	// for room entries.
	n     uint32
	room  uint32
	free  []uint32
	live  bitset
	arena arena
	// refs tells that some column keeps values in the arena.
	refs    bool
	scratch []*vec.Vector // one value per column, for replace
	// rowBytes is the size of the fixed part of a row.
	rowBytes int
}

// storeCol is a column. Which pages are in use follows from its type: words for ints (value),
// floats and bools (bits), intervals (microseconds) and numerics (coefficient); aux for the rest of
// intervals (months and days) and numerics (scale, or -1: encoded in the arena); strs for strings and large
// numerics.
type storeCol struct {
	t     types.Type
	phys  types.Phys
	words paged[int64]
	aux   paged[int64]
	strs  paged[ref]
	nulls bitset
	// hasNulls is false as long as no NULL was stored; then nulls has no pages.
	hasNulls bool
}

func newRowStore(ts []types.Type) *rowStore {
	s := &rowStore{cols: make([]storeCol, len(ts))}
	for i, t := range ts {
		c := &s.cols[i]
		c.t, c.phys = t, t.Phys()
		switch c.phys {
		case types.PhysStr:
			s.refs = true
			s.rowBytes += 12
		case types.PhysDec:
			s.refs = true
			s.rowBytes += 28
		case types.PhysInterval:
			s.rowBytes += 16
		default:
			s.rowBytes += 8
		}
	}
	return s
}

func (s *rowStore) types() []types.Type {
	ts := make([]types.Type, len(s.cols))
	for i := range s.cols {
		ts[i] = s.cols[i].t
	}
	return ts
}

// bytes estimates the memory of live rows.
func (s *rowStore) bytes() int { return s.count()*s.rowBytes + s.arena.total }

// held is the memory that the store has, for live rows and for others that may come.
func (s *rowStore) held() int { return int(s.room)*s.rowBytes + cap(s.free)*4 + s.arena.total }

// count is the number of live rows.
func (s *rowStore) count() int { return int(s.n) - len(s.free) }

// alloc gives a free entry; its columns must be put next.
func (s *rowStore) alloc() uint32 {
	if len(s.free) == 0 {
		s.reserve(1)
	}
	return s.take()
}

// reserve makes room for n calls of take.
func (s *rowStore) reserve(n int) {
	top := s.n + uint32(n)
	if top <= s.room {
		return
	}
	s.room = top
	s.live.ensure(top)
	for i := range s.cols {
		s.cols[i].ensure(top)
	}
}

// take is alloc after reserve.
func (s *rowStore) take() uint32 {
	if k := len(s.free); k > 0 {
		e := s.free[k-1]
		s.free = s.free[:k-1]
		s.live.set(e)
		return e
	}
	e := s.n
	s.n++
	s.live.set(e)
	return e
}

func (c *storeCol) ensure(n uint32) {
	switch c.phys {
	case types.PhysStr:
		c.strs.ensure(n)
	case types.PhysDec:
		c.strs.ensure(n)
		c.words.ensure(n)
		c.aux.ensure(n)
	case types.PhysInterval:
		c.words.ensure(n)
		c.aux.ensure(n)
	default:
		c.words.ensure(n)
	}
	if c.hasNulls {
		c.nulls.ensure(n)
	}
}

// release frees an entry.
func (s *rowStore) release(e uint32) {
	if s.refs {
		for i := range s.cols {
			c := &s.cols[i]
			if c.phys == types.PhysStr && !c.isNull(e) || c.phys == types.PhysDec && !c.isNull(e) && *c.aux.at(e) < 0 {
				s.arena.remove(*c.strs.at(e))
				*c.strs.at(e) = ref{}
			}
		}
	}
	s.live.clear(e)
	s.free = append(s.free, e)
	if s.refs && s.arena.wasteful() {
		s.compact()
	}
}

// compact rewrites the arena with what is live.
func (s *rowStore) compact() {
	old := s.arena
	s.arena = arena{}
	for e := range s.n {
		if !s.live.get(e) {
			continue
		}
		for i := range s.cols {
			c := &s.cols[i]
			if c.phys == types.PhysStr && !c.isNull(e) || c.phys == types.PhysDec && !c.isNull(e) && *c.aux.at(e) < 0 {
				p := c.strs.at(e)
				*p = s.arena.add(old.get(*p))
			}
		}
	}
}

func (c *storeCol) isNull(e uint32) bool { return c.hasNulls && c.nulls.get(e) }

func (s *rowStore) setNull(c *storeCol, e uint32) {
	if !c.hasNulls {
		c.hasNulls = true
		c.nulls.ensure(s.room)
	}
	c.nulls.set(e)
}

// put stores value row of v in column k of a newly allocated entry.
func (s *rowStore) put(k int, e uint32, v *vec.Vector, row int) {
	c := &s.cols[k]
	if v.Nulls.Get(row) {
		s.setNull(c, e)
		return
	}
	if c.hasNulls {
		c.nulls.clear(e)
	}
	switch c.phys {
	case types.PhysBool:
		var b int64
		if v.Bool[row] {
			b = 1
		}
		*c.words.at(e) = b
	case types.PhysInt:
		*c.words.at(e) = v.Int[row]
	case types.PhysFloat:
		*c.words.at(e) = int64(math.Float64bits(v.Float[row]))
	case types.PhysStr:
		*c.strs.at(e) = s.arena.add(v.Str[row])
	case types.PhysDec:
		s.putDec(c, e, v.Dec[row])
	case types.PhysInterval:
		x := v.Span[row]
		*c.words.at(e) = x.Micros
		*c.aux.at(e) = int64(x.Months)<<32 | int64(uint32(x.Days))
	}
}

func (s *rowStore) putDec(c *storeCol, e uint32, d types.Decimal) {
	if coef, scale, ok := d.Small(); ok {
		*c.words.at(e) = coef
		*c.aux.at(e) = int64(scale)
		return
	}
	*c.aux.at(e) = -1
	*c.strs.at(e) = s.arena.add(string(d.AppendBinary(nil)))
}

func (s *rowStore) dec(c *storeCol, e uint32) types.Decimal {
	if scale := *c.aux.at(e); scale >= 0 {
		return types.NewDecimal(*c.words.at(e), int(scale))
	}
	d, _, err := types.DecodeDecimal([]byte(s.arena.get(*c.strs.at(e))))
	if err != nil {
		panic("op: numeric in the arena does not decode: " + err.Error())
	}
	return d
}

func (c *storeCol) span(e uint32) types.Span {
	a := *c.aux.at(e)
	return types.Span{Months: int32(a >> 32), Days: int32(a), Micros: *c.words.at(e)}
}

// putRows stores, for each i, the value rows[i] of v in column k of entry ents[i].
func (s *rowStore) putRows(k int, ents []uint32, v *vec.Vector, rows []int32) {
	c := &s.cols[k]
	if c.phys == types.PhysInt && !c.hasNulls && !v.HasNulls() {
		for i, r := range rows {
			*c.words.at(ents[i]) = v.Int[r]
		}
		return
	}
	for i, r := range rows {
		s.put(k, ents[i], v, int(r))
	}
}

// datum gives the value of column k of entry e.
func (s *rowStore) datum(k int, e uint32) types.Datum {
	c := &s.cols[k]
	if c.isNull(e) {
		return types.Null
	}
	switch c.phys {
	case types.PhysBool, types.PhysInt:
		return types.DInt(*c.words.at(e))
	case types.PhysFloat:
		return types.DFloat(math.Float64frombits(uint64(*c.words.at(e))))
	case types.PhysStr:
		return types.DStr(s.arena.get(*c.strs.at(e)))
	case types.PhysDec:
		return types.DDec(s.dec(c, e))
	default:
		return types.DSpan(c.span(e))
	}
}

// gather appends column k of the entries to dst; the entry none gives NULL.
func (s *rowStore) gather(k int, ents []uint32, dst *vec.Vector) {
	c := &s.cols[k]
	at := dst.Len()
	dst.Grow(len(ents))
	switch c.phys {
	case types.PhysInt:
		for _, e := range ents {
			var x int64
			if e != none {
				x = *c.words.at(e)
			}
			dst.Int = append(dst.Int, x)
		}
	case types.PhysBool:
		for _, e := range ents {
			dst.Bool = append(dst.Bool, e != none && *c.words.at(e) != 0)
		}
	case types.PhysFloat:
		for _, e := range ents {
			var x int64
			if e != none {
				x = *c.words.at(e)
			}
			dst.Float = append(dst.Float, math.Float64frombits(uint64(x)))
		}
	case types.PhysStr:
		for _, e := range ents {
			x := ""
			if e != none && !c.isNull(e) {
				x = s.arena.get(*c.strs.at(e))
			}
			dst.Str = append(dst.Str, x)
		}
	case types.PhysDec:
		for _, e := range ents {
			var x types.Decimal
			if e != none && !c.isNull(e) {
				x = s.dec(c, e)
			}
			dst.Dec = append(dst.Dec, x)
		}
	case types.PhysInterval:
		for _, e := range ents {
			var x types.Span
			if e != none {
				x = c.span(e)
			}
			dst.Span = append(dst.Span, x)
		}
	}
	for i, e := range ents {
		if e == none || c.hasNulls && c.nulls.get(e) {
			dst.Nulls.Set(at + i)
		}
	}
}

// equal tells whether column k of entry e and value row of v are not distinct in SQL's sense, or
// with exact, the same to the last bit.
func (s *rowStore) equal(k int, e uint32, v *vec.Vector, row int, exact bool) bool {
	c := &s.cols[k]
	vn, cn := v.Nulls.Get(row), c.isNull(e)
	if vn || cn {
		return vn == cn
	}
	switch c.phys {
	case types.PhysInt:
		return *c.words.at(e) == v.Int[row]
	case types.PhysBool:
		return (*c.words.at(e) != 0) == v.Bool[row]
	case types.PhysStr:
		x, y := s.arena.get(*c.strs.at(e)), v.Str[row]
		if x == y {
			return true
		}
		if exact || c.t.Kind == types.Text {
			return false
		}
		return vec.EqualDatum(c.t, types.DStr(x), types.DStr(y))
	default:
		a, b := s.datum(k, e), v.Datum(row)
		if exact {
			return vec.SameDatum(c.t, a, b)
		}
		return vec.EqualDatum(c.t, a, b)
	}
}

// equalEnts tells whether column k of two entries is not distinct in SQL's sense.
func (s *rowStore) equalEnts(k int, a, b uint32) bool {
	c := &s.cols[k]
	if c.isNull(a) || c.isNull(b) {
		return c.isNull(a) && c.isNull(b)
	}
	if c.phys == types.PhysInt {
		return *c.words.at(a) == *c.words.at(b)
	}
	return vec.EqualDatum(c.t, s.datum(k, a), s.datum(k, b))
}

// compare orders two entries by the keys, whose Col is a column of the store.
func (s *rowStore) compare(a, b uint32, keys []vec.SortKey) int {
	for _, k := range keys {
		c := &s.cols[k.Col]
		an, bn := c.isNull(a), c.isNull(b)
		if an || bn {
			if an == bn {
				continue
			}
			if an == k.NullsFirst {
				return -1
			}
			return 1
		}
		r := 0
		if c.phys == types.PhysInt {
			x, y := *c.words.at(a), *c.words.at(b)
			if x < y {
				r = -1
			} else if x > y {
				r = 1
			}
		} else {
			r = vec.CompareDatum(c.t, s.datum(k.Col, a), s.datum(k.Col, b))
		}
		if r != 0 {
			if k.Desc {
				return -r
			}
			return r
		}
	}
	return 0
}

// replace changes column k of a live entry.
func (s *rowStore) replace(k int, e uint32, d types.Datum) {
	c := &s.cols[k]
	if c.phys == types.PhysStr && !c.isNull(e) || c.phys == types.PhysDec && !c.isNull(e) && *c.aux.at(e) < 0 {
		s.arena.remove(*c.strs.at(e))
		*c.strs.at(e) = ref{}
	}
	if s.scratch == nil {
		s.scratch = make([]*vec.Vector, len(s.cols))
	}
	if s.scratch[k] == nil {
		s.scratch[k] = vec.NewVector(c.t, 1)
	}
	s.scratch[k].Reset()
	s.scratch[k].AppendDatum(d)
	s.put(k, e, s.scratch[k], 0)
}

// compareRow orders entry e and row i of c by the keys.
func (s *rowStore) compareRow(e uint32, c *vec.Chunk, i int, keys []vec.SortKey) int {
	for _, k := range keys {
		col, v := &s.cols[k.Col], c.Cols[k.Col]
		an, bn := col.isNull(e), v.Nulls.Get(i)
		if an || bn {
			if an == bn {
				continue
			}
			if an == k.NullsFirst {
				return -1
			}
			return 1
		}
		r := 0
		if col.phys == types.PhysInt {
			x, y := *col.words.at(e), v.Int[i]
			if x < y {
				r = -1
			} else if x > y {
				r = 1
			}
		} else {
			r = vec.CompareDatum(col.t, s.datum(k.Col, e), v.Datum(i))
		}
		if r != 0 {
			if k.Desc {
				return -r
			}
			return r
		}
	}
	return 0
}

// sameRow tells whether two entries are the same to the last bit.
func (s *rowStore) sameRow(a, b uint32) bool {
	for k := range s.cols {
		if !vec.SameDatum(s.cols[k].t, s.datum(k, a), s.datum(k, b)) {
			return false
		}
	}
	return true
}
