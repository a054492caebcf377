package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// A sink that writes into a table, step by step:
//
//  1. Its writer collects the net changes between two checkpoints. At a checkpoint's barrier they are the handle of a
//     transaction (exec.TwoPhaseWriter), which is part of the checkpoint.
//  2. When the checkpoint is durable, the handle is given to the sink's committer, a goroutine that writes it as a transaction
//     like any other, with the table's locks and constraints, through the log. The number of the handle, which is the
//     epoch of its checkpoint, is in the same transaction (table.Sequences).
//  3. So the changes are in the table exactly once: a handle whose number is not above the one in the table was written. Until
//     it is known to be, the sink keeps it in its state, and gives it to the committer again after a restart.
//  4. Who reads the table and wants all that was acknowledged demands a checkpoint, and waits until it has been written (AwaitInto).
//
// The committer waits for locks, and the dataflow never waits for it.

// committer writes what a sink has prepared for its table.
type committer struct {
	i    *Incarnation
	sink catalog.ID

	mu    sync.Mutex
	items []intoItem
	// taken counts the items that were ever enqueued, done those that were dealt with.
	taken, done int64
	// lives counts the calls of recover, after which items are counted anew.
	lives int
	// through is the newest epoch everything up to which is in the table.
	through storage.Epoch
	// err is why it has stopped, until a writer recovers.
	err error
	// creating: the sink is being created, and a failure is the statement's; nothing is written until it is in the catalog.
	creating       bool
	started, ended bool
	// moved is closed, and replaced, when anything of this has changed.
	moved chan struct{}
}

// intoItem is a transaction to be written, or the word that everything up to an epoch has been enqueued.
type intoItem struct {
	epoch  storage.Epoch
	handle []byte
	// again: it may have been written before.
	again bool
}

// committer gives the committer of a sink, making it on first use. An actor of a sink that is gone gets one that nobody else knows.
func (i *Incarnation) committer(sink catalog.ID) *committer {
	i.mu.Lock()
	defer i.mu.Unlock()
	c := i.committers[sink]
	if c == nil {
		c = &committer{i: i, sink: sink, moved: make(chan struct{})}
		if !i.forgotten[sink] {
			i.committers[sink] = c
		}
	}
	return c
}

func (c *committer) changedLocked() {
	close(c.moved)
	c.moved = make(chan struct{})
}

func (c *committer) enqueue(items ...intoItem) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		if c.creating {
			return nil
		}
		return c.err
	}
	c.items = append(c.items, items...)
	c.taken += int64(len(items))
	c.startLocked()
	c.changedLocked()
	return nil
}

func (c *committer) startLocked() {
	if !c.started {
		c.started = true
		c.i.wg.Go(c.run)
	}
}

// recover begins again with what a checkpoint has.
func (c *committer) recover(handles []intoItem) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lives++
	c.done += int64(len(c.items))
	c.items = slices.Clone(handles)
	c.taken += int64(len(handles))
	if !c.creating {
		c.err = nil
	}
	c.startLocked()
	c.changedLocked()
}

// end ends it: the sink is gone.
func (c *committer) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.changedLocked()
}

// setCreating says whether a statement is creating the sink.
func (c *committer) setCreating(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.creating = on
	c.changedLocked()
}

// run writes one item after the other, as long as the incarnation lives.
func (c *committer) run() {
	select {
	case <-c.i.replayed:
	case <-c.i.Ctx.Done():
		return
	}
	var w *intoWriter
	for {
		c.mu.Lock()
		moved := c.moved
		var item intoItem
		rel := c.i.Catalog().RelationByID(c.sink)
		ready := len(c.items) > 0 && c.err == nil && rel != nil
		if ready {
			item = c.items[0]
		}
		ended := c.ended
		c.mu.Unlock()
		if ended {
			return
		}
		if !ready {
			select {
			case <-moved:
				continue
			case <-c.i.Ctx.Done():
				return
			}
		}
		var err error
		if item.handle != nil {
			if w == nil {
				w, err = c.i.newIntoWriter(rel)
			}
			if err == nil {
				err = w.write(item)
			}
		}
		if c.i.Ctx.Err() != nil {
			return
		}
		c.mu.Lock()
		// What was recovered meanwhile has this item again.
		if len(c.items) > 0 && c.items[0].epoch == item.epoch && (c.items[0].handle == nil) == (item.handle == nil) {
			if err == nil {
				c.items = c.items[1:]
				c.done++
				if item.handle == nil {
					c.through = max(c.through, item.epoch)
				}
			} else {
				c.err = err
			}
		}
		c.changedLocked()
		c.mu.Unlock()
		if err != nil {
			w = nil // the table may be another when it is tried again
			c.i.e.cfg.Logger.Error("a sink cannot write into its table", "event", "sink_into_failed", "sink", rel.Name, "error", err)
		}
	}
}

// await waits until what a sink had prepared for epoch e is in its table, or will not come.
func (c *committer) await(ctx context.Context, e storage.Epoch) error {
	var need int64
	life := -1
	for first := true; ; first = false {
		outside := c.i.movedChan()
		c.mu.Lock()
		if c.lives != life {
			need, life = c.taken, c.lives
		}
		moved, err, done := c.moved, c.err, c.done >= need && c.through >= e
		c.mu.Unlock()
		if done || err != nil {
			return err
		}
		rel := c.i.Catalog().RelationByID(c.sink)
		if rel == nil || c.i.e.Stalled(c.i.Catalog(), c.sink) != nil || !c.i.RT.Has(flow.JobID(c.sink)) {
			return nil
		}
		if first {
			if err := c.i.RT.WaitDurable(ctx, e); err != nil {
				return c.i.explain(err)
			}
			continue
		}
		select {
		case <-moved:
		case <-outside:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-c.i.Ctx.Done():
			return ErrRestarted
		}
	}
}

// AwaitInto waits until everything that was acknowledged has gone through the sinks that write into tables which the relations
// are or read. A sink that fails is waited for no longer: what it has not written is not there.
func (i *Incarnation) AwaitInto(ctx context.Context, rels []*catalog.Relation) error {
	cat := i.Catalog()
	if !cat.HasSinksInto() {
		return nil
	}
	sinks, _ := cat.Feeding(rels)
	for _, s := range sinks {
		if err := i.committer(s.ID).await(ctx, i.RT.Written()); err != nil && (ctx.Err() != nil || i.Ctx.Err() != nil) {
			return err
		}
	}
	return nil
}

// BeginInto is called before a sink into a table is created, and the result when it is in the catalog: then its first rows are
// written, whose failure is that of the statement, and it waits for them.
func (i *Incarnation) BeginInto(sink *catalog.Relation) (finish func(ctx context.Context, created bool) error) {
	c := i.committer(sink.ID)
	c.setCreating(true)
	return func(ctx context.Context, created bool) error {
		var err error
		if created {
			c.mu.Lock()
			c.changedLocked()
			c.mu.Unlock()
			err = c.await(ctx, max(i.RT.Written(), storage.Epoch(i.RT.Marks().Completed)))
		}
		switch {
		case !created:
			// If it comes to be after all, it is removed at once, and must not have written anything.
			c.end()
		case err == nil:
			c.setCreating(false)
		}
		if !created && i.Catalog().RelationByID(sink.ID) == nil && !i.RT.Has(flow.JobID(sink.ID)) {
			i.forget(sink.ID)
		}
		return err
	}
}

// tableSink is the exec.Sink of a sink into a table.
type tableSink struct {
	i   *Incarnation
	rel *catalog.Relation
}

// Open implements exec.Sink.
func (s *tableSink) Open(_ context.Context, cols []exec.Column) (exec.SinkWriter, error) {
	w := &tableSinkWriter{c: s.i.committer(s.rel.ID), net: map[string]int64{}}
	for _, c := range cols {
		w.types = append(w.types, c.Type)
	}
	return w, nil
}

// tableSinkWriter collects the net changes of a sink into a table.
type tableSinkWriter struct {
	c     *committer
	types []types.Type
	net   map[string]int64
	epoch storage.Epoch
	// known are the epochs of handles that Commit was given.
	known storage.Epoch
}

var _ exec.LateWriter = (*tableSinkWriter)(nil)

// Write implements exec.SinkWriter.
func (w *tableSinkWriter) Write(c *vec.Chunk) error {
	for k := range c.Len() {
		row := string(vec.EncodeRow(nil, c.Cols, k))
		if n := w.net[row] + c.Diff(k); n == 0 {
			delete(w.net, row)
		} else {
			w.net[row] = n
		}
	}
	return nil
}

// Barrier implements exec.SinkWriter.
func (w *tableSinkWriter) Barrier(epoch storage.Epoch, _ bool) error {
	w.epoch = epoch
	return w.c.enqueue()
}

// Close implements exec.SinkWriter.
func (w *tableSinkWriter) Close() error { return nil }

// A handle is the epoch and then, for each row, its diff and the row, those that go first; all in order, so that the
// same changes are the same handle.

// Prepare implements exec.TwoPhaseWriter.
func (w *tableSinkWriter) Prepare() ([]byte, error) {
	if len(w.net) == 0 {
		return nil, nil
	}
	rows := make([]string, 0, len(w.net))
	for r := range w.net {
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b string) int {
		if x, y := w.net[a] > 0, w.net[b] > 0; x != y {
			if y {
				return -1
			}
			return 1
		}
		if a < b {
			return -1
		}
		return 1
	})
	h := binary.AppendUvarint(nil, uint64(w.epoch))
	for _, r := range rows {
		h = binary.AppendVarint(h, w.net[r])
		h = binary.AppendUvarint(h, uint64(len(r)))
		h = append(h, r...)
	}
	w.net = map[string]int64{}
	return h, nil
}

var errHandle = errors.New("corrupt transaction of a sink")

func handleEpoch(h []byte) (storage.Epoch, []byte, error) {
	e, n := binary.Uvarint(h)
	if n <= 0 {
		return 0, nil, errHandle
	}
	return storage.Epoch(e), h[n:], nil
}

// eachRow calls f for the rows of a handle.
func eachRow(h []byte, f func(diff int64, row []byte) error) error {
	_, h, err := handleEpoch(h)
	for err == nil && len(h) > 0 {
		diff, n := binary.Varint(h)
		if n <= 0 {
			return errHandle
		}
		size, m := binary.Uvarint(h[n:])
		if m <= 0 || size > uint64(len(h)-n-m) {
			return errHandle
		}
		h = h[n+m:]
		err = f(diff, h[:size])
		h = h[size:]
	}
	return err
}

// Commit implements exec.TwoPhaseWriter.
func (w *tableSinkWriter) Commit(handle []byte) error {
	e, _, err := handleEpoch(handle)
	if err != nil {
		return err
	}
	return w.c.enqueue(intoItem{epoch: e, handle: handle})
}

// Saved implements exec.LateWriter.
func (w *tableSinkWriter) Saved(epoch storage.Epoch) error {
	return w.c.enqueue(intoItem{epoch: epoch})
}

// Visible implements exec.LateWriter.
func (w *tableSinkWriter) Visible() storage.Epoch {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	return w.c.through
}

// Recover implements exec.TwoPhaseWriter.
func (w *tableSinkWriter) Recover(handles [][]byte) error {
	var items []intoItem
	for _, h := range handles {
		e, _, err := handleEpoch(h)
		if err != nil {
			return err
		}
		items = append(items, intoItem{epoch: e, handle: h, again: true})
	}
	w.c.recover(items)
	return nil
}

// finishInto writes what a sink has prepared that does not run any more.
func (i *Incarnation) finishInto(r *catalog.Relation, handles [][]byte) error {
	c := i.committer(r.ID)
	w := &tableSinkWriter{c: c}
	if err := w.Recover(handles); err != nil {
		return err
	}
	for {
		c.mu.Lock()
		moved, err, done := c.moved, c.err, len(c.items) == 0 || c.ended
		c.mu.Unlock()
		if done || err != nil {
			if err != nil {
				err = fmt.Errorf("sink %s: %w", r.Name, err)
			}
			return err
		}
		select {
		case <-moved:
		case <-i.Ctx.Done():
			return i.Ctx.Err()
		}
	}
}
