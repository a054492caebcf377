package engine

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/weirdb/weir/checkpoint"
	"github.com/weirdb/weir/checkpoint/failover"
	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/storage"
)

// How statements get along with regions that are being restarted (failover.go).

// errDropped is why regions are given up of which everything is to be dropped.
var errDropped = errors.New("it is being dropped")

// Abandon gives up the regions that are being restarted after a failure and have nothing but relations that are about to be
// dropped: nobody has to wait until they run again.
func (i *Incarnation) Abandon(rels []*catalog.Relation) {
	i.e.foMu.Lock()
	defer i.e.foMu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(i.e.regions)) {
		r := i.e.regions[id]
		all := true
		for _, job := range r.jobs {
			all = all && slices.ContainsFunc(rels, func(rel *catalog.Relation) bool { return rel.ID == job })
		}
		if all {
			i.e.stepLocked(failover.Abandon{Region: id, Err: errors.Join(r.err, errDropped)})
		}
	}
}

// Apart tells whether relations, and so what is done to them, have nothing to do with the regions that are being restarted, and leave nothing
// behind that must be finished with a checkpoint, as sinks do.
func (i *Incarnation) Apart(rels []*catalog.Relation) bool {
	i.e.foMu.Lock()
	defer i.e.foMu.Unlock()
	for _, rel := range rels {
		if rel.Kind == catalog.Sink {
			return false
		}
		for _, r := range i.e.regions {
			if r.has(rel.ID) {
				return false
			}
		}
	}
	return true
}

// awaitRegions waits until nothing is being restarted: checkpoints are held meanwhile, and a definition needs one.
func (i *Incarnation) awaitRegions(ctx context.Context) error {
	for {
		moved := i.movedChan()
		if !i.restarting() {
			return nil
		}
		if err := i.await(ctx, moved); err != nil {
			return err
		}
	}
}

func (i *Incarnation) restarting() bool {
	i.e.foMu.Lock()
	defer i.e.foMu.Unlock()
	return len(i.e.regions) > 0
}

// wake tells who waits for a region that it has come back, or will not.
func (i *Incarnation) wake() {
	i.mu.Lock()
	defer i.mu.Unlock()
	close(i.moved)
	i.moved = make(chan struct{})
}

func (i *Incarnation) movedChan() <-chan struct{} {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.moved
}

// awaitJobs waits until none of the relations' jobs is being restarted.
func (i *Incarnation) awaitJobs(ctx context.Context, rels []*catalog.Relation) error {
	for {
		moved := i.movedChan()
		down := false
		i.e.foMu.Lock()
		for _, r := range i.e.regions {
			down = down || slices.ContainsFunc(rels, func(rel *catalog.Relation) bool { return r.has(rel.ID) })
		}
		i.e.foMu.Unlock()
		if !down {
			return nil
		}
		if err := i.await(ctx, moved); err != nil {
			return err
		}
	}
}

func (i *Incarnation) await(ctx context.Context, moved <-chan struct{}) error {
	select {
	case <-moved:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-i.Ctx.Done():
		return i.explain(checkpoint.ErrStopped)
	}
}

// SnapshotOf pins an epoch for a read of some relations. A fresh one contains every write acknowledged before the call; it
// waits for that for as long as these relations need, and no other. It also
// waits while one of them is being restarted after a failure, since it has no rows then, and must not show older ones than before.
func (i *Incarnation) SnapshotOf(ctx context.Context, fresh bool, rels []*catalog.Relation) (*storage.Snapshot, error) {
	for {
		moved := i.movedChan()
		sn, err := i.snapshotOf(ctx, fresh, rels)
		switch {
		case errors.Is(err, flow.ErrRestarting):
		case err != nil:
			return nil, i.explain(err)
		case i.readableAt(sn.Epoch(), rels):
			return sn, nil
		default:
			sn.Release()
		}
		if err := i.runs(rels); err != nil {
			return nil, err
		}
		if err := i.await(ctx, moved); err != nil {
			return nil, err
		}
	}
}

// AwaitFresh waits until every write acknowledged before the call is in relations.
func (i *Incarnation) AwaitFresh(ctx context.Context, rels []*catalog.Relation) error {
	sn, err := i.SnapshotOf(ctx, true, rels)
	if err == nil {
		sn.Release()
	}
	return err
}

// snapshotOf pins an epoch that all of the relations have come to.
func (i *Incarnation) snapshotOf(ctx context.Context, fresh bool, rels []*catalog.Relation) (*storage.Snapshot, error) {
	jobs := jobsOfRelations(rels)
	for {
		e, err := i.RT.ReadEpoch(ctx, fresh, jobs)
		if err != nil {
			return nil, err
		}
		sn, err := i.Store.SnapshotAt(e)
		if !errors.Is(err, storage.ErrEpochGone) {
			return sn, err
		}
		// It was complete everywhere, and another one after it. What is fresh stays so.
	}
}

func jobsOfRelations(rels []*catalog.Relation) []flow.JobID {
	jobs := make([]flow.JobID, 0, len(rels))
	for _, rel := range rels {
		if !rel.Made() {
			jobs = append(jobs, flow.JobID(rel.ID))
		}
	}
	return jobs
}

func (i *Incarnation) runs(rels []*catalog.Relation) error {
	for _, rel := range rels {
		if !rel.Made() {
			if err := i.StalledError(rel); err != nil {
				return err
			}
		}
	}
	return nil
}

func (i *Incarnation) readableAt(e storage.Epoch, rels []*catalog.Relation) bool {
	for _, rel := range rels {
		if !i.RT.Readable(flow.JobID(rel.ID), e) {
			return false
		}
	}
	return true
}

// CheckReadable waits until relations have come to the epoch of a snapshot that was made before for others. It refuses a read of a
// relation that was in the middle of a restart at that epoch, or was filled again since.
func (i *Incarnation) CheckReadable(ctx context.Context, sn *storage.Snapshot, rels []*catalog.Relation) error {
	if sn.Epoch() > i.Store.Completed() {
		err := i.RT.Reach(ctx, sn.Epoch(), jobsOfRelations(rels)...)
		if err != nil && !errors.Is(err, flow.ErrRestarting) {
			return i.explain(err)
		}
		if err == nil && i.readableAt(sn.Epoch(), rels) {
			return nil
		}
	} else if i.readableAt(sn.Epoch(), rels) {
		return nil
	}
	return sqlerr.Newf(sqlerr.SerializationFailure, "a relation was being restarted after a failure at the time of the snapshot, or was replaced since").
		WithHint("The transaction can be tried again.")
}
