package flow

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/weirdb/weir/checkpoint"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/storage"
)

// regionBits is the room for restarts of regions in a generation of actors.
const regionBits = 32

// keeperKey is where the store's role keeps what outlives the process.
var keeperKey = []byte("checkpoint/keeper")

// loadKeeper reads what the store's role wrote with the checkpoint that the store is at. Without it, all is as if nothing
// had ever been here, which is right for a process: it has no contemporaries.
func (r *Runtime) loadKeeper() (st checkpoint.KeeperState) {
	b, ok, err := r.cfg.Store.Meta(keeperKey)
	if err == nil && ok {
		err = json.Unmarshal(b, &st)
	}
	if err != nil {
		r.cfg.Logger.Warn("generations are counted anew", "error", err)
		return checkpoint.KeeperState{}
	}
	return st
}

// committer is the checkpoint.Store of a runtime.
type committer struct{ r *Runtime }

// Commit writes operator state, arrangements, the metadata of mutations, the log position, and the numbers of the store's role.
func (c committer) Commit(ctx context.Context, e checkpoint.Epoch, states []checkpoint.StateRef, keeper checkpoint.KeeperState) error {
	r := c.r
	epoch := storage.Epoch(e)
	deltas, err := deltasOf(states)
	if err != nil {
		r.fail(nil, err)
		return err
	}
	commit := storage.Commit{Epoch: epoch, Deltas: deltas}
	// The list of checkpoints is storage's.
	keeper.Checkpoints = nil
	numbers, err := json.Marshal(keeper)
	if err != nil {
		return err
	}
	commit.Meta = append(commit.Meta, storage.MetaOp{Key: keeperKey, Value: numbers})
	r.inject.Lock()
	saves, logs, at := 0, 0, int64(0)
	for k := range r.saves {
		s := &r.saves[k]
		if s.epoch > epoch {
			break
		}
		saves++
		s.taken = true
		commit.Meta = append(commit.Meta, s.save.Meta...)
		commit.DropTables = append(commit.DropTables, s.save.Drop...)
	}
	for _, l := range r.logAt {
		if l.epoch > epoch {
			break
		}
		logs++
		commit.LogPos = l.pos
		at = l.time
	}
	r.inject.Unlock()
	if logs > 0 {
		commit.Meta = append(commit.Meta, metaOf(at))
	}
	var sealed int64
	for _, d := range commit.Deltas {
		sealed += deltaBytes(d)
	}
	start := time.Now()
	if err := r.cfg.Store.Commit(ctx, commit); err != nil {
		if errors.Is(err, storage.ErrFailed) {
			// Trying again cannot help: the store must be opened again, and that is recovery.
			r.fail(nil, err)
		}
		r.notCommitted(err)
		return err
	}
	r.pressure.sealed.Add(-sealed)
	r.cfg.History.written(epoch, r.cfg.Store.CommitBytes())
	r.cfg.Logger.Debug("checkpoint committed", "event", "checkpoint_committed", "epoch", epoch, "duration", time.Since(start))
	r.inject.Lock()
	r.saves = slices.Delete(r.saves, 0, saves)
	r.logAt = slices.Delete(r.logAt, 0, logs)
	r.commitEnded()
	r.inject.Unlock()
	return nil
}

// notCommitted notes that a checkpoint could not be written. If that is for lack of room, who waits for one that has his
// definition is told, and the next one does not have it.
func (r *Runtime) notCommitted(err error) {
	full := sqlerr.From(err).Code == sqlerr.DiskFull
	r.inject.Lock()
	defer r.inject.Unlock()
	r.saves = slices.DeleteFunc(r.saves, func(s epochSave) bool {
		refuse := s.taken && full && s.refused != nil
		if refuse {
			s.refused(err)
		}
		return refuse
	})
	for k := range r.saves {
		r.saves[k].taken = false
	}
	r.commitEnded()
}

// Amend puts a newer value in the place of older ones under the same key that checkpoints are yet to write. It waits for the end of one that is
// being written.
func (r *Runtime) Amend(op storage.MetaOp) {
	for {
		r.inject.Lock()
		busy, ended := false, r.committed
		for _, s := range r.saves {
			at := slices.IndexFunc(s.save.Meta, func(m storage.MetaOp) bool { return bytes.Equal(m.Key, op.Key) })
			if at < 0 {
				continue
			}
			if busy = busy || s.taken; s.taken {
				continue
			}
			s.save.Meta = slices.Clone(s.save.Meta)
			s.save.Meta[at] = op
		}
		r.inject.Unlock()
		if !busy {
			return
		}
		select {
		case <-ended:
		case <-r.ctx.Done():
			return
		}
	}
}

// commitEnded wakes those who wait for the end of an attempt to write a checkpoint; inject is locked.
func (r *Runtime) commitEnded() {
	close(r.committed)
	r.committed = make(chan struct{})
}

// takeBack leaves what a mutation was to save out of every checkpoint that is written from now on; false if it is in one
// already, or not there for another reason. While one is being written that has it, that is not known: it waits for the end of that.
func (r *Runtime) takeBack(m *Mutation) bool {
	for {
		r.inject.Lock()
		k := slices.IndexFunc(r.saves, func(s epochSave) bool { return s.Mutation == m })
		if k < 0 {
			r.inject.Unlock()
			return false
		}
		if !r.saves[k].taken {
			r.saves = slices.Delete(r.saves, k, k+1)
			r.inject.Unlock()
			return true
		}
		ended := r.committed
		r.inject.Unlock()
		select {
		case <-ended:
		case <-r.ctx.Done():
			return false
		}
	}
}
