package checkpoint

import "time"

// Message is something that the coordinator is told.
type Message interface{ message() }

// The messages.
type (
	// InputArrived says that the open epoch has a change. Sent at least once for each epoch that has one.
	InputArrived struct{}
	// Demand asks that every epoch up to Epoch be completed as soon as possible.
	Demand struct{ Epoch Epoch }
	// CheckpointDemand asks for a checkpoint of Epoch or a later one as soon as possible; 0 stands for
	// the open epoch. With Savepoint, for one of this kind.
	CheckpointDemand struct {
		Epoch     Epoch
		Savepoint bool
	}
	// Mutate asks for a barrier that carries a change of the graph. Add are the actors that exist from
	// this barrier on, Remove those for which it is the last. With Checkpoint the barrier is one of
	// a checkpoint. ID is the client's number for it, which grows by one each time, so that a mutation
	// that is repeated takes effect once; 0 if it is never repeated. Place says where the added actors
	// live; those it does not name live on the only worker.
	Mutate struct {
		ID         uint64
		Mutation   any
		Add        []ActorID
		Place      []Placement
		Remove     []ActorID
		Checkpoint bool
		// Version is the attempt that it was made for, 0 for any: it is refused in another one.
		Version RestoreTxid
	}
	// Abort asks that the checkpoint of Epoch, if it is not complete yet, become a plain epoch.
	Abort struct {
		Epoch  Epoch
		Reason string
	}
	// Collected is an actor's report that it has passed the barrier of Epoch; State is what it hands
	// over at a checkpoint, opaque here. With Pending the state follows as a Stored, and the epoch does
	// not wait for it, but the commit of the checkpoint does.
	Collected struct {
		Actor   ActorID
		Epoch   Epoch
		State   any
		Pending bool
	}
	// Stored brings the state of a Collected that was Pending.
	Stored struct {
		Actor ActorID
		Epoch Epoch
		State any
	}
	// Committed is the store's answer to a Commit action. With GiveUp what could not be committed is not tried again as
	// it is, but aborted, because not all that it had is known.
	Committed struct {
		Epoch  Epoch
		Err    error
		GiveUp bool
	}
	// Tick says that the time of a SetTimer has come.
	Tick struct{}
	// Lost says that actors are dead. They leave the set of actors, every round in flight and the
	// mutations that are not injected yet. A checkpoint in flight that one of them takes part in becomes
	// a plain epoch, and another checkpoint is asked for: what the survivors have handed over, or will,
	// is carried into the next checkpoint, since it is what changed and nobody has it twice; what the
	// dead have handed over is dropped. Completed checkpoints that wait for their commit are not
	// affected. Reports of lost actors that arrive later are passed over. Answered by Gone.
	Lost struct {
		Actors []ActorID
		// Version is as in Mutate.
		Version RestoreTxid
	}
	// Hold asks that no checkpoint be begun until the same is sent with On false, as often as it was sent
	// with On true: the durable epoch then stands still. Mutations that ask for a checkpoint are
	// injected nevertheless, as plain epochs; the checkpoint follows when the hold ends. Answered by
	// Held, each time, when no checkpoint is in flight or waits for its commit.
	Hold struct{ On bool }
)

func (InputArrived) message()     {}
func (Demand) message()           {}
func (CheckpointDemand) message() {}
func (Mutate) message()           {}
func (Abort) message()            {}
func (Stored) message()           {}
func (Collected) message()        {}
func (Committed) message()        {}
func (Tick) message()             {}
func (Lost) message()             {}
func (Hold) message()             {}

// Action is something that the coordinator wants done, in the order given.
type Action interface{ action() }

// The actions.
type (
	// Inject sends a barrier to every root actor and opens the next epoch.
	Inject struct {
		Epoch      Epoch
		Checkpoint bool
		Savepoint  bool
		Mutation   any
		// Change is the whole of the message that asked for Mutation, nil for none.
		Change *Mutate
	}
	// Complete announces that Epoch and all before it are completed.
	Complete struct{ Epoch Epoch }
	// Commit writes the checkpoint of Epoch; States are what the actors handed over, in the order of
	// their arrival. Answered by Committed. Never issued while another is unanswered.
	Commit struct {
		Epoch     Epoch
		Savepoint bool
		States    []any
	}
	// Durable announces that the checkpoint of Epoch is committed.
	Durable struct{ Epoch Epoch }
	// CommitFailed announces that the checkpoint of Epoch could not be written. Its states stay
	// with the coordinator and are part of the next attempt.
	CommitFailed struct {
		Epoch Epoch
		Err   error
	}
	// Aborted announces that Epoch, which was to be a checkpoint, will be an epoch only; Waiting are the
	// actors that it waits for.
	Aborted struct {
		Epoch   Epoch
		Reason  string
		Waiting []ActorID
	}
	// SetTimer asks for a Tick at At; it replaces an earlier timer. The zero time cancels it.
	SetTimer struct{ At time.Time }
	// Gone answers Lost: Completed is the newest epoch that was completed with the lost actors, Saved the
	// newest checkpoint that was: it is durable, or will be.
	Gone struct {
		Actors           []ActorID
		Completed, Saved Epoch
	}
	// Held answers Hold{On: true}: Durable stands still until the hold ends.
	Held struct{ Durable Epoch }
)

func (Inject) action()       {}
func (Complete) action()     {}
func (Commit) action()       {}
func (Durable) action()      {}
func (CommitFailed) action() {}
func (Aborted) action()      {}
func (SetTimer) action()     {}
func (Gone) action()         {}
func (Held) action()         {}
