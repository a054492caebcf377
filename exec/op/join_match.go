package op

import "github.com/weirdb/weir/exec/vec"

// What a chunk changes in the output of a HashJoin: its rows with their matches, and rows of both
// sides that begin or cease to have one.

// joinPlain emits what a chunk changes when there is no residual: then whether a row has a match
// depends on the number of rows of its key only.
func (j *HashJoin) joinPlain(port int, s, o *joinSide, c *vec.Chunk) error {
	pairs := j.cfg.Kind != Semi && j.cfg.Kind != Anti
	for i, e := range j.ents {
		if j.skipped(i) {
			continue
		}
		d := c.Diff(i)
		var rec *joinRec
		var matches int64
		if e != none {
			rec = j.recs.at(e)
			matches = rec.n[1-port]
		}
		if s.outer && pairs && matches == 0 || !pairs && port == 0 && (matches > 0) == (j.cfg.Kind == Semi) {
			if err := j.out1(port, c, int32(i), none, d); err != nil {
				return err
			}
		}
		if rec == nil {
			continue
		}
		before, after := rec.n[port], rec.n[port]+d
		rec.n[port] = after
		tell := o.outer && !j.cfg.BuildRight
		begins, ends := tell && before <= 0 && after > 0, tell && before > 0 && after <= 0
		if begins && pairs {
			if err := j.chain(port, c, o, rec.head[1-port], -1, -1); err != nil {
				return err
			}
		}
		if pairs {
			if err := j.chain(port, c, o, rec.head[1-port], int32(i), d); err != nil {
				return err
			}
		}
		switch {
		case ends && pairs:
			if err := j.chain(port, c, o, rec.head[1-port], -1, 1); err != nil {
				return err
			}
		case !pairs && (begins || ends):
			d := int64(1)
			if begins == (j.cfg.Kind == Anti) {
				d = -1
			}
			if err := j.chain(port, c, o, rec.head[1-port], -1, d); err != nil {
				return err
			}
		}
	}
	return nil
}

// chain emits row i of the chunk (-1: NULLs) with every row of a chain, d times its multiplicity.
func (j *HashJoin) chain(port int, c *vec.Chunk, o *joinSide, head uint32, i int32, d int64) error {
	for r := head; r != 0; r = *o.next.at(r - 1) {
		m := d
		if o.multiset {
			m *= *o.mult.at(r - 1)
		}
		j.oRow = append(j.oRow, i)
		j.oOth = append(j.oOth, r-1)
		j.oDiff = append(j.oDiff, m)
		if len(j.oRow) >= j.max {
			if err := j.flush(port, c); err != nil {
				return err
			}
		}
	}
	return nil
}

func (j *HashJoin) out1(port int, c *vec.Chunk, row int32, oth uint32, d int64) error {
	j.oRow = append(j.oRow, row)
	j.oOth = append(j.oOth, oth)
	j.oDiff = append(j.oDiff, d)
	if len(j.oRow) >= j.max {
		return j.flush(port, c)
	}
	return nil
}

// joinResidual is joinPlain with a residual: candidate pairs are made first, evaluated in batches, and the
// number of matches is kept for each row of a side that is outer.
func (j *HashJoin) joinResidual(port int, s, o *joinSide, c *vec.Chunk) error {
	n := c.Len()
	j.matches = j.matches[:0]
	for range n {
		j.matches = append(j.matches, 0)
	}
	j.settled = 0
	for i, e := range j.ents {
		if e == none || j.skipped(i) {
			continue
		}
		rec := j.recs.at(e)
		rec.n[port] += c.Diff(i)
		for r := rec.head[1-port]; r != 0; r = *o.next.at(r - 1) {
			j.pRow = append(j.pRow, int32(i))
			j.pOth = append(j.pOth, r-1)
			if len(j.pRow) >= j.max {
				if err := j.evalPairs(port, o, c); err != nil {
					return err
				}
			}
		}
	}
	if err := j.evalPairs(port, o, c); err != nil {
		return err
	}
	return j.settle(port, s, c, n)
}

// settle emits the rows of the chunk before row upto that show without a match or, semi, because of
// one. Their pairs have all been evaluated. It keeps what concerns a row together: were the rows without a
// match to come last, the new row of a key could come before its old one goes.
func (j *HashJoin) settle(port int, s *joinSide, c *vec.Chunk, upto int) error {
	if !s.outer {
		return nil
	}
	for ; j.settled < upto; j.settled++ {
		i := j.settled
		if !j.skipped(i) && (j.matches[i] > 0) == (j.cfg.Kind == Semi) {
			if err := j.out1(port, c, int32(i), none, c.Diff(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// evalPairs emits those of the candidate pairs for which the residual is true.
func (j *HashJoin) evalPairs(port int, o *joinSide, c *vec.Chunk) error {
	if len(j.pRow) == 0 {
		return nil
	}
	if err := j.cancelled(); err != nil {
		return err
	}
	nl := len(j.cfg.Left)
	j.pairs.Reset()
	for _, col := range j.resCols {
		side, k := 0, col
		if col >= nl {
			side, k = 1, col-nl
		}
		if side == port {
			j.pairs.Cols[col].AppendSel(c.Cols[k], j.pRow)
		} else {
			o.store.gather(o.at[k], j.pOth, j.pairs.Cols[col])
		}
	}
	j.pairs.SetLen(len(j.pRow))
	j.evaluated, j.evaluatedWith = c, o
	passed, err := j.residual.EvalFilter(&j.evalCtx, j.pairs, nil, j.passed[:0])
	if err != nil {
		return err
	}
	j.passed = passed
	emitPairs := j.cfg.Kind != Semi && j.cfg.Kind != Anti
	for _, p := range passed {
		i, r := j.pRow[p], j.pOth[p]
		if err := j.settle(port, j.sides[port], c, int(i)); err != nil {
			return err
		}
		d, m := c.Diff(int(i)), o.multiplicity(r)
		j.matches[i] += m
		begins, ends := false, false
		if o.useDeg {
			deg := o.deg.at(r)
			before := *deg
			*deg += d
			if !j.cfg.BuildRight {
				begins, ends = before <= 0 && *deg > 0, before > 0 && *deg <= 0
			}
		}
		if begins && emitPairs {
			if err := j.out1(port, c, -1, r, -m); err != nil {
				return err
			}
		}
		if emitPairs {
			if err := j.out1(port, c, i, r, d*m); err != nil {
				return err
			}
		}
		switch {
		case ends && emitPairs:
			err = j.out1(port, c, -1, r, m)
		case !emitPairs && (begins || ends):
			if begins == (j.cfg.Kind == Anti) {
				m = -m
			}
			err = j.out1(port, c, -1, r, m)
		}
		if err != nil {
			return err
		}
	}
	j.pRow, j.pOth = j.pRow[:0], j.pOth[:0]
	return nil
}

// flush emits what was collected.
func (j *HashJoin) flush(port int, c *vec.Chunk) error {
	if len(j.oRow) == 0 {
		return nil
	}
	// One row may have a million matches.
	if err := j.cancelled(); err != nil {
		return err
	}
	o := j.sides[1-port]
	out := j.outc
	out.Reset()
	hasNull := false
	for _, r := range j.oRow {
		if r < 0 {
			hasNull = true
			break
		}
	}
	sel := j.oRow
	if hasNull {
		j.selB = append(j.selB[:0], j.oRow...)
		sel = j.selB
		for i, r := range sel {
			if r < 0 {
				sel[i] = 0
			}
		}
	}
	for k, oc := range j.outCols {
		v := out.Cols[k]
		if oc.side != port {
			o.store.gather(o.at[oc.col], j.oOth, v)
			continue
		}
		v.AppendSel(c.Cols[oc.col], sel)
		if hasNull {
			for i, r := range j.oRow {
				if r < 0 {
					v.Nulls.Set(i)
				}
			}
		}
	}
	ones := true
	for _, d := range j.oDiff {
		if d != 1 {
			ones = false
			break
		}
	}
	out.SetLen(len(j.oRow))
	if !ones {
		out.EnsureDiffs()
		copy(out.Diffs, j.oDiff)
	}
	j.oRow, j.oOth, j.oDiff = j.oRow[:0], j.oOth[:0], j.oDiff[:0]
	return j.out.Chunk(out)
}
