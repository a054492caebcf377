// Package storage keeps Weir's durable state. It is Pebble and a log of its own behind four ideas,
// and no other package knows what is underneath:
//
//   - A StateTable is the private state of one operator instance: bytes to bytes, one owner, no
//     versions. Changes are buffered and handed over as a Delta at a checkpoint.
//   - An Arrangement is the state of a table, a view or an index: sorted, versioned by epoch,
//     written by its owner and read by many.
//   - The Log makes writes durable before they are acknowledged, with one fsync for all who wait.
//   - The key codec (package keycodec) turns SQL values into bytes whose order is SQL's.
//
// # How a checkpoint becomes durable
//
// Nothing uncommitted is ever written to Pebble. Between two checkpoints all changes are in
// memory, and in the log where they came from a client. Store.Commit writes everything that
// belongs to a checkpoint (deltas of state tables, deltas of arrangements up to the epoch, the
// caller's metadata, the log position that is no longer needed, range deletes of dropped tables)
// as one synced Pebble batch or, if it is large, as sorted files that Pebble takes over together
// (ingest.go). After a crash the newest checkpoint is therefore complete, and the
// log holds every acknowledged record that came after it.
//
// Changes of state tables are written as blobs of about a thousand, not key by key, and a
// background folder brings them into key order later (blob.go, fold.go, tail.go): a checkpoint
// is short, and a key that a hundred checkpoints change is written in order once. What a large checkpoint adds to a table under
// keys that it did not have is written in key order at once (direct.go): folding would only write it twice.
//
// Rows of an arrangement that arrive many at a time and in key order stay together, in memory as a run of
// blocks (run.go) and on disk as blocks of rows (rowblock.go, frozen.go); all others have a node of a tree and
// a key of their own.
//
// # How a version is read
//
// A version of an arrangement at epoch E is an LSM in small: the base (a Pebble snapshot taken
// right after a commit, shared by all arrangements and counted by reference), the frozen deltas
// of checkpoints that are sealed but not committed, and the root of the copy-on-write tree (over the runs) at E.
// Reading takes no lock. When a checkpoint commits, versions at or after it move to the new base
// and lose the deltas that it contains; older versions keep what they had until nobody pins them.
//
// # When the disk is damaged
//
// Earlier checkpoints are retained beside the newest state (retain.go); Open verifies what it opens,
// and if that is damaged, goes back to the newest one that is well (recover.go, head.go, verify.go). A
// backup is such a checkpoint outside of the data directory (backup.go).
//
// # Files
//
// The data directory holds WEIR_FORMAT (the version of all of this), LOCK, state/ (Pebble, and the
// head file), log/ (segments of the log), ingest/ (files on their way into state/), checkpoints/
// (retained ones) and damaged/ (what recovery has set aside). All access goes through a
// vfs.FS, so that tests can run on a simulated disk that loses what was not synced, or fails.
package storage
