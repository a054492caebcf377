package storage

import (
	"fmt"
	"slices"
	"sync"
	"unsafe"
)

// Change sets or deletes one key of an arrangement.
type Change struct {
	Key, Value []byte
	Delete     bool
}

// Arrangement is the sorted state of a table, a view or an index, versioned by epoch: written by
// its owner, read by many.
//
// The owner applies changes to the head, and seals the head when a barrier passes; then the head
// is the readable version of that epoch, and a new head starts where it ended. With several
// writers (parallel actors, each with its own keys) a version is sealed when all of them have
// passed the barrier; what a writer applies after its barrier and before the others' is kept
// apart until then.
//
// Apply copies keys and values, costs well under a microsecond a row plus a tree insertion, and
// Seal takes constant time.
type Arrangement struct {
	id TableID
	s  *Store
	// blocks is what is known of the table's committed blocks.
	blocks *tableBlocks

	mu sync.RWMutex
	// base is the committed state below everything else; the arrangement holds a reference.
	base *base
	// frozen are the deltas of sealed checkpoints that base does not contain, oldest first. The
	// slice is replaced, never changed: versions share it.
	frozen []frozenDelta
	// head holds the changes since the last checkpoint barrier.
	head  *layer
	arena arena
	// headRoot is the frozen copy of head made by the last Seal; it is reused while headDirty is
	// false, so that an idle arrangement costs nothing per epoch.
	headRoot  *layer
	headDirty bool
	// versions are the sealed versions that somebody may still ask for, oldest first. There is
	// always one: the newest whose epoch is at most the completed one, or older than all.
	versions []sealedVersion
	// dropped is the generation that the drop of the table began (see Store.dropGen), or zero.
	// Then the head is gone, and versions stay only for snapshots of earlier generations.
	dropped uint64

	// counted is this arrangement's part of Store.unwritten.
	counted int64

	writers []*Writer
	// barriers are the barriers that some writers have passed and others have not, oldest first.
	barriers []*openBarrier
}

// sealedVersion is one readable version; it holds a reference to its base.
type sealedVersion struct {
	epoch Epoch
	layers
	// detached: sealed before a Reset, so that later commits say nothing about it.
	detached bool
}

// openBarrier is a barrier on its way through the writers of an arrangement.
type openBarrier struct {
	epoch      Epoch
	checkpoint bool
	passed     int // writers that have passed it
	// after holds what writers that have passed it (and no later one) applied since; nil when
	// that is nothing.
	after *layer
}

// Writer is one of the writers of an arrangement. One goroutine at a time may use it.
type Writer struct {
	a *Arrangement
	// ahead counts the open barriers that this writer has passed; they are barriers[:ahead].
	ahead int
}

// newArrangement makes the arrangement of a table; s.mu is held.
func newArrangement(s *Store, id TableID, b *base) *Arrangement {
	a := &Arrangement{id: id, s: s, blocks: s.blocksOf(id), base: b.ref(), head: newLayer()}
	a.versions = []sealedVersion{{epoch: 0, layers: layers{id: id, base: b.ref(), blocks: a.blocks}}}
	a.writers = []*Writer{{a: a}}
	return a
}

// ID gives the table's id.
func (a *Arrangement) ID() TableID { return a.id }

// SetWriters sets the number of writers; it is 1 at first. It must not be called while a barrier
// has passed some writers and not others, and makes earlier Writers invalid.
func (a *Arrangement) SetWriters(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n < 1 || len(a.barriers) > 0 {
		panic(fmt.Sprintf("storage: table %d: SetWriters(%d) with %d barriers under way", a.id, n, len(a.barriers)))
	}
	a.writers = make([]*Writer, n)
	for i := range a.writers {
		a.writers[i] = &Writer{a: a}
	}
}

// Writer gives the i-th writer, counted from 0.
func (a *Arrangement) Writer(i int) *Writer {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.writers[i]
}

// Apply is Writer(0).Apply, for an arrangement with one writer.
func (a *Arrangement) Apply(changes []Change) { a.Writer(0).Apply(changes) }

// Append is Writer(0).Append, for an arrangement with one writer.
func (a *Arrangement) Append(buf []byte, ends []int) { a.Writer(0).Append(buf, ends) }

// Seal is Writer(0).Seal, for an arrangement with one writer.
func (a *Arrangement) Seal(epoch Epoch, checkpoint bool) { a.Writer(0).Seal(epoch, checkpoint) }

// Apply puts changes into the writer's current epoch, in order; the last change of a key counts.
// Keys and values are copied.
func (w *Writer) Apply(changes []Change) {
	if len(changes) == 0 {
		return
	}
	a := w.a
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dropped != 0 {
		return
	}
	l := w.layer()
	if b := blockOf(changes, a.s.cfg.blocks.minRows); b != nil {
		l.addRows(b)
		a.count()
		return
	}
	for i := range changes {
		c := &changes[i]
		l.set(a.arena.entry(c.Key, c.Value, c.Delete))
	}
	a.count()
}

// count brings Store.unwritten up to date.
func (a *Arrangement) count() {
	n := a.head.memory()
	for i := range a.frozen {
		n += a.frozen[i].memory()
	}
	for _, b := range a.barriers {
		if b.after != nil {
			n += b.after.memory()
		}
	}
	if n != a.counted {
		a.s.unwritten.Add(n - a.counted)
		a.counted = n
	}
}

// Append is Apply for rows that are set, in buf one after the other: row i's key ends at ends[2*i], its value
// at ends[2*i+1]. The arrangement keeps buf, which must not change any more.
func (w *Writer) Append(buf []byte, ends []int) {
	a := w.a
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dropped != 0 {
		return
	}
	l := w.layer()
	if b := newBlock(buf, ends, a.s.cfg.blocks.minRows); b != nil {
		l.addRows(b)
		a.count()
		return
	}
	at := 0
	for i := 0; i < len(ends); i += 2 {
		k, v := ends[i], ends[i+1]
		l.set(entry{
			pre: keyPrefix(buf[at:k]), p: unsafe.SliceData(buf[at:v]), klen: uint32(k - at), vlen: uint32(v - k),
		})
		at = v
	}
	a.count()
}

// layer gives where the writer's changes go.
func (w *Writer) layer() *layer {
	a := w.a
	if w.ahead == 0 {
		a.headDirty = true
		return a.head
	}
	b := a.barriers[w.ahead-1]
	if b.after == nil {
		b.after = newLayer()
	}
	return b.after
}

// Seal says that the writer has passed the barrier of epoch. When all writers have, the head
// becomes the readable version of that epoch. For a checkpoint the changes since the last one are
// also frozen into a delta, which Store.Commit of that epoch or a later one writes. Epochs must
// grow, and all writers must pass the same barriers.
func (w *Writer) Seal(epoch Epoch, checkpoint bool) {
	a := w.a
	completed, pins := a.s.readers()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dropped != 0 {
		return
	}
	if w.ahead == len(a.barriers) {
		if last := a.lastEpoch(); epoch <= last {
			panic(fmt.Sprintf("storage: table %d: epoch %d sealed after epoch %d", a.id, epoch, last))
		}
		a.barriers = append(a.barriers, &openBarrier{epoch: epoch, checkpoint: checkpoint})
	}
	b := a.barriers[w.ahead]
	if b.epoch != epoch || b.checkpoint != checkpoint {
		panic(fmt.Sprintf("storage: table %d: writers disagree: barrier %d (checkpoint %t) and %d (checkpoint %t)",
			a.id, b.epoch, b.checkpoint, epoch, checkpoint))
	}
	b.passed++
	w.ahead++
	// No later barrier can be complete before this one: a writer passes them in order.
	if b.passed == len(a.writers) {
		a.seal(b)
		a.collect(completed, pins)
	}
}

func (a *Arrangement) lastEpoch() Epoch {
	if n := len(a.barriers); n > 0 {
		return a.barriers[n-1].epoch
	}
	return a.versions[len(a.versions)-1].epoch
}

// seal turns the head into the version of b and starts the next head with what was applied after
// b by the writers that were early.
func (a *Arrangement) seal(b *openBarrier) {
	if a.headDirty {
		a.headDirty = false
		a.headRoot = nil
		if a.head.len() > 0 {
			if b.checkpoint {
				a.headRoot = a.head // it will not change any more: no copy needed
			} else {
				a.headRoot = a.head.copy()
			}
		}
	}
	if b.checkpoint && a.head.len() > 0 {
		frozen := make([]frozenDelta, len(a.frozen), len(a.frozen)+1)
		copy(frozen, a.frozen)
		a.frozen = append(frozen, frozenDelta{epoch: b.epoch, layer: a.headRoot})
		a.head, a.headRoot = newLayer(), nil
	}
	a.versions = append(a.versions, sealedVersion{
		epoch:  b.epoch,
		layers: layers{id: a.id, base: a.base.ref(), blocks: a.blocks, frozen: a.frozen, root: a.headRoot},
	})
	a.barriers = append(a.barriers[:0], a.barriers[1:]...)
	for _, w := range a.writers {
		w.ahead--
	}
	if b.after == nil {
		return
	}
	a.headDirty = true
	if a.head.len() == 0 {
		a.head = b.after
		return
	}
	b.after.addTo(a.head)
}

// collect drops the versions that nobody can ask for: of all those at or below the completed
// epoch only the newest, and the newest at or below each pinned epoch, stay. pins is sorted.
func (a *Arrangement) collect(completed Epoch, pins []Epoch) {
	if len(a.versions) < 2 {
		return
	}
	kept := a.versions[:0]
	for i, v := range a.versions {
		if i+1 == len(a.versions) {
			kept = append(kept, v)
			break
		}
		// v is what a reader at an epoch in [v.epoch, next) sees.
		next := a.versions[i+1].epoch
		needed := next > completed
		for _, p := range pins {
			needed = needed || (p >= v.epoch && p < next)
		}
		if needed {
			kept = append(kept, v)
		} else {
			v.base.unref()
		}
	}
	clear(a.versions[len(kept):])
	a.versions = kept
}

// rebase moves the arrangement to a base that contains the checkpoint at epoch, with the
// written oldest frozen deltas in it. The versions that contain all of those deltas, and were
// built on the base before, have the same content on the new base and move too; the others are
// for readers of the time before, and stay where they are.
func (a *Arrangement) rebase(epoch Epoch, written int, b *base) {
	var frozen []frozenDelta // a copy, so that what is written can be freed
	if written < len(a.frozen) {
		frozen = slices.Clone(a.frozen[written:])
	}
	if len(frozen) > 0 && frozen[0].epoch <= epoch {
		panic(fmt.Sprintf("storage: table %d: epoch %d sealed while checkpoint %d was being committed",
			a.id, frozen[0].epoch, epoch))
	}
	var newest Epoch // of the written deltas
	if written > 0 {
		newest = a.frozen[written-1].epoch
	}
	for i := range a.versions {
		v := &a.versions[i]
		if v.detached || v.base != a.base || v.epoch < newest {
			continue
		}
		v.base.unref()
		v.base, v.frozen = b.ref(), frozen[:len(v.frozen)-written]
	}
	a.frozen = frozen
	a.count()
	a.base.unref()
	a.base = b.ref()
}

// Reset takes the arrangement back to the last committed checkpoint: what was applied since, sealed or not, is
// gone, and there is one writer again; the caller sees to it that nobody uses an earlier Writer any more, and
// that no commit is under way. The versions sealed before stay readable for whoever has pinned
// their epochs; the next version must be sealed at an epoch after all of them.
func (a *Arrangement) Reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dropped != 0 {
		return
	}
	for i := range a.versions {
		a.versions[i].detached = true
	}
	a.frozen, a.head, a.headRoot, a.headDirty = nil, newLayer(), nil, false
	a.barriers = nil
	a.writers = []*Writer{{a: a}}
	a.count()
}

// at finds the version that a reader at epoch sees; ok is false if it is released.
func (a *Arrangement) at(epoch Epoch) (sealedVersion, bool) {
	for i := len(a.versions) - 1; i >= 0; i-- {
		if a.versions[i].epoch <= epoch {
			return a.versions[i], true
		}
	}
	return sealedVersion{}, false
}

// VersionAt pins and gives the version sealed at exactly epoch, for a reader that comes right
// after its barrier and before the epoch is complete everywhere. It must be released. The error
// is ErrEpochGone if that version is not sealed or no longer kept.
func (a *Arrangement) VersionAt(epoch Epoch) (*Version, error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	v, ok := a.at(epoch)
	if !ok || v.epoch != epoch {
		return nil, fmt.Errorf("table %d at epoch %d: %w", a.id, epoch, ErrEpochGone)
	}
	v.base.ref()
	return &Version{l: v.layers, epoch: epoch, owned: true}, nil
}

// HeadGet gives the newest value of key, including what is applied and not sealed. It may be
// called while others apply. The value must not be modified and stays valid.
func (a *Arrangement) HeadGet(key []byte) (val []byte, ok bool, err error) {
	a.mu.RLock()
	if a.dropped != 0 {
		a.mu.RUnlock()
		return nil, false, nil
	}
	for i := len(a.barriers) - 1; i >= 0; i-- {
		if a.barriers[i].after == nil {
			continue
		}
		if e, ok := a.barriers[i].after.get(key); ok {
			a.mu.RUnlock()
			return e.value(), !e.deleted(), nil
		}
	}
	l := layers{id: a.id, base: a.base, blocks: a.blocks, frozen: a.frozen, root: a.head}
	if e, ok := l.getOver(key); ok {
		a.mu.RUnlock()
		return e.value(), !e.deleted(), nil
	}
	b := a.base.ref()
	a.mu.RUnlock()
	defer b.unref()
	return b.get(a.id, a.blocks, key)
}

// HeadScan calls fn for the newest rows in [lo, hi) in key order, including what is applied and
// not sealed when it starts. fn may apply changes; it must not keep k and v.
func (a *Arrangement) HeadScan(lo, hi []byte, fn func(k, v []byte) error) error {
	a.mu.Lock() // copying a tree changes its owner mark
	if a.dropped != 0 {
		a.mu.Unlock()
		return nil
	}
	l := layers{id: a.id, base: a.base.ref(), blocks: a.blocks, frozen: a.frozen}
	if a.head.len() > 0 {
		l.root = a.head.copy()
	}
	var ahead []*layer
	for _, b := range a.barriers {
		if b.after != nil {
			ahead = append(ahead, b.after.copy())
		}
	}
	a.mu.Unlock()
	defer l.base.unref()

	it := l.iterator(lo, hi, false)
	if !it.m.started {
		overs := make([]cursor, 0, len(ahead)+len(it.m.overs))
		for i := len(ahead) - 1; i >= 0; i-- {
			overs = ahead[i].cursors(overs, lo, hi, false)
		}
		it.m.overs = append(overs, it.m.overs...)
	}
	for it.Next() {
		if err := fn(it.Key(), it.Value()); err != nil {
			it.Close()
			return err
		}
	}
	return it.Close()
}
