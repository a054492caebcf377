package op

import (
	"fmt"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/expr"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// HashJoin maintains the join of two inputs, in all kinds, on equal keys and a residual condition.
//
//	In:      two ports, any changelogs.
//	Out:     the columns Output of left ++ right; the changes that a chunk causes, at once, in the order of
//	         its rows, and for one row in the order of the chain of matches. Semi and anti joins emit left
//	         rows.
//	State:   the rows of both sides, only the columns that are needed, in state tables "left"
//	         and "right", keyed by join key and row identity. Where the other side has one row for a key at most and
//	         that never goes, a row is kept until that row is there. None of a shared side (join_shared.go).
//	Memory:  the rows changed since the last checkpoint, plus a cache within its budget; an entry of
//	         the cache is a key with all rows of both sides.
//	Barrier: hands dirty rows to the state tables, forwards it. Keys below the watermarks of both sides, and rows that are too
//	         old for the other side's, are forgotten.
//	Errors:  those of the residual, through Context.RowError, for the pair: it does not match. ErrNegativeMultiplicity
//	         if a row is retracted that is not there.
type HashJoin struct {
	base
	cfg   HashJoinConfig
	sides [2]*joinSide

	// keyStore holds the keys that have been seen, recs the record of each.
	keyStore *rowStore
	idx      *keyIndex
	recs     paged[joinRec]
	cold     bool
	hand     uint32
	// shared are the readers of shared sides, held is what came before the first barrier if there are any.
	shared []*sharedRows
	held   []heldChunk
	batch  sharedBatch
	// stuck: an eviction found too little that is clean; only a checkpoint changes that.
	stuck bool
	// used marks the keys that were asked for since the hand passed them, once there has been an eviction.
	used    bitset
	empties []uint32 // entries that may have no rows any more

	// once: only whether a key has a right row is asked for, and such a row never goes. So one is kept, and no left
	// rows that come later and never go.
	once bool

	residual *expr.Evaluator
	resCols  []int // columns of left ++ right that the residual reads
	evalCtx  expr.EvalContext
	pairs    *vec.Chunk // left ++ right, only resCols are filled
	// evaluated is the chunk of whose rows the pairs are, evaluatedWith the other side.
	evaluated     *vec.Chunk
	evaluatedWith *joinSide
	passed        []int32

	outCols []joinCol
	outc    *vec.Chunk

	marks   [2]marks
	sweeper sweeper

	keyV    []*vec.Vector
	hashes  []uint64
	ents    []uint32
	keyBuf  *vec.Chunk
	sel     []int32
	skip    []bool
	matches []int64 // per row of the chunk, with a residual
	settled int     // rows of the chunk that settle has seen

	// What is to be emitted: rows of the chunk (or -1) with rows of the other side (or none).
	oRow  []int32
	oOth  []uint32
	oDiff []int64
	selB  []int32
	// Candidate pairs that wait for the residual.
	pRow []int32
	pOth []uint32
}

// joinRec is what is kept for a key: by side, the head of the chain (row+1) and the number of rows.
type joinRec struct {
	head [2]uint32
	n    [2]int64
	// rows counts the rows of a numbered side, saved those of them that are in its state table.
	rows, saved [2]uint32
}

// joinCol is an output column: a column of the input of a side.
type joinCol struct {
	side, col int
}

// Open opens the state tables.
func (j *HashJoin) Open(ctx *exec.Context, out exec.Output) error {
	if err := j.base.Open(ctx, out); err != nil {
		return err
	}
	j.evalCtx = expr.EvalContext{Env: ctx.Env}
	if ctx.RowError != nil {
		j.evalCtx.RowError = func(pairs *vec.Chunk, p int, err error) error {
			d := j.evaluated.Diff(int(j.pRow[p])) * j.evaluatedWith.multiplicity(j.pOth[p])
			return ctx.RowError(exec.RowFailure{Err: err, Cols: pairs.Cols, Row: p, Diff: d})
		}
	}
	for p, name := range []string{"left", "right"} {
		if s := j.sides[p].shared; s != nil {
			if err := s.open(ctx); err != nil {
				return err
			}
			j.sides[p].open(nil)
			continue
		}
		st := j.state(name)
		j.sides[p].open(st)
		if st != nil && !st.Empty() {
			j.cold = true
		}
	}
	return nil
}

// Chunk joins rows of one side with the other side's, then adds them to their own side.
func (j *HashJoin) Chunk(port int, c *vec.Chunk) error {
	if c.Len() == 0 || j.hold(port, c) {
		return nil
	}
	if j.shared != nil {
		if gathered, err := j.gather(port, c); gathered || err != nil {
			return err
		}
	}
	return j.join(port, c)
}

func (j *HashJoin) join(port int, c *vec.Chunk) error {
	s, o := j.sides[port], j.sides[1-port]
	if err := j.lookup(s, c, !j.cfg.BuildRight || port == 1); err != nil {
		return err
	}
	if j.cfg.BuildRight && port == 1 {
		return j.build(s, c)
	}
	j.findNoops(s, c)
	var err error
	if j.residual == nil {
		err = j.joinPlain(port, s, o, c)
	} else {
		err = j.joinResidual(port, s, o, c)
	}
	if err != nil {
		return err
	}
	if err := j.flush(port, c); err != nil || j.cfg.BuildRight {
		return err
	}
	if err := j.apply(port, s, c); err != nil {
		return err
	}
	if o.brief {
		j.dropMet(1-port, o)
	}
	j.sweeper.made += c.Len()
	return j.account()
}

// build adds right rows to the table of a batch join.
func (j *HashJoin) build(s *joinSide, c *vec.Chunk) error {
	for i, e := range j.ents {
		if e != none {
			j.recs.at(e).n[1] += c.Diff(i)
		} else if s.outer {
			if err := j.out1(1, c, int32(i), none, c.Diff(i)); err != nil {
				return err
			}
		}
	}
	if err := j.flush(1, c); err != nil {
		return err
	}
	j.matches = append(j.matches[:0], make([]int64, c.Len())...)
	if err := j.apply(1, s, c); err != nil {
		return err
	}
	return j.account()
}

// unmatched emits the right rows of a batch join that no left row has met.
func (j *HashJoin) unmatched() error {
	s := j.sides[1]
	if !j.cfg.BuildRight || !s.outer {
		return nil
	}
	nulls := vec.NewChunk(j.cfg.Left, 1)
	nulls.AppendRow(make([]types.Datum, len(j.cfg.Left)), 1)
	for r := range s.store.n {
		met := j.recs.at(*s.ent.at(r)).n[0] > 0
		if s.useDeg {
			met = *s.deg.at(r) > 0
		}
		if !met {
			if err := j.out1(0, nulls, -1, r, s.multiplicity(r)); err != nil {
				return err
			}
		}
	}
	return j.flush(0, nulls)
}

// lookup sets ents to the entry of each row's key, or none for a key with a NULL that matches nothing, and
// without add for one that is not there.
func (j *HashJoin) lookup(s *joinSide, c *vec.Chunk, add bool) error {
	cols, n, ents := j.enter(s, c, add)
	if s.shared == nil {
		j.batch.lookedNow += c.Len()
		j.batch.missedNow += len(j.idx.added)
		j.batch.missed += len(j.idx.added)
	}
	if len(j.idx.added) > 0 && (j.cold || j.shared != nil) {
		if err := j.load(cols, n, ents, j.idx.added); err != nil {
			return err
		}
	}
	j.spread(ents)
	return nil
}

// spread gives the rows of the chunk the entries of those that have a key.
func (j *HashJoin) spread(ents []uint32) {
	if len(j.sel) == 0 {
		return
	}
	for i, row := range j.sel {
		j.ents[row] = ents[i]
	}
}

// enter finds the entries of the rows of a chunk that have a key, and makes those that are not there. It gives the columns of the
// key and the number of these rows; j.idx.added lists those of new entries.
func (j *HashJoin) enter(s *joinSide, c *vec.Chunk, add bool) (cols []*vec.Vector, n int, ents []uint32) {
	n = c.Len()
	if cap(j.ents) < n {
		j.ents = make([]uint32, max(n, 64))
	}
	j.ents = j.ents[:n]
	j.keyV = pick(c, s.keys, j.keyV)
	nullable := false
	for k, v := range j.keyV {
		if (j.cfg.NullSafe == nil || !j.cfg.NullSafe[k]) && v.HasNulls() {
			nullable = true
		}
	}
	cols = j.keyV
	sel := j.sel[:0]
	if nullable {
	rows:
		for i := range n {
			j.ents[i] = none
			for k, v := range j.keyV {
				if v.Nulls.Get(i) && (j.cfg.NullSafe == nil || !j.cfg.NullSafe[k]) {
					continue rows
				}
			}
			sel = append(sel, int32(i))
		}
		j.keyBuf.Reset()
		for k, v := range j.keyBuf.Cols {
			v.AppendSel(j.keyV[k], sel)
		}
		cols, n = j.keyBuf.Cols, len(sel)
	}
	j.sel = sel
	j.hashes = vec.HashRows(cols, n, j.hashes)
	ents = j.ents
	if nullable {
		ents = make([]uint32, n)
	}
	if add {
		j.idx.findOrAdd(cols, j.hashes, ents)
	} else {
		j.idx.find(cols, j.hashes, ents)
		j.idx.added = j.idx.added[:0]
	}
	if j.used.words.pages != nil {
		j.used.ensure(j.keyStore.n)
		for _, e := range ents {
			if e != none {
				j.used.set(e)
			}
		}
	}
	if len(j.idx.added) > 0 {
		j.recs.ensure(j.keyStore.n)
		for _, row := range j.idx.added {
			*j.recs.at(ents[row]) = joinRec{}
		}
		for _, s := range j.sides {
			if !s.brief {
				continue
			}
			s.pieces.ensure(j.keyStore.n)
			for _, row := range j.idx.added {
				*s.pieces.at(ents[row]) = 0
			}
		}
	}
	return cols, n, ents
}

// findNoops marks pairs of neighbours, a row that goes and one that comes, that are the same in
// everything that the join keeps: updates of other columns. They change nothing.
func (j *HashJoin) findNoops(s *joinSide, c *vec.Chunk) {
	j.skip = j.skip[:0]
	if c.Diffs == nil {
		return
	}
	n := c.Len()
	any := false
	for i := 0; i+1 < n; i++ {
		if c.Diffs[i]+c.Diffs[i+1] != 0 || j.ents[i] != j.ents[i+1] {
			continue
		}
		same := true
		for _, col := range s.stored {
			if v := c.Cols[col]; !vec.SameAt(v, i, v, i+1) {
				same = false
				break
			}
		}
		if !same {
			continue
		}
		if !any {
			any = true
			j.skip = append(j.skip, make([]bool, n)...)
		}
		j.skip[i], j.skip[i+1] = true, true
		i++
	}
}

func (j *HashJoin) skipped(i int) bool { return len(j.skip) > 0 && j.skip[i] }

// apply adds the chunk's rows to their side.
func (j *HashJoin) apply(port int, s *joinSide, c *vec.Chunk) error {
	if s.shared != nil {
		for i, e := range j.ents {
			if e != none && !j.skipped(i) {
				s.shared.touch(e)
			}
		}
	}
	if c.Diffs == nil && s.byIdent == nil {
		j.appendRows(port, s, c)
		return nil
	}
	if s.numbered {
		return j.appendCopies(port, s, c)
	}
	hashes := s.rowHashes(c)
	for i, e := range j.ents {
		if e == none || j.skipped(i) {
			continue
		}
		rec := j.recs.at(e)
		d := c.Diff(i)
		// A multiset without state table may hold equal rows apart, hence the loop.
		for d < 0 {
			r := s.find(e, rec.head[port], c, i, hashes)
			if r == none || !s.multiset && d < -1 {
				return j.negative(c, i)
			}
			if m := s.multiplicity(r); -d < m {
				*s.mult.at(r) += d
				s.markDirty(r)
				break
			} else {
				d += m
			}
			j.remove(port, s, r, rec, hashes[i])
		}
		if d > 0 {
			if err := j.insert(port, s, e, rec, c, i, d, hashes); err != nil {
				return err
			}
		}
		if rec.head[0] == 0 && rec.head[1] == 0 {
			j.empties = append(j.empties, e)
		}
	}
	return nil
}

// appendCopies is appendRows for rows with multiplicities.
func (j *HashJoin) appendCopies(port int, s *joinSide, c *vec.Chunk) error {
	for i, e := range j.ents {
		d := c.Diff(i)
		if d < 0 {
			return fmt.Errorf("join: row (%s) was taken back from an append-only side", vec.FormatRow(c, i))
		}
		for k := int64(0); k < d && e != none; k++ {
			rec := j.recs.at(e)
			if j.once && rec.rows[1] > 0 || s.brief && rec.head[1-port] != 0 {
				break
			}
			r := s.alloc(e, &rec.head[port])
			s.put(r, c, i)
			s.count(e, rec, port)
			if s.useDeg {
				*s.deg.at(r) = j.matches[i]
			}
		}
	}
	return nil
}

// dropMet forgets the rows of a brief side that have met the row of the other side that the chunk has brought for
// their key.
func (j *HashJoin) dropMet(port int, s *joinSide) {
	for i, e := range j.ents {
		if e == none || j.skipped(i) {
			continue
		}
		rec := j.recs.at(e)
		if rec.rows[port] == 0 {
			continue
		}
		for rec.head[port] != 0 {
			s.unlink(rec.head[port]-1, &rec.head[port], 0)
		}
		j.deletePieces(s, e)
		s.fresh -= int(rec.rows[port] - rec.saved[port])
		rec.rows[port], rec.saved[port] = 0, 0
		if rec.head == [2]uint32{} {
			j.empties = append(j.empties, e)
		}
	}
}

// count notes a new row of a numbered side under a key.
func (s *joinSide) count(e uint32, rec *joinRec, port int) {
	if rec.rows[port] == rec.saved[port] && s.st != nil {
		s.dirty = append(s.dirty, e)
	}
	rec.rows[port]++
	s.fresh++
}

// insert adds row i of c d times.
func (j *HashJoin) insert(port int, s *joinSide, e uint32, rec *joinRec, c *vec.Chunk, i int, d int64, hashes []uint64) error {
	if s.multiset && s.byIdent != nil {
		if r := s.find(e, rec.head[port], c, i, hashes); r != none {
			*s.mult.at(r) += d
			s.markDirty(r)
			return nil
		}
	}
	if d > 1 && !s.multiset {
		return fmt.Errorf("join: row (%s) with a key has diff %d", vec.FormatRow(c, i), d)
	}
	r := s.alloc(e, &rec.head[port])
	s.put(r, c, i)
	if s.multiset {
		*s.mult.at(r) = d
	}
	if s.useDeg {
		*s.deg.at(r) = j.matches[i]
	}
	if s.byIdent != nil {
		s.byIdent.insert(r, hashes[i])
	}
	s.markDirty(r)
	return nil
}

func (j *HashJoin) negative(c *vec.Chunk, i int) error {
	return fmt.Errorf("join: row (%s): %w", vec.FormatRow(c, i), ErrNegativeMultiplicity)
}

// appendRows is apply for a chunk that only inserts, column by column.
func (j *HashJoin) appendRows(port int, s *joinSide, c *vec.Chunk) {
	rows, ids := j.sel[:0], j.pOth[:0]
	s.reserve(len(j.ents))
	for i, e := range j.ents {
		if e == none {
			continue
		}
		rec := j.recs.at(e)
		if j.once && s.numbered && rec.rows[1] > 0 || s.brief && rec.head[1-port] != 0 {
			continue
		}
		r := s.link(e, &rec.head[port])
		if s.numbered {
			s.count(e, rec, port)
		}
		if s.useDeg {
			*s.deg.at(r) = j.matches[i]
		}
		rows, ids = append(rows, int32(i)), append(ids, r)
	}
	for k, col := range s.stored {
		s.store.putRows(k, ids, c.Cols[col], rows)
	}
	if s.st != nil && !s.numbered {
		for _, r := range ids {
			*s.flags.at(r) |= rowDirty
		}
		s.dirty = append(s.dirty, ids...)
	}
	j.sel, j.pOth = rows, ids[:0]
}

// Barrier hands over dirty rows.
func (j *HashJoin) Barrier(bar exec.Barrier) error {
	if err := j.scatter(); err != nil {
		return err
	}
	if err := j.nextShared(bar.Epoch); err != nil {
		return err
	}
	if bar.Checkpoint {
		for _, s := range j.sides {
			j.checkpoint(s)
		}
	}
	if err := j.unmatched(); err != nil {
		return err
	}
	j.dropEmpty()
	if bar.Checkpoint {
		j.stuck = false
	}
	if err := j.sweep(bar); err != nil {
		return err
	}
	if bar.Checkpoint {
		j.restart()
	}
	if err := j.account(); err != nil {
		return err
	}
	if err := j.emitMarks(); err != nil {
		return err
	}
	return j.out.Barrier(bar)
}

// Close gives up the versions of shared sides, and the memory.
func (j *HashJoin) Close() {
	for _, s := range j.shared {
		s.close()
	}
	j.base.Close()
}
