// Package checkpoint is the barrier, checkpoint and failure protocol: who decides when an epoch ends, when it is
// complete, when it is durable, and how everything comes back to a checkpoint when something dies. It decides and
// does nothing else: time, transport and storage are passed in, so that the same code runs under a simulation.
// docs/protocol.md is its specification.
//
// # Epochs
//
// An epoch begins life open: it takes input changes. A barrier that is started at every source
// actor closes it. It is completed when every actor has reported its barrier, and durable when it
// was the epoch of a checkpoint and the store has recorded it:
//
//	durable <= completed <= injected < open
//
// Epochs complete in order, and checkpoints are recorded in order, one at a time. Barriers are started
// on demand (a reader waits for an epoch, a statement changes the graph), and at most every
// barrier interval while there is input; an idle coordinator sets no timer.
//
// # Machines
//
// Each role is a machine whose Step takes one message at a time and returns actions, most of them messages to
// others (messages.go):
//
//   - Coordinator (coordinator.go): terms, restore attempts, reconciling, failover. Core (core.go) is the part of
//     it that knows epochs.
//   - Worker (worker.go): hosts actors, and remembers what the next coordinator has to know.
//   - Keeper (keeper.go): the store's role, over a medium.
//
// A machine is deterministic: the same messages at the same times give the same actions in the same order. Messages that
// come late, twice or from a life that is over change nothing.
//
// # In one process
//
// Driver (driver.go) runs coordinators in a goroutine, one after the other if they die, against a Host, which is the only
// worker, and a Store.
package checkpoint
