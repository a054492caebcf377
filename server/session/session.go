// Package session runs the statements of one client: it implements the interfaces that pgwire asks
// for on top of the planner, the executor and the engine.
//
// The files: session.go (life of a session, transactions), statement.go (parse, bind, cache),
// query.go (reads), dml.go (writes), ddl.go and define.go (objects), copy.go, utility.go (SET, SHOW,
// EXPLAIN and the like), encode.go (values for the wire), settings.go.
package session

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/pgwire"
	"github.com/weirdb/weir/server/engine"
	"github.com/weirdb/weir/server/syscat"
	"github.com/weirdb/weir/server/table"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
	"github.com/weirdb/weir/storage"
)

// Backend opens sessions on an engine.
type Backend struct {
	Engine *engine.Engine
	Logger *slog.Logger
	// Registry has the functions that expressions may use.
	Registry *fn.Registry
	// Interrupt ends the running statement of a session, also one that waits for its client. It is
	// called RecoveryGrace after a failure of the dataflow, which cannot recover before the statement
	// ends. Nil: nothing is interrupted.
	Interrupt     func(pid int32, err *sqlerr.Error) bool
	RecoveryGrace time.Duration
	// Fact gives the values of those settings that say how the server runs (max_connections, port, ssl, listen_addresses);
	// nil: they are as usual.
	Fact func(setting string) (string, bool)

	logins   logins
	hub      hub
	advisory advisoryLocks
}

// Database is the name of the one database.
const Database = "weir"

// Connect opens a session. A client may name the database like itself, which clients do by default.
func (b *Backend) Connect(_ context.Context, st pgwire.Startup, client pgwire.Client) (pgwire.Session, error) {
	if st.Database != Database && st.Database != st.User && st.Database != "postgres" {
		return nil, sqlerr.Newf(sqlerr.InvalidCatalogName, "database %q does not exist", st.Database)
	}
	s := &session{b: b, client: client, login: st.User, pid: st.PID, vars: newVars(), holder: advisoryHolder{pid: st.PID}, running: context.Background()}
	s.vars.initial[settingAuth] = st.User
	if err := s.admit(); err != nil {
		return nil, err
	}
	s.beginSettings(b.Engine.Catalog())
	asRole, wants := "", false
	for name, v := range st.Params {
		if strings.EqualFold(name, settingRole) {
			asRole, wants = v, true
			continue
		}
		if err := s.vars.assign(name, []string{v}); err != nil {
			return nil, err
		}
	}
	if wants {
		if err := s.setUser(b.Engine.Catalog(), settingRole, []string{asRole}); err != nil {
			return nil, err
		}
	}
	for k, v := range s.vars.set {
		s.vars.initial[k] = v
	}
	s.vars.set = map[string]string{}
	s.vars.changed = nil
	return s, nil
}

// session is one client's session.
type session struct {
	// mod is what the parts of a statement with data-modifying statements in WITH share, while one runs.
	mod    *modifying
	b      *Backend
	client pgwire.Client
	// login is who connected; noRole says that there was no role of that name.
	login  string
	noRole bool
	pid    int32
	// taken are the values of sequences that currval and lastval give.
	taken taken
	vars  *vars
	// variable is that of the statement that is being planned.
	variable func(parts []string) (int, types.Type, bool, error)
	// holder has the session's advisory locks, and running is the context of the statement that runs.
	holder  advisoryHolder
	running context.Context
	// temp are the temporary objects between two transactions, nil if there never were any; sequences are where its temporary sequences stand.
	temp      *engine.Temp
	sequences *table.Sequences
	// tx is the open transaction, implicit or not; nil between statements.
	tx *tx
}

// tx is a transaction. An implicit one lasts until Sync.
type tx struct {
	explicit bool
	failed   bool
	readOnly bool
	// repeatable: every statement reads the snapshot of the first one.
	repeatable bool
	// newest: the statement that is running reads the newest state, whatever read_freshness says.
	newest bool
	start  time.Time
	inc    *engine.Incarnation
	// mu is held while a statement runs. When the incarnation ends, the transaction is stripped of
	// what it holds as soon as no statement runs, so that an idle client cannot hold up a recovery.
	mu      sync.Mutex
	release func()
	unwatch func() bool
	writes  *table.Tx
	snap    *storage.Snapshot
	// defs are the definitions of the transaction, nil if it has none.
	defs *engine.Block
	// temp are the temporary objects of the session, nil if it has none.
	temp *engine.Block
	s    *session
	// open are the cursors that were opened in it; not all of them are open still.
	open []opened
	// listens and notes are what LISTEN, UNLISTEN and NOTIFY said, for the commit.
	listens []listening
	notes   []note
	// commits counts how often what was written has been committed on the way, for a definition that takes effect at once.
	commits int
	// saves are the savepoints, and vars the settings to go back to.
	saves []savepoint
	vars  map[string]string
	// local has, by name, the settings that SET LOCAL changed, with the values to go back to.
	local map[string]string
}

type savepoint struct {
	name string
	at   table.Savepoint
	defs engine.Mark
	temp engine.Mark
	vars map[string]string
	// open is how many cursors were opened before; listens and notes are how many there were.
	open, listens, notes int
	// local is how many advisory locks the transaction had, and commits what it had counted.
	local, commits int
}

func (s *session) Params() []pgwire.ParameterStatus {
	s.vars.changed = s.vars.changed[:0]
	return s.vars.reported()
}

func (s *session) ChangedParams() []pgwire.ParameterStatus { return s.vars.takeChanged() }

func (s *session) TxStatus() byte {
	switch {
	case s.tx == nil || !s.tx.explicit:
		return 'I'
	case s.tx.failed:
		return 'E'
	}
	return 'T'
}

// IdleLimit bounds the time that a client may be idle.
func (s *session) IdleLimit() (time.Duration, *sqlerr.Error) {
	name, err := "idle_session_timeout", sqlerr.Newf("57P05", "terminating connection due to idle-session timeout")
	if s.tx != nil && s.tx.explicit {
		name, err = "idle_in_transaction_session_timeout", sqlerr.Newf("25P03", "terminating connection due to idle-in-transaction timeout")
	}
	d, perr := parseTimeout(s.vars.get(name))
	if perr != nil {
		return 0, nil
	}
	return d, err
}

// Sync commits the implicit transaction.
func (s *session) Sync(ctx context.Context) error {
	if s.tx == nil || s.tx.explicit {
		return nil
	}
	if s.tx.defs != nil && s.tx.inc != nil {
		// Definitions are made now, and that may take long.
		limited, done := s.statementContext(ctx, s.tx)
		defer done()
		return cause(limited, s.commit(limited))
	}
	return s.commit(ctx)
}

// Abort marks the transaction as failed; an implicit one ends.
func (s *session) Abort() {
	switch {
	case s.tx == nil:
	case s.tx.explicit:
		s.tx.failed = true
		if len(s.tx.saves) == 0 {
			// What a failed transaction holds is of no use to anybody, unless it can go back.
			s.tx.mu.Lock()
			s.tx.endDefinitions()
			s.tx.writes.Release()
			for _, o := range s.tx.open {
				o.strip()
			}
			s.tx.mu.Unlock()
			s.unlockLocal(0)
		}
	default:
		s.rollback()
	}
}

func (s *session) Close() {
	s.b.logins.leave(s.login)
	defer s.b.hub.close(s)
	if s.tx != nil {
		s.rollback()
	}
	s.b.advisory.unlockAll(&s.holder)
}

// begin makes sure that there is a transaction on a living incarnation.
func (s *session) begin(ctx context.Context) (*tx, error) {
	if s.tx != nil {
		if s.tx.inc == nil {
			return s.tx, s.attach(ctx, s.tx)
		}
		if s.tx.inc.Ctx.Err() != nil {
			return nil, s.tx.inc.Explain(s.tx.inc.Ctx.Err())
		}
		return s.tx, nil
	}
	t := &tx{
		start: s.now(), writes: table.NewTx(), vars: s.vars.snapshot(),
		readOnly: s.vars.get("default_transaction_read_only") == "on",
	}
	s.setIsolation(t, s.vars.get("default_transaction_isolation"))
	if err := s.attach(ctx, t); err != nil {
		return nil, err
	}
	s.tx = t
	return t, nil
}

func (s *session) attach(ctx context.Context, t *tx) error {
	inc, release, err := s.b.Engine.Acquire(ctx)
	if err != nil {
		return err
	}
	t.inc, t.release, t.s = inc, release, s
	t.writes.SetLimit(inc.TxLimit())
	if s.temp != nil {
		if t.temp, err = inc.Temporary(t.writes, s.temp); err != nil {
			return err
		}
	}
	t.unwatch = context.AfterFunc(inc.Ctx, func() {
		if s.b.Interrupt == nil {
			t.end()
			return
		}
		// The statement was cancelled, but one that sends rows to a client that does not read them, or
		// waits for the data of a COPY, does not notice.
		grace := time.AfterFunc(s.b.RecoveryGrace, func() { s.b.Interrupt(s.pid, engine.ErrRestarted) })
		defer grace.Stop()
		t.end()
	})
	return nil
}

func (s *session) setIsolation(t *tx, level string) {
	t.repeatable = level == "repeatable read" || level == "serializable"
}

func (s *session) now() time.Time {
	return s.b.Engine.Now()
}

// commit ends the transaction; its error means that nothing of it happened, unless it says that this
// is not known.
func (s *session) commit(ctx context.Context) error {
	t := s.tx
	s.tx = nil
	defer s.unlockLocal(0)
	defer t.end()
	if t.failed {
		s.vars.restore(t.vars)
		return nil
	}
	for k, v := range t.local {
		if v == "" {
			s.vars.reset(k)
		} else {
			s.vars.set[k] = v
		}
	}
	if t.inc == nil {
		return nil
	}
	err := t.persist(ctx)
	if err == nil {
		err = t.commit(ctx, s.vars.get("synchronous_commit") != "off")
	}
	if err != nil {
		s.vars.restore(t.vars)
		s.closeCursors(t, 0)
		return err
	}
	s.notifications(t)
	return nil
}

// persist makes the cursors WITH HOLD independent of the transaction.
func (t *tx) persist(ctx context.Context) error {
	for _, o := range t.open {
		if c, ok := o.(*cursor); ok && c.held && !c.broken {
			t.mu.Lock()
			err := c.persist(ctx)
			t.mu.Unlock()
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// opened is a cursor that holds something of its transaction.
type opened interface {
	pgwire.Portal
	// strip gives that back. It may be called again, and by another goroutine while no statement runs.
	strip()
}

// closeCursors closes the cursors that were declared in a transaction, but for the first ones.
func (s *session) closeCursors(t *tx, from int) {
	if len(t.open) == from {
		return
	}
	for _, p := range s.client.Portals() {
		if o, ok := p.Portal.(opened); ok && slices.Contains(t.open[from:], o) {
			_ = s.client.RemovePortal(p.Name) // one that is running closes with its statement
		}
	}
	for _, o := range t.open[from:] {
		o.strip()
	}
	t.open = t.open[:from]
}

func (s *session) rollback() {
	t := s.tx
	s.tx = nil
	s.vars.restore(t.vars)
	s.closeCursors(t, 0)
	t.end()
	s.unlockLocal(0)
}

// commit makes the writes durable.
func (t *tx) commit(ctx context.Context, sync bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.inc.Ctx.Err(); err != nil {
		return t.inc.Explain(err)
	}
	return t.commitLocked(ctx, sync)
}

// end gives back what the transaction holds. It may be called again.
func (t *tx) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.unwatch != nil {
		t.unwatch()
	}
	t.endDefinitions()
	t.writes.Release()
	for _, o := range t.open {
		o.strip()
	}
	if t.snap != nil {
		t.snap.Release()
		t.snap = nil
	}
	if t.release != nil {
		t.release()
		t.release = nil
	}
}

// snapshot gives the snapshot for a statement that reads rels, and what gives it back.
func (s *session) snapshot(ctx context.Context, t *tx, rels []*catalog.Relation) (*storage.Snapshot, func(), error) {
	if t.snap != nil {
		return t.snap, func() {}, t.inc.CheckReadable(ctx, t.snap, rels)
	}
	strict := t.newest || s.vars.get("read_freshness") == "strict"
	if strict {
		if err := awaitInto(ctx, t, rels); err != nil {
			return nil, nil, err
		}
		if slices.ContainsFunc(rels, syscat.AtEpoch) {
			// It has something of every job.
			if err := t.inc.RT.WaitFresh(ctx); err != nil {
				return nil, nil, t.inc.Explain(err)
			}
		}
	}
	snap, err := t.inc.SnapshotOf(ctx, strict, rels)
	if err != nil {
		return nil, nil, err
	}
	if t.explicit && (t.repeatable || t.readOnly) {
		t.snap = snap
		return snap, func() {}, nil
	}
	return snap, snap.Release, nil
}

// statementContext bounds a statement by statement_timeout and by the life of the incarnation.
func (s *session) statementContext(ctx context.Context, t *tx) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(t.inc.Ctx, func() { cancel(t.inc.Explain(context.Canceled)) })
	done := func() {
		stop()
		cancel(nil)
	}
	lock, _ := parseTimeout(s.vars.get("lock_timeout"))
	t.writes.SetLockTimeout(lock)
	t.writes.SetOwner(s.pid)
	if d, err := parseTimeout(s.vars.get("statement_timeout")); err == nil && d > 0 {
		limited, end := context.WithTimeoutCause(ctx, d,
			sqlerr.Newf(sqlerr.QueryCanceled, "canceling statement due to statement timeout"))
		return limited, func() {
			end()
			done()
		}
	}
	return ctx, done
}

// cause replaces a bare context error by the reason of the cancellation.
func cause(ctx context.Context, err error) error {
	if err != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) && ctx.Err() != nil {
		if c := context.Cause(ctx); c != nil {
			return c
		}
	}
	return err
}

// zone is the session's time zone.
func (s *session) zone() *time.Location {
	loc, _, err := parseZone(s.vars.get("timezone"))
	if err != nil {
		return time.UTC
	}
	return loc
}

// execEnv is what expressions of a statement depend on.
func (s *session) execEnv(t *tx) *exec.Env {
	sys := s.sysEnv(t)
	style, order, interval := s.vars.styles()
	return &exec.Env{
		DateStyle: style, DateOrder: order, IntervalStyle: interval,
		Location: s.zone(), Now: t.start, User: s.user(), SessionUser: s.sessionUser(), Database: Database, SearchPath: slices.DeleteFunc(slices.Clone(sys.SearchPath), func(n string) bool { return n == s.vars.temp }), TempSchema: s.vars.temp, Names: sys, Types: sys, Objects: sys,
	}
}

// sysEnv is what system relations and catalog functions depend on.
func (s *session) sysEnv(t *tx) *syscat.Env {
	cat := t.catalog()
	path := slices.DeleteFunc(s.vars.searchPath(s.user()), func(n string) bool { return !syscat.WithSystem(cat).HasSchema(n) })
	return &syscat.Env{
		Catalog: cat, User: s.user(), Database: Database, SearchPath: path, PID: s.pid, Now: t.start,
		Settings: s.setting,
		AllSettings: func() []syscat.Setting {
			var out []syscat.Setting
			for _, key := range slices.Sorted(maps.Keys(settings)) {
				d := settings[key]
				out = append(out, syscat.Setting{Name: d.name, Value: s.setting(key), Default: s.b.defaultOf(d), Help: d.help, Fixed: d.fixed})
			}
			return out
		},
		State: func(rel *catalog.Relation) syscat.State {
			st := syscat.State{RowErrors: t.inc.RowErrors(rel), LateRows: t.inc.LateRows(rel.ID)}
			if err := t.inc.StalledError(rel); err != nil {
				st.Stopped, st.Problem = true, sqlerr.From(err).Message
			} else if err := t.inc.Problem(rel.ID); err != nil {
				st.Problem = sqlerr.From(err).Message
			}
			return st
		},
		Cursors:   s.cursors,
		Advisory:  advisory{s},
		ShownView: func(r *catalog.Relation, text string, pretty bool) string { return s.viewText(cat, r, text, pretty) },
		Shown: func(r *catalog.Relation, text string, want types.Type, pretty bool) string {
			return s.shown(cat, r, text, want, pretty)
		},
		AdvisoryLocks:     s.b.advisory.rows,
		LockWaits:         func() []syscat.LockWait { return lockWaits(t.inc.LockWaits()) },
		Sequences:         sequences{s, t},
		Fills:             func() []syscat.Fill { return fills(t.inc) },
		Notify:            func(channel, payload string) error { return s.notify(t, channel, payload) },
		ListeningChannels: s.listeningChannels,
		Subscriptions: func() []syscat.Subscription {
			var out []syscat.Subscription
			for _, x := range t.inc.Subscriptions() {
				out = append(out, syscat.Subscription{
					ID: x.ID, PID: x.PID, Statement: x.What, Began: x.Began, Epoch: int64(x.Passed), Buffered: x.Buffered,
				})
			}
			return out
		},
		Jobs:        func() map[catalog.ID]syscat.Job { return jobs(t.inc) },
		Actors:      func() []syscat.Actor { return actors(t.inc) },
		Operators:   func() []syscat.Operator { return operators(t.inc) },
		Memory:      func() []syscat.Memory { return memory(t.inc) },
		Checkpoints: func() []syscat.Checkpoint { return checkpoints(t.inc) },
		SetSetting: func(name, value string, local bool) (string, error) {
			_, err := s.set(t.inc.Ctx, t, &ast.Set{Name: name, Values: []string{value}, Local: local})
			return s.setting(name), err
		},
		AdvanceClock: func(by types.Span) (int64, error) { return s.advanceClock(t.inc.Ctx, t, by) },
	}
}

// typeEnv is what the text of values depends on.
func (s *session) typeEnv() *types.Env {
	e := &types.Env{TimeZone: s.zone(), Now: s.now().UnixMicro() - epoch2000}
	e.DateStyle, e.DateOrder, e.IntervalStyle = s.vars.styles()
	if s.tx != nil && s.tx.inc != nil {
		sys := s.sysEnv(s.tx)
		e.Names, e.Types = sys, sys
	}
	return e
}

// epoch2000 is 2000-01-01 in Unix microseconds, where Postgres's time begins.
const epoch2000 = 946684800 * 1e6

func (s *session) warn(code sqlerr.Code, msg, hint string) {
	s.tell(&pgwire.Notice{Severity: "WARNING", Code: code, Message: msg, Hint: hint})
}

func (s *session) notice(code sqlerr.Code, msg string) {
	s.tell(&pgwire.Notice{Severity: "NOTICE", Code: code, Message: msg})
}

// tell sends a notice that client_min_messages lets pass.
func (s *session) tell(n *pgwire.Notice) {
	levels := []string{"debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error"}
	least := slices.Index(levels, s.vars.get("client_min_messages"))
	rank := map[string]int{"DEBUG": 4, "LOG": 5, "WARNING": 7, "INFO": len(levels)}
	if r, ok := rank[n.Severity]; !ok && least > 6 || ok && r < least {
		return
	}
	s.client.Notice(s.noticeText(n))
}
