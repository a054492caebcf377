package session

import (
	"context"
	"strings"

	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// The server's clock, which is the same for all sessions. It is set like a setting, and durable at once: it belongs to no
// transaction.

// clockSetting is the name of the setting, systemClock its default.
const (
	clockSetting = "weir.clock"
	systemClock  = "system"
)

// setting gives the value of a setting as SHOW does.
func (s *session) setting(name string) string {
	key := strings.ToLower(name)
	if key != clockSetting {
		// The session itself may have put the value of one that nobody can set, such as is_superuser.
		if d := settings[key]; d != nil && d.fixed && s.vars.set[key] == "" {
			return s.b.defaultOf(d)
		}
		return s.vars.get(key)
	}
	t, ok := s.b.Engine.Clock()
	if !ok {
		return systemClock
	}
	return s.timeText(t)
}

// defaultOf is the value that a setting has if nobody sets it.
func (b *Backend) defaultOf(d *setting) string {
	if d.fixed && b.Fact != nil {
		if v, ok := b.Fact(d.name); ok {
			return v
		}
	}
	return d.def
}

func (s *session) timeText(t int64) string { return string(types.AppendTimestamptz(nil, t, s.zone())) }

// setClock is SET weir.clock; nil values are the default.
func (s *session) setClock(ctx context.Context, t *tx, st *ast.Set) error {
	switch {
	case !s.trusted(t.catalog(), s.user()):
		return sqlerr.Newf(sqlerr.InsufficientPrivilege, "permission denied to set parameter %q", clockSetting)
	case st.Local:
		return sqlerr.Newf(sqlerr.CantChangeRuntimeParam, "parameter %q cannot be set locally", clockSetting)
	case t.explicit:
		return sqlerr.Newf(sqlerr.ActiveSQLTransaction, "SET %s cannot run inside a transaction block", clockSetting)
	}
	var to *int64
	if v := strings.Join(st.Values, ", "); st.Values != nil && !strings.EqualFold(v, systemClock) && !strings.EqualFold(v, "default") {
		at, err := types.ParseTimestamptz(v, s.typeEnv())
		if err != nil {
			return err
		}
		if types.IsInfinite(at) {
			return sqlerr.Newf(sqlerr.InvalidParameterValue, "invalid value for parameter %q: %q", clockSetting, v)
		}
		to = &at
	}
	_, err := t.inc.SetClock(ctx, func(*int64) (*int64, error) { return to, nil })
	return err
}

// advanceClock is weir_advance_clock. Days and months are those of the session's time zone.
func (s *session) advanceClock(ctx context.Context, t *tx, by types.Span) (int64, error) {
	if !s.trusted(t.catalog(), s.user()) {
		return 0, sqlerr.Newf(sqlerr.InsufficientPrivilege, "permission denied for function weir_advance_clock")
	}
	if t.explicit {
		return 0, sqlerr.Newf(sqlerr.ActiveSQLTransaction, "weir_advance_clock() cannot run inside a transaction block")
	}
	now, err := t.inc.SetClock(ctx, func(virtual *int64) (*int64, error) {
		if virtual == nil {
			return nil, sqlerr.Newf(sqlerr.ObjectNotInPrerequisiteState, "the clock is the machine's, and cannot be moved").
				WithHint("Set it first: SET %s = '2024-01-01 00:00:00+00'.", clockSetting)
		}
		next, err := types.AddIntervalTZ(*virtual, by, s.zone())
		if err != nil {
			return nil, err
		}
		return &next, nil
	})
	if err != nil {
		return 0, err
	}
	return *now, nil
}
