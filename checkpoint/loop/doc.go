// Package loop decides how a loop of the dataflow is snapshotted, iterated and recovered. It is the part
// of the checkpoint protocol for cyclic graphs, and like the rest of it does nothing itself: time,
// transport and storage are its host's.
//
// A loop has heads, where rows enter it, and tails, whose rows go back to the heads over a feedback
// channel. A barrier cannot be aligned with what goes round, so the head lets it pass at once:
//
//  1. A barrier arrives at a head, after the input of its epoch. The head forwards it into the loop, and
//     everything that it has received and not applied, and what comes back before the barrier
//     does, is logged. New input is not admitted.
//  2. The barrier comes back from every tail. What was logged for it is the head's state, besides what
//     it has applied: records in transit at the snapshot. Nothing that was logged is applied before.
//  3. The log is applied, and the iteration of the epoch begins. A round sends what the head owes to
//     the loop, and an end-of-round marker, which comes back from every tail with the number of rows
//     that the tail has sent in the round. A round without any is the fixpoint of a phase; after the
//     last phase the iteration ends, the epoch leaves the loop, and input is admitted again.
//  4. A head that starts applies the log of the checkpoint in order and iterates before it admits
//     anything. What leaves the loop then is known behind it already.
//
// Several checkpoints may be under way. Each has its slice of one log; slices overlap, and are released
// in the order of their barriers, whether they are committed or aborted.
//
// The channel never refuses a record and never drops one: beyond its budget it spills. That is what
// keeps a loop that multiplies its records from standing still, with the head waiting for room in the
// body and the body for room in the channel.
package loop
