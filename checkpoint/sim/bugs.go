package sim

// Bug is a fault in the protocol that a run can have built in. None of them is in the machines: each is a lie that is told
// to one, or a step that is left out around it.
type Bug int

// The bugs.
const (
	// NoAlignment: a consumer takes its snapshot at the first marker and works off what comes early.
	NoAlignment Bug = iota + 1
	// NoGenerations: a consumer does not look at the generation of a message.
	NoGenerations
	// EarlyCommit: a state that is on its way to the store counts as stored.
	EarlyCommit
	// DropLoopLog: the head of a loop hands over its state without the log.
	DropLoopLog
	// LateRestore: the response to an old restore attempt counts for the new one.
	LateRestore
	// DropAtBound: early arrivals beyond the bound are dropped.
	DropAtBound
	// NoResend: a producer that reconnects goes on without sending again what was lost.
	NoResend
	// CleanNeeded: cleaning takes along something that the newest checkpoint has.
	CleanNeeded
	// CommitEarly: a sink commits its transaction at the barrier.
	CommitEarly
)

// Bugs lists all of them.
var Bugs = []Bug{NoAlignment, NoGenerations, EarlyCommit, DropLoopLog, LateRestore, DropAtBound, NoResend, CleanNeeded, CommitEarly}

var bugNames = map[Bug]string{
	NoAlignment: "skip the alignment", NoGenerations: "forget a generation check", EarlyCommit: "commit before all states are stored",
	DropLoopLog: "drop the loop log", LateRestore: "accept a late restore response", DropAtBound: "drop early arrivals at the spill bound",
	CommitEarly: "commit a transaction at the barrier",
	NoResend:    "forget to resend after a reconnect", CleanNeeded: "clean a checkpoint that is still needed",
}

func (b Bug) String() string { return bugNames[b] }
