package op

import (
	"errors"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// SinkConfig configures Sink.
type SinkConfig struct {
	In []types.Type
	// Visible lists the columns that the writer is shown; nil: all.
	Visible []int
	Writer  exec.SinkWriter
}

// Sink hands its input to the writer of an external sink.
//
//	In:      one port, any changelog.
//	Out:     nothing but barriers.
//	State:   the writer's.
//	Memory:  none.
//	Barrier: ends the writer's epoch, then forwards it.
//	Errors:  the writer's.
type Sink struct {
	base
	cfg  SinkConfig
	view vec.Chunk
}

// NewSink checks the configuration.
func NewSink(cfg SinkConfig) (*Sink, error) {
	if cfg.Writer == nil {
		return nil, errors.New("Sink: no writer")
	}
	if err := checkCols("Sink.Visible", cfg.Visible, len(cfg.In)); err != nil {
		return nil, err
	}
	s := &Sink{cfg: cfg}
	if s.schema = cfg.In; cfg.Visible != nil {
		s.schema = pickTypes(cfg.In, cfg.Visible)
	}
	return s, nil
}

// Chunk writes the rows.
func (s *Sink) Chunk(_ int, c *vec.Chunk) error {
	if s.cfg.Visible == nil {
		return s.cfg.Writer.Write(c)
	}
	s.view.View(c, s.cfg.Visible)
	return s.cfg.Writer.Write(&s.view)
}

// Barrier ends the epoch.
func (s *Sink) Barrier(bar exec.Barrier) error {
	if err := s.cfg.Writer.Barrier(bar.Epoch, bar.Checkpoint); err != nil {
		return err
	}
	return s.out.Barrier(bar)
}

// Close closes the writer.
func (s *Sink) Close() {
	if err := s.cfg.Writer.Close(); err != nil && s.ctx != nil && s.ctx.Logger != nil {
		s.ctx.Logger.Warn("closing a sink", "error", err)
	}
}
