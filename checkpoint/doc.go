// Package checkpoint is the barrier and checkpoint protocol: who decides when an epoch ends, when it
// is complete, and when it is durable. It decides and does nothing else: time, transport and storage
// are passed in, so that the same code runs under a simulation.
//
// # Epochs
//
// An epoch begins life open: it takes input changes. A barrier that is injected into every root
// actor closes it. It is completed when every actor has reported its barrier, and durable when it
// was the epoch of a checkpoint and the store has committed it:
//
//	durable <= completed <= injected < open
//
// Epochs complete in order, and checkpoints commit in order, one at a time. Barriers are injected
// on demand (a reader waits for an epoch, a statement changes the graph), and at most every
// barrier interval while there is input; an idle coordinator sets no timer.
//
// Core (core.go) is the pure part: Step takes one message and returns the actions to do. Driver
// (driver.go) runs a Core against a Dataflow and a Store.
package checkpoint
