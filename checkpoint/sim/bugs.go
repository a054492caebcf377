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
	// DropInnerLog is DropLoopLog in a loop within a loop only.
	DropInnerLog
	// OutOfTurn: of several slices of a loop's log the newest is released first.
	OutOfTurn
	// EarlyRoundEnd: the tail of a loop with several heads ends a round when the first of them has.
	EarlyRoundEnd
	// UncountedRows: the tail of a loop with several heads tells only one of them how many rows it has sent.
	UncountedRows
	// ShortBackfill: a new view gets one row too few of what was there before it.
	ShortBackfill
	// RepeatMutation: a client's mutation that is said again counts as another one.
	RepeatMutation
	// ForgetEnds: a worker forgets what an actor that has finished handed over last.
	ForgetEnds
)

// Bugs lists all of them.
var Bugs = []Bug{NoAlignment, NoGenerations, EarlyCommit, DropLoopLog, LateRestore, DropAtBound, NoResend, CleanNeeded, CommitEarly, DropInnerLog, OutOfTurn, EarlyRoundEnd, UncountedRows, ShortBackfill, RepeatMutation, ForgetEnds}

var bugNames = map[Bug]string{
	NoAlignment: "skip the alignment", NoGenerations: "forget a generation check", EarlyCommit: "commit before all states are stored",
	DropLoopLog: "drop the loop log", LateRestore: "accept a late restore response", DropAtBound: "drop early arrivals at the spill bound",
	CommitEarly:  "commit a transaction at the barrier",
	DropInnerLog: "drop the log of an inner loop", OutOfTurn: "release a slice of the log out of turn", EarlyRoundEnd: "end a round at the first head's word",
	UncountedRows: "tell one head only what went back", ShortBackfill: "fill a new view with a row too few",
	RepeatMutation: "apply a mutation that is said again", ForgetEnds: "forget the last state of a finished actor",
	NoResend: "forget to resend after a reconnect", CleanNeeded: "clean a checkpoint that is still needed",
}

func (b Bug) String() string { return bugNames[b] }
