package engine

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirdb/weir/sql/sqlerr"
)

// A definition takes effect with a checkpoint, which on a full disk cannot be written until there is room:
//
//  1. What has not begun to be written is taken back, when the checkpoint is refused for lack of room, or the statement is
//     cancelled. Then nothing is left of the definition (flow.Runtime.Save).
//  2. What is being written, and waits for room in the middle of that, may come to be or not, and nobody knows it before that has ended.
//     The statement ends all the same; the lock of the catalog stays with the goroutine that awaits the checkpoint, and takes
//     back what the statement was said not to have done.

// finishPoll is how often a statement looks whether the checkpoint that it waits for waits for room on the disk; twice is enough, or once
// if it has been cancelled. Otherwise the end is near.
const finishPoll = time.Second

var errNoRoom error = sqlerr.Newf(sqlerr.DiskFull, "no space left on device")

// ddlLease is the lock of the catalog in the hands of a statement, and of what it has left behind.
type ddlLease struct{ users atomic.Int32 }

// lease makes the lock that was just taken the present one.
func (i *Incarnation) lease() (unlock func()) {
	l := &ddlLease{}
	l.users.Store(1)
	i.held.Store(l)
	return i.unlockOnce(l)
}

func (i *Incarnation) unlockOnce(l *ddlLease) func() {
	return sync.OnceFunc(func() {
		if l.users.Add(-1) == 0 {
			<-i.e.ddl
		}
	})
}

// keepDDL keeps the catalog locked until release, also when who has locked it unlocks it.
func (i *Incarnation) keepDDL() (release func()) {
	l := i.held.Load()
	for l != nil {
		n := l.users.Load()
		if n == 0 {
			break
		}
		if l.users.CompareAndSwap(n, n+1) {
			return i.unlockOnce(l)
		}
	}
	// Nobody has it: a view that is created in the background and comes to nothing.
	return func() {}
}

// finish runs the end of a definition, which ctx cancels if that is still possible. If the end waits for room on the disk, it returns an
// error, SQLSTATE 53100 or the cause of ctx, and leaves the rest to itself; undo, if not nil, is then called if the definition has come to
// be. The caller has locked the catalog, which stays locked until all of that is done.
func (i *Incarnation) finish(ctx context.Context, end func() error, undo func() error) error {
	release := i.keepDDL()
	done := make(chan error, 1)
	var told atomic.Bool
	i.wg.Go(func() {
		defer release()
		err := end()
		if told.CompareAndSwap(false, true) {
			done <- err
			return
		}
		if err == nil && undo != nil {
			err = undo()
		}
		if err != nil && i.Ctx.Err() == nil {
			i.e.cfg.Logger.Warn("the end of a definition whose statement was cancelled", "event", "definition_undone", "error", err)
		}
	})
	poll := time.NewTicker(finishPoll)
	defer poll.Stop()
	ended := ctx.Done()
	for full := 0; full < 2; {
		select {
		case err := <-done:
			return err
		case <-ended:
			ended = nil
			full++
		case <-poll.C:
			if i.Store.CheckRoom() != nil {
				full++
			} else {
				full = 0
			}
		}
	}
	if !told.CompareAndSwap(false, true) {
		return <-done
	}
	err := context.Cause(ctx)
	if err == nil {
		err = i.Store.CheckRoom()
	}
	e := sqlerr.From(cmp.Or(err, errNoRoom))
	if undo != nil {
		return e
	}
	c := *e
	return c.WithDetail("What the statement does has begun, and will be complete when there is room on the disk.")
}
