package flow

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"time"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// Progress is told how a backfill goes on. Its methods are called by actors.
type Progress interface {
	// Read reports rows that were read from the snapshot since the last call.
	Read(rows int64)
	// Done reports that one actor has caught up, with the first epoch that is complete for it.
	Done(epoch storage.Epoch)
}

// backfillPortion is how many rows an actor reads between two barriers, at first. It doubles every
// time, up to backfillMax; for a source, which is read on meanwhile, also beyond that if need be.
const (
	backfillPortion = 64 << 10
	backfillMax     = 1 << 20
)

// TableBackfill feeds a new job with an arrangement's rows and then its changes.
//
//	In:      the arrangement's changes from the job's first barrier on (columns of the input).
//	Out:     the same columns. After each barrier of epoch e a portion of the version at e, in key
//	         order, goes out as inserts; live changes pass if their key is at or before the
//	         position, and are dropped otherwise, since a later portion will contain them.
//	State:   none: a job that is not complete is not part of a recovered catalog. If it is, Durable: the position of
//	         each actor, state table "position".
//	Memory:  one chunk.
//	Barrier: the position is handed over with it; then the next portion is read, and another barrier is asked for.
//	Errors:  those of storage.
type TableBackfill struct {
	tablePortions
	pos   []byte // the last key read; nil before the first
	rows  int64  // read so far, also before a restart
	place place
}

// TableBackfillConfig configures a TableBackfill.
type TableBackfillConfig struct {
	// Types is the schema of the input and the output.
	Types []types.Type
	// VersionAt opens the version of the arrangement at an epoch.
	VersionAt func(storage.Epoch) (*storage.Version, error)
	// AppendKey appends the arrangement key of row i.
	AppendKey func(dst []byte, c *vec.Chunk, i int) []byte
	// Decode appends a stored row to dst.
	Decode func(dst *vec.Chunk, key, value []byte) error
	// With several actors, the one numbered Index of Parallel takes the rows whose vnode over
	// HashCols it owns.
	HashCols        []int
	Index, Parallel int
	Progress        Progress
	// Complete: nothing is to be read; changes pass from the start (a recovered job).
	Complete bool
	// Durable: the position is part of the state, and a restart goes on there.
	Durable bool
	// RequestBarrier asks for a barrier soon.
	RequestBarrier func()
	// Portion is how many rows are read between the first two barriers, and MaxPortion between any
	// two; 0 means the usual number.
	Portion, MaxPortion int
	Pace
}

// Pace keeps the backfill of a table from flooding its job: barriers wait behind the rows of a portion, and with them
// every read of the server. The next portion waits until the one before has been worked off, and
// is smaller where that took long. How many rows go into an epoch decides nothing but that. The
// zero Pace does not wait.
type Pace struct {
	// Passed gives the newest epoch that the job has passed, Now the time.
	Passed func() storage.Epoch
	Now    func() time.Time
	// Later asks for a barrier once the job has passed an epoch. Asking at once, whoever is behind would keep as many barriers
	// under way as there may be, and with them itself behind. Nil: ask at once.
	Later func(storage.Epoch)
	// Room tells whether memory has room for what a portion changes, and if not, has a checkpoint made, which without input nobody else asks
	// for; WhenRoom asks for a barrier once there is. Nil: there is room.
	Room     func() bool
	WhenRoom func(ctx context.Context)

	began time.Time
}

// waits tells whether the next portion has to wait for a checkpoint; the barrier after which it is read is asked for.
func (p *Pace) waits(ctx context.Context) bool {
	if p.Room == nil || p.Room() {
		return false
	}
	p.WhenRoom(ctx)
	return true
}

// A portion that is worked off within paceFast may be followed by a larger one; one that takes longer than
// paceSlow is followed by a smaller one.
const (
	paceFast = 20 * time.Millisecond
	paceSlow = 100 * time.Millisecond
	paceMin  = 256
)

// behind tells whether rows of the last portion, which went into the epoch before e, may still be under way.
func (p *Pace) behind(e storage.Epoch) bool { return p.Passed != nil && p.Passed()+1 < e }

// later asks for the barrier after which a portion may be read.
func (p *Pace) later(e storage.Epoch, request func()) {
	if p.Later == nil {
		request()
		return
	}
	p.Later(e)
}

// next gives the size of the portion that begins now, from that of the last one.
func (p *Pace) next(portion int64) int64 {
	if p.Now == nil {
		return portion
	}
	now := p.Now()
	took := now.Sub(p.began)
	first := p.began.IsZero()
	p.began = now
	switch {
	case first:
		return min(portion, 8*paceMin)
	case took > paceSlow:
		return max(portion/4, paceMin)
	case took > paceFast:
		return max(portion/2, paceMin)
	}
	return portion
}

var (
	_ exec.Operator = (*TableBackfill)(nil)
	_ Continuer     = (*TableBackfill)(nil)
)

// NewTableBackfill makes a TableBackfill.
func NewTableBackfill(cfg TableBackfillConfig) *TableBackfill {
	b := &TableBackfill{tablePortions: newTablePortions(cfg)}
	b.done = cfg.Complete
	return b
}

// Open takes up the position of a job that is resumed.
func (b *TableBackfill) Open(ctx *exec.Context, out exec.Output) error {
	if err := b.tablePortions.Open(ctx, out); err != nil || !b.Durable {
		return err
	}
	b.place.open(ctx)
	at, ok, err := b.place.load(b.Index)
	if err != nil || !ok {
		return err
	}
	b.rows, b.pos = at.Rows, at.Offset
	b.Progress.Read(b.rows)
	if b.place.done {
		b.done = true
		b.Progress.Done(0)
	}
	return nil
}

// Chunk passes the live changes at or before the position.
func (b *TableBackfill) Chunk(_ int, c *vec.Chunk) error {
	if b.done {
		return b.out.Chunk(c)
	}
	if b.pos == nil {
		return nil
	}
	return b.passRows(c, func(key []byte) bool { return bytes.Compare(key, b.pos) <= 0 })
}

// Barrier forwards the barrier and pins the version of its epoch for AfterBarrier.
func (b *TableBackfill) Barrier(br exec.Barrier) error {
	if b.Durable && b.pos != nil {
		b.place.save(SplitPosition{Split: b.Index, Rows: b.rows, Offset: b.pos}, b.done)
	}
	if err := b.out.Barrier(br); err != nil {
		return err
	}
	if !b.done {
		v, err := b.VersionAt(br.Epoch)
		if err != nil {
			return err
		}
		b.version = v
	}
	return nil
}

// Position gives up to which key of the arrangement the rows have gone out, with the changes that follow; nil: none have;
// all: all have. It is meant for operators of the same actor, at a barrier.
func (b *TableBackfill) Position() (upto []byte, all bool) { return b.pos, b.done }

// AfterBarrier emits the next portion.
func (b *TableBackfill) AfterBarrier(br exec.Barrier) error {
	if b.version != nil && b.Pace.waits(b.ctx.Ctx) {
		b.Close()
		return nil
	}
	v := b.begin(br.Epoch)
	if v == nil {
		return nil
	}
	defer v.Release()
	var lo []byte
	if b.pos != nil {
		lo = append(append([]byte(nil), b.pos...), 0)
	}
	it := v.Iterator(lo, nil, false)
	defer it.Close()
	rows, done := 0, false
	for rows < b.portion {
		if !it.Next() {
			if err := it.Err(); err != nil {
				return err
			}
			done = true
			break
		}
		rows++
		if err := b.Decode(b.buf, it.Key(), it.Value()); err != nil {
			return err
		}
		b.pos = append(b.pos[:0], it.Key()...)
		if err := b.full(); err != nil {
			return err
		}
	}
	if b.pos == nil {
		b.pos = []byte{}
	}
	b.rows += int64(rows)
	return b.end(br.Epoch, rows, done)
}

// SourceBackfill feeds a new job with what a running source has delivered already, and then its
// rows: it reads the source's splits with readers of its own until they are where the source was at
// a barrier, dropping what arrives meanwhile.
//
//	In:      the source's rows from the job's first barrier on; append-only.
//	Out:     the same columns.
//	State:   none, as TableBackfill; if Durable, the position in each split.
//	Memory:  one chunk.
//	Barrier: forwarded, with the positions; then the splits are read on.
//	Errors:  those of the source.
type SourceBackfill struct {
	SourceBackfillConfig
	out     exec.Output
	ctx     *exec.Context
	readers []*SplitReader
	goal    []int64
	pending bool
	done    bool
	portion int64
	// rest is how many rows were left at the last barrier.
	rest int64
	full *vec.Chunk
	// from is where each split begins, once known.
	from  []SplitPosition
	place place
}

// SourceBackfillConfig configures a SourceBackfill.
type SourceBackfillConfig struct {
	Source exec.Source
	// Splits are those whose rows arrive at this actor.
	Splits []int
	// Cols are the columns of SourceTypes that make the input and the output.
	Cols []int
	// Position gives the rows of a split that the source had delivered at the end of an epoch.
	Position func(split int, epoch storage.Epoch) int64
	// From gives where the first reader of a split begins: for a job that begins again at a checkpoint, where
	// the source was then. Nil: at the start.
	From     func(split int) (SplitPosition, error)
	Progress Progress
	Complete bool
	// Durable: the positions are part of the state, and a restart goes on there.
	Durable        bool
	RequestBarrier func()
	// Portion is how many rows of a split are read between the first two barriers; 0 means the usual
	// number.
	Portion int64
	// Pace makes a portion wait for memory; it does not change its size.
	Pace Pace
}

var (
	_ exec.Operator = (*SourceBackfill)(nil)
	_ Continuer     = (*SourceBackfill)(nil)
)

// NewSourceBackfill makes a SourceBackfill.
func NewSourceBackfill(cfg SourceBackfillConfig) *SourceBackfill {
	if cfg.Portion <= 0 {
		cfg.Portion = backfillPortion
	}
	return &SourceBackfill{SourceBackfillConfig: cfg, done: cfg.Complete, portion: cfg.Portion}
}

// Schema is the chosen columns.
func (b *SourceBackfill) Schema() []types.Type {
	all := SourceTypes(b.Source)
	ts := make([]types.Type, len(b.Cols))
	for i, c := range b.Cols {
		ts[i] = all[c]
	}
	return ts
}

// Open prepares.
func (b *SourceBackfill) Open(ctx *exec.Context, out exec.Output) error {
	b.ctx, b.out = ctx, out
	b.goal = make([]int64, len(b.Splits))
	if !b.Durable {
		return nil
	}
	b.place.open(ctx)
	from := make([]SplitPosition, len(b.Splits))
	for i, s := range b.Splits {
		at, ok, err := b.place.load(s)
		if err != nil || !ok {
			return err
		}
		from[i] = at
	}
	b.from = from
	for _, at := range from {
		b.Progress.Read(at.Rows)
	}
	if b.place.done || len(b.Splits) == 0 {
		b.done = true
		b.Progress.Done(0)
	}
	return nil
}

// savePositions puts how far the splits have been read into the state.
func (b *SourceBackfill) savePositions() {
	for i := range b.from {
		at := b.from[i]
		at.Split = b.Splits[i]
		if i < len(b.readers) && b.readers[i] != nil {
			at.Rows, at.Offset = b.readers[i].Rows(), b.readers[i].Offset()
			b.from[i] = at
		}
		b.place.save(at, b.done)
	}
}

// Chunk passes rows once the backfill is done.
func (b *SourceBackfill) Chunk(_ int, c *vec.Chunk) error {
	if b.done {
		return b.out.Chunk(c)
	}
	return nil
}

// Watermark passes once the backfill is done.
func (b *SourceBackfill) Watermark(_ int, w exec.Watermark) error {
	if b.done {
		return b.out.Watermark(w)
	}
	return nil
}

// Barrier forwards the barrier and notes how far the source was.
func (b *SourceBackfill) Barrier(br exec.Barrier) error {
	if b.Durable {
		b.savePositions()
	}
	if err := b.out.Barrier(br); err != nil {
		return err
	}
	if b.done {
		return nil
	}
	if b.from == nil {
		b.from = make([]SplitPosition, len(b.Splits))
		for i, s := range b.Splits {
			if b.From == nil {
				break
			}
			var err error
			if b.from[i], err = b.From(s); err != nil {
				return err
			}
		}
	}
	for i, s := range b.Splits {
		b.goal[i] = b.Position(s, br.Epoch)
	}
	b.pending = true
	return nil
}

// AfterBarrier reads a portion. Meanwhile the source waits for room in this actor's inbox, so the rest
// shrinks as a rule; where it does not, the portion grows until it is everything.
func (b *SourceBackfill) AfterBarrier(br exec.Barrier) error {
	if !b.pending {
		return nil
	}
	b.pending = false
	if b.Pace.waits(b.ctx.Ctx) {
		return nil
	}
	rest := int64(0)
	for i, goal := range b.goal {
		rest += goal
		if i < len(b.readers) && b.readers[i] != nil {
			rest -= b.readers[i].Rows()
		} else {
			rest -= b.from[i].Rows
		}
	}
	reached := true
	for i, goal := range b.goal {
		ok, err := b.readSplit(i, goal)
		if err != nil {
			return err
		}
		reached = reached && ok
	}
	if b.portion < backfillMax || rest >= b.rest && b.portion < math.MaxInt64/2 {
		b.portion *= 2
	}
	b.rest = rest
	if reached {
		b.done = true
		b.Close()
		b.Progress.Done(br.Epoch + 1)
	}
	b.RequestBarrier()
	return nil
}

// readSplit reads up to goal, or a portion, and tells whether goal was reached.
func (b *SourceBackfill) readSplit(i int, goal int64) (bool, error) {
	if goal <= b.from[i].Rows {
		return true, nil
	}
	for len(b.readers) <= i {
		b.readers = append(b.readers, nil)
	}
	if b.readers[i] == nil {
		r, err := OpenSplit(b.ctx.Ctx, b.Source, b.Splits[i], b.from[i].Offset, b.Cols)
		if err != nil {
			return false, err
		}
		b.readers[i] = r
	}
	if b.full == nil {
		b.full = vec.NewChunk(SourceTypes(b.Source), b.ctx.ChunkSize)
	}
	r := b.readers[i]
	var view vec.Chunk
	read := int64(0)
	for r.Rows() < goal && read < b.portion {
		n, err := r.Next(b.full, int(min(int64(b.ctx.ChunkSize), goal-r.Rows())))
		if n == 0 {
			if errors.Is(err, io.EOF) || errors.Is(err, exec.ErrNoData) {
				err = errors.New("the source has fewer rows than it had before: it cannot be read again")
			}
			return false, err
		}
		read += int64(n)
		view.View(b.full, b.Cols)
		if err := b.out.Chunk(&view); err != nil {
			return false, err
		}
		if err := b.ctx.Ctx.Err(); err != nil {
			return false, err
		}
	}
	b.Progress.Read(read)
	return r.Rows() >= goal, nil
}

// Close closes the readers.
func (b *SourceBackfill) Close() {
	for _, r := range b.readers {
		if r != nil {
			_ = r.Close()
		}
	}
	b.readers = nil
}
