package checkpoint

import "fmt"

// WorkerID names a worker: a process, or a part of one, that hosts actors.
type WorkerID string

// Term numbers the lives of the coordinator. The store gives each a larger one, and workers and store
// take nothing from a coordinator with a smaller one than they have seen.
type Term uint64

// Generation numbers the lives of a worker. The store gives each a larger one; messages of a smaller one
// come from the dead.
type Generation uint64

// RestoreTxid identifies one attempt to bring all workers to one checkpoint. It grows with every attempt of
// every coordinator, so it is also the version of the whole graph: what began under one is void under
// the next.
type RestoreTxid uint64

// txidShift leaves room for four billion attempts within a term.
const txidShift = 32

// txid is attempt number n of a term.
func txid(t Term, n uint32) RestoreTxid { return RestoreTxid(uint64(t)<<txidShift | uint64(n)) }

// Term is the term that made the attempt.
func (x RestoreTxid) Term() Term { return Term(x >> txidShift) }

func (x RestoreTxid) String() string { return fmt.Sprintf("%d.%d", uint64(x)>>txidShift, uint32(x)) }

// AttemptID identifies one execution of an actor: it is never used again, also not by the next life of a
// worker.
type AttemptID uint64

// Kind is what a barrier is for.
type Kind uint8

// The kinds of barriers.
const (
	// KindEpoch ends an epoch and nothing more.
	KindEpoch Kind = iota
	// KindCheckpoint also collects the state of every actor.
	KindCheckpoint
	// KindSavepoint is a checkpoint that somebody asked for by name and that no cleaning removes.
	KindSavepoint
)

func (k Kind) String() string {
	switch k {
	case KindEpoch:
		return "epoch"
	case KindCheckpoint:
		return "checkpoint"
	case KindSavepoint:
		return "savepoint"
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// ActorState is where one execution of an actor is in its life.
type ActorState uint8

// The states of an execution.
const (
	// ActorCreated: it has no state yet and takes no input.
	ActorCreated ActorState = iota
	// ActorRestored: it has the state of the checkpoint and takes no input yet.
	ActorRestored
	// ActorRunning: it takes input.
	ActorRunning
	// ActorFinished: it has ended because its work is done.
	ActorFinished
	// ActorFailed: it has ended because of an error.
	ActorFailed
	// ActorCanceled: it has ended because it was told to.
	ActorCanceled
)

// Terminal tells whether an execution in this state has ended.
func (s ActorState) Terminal() bool { return s >= ActorFinished }

func (s ActorState) String() string {
	switch s {
	case ActorCreated:
		return "created"
	case ActorRestored:
		return "restored"
	case ActorRunning:
		return "running"
	case ActorFinished:
		return "finished"
	case ActorFailed:
		return "failed"
	case ActorCanceled:
		return "canceled"
	}
	return fmt.Sprintf("actor state(%d)", uint8(s))
}

// Phase is what a worker is doing.
type Phase uint8

// The phases of a worker.
const (
	// WorkerRegistering: it has no generation yet.
	WorkerRegistering Phase = iota
	// WorkerIdle: it has never been told to restore anything.
	WorkerIdle
	// WorkerRestoring: the actors of the attempt before are being stopped, or those of this one restored.
	WorkerRestoring
	// WorkerRestored: all its actors have their state and wait for StartProcessing.
	WorkerRestored
	// WorkerRunning: its actors work.
	WorkerRunning
)

func (p Phase) String() string {
	switch p {
	case WorkerRegistering:
		return "registering"
	case WorkerIdle:
		return "idle"
	case WorkerRestoring:
		return "restoring"
	case WorkerRestored:
		return "restored"
	case WorkerRunning:
		return "running"
	}
	return fmt.Sprintf("phase(%d)", uint8(p))
}

// Status is the outcome of a request.
type Status uint8

// The outcomes.
const (
	// StatusOK: it is done.
	StatusOK Status = iota
	// StatusFailed: it could not be done now; trying again may help.
	StatusFailed
	// StatusUnreadable: the checkpoint cannot be read or does not verify; only an older one can help.
	StatusUnreadable
	// StatusFenced: the sender's term or generation is over.
	StatusFenced
)

func (s Status) String() string {
	switch s {
	case StatusOK:
		return "ok"
	case StatusFailed:
		return "failed"
	case StatusUnreadable:
		return "unreadable"
	case StatusFenced:
		return "fenced"
	}
	return fmt.Sprintf("status(%d)", uint8(s))
}

// Role is one of the parts that are played.
type Role uint8

// The roles.
const (
	RoleCoordinator Role = iota
	RoleWorker
	RoleStore
	// RoleActor is an actor, which only its own worker talks to.
	RoleActor
	// RoleClient is whoever asked: a reader that waits for an epoch, a change of the graph.
	RoleClient
)

// Party is somebody that messages are sent to.
type Party struct {
	Role   Role
	Worker WorkerID // of RoleWorker
	Actor  ActorID  // of RoleActor
}

func (p Party) String() string {
	switch p.Role {
	case RoleCoordinator:
		return "coordinator"
	case RoleWorker:
		return "worker " + string(p.Worker)
	case RoleStore:
		return "store"
	case RoleActor:
		return fmt.Sprintf("actor %d", p.Actor)
	}
	return "client"
}
