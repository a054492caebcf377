package flow

import (
	"context"
	"encoding/binary"
	"fmt"
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
	// Failed is told when a split cannot be read any further: the split then stands still, is tried
	// again now and then, and everything else goes on. It is told when the error changes, and with
	// nil when the split works again. Called by actors; must not block.
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
	src    vec.Chunk // what the connector fills
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
	r.src = vec.Chunk{Cols: c.Cols[:r.width]}
	n, err := r.reader.Next(&r.src, max)
	if n == 0 {
		return 0, err
	}
	if r.rowID {
		id := c.Cols[r.width]
		id.Resize(n)
		next := r.rows*r.splits + r.split
		for i := range id.Int {
			id.Int[i] = next
			next += r.splits
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
	// over are the splits that have been read to their end, where there will never be more.
	over map[int]bool
}

type epochPosition struct {
	epoch storage.Epoch
	SplitPosition
}

func newPositions() *positions {
	return &positions{by: map[int][]epochPosition{}, over: map[int]bool{}}
}

// end notes that a split has no more rows.
func (p *positions) end(split int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over[split] = true
}

// set notes the position of a split at the end of an epoch, and forgets what no reader can ask for:
// all but the newest one at or before oldest, the first epoch that can still be read.
func (p *positions) set(epoch, oldest storage.Epoch, at SplitPosition) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ps := append(p.by[at.Split], epochPosition{epoch, at})
	gone := 0
	for gone+1 < len(ps) && ps[gone+1].epoch <= oldest {
		gone++
	}
	p.by[at.Split] = slices.Delete(ps, 0, gone)
}

// trim forgets what was noted for epochs after the given one.
func (p *positions) trim(epoch storage.Epoch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for split, ps := range p.by {
		p.by[split] = slices.DeleteFunc(ps, func(e epochPosition) bool { return e.epoch > epoch })
	}
	clear(p.over)
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

// SourcePositions tells how far each split of a running source job was read at the end of an epoch,
// one whose barrier the caller has passed or has pinned a snapshot of; false if the job was not running
// then: nobody had read the source.
func (r *Runtime) SourcePositions(id JobID, epoch storage.Epoch) ([]SplitPosition, bool) {
	d := r.job(id)
	if d == nil || d.sources == nil {
		return nil, false
	}
	n := d.job.Fragments[0].Source.Source.Splits()
	out := make([]SplitPosition, n)
	known := false
	for i := range n {
		var ok bool
		out[i], ok = d.sources.at(i, epoch)
		known = known || ok
	}
	return out, known
}

// SourceEnded tells whether every split of a running source job has been read to an end after which
// nothing comes; its rows are in the open epoch or before.
func (r *Runtime) SourceEnded(id JobID) bool {
	d := r.job(id)
	if d == nil || d.sources == nil {
		return false
	}
	n := d.job.Fragments[0].Source.Source.Splits()
	d.sources.mu.Lock()
	defer d.sources.mu.Unlock()
	return len(d.sources.over) == n
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
	p := SplitPosition{Split: split, Rows: int64(binary.BigEndian.Uint64(b))}
	if len(b) > 8 {
		// Otherwise the split was never opened, and begins at its start.
		p.Offset = slices.Clone(b[8:])
	}
	return p, nil
}
