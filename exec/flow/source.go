package flow

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// SourceSpec describes a fragment of source readers. Its output is the source's columns followed by
// _row_id (int8): ordinal*splits + split, the same for a row whenever it is read.
type SourceSpec struct {
	Source exec.Source
	// Failed is told when a split cannot be read any further: the split then stands still, and
	// everything else goes on. It is told again, with nil, when the split works.
	Failed func(split int, err error)
}

// SourceTypes is the schema of a source fragment.
func SourceTypes(s exec.Source) []types.Type {
	cols := s.Columns()
	ts := make([]types.Type, 0, len(cols)+1)
	for _, c := range cols {
		ts = append(ts, c.Type)
	}
	return append(ts, types.T(types.Int8))
}

// SplitReader reads one split and adds _row_id, which its columns list may ask for.
type SplitReader struct {
	reader exec.Reader
	split  int64
	splits int64
	rowID  bool
	width  int
	rows   int64
}

// OpenSplit opens a split of a source at an offset (nil: its start). Columns are numbered as in
// SourceTypes.
func OpenSplit(ctx context.Context, s exec.Source, split int, offset []byte, cols []int) (*SplitReader, error) {
	r := &SplitReader{split: int64(split), splits: int64(s.Splits()), width: len(s.Columns())}
	var err error
	if r.reader, err = s.Open(ctx, split, offset, r.want(cols)); err != nil {
		return nil, err
	}
	r.rows = r.reader.OffsetRows()
	return r, nil
}

// want splits a column list into what the connector reads and whether _row_id is asked for.
func (r *SplitReader) want(cols []int) []int {
	r.rowID = false
	var real []int
	for _, c := range cols {
		if c == r.width {
			r.rowID = true
		} else {
			real = append(real, c)
		}
	}
	return real
}

// SetColumns changes the needed columns.
func (r *SplitReader) SetColumns(cols []int) { r.reader.SetColumns(r.want(cols)) }

// Rows is the number of rows of the split before the next one.
func (r *SplitReader) Rows() int64 { return r.rows }

// Offset is the position of the next row.
func (r *SplitReader) Offset() []byte { return r.reader.Offset() }

// Ready is the reader's.
func (r *SplitReader) Ready() <-chan struct{} { return r.reader.Ready() }

// Close closes the reader.
func (r *SplitReader) Close() error { return r.reader.Close() }

// Next fills c, a chunk of SourceTypes, with at most max rows; see exec.Reader.
func (r *SplitReader) Next(c *vec.Chunk, max int) (int, error) {
	c.Reset()
	id := c.Cols[r.width]
	src := vec.Chunk{Cols: c.Cols[:r.width]}
	n, err := r.reader.Next(&src, max)
	if n == 0 {
		return 0, err
	}
	if r.rowID {
		for i := range int64(n) {
			id.Int = append(id.Int, (r.rows+i)*r.splits+r.split)
		}
	}
	r.rows += int64(n)
	c.SetLen(n)
	return n, nil
}

// SplitPosition is how far a split was read at the end of an epoch.
type SplitPosition struct {
	Split  int
	Rows   int64
	Offset []byte
}

// positions remembers, for the epochs that may still be read, how far each split of a source was.
type positions struct {
	mu sync.Mutex
	by map[int][]epochPosition
}

type epochPosition struct {
	epoch storage.Epoch
	SplitPosition
}

func newPositions() *positions { return &positions{by: map[int][]epochPosition{}} }

// set notes the position of a split at the end of an epoch, and forgets what no reader can ask for:
// all but the newest one at or before completed.
func (p *positions) set(epoch, completed storage.Epoch, at SplitPosition) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ps := append(p.by[at.Split], epochPosition{epoch, at})
	for len(ps) > 1 && ps[1].epoch <= completed {
		ps = ps[1:]
	}
	p.by[at.Split] = ps
}

func (p *positions) at(split int, epoch storage.Epoch) (SplitPosition, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ps := p.by[split]
	for i := len(ps) - 1; i >= 0; i-- {
		if ps[i].epoch <= epoch {
			return ps[i].SplitPosition, true
		}
	}
	return SplitPosition{Split: split}, false
}

// SourcePositions tells how far each split of a running source job was read at the end of an epoch;
// false if the job is not running: then nobody has read the source.
func (r *Runtime) SourcePositions(id JobID, epoch storage.Epoch) ([]SplitPosition, bool) {
	d := r.job(id)
	if d == nil || d.sources == nil {
		return nil, false
	}
	n := d.job.Fragments[0].Source.Source.Splits()
	out := make([]SplitPosition, n)
	for i := range n {
		out[i], _ = d.sources.at(i, epoch)
	}
	return out, true
}

// splitsOf lists the splits that actor i of n reads.
func splitsOf(splits, i, n int) []int {
	var out []int
	for s := i; s < splits; s += n {
		out = append(out, s)
	}
	return out
}

// sourceSplit is a split that a source actor reads.
type sourceSplit struct {
	no     int
	reader *SplitReader
	// idle: there is nothing now; the reader's Ready tells when there may be. over: nothing ever.
	idle, over bool
	err        error
}

// runSource reads splits in turn and handles barriers between chunks.
func (a *actor) runSource() error {
	spec := a.frag.Source
	table, err := a.openState(a.job.job.StateID(fmt.Sprintf("%d/source/offsets", a.frag.ID)))
	if err != nil {
		return err
	}
	// Reading starts after the first barrier, when the edges and so the needed columns are known.
	cols := []int{}
	var splits []*sourceSplit
	defer func() {
		for _, s := range splits {
			if s.reader != nil {
				_ = s.reader.Close()
			}
		}
	}()
	a.disp.onChange = func() {
		cols = a.disp.needed()
		for _, s := range splits {
			if s.reader != nil {
				s.reader.SetColumns(cols)
			}
		}
	}
	pool := newParcelPool(a.frag.Types, a.rt.cfg.ChunkSize)
	started := false
	turn := 0
	for {
		ms, err := a.in.take()
		if err != nil {
			return err
		}
		for _, m := range ms {
			if !started {
				started = true
				if splits, err = a.openSplits(spec, table); err != nil {
					return err
				}
			}
			if err := a.sourceBarrier(*m.barrier, table, splits); err != nil {
				return err
			}
			if a.last {
				return nil
			}
		}
		if !started {
			<-a.in.wake
			continue
		}
		s := nextSplit(splits, &turn)
		if s == nil {
			a.awaitSource(splits)
			continue
		}
		p := pool.get()
		if err := a.readSplit(s, spec, cols, p); err != nil {
			return err
		}
	}
}

// openSplits restores the positions of this actor's splits.
func (a *actor) openSplits(spec *SourceSpec, table *storage.StateTable) ([]*sourceSplit, error) {
	var splits []*sourceSplit
	for _, no := range splitsOf(spec.Source.Splits(), a.index, a.frag.Parallel) {
		s := &sourceSplit{no: no}
		splits = append(splits, s)
		val, ok, err := table.Get(splitKey(no))
		if err != nil {
			return nil, err
		}
		var at SplitPosition
		if ok {
			if at, err = decodePosition(no, val); err != nil {
				return nil, err
			}
		}
		s.reader, s.err = OpenSplit(a.rt.ctx, spec.Source, no, at.Offset, nil)
		a.splitState(spec, s, at)
	}
	return splits, nil
}

// splitState reports an error of opening a split. Without a reader the split stands still at the
// position it had.
func (a *actor) splitState(spec *SourceSpec, s *sourceSplit, at SplitPosition) {
	if s.err == nil {
		return
	}
	s.over = true
	a.job.sources.set(0, 0, at)
	if spec.Failed != nil {
		spec.Failed(s.no, s.err)
	}
}

// nextSplit picks the next split, in turn, that may have data.
func nextSplit(splits []*sourceSplit, turn *int) *sourceSplit {
	for range splits {
		s := splits[*turn%len(splits)]
		*turn++
		if s.idle {
			select {
			case <-s.reader.Ready():
				s.idle = false
			default:
			}
		}
		if !s.idle && !s.over {
			return s
		}
	}
	return nil
}

// awaitSource waits for a barrier or for an idle split.
func (a *actor) awaitSource(splits []*sourceSplit) {
	var idle []*sourceSplit
	for _, s := range splits {
		if s.idle {
			idle = append(idle, s)
		}
	}
	switch len(idle) {
	case 0:
		<-a.in.wake
	case 1:
		select {
		case <-a.in.wake:
		case <-idle[0].reader.Ready():
			idle[0].idle = false
		}
	default:
		// Several idle splits: one goroutine per wait, all of which end before this returns.
		stop := make(chan struct{})
		ready := make(chan *sourceSplit, len(idle))
		var wg sync.WaitGroup
		for _, s := range idle {
			wg.Go(func() {
				select {
				case <-s.reader.Ready():
					ready <- s
				case <-stop:
				}
			})
		}
		select {
		case <-a.in.wake:
		case s := <-ready:
			s.idle = false
		}
		close(stop)
		wg.Wait()
		close(ready)
		for s := range ready {
			s.idle = false
		}
	}
}

// readSplit sends one chunk.
func (a *actor) readSplit(s *sourceSplit, spec *SourceSpec, cols []int, p *parcel) error {
	s.reader.SetColumns(cols)
	n, err := s.reader.Next(p.chunk, a.rt.cfg.ChunkSize)
	if n > 0 {
		a.rt.inputArrived()
		return a.disp.own(p)
	}
	p.release()
	switch {
	case errors.Is(err, exec.ErrNoData):
		s.idle = true
	case errors.Is(err, io.EOF):
		s.over = true
	default:
		s.over, s.err = true, err
		a.rt.cfg.Logger.Error("source failed", "source", a.job.job.Name, "split", s.no, "error", err)
		if spec.Failed != nil {
			spec.Failed(s.no, err)
		}
	}
	return nil
}

func (a *actor) sourceBarrier(b exec.Barrier, table *storage.StateTable, splits []*sourceSplit) error {
	completed := storage.Epoch(a.rt.Marks().Completed)
	for _, s := range splits {
		if s.reader == nil {
			continue
		}
		at := SplitPosition{Split: s.no, Rows: s.reader.Rows(), Offset: slices.Clone(s.reader.Offset())}
		a.job.sources.set(b.Epoch, completed, at)
		if b.Checkpoint {
			table.Put(splitKey(s.no), encodePosition(at))
		}
	}
	if err := a.disp.Barrier(b); err != nil {
		return err
	}
	a.report(b)
	return nil
}

// needed lists the columns that some edge sends or hashes.
func (d *dispatcher) needed() []int {
	want := make([]bool, len(d.types))
	for _, e := range d.edges {
		if e.cols == nil {
			for i := range want {
				want[i] = true
			}
		}
		for _, c := range e.cols {
			want[c] = true
		}
		if e.dist.Kind == ToHash {
			for _, c := range e.dist.Cols {
				want[c] = true
			}
		}
	}
	cols := []int{}
	for i, w := range want {
		if w {
			cols = append(cols, i)
		}
	}
	return cols
}

// A split's position is kept under vnode 0 and its number, as its rows and its offset.
func splitKey(no int) []byte { return binary.BigEndian.AppendUint32([]byte{0}, uint32(no)) }

func encodePosition(p SplitPosition) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(p.Rows)), p.Offset...)
}

func decodePosition(split int, b []byte) (SplitPosition, error) {
	if len(b) < 8 {
		return SplitPosition{}, fmt.Errorf("flow: position of split %d: %d bytes", split, len(b))
	}
	return SplitPosition{Split: split, Rows: int64(binary.BigEndian.Uint64(b)), Offset: slices.Clone(b[8:])}, nil
}
