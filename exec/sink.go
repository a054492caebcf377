package exec

import "github.com/weirdb/weir/storage"

// TwoPhaseWriter is a SinkWriter whose output is committed together with the checkpoints: each row is in it exactly
// once, whatever fails. The operator that uses it keeps the handles in its state, so that they are part of the
// checkpoint that they belong to.
//
//	Write* Prepare                     at the checkpoint's barrier; the handle becomes part of the checkpoint
//	Commit(handle)                     once the checkpoint is durable
//	Recover(handles)                   first of all, after a restart: those of the checkpoint
type TwoPhaseWriter interface {
	SinkWriter
	// Prepare makes durable, and not yet visible, what was written since the last call; nil if that was nothing.
	// From then on Commit must succeed, unless something outside is broken.
	Prepare() (handle []byte, err error)
	// Commit makes a prepared transaction visible, in the order in which they were prepared. It may be called again
	// for one that is committed, and changes nothing then.
	Commit(handle []byte) error
	// Recover commits the transactions, oldest first, and rolls back all others that there are. It is called once,
	// before anything else. The last transaction is among handles as long as there is no newer one.
	Recover(handles [][]byte) error
}

// LateWriter is a TwoPhaseWriter that takes its time: Commit and Recover return before the transaction is visible. The
// operator keeps the handles of those that are not.
type LateWriter interface {
	TwoPhaseWriter
	// Saved is called when a checkpoint is durable, after Commit of what was prepared for it.
	Saved(epoch storage.Epoch) error
	// Visible is the newest epoch all of whose transactions are visible.
	Visible() storage.Epoch
}
