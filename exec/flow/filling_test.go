package flow

import (
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/weirdb/weir/storage"
)

// progress closes done when all leaves have caught up.
type progress struct {
	mu    sync.Mutex
	left  int
	epoch storage.Epoch
	done  chan struct{}
	// read counts rows, if it is not nil.
	read *atomic.Int64
}

func (p *progress) Read(n int64) {
	if p.read != nil {
		p.read.Add(n)
	}
}

func (p *progress) Done(e storage.Epoch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.epoch = max(p.epoch, e)
	if p.left--; p.left == 0 {
		close(p.done)
	}
}

// resume finds the views that were being filled, and go on.
func (w *world) resume(live map[storage.TableID]bool) {
	w.must(w.store.ScanMeta([]byte("filling/"), func(_, val []byte) error {
		v := &view{w: w, gone: make(chan struct{}), resumed: true, prog: &progress{done: make(chan struct{}), read: &w.resumed}}
		if err := json.Unmarshal(val, v); err != nil {
			return err
		}
		for _, id := range v.tables() {
			live[id] = true
			w.nextID = max(w.nextID, uint32(id)+1)
		}
		w.pend(v)
		return nil
	}))
}

// filling is what lets a restart go on with a view.
func (v *view) filling(delete bool) storage.MetaOp {
	v.mu.Lock()
	defer v.mu.Unlock()
	op := storage.MetaOp{Key: fmt.Appendf(nil, "filling/%d", v.ID), Delete: delete}
	if !delete {
		var err error
		op.Value, err = json.Marshal(v)
		v.w.must(err)
	}
	return op
}
