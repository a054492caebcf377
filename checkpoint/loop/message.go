package loop

import (
	"fmt"
	"iter"
)

// ID names a barrier: its epoch. IDs grow.
type ID uint64

// Message is something that a head is told.
type Message interface{ message() }

// The messages.
type (
	// Logged is a record of the log of the checkpoint that the head starts from. These come first, oldest first, one at a
	// time, so that a log of any size can be replayed.
	Logged struct{ Record []byte }
	// Restore says that the head is at its checkpoint: all of the log has been given, which is nothing if there is none.
	Restore struct{}
	// Continue is the answer to the action More.
	Continue struct{}
	// Input is a record of new input. It is refused unless Head.Admits.
	Input struct{ Record []byte }
	// Barrier ends the input of an epoch. It is refused unless Head.Admits, but by the only head of
	// a loop it is taken at any time.
	Barrier struct {
		ID ID
		// Checkpoint asks for a snapshot.
		Checkpoint bool
	}
	// Feedback is a record that came back from a tail.
	Feedback struct {
		Tail   int
		Record []byte
	}
	// Returned says that the barrier ID has come back from a tail.
	Returned struct {
		Tail int
		ID   ID
	}
	// Emitted is the answer to the action Round: how many rows went into the loop.
	Emitted struct{ Rows int }
	// Ended says that the marker of the end of a round has come back from a tail, which has sent so many rows
	// in that round, to all heads together.
	Ended struct {
		Tail, Round, Rows int
	}
	// Committed and Aborted say what became of a checkpoint. An aborted one is still an epoch.
	Committed struct{ ID ID }
	// Aborted: see Committed.
	Aborted struct{ ID ID }
)

func (Logged) message()    {}
func (Restore) message()   {}
func (Continue) message()  {}
func (Input) message()     {}
func (Barrier) message()   {}
func (Feedback) message()  {}
func (Returned) message()  {}
func (Emitted) message()   {}
func (Ended) message()     {}
func (Committed) message() {}
func (Aborted) message()   {}

// Action is something that a head wants done, in the order given.
type Action interface{ action() }

// The actions.
type (
	// Forward sends the barrier into the loop now. What the head has applied until now is the
	// state that belongs to it.
	Forward struct {
		ID         ID
		Checkpoint bool
	}
	// Pass says that the barrier has come round. With Checkpoint the head hands over its state as of Forward
	// and Log, records in transit, oldest first. There are Records of them, and they can be read until the slice is
	// released.
	Pass struct {
		ID         ID
		Checkpoint bool
		Records    int
		Log        iter.Seq2[[]byte, error]
	}
	// Apply takes a record into the head's state. What follows from it goes out with the next Round.
	Apply struct{ Record []byte }
	// More says that the log has more records to be applied than are to be in memory at a time. Answered by Continue, before
	// anything else.
	More struct{}
	// Round sends what the state owes to the loop. Answered by Emitted.
	Round struct{ Phase, Round int }
	// EndRound sends the marker of the end of a round into the loop.
	EndRound struct{ Round int }
	// Fixpoint says that the iteration has ended: the barrier ID leaves the loop, behind what the iteration has
	// changed. With Replay it was that of the checkpoint that the head started from: nothing leaves.
	Fixpoint struct {
		ID     ID
		Replay bool
		Rounds int
	}
)

func (Forward) action()  {}
func (Pass) action()     {}
func (Apply) action()    {}
func (More) action()     {}
func (Round) action()    {}
func (EndRound) action() {}
func (Fixpoint) action() {}

// LimitError says that an iteration had no fixpoint within the bound on rounds.
type LimitError struct{ Rounds int }

func (e *LimitError) Error() string {
	return fmt.Sprintf("loop: no fixpoint after %d rounds", e.Rounds)
}
