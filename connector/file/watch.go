package file

import (
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/weirdb/weir/connector"
)

// pollInterval is how often a file is looked at where the system does not report changes.
const pollInterval = time.Second

// watcher sends to ready when a file may have changed: written, renamed, removed or replaced.
//
// The file itself is watched and not its directory, so that neighbours cost nothing. Replacing it
// by another is still seen, as a change of its attributes: it loses a name.
type watcher struct {
	ready chan struct{}

	notify *fsnotify.Watcher // nil when polling
	done   chan struct{}     // closed when the goroutine has ended

	clock  connector.Clock
	mu     sync.Mutex
	closed bool        // under mu
	stop   func() bool // under mu: the timer of the next poll
}

// newWatcher begins to watch. It falls back to polling where files change without notice (network
// file systems) or no more watches can be had.
func newWatcher(path string, clock connector.Clock, ready chan struct{}) *watcher {
	w := &watcher{ready: ready, clock: clock}
	if !unreported(path) {
		if n, err := fsnotify.NewWatcher(); err == nil {
			if err := n.Add(path); err == nil {
				w.notify, w.done = n, make(chan struct{})
				go w.run()
				return w
			}
			_ = n.Close() // nothing was watched
		}
	}
	w.poll()
	return w
}

// run forwards events until Close.
func (w *watcher) run() {
	defer close(w.done)
	events, errs := w.notify.Events, w.notify.Errors
	for events != nil || errs != nil {
		select {
		case _, ok := <-events:
			if !ok {
				events = nil
				continue
			}
		case _, ok := <-errs:
			// Such as a queue that overflowed: something may have happened.
			if !ok {
				errs = nil
				continue
			}
		}
		w.wake()
	}
}

func (w *watcher) wake() {
	select {
	case w.ready <- struct{}{}:
	default:
	}
}

func (w *watcher) poll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	w.stop = w.clock.AfterFunc(pollInterval, func() {
		w.wake()
		w.poll()
	})
}

// Close ends the watcher and its goroutine.
func (w *watcher) Close() error {
	w.mu.Lock()
	w.closed = true
	if w.stop != nil {
		w.stop()
	}
	w.mu.Unlock()
	if w.notify == nil {
		return nil
	}
	err := w.notify.Close()
	<-w.done
	return err
}
