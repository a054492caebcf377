package flow

import (
	"errors"
	"io"
	"reflect"
	"slices"
	"time"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/storage"
)

// The pause before a failed split is tried again: at first, and at most; it doubles each time.
const (
	splitRetry    = time.Second
	splitRetryMax = time.Minute
)

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
	no int
	// reader is nil while the split cannot be opened, or failed; then at is where it goes on.
	reader *SplitReader
	at     SplitPosition
	// idle: there is nothing now; the reader's Ready tells when there may be. over: nothing ever.
	idle, over bool
	// err is what Failed was told last. retry fires when a failed split is to be tried again.
	err   error
	retry <-chan time.Time
	stop  func()
	pause time.Duration
}

// wait gives the channel that tells when the split may have data, nil if nothing will.
func (s *sourceSplit) wait() reflect.Value {
	switch {
	case s.retry != nil:
		return reflect.ValueOf(s.retry)
	case s.idle:
		return reflect.ValueOf(s.reader.Ready())
	}
	return reflect.Value{}
}

// ready tells whether the split is to be read now.
func (s *sourceSplit) ready() bool {
	switch {
	case s.over:
		return false
	case s.retry != nil:
		select {
		case <-s.retry:
			s.woken()
			return true
		default:
			return false
		}
	case s.idle:
		select {
		case <-s.reader.Ready():
			s.woken()
			return true
		default:
			return false
		}
	}
	return true
}

// woken says that what the split waited for has come.
func (s *sourceSplit) woken() { s.idle, s.retry = false, nil }

// position is where the split's next row is.
func (s *sourceSplit) position() SplitPosition {
	if s.reader == nil {
		return s.at
	}
	return SplitPosition{Split: s.no, Rows: s.reader.Rows(), Offset: slices.Clone(s.reader.Offset())}
}

func (s *sourceSplit) close() {
	if s.reader != nil {
		_ = s.reader.Close()
		s.reader = nil
	}
	if s.stop != nil {
		s.stop()
	}
}

// sourceReader is the loop of a source actor.
type sourceReader struct {
	*actor
	spec   *SourceSpec
	table  *storage.StateTable
	splits []*sourceSplit
	pool   *parcelPool
	// cols are the columns that somebody wants.
	cols []int
	turn int
}

// runSource reads splits in turn and handles barriers between chunks. It begins after the first barrier,
// when the edges and so the needed columns are known, and stands still while nobody reads from it.
func (a *actor) runSource() error {
	table, err := a.openState(offsetsTable(a.job.job, a.frag))
	if err != nil {
		return err
	}
	r := &sourceReader{
		actor: a, spec: a.frag.Source, table: table, cols: []int{},
		pool: newParcelPool(a.frag.Types, a.rt.cfg.ChunkSize, 2*idleParcels),
	}
	defer func() {
		for _, s := range r.splits {
			s.close()
		}
	}()
	a.disp.onChange = func() {
		r.cols = a.disp.needed()
		for _, s := range r.splits {
			if s.reader != nil {
				s.reader.SetColumns(r.cols)
			}
		}
	}
	started := false
	for {
		s := r.next()
		if s != nil && !r.rt.room() {
			// The split is still ready at the next turn.
			r.rt.pressure.waits.Add(1)
			expired, stop := r.rt.cfg.Clock.NewTimer(pressurePoll)
			select {
			case <-a.in.wake:
			case <-expired:
			}
			stop()
		} else if s == nil {
			r.await()
		} else {
			select {
			case <-a.in.wake:
			default:
				if err := r.read(s); err != nil {
					return err
				}
				continue
			}
		}
		ms, err := a.in.take()
		if err != nil {
			return err
		}
		for _, m := range ms {
			if !started {
				started = true
				if err := r.open(); err != nil {
					return err
				}
			}
			if err := r.barrier(*m.barrier); err != nil {
				return err
			}
			if a.last {
				return nil
			}
		}
	}
}

// open restores the positions of this actor's splits.
func (r *sourceReader) open() error {
	for _, no := range splitsOf(r.spec.Source.Splits(), r.index, r.frag.Parallel) {
		s := &sourceSplit{no: no, at: SplitPosition{Split: no}}
		r.splits = append(r.splits, s)
		val, ok, err := r.table.Get(splitKey(no))
		if err != nil {
			return err
		}
		if ok {
			if s.at, err = decodePosition(no, val); err != nil {
				return err
			}
		}
		r.openSplit(s)
	}
	return nil
}

// openSplit makes the reader of a split.
func (r *sourceReader) openSplit(s *sourceSplit) {
	reader, err := OpenSplit(r.job.ctx, r.spec.Source, s.no, s.at.Offset, r.cols)
	if err != nil {
		r.failed(s, err)
		return
	}
	s.reader = reader
}

// failed gives up the reader of a split for some time.
func (r *sourceReader) failed(s *sourceSplit, err error) {
	s.at = s.position()
	s.close()
	if s.err == nil || s.err.Error() != err.Error() {
		r.rt.cfg.Logger.Error("source failed", "event", "source_failed", "source", r.job.job.Name, "split", s.no, "error", err)
		if r.spec.Failed != nil {
			r.spec.Failed(s.no, err)
		}
	}
	s.err = err
	s.pause = min(max(2*s.pause, splitRetry), splitRetryMax)
	s.retry, s.stop = r.rt.cfg.Clock.NewTimer(s.pause)
}

// works says that a split could be read.
func (r *sourceReader) works(s *sourceSplit) {
	if s.err == nil {
		return
	}
	s.err, s.pause = nil, 0
	r.rt.cfg.Logger.Info("source works again", "event", "source_works", "source", r.job.job.Name, "split", s.no)
	if r.spec.Failed != nil {
		r.spec.Failed(s.no, nil)
	}
}

// next picks the next split, in turn, that may have data.
func (r *sourceReader) next() *sourceSplit {
	if len(r.disp.edges) == 0 {
		return nil
	}
	for range r.splits {
		s := r.splits[r.turn%len(r.splits)]
		r.turn++
		if s.ready() {
			return s
		}
	}
	return nil
}

// await waits for a barrier or for one of the splits.
func (r *sourceReader) await() {
	var waiting []*sourceSplit
	cases := []reflect.SelectCase{{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(r.in.wake)}}
	if len(r.disp.edges) > 0 {
		for _, s := range r.splits {
			if ch := s.wait(); ch.IsValid() {
				waiting = append(waiting, s)
				cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: ch})
			}
		}
	}
	if i, _, _ := reflect.Select(cases); i > 0 {
		waiting[i-1].woken()
	}
}

// read sends one chunk of a split.
func (r *sourceReader) read(s *sourceSplit) error {
	if s.reader == nil {
		r.openSplit(s)
		if s.reader == nil {
			return nil
		}
	}
	if f := r.rt.cfg.Fault; f != nil {
		f(r.job.id(), r.id, "source")
	}
	p := r.pool.get()
	n, err := s.reader.Next(p.chunk, r.rt.cfg.ChunkSize)
	if n > 0 {
		r.works(s)
		r.rt.inputArrived()
		return r.disp.own(p)
	}
	p.release()
	switch {
	case errors.Is(err, exec.ErrNoData):
		s.idle = true
		r.works(s)
	case errors.Is(err, io.EOF):
		s.over = true
		r.job.sources.end(s.no)
		r.works(s)
	case err == nil:
		r.failed(s, errors.New("the connector gave neither rows nor an error"))
	default:
		r.failed(s, err)
	}
	return nil
}

// barrier notes the positions, passes the barrier on and reports it.
func (r *sourceReader) barrier(b exec.Barrier) error {
	oldest := r.rt.cfg.Store.Oldest()
	for _, s := range r.splits {
		at := s.position()
		r.job.sources.set(b.Epoch, oldest, at)
		if b.Checkpoint {
			r.table.Put(splitKey(s.no), encodePosition(at))
		}
	}
	if err := r.disp.Barrier(b); err != nil {
		return err
	}
	r.report(b)
	return nil
}
