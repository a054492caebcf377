package flow

import (
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// tablePortions is what leaves have in common that bring a job up to where an arrangement is: after each barrier
// a portion of it goes out, by key, and live changes pass as far as their keys allow it.
type tablePortions struct {
	TableBackfillConfig
	out exec.Output
	ctx *exec.Context
	// version is pinned from a barrier until AfterBarrier.
	version *storage.Version
	done    bool
	// portion is the size of the one before, in rows.
	portion int
	// buf collects rows to emit, pass has those of a chunk that pass.
	buf, pass *vec.Chunk
	key       []byte
	sel       []int32
	hash      []uint64
}

func newTablePortions(cfg TableBackfillConfig) tablePortions {
	if cfg.Portion <= 0 {
		cfg.Portion = backfillPortion
	}
	if cfg.MaxPortion <= 0 {
		cfg.MaxPortion = max(cfg.Portion, backfillMax)
	}
	return tablePortions{TableBackfillConfig: cfg, portion: cfg.Portion}
}

// Schema is the input's.
func (p *tablePortions) Schema() []types.Type { return p.Types }

// Open prepares the buffers.
func (p *tablePortions) Open(ctx *exec.Context, out exec.Output) error {
	p.ctx, p.out = ctx, out
	p.buf = vec.NewChunk(p.Types, ctx.ChunkSize)
	p.pass = vec.NewChunk(p.Types, ctx.ChunkSize)
	return nil
}

// Watermark passes once everything has been read: what is still to come may be below it.
func (p *tablePortions) Watermark(_ int, w exec.Watermark) error {
	if p.done {
		return p.out.Watermark(w)
	}
	return nil
}

// passRows passes the live changes whose key passes.
func (p *tablePortions) passRows(in *vec.Chunk, passes func(key []byte) bool) error {
	p.sel = p.sel[:0]
	for i := range in.Len() {
		p.key = p.AppendKey(p.key[:0], in, i)
		if passes(p.key) {
			p.sel = append(p.sel, int32(i))
		}
	}
	return p.emit(in)
}

// emit sends the selected rows on.
func (p *tablePortions) emit(in *vec.Chunk) error {
	if len(p.sel) == 0 {
		return nil
	}
	p.pass.Reset()
	p.pass.AppendSel(in, p.sel)
	return p.out.Chunk(p.pass)
}

// begin gives the version to read a portion from, which the caller releases; nil if none is to be read at this barrier.
func (p *tablePortions) begin(epoch storage.Epoch) *storage.Version {
	v := p.version
	p.version = nil
	if v == nil {
		return nil
	}
	if p.behind(epoch) {
		v.Release()
		p.later(epoch, p.RequestBarrier)
		return nil
	}
	p.portion = int(p.next(int64(p.portion)))
	p.buf.Reset()
	return v
}

// full flushes the buffer if it has a chunk.
func (p *tablePortions) full() error {
	if p.buf.Len() < p.ctx.ChunkSize {
		return nil
	}
	if err := p.flush(); err != nil {
		return err
	}
	return p.ctx.Ctx.Err()
}

// end finishes a portion of so many rows; done says that it was the last one.
func (p *tablePortions) end(epoch storage.Epoch, rows int, done bool) error {
	if err := p.flush(); err != nil {
		return err
	}
	p.portion = min(2*p.portion, p.MaxPortion)
	p.Progress.Read(int64(rows))
	if done {
		p.done = true
		p.Progress.Done(epoch + 1)
	}
	p.RequestBarrier()
	return nil
}

// flush emits those of the collected rows that this actor owns.
func (p *tablePortions) flush() error {
	if p.buf.Len() == 0 {
		return nil
	}
	defer p.buf.Reset()
	if p.Parallel <= 1 {
		return p.out.Chunk(p.buf)
	}
	p.hash = vec.HashCols(p.buf, p.HashCols, p.hash)
	p.sel = p.sel[:0]
	for i, h := range p.hash {
		if Owner(vec.Vnode(h), p.Parallel) == p.Index {
			p.sel = append(p.sel, int32(i))
		}
	}
	return p.emit(p.buf)
}

// Close releases a pinned version.
func (p *tablePortions) Close() {
	if p.version != nil {
		p.version.Release()
		p.version = nil
	}
}
