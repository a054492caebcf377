package pgwire

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirdb/weir/sql/sqlerr"
)

// watcher looks, from time to time, whether the clients of long statements are still there: nobody
// reads from a connection while its statement runs, so a closed socket would go unnoticed.
//
// While no statement outlives a period its goroutine sleeps without a timer, so that an idle
// server does nothing at all; the first statement after that wakes it.
type watcher struct {
	srv    *Server
	period time.Duration
	// asleep says that the goroutine waits for wake.
	asleep atomic.Bool
	// wake has room for one: a wake-up is never lost and never blocks.
	wake chan struct{}
	done chan struct{}
	// ended is closed when the goroutine has ended.
	ended     chan struct{}
	startOnce sync.Once
	stopOnce  sync.Once
}

func (w *watcher) init(s *Server, period time.Duration) {
	w.srv, w.period = s, period
	w.wake = make(chan struct{}, 1)
	w.done = make(chan struct{})
	w.ended = make(chan struct{})
	w.asleep.Store(period > 0)
}

// statement says that a statement begins.
func (w *watcher) statement() {
	if !w.asleep.Load() || !w.asleep.CompareAndSwap(true, false) {
		return
	}
	w.startOnce.Do(func() { go w.run() })
	w.wake <- struct{}{}
}

// stop ends the goroutine and waits for it. No statement may run any more.
func (w *watcher) stop() {
	w.stopOnce.Do(func() { close(w.done) })
	w.startOnce.Do(func() { close(w.ended) })
	<-w.ended
}

func (w *watcher) run() {
	defer close(w.ended)
	seen := map[*conn]uint64{}
	for {
		select {
		case <-w.wake:
		case <-w.done:
			return
		}
		t := time.NewTicker(w.period)
		for busy := true; busy; {
			select {
			case <-t.C:
				busy = w.look(seen)
			case <-w.done:
				t.Stop()
				return
			}
		}
		t.Stop()
		w.asleep.Store(true)
		// A statement that began between look and here found the watcher awake.
		if w.look(seen) && w.asleep.CompareAndSwap(true, false) {
			w.wake <- struct{}{}
		}
	}
}

// look checks the clients of the statements that were running at the last look already; it
// reports whether any statement runs.
func (w *watcher) look(seen map[*conn]uint64) (busy bool) {
	running := map[*conn]uint64{}
	for _, c := range w.srv.list() {
		run := c.runs.Load()
		if run%2 == 0 {
			continue
		}
		busy = true
		running[c] = run
		if seen[c] == run && gone(c.nc) {
			c.cancelStatement(errClientGone)
		}
	}
	clear(seen)
	for c, run := range running {
		seen[c] = run
	}
	return busy
}

// errClientGone is what a statement is cancelled with when nobody waits for it. It is logged, and
// never seen by a client.
var errClientGone = &sqlerr.Error{
	Code: sqlerr.ConnectionException, Message: "connection to client lost", Pos: sqlerr.NoPos,
	Cause: errors.New("the client closed the connection"),
}
