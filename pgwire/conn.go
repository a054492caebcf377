package pgwire

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirdb/weir/sql/sqlerr"
)

// state says what a connection is doing, for those who want to interrupt it.
type state uint8

const (
	// busy: between two statements, or writing their results. Comes to idle or running by itself.
	busy state = iota
	// idle: waiting for the client's next message.
	idle
	// running: inside a session's call that can be cancelled.
	running
)

// maxNotifications bounds the notifications that wait for a client to leave its transaction.
const maxNotifications = 10000

// longAgo is a deadline that interrupts at once.
var longAgo = time.Unix(1, 0)

// conn is one connection. Its goroutine runs serve; only the fields below mu are touched by others.
type conn struct {
	srv *Server
	// nc is the socket: deadlines and the end. Bytes go through io, which is nc or, with encryption, tls.
	nc      net.Conn
	io      io.ReadWriter
	tls     *tlsConn
	log     *slog.Logger
	pid     int32
	secret  uint32
	session Session
	limiter IdleLimiter // session, if it is one

	in   *reader
	rows RowWriter
	// enc is the client's encoding, nil for UTF-8.
	enc *Encoding
	// box holds a lent output buffer in the server's pool.
	box  *[]byte
	stmt statement
	// messages counts since the last flush.
	messages int64
	// known are the parameter values that the client was told.
	known map[string]string
	// status is the transaction status of the last ReadyForQuery.
	status byte
	// ready says that nothing came since the last ReadyForQuery.
	ready bool
	// skipping says that an error was reported and the next Sync is awaited.
	skipping bool
	// lost is set once when the client is gone: nothing can be read or written any more.
	lost error
	// dead is set once the running statement's error is the reason why the connection ends: the
	// error is then its last word, as FATAL.
	dead *sqlerr.Error
	// counted says that the connection holds one of the server's session slots.
	counted bool

	names names
	// params and formats are the space for Bind.
	params  []Param
	formats []Format

	// base ends with the connection; endBase ends it.
	base    context.Context
	endBase context.CancelCauseFunc

	// term is the reason for which the connection is to end, or nil.
	term atomic.Pointer[sqlerr.Error]
	// runs counts the calls that can be cancelled; it is odd inside one. The watcher reads it.
	runs atomic.Uint64

	mu    sync.Mutex
	state state
	// ctx and cancel belong to the running statement; they serve the next one too unless they
	// were cancelled.
	ctx    context.Context
	cancel context.CancelCauseFunc
	// woken says that deadlines in the past were set.
	woken bool
	// stopNow says that no statement may begin any more, because of term.
	stopNow bool
	// killed says that the write deadline is final.
	killed bool
	// ended says that the connection takes no notifications any more.
	ended bool
	// notes are the notifications that wait.
	notes []Notification
}

func newConn(s *Server, nc net.Conn, base context.Context) *conn {
	c := &conn{
		srv: s, nc: nc, io: nc, log: s.cfg.Logger,
		in:     newReader(nc, s.cfg.MaxMessageSize),
		known:  map[string]string{},
		status: 'I',
	}
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	c.secret = binary.BigEndian.Uint32(b[:])
	c.rows.limit = s.cfg.WriteBuffer
	c.rows.spill = c.flush
	c.stmt.c = c
	c.names.init()
	c.base, c.endBase = context.WithCancelCause(base)
	return c
}

// errQuit ends a connection without a word: the client said goodbye or is gone.
var errQuit = errors.New("client quit")

// serve runs the connection from start-up to its end.
func (c *conn) serve() {
	defer c.close()
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		c.srv.stats.Panics.Add(1)
		c.log.Error("session panicked", "pid", c.pid, "panic", p, "stack", string(debug.Stack()))
		c.leave()
		c.fatal(sqlerr.Newf(sqlerr.InternalError, "internal error: the session ended unexpectedly"))
	}()
	err := c.startup()
	for err == nil {
		err = c.step()
	}
	if e := (*sqlerr.Error)(nil); errors.As(err, &e) {
		c.fatal(e)
		return
	}
	c.lastWords()
}

// step handles one message. An error ends the connection: an *sqlerr.Error is reported as FATAL.
func (c *conn) step() error {
	if c.ready {
		if t := c.term.Load(); t != nil {
			return t
		}
	}
	typ, body, err := c.receive()
	if err != nil {
		return err
	}
	c.messages++
	if c.skipping && typ != 'S' && typ != 'X' {
		return nil
	}
	switch typ {
	case 'c', 'f':
		// The end of a COPY that failed before.
		return nil
	case 'X':
		return errQuit
	}
	c.ready = false
	switch typ {
	case 'Q':
		c.query(body)
	case 'P':
		c.parse(body)
	case 'B':
		c.bind(body)
	case 'D':
		c.describe(body)
	case 'E':
		c.execute(body)
	case 'C':
		c.closeName(body)
	case 'S':
		c.sync(body)
	case 'H':
		if len(body) > 0 {
			c.extended(sqlerr.Newf(sqlerr.ProtocolViolation, "invalid message format"), "")
		}
		_ = c.flush() // c.lost has it
	case 'F':
		c.failed(sqlerr.Newf(sqlerr.FeatureNotSupported, "the function call protocol is not supported"), "")
		c.endGroup()
	default:
		return sqlerr.Newf(sqlerr.ProtocolViolation, "invalid frontend message type %d", typ)
	}
	if len(c.rows.buf) >= c.rows.limit {
		_ = c.flush() // a client may send a lot before its first Sync
	}
	if c.lost != nil {
		return c.lost
	}
	if c.dead != nil {
		return c.dead
	}
	return nil
}

// receive gives the next message, waiting for it if need be. The body is valid until the next
// read from the client.
func (c *conn) receive() (typ byte, body []byte, err error) {
	for {
		typ, body, ok, err := c.in.next()
		if ok || err != nil {
			return typ, body, err
		}
		if err := c.wait(); err != nil {
			return 0, nil, err
		}
	}
}

// wait waits for the client to send something, while the connection is idle: it delivers
// notifications and leaves when the connection is to end.
func (c *conn) wait() error {
	var limit time.Duration
	var limitErr *sqlerr.Error
	if c.limiter != nil && c.ready {
		limit, limitErr = c.limiter.IdleLimit()
	}
	if t := c.srv.cfg.MessageTimeout; c.in.partial() && t > 0 && (limit <= 0 || t < limit) {
		limit = t
		limitErr = sqlerr.Newf(sqlerr.ProtocolViolation, "terminating connection because the rest of a message did not come")
	} else if c.ready {
		c.lend()
	}
	var end time.Time
	if limit > 0 {
		end = time.Now().Add(limit)
	}
	for {
		if c.lost != nil {
			return c.lost
		}
		c.mu.Lock()
		if t := c.term.Load(); t != nil {
			c.mu.Unlock()
			return t
		}
		notes := c.takeNotes()
		if notes == nil {
			c.state = idle
			if limit > 0 {
				_ = c.nc.SetReadDeadline(end)
			}
		}
		c.mu.Unlock()
		if notes != nil {
			for _, n := range notes {
				c.notification(n)
			}
			_ = c.flush() // c.lost has it
			continue
		}
		err := c.in.fill()
		c.mu.Lock()
		c.state = busy
		if c.woken || limit > 0 {
			c.woken = false
			_ = c.nc.SetReadDeadline(time.Time{})
		}
		c.mu.Unlock()
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, os.ErrDeadlineExceeded):
			if errors.Is(err, io.EOF) {
				return errQuit // it may still read
			}
			c.lost = &lostError{err}
			return c.lost
		case limit > 0 && !time.Now().Before(end):
			return limitErr
		}
	}
}

// takeNotes takes the waiting notifications if this is the time to send them. It needs c.mu.
func (c *conn) takeNotes() []Notification {
	if len(c.notes) == 0 || !c.ready || c.status != 'I' {
		return nil
	}
	notes := c.notes
	c.notes = nil
	return notes
}

// enter begins a call of the session that can be cancelled and gives its context.
func (c *conn) enter() context.Context {
	c.mu.Lock()
	c.state = running
	if c.ctx == nil {
		c.ctx, c.cancel = context.WithCancelCause(c.base)
	}
	if c.stopNow {
		c.cancel(c.term.Load())
	}
	ctx := c.ctx
	c.mu.Unlock()
	c.runs.Add(1)
	c.srv.watch.statement()
	return ctx
}

// leave ends what enter began. A cancel that comes later finds nothing to cancel.
func (c *conn) leave() {
	c.mu.Lock()
	if c.state == running {
		c.runs.Add(1)
		c.state = busy
		if c.woken && !c.killed {
			c.woken = false
			_ = c.nc.SetDeadline(time.Time{})
		}
		if c.ctx.Err() != nil {
			c.ctx, c.cancel = nil, nil
		}
	}
	c.mu.Unlock()
}

// interrupted gives the error of a running statement that was cancelled, else nil.
func (c *conn) interrupted() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == running && c.ctx.Err() != nil {
		return context.Cause(c.ctx)
	}
	return nil
}

// resumeWrites makes writing possible again after an interruption that was not meant for it. It
// reports false if the interruption was final.
func (c *conn) resumeWrites() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.killed {
		_ = c.nc.SetWriteDeadline(time.Time{})
	}
	return !c.killed
}

// cancelStatement ends the running statement with err; it reports false if there is none. It may
// be called by any goroutine, as may stop and kill.
func (c *conn) cancelStatement(err *sqlerr.Error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cancelLocked(err)
}

func (c *conn) cancelLocked(err error) bool {
	if c.state != running || c.ctx.Err() != nil {
		return false
	}
	c.cancel(err)
	if !c.killed {
		c.woken = true
		_ = c.nc.SetDeadline(longAgo)
	}
	return true
}

// stop ends the connection with err: at once if it is idle, else when the running statement is
// done, which now says whether to cancel.
func (c *conn) stop(err *sqlerr.Error, now bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.term.CompareAndSwap(nil, err) {
		err = c.term.Load()
	}
	switch {
	case c.state == idle:
		c.woken = true
		_ = c.nc.SetReadDeadline(longAgo)
	case now:
		c.stopNow = true
		c.cancelLocked(err)
	}
}

// kill ends the connection with err whatever it is doing; it has grace for its last words.
func (c *conn) kill(err *sqlerr.Error, grace time.Duration) {
	c.stop(err, true)
	c.mu.Lock()
	c.killed = true
	_ = c.nc.SetReadDeadline(longAgo)
	_ = c.nc.SetWriteDeadline(time.Now().Add(grace))
	c.mu.Unlock()
	c.endBase(c.term.Load())
}

// fatal sends err as the last message.
func (c *conn) fatal(err *sqlerr.Error) {
	c.rows.abandonRow()
	c.srv.stats.Errors.Add(1)
	c.log.Info("connection ends", "pid", c.pid, "code", string(err.Code), "err", err.Message)
	c.errorResponse(sevFatal, err, "")
	c.lastWords()
}

// lastWords writes what is left in the output buffer. It waits for the client only briefly.
func (c *conn) lastWords() {
	c.mu.Lock()
	if !c.killed {
		c.killed = true
		_ = c.nc.SetWriteDeadline(time.Now().Add(c.srv.cfg.StopGrace))
	}
	c.mu.Unlock()
	_ = c.flush() // there is nobody left to tell
}

// close ends the session and the socket.
func (c *conn) close() {
	c.mu.Lock()
	c.ended = true
	c.notes = nil
	c.mu.Unlock()
	c.endBase(errQuit)
	defer c.srv.remove(c)
	defer func() {
		if c.tls != nil && c.lost == nil {
			c.tls.close(c.srv.cfg.StopGrace)
		}
		_ = c.nc.Close()
	}()
	// The slot is free before the client can see the end of its connection.
	defer c.srv.freeSlot(c)
	if c.session == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			c.srv.stats.Panics.Add(1)
			c.log.Error("closing a session panicked", "pid", c.pid, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	defer c.session.Close()
	c.names.closeAll()
}
