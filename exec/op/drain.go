package op

import "github.com/weirdb/weir/exec/vec"

// What is below serves batch plans, where nothing is emitted before the barrier: an operator whose state consists of its
// input can give it up, so that it is divided and worked off in parts.

// drainer collects rows of a store into chunks.
type drainer struct {
	rows  *rowStore
	out   *vec.Chunk
	emit  func(*vec.Chunk) error
	ents  []uint32
	diffs []int64
}

func (d *drainer) add(row uint32, n int64) error {
	d.ents, d.diffs = append(d.ents, row), append(d.diffs, n)
	if len(d.ents) < vec.ChunkSize {
		return nil
	}
	return d.flush()
}

func (d *drainer) flush() error {
	if len(d.ents) == 0 {
		return nil
	}
	d.out.Reset()
	for k, v := range d.out.Cols {
		d.rows.gather(k, d.ents, v)
	}
	for _, n := range d.diffs {
		d.out.PushDiff(n)
	}
	d.ents, d.diffs = d.ents[:0], d.diffs[:0]
	return d.emit(d.out)
}

// Drain emits the rows that are kept, and forgets them: of rows beyond the limit of a group nothing is left.
func (t *TopN) Drain(emit func(*vec.Chunk) error) (again bool, err error) {
	d := &drainer{rows: t.rows, out: t.rowBuf, emit: emit}
	for e := range t.groups.n {
		if !t.groups.live.get(e) {
			continue
		}
		t.recs.at(e).rows.each(func(r topRow, n int64) {
			if err == nil {
				err = d.add(r.row, n)
			}
		})
	}
	if err == nil {
		err = d.flush()
	}
	if err != nil {
		return false, err
	}
	t.forget()
	t.touched, t.graves, t.dirty = nil, nil, nil
	return t.keep >= 0, t.account()
}

// Drain emits the rows, which wait for the barrier, and forgets them.
func (w *Window) Drain(emit func(*vec.Chunk) error) (again bool, err error) {
	d := &drainer{rows: w.rows, out: w.rowBuf, emit: emit}
	for _, e := range w.touched {
		for _, p := range w.recs.at(e).pending {
			if err := d.add(p.row, p.d); err != nil {
				return false, err
			}
		}
	}
	if err := d.flush(); err != nil {
		return false, err
	}
	w.forgetAll()
	w.touched = nil
	return false, w.account()
}
