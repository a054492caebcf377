package checkpoint

import "time"

// The messages between the roles. docs/protocol.md says when each is sent; checkpointpb has their form on
// the wire. All of them may be lost, repeated, delayed, and overtake each other, unless a message says otherwise.

// StateRef is what an actor hands over at a checkpoint: a delta to its state before, or the whole state.
// Exactly one of Inline, Location and Native is set.
type StateRef struct {
	Actor ActorID
	// Epoch is the barrier at which it was taken.
	Epoch Epoch
	// Full: this is the whole state, and everything older of the actor is superseded.
	Full bool
	// Inline is the state itself.
	Inline []byte
	// Location is where the store has it.
	Location string
	// Native is the state by reference. It never leaves the process, and so is not part of the wire form.
	Native any
}

// CheckpointInfo describes a globally consistent checkpoint.
type CheckpointInfo struct {
	Epoch Epoch
	Kind  Kind
	// Txid is the attempt whose actors made it.
	Txid RestoreTxid
	// Parent is the checkpoint that the states are deltas to; 0 for none.
	Parent Epoch
	// States are what the actors handed over since Parent, oldest first. Left out in the lists that the
	// store gives.
	States []StateRef
	// Actors are those that live after the barrier, by id: what a restore brings back.
	Actors []Placement
	// LastMutation is the newest mutation that is part of it.
	LastMutation uint64
}

// Placement says where an actor lives that a mutation adds.
type Placement struct {
	Actor  ActorID
	Worker WorkerID
	// Source: it has no inputs inside the graph, and its worker starts its barriers.
	Source bool
}

// ChannelPosition is how far a channel has been written or read.
type ChannelPosition struct {
	// Peer is the actor at the other end.
	Peer       ActorID
	Generation Generation
	// Epoch and Seq are of the newest message.
	Epoch Epoch
	Seq   uint64
}

// Registration.
type (
	// RegisterCoordinator asks the store for a term. Incarnation is a number that no other life of a
	// coordinator uses; asking again with the same one gives the same term.
	RegisterCoordinator struct{ Incarnation uint64 }
	// RegisterCoordinatorResponse is the answer: the term, and the consistent checkpoints, newest first.
	RegisterCoordinatorResponse struct {
		Incarnation uint64
		Status      Status
		Detail      string
		Term        Term
		Checkpoints []CheckpointInfo
		// Txid is the newest attempt that the store knows of.
		Txid RestoreTxid
		// InProgress is the checkpoint that is being recorded for the term before, 0 for none. Its
		// CheckpointRecorded goes to this coordinator.
		InProgress Epoch
	}
	// RegisterWorker asks the store for a generation. Incarnation is as for coordinators.
	RegisterWorker struct {
		Worker      WorkerID
		Incarnation uint64
	}
	// RegisterWorkerResponse is the answer.
	RegisterWorkerResponse struct {
		Worker      WorkerID
		Incarnation uint64
		Status      Status
		Detail      string
		Generation  Generation
	}
)

// Restoring.
type (
	// Reconcile says that the sender is the coordinator of Term, and asks a worker for a report.
	Reconcile struct{ Term Term }
	// ListCheckpoints tells the store of a new attempt, and asks for the consistent checkpoints. From
	// then on the store takes nothing of an older attempt.
	ListCheckpoints struct {
		Term Term
		Txid RestoreTxid
	}
	// CheckpointList is the answer, newest first.
	CheckpointList struct {
		Term        Term
		Txid        RestoreTxid
		Status      Status
		Detail      string
		Checkpoints []CheckpointInfo
	}
	// RestoreTopologyState tells a worker to stop its actors and to bring those that are listed, by id, to a
	// checkpoint. With Checkpoint 0 the worker brings those that it hosts to their beginning.
	RestoreTopologyState struct {
		Term Term
		Txid RestoreTxid
		// Generation is the life of the worker that it is meant for. One that is started again must not take
		// part in an attempt in which the one before has taken part.
		Generation Generation
		Checkpoint Epoch
		Actors     []Placement
		// Base is the newest epoch that has been used: the first barrier is behind it. Not before
		// Checkpoint.
		Base Epoch
		// LastMutation is the newest mutation that is part of the checkpoint.
		LastMutation uint64
	}
	// RestoreTopologyStateResponse says how that went. It counts for the attempt Txid alone.
	RestoreTopologyStateResponse struct {
		Worker     WorkerID
		Generation Generation
		Txid       RestoreTxid
		Checkpoint Epoch
		Status     Status
		Detail     string
		// Actors are those that the worker has restored, by id.
		Actors []Placement
	}
	// GetInstanceState asks the store for the state of an actor at a checkpoint.
	GetInstanceState struct {
		Worker     WorkerID
		Generation Generation
		Txid       RestoreTxid
		Actor      ActorID
		Checkpoint Epoch
	}
	// GetInstanceStateResponse has it: what the actor handed over since its last full state, oldest first,
	// each inline or by reference.
	GetInstanceStateResponse struct {
		Worker     WorkerID
		Txid       RestoreTxid
		Actor      ActorID
		Checkpoint Epoch
		Status     Status
		Detail     string
		States     []StateRef
	}
	// RestoreInstanceState tells an actor to take a state, as execution Attempt, its Number-th.
	RestoreInstanceState struct {
		Actor      ActorID
		Attempt    AttemptID
		Number     uint32
		Txid       RestoreTxid
		Checkpoint Epoch
		States     []StateRef
	}
	// RestoreInstanceStateResponse says how that went.
	RestoreInstanceStateResponse struct {
		Actor   ActorID
		Attempt AttemptID
		Status  Status
		Detail  string
	}
	// StartProcessing lets the actors of a worker work. It is sent when all workers have restored.
	StartProcessing struct {
		Term       Term
		Txid       RestoreTxid
		Checkpoint Epoch
	}
	// StartInstanceProcessing is the same from a worker to its actor.
	StartInstanceProcessing struct {
		Actor   ActorID
		Attempt AttemptID
	}
	// StopInstance tells an execution to end. It is answered by InstanceEnded, always.
	StopInstance struct {
		Actor   ActorID
		Attempt AttemptID
	}
	// InstanceEnded says that an execution has ended, and how. It does nothing any more when this is sent.
	InstanceEnded struct {
		Actor   ActorID
		Attempt AttemptID
		State   ActorState
		Detail  string
	}
)

// Checkpoints.
type (
	// StartCheckpoint tells a worker to start the barrier of Epoch at its source actors. Epochs start in
	// order. A mutation of the graph takes effect with it: Add are the actors for which this barrier
	// is the first, Remove those for which it is the last.
	StartCheckpoint struct {
		Term  Term
		Txid  RestoreTxid
		Epoch Epoch
		Kind  Kind
		// MutationID is the number that the client gave the mutation, 0 without one.
		MutationID uint64
		Mutation   any
		Add        []Placement
		Remove     []ActorID
	}
	// InitiateCheckpoint tells the source actors of a worker to send the barrier; they are listed by id.
	InitiateCheckpoint struct {
		Actors   []ActorID
		Epoch    Epoch
		Kind     Kind
		Mutation any
	}
	// DownstreamMarker is the barrier on its way from one actor to another. It keeps its place among the
	// channel's other messages.
	DownstreamMarker struct {
		Origin, Destination ActorID
		Generation          Generation
		Epoch               Epoch
		Kind                Kind
		Seq                 uint64
	}
	// StoreInstanceState is an actor's word to its worker that it has passed the barrier of Epoch. State
	// is what it hands over at a checkpoint, nil for nothing. Inputs and Outputs are where its channels
	// are; they may be left out.
	StoreInstanceState struct {
		Actor           ActorID
		Attempt         AttemptID
		Epoch           Epoch
		State           *StateRef
		Inputs, Outputs []ChannelPosition
	}
	// SaveInstanceState asks the store to keep a state whose barrier has been passed.
	SaveInstanceState struct {
		Worker     WorkerID
		Generation Generation
		Txid       RestoreTxid
		State      StateRef
	}
	// SaveInstanceStateResponse says where it is.
	SaveInstanceStateResponse struct {
		Worker   WorkerID
		Txid     RestoreTxid
		Actor    ActorID
		Epoch    Epoch
		Status   Status
		Detail   string
		Location string
	}
	// InstanceStateStored tells the coordinator that an actor has passed the barrier of Epoch and that
	// its state, if it handed one over, is inline or with the store; or, with Pending, that it is on its
	// way to the store and another one of these will follow.
	InstanceStateStored struct {
		Worker     WorkerID
		Generation Generation
		Txid       RestoreTxid
		Actor      ActorID
		Attempt    AttemptID
		Epoch      Epoch
		State      *StateRef
		Pending    bool
	}
	// EpochCompleted tells workers that every actor has passed the barrier of Epoch and all before it.
	EpochCompleted struct {
		Term  Term
		Txid  RestoreTxid
		Epoch Epoch
	}
	// RecordCheckpoint asks the store to make a checkpoint the newest consistent one: all of it or nothing.
	RecordCheckpoint struct {
		Term       Term
		Checkpoint CheckpointInfo
	}
	// CheckpointRecorded is the answer.
	CheckpointRecorded struct {
		Term   Term
		Txid   RestoreTxid
		Epoch  Epoch
		Status Status
		Detail string
		// Cause is the error behind Detail, where the store is in the same process.
		Cause error
	}
	// CheckpointSaved tells workers that the checkpoint of Epoch is globally consistent and durable.
	CheckpointSaved struct {
		Term  Term
		Txid  RestoreTxid
		Epoch Epoch
	}
	// InstanceCheckpointSaved is the same from a worker to its actors: what they prepared up to
	// Epoch may be committed. Actors are listed by id.
	InstanceCheckpointSaved struct {
		Actors []ActorID
		Epoch  Epoch
	}
	// CheckpointAborted tells workers that Epoch will be no checkpoint, only an epoch. What was handed
	// over for it becomes part of the next.
	CheckpointAborted struct {
		Term   Term
		Txid   RestoreTxid
		Epoch  Epoch
		Reason string
	}
	// Clean asks the store to forget checkpoints: all older than OldestPreserved, or all.
	Clean struct {
		Term            Term
		OldestPreserved Epoch
		All             bool
	}
	// CleanResponse lists what is gone, newest first.
	CleanResponse struct {
		Term    Term
		Status  Status
		Detail  string
		Cleaned []Epoch
	}
)

// Failures and reconciliation.
type (
	// ResetTopologyState asks the coordinator to bring everything back to a consistent checkpoint, because
	// of a dead worker, a dead actor, or another reason.
	ResetTopologyState struct {
		DeadWorker WorkerID // "" for none
		DeadActor  ActorID  // 0 for none
		// Txid is the attempt that it happened in; a reset of an older one has been done. 0: any.
		Txid   RestoreTxid
		Reason string
	}
	// UpdateActorState tells the coordinator of the end of an execution. It is repeated until it is
	// acknowledged.
	UpdateActorState struct {
		Worker     WorkerID
		Generation Generation
		Txid       RestoreTxid
		Actor      ActorID
		Attempt    AttemptID
		State      ActorState
		Detail     string
		// Passed is the last barrier that it has passed.
		Passed Epoch
	}
	// AckActorState acknowledges ends of executions: the worker may forget them.
	AckActorState struct {
		Term     Term
		Attempts []AttemptID
	}
	// ForgetActors tells a worker that actors have left the graph without passing a last barrier.
	ForgetActors struct {
		Term   Term
		Txid   RestoreTxid
		Actors []ActorID
	}
	// WorkerReport tells the coordinator everything that it needs to know of a worker. It answers
	// Reconcile, registers a new worker (with Term 0 when it knows no coordinator), and is repeated
	// as a sign of life. It repeats what may have been lost.
	WorkerReport struct {
		Term       Term
		Worker     WorkerID
		Generation Generation
		Phase      Phase
		// Txid and Checkpoint are those of the newest attempt.
		Txid       RestoreTxid
		Checkpoint Epoch
		// Started, Completed and Saved are the newest epochs that the worker has started, or
		// knows to be completed and saved.
		Started, Completed, Saved Epoch
		// LastMutation is the newest mutation that it has started.
		LastMutation uint64
		// Dirty: there was input since the barrier of the newest checkpoint that was started.
		Dirty bool
		// Rounds are the barriers started and not known to be completed, and the checkpoints not
		// known to be saved, oldest first.
		Rounds []RoundReport
		// Actors are in order of their ids, then attempts.
		Actors []ActorReport
	}
	// RetryLater refuses a call for now; it is to be repeated after a while.
	RetryLater struct {
		Term  Term
		After time.Duration
	}
)

// RoundReport is a barrier as a worker was told of it.
type RoundReport struct {
	Epoch      Epoch
	Kind       Kind
	MutationID uint64
	Mutation   any
	Add        []Placement
	Remove     []ActorID
}

// ActorReport is one execution of an actor, as its worker knows it.
type ActorReport struct {
	Actor   ActorID
	Attempt AttemptID
	// Number counts the executions of the actor, from 1.
	Number uint32
	// Start is when this one was started.
	Start time.Time
	State ActorState
	// Detail is the error of a failed one.
	Detail string
	Source bool
	// First and Last bound the barriers that it takes part in; 0 for no bound.
	First, Last Epoch
	// Passed is the newest barrier that it has passed.
	Passed Epoch
	// States are what it has handed over and what is not known to be saved, oldest first.
	States []StateRef
	// Inputs and Outputs are where its channels were at the newest barrier at which it told them.
	Inputs, Outputs []ChannelPosition
}

func (RegisterCoordinator) message()          {}
func (RegisterCoordinatorResponse) message()  {}
func (RegisterWorker) message()               {}
func (RegisterWorkerResponse) message()       {}
func (Reconcile) message()                    {}
func (ListCheckpoints) message()              {}
func (CheckpointList) message()               {}
func (RestoreTopologyState) message()         {}
func (RestoreTopologyStateResponse) message() {}
func (GetInstanceState) message()             {}
func (GetInstanceStateResponse) message()     {}
func (RestoreInstanceState) message()         {}
func (RestoreInstanceStateResponse) message() {}
func (StartProcessing) message()              {}
func (StartInstanceProcessing) message()      {}
func (StopInstance) message()                 {}
func (InstanceEnded) message()                {}
func (StartCheckpoint) message()              {}
func (InitiateCheckpoint) message()           {}
func (DownstreamMarker) message()             {}
func (StoreInstanceState) message()           {}
func (SaveInstanceState) message()            {}
func (SaveInstanceStateResponse) message()    {}
func (InstanceStateStored) message()          {}
func (EpochCompleted) message()               {}
func (RecordCheckpoint) message()             {}
func (CheckpointRecorded) message()           {}
func (CheckpointSaved) message()              {}
func (InstanceCheckpointSaved) message()      {}
func (CheckpointAborted) message()            {}
func (Clean) message()                        {}
func (CleanResponse) message()                {}
func (ResetTopologyState) message()           {}
func (UpdateActorState) message()             {}
func (AckActorState) message()                {}
func (ForgetActors) message()                 {}
func (WorkerReport) message()                 {}
func (RetryLater) message()                   {}

// Send is the action of sending a message.
type Send struct {
	To      Party
	Message Message
}

func (Send) action() {}
