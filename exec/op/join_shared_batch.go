package op

import (
	"errors"
	"fmt"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// A sharedBatch gathers chunks whose keys are to be read together: in a sorted batch of keys many are in one block of the
// relation's rows. What the join emits does not depend on it, only on the order of the chunks.
type sharedBatch struct {
	port   int
	chunks []*vec.Chunk
	rows   int
	bytes  int
	// missed counts the keys that were read for the last chunks, of looked many rows.
	missed, looked int
	// missedNow and lookedNow are those of the epoch.
	missedNow, lookedNow int
	// least is how many rows an epoch must bring to read ahead.
	least int
}

// batchRows and batchBytes are how much is gathered.
const (
	batchRows  = 32 << 10
	batchBytes = 4 << 20
)

// gather keeps a chunk for later if many of its keys will have to be read; whatever else comes is behind it.
func (j *HashJoin) gather(port int, c *vec.Chunk) (bool, error) {
	b := &j.batch
	if len(b.chunks) > 0 && b.port != port {
		if err := j.scatter(); err != nil {
			return true, err
		}
	}
	if j.sides[1-port].shared == nil || !j.shared[0].started {
		return false, nil
	}
	if len(b.chunks) == 0 {
		dense := b.missed*8 > b.looked
		if b.looked += c.Len(); b.looked > batchRows {
			b.looked, b.missed = b.looked/2, b.missed/2
		}
		if !dense {
			return false, nil
		}
	}
	b.port, b.rows, b.bytes = port, b.rows+c.Len(), b.bytes+c.Bytes()
	b.chunks = append(b.chunks, c.Clone())
	if b.rows < batchRows && b.bytes < batchBytes {
		return true, nil
	}
	return true, j.scatter()
}

// scatter joins what was gathered, after its keys were read.
func (j *HashJoin) scatter() error {
	b := &j.batch
	if len(b.chunks) == 0 {
		return nil
	}
	chunks := b.chunks
	b.chunks = nil
	b.looked, b.missed = b.rows, 0
	b.rows, b.bytes = 0, 0
	keys := vec.NewChunk(j.keyBuf.Types(), 0)
	var ents []uint32
	var rows []int32
	for _, c := range chunks {
		cols, _, of := j.enter(j.sides[b.port], c, true)
		for k, v := range keys.Cols {
			v.AppendSel(cols[k], j.idx.added)
		}
		for _, row := range j.idx.added {
			rows = append(rows, int32(len(rows)))
			ents = append(ents, of[row])
		}
	}
	keys.SetLen(len(rows))
	b.missed = len(rows)
	b.missedNow += len(rows)
	if len(rows) > 0 {
		if err := j.load(keys.Cols, len(rows), ents, rows); err != nil {
			return err
		}
	}
	missed := b.missed
	for _, c := range chunks {
		if err := j.join(b.port, c); err != nil {
			return err
		}
	}
	b.missed = missed
	return nil
}

// A join that has to read many keys, as a new one, reads also others, in the order of the relation, which is much faster than
// one here and one there: a few for each row that has come, and as long as they take half of the memory at most. Soon most keys
// are there. What the join emits does not depend on it.
const (
	aheadRows  = 4
	aheadMost  = 32 << 10
	aheadLeast = 64
)

// readAhead reads keys of shared sides at a barrier.
func (j *HashJoin) readAhead() error {
	b := &j.batch
	missed, looked := b.missedNow, b.lookedNow
	b.missedNow, b.lookedNow = 0, 0
	if looked < b.least || missed*8 < looked {
		return nil
	}
	n := min(aheadRows*looked, aheadMost)
	for port, side := range j.sides {
		s := side.shared
		if s == nil || s.Start == SharedNone || s.version == nil || s.ahead.done {
			continue
		}
		keys, err := s.keysAhead(n, side.keys, j.keyStore.types())
		if err != nil {
			return err
		}
		for _, c := range keys {
			if budget := j.budget(); budget > 0 && int64(j.bytes()) > budget/2 {
				s.ahead.done = true
				break
			}
			cols, rows, ents := j.enter(&joinSide{keys: allColumns(len(c.Cols))}, c, true)
			if len(j.idx.added) == 0 {
				continue
			}
			if err := j.load(cols, rows, ents, j.idx.added); err != nil {
				return fmt.Errorf("join: side %d: %w", port, err)
			}
		}
	}
	return nil
}

func allColumns(n int) []int {
	cols := make([]int, n)
	for i := range cols {
		cols[i] = i
	}
	return cols
}

// keysAhead gives the join keys of the next n rows of the relation, of those that pass the steps, in chunks.
func (s *sharedRows) keysAhead(n int, keys []int, ts []types.Type) (out []*vec.Chunk, err error) {
	it := s.version.Iterator(s.ahead.next, nil, false)
	defer func() { err = errors.Join(err, it.Close()) }()
	s.leaf.Reset()
	s.got.Reset()
	flush := func() error {
		if s.leaf.Len() == 0 {
			return nil
		}
		if err := s.push(); err != nil {
			return err
		}
		c := vec.NewChunk(ts, 0)
		for k, v := range c.Cols {
			v.AppendRange(s.got.Cols[keys[k]], 0, s.got.Len())
		}
		c.SetLen(s.got.Len())
		if c.Len() > 0 {
			out = append(out, c)
		}
		s.leaf.Reset()
		s.got.Reset()
		return nil
	}
	for ; n > 0 && it.Next(); n-- {
		if err := s.decode(it.Value()); err != nil {
			return nil, err
		}
		if s.leaf.Len() >= vec.ChunkSize {
			if err := flush(); err != nil {
				return nil, err
			}
		}
		if n == 1 {
			s.ahead.next = append(append(s.ahead.next[:0:0], it.Key()...), 0)
		}
	}
	s.ahead.done = n > 0
	return out, flush()
}
