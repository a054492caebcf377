package op

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// LoopHeadConfig configures LoopHead.
type LoopHeadConfig struct {
	In []types.Type
	// All: a row is there as often as it is derived (UNION ALL); else once (UNION).
	All bool
	// Ordinal numbers equal rows from 1 in what leaves the loop, in a further column; only with All.
	Ordinal bool
	// Vnode is a partition that this instance owns: its log is kept there.
	Vnode uint8
}

// LoopHead keeps the rows of a recursive query, and says what a round brings.
//
// With UNION ALL a row's multiplicity is the number of its derivations, and changes go round with their
// signs. Every prefix of rounds gives a state that the step has led to, so that no multiplicity is ever negative at
// the end of a round.
//
// With UNION a row is there or not, however many derivations it has, and the loop may derive a row from itself: a row must
// not stay because it holds itself up. Hence two phases (delete and derive again):
//
//  1. Every row that has lost a derivation, any, goes; what followed from it loses a derivation by that.
//     At the fixpoint the rows that are left have lost nothing, and do not need those that went.
//
//  2. Every row that is not there and has a derivation comes; what follows from it gets one. In this
//     phase nothing loses anything.
//
//     In:      rows of the base and of the step, any changelog; not applied but by Chunk.
//     Out:     in a round, the rows that come and go, into the loop; at the fixpoint the net changes since
//     the last one, to the consumers (Settle).
//     State:   the number of derivations of each row that has any, state table "rows"; the log of the newest
//     checkpoint, state table "log".
//     Memory:  the rows changed since the last checkpoint, plus a cache within its budget.
//     Barrier: is not used: the host calls Save, and Round and Settle when the barrier has come round.
//     Errors:  ErrNegativeMultiplicity.
type LoopHead struct {
	base
	cfg LoopHeadConfig
	tab *groupTable
	log exec.StateTable
	// logged is the number of records that the state table has.
	logged int
	// queue are the rows that the next round looks at, later those of the second phase; changed are those that are not as they
	// were at the last fixpoint, or may not be.
	queue, later, changed []uint32
	phase                 int

	ents   []uint32
	diffs  []int64
	ords   []int64
	outc   *vec.Chunk
	exitc  *vec.Chunk
	piece  *vec.Chunk
	epiece *vec.Chunk
}

// Words of a row, besides the number of derivations in the count.
const (
	loopPending = wordOwner + iota // All: the change that the next round applies
	loopShown                      // All: the multiplicity outside; else 1 if the row is there outside
	loopBits
	loopWords = 3
)

const (
	loopQueued  int64 = 1 // in queue
	loopChanged int64 = 2 // in changed
	loopPresent int64 = 4 // UNION: in the loop
	loopLost    int64 = 8 // UNION: a derivation was lost since the last round
	loopLater   int64 = 16
)

// NewLoopHead checks the configuration.
func NewLoopHead(cfg LoopHeadConfig) (*LoopHead, error) {
	if cfg.Ordinal && !cfg.All {
		return nil, fmt.Errorf("LoopHead: rows that come once are not numbered")
	}
	h := &LoopHead{cfg: cfg}
	all := make([]int, len(cfg.In))
	for i := range all {
		all[i] = i
	}
	h.tab = newGroupTable(cfg.In, all, loopWords, loopOwner{h})
	h.schema = append(h.schema, cfg.In...)
	if cfg.Ordinal {
		h.schema = append(h.schema, types.T(types.Int8))
	}
	h.outc, h.piece = vec.NewChunk(cfg.In, 0), vec.NewChunk(cfg.In, 0)
	h.exitc, h.epiece = vec.NewChunk(h.schema, 0), vec.NewChunk(h.schema, 0)
	return h, nil
}

// Open opens the state tables. The output is the loop.
func (h *LoopHead) Open(ctx *exec.Context, out exec.Output) error {
	if err := h.base.Open(ctx, out); err != nil {
		return err
	}
	h.tab.open(h.state("rows"))
	h.log = h.state("log")
	return nil
}

// Phases is the number of phases of an iteration.
func (h *LoopHead) Phases() int {
	if h.cfg.All {
		return 1
	}
	return 2
}

func (h *LoopHead) logKey(n int) []byte {
	return binary.BigEndian.AppendUint32([]byte{h.cfg.Vnode}, uint32(n))
}

// Log gives the records of the log of the checkpoint that the state is from, oldest first. They are read as they are
// asked for: a log may be larger than memory.
func (h *LoopHead) Log(each func(record []byte) error) error {
	if h.log == nil || h.log.Empty() {
		return nil
	}
	h.logged = 0
	return h.log.Scan([]byte{h.cfg.Vnode}, func(_, val []byte) error {
		h.logged++
		// What is made of it may keep it.
		return each(bytes.Clone(val))
	})
}

// Save hands over, at a checkpoint, the state as of the last fixpoint and the log.
func (h *LoopHead) Save(log iter.Seq2[[]byte, error]) error {
	if h.log != nil {
		n := 0
		for r, err := range log {
			if err != nil {
				return err
			}
			h.log.Put(h.logKey(n), r)
			n++
		}
		for i := n; i < h.logged; i++ {
			h.log.Delete(h.logKey(i))
		}
		h.logged = n
	}
	h.tab.checkpoint()
	h.tab.restart(h.budget())
	return h.account()
}

func (h *LoopHead) account() error {
	if err := h.mem.Set(int64(h.tab.held()), int64(h.tab.dirtyBytes(0))); err != nil {
		return err
	}
	h.tab.evict(h.budget())
	return nil
}

// Chunk applies rows: changes of derivations.
func (h *LoopHead) Chunk(_ int, c *vec.Chunk) error {
	ents, err := h.tab.lookup(c.Cols, c.Len())
	if err != nil {
		return err
	}
	for i, e := range ents {
		rec := h.tab.rec(e)
		d := c.Diff(i)
		if h.cfg.All {
			rec[loopPending] += d
		} else {
			rec[wordCount] += d
			if d < 0 {
				rec[loopBits] |= loopLost
			}
		}
		if rec[loopBits]&loopQueued == 0 {
			rec[loopBits] |= loopQueued
			rec[wordFlags] |= flagTouched | flagRef
			h.queue = append(h.queue, e)
		}
		if rec[loopBits]&loopChanged == 0 {
			rec[loopBits] |= loopChanged
			h.changed = append(h.changed, e)
		}
	}
	return nil
}

// Barrier is not for the head: see the type.
func (h *LoopHead) Barrier(exec.Barrier) error {
	return fmt.Errorf("LoopHead: a barrier")
}

// Round sends what the rows applied since the last round bring, and tells how many rows that are. A phase begins with its
// first round.
func (h *LoopHead) Round(phase int) (rows int, err error) {
	if phase != h.phase {
		h.phase = phase
		if phase == 2 {
			// What the first phase has put off, in the order in which it came.
			h.queue, h.later = append(h.later, h.queue...), h.queue[:0]
		}
	}
	h.ents, h.diffs = h.ents[:0], h.diffs[:0]
	for _, e := range h.queue {
		rec := h.tab.rec(e)
		rec[loopBits] &^= loopQueued
		switch {
		case h.cfg.All:
			d := rec[loopPending]
			rec[loopPending] = 0
			if rec[wordCount] += d; rec[wordCount] < 0 {
				return 0, h.negative(e)
			}
			h.send(e, d)
		case phase == 1:
			lost := rec[loopBits]&loopLost != 0
			rec[loopBits] &^= loopLost
			if lost && rec[loopBits]&loopPresent != 0 {
				rec[loopBits] &^= loopPresent
				h.send(e, -1)
			}
			if rec[loopBits]&(loopPresent|loopLater) == 0 {
				rec[loopBits] |= loopLater
				h.later = append(h.later, e)
			}
		default:
			if rec[loopBits]&loopLost != 0 || rec[wordCount] < 0 {
				return 0, h.negative(e)
			}
			rec[loopBits] &^= loopLater
			if rec[loopBits]&loopPresent == 0 && rec[wordCount] > 0 {
				rec[loopBits] |= loopPresent
				h.send(e, 1)
			}
		}
	}
	if h.queue = h.queue[:0]; cap(h.queue) > 1<<16 {
		h.queue = nil
	}
	return h.flush()
}

func (h *LoopHead) send(e uint32, diff int64) {
	if diff != 0 {
		h.ents, h.diffs = append(h.ents, e), append(h.diffs, diff)
	}
}

// flush sends the collected rows into the loop.
func (h *LoopHead) flush() (int, error) {
	at := 0
	var err error
	h.tab.pieces(h.ents, func(ents []uint32, cols []*vec.Vector, _ []uint64) {
		for k, v := range cols {
			h.outc.Cols[k].AppendRange(v, 0, len(ents))
		}
		for range ents {
			h.outc.PushDiff(h.diffs[at])
			at++
		}
		if err == nil {
			err = h.emit(h.outc, h.piece)
		}
	})
	return len(h.ents), err
}

func (h *LoopHead) negative(e uint32) error {
	row := make([]types.Datum, len(h.cfg.In))
	one := vec.NewChunk(h.cfg.In, 1)
	for k := range row {
		row[k] = h.tab.store.datum(k, e)
	}
	one.AppendRow(row, 1)
	return fmt.Errorf("recursive query: row (%s): %w", vec.FormatRow(one, 0), ErrNegativeMultiplicity)
}

// Settle ends an iteration at its fixpoint: out gets the net changes since the last one; nil: they are known there.
func (h *LoopHead) Settle(out func(*vec.Chunk) error) error {
	h.phase = 0
	changed := h.changed
	var gone []uint32
	var err error
	h.tab.pieces(changed, func(ents []uint32, cols []*vec.Vector, _ []uint64) {
		if err != nil {
			return
		}
		for i, e := range ents {
			rec := h.tab.rec(e)
			rec[loopBits] &^= loopChanged
			rec[wordFlags] &^= flagTouched
			now := rec[wordCount]
			if !h.cfg.All {
				now = 0
				if rec[loopBits]&loopPresent != 0 {
					now = 1
				}
			}
			if out != nil {
				h.leave(cols, i, rec[loopShown], now)
			}
			rec[loopShown] = now
			h.tab.dirtied(e)
			if h.tab.st == nil && rec[wordCount] == 0 {
				gone = append(gone, e)
			}
		}
		if out != nil {
			err = h.exit(out)
		}
	})
	if err != nil {
		return err
	}
	h.changed = changed[:0]
	if cap(changed) > 1<<16 {
		h.changed = nil
	}
	h.tab.drop(gone)
	return h.account()
}

// leave notes the change of a row from old to now copies.
func (h *LoopHead) leave(cols []*vec.Vector, i int, old, now int64) {
	put := func(diff int64) {
		for k, v := range cols {
			h.exitc.Cols[k].AppendFrom(v, i)
		}
		h.exitc.PushDiff(diff)
	}
	if !h.cfg.Ordinal {
		if now != old {
			put(now - old)
		}
		return
	}
	ord := h.exitc.Cols[len(cols)]
	for ; old > now; old-- {
		ord.AppendInt(old)
		put(-1)
	}
	for ; old < now; old++ {
		ord.AppendInt(old + 1)
		put(1)
	}
}

func (h *LoopHead) exit(out func(*vec.Chunk) error) error {
	for lo := 0; lo < h.exitc.Len(); lo += h.max {
		h.epiece.Reset()
		h.epiece.AppendRange(h.exitc, lo, min(lo+h.max, h.exitc.Len()))
		if err := out(h.epiece); err != nil {
			return err
		}
	}
	h.exitc.Reset()
	return nil
}

// loopOwner keeps the number of derivations; at a checkpoint everything else follows from it.
type loopOwner struct{ h *LoopHead }

func (o loopOwner) reset(uint32)         {}
func (o loopOwner) exists(e uint32) bool { return o.h.tab.rec(e)[wordCount] != 0 }
func (o loopOwner) encode(e uint32, dst []byte) []byte {
	return binary.AppendVarint(dst, o.h.tab.rec(e)[wordCount])
}

func (o loopOwner) decode(e uint32, b []byte) error {
	n, rest, err := takeVarint(b)
	if err == nil && len(rest) > 0 {
		err = vec.ErrCorruptRow
	}
	rec := o.h.tab.rec(e)
	rec[wordCount] = n
	if o.h.cfg.All {
		rec[loopShown] = n
	} else if n > 0 {
		rec[loopShown] = 1
		rec[loopBits] |= loopPresent
	}
	return err
}

func (o loopOwner) loaded(uint32, []byte) error { return nil }
func (o loopOwner) saved(uint32, []byte)        {}
func (o loopOwner) extraBytes() int             { return 0 }
