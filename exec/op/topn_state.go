package op

import (
	"encoding/binary"

	"github.com/weirdb/weir/exec/vec"
)

// State of a TopN: a row's state key is the vnode, the group and the row's identity, the value its
// columns and its multiplicity. The rows of a group are read together when it is first asked for. Where a group
// has a single row that is only ever replaced, the key is the vnode and the group: nothing has to be deleted.

// eachKey calls fn with the state keys of at most a chunk of rows.
func (t *TopN) eachKey(rows []uint32, fn func(i int, key []byte)) {
	t.rowBuf.Reset()
	for k, v := range t.rowBuf.Cols {
		t.rows.gather(k, rows, v)
	}
	group := pick(t.rowBuf, t.cfg.GroupBy, nil)
	t.identV = pick(t.rowBuf, t.ident, t.identV)
	t.prepareVnodes(group, len(rows))
	for i := range rows {
		key := t.keys.key(group, i, false)
		if t.single {
			fn(i, key)
			continue
		}
		fn(i, t.keys.more(t.identV, i, t.cfg.RowKey == nil))
	}
}

func (t *TopN) prepareVnodes(group []*vec.Vector, n int) {
	t.distV = t.distV[:0]
	for _, d := range t.distKeys {
		t.distV = append(t.distV, group[d])
	}
	t.keys.prepare(t.distV, n)
}

func (t *TopN) checkpoint() {
	rows := t.dirty[:0]
	for _, r := range t.dirty {
		if f := t.flags.at(r); *f&rowDirty != 0 && t.rows.live.get(r) {
			if t.single && *f&rowStored != 0 {
				*f |= rowReplaces
			}
			*f = *f&^rowDirty | rowStored
			rows = append(rows, r)
		}
	}
	for len(rows) > 0 {
		n := min(len(rows), vec.ChunkSize)
		piece := rows[:n]
		t.eachKey(piece, func(i int, key []byte) {
			t.val = vec.EncodeRow(t.val[:0], t.rowBuf.Cols, i)
			m := int64(1)
			if t.cfg.RowKey == nil {
				_, m = t.recs.at(*t.groupOf.at(piece[i])).rows.count(t.topRow(t.rowBuf, i, piece[i]), t.cmp)
			}
			t.val = binary.AppendVarint(t.val, m)
			if !t.single {
				t.st.Put(key, t.val)
				return
			}
			// A group has one dirty row at the most, and what deletes its key (sweep) comes after this.
			if *t.flags.at(piece[i])&rowReplaces != 0 {
				t.st.Append(key, t.val)
			} else {
				t.st.Insert(key, t.val)
			}
		})
		rows = rows[n:]
	}
	t.dirty = t.dirty[:0]
}

// load reads the rows of the groups that lookup has just made.
func (t *TopN) load(n int) error {
	for _, row := range t.idx.added {
		*t.recs.at(t.ents[row]) = topGroup{}
	}
	if !t.cold {
		return nil
	}
	t.prepareVnodes(t.keyV, n)
	in := vec.NewChunk(t.cfg.In, 0)
	for _, row := range t.idx.added {
		e := t.ents[row]
		g := t.recs.at(e)
		in.Reset()
		var mults []int64
		take := func(_, val []byte) error {
			rest, err := vec.DecodeRow(val, in.Cols)
			if err != nil {
				return err
			}
			m, rest, err := takeVarint(rest)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return vec.ErrCorruptRow
			}
			mults = append(mults, m)
			in.PushDiff(1)
			return nil
		}
		key := t.keys.key(t.keyV, int(row), false)
		if t.single {
			val, ok, err := t.st.Get(key)
			if ok && err == nil {
				err = take(key, val)
			}
			if err != nil {
				return err
			}
		} else if err := t.st.Scan(key, take); err != nil {
			return err
		}
		for i, m := range mults {
			r := t.rows.alloc()
			t.flags.ensure(t.rows.n)
			t.groupOf.ensure(t.rows.n)
			for k, v := range in.Cols {
				t.rows.put(k, r, v, i)
			}
			*t.flags.at(r) = rowStored
			*t.groupOf.at(r) = e
			g.rows.add(t.topRow(in, i, r), m, t.cmp)
			g.total += m
		}
	}
	return nil
}

func (t *TopN) dropGroups(ents []uint32) {
	for len(ents) > 0 {
		n := min(len(ents), vec.ChunkSize)
		t.keyBuf.Reset()
		for k, v := range t.keyBuf.Cols {
			t.groups.gather(k, ents[:n], v)
		}
		t.hashes = vec.HashRows(t.keyBuf.Cols, n, t.hashes)
		for i, e := range ents[:n] {
			*t.recs.at(e) = topGroup{}
			t.idx.remove(e, t.hashes[i])
			t.groups.release(e)
		}
		ents = ents[n:]
	}
}

func (t *TopN) bytes() int {
	return t.rows.bytes() + t.rows.count()*24 + t.groups.bytes() + t.groups.count()*96 + t.idx.bytes()
}

// held is the memory that the groups have, in use or not.
func (t *TopN) held() int {
	return t.rows.held() + int(t.rows.room)*24 + t.groups.held() + int(t.groups.room)*96 + t.idx.bytes()
}

// account says what the groups hold, and evicts what is too much.
func (t *TopN) account() error {
	dirty := 0
	if n := len(t.dirty) + len(t.touched); n > 0 && t.st != nil {
		dirty = n * (t.bytes()/max(t.rows.count(), 1) + 1)
	}
	if err := t.mem.Set(int64(t.held()), int64(dirty)); err != nil {
		return err
	}
	t.evict(t.budget())
	return nil
}

// restart gives back memory after evictions, which leave holes that only new rows fill: if far more is held
// than the budget, everything is forgotten. It comes after a checkpoint.
func (t *TopN) restart() {
	budget := t.budget()
	if budget <= 0 || t.st == nil || int64(t.held()) <= 2*budget+minHeld {
		return
	}
	t.forget()
	t.cold = true
}

// forget drops everything that is in memory.
func (t *TopN) forget() {
	t.rows, t.groups = newRowStore(t.cfg.In), newRowStore(t.groups.types())
	t.idx = newKeyIndex(t.groups, len(t.cfg.GroupBy))
	t.flags, t.groupOf, t.recs = paged[uint8]{}, paged[uint32]{}, paged[topGroup]{}
	t.hand = 0
}

// evict forgets groups that are in the state table until the memory is below the budget.
func (t *TopN) evict(budget int64) {
	if budget <= 0 || t.st == nil || t.stuck || int64(t.bytes()) <= budget {
		return
	}
	need := int64(t.bytes()) - budget
	var victims []uint32
	for range 2 * int(t.groups.n) {
		if t.hand >= t.groups.n {
			t.hand = 0
		}
		e := t.hand
		t.hand++
		if !t.groups.live.get(e) {
			continue
		}
		g := t.recs.at(e)
		if g.touched || g.ref {
			g.ref = false
			continue
		}
		clean := true
		g.rows.each(func(r topRow, _ int64) { clean = clean && *t.flags.at(r.row)&rowDirty == 0 })
		if !clean {
			continue
		}
		g.rows.each(func(r topRow, _ int64) {
			*t.flags.at(r.row) = 0
			t.rows.release(r.row)
		})
		need -= int64(g.rows.n*(t.rows.rowBytes+24) + 96)
		g.rows = multiset[topRow]{}
		g.touched = true // not twice
		victims = append(victims, e)
		if need <= 0 {
			break
		}
	}
	t.stuck = need > 0
	if len(victims) > 0 {
		t.cold = true
		t.dropGroups(victims)
	}
}
