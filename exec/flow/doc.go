// Package flow runs streaming plans: actors, the gates in front of them, the dispatchers behind them,
// and the leaves of a plan (source readers, table inputs, backfill).
//
// A job is cut into fragments; an actor is one parallel instance of a fragment, one goroutine that
// pushes events through a tree of operators. What enters an actor is put in order by its gate:
// messages from all producers arrive in one inbox; a producer that is ahead by a barrier has its
// messages held back until the others have passed the same barrier. What leaves an actor goes
// through its dispatcher, which copies rows to the inboxes of its consumers, by hash of some
// columns or whole. An inbox has a bound for each producer: a slow consumer slows its producers.
//
// The Runtime owns all actors and is the checkpoint coordinator's Dataflow: Inject puts a barrier into
// the inbox of every root actor (those without producers), and each actor reports the barrier when
// it has passed it, with its dirty state at a checkpoint. A Mutation in a barrier adds and
// removes actors and the edges to them; it takes effect right before (added) or right after
// (removed) the barrier is passed on, so that an added actor sees the barrier first and every
// change after it, and a removed one everything up to it.
package flow
