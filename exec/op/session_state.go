package op

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
)

// State of a Session: a row's state key is the vnode, the partition, the time and the row's identity, the value its
// columns and how often it is there. The rows of a partition are read together when it is first asked for. Sessions are
// not stored: they follow from the rows.

// eachKey calls fn with the state keys of at most a chunk of rows.
func (s *Session) eachKey(rows []uint32, fn func(i int, key []byte)) {
	s.rowBuf.Reset()
	for k, v := range s.rowBuf.Cols {
		s.rows.gather(k, rows, v)
	}
	part := pick(s.rowBuf, s.cfg.Partition, nil)
	s.identV = pick(s.rowBuf, s.ident, s.identV)
	s.prepareVnodes(part, len(rows))
	for i := range rows {
		s.keys.key(part, i, false)
		fn(i, s.keys.more(s.identV, i, s.cfg.RowKey == nil))
	}
}

func (s *Session) prepareVnodes(part []*vec.Vector, n int) {
	s.distV = s.distV[:0]
	for _, d := range s.distKeys {
		s.distV = append(s.distV, part[d])
	}
	s.keys.prepare(s.distV, n)
}

func (s *Session) checkpoint() {
	rows := s.dirty[:0]
	for _, r := range s.dirty {
		if f := s.flags.at(r); *f&rowDirty != 0 && s.rows.live.get(r) {
			*f = *f&^rowDirty | rowStored
			rows = append(rows, r)
		}
	}
	for len(rows) > 0 {
		n := min(len(rows), vec.ChunkSize)
		piece := rows[:n]
		s.eachKey(piece, func(i int, key []byte) {
			s.val = vec.EncodeRow(s.val[:0], s.rowBuf.Cols, i)
			s.val = binary.AppendVarint(s.val, s.info.at(piece[i]).n)
			s.st.Put(key, s.val)
		})
		rows = rows[n:]
	}
	s.dirty = s.dirty[:0]
}

// load reads the rows of the partitions that a lookup has just made.
func (s *Session) load(n int) error {
	for _, row := range s.idx.added {
		*s.recs.at(s.ents[row]) = sessionPart{}
	}
	if !s.cold {
		return nil
	}
	s.prepareVnodes(s.keyV, n)
	in := vec.NewChunk(s.cfg.In, 0)
	for _, row := range s.idx.added {
		g := s.recs.at(s.ents[row])
		in.Reset()
		var mults []int64
		err := s.st.Scan(s.keys.key(s.keyV, int(row), false), func(_, val []byte) error {
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
		})
		if err != nil {
			return err
		}
		for i, m := range mults {
			r := s.newRow(in, i)
			*s.flags.at(r) = rowStored
			x := s.info.at(r)
			x.n, x.shown = m, m
			g.rows.add(s.itemOf(r), 1, s.cmp)
		}
		s.region = s.region[:0]
		g.rows.each(func(it sessionItem, _ int64) { s.region = append(s.region, it.row) })
		s.assign(s.region, func(_ uint32, x *sessionRow, start, end int64) { x.start, x.end = start, end })
	}
	return nil
}

func (s *Session) dropGroups(ents []uint32) {
	for len(ents) > 0 {
		n := min(len(ents), vec.ChunkSize)
		s.keyBuf.Reset()
		for k, v := range s.keyBuf.Cols {
			s.groups.gather(k, ents[:n], v)
		}
		s.hashes = vec.HashRows(s.keyBuf.Cols, n, s.hashes)
		for i, e := range ents[:n] {
			*s.recs.at(e) = sessionPart{}
			s.idx.remove(e, s.hashes[i])
			s.groups.release(e)
		}
		ents = ents[n:]
	}
}

// sessionRowBytes and sessionPartBytes are what a row and a partition take besides their columns.
const (
	sessionRowBytes  = 24 + 48
	sessionPartBytes = 96
)

func (s *Session) bytes() int {
	return s.rows.bytes() + s.rows.count()*sessionRowBytes + s.groups.bytes() + s.groups.count()*sessionPartBytes + s.idx.bytes()
}

// held is the memory that the partitions have, in use or not.
func (s *Session) held() int {
	return s.rows.held() + int(s.rows.room)*sessionRowBytes + s.groups.held() + int(s.groups.room)*sessionPartBytes + s.idx.bytes()
}

// account says what the partitions hold, and evicts what is too much.
func (s *Session) account() error {
	dirty := 0
	if n := len(s.dirty) + len(s.touched); n > 0 && s.st != nil {
		dirty = n * (s.bytes()/max(s.rows.count(), 1) + 1)
	}
	if err := s.mem.Set(int64(s.held()), int64(dirty)); err != nil {
		return err
	}
	s.evict(s.budget())
	return nil
}

// restart gives back memory after evictions, which leave holes that only new rows fill: if far more is held
// than the budget, everything is forgotten. It comes after a checkpoint.
func (s *Session) restart() {
	budget := s.budget()
	if budget <= 0 || s.st == nil || int64(s.held()) <= 2*budget+minHeld {
		return
	}
	s.rows, s.groups = newRowStore(s.cfg.In), newRowStore(s.groups.types())
	s.idx = newKeyIndex(s.groups, len(s.cfg.Partition))
	s.flags, s.info, s.recs = paged[uint8]{}, paged[sessionRow]{}, paged[sessionPart]{}
	s.hand = 0
	s.cold = true
}

// evict forgets partitions that are in the state table until the memory is below the budget.
func (s *Session) evict(budget int64) {
	if budget <= 0 || s.st == nil || s.stuck || int64(s.bytes()) <= budget {
		return
	}
	need := int64(s.bytes()) - budget
	var victims []uint32
	for range 2 * int(s.groups.n) {
		if s.hand >= s.groups.n {
			s.hand = 0
		}
		e := s.hand
		s.hand++
		if !s.groups.live.get(e) {
			continue
		}
		g := s.recs.at(e)
		if g.touched || g.ref {
			g.ref = false
			continue
		}
		clean := true
		g.rows.each(func(it sessionItem, _ int64) { clean = clean && *s.flags.at(it.row)&rowDirty == 0 })
		if !clean {
			continue
		}
		g.rows.each(func(it sessionItem, _ int64) {
			*s.flags.at(it.row) = 0
			s.rows.release(it.row)
		})
		need -= int64(g.rows.n*(s.rows.rowBytes+sessionRowBytes) + sessionPartBytes)
		g.rows = multiset[sessionItem]{}
		g.touched = true // not twice
		victims = append(victims, e)
		if need <= 0 {
			break
		}
	}
	s.stuck = need > 0
	if len(victims) > 0 {
		s.cold = true
		s.dropGroups(victims)
	}
}

// closeSessions forgets, now and then, the rows of sessions that have ended: there can be no further change in them. A row
// that ended one, in the state table, need not be told from one that did not: rows less than a gap before the
// watermark stay, and those that hang together with them.
func (s *Session) closeSessions(bar exec.Barrier) error {
	w, ok := s.marks.get(s.cfg.TimeCol)
	if !ok || !s.sweeper.due(bar, s.st) {
		return nil
	}
	if s.st != nil {
		// Partitions that are not in memory: a row is of an open session if the chain of rows from it on, in the order of the
		// state, reaches the watermark.
		in := vec.NewChunk(s.cfg.In, 1)
		var keys, gone [][]byte
		var part []byte
		last := int64(0)
		end := func() {
			if len(keys) > 0 && last+s.cfg.Gap <= w {
				gone = append(gone, keys...)
			}
			keys = keys[:0]
		}
		err := s.st.Scan(nil, func(key, val []byte) error {
			in.Reset()
			if _, err := vec.DecodeRow(val, in.Cols); err != nil {
				return err
			}
			in.SetLen(1)
			of := appendStateKey([]byte{key[0]}, pick(in, s.cfg.Partition, nil), 0, false)
			t := in.Cols[s.cfg.TimeCol].Int[0]
			if !bytes.Equal(of, part) || t-last >= s.cfg.Gap {
				end()
			}
			part, last = of, t
			keys = append(keys, slices.Clone(key))
			return nil
		})
		if err != nil {
			return err
		}
		end()
		for _, k := range gone {
			s.st.Delete(k)
		}
	}
	for e := range s.groups.n {
		if !s.groups.live.get(e) {
			continue
		}
		g := s.recs.at(e)
		s.region = s.region[:0]
		g.rows.each(func(it sessionItem, _ int64) {
			if s.info.at(it.row).end <= w {
				s.region = append(s.region, it.row)
			}
		})
		for _, r := range s.region {
			g.rows.add(s.itemOf(r), -1, s.cmp)
			*s.flags.at(r) = 0
			s.rows.release(r)
		}
		if g.rows.n == 0 && !g.touched && len(s.region) > 0 {
			g.touched = true
			s.touched = append(s.touched, e)
		}
	}
	s.sweeper.done(s.rows.count())
	return nil
}
