package flow

import (
	"sync"
	"sync/atomic"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// parcel is a chunk on its way to one or more consumers, none of which changes it. The last one to
// be done gives it back to its pool.
type parcel struct {
	chunk *vec.Chunk
	refs  atomic.Int32
	pool  *parcelPool
	// lender owns the columns of a view; it is released with it.
	lender *parcel
}

func (p *parcel) release() {
	if p.refs.Add(-1) > 0 {
		return
	}
	lender := p.lender
	p.lender = nil
	if p.pool != nil {
		p.pool.give(p)
	}
	if lender != nil {
		lender.release()
	}
}

// parcelPool keeps parcels for reuse: empty ones of one schema, or views.
type parcelPool struct {
	types []types.Type
	size  int
	views bool
	// keep bounds the idle parcels.
	keep int
	mu   sync.Mutex
	free []*parcel
}

func newParcelPool(ts []types.Type, size, keep int) *parcelPool {
	return &parcelPool{types: ts, size: size, keep: keep}
}

func newViewPool(keep int) *parcelPool { return &parcelPool{views: true, keep: keep} }

// get gives an empty parcel with one reference.
func (pp *parcelPool) get() *parcel {
	pp.mu.Lock()
	if n := len(pp.free); n > 0 {
		p := pp.free[n-1]
		pp.free = pp.free[:n-1]
		pp.mu.Unlock()
		p.refs.Store(1)
		return p
	}
	pp.mu.Unlock()
	p := &parcel{pool: pp}
	if pp.views {
		p.chunk = &vec.Chunk{}
	} else {
		p.chunk = vec.NewChunk(pp.types, pp.size)
	}
	p.refs.Store(1)
	return p
}

// show gives a parcel that shows the columns cols of p and keeps p alive.
func (pp *parcelPool) show(p *parcel, cols []int) *parcel {
	v := pp.get()
	v.chunk.View(p.chunk, cols)
	v.lender = p
	p.refs.Add(1)
	return v
}

// give takes a parcel back. Chunks that grew beyond the usual size are left to the garbage collector.
func (pp *parcelPool) give(p *parcel) {
	if !pp.views {
		if p.chunk.Len() > 4*pp.size {
			return
		}
		p.chunk.Reset()
	}
	pp.mu.Lock()
	if len(pp.free) < pp.keep {
		pp.free = append(pp.free, p)
	}
	pp.mu.Unlock()
}
