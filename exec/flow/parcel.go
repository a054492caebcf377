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
	// view: the columns belong to lender, which is released with this parcel.
	view   bool
	lender *parcel
}

func (p *parcel) release() {
	if p.refs.Add(-1) == 0 {
		if p.lender != nil {
			p.lender.release()
			p.lender = nil
		}
		if p.pool != nil {
			p.pool.give(p)
		}
	}
}

// parcelPool keeps empty parcels of one schema for reuse. Chunks that grew beyond the usual size are
// left to the garbage collector.
type parcelPool struct {
	types []types.Type
	size  int
	mu    sync.Mutex
	free  []*parcel
}

// maxFree bounds the idle parcels of a pool.
const maxFree = 16

func newParcelPool(ts []types.Type, size int) *parcelPool {
	return &parcelPool{types: ts, size: size}
}

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
	p := &parcel{pool: pp, chunk: vec.NewChunk(pp.types, pp.size)}
	p.refs.Store(1)
	return p
}

// view gives a parcel that shows the columns cols of p and keeps p alive.
func (p *parcel) project(cols []int) *parcel {
	v := &parcel{chunk: &vec.Chunk{}, lender: p}
	v.chunk.View(p.chunk, cols)
	p.refs.Add(1)
	v.refs.Store(1)
	return v
}

func (pp *parcelPool) give(p *parcel) {
	if p.chunk.Len() > 4*pp.size {
		return
	}
	p.chunk.Reset()
	pp.mu.Lock()
	if len(pp.free) < maxFree {
		pp.free = append(pp.free, p)
	}
	pp.mu.Unlock()
}
