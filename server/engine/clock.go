package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// clock is what statements and epochs get their times from: the machine's clock, or one that stands still until somebody
// moves it (for tests). Which of the two, and what it shows, is durable.
type clock struct {
	// virtual is the time of the clock that stands still; nil: the machine's.
	virtual atomic.Pointer[int64]
	// setting lets one at a time set it (capacity 1).
	setting chan struct{}
}

var clockKey = []byte("clock")

// Now is a flow.TimeSource's.
func (c *clock) Now() int64 {
	if v := c.virtual.Load(); v != nil {
		return *v
	}
	return flow.MachineTime{}.Now()
}

// Until is a flow.TimeSource's.
func (c *clock) Until(t int64) (time.Duration, bool) {
	if c.virtual.Load() != nil {
		return 0, false
	}
	return flow.MachineTime{}.Until(t)
}

// load sets the clock to what is durable.
func (c *clock) load(s *storage.Store) error {
	b, ok, err := s.Meta(clockKey)
	switch {
	case err != nil:
		return fmt.Errorf("clock: %w", err)
	case !ok || len(b) == 0:
		c.virtual.Store(nil)
	case len(b) == 8:
		t := int64(binary.BigEndian.Uint64(b))
		c.virtual.Store(&t)
	default:
		return fmt.Errorf("clock: %d bytes", len(b))
	}
	return nil
}

// Now is the time of the server's clock.
func (e *Engine) Now() time.Time {
	if v := e.clock.virtual.Load(); v != nil {
		return types.ToGoTime(*v)
	}
	return time.Now()
}

// Clock is the time that the server's clock was set to, as a timestamptz value; false if it is the machine's clock.
func (e *Engine) Clock() (int64, bool) {
	if v := e.clock.virtual.Load(); v != nil {
		return *v, true
	}
	return 0, false
}

// SetClock sets the clock to what next makes of its time, nil being the machine's clock, and gives the new setting. When it
// returns, the setting is durable, and every later read sees views as of then.
func (i *Incarnation) SetClock(ctx context.Context, next func(virtual *int64) (*int64, error)) (*int64, error) {
	c := &i.e.clock
	select {
	case c.setting <- struct{}{}:
		defer func() { <-c.setting }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	old := c.virtual.Load()
	now, err := next(old)
	if err != nil {
		return nil, err
	}
	c.virtual.Store(now)
	if err := i.RT.ClockSet(); err != nil {
		c.virtual.Store(old)
		if errors.Is(err, flow.ErrTimeDependent) {
			return nil, sqlerr.Newf(sqlerr.ObjectNotInPrerequisiteState, "the clock cannot go back while there are views or sinks that depend on time").
				WithHint("Their time is %s. Drop them first, or set the clock to a later time.", time.UnixMicro(i.RT.Time()+epoch2000).UTC().Format("2006-01-02 15:04:05.999999-07"))
		}
		return nil, err
	}
	op := storage.MetaOp{Key: clockKey, Value: []byte{}}
	if now != nil {
		op.Value = binary.BigEndian.AppendUint64(nil, uint64(*now))
	}
	if err := i.RT.Save(ctx, flow.Save{Meta: []storage.MetaOp{op}}); err != nil {
		c.virtual.Store(old)
		return nil, i.explain(err)
	}
	return now, nil
}

// epoch2000 is 2000-01-01 in Unix microseconds, where timestamptz values begin.
const epoch2000 = 946_684_800_000_000
