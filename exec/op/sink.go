package op

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
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
//	State:   the writer's; of a writer with transactions (exec.TwoPhaseWriter) the handles of those that are prepared
//	         and not yet known to be committed, and of the newest one, by epoch, state table "transactions".
//	Memory:  none.
//	Barrier: ends the writer's epoch, at a checkpoint prepares its transaction, then forwards it.
//	Errors:  the writer's.
type Sink struct {
	base
	cfg  SinkConfig
	view vec.Chunk
	// two is the writer, if it has transactions, and txs are what is in st, oldest first.
	two exec.TwoPhaseWriter
	// late is the writer, if it commits later than it says.
	late exec.LateWriter
	st   exec.StateTable
	txs  []sinkTx
}

// sinkTx is a prepared transaction.
type sinkTx struct {
	epoch     storage.Epoch
	handle    []byte
	committed bool
}

// key is the transaction's in the state table. There is one actor, which has all vnodes.
func (t *sinkTx) key() []byte { return binary.BigEndian.AppendUint64([]byte{0}, uint64(t.epoch)) }

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

// Open finishes what the checkpoint has prepared.
func (s *Sink) Open(ctx *exec.Context, out exec.Output) error {
	if err := s.base.Open(ctx, out); err != nil {
		return err
	}
	var ok bool
	if s.two, ok = s.cfg.Writer.(exec.TwoPhaseWriter); !ok {
		return nil
	}
	s.late, _ = s.two.(exec.LateWriter)
	var handles [][]byte
	if s.st = s.state("transactions"); s.st != nil {
		err := s.st.Scan(nil, func(k, v []byte) error {
			if len(k) != 9 {
				return fmt.Errorf("transaction of a sink under key %x", k)
			}
			t := sinkTx{epoch: storage.Epoch(binary.BigEndian.Uint64(k[1:])), handle: bytes.Clone(v), committed: true}
			s.txs = append(s.txs, t)
			handles = append(handles, t.handle)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return s.two.Recover(handles)
}

// prepare ends the transaction of a checkpoint.
func (s *Sink) prepare(epoch storage.Epoch) error {
	h, err := s.two.Prepare()
	if err != nil {
		return err
	}
	if h != nil {
		t := sinkTx{epoch: epoch, handle: h}
		s.txs = append(s.txs, t)
		if s.st != nil {
			s.st.Put(t.key(), h)
		}
	}
	// The newest one stays, committed or not.
	n := 0
	for n+1 < len(s.txs) && s.txs[n].committed && (s.late == nil || s.txs[n].epoch <= s.late.Visible()) {
		if s.st != nil {
			s.st.Delete(s.txs[n].key())
		}
		n++
	}
	s.txs = append(s.txs[:0], s.txs[n:]...)
	return nil
}

// CheckpointSaved commits what was prepared up to a checkpoint that is durable now.
func (s *Sink) CheckpointSaved(epoch storage.Epoch) error {
	for i := range s.txs {
		t := &s.txs[i]
		if t.committed || t.epoch > epoch {
			continue
		}
		if err := s.two.Commit(t.handle); err != nil {
			return err
		}
		t.committed = true
	}
	if s.late != nil {
		return s.late.Saved(epoch)
	}
	return nil
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
	if bar.Checkpoint && s.two != nil {
		if err := s.prepare(bar.Epoch); err != nil {
			return err
		}
	}
	return s.out.Barrier(bar)
}

// Close closes the writer.
func (s *Sink) Close() {
	if err := s.cfg.Writer.Close(); err != nil && s.ctx != nil && s.ctx.Logger != nil {
		s.ctx.Logger.Warn("closing a sink", "error", err)
	}
}
