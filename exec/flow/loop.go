package flow

import (
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/weirdb/weir/checkpoint/channel"
	"github.com/weirdb/weir/checkpoint/loop"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// Loops. A head (a fragment with Loop) keeps the rows of a loop and decides, with package loop, when what goes round;
// the fragments whose inputs have Loop are its body, the last of them its tail, whose output goes back to the head. What
// leaves the head over any other edge is the result.
//
//  1. Everybody passes the barrier of an epoch as usual: the head at once, and the body when it has come on all of its
//     inputs, those of the loop and those from outside. From then on neither takes anything from outside.
//  2. When it has come back to the head, the iteration begins: rounds that are ended by marks, through the
//     body and back (checkpoint/loop has the rules).
//  3. At the fixpoint the head sends the net changes to its consumers, and the barrier behind them; and a mark into the
//     loop, at which the body takes from outside again.
//
// So an iteration sees the body's other inputs as of its epoch, whenever it takes place. It begins like that also: a job
// that starts runs an iteration over the log of its checkpoint before anything from outside.
//
// No deadlock: the feedback channel takes everything, so the body never waits for the head, and what the head waits for is room
// in the body or at its consumers.

// Loop describes a loop; see Fragment.
type Loop struct {
	// Types are the columns that go round.
	Types []types.Type
	// Tail is the number of the fragment in the job whose output comes back.
	Tail int
	// MaxRounds bounds the rounds of an iteration.
	MaxRounds int
}

// LoopOperator is the operator of a head. It has one input, whose chunks change what the next round brings; its output is
// the loop.
type LoopOperator interface {
	exec.Operator
	// Phases is the number of phases of an iteration.
	Phases() int
	// Log gives the records of the log of the checkpoint that the state is from, one after the other, oldest first; it is called
	// first. each may give chunks to the operator.
	Log(each func(record []byte) error) error
	// Save is called at a checkpoint, with the log that belongs to the state.
	Save(log iter.Seq2[[]byte, error]) error
	// Round sends what follows from the chunks since the last round, and tells how many rows that are.
	Round(phase int) (rows int, err error)
	// Settle ends an iteration; out gets what has changed since the last one, unless it is nil.
	Settle(out func(*vec.Chunk) error) error
}

// RoundEnder is an operator of a body that keeps rows back until the end of a round.
type RoundEnder interface {
	// EndRound sends them on.
	EndRound() error
}

// loopMark ends a round inside of a loop, or with round 0 an iteration.
type loopMark struct{ round int }

// looped is an actor's part of a loop.
type looped struct {
	// Of a head: disp sends into the loop, back is what comes back, tails the number of tails.
	disp  *dispatcher
	back  *feedback
	tails int
	// Of a body: in is what comes from the loop, ports the input of each of its slots.
	in    *inbox
	ports []int
	// heads, of a tail, are the heads' channels; tail is its number among the tails.
	heads []*feedback
	tail  int
	// at is where the channels from outside were at the newest barrier that has come on all of them.
	at []channel.Position
}

func (l *looped) close() {
	if l == nil {
		return
	}
	if l.in != nil {
		l.in.close()
	}
	if l.back != nil {
		l.back.close()
	}
}

// die is close for an actor whose job has failed. All who send to it are of that job.
func (l *looped) die() { l.close() }

// enterLoop adds a slot for an input of the loop.
func (a *actor) enterLoop(input int) {
	if a.loop == nil {
		a.loop = &looped{}
		a.disp.loop = true
	}
	a.loop.ports = append(a.loop.ports, input)
}

// connectLoops gives every tail its heads.
func (r *Runtime) connectLoops(d *deployed) error {
	for k, f := range d.job.Fragments {
		if f.Loop == nil {
			continue
		}
		if f.Loop.Tail <= k || f.Loop.Tail >= len(d.actors) {
			return fmt.Errorf("fragment %d has no tail", f.ID)
		}
		tails := d.actors[f.Loop.Tail]
		var heads []*feedback
		for _, h := range d.actors[k] {
			h.loop.tails = len(tails)
			h.loop.back = newFeedback(r.cfg.LoopMemory, r.newSpill(h, "feedback"))
			heads = append(heads, h.loop.back)
		}
		for i, t := range tails {
			if t.loop == nil || t.loop.heads != nil {
				return fmt.Errorf("fragment %d is not the tail of one loop", t.frag.ID)
			}
			t.loop.heads, t.loop.tail = heads, i
		}
	}
	return nil
}

// feedback is the channel in front of a head.
type feedback struct {
	mu     sync.Mutex
	ch     *loop.Channel
	spill  *loopSpill
	wake   chan struct{} // capacity 1
	closed bool
}

func newFeedback(memory int, s *loopSpill) *feedback {
	return &feedback{ch: loop.NewChannel(memory, s), spill: s, wake: make(chan struct{}, 1)}
}

func (f *feedback) push(m loop.Message) error {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return errStopped
	}
	err := f.ch.Push(m)
	f.mu.Unlock()
	f.signal()
	return err
}

func (f *feedback) pop() (loop.Message, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, false, errStopped
	}
	return f.ch.Pop()
}

func (f *feedback) signal() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

func (f *feedback) close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.signal()
}

// loopSpill is a loop.Spill in a temporary file that is made when it is first needed.
type loopSpill struct {
	open func() (*storage.TempFile, error)
	file *storage.TempFile
	end  int64
}

func (r *Runtime) newSpill(a *actor, what string) *loopSpill {
	return &loopSpill{open: func() (*storage.TempFile, error) {
		return r.cfg.Store.TempFile(fmt.Sprintf("actor-%d.%s", a.id, what))
	}}
}

// Write implements loop.Spill.
func (s *loopSpill) Write(b []byte) (int64, error) {
	if s.file == nil {
		var err error
		if s.file, err = s.open(); err != nil {
			return 0, err
		}
	}
	at := s.end
	if _, err := s.file.WriteAt(b, at); err != nil {
		return 0, err
	}
	s.end += int64(len(b))
	return at, nil
}

// Read implements loop.Spill.
func (s *loopSpill) Read(at int64, n int) ([]byte, error) {
	b := make([]byte, n)
	_, err := s.file.ReadAt(b, at)
	return b, err
}

// Reset implements loop.Spill: the file is written again from its beginning.
func (s *loopSpill) Reset() error {
	if s.end > keptSpill {
		return s.close()
	}
	s.end = 0
	return nil
}

func (s *loopSpill) close() error {
	s.end = 0
	if s.file == nil {
		return nil
	}
	f := s.file
	s.file = nil
	return f.Close()
}

// loopError tells the user what a loop without end is.
func loopError(err error, limit int) error {
	var l *loop.LimitError
	if !errors.As(err, &l) {
		return fmt.Errorf("flow: %w", err)
	}
	return sqlerr.Newf(sqlerr.ProgramLimitExceeded, "the recursive query has no end within %d iterations", limit).
		WithHint("Does UNION ALL follow a cycle in its data? UNION ends there, or a condition on the depth. The bound is the server's --max-recursion.")
}
