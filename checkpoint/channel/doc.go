// Package channel is exactly-once delivery through channels that several producers share. It decides and does
// nothing else: transport and disk are passed in.
//
// # Messages
//
// A channel leads to one consumer, and any number of producers write to it. It keeps the order of each producer's
// messages and nothing more: those of different producers mix as they happen to arrive. Every message
// carries a Header: its producer, the generation of the producer, the version it belongs to, and its sequence
// number. A version is the part of a stream between two markers; the marker of version V is its last message.
// In Weir versions are epochs and markers are barriers.
//
// # A valid snapshot
//
// The consumer's snapshot of version V is valid if
//
//  1. everything that any producer sent before its marker of V is included in it, and
//  2. it is the result of messages of versions up to V only.
//
// Early arrivals are what makes this more than a marker: a producer that is ahead sends messages of V+1 while
// another one's marker of V is still to come. The consumer can neither leave them out of a snapshot once they are
// worked off, nor leave them in the channel, where others' messages are behind them. So the Gate keeps them, in
// memory up to a bound and then in a Spill, and gives them out after the snapshot. That changes the order between
// producers, which means nothing, and never the order of one producer's messages. The other way of aligning, Blocking, is
// for channels that can be read by producer: one that has delivered its marker is not read until the others have.
//
// # Generations and sequence numbers
//
// A generation is one life of a producer: it grows whenever the producer begins again from a checkpoint. The gate
// drops what comes from an older one than it was told of, whenever it arrives. It does not take what comes from a
// newer one either: its own state has seen messages of the dead incarnation, which the new one will
// produce again, and not necessarily the same. It has to be restored to the checkpoint from which the
// producer continues.
//
// Within a generation sequence numbers grow by one. A connection that breaks loses messages and may repeat some: the
// producer keeps what is not acknowledged, the gate says which message it wants next, drops what it has had
// already, and takes a gap for an error. In a checkpoint the producer has the number of the message behind its marker, and the
// gate that of each producer's; they agree, and after a restore the new generation continues there.
//
// What a gate has buffered is no part of a checkpoint: it is behind the markers, so the producers will send it again.
//
// # The change log
//
// ChangeLog is the truth of a consumer's own state: changes as they happen, and for each checkpoint a record that
// commits those before it, or aborts them. State is what committed changes make, and can always be built from them
// again.
//
// Audit checks the two conditions from the outside: it is told what is sent, what is worked off, and when
// snapshots are taken.
package channel
