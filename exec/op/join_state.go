package op

import (
	"encoding/binary"
	"slices"
	"unsafe"

	"github.com/weirdb/weir/exec/expr"
	"github.com/weirdb/weir/exec/vec"
)

// State of a HashJoin. A row's state key is the vnode, the join key and the row's identity; the value is
// the stored columns, and for multisets the multiplicity. Of an append-only side the rows that came
// under a key between two checkpoints are one value, under the number of the first of them, or the number of such values before
// it if rows are only kept until they meet their only match. All rows of a key are read together, both
// sides, when the key is first asked for.

// remove deletes row r. hash is that of its identity.
func (j *HashJoin) remove(port int, s *joinSide, r uint32, rec *joinRec, hash uint64) {
	if *s.flags.at(r)&rowStored != 0 {
		// At once: the key may be evicted and read again before the next checkpoint.
		s.st.Delete(j.rowKeys(s, []uint32{r}, nil))
	}
	s.unlink(r, &rec.head[port], hash)
}

// rowKeys calls fn with the state key of each of a few rows, and gives the last one.
func (j *HashJoin) rowKeys(s *joinSide, rows []uint32, fn func(i int, key []byte)) (key []byte) {
	ents := make([]uint32, len(rows))
	for i, r := range rows {
		ents[i] = *s.ent.at(r)
	}
	j.keyBuf.Reset()
	for k, v := range j.keyBuf.Cols {
		j.keyStore.gather(k, ents, v)
	}
	if s.chunk == nil {
		s.chunk = vec.NewChunk(s.store.types(), 0)
	}
	s.chunk.Reset()
	for k, v := range s.chunk.Cols {
		s.store.gather(k, rows, v)
	}
	s.prepareVnodes(j.keyBuf.Cols, len(rows))
	for i := range rows {
		s.keys2.key(j.keyBuf.Cols, i, false)
		key = s.keys2.more(s.chunk.Cols[:s.ident], i, s.multiset)
		if fn != nil {
			fn(i, key)
		}
	}
	return key
}

func (s *joinSide) prepareVnodes(keyCols []*vec.Vector, n int) {
	s.storeV = s.storeV[:0]
	for _, d := range s.distKeys {
		s.storeV = append(s.storeV, keyCols[d])
	}
	s.keys2.prepare(s.storeV, n)
}

// checkpoint writes the rows that came or changed since the last one. Rows that went were deleted from
// the table at once, so one that came back under its old key is put after that.
func (j *HashJoin) checkpoint(s *joinSide) {
	if s.st == nil {
		return
	}
	if s.numbered {
		j.checkpointNumbered(s)
		return
	}
	rows := s.dirty[:0]
	for _, r := range s.dirty {
		// A row may be listed twice, or be gone and its place free or taken by another one.
		if f := s.flags.at(r); *f&rowDirty != 0 && s.store.live.get(r) {
			*f = *f&^rowDirty | rowStored
			rows = append(rows, r)
		}
	}
	for len(rows) > 0 {
		n := min(len(rows), vec.ChunkSize)
		piece := rows[:n]
		j.rowKeys(s, piece, func(i int, key []byte) {
			s.val = vec.EncodeRow(s.val[:0], s.chunk.Cols, i)
			if s.multiset {
				s.val = binary.AppendVarint(s.val, *s.mult.at(piece[i]))
			}
			s.st.Put(key, s.val)
		})
		rows = rows[n:]
	}
	s.dirty = s.dirty[:0]
}

// checkpointNumbered writes the new rows of each key as one value, oldest first.
func (j *HashJoin) checkpointNumbered(s *joinSide) {
	port := 0
	if s == j.sides[1] {
		port = 1
	}
	if s.chunk == nil {
		s.chunk = vec.NewChunk(s.store.types(), 0)
	}
	var rows []uint32
	ents := s.dirty
	for len(ents) > 0 {
		// As many keys as have about a chunk of rows.
		rows = rows[:0]
		n := 0
		for n < len(ents) && len(rows) < vec.ChunkSize {
			rec := j.recs.at(ents[n])
			at := len(rows)
			r := rec.head[port]
			for range rec.rows[port] - rec.saved[port] {
				rows = append(rows, r-1)
				r = *s.next.at(r - 1)
			}
			slices.Reverse(rows[at:])
			n++
		}
		j.keyBuf.Reset()
		for k, v := range j.keyBuf.Cols {
			j.keyStore.gather(k, ents[:n], v)
		}
		s.prepareVnodes(j.keyBuf.Cols, n)
		s.chunk.Reset()
		for k, v := range s.chunk.Cols {
			s.store.gather(k, rows, v)
		}
		at := 0
		for i, e := range ents[:n] {
			rec := j.recs.at(e)
			count := rec.rows[port] - rec.saved[port]
			if count == 0 {
				continue // they have met their match since
			}
			number := rec.saved[port]
			if s.brief {
				number = *s.pieces.at(e)
				*s.pieces.at(e)++
			}
			s.keys2.key(j.keyBuf.Cols, i, false)
			s.keys2.buf = binary.BigEndian.AppendUint32(s.keys2.buf, number)
			s.val = binary.AppendUvarint(s.val[:0], uint64(count))
			for range count {
				s.val = vec.EncodeRow(s.val, s.chunk.Cols, at)
				at++
			}
			s.st.Insert(s.keys2.buf, s.val)
			rec.saved[port] = rec.rows[port]
		}
		ents = ents[n:]
	}
	s.dirty, s.fresh = s.dirty[:0], 0
}

// deletePieces deletes from the state table what a brief side has under a key.
func (j *HashJoin) deletePieces(s *joinSide, e uint32) {
	n := s.pieces.at(e)
	if *n == 0 {
		return
	}
	j.keyBuf.Reset()
	for k, v := range j.keyBuf.Cols {
		j.keyStore.gather(k, []uint32{e}, v)
	}
	s.prepareVnodes(j.keyBuf.Cols, 1)
	key := s.keys2.key(j.keyBuf.Cols, 0, false)
	for i := range *n {
		s.st.Delete(binary.BigEndian.AppendUint32(slices.Clip(key), i))
	}
	*n = 0
}

// load reads the rows of new entries: those of the listed rows of the key columns.
func (j *HashJoin) load(cols []*vec.Vector, n int, ents []uint32, added []int32) error {
	for port, s := range j.sides {
		if s.shared != nil {
			if err := j.loadShared(port, s, cols, ents, added); err != nil {
				return err
			}
			continue
		}
		if s.st == nil || !j.cold {
			continue
		}
		s.prepareVnodes(cols, n)
		hashes := append([]uint64(nil), s.keys2.hashes...)
		for _, row := range added {
			e := ents[row]
			s.keys2.hashes = append(s.keys2.hashes[:0], hashes...)
			key := append([]byte(nil), s.keys2.key(cols, int(row), false)...)
			if err := j.loadSide(port, s, e, key); err != nil {
				return err
			}
		}
	}
	for _, row := range added {
		if j.residual != nil {
			if err := j.countMatches(ents[row]); err != nil {
				return err
			}
		}
		rec := j.recs.at(ents[row])
		if rec.head[0] == 0 && rec.head[1] == 0 {
			j.empties = append(j.empties, ents[row])
		}
	}
	return nil
}

func (j *HashJoin) loadSide(port int, s *joinSide, e uint32, prefix []byte) error {
	if s.numbered {
		// The first rows of a key are under number 0: if there are none, a Get says so without reading.
		if _, ok, err := s.st.Get(binary.BigEndian.AppendUint32(slices.Clip(prefix), 0)); err != nil || !ok {
			return err
		}
	}
	in := vec.NewChunk(s.store.types(), 0)
	var mults []int64
	err := s.st.Scan(prefix, func(_, val []byte) error {
		count := uint64(1)
		if s.numbered {
			n := 0
			if count, n = binary.Uvarint(val); n <= 0 {
				return vec.ErrCorruptRow
			}
			val = val[n:]
		}
		if s.brief {
			*s.pieces.at(e)++
		}
		for range count {
			var err error
			if val, err = vec.DecodeRow(val, in.Cols); err != nil {
				return err
			}
			m := int64(1)
			if s.multiset {
				if m, val, err = takeVarint(val); err != nil {
					return err
				}
			}
			mults = append(mults, m)
			in.PushDiff(1)
		}
		if len(val) > 0 {
			return vec.ErrCorruptRow
		}
		return nil
	})
	if err != nil {
		return err
	}
	rec := j.recs.at(e)
	rows := make([]uint32, in.Len())
	for i := range rows {
		r := s.alloc(e, &rec.head[port])
		for k, v := range in.Cols {
			s.store.put(k, r, v, i)
		}
		if s.multiset {
			*s.mult.at(r) = mults[i]
		}
		if s.numbered {
			rec.rows[port]++
			rec.saved[port]++
		} else {
			*s.flags.at(r) = rowStored
		}
		rec.n[port] += mults[i]
		rows[i] = r
	}
	if s.byIdent != nil {
		s.eachHash(rows, func(r uint32, h uint64) { s.byIdent.insert(r, h) })
	}
	return nil
}

// countMatches computes the numbers of matches of all rows of a key.
func (j *HashJoin) countMatches(e uint32) error {
	l, r := j.sides[0], j.sides[1]
	if !l.useDeg && !r.useDeg {
		return nil
	}
	rec := j.recs.at(e)
	var ls, rs []uint32
	// What fails was reported when the rows came.
	ectx := expr.EvalContext{Env: j.evalCtx.Env, RowError: expr.Ignore}
	eval := func() error {
		if len(ls) == 0 {
			return nil
		}
		nl := len(j.cfg.Left)
		j.pairs.Reset()
		for _, col := range j.resCols {
			if col < nl {
				l.store.gather(l.at[col], ls, j.pairs.Cols[col])
			} else {
				r.store.gather(r.at[col-nl], rs, j.pairs.Cols[col])
			}
		}
		j.pairs.SetLen(len(ls))
		var err error
		if j.passed, err = j.residual.EvalFilter(&ectx, j.pairs, nil, j.passed[:0]); err != nil {
			return err
		}
		for _, p := range j.passed {
			if l.useDeg {
				*l.deg.at(ls[p]) += r.multiplicity(rs[p])
			}
			if r.useDeg {
				*r.deg.at(rs[p]) += l.multiplicity(ls[p])
			}
		}
		ls, rs = ls[:0], rs[:0]
		return nil
	}
	for x := rec.head[0]; x != 0; x = *l.next.at(x - 1) {
		for y := rec.head[1]; y != 0; y = *r.next.at(y - 1) {
			ls, rs = append(ls, x-1), append(rs, y-1)
			if len(ls) >= vec.ChunkSize {
				if err := eval(); err != nil {
					return err
				}
			}
		}
	}
	return eval()
}

// dropEmpty forgets keys without rows.
func (j *HashJoin) dropEmpty() {
	ents := j.empties[:0]
	for _, e := range j.empties {
		rec := j.recs.at(e)
		if j.keyStore.live.get(e) && rec.head == [2]uint32{} && rec.n[0] >= 0 {
			rec.n[0] = -1 // listed
			ents = append(ents, e)
		}
	}
	j.dropKeys(ents)
	j.empties = j.empties[:0]
}

func (j *HashJoin) dropKeys(ents []uint32) {
	for len(ents) > 0 {
		n := min(len(ents), vec.ChunkSize)
		j.keyBuf.Reset()
		for k, v := range j.keyBuf.Cols {
			j.keyStore.gather(k, ents[:n], v)
		}
		j.hashes = vec.HashRows(j.keyBuf.Cols, n, j.hashes)
		for i, e := range ents[:n] {
			j.idx.remove(e, j.hashes[i])
			j.keyStore.release(e)
		}
		ents = ents[n:]
	}
}

func (j *HashJoin) bytes() int {
	return j.sides[0].bytes() + j.sides[1].bytes() + j.keyStore.bytes() + j.keyStore.count()*24 + j.idx.bytes()
}

// account says what the join holds, and evicts what is too much.
func (j *HashJoin) account() error {
	held := j.keyStore.held() + int(j.keyStore.room)*int(unsafe.Sizeof(joinRec{})) + j.idx.bytes()
	dirty := 0
	for _, s := range j.sides {
		held += s.held()
		if n := max(len(s.dirty), s.fresh); n > 0 && s.st != nil {
			dirty += n * (s.bytes()/max(s.store.count(), 1) + 1)
		}
	}
	if err := j.mem.Set(int64(held), int64(dirty)); err != nil {
		return err
	}
	j.evict(j.budget())
	return nil
}

// restart gives back memory after evictions, which leave holes that only new rows fill: if far more is held
// than the budget, everything is forgotten. It comes after a checkpoint.
func (j *HashJoin) restart() {
	budget := j.budget()
	if budget <= 0 || !j.reloads() || len(j.empties) > 0 {
		return
	}
	held := j.keyStore.held() + j.idx.bytes() + j.sides[0].held() + j.sides[1].held()
	if int64(held) <= 2*budget+minHeld {
		return
	}
	for _, s := range j.sides {
		s.restart()
	}
	j.keyStore = newRowStore(j.keyStore.types())
	j.idx = newKeyIndex(j.keyStore, len(j.cfg.LeftKeys))
	j.recs = paged[joinRec]{}
	j.used = bitset{}
	j.hand = 0
	j.cold = true
}

// reloads tells whether rows that are forgotten can be read again.
func (j *HashJoin) reloads() bool {
	for _, s := range j.sides {
		if s.st == nil && s.shared == nil {
			return false
		}
	}
	return true
}

// evict forgets keys whose rows are all in the state tables until the memory is below the budget.
func (j *HashJoin) evict(budget int64) {
	if budget <= 0 || !j.reloads() || j.stuck || int64(j.bytes()) <= budget {
		return
	}
	var victims []uint32
	need := int64(j.bytes()) - budget
	perKey := need/int64(max(j.keyStore.count(), 1)) + 1
	j.used.ensure(j.keyStore.n)
	for range 2 * int(j.keyStore.n) {
		if j.hand >= j.keyStore.n {
			j.hand = 0
		}
		e := j.hand
		j.hand++
		if !j.keyStore.live.get(e) {
			continue
		}
		if j.used.get(e) {
			j.used.clear(e)
			continue
		}
		if !j.clean(e) {
			continue
		}
		j.used.set(e) // not twice
		freed := j.forget(e)
		victims = append(victims, e)
		if need -= max(freed, perKey); need <= 0 {
			break
		}
	}
	j.stuck = need > 0
	if len(victims) > 0 {
		j.cold = true
		j.dropKeys(victims)
	}
}

// clean tells whether everything under a key is in the state tables.
func (j *HashJoin) clean(e uint32) bool {
	rec := j.recs.at(e)
	for p, s := range j.sides {
		if s.shared != nil {
			if s.shared.isTouched(e) {
				return false
			}
			continue
		}
		if s.numbered {
			if rec.rows[p] != rec.saved[p] {
				return false
			}
			continue
		}
		for r := rec.head[p]; r != 0; r = *s.next.at(r - 1) {
			if *s.flags.at(r - 1)&rowDirty != 0 {
				return false
			}
		}
	}
	return true
}

// forget frees the rows of a key and tells how many bytes that are about.
func (j *HashJoin) forget(e uint32) int64 {
	rec := j.recs.at(e)
	var freed int64
	for p, s := range j.sides {
		var rows []uint32
		for r := rec.head[p]; r != 0; r = *s.next.at(r - 1) {
			rows = append(rows, r-1)
		}
		freed += int64(len(rows) * (s.store.rowBytes + 18))
		if s.byIdent == nil {
			for _, r := range rows {
				s.unlink(r, &rec.head[p], 0)
			}
			continue
		}
		s.eachHash(rows, func(r uint32, h uint64) { s.unlink(r, &rec.head[p], h) })
	}
	return freed + 40
}
