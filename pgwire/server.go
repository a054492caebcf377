package pgwire

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/weirdb/weir/sql/sqlerr"
)

// Server accepts connections and runs them. Its goroutines are one for each connection, one for
// each Serve (the caller's), and one that watches for clients that went away; Shutdown returns when
// all of them have ended.
type Server struct {
	cfg   Config
	stats Stats
	watch watcher
	// buffers are output buffers that idle connections have left.
	buffers sync.Pool
	// base is the parent of every connection's context.
	base context.Context

	mu        sync.Mutex
	listeners map[net.Listener]struct{}
	// conns are the open connections by their process id.
	conns map[int32]*conn
	// lastPID is the process id given last.
	lastPID int32
	// sessions counts the connections that hold a slot. Invariants: sessions <= len(conns) <=
	// 2*cfg.MaxConnections, and sessions <= cfg.MaxConnections.
	sessions int
	// stopping says that Shutdown has begun: no connection is accepted any more.
	stopping bool
	// drained is closed when stopping and conns is empty.
	drained chan struct{}
}

// NewServer makes a server that listens nowhere yet.
func NewServer(cfg Config) (*Server, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{
		cfg:       cfg,
		base:      context.Background(),
		listeners: map[net.Listener]struct{}{},
		conns:     map[int32]*conn{},
		drained:   make(chan struct{}),
	}
	s.watch.init(s, cfg.ClientCheck)
	return s, nil
}

// Stats gives the server's counters.
func (s *Server) Stats() *Stats { return &s.stats }

// ErrServerClosed is what Serve returns after Shutdown.
var ErrServerClosed = errors.New("pgwire: server closed")

// Serve accepts connections from ln, which it closes, until Shutdown or until ctx ends; it may run
// for several listeners at once. The end of ctx also ends, at once, all connections of the server.
// Serve does not wait for connections: Shutdown does.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	s.mu.Lock()
	if s.stopping {
		s.mu.Unlock()
		_ = ln.Close()
		return ErrServerClosed
	}
	s.listeners[ln] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.listeners, ln)
		s.mu.Unlock()
		_ = ln.Close()
	}()
	killed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(killed)
		s.beginStop()
		s.killAll()
	})
	defer func() {
		if !stop() {
			<-killed
		}
	}()
	for delay := time.Duration(0); ; {
		nc, err := ln.Accept()
		if err == nil {
			delay = 0
			s.accept(nc)
			continue
		}
		s.mu.Lock()
		stopping := s.stopping
		s.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case stopping:
			return ErrServerClosed
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("pgwire: accept on %s: %w", ln.Addr(), err)
		}
		// Out of file descriptors, or the like: it may pass.
		delay = min(max(2*delay, 5*time.Millisecond), time.Second)
		s.cfg.Logger.Error("accept failed", "addr", ln.Addr().String(), "err", err, "retry_in", delay)
		t := time.NewTimer(delay)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		}
	}
}

// accept starts a connection's goroutine.
func (s *Server) accept(nc net.Conn) {
	s.stats.Connections.Add(1)
	if tc, ok := nc.(*net.TCPConn); ok && s.cfg.KeepAlive > 0 {
		_ = tc.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: s.cfg.KeepAlive})
	}
	c := newConn(s, nc, s.base)
	s.mu.Lock()
	full := len(s.conns) >= 2*s.cfg.MaxConnections
	stopping := s.stopping
	if !full && !stopping {
		s.lastPID++
		for s.lastPID <= 0 || s.conns[s.lastPID] != nil {
			s.lastPID = max(s.lastPID+1, 1)
		}
		c.pid = s.lastPID
		s.conns[c.pid] = c
	}
	s.mu.Unlock()
	if full || stopping {
		// The few bytes fit into the socket's buffer, so this does not wait for the client.
		s.stats.Refused.Add(1)
		_ = nc.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
		err := sqlerr.Newf(sqlerr.TooManyConnections, "sorry, too many clients already")
		if stopping {
			err = sqlerr.Newf(sqlerr.CannotConnectNow, "the database system is shutting down")
		}
		c.errorResponse(sevFatal, err, "")
		_, _ = nc.Write(c.rows.buf)
		_ = nc.Close()
		c.endBase(errQuit)
		return
	}
	s.stats.Open.Add(1)
	go c.serve()
}

// takeSlot counts c as a session if there is room.
func (s *Server) takeSlot(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions >= s.cfg.MaxConnections {
		s.stats.Refused.Add(1)
		return false
	}
	s.sessions++
	s.stats.Sessions.Add(1)
	c.counted = true
	return true
}

// freeSlot gives back what takeSlot took.
func (s *Server) freeSlot(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.counted {
		c.counted = false
		s.sessions--
		s.stats.Sessions.Add(-1)
	}
}

// remove forgets a connection that has ended. It is the last thing that its goroutine does.
func (s *Server) remove(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c.pid)
	s.stats.Open.Add(-1)
	if s.stopping && len(s.conns) == 0 {
		close(s.drained)
	}
}

// cancelRequest carries out a CancelRequest; a wrong secret is ignored, as is a late request.
func (s *Server) cancelRequest(pid int32, secret uint32) {
	s.mu.Lock()
	c := s.conns[pid]
	s.mu.Unlock()
	if c != nil && subtle.ConstantTimeEq(int32(c.secret), int32(secret)) == 1 {
		s.cancelConn(c)
	}
}

func (s *Server) cancelConn(c *conn) bool {
	ok := c.cancelStatement(sqlerr.Newf(sqlerr.QueryCanceled, "canceling statement due to user request"))
	if ok {
		s.stats.Cancels.Add(1)
	}
	return ok
}

// Cancel cancels the running statement of the connection pid, as pg_cancel_backend does. It
// reports false if there is no such connection.
func (s *Server) Cancel(pid int32) bool {
	s.mu.Lock()
	c := s.conns[pid]
	s.mu.Unlock()
	if c != nil {
		s.cancelConn(c)
	}
	return c != nil
}

// Interrupt ends the running statement of the connection pid with err, also one that waits for the client.
// It reports false if there is none.
func (s *Server) Interrupt(pid int32, err *sqlerr.Error) bool {
	s.mu.Lock()
	c := s.conns[pid]
	s.mu.Unlock()
	return c != nil && c.cancelStatement(err)
}

// Terminate ends the connection pid, as pg_terminate_backend does. It reports false if there is no
// such connection.
func (s *Server) Terminate(pid int32) bool {
	s.mu.Lock()
	c := s.conns[pid]
	s.mu.Unlock()
	if c != nil {
		c.stop(adminShutdown(), true)
	}
	return c != nil
}

func adminShutdown() *sqlerr.Error {
	return sqlerr.Newf(sqlerr.AdminShutdown, "terminating connection due to administrator command")
}

// Shutdown stops accepting, tells idle clients goodbye at once and the others when their statement
// is done; when ctx ends it cancels what still runs. It returns when every connection has ended:
// nil if all ended by themselves, else ctx's error. A session that does not come to its end although
// it was cancelled is given up after twice Config.StopGrace, and the error says so.
func (s *Server) Shutdown(ctx context.Context) error {
	s.beginStop()
	for _, c := range s.list() {
		c.stop(adminShutdown(), false)
	}
	defer s.watch.stop()
	select {
	case <-s.drained:
		return nil
	case <-ctx.Done():
	}
	s.killAll()
	t := time.NewTimer(s.cfg.StopGrace)
	defer t.Stop()
	select {
	case <-s.drained:
		return ctx.Err()
	case <-t.C:
	}
	for _, c := range s.list() {
		_ = c.nc.Close()
	}
	t.Reset(s.cfg.StopGrace)
	select {
	case <-s.drained:
		return ctx.Err()
	case <-t.C:
		return fmt.Errorf("pgwire: %d sessions did not end: %w", len(s.list()), ctx.Err())
	}
}

// beginStop closes the listeners and refuses new connections.
func (s *Server) beginStop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopping {
		s.stopping = true
		if len(s.conns) == 0 {
			close(s.drained)
		}
	}
	for ln := range s.listeners {
		_ = ln.Close()
	}
}

// killAll ends all connections now.
func (s *Server) killAll() {
	for _, c := range s.list() {
		c.kill(adminShutdown(), s.cfg.StopGrace/2)
	}
}

// list gives the open connections.
func (s *Server) list() []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*conn, 0, len(s.conns))
	for _, c := range s.conns {
		list = append(list, c)
	}
	return list
}
