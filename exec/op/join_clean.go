package op

import (
	"slices"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
)

// Cleaning of a HashJoin by watermarks. A key column with watermarks on both sides: no row comes or goes under a key below
// the smaller one. An interval: a left row whose time is below right's watermark + Lo will not be matched any more, and if
// it is below left's watermark it is not taken back either; likewise for right rows.

// Watermark keeps the watermark until the barrier.
func (j *HashJoin) Watermark(port int, w exec.Watermark) error {
	j.marks[port].set(w)
	return nil
}

// keyMark is the watermark of key column k, the smaller of both sides'.
func (j *HashJoin) keyMark(k int) (int64, bool) {
	l, okL := j.marks[0].get(j.cfg.LeftKeys[k])
	r, okR := j.marks[1].get(j.cfg.RightKeys[k])
	return min(l, r), okL && okR
}

// bounds gives, by side, below which time rows neither match new ones nor are taken back; ok by side.
func (j *HashJoin) bounds() (b [2]int64, ok [2]bool) {
	iv := j.cfg.Interval
	if iv == nil {
		return b, ok
	}
	l, okL := j.marks[0].get(iv.LeftCol)
	r, okR := j.marks[1].get(iv.RightCol)
	if !okL || !okR {
		return b, ok
	}
	b[0], ok[0] = min(l, r+iv.Lo), iv.HasLo
	b[1], ok[1] = min(r, l-iv.Hi), iv.HasHi
	return b, ok
}

// forgettable is bounds for rows that may be forgotten: where matches are counted, also those that a row has had
// must be forgotten before it.
func (j *HashJoin) forgettable() (b [2]int64, ok [2]bool) {
	if b, ok = j.bounds(); ok == [2]bool{} {
		return b, ok
	}
	iv := j.cfg.Interval
	l, r := j.sides[0].useDeg, j.sides[1].useDeg
	switch {
	case l && r:
		return b, [2]bool{}
	case l:
		ok[1] = ok[0] && ok[1]
		b[1] = min(b[1], b[0]-iv.Hi)
	case r:
		ok[0] = ok[0] && ok[1]
		b[0] = min(b[0], b[1]+iv.Lo)
	}
	return b, ok
}

// emitMarks forwards what the inputs' watermarks promise of the output.
func (j *HashJoin) emitMarks() error {
	b, ok := j.bounds()
	for i, c := range j.outCols {
		w, found := int64(0), false
		for k := range j.cfg.LeftKeys {
			if m, has := j.keyMark(k); has && (c.side == 0 && c.col == j.cfg.LeftKeys[k] || c.side == 1 && c.col == j.cfg.RightKeys[k]) {
				w, found = m, true
			}
		}
		if iv := j.cfg.Interval; !found && iv != nil && ok[c.side] && c.col == [2]int{iv.LeftCol, iv.RightCol}[c.side] {
			w, found = b[c.side], true
		}
		if !found {
			continue
		}
		if err := j.out.Watermark(exec.Watermark{Col: i, Value: w}); err != nil {
			return err
		}
	}
	return nil
}

// sweep forgets what has passed the watermarks, when it is time.
func (j *HashJoin) sweep(bar exec.Barrier) error {
	if j.cfg.BuildRight || j.shared != nil || !j.sweeper.due(bar, j.sides[0].st) {
		return nil
	}
	done, left := false, 0
	for k := range j.cfg.LeftKeys {
		if w, ok := j.keyMark(k); ok && !inexactType(j.keyStore.types()[k]) {
			n, err := j.sweepKeys(k, w)
			if err != nil {
				return err
			}
			done, left = true, max(left, n)
		}
	}
	b, ok := j.forgettable()
	for p, s := range j.sides {
		if ok[p] {
			n, err := j.sweepRows(p, s, [2]int{j.cfg.Interval.LeftCol, j.cfg.Interval.RightCol}[p], b[p])
			if err != nil {
				return err
			}
			done, left = true, left+n
		}
	}
	if done {
		j.sweeper.done(max(left, j.sides[0].store.count()+j.sides[1].store.count()))
	}
	return nil
}

// sweepKeys forgets the keys whose column k is below w, and gives about how much is left.
func (j *HashJoin) sweepKeys(k int, w int64) (left int, err error) {
	for _, s := range j.sides {
		n, err := deleteBelow(s.st, j.keyStore.types(), k, w)
		if err != nil {
			return 0, err
		}
		left += n
	}
	var gone []uint32
	col := &j.keyStore.cols[k]
	for e := range j.keyStore.n {
		if j.keyStore.live.get(e) && !col.isNull(e) && *col.words.at(e) < w {
			j.forget(e)
			gone = append(gone, e)
		}
	}
	j.dropKeys(gone)
	return left, nil
}

// sweepRows forgets the rows of a side whose input column col is below w.
func (j *HashJoin) sweepRows(port int, s *joinSide, col int, w int64) (left int, err error) {
	at := s.at[col]
	if s.st != nil {
		in := vec.NewChunk(s.store.types(), 1)
		var gone [][]byte
		err := s.st.Scan(nil, func(key, val []byte) error {
			in.Reset()
			if _, err := vec.DecodeRow(val, in.Cols); err != nil {
				return err
			}
			if v := in.Cols[at]; !v.IsNull(0) && v.Int[0] < w {
				gone = append(gone, slices.Clone(key))
			} else {
				left++
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
		for _, key := range gone {
			s.st.Delete(key)
		}
	}
	c := &s.store.cols[at]
	var rows []uint32
	for r := range s.store.n {
		if s.store.live.get(r) && !c.isNull(r) && *c.words.at(r) < w {
			rows = append(rows, r)
		}
	}
	drop := func(r uint32, h uint64) {
		e := *s.ent.at(r)
		rec := j.recs.at(e)
		rec.n[port] -= s.multiplicity(r)
		s.unlink(r, &rec.head[port], h)
		if rec.head == [2]uint32{} {
			j.empties = append(j.empties, e)
		}
	}
	if s.byIdent != nil {
		s.eachHash(rows, drop)
	} else {
		for _, r := range rows {
			drop(r, 0)
		}
	}
	j.dropEmpty()
	return left, nil
}
