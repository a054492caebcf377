package op

import (
	"fmt"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// UnionAllConfig configures UnionAll.
type UnionAllConfig struct {
	// In are the column types, the same for all inputs.
	In    []types.Type
	Ports int
	// SourceColumn appends the number of the input as an int4 column.
	SourceColumn bool
}

// UnionAll has the rows of all its inputs.
//
//	In:      any number of ports with the same columns, any changelogs.
//	Out:     the input columns, and the port number if SourceColumn; chunk by chunk.
//	State:   none.
//	Memory:  none.
//	Barrier: forwards it (the gate has aligned the inputs). The watermark of a column is the smallest of the inputs.
//	Errors:  none.
type UnionAll struct {
	base
	cfg  UnionAllConfig
	view vec.Chunk
	src  *vec.Vector
	// marks are the watermarks of each input.
	marks []marks
}

// NewUnionAll checks the configuration.
func NewUnionAll(cfg UnionAllConfig) (*UnionAll, error) {
	if cfg.Ports < 1 {
		return nil, fmt.Errorf("UnionAll: %d ports", cfg.Ports)
	}
	u := &UnionAll{cfg: cfg, marks: make([]marks, cfg.Ports)}
	u.schema = append(u.schema, cfg.In...)
	if cfg.SourceColumn {
		u.schema = append(u.schema, types.T(types.Int4))
		u.src = vec.NewVector(types.T(types.Int4), 0)
	}
	return u, nil
}

// Chunk forwards the chunk.
func (u *UnionAll) Chunk(port int, c *vec.Chunk) error {
	if !u.cfg.SourceColumn {
		return u.out.Chunk(c)
	}
	u.src.Reset()
	u.src.AppendRepeat(types.DInt(int64(port)), c.Len())
	u.view.Cols = append(append(u.view.Cols[:0], c.Cols...), u.src)
	u.view.Diffs = c.Diffs
	u.view.SetLen(c.Len())
	return u.out.Chunk(&u.view)
}

// Watermark forwards the smallest watermark of all inputs.
func (u *UnionAll) Watermark(port int, w exec.Watermark) error {
	u.marks[port].set(w)
	low := w.Value
	for _, m := range u.marks {
		v, ok := m.get(w.Col)
		if !ok {
			return nil
		}
		low = min(low, v)
	}
	return u.out.Watermark(exec.Watermark{Col: w.Col, Value: low})
}
