package op

import (
	"slices"

	"github.com/weirdb/weir/exec/vec"
)

// State of a Window: a row's state key is the vnode, the partition and the row key, the value its input columns. The
// rows of a partition are read together when it is first asked for, and their results are made again.

// eachKey calls fn with the state keys of at most a chunk of rows.
func (w *Window) eachKey(rows []uint32, fn func(i int, key []byte)) {
	w.rowBuf.Reset()
	for k, v := range w.rowBuf.Cols {
		w.rows.gather(k, rows, v)
	}
	part := pick(w.rowBuf, w.cfg.PartitionBy, nil)
	w.identV = pick(w.rowBuf, w.ident, w.identV)
	w.prepareVnodes(part, len(rows))
	for i := range rows {
		w.keys.key(part, i, false)
		fn(i, w.keys.more(w.identV, i, false))
	}
}

func (w *Window) prepareVnodes(part []*vec.Vector, n int) {
	w.distV = w.distV[:0]
	for _, d := range w.nDist {
		w.distV = append(w.distV, part[d])
	}
	w.keys.prepare(w.distV, n)
}

func (w *Window) checkpoint() {
	rows := w.dirty[:0]
	for _, r := range w.dirty {
		if f := w.flags.at(r); *f&rowDirty != 0 && w.rows.live.get(r) {
			*f = *f&^rowDirty | rowStored
			w.recs.at(*w.partOf.at(r)).dirty--
			rows = append(rows, r)
		}
	}
	for len(rows) > 0 {
		n := min(len(rows), vec.ChunkSize)
		w.eachKey(rows[:n], func(i int, key []byte) {
			w.val = vec.EncodeRow(w.val[:0], w.rowBuf.Cols, i)
			w.st.Put(key, w.val)
		})
		rows = rows[n:]
	}
	w.dirty = w.dirty[:0]
}

// load reads the partitions that lookup has just made.
func (w *Window) load(n int) error {
	for _, row := range w.idx.added {
		*w.recs.at(w.ents[row]) = winPart{}
	}
	if !w.cold {
		return nil
	}
	w.prepareVnodes(w.keyV, n)
	in := vec.NewChunk(w.cfg.In, 0)
	for _, row := range w.idx.added {
		e := w.ents[row]
		var rows []uint32
		in.Reset()
		take := func() {
			for i := range in.Len() {
				r := w.newRow(in, i, e)
				*w.flags.at(r) = rowStored | rowFresh
				rows = append(rows, r)
			}
			in.Reset()
		}
		err := w.st.Scan(w.keys.key(w.keyV, int(row), false), func(_, val []byte) error {
			rest, err := vec.DecodeRow(val, in.Cols)
			if err == nil && len(rest) > 0 {
				err = vec.ErrCorruptRow
			}
			if err != nil {
				return err
			}
			if in.PushDiff(1); in.Len() >= vec.ChunkSize {
				take()
			}
			return nil
		})
		if err != nil {
			return err
		}
		if take(); len(rows) == 0 {
			continue
		}
		slices.SortFunc(rows, w.compare)
		p := w.recs.at(e)
		w.buildTree(p, rows)
		w.begin(p)
		w.loading = true
		err = w.all()
		w.loading = false
		if err != nil {
			return err
		}
		for _, r := range rows {
			*w.flags.at(r) &^= rowFresh
		}
		w.cur = nil
	}
	return nil
}

func (w *Window) dropParts(ents []uint32) {
	for len(ents) > 0 {
		n := min(len(ents), vec.ChunkSize)
		w.keyBuf.Reset()
		for k, v := range w.keyBuf.Cols {
			w.parts.gather(k, ents[:n], v)
		}
		w.hashes = vec.HashRows(w.keyBuf.Cols, n, w.hashes)
		for i, e := range ents[:n] {
			w.recs.at(e).tree.drop(w)
			*w.recs.at(e) = winPart{}
			w.idx.remove(e, w.hashes[i])
			w.parts.release(e)
		}
		ents = ents[n:]
	}
}

// winRowBytes is about what a row needs besides its columns, winPartBytes a partition.
const (
	winRowBytes  = 16
	winPartBytes = 160
)

func (w *Window) sumBytes() int {
	n := 0
	for _, a := range w.aggs {
		if a.agg != nil {
			n += a.agg.bytes()
		}
	}
	return n + w.sums.store.count()*w.sums.words.w*8
}

func (w *Window) bytes() int {
	return w.rows.bytes() + w.rows.count()*winRowBytes + w.parts.bytes() + w.parts.count()*winPartBytes + w.idx.bytes() + w.sumBytes()
}

// held is the memory that the partitions have, in use or not.
func (w *Window) held() int {
	return w.rows.held() + int(w.rows.room)*winRowBytes + w.parts.held() + int(w.parts.room)*winPartBytes + w.idx.bytes() + w.sumBytes()
}

// account says what the partitions hold, and evicts what is too much.
func (w *Window) account() error {
	dirty := 0
	if n := len(w.dirty) + len(w.touched); n > 0 && w.st != nil {
		dirty = n * (w.bytes()/max(w.rows.count(), 1) + 1)
	}
	if err := w.mem.Set(int64(w.held()), int64(dirty)); err != nil {
		return err
	}
	w.evict(w.budget())
	return nil
}

// restart gives back memory after evictions, which leave holes that only new rows fill: if far more is held
// than the budget, everything is forgotten. It comes after a checkpoint.
func (w *Window) restart() {
	budget := w.budget()
	if budget <= 0 || w.st == nil || int64(w.held()) <= 2*budget+minHeld {
		return
	}
	for e := range w.parts.n {
		if w.parts.live.get(e) {
			w.recs.at(e).tree.drop(w)
		}
	}
	w.forgetAll()
	w.cold = true
	clear(w.fails)
}

// forgetAll drops everything that is in memory.
func (w *Window) forgetAll() {
	w.rows, w.parts = newRowStore(w.schema), newRowStore(w.parts.types())
	w.idx = newKeyIndex(w.parts, len(w.cfg.PartitionBy))
	w.flags, w.partOf, w.recs = paged[uint8]{}, paged[uint32]{}, paged[winPart]{}
	w.hand = 0
}

// evict forgets partitions that are in the state table until the memory is below the budget.
func (w *Window) evict(budget int64) {
	if budget <= 0 || w.st == nil || w.stuck || int64(w.bytes()) <= budget {
		return
	}
	need := int64(w.bytes()) - budget
	var victims []uint32
	for range 2 * int(w.parts.n) {
		if w.hand >= w.parts.n {
			w.hand = 0
		}
		e := w.hand
		w.hand++
		if !w.parts.live.get(e) {
			continue
		}
		p := w.recs.at(e)
		if p.touched || p.ref || p.dirty > 0 {
			p.ref = false
			continue
		}
		need -= int64(p.tree.len()*(w.rows.rowBytes+winRowBytes) + winPartBytes)
		p.tree.each(0, p.tree.len(), func(rows []uint32, _ int) {
			for _, r := range rows {
				*w.flags.at(r) = 0
				w.forget(r)
				w.rows.release(r)
			}
		})
		p.touched = true // not twice
		victims = append(victims, e)
		if need <= 0 {
			break
		}
	}
	w.stuck = need > 0
	if len(victims) > 0 {
		w.cold = true
		w.dropParts(victims)
	}
}
