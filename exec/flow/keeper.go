package flow

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/weirdb/weir/checkpoint"
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
	for _, s := range r.saves {
		if s.epoch > epoch {
			break
		}
		saves++
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
		return err
	}
	r.pressure.sealed.Add(-sealed)
	r.cfg.History.written(epoch, r.cfg.Store.CommitBytes())
	r.cfg.Logger.Debug("checkpoint committed", "event", "checkpoint_committed", "epoch", epoch, "duration", time.Since(start))
	r.inject.Lock()
	r.saves = slices.Delete(r.saves, 0, saves)
	r.logAt = slices.Delete(r.logAt, 0, logs)
	r.inject.Unlock()
	return nil
}
