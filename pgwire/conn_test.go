package pgwire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/weirdb/weir/sql/sqlerr"
)

// pipeListener is a listener whose connections are pipes without any buffer: what is written
// waits until it is read.
type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	select {
	case <-l.done:
	default:
		close(l.done)
	}
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

// pipeServer is a server on pipes, for tests inside a synctest bubble.
type pipeServer struct {
	t      *testing.T
	fake   *fakeBackend
	srv    *Server
	ln     *pipeListener
	served chan error
	// near are the clients' ends.
	near []net.Conn
}

func startPipe(t *testing.T, cfg Config) *pipeServer {
	t.Helper()
	p := &pipeServer{t: t, fake: newFake(), ln: newPipeListener(), served: make(chan error, 1)}
	cfg.Backend = p.fake
	if cfg.Auth == nil {
		cfg.Auth = TrustAll{} // a pipe is not loopback
	}
	srv, err := NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	p.srv = srv
	go func() { p.served <- srv.Serve(t.Context(), p.ln) }()
	return p
}

// connect starts a session.
func (p *pipeServer) connect() *scriptClient {
	p.t.Helper()
	c := p.dial()
	c.until(nil)
	return c
}

// dialSilent connects and says nothing.
func (p *pipeServer) dialSilent() *scriptClient {
	near, far := net.Pipe()
	p.near = append(p.near, near)
	p.ln.conns <- far
	return &scriptClient{nc: near, fe: pgproto3.NewFrontend(near, near)}
}

// dial sends the start-up packet.
func (p *pipeServer) dial() *scriptClient {
	p.t.Helper()
	c := p.dialSilent()
	c.fe.Send(&pgproto3.StartupMessage{ProtocolVersion: 196608, Parameters: map[string]string{"user": "u"}})
	if err := c.fe.Flush(); err != nil {
		p.t.Fatal(err)
	}
	return c
}

// end shuts the server down. If that should come to its end in time the clients leave first: on a
// pipe, the server's last words wait for somebody to read them.
func (p *pipeServer) end(want error) {
	p.t.Helper()
	for _, nc := range p.near {
		if want == nil {
			_ = nc.Close()
		}
	}
	within := time.Second
	if want == nil {
		within = time.Minute // it has time
	}
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	if err := p.srv.Shutdown(ctx); !errors.Is(err, want) {
		p.t.Errorf("shutdown: %v, want %v", err, want)
	}
	if err := <-p.served; !errors.Is(err, ErrServerClosed) {
		p.t.Errorf("serve: %v", err)
	}
	if n := p.fake.live(); n != 0 {
		p.t.Errorf("%d sessions are open", n)
	}
}

func (c *scriptClient) query(t *testing.T, sql string) {
	t.Helper()
	c.fe.Send(&pgproto3.Query{String: sql})
	if err := c.fe.Flush(); err != nil {
		t.Fatal(err)
	}
}

// A statement whose client does not read can be cancelled, and the messages that were under way
// arrive whole.
func TestCancelWhileClientDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startPipe(t, Config{WriteBuffer: 1000})
		c := p.connect()
		c.query(t, "select generate_series(1,1000000) as g")
		synctest.Wait() // the server is blocked in its first write
		// Read a little, so that a message is cut in the middle.
		head := make([]byte, 1500)
		if _, err := io.ReadFull(c.nc, head); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !p.srv.Cancel(int32(c.pid)) {
			t.Fatal("nothing to cancel")
		}
		synctest.Wait()
		if n := p.srv.stats.Cancels.Load(); n != 1 {
			t.Fatalf("%d cancels", n)
		}
		fe := pgproto3.NewFrontend(io.MultiReader(bytes.NewReader(head), c.nc), c.nc)
		out := (&scriptClient{nc: c.nc, fe: fe}).until(nil)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		for i, want := range lines[1 : len(lines)-2] {
			if want != fmt.Sprintf("DataRow %q", fmt.Sprint(i+1)) {
				t.Fatalf("row %d: %s", i, want)
			}
		}
		if got := strings.Join(lines[len(lines)-2:], "\n"); got != "ErrorResponse ERROR 57014 \"canceling statement due to user request\"\nReadyForQuery I" {
			t.Errorf("end: %s", got)
		}
		c.query(t, "select 1")
		if got := c.until(nil); !strings.HasSuffix(got, "CommandComplete \"SELECT 1\"\nReadyForQuery I\n") {
			t.Errorf("afterwards: %s", got)
		}
		p.end(nil)
	})
}

// A client that does not read cannot hold up the end of the server.
func TestShutdownWhileClientDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startPipe(t, Config{WriteBuffer: 1000, StopGrace: time.Second})
		c := p.connect()
		c.query(t, "select generate_series(1,1000000) as g")
		// This one has nothing but its last words to write.
		d := p.connect()
		d.query(t, "select 1")
		synctest.Wait()
		p.end(context.DeadlineExceeded)
	})
}

// Shutdown waits for a statement that runs, and says goodbye to idle clients at once.
func TestShutdownWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startPipe(t, Config{})
		a, b := p.connect(), p.connect()
		a.query(t, "copy wire_t from stdin")
		a.until([]string{"CopyInResponse"})
		done := make(chan error)
		go func() { done <- p.srv.Shutdown(context.Background()) }()
		if got := b.until(nil); got != "ErrorResponse FATAL 57P01 \"terminating connection due to administrator command\"\n(end)\n" {
			t.Errorf("idle: %s", got)
		}
		a.fe.Send(&pgproto3.CopyData{Data: []byte("x\n")})
		a.fe.Send(&pgproto3.CopyDone{})
		if err := a.fe.Flush(); err != nil {
			t.Fatal(err)
		}
		want := "CommandComplete \"COPY 1\"\nReadyForQuery I\n" +
			"ErrorResponse FATAL 57P01 \"terminating connection due to administrator command\"\n(end)\n"
		if got := a.until([]string{"none"}); got != want {
			t.Errorf("busy: %s", got)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		p.end(nil)
	})
}

// The end of Serve's context ends everything at once.
func TestServeContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pipeServer{t: t, fake: newFake(), ln: newPipeListener()}
		srv, err := NewServer(Config{Backend: p.fake, Auth: TrustAll{}})
		if err != nil {
			t.Fatal(err)
		}
		p.srv = srv
		ctx, cancel := context.WithCancel(context.Background())
		served := make(chan error)
		go func() { served <- srv.Serve(ctx, p.ln) }()
		c := p.connect()
		c.query(t, "select pg_sleep(1)")
		<-p.fake.entered
		cancel()
		if got := c.until(nil); !strings.Contains(got, "FATAL 57P01") {
			t.Error(got)
		}
		if err := <-served; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if err := srv.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if err := srv.Serve(context.Background(), newPipeListener()); !errors.Is(err, ErrServerClosed) {
			t.Error(err)
		}
	})
}

func TestIdleLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startPipe(t, Config{})
		p.fake.idleLimit = func() (time.Duration, *sqlerr.Error) {
			return time.Minute, sqlerr.Newf("57P05", "terminating connection due to idle-session timeout")
		}
		c := p.connect()
		time.Sleep(59 * time.Second) // the bubble's clock, not the world's
		c.query(t, "select 1")
		if got := c.until(nil); !strings.Contains(got, "SELECT 1") {
			t.Error(got)
		}
		began := time.Now()
		if got := c.until(nil); got != "ErrorResponse FATAL 57P05 \"terminating connection due to idle-session timeout\"\n(end)\n" {
			t.Error(got)
		}
		if d := time.Since(began); d != time.Minute {
			t.Errorf("after %v", d)
		}
		p.end(nil)
	})
}

// Notifications come at once to an idle client, after the statement to a busy one, and after the
// transaction to one that is in a transaction.
func TestNotifications(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startPipe(t, Config{})
		a, b := p.connect(), p.connect()
		b.query(t, "begin")
		b.until(nil)
		a.query(t, "notify wire_c")
		if got := a.until(nil); got != "CommandComplete \"NOTIFY\"\nNotificationResponse wire_c \"p\"\nReadyForQuery I\n" {
			t.Errorf("own: %s", got)
		}
		b.query(t, "select")
		if got := b.until(nil); strings.Contains(got, "Notification") {
			t.Errorf("in a transaction: %s", got)
		}
		b.query(t, "commit")
		if got := b.until(nil); got != "CommandComplete \"COMMIT\"\nNotificationResponse wire_c \"p\"\nReadyForQuery I\n" {
			t.Errorf("at its end: %s", got)
		}
		b.query(t, "notify wire_d")
		if got := a.until([]string{"NotificationResponse"}); got != "NotificationResponse wire_d \"p\"\n" {
			t.Errorf("idle: %s", got)
		}
		b.until(nil)
		p.end(nil)
	})
}

// A statement whose client went away is cancelled.
func TestClientGone(t *testing.T) {
	for _, sql := range []string{"select pg_sleep(1)", "copy wire_t from stdin", "select generate_series(1,100000000)"} {
		s := startScript(t, Config{ClientCheck: time.Millisecond})
		c := s.dial("a")
		s.sent(c, &pgproto3.StartupMessage{ProtocolVersion: 196608, Parameters: map[string]string{"user": "u"}}, "ReadyForQuery")
		c.query(t, sql)
		if !strings.HasPrefix(sql, "select g") {
			<-s.fake.entered
		}
		_ = c.nc.Close()
		select {
		case <-s.fake.closed:
		case <-time.After(scriptTimeout):
			t.Fatalf("%s goes on", sql)
		}
		s.end()
	}
}

// COPY data is bounded neither as a whole nor as a message.
func TestCopyMessageLargerThanLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startPipe(t, Config{MaxMessageSize: 20000})
		c := p.connect()
		c.query(t, "copy wire_t from stdin")
		c.until([]string{"CopyInResponse"})
		var data []byte
		for i := range 100000 {
			data = fmt.Appendf(data, "%d\n", i)
		}
		c.fe.Send(&pgproto3.CopyData{Data: data})
		c.fe.Send(&pgproto3.CopyDone{})
		if err := c.fe.Flush(); err != nil {
			t.Fatal(err)
		}
		if got := c.until(nil); got != "CommandComplete \"COPY 100000\"\nReadyForQuery I\n" {
			t.Error(got)
		}
		// After a failure the rest of a large message is dropped without being collected.
		c.query(t, "copy wire_t from stdin")
		c.until([]string{"CopyInResponse"})
		go func() {
			c.fe.Send(&pgproto3.CopyData{Data: append([]byte("bad\n"), data...)})
			c.fe.Send(&pgproto3.CopyDone{})
			c.fe.Send(&pgproto3.Query{String: "select count(*) from wire_t"})
			_ = c.fe.Flush()
		}()
		if got := c.until(nil); got != "ErrorResponse ERROR 22P04 \"bad line\"\nReadyForQuery I\n" {
			t.Error(got)
		}
		if got := c.until(nil); !strings.Contains(got, "DataRow \"100000\"") {
			t.Error(got)
		}
		p.end(nil)
	})
}

func TestTrustLoopback(t *testing.T) {
	for _, c := range []struct {
		addr net.Addr
		ok   bool
	}{
		{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, true},
		{&net.TCPAddr{IP: net.IPv6loopback}, true},
		{&net.UnixAddr{Name: "@", Net: "unix"}, true},
		{&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}, false},
	} {
		err := TrustLoopback{}.Authenticate(t.Context(), Startup{User: "u", Database: "d", Remote: c.addr}, nil)
		if (err == nil) != c.ok {
			t.Errorf("%v: %v", c.addr, err)
		}
	}
}

// An Authenticator can talk with the client.
func TestAuthenticator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startPipe(t, Config{Auth: passwordAuth("secret")})
		for _, pw := range []string{"secret", "wrong"} {
			c := p.dial()
			if got := c.until([]string{"AuthenticationCleartextPassword"}); got != "AuthenticationCleartextPassword\n" {
				t.Fatal(got)
			}
			c.fe.Send(&pgproto3.PasswordMessage{Password: pw})
			if err := c.fe.Flush(); err != nil {
				t.Fatal(err)
			}
			got := c.until(nil)
			if want := "ErrorResponse FATAL 28P01 \"password authentication failed for user \\\"u\\\"\"\n(end)\n"; pw == "wrong" && got != want {
				t.Errorf("%s: %s", pw, got)
			}
			if pw == "secret" && !strings.Contains(got, "ReadyForQuery I") {
				t.Errorf("%s: %s", pw, got)
			}
		}
		p.end(nil)
	})
}

// ListenUnix takes over a socket that was left behind, and no other.
func TestListenUnix(t *testing.T) {
	dir := t.TempDir()
	ln, err := ListenUnix(t.Context(), dir, 5432)
	if err != nil {
		t.Fatal(err)
	}
	if other, err := ListenUnix(t.Context(), dir, 5432); err == nil {
		_ = other.Close()
		t.Error("two servers listen on one socket")
	}
	ln.(*net.UnixListener).SetUnlinkOnClose(false)
	_ = ln.Close()
	ln, err = ListenUnix(t.Context(), dir, 5432)
	if err != nil {
		t.Fatal(err)
	}
	_ = ln.Close()
}

func TestConfig(t *testing.T) {
	for _, cfg := range []Config{{}, {Backend: newFake(), MaxConnections: -1}} {
		if _, err := NewServer(cfg); err == nil {
			t.Errorf("%+v is accepted", cfg)
		}
	}
}

// A client that only sends does not make the server collect answers.
func TestOutputIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, kind := range []string{"messages", "statements"} {
			p := startPipe(t, Config{WriteBuffer: 1000})
			c := p.connect()
			if kind == "messages" {
				c.fe.Send(&pgproto3.Parse{Name: "s", Query: "select 1"})
				for range 10000 {
					c.fe.Send(&pgproto3.Describe{ObjectType: 'S', Name: "s"})
				}
				c.fe.Send(&pgproto3.Sync{})
			} else {
				c.fe.Send(&pgproto3.Query{String: strings.Repeat("begin;commit;", 10000)})
			}
			sent := make(chan error)
			go func() { sent <- c.fe.Flush() }()
			synctest.Wait() // the server waits for somebody to read
			for _, conn := range p.srv.list() {
				if n := len(conn.rows.buf); n < 1000 || n > 2000 {
					t.Errorf("%s: %d bytes of output are waiting", kind, n)
				}
			}
			if got := c.until(nil); !strings.HasSuffix(got, "ReadyForQuery I\n") {
				t.Errorf("%s: %.100s", kind, got)
			}
			if err := <-sent; err != nil {
				t.Error(err)
			}
			p.end(nil)
		}
	})
}

// The watcher sleeps when no statement runs for a while.
func TestIdleServerDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startPipe(t, Config{ClientCheck: time.Second})
		c := p.connect()
		for range 2 {
			c.query(t, "copy wire_t from stdin")
			c.until([]string{"CopyInResponse"})
			time.Sleep(time.Minute) // the bubble's clock
			if p.srv.watch.asleep.Load() {
				t.Error("nobody looks after the running statement")
			}
			c.fe.Send(&pgproto3.CopyDone{})
			if err := c.fe.Flush(); err != nil {
				t.Fatal(err)
			}
			c.until(nil)
			time.Sleep(2 * time.Second)
			if !p.srv.watch.asleep.Load() {
				t.Error("there is nothing to look after")
			}
		}
		p.end(nil)
	})
}

// A connection that is told to end between two messages of a group does not begin the next
// statement.
func TestTerminateBetweenMessages(t *testing.T) {
	srv, err := NewServer(Config{Backend: newFake(), ClientCheck: -1})
	if err != nil {
		t.Fatal(err)
	}
	c := newConn(srv, &memConn{}, t.Context())
	c.stop(adminShutdown(), true)
	ctx := c.enter()
	if got := context.Cause(ctx); got != error(c.term.Load()) {
		t.Errorf("the statement runs: %v", got)
	}
	c.leave()
	c.endBase(errQuit)
}

// A client that begins a message and falls silent is not waited for for ever; one that is slow is.
func TestHalfAMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startPipe(t, Config{MessageTimeout: time.Minute})
		c := p.connect()
		for range 3 {
			time.Sleep(50 * time.Second)
			c.query(t, "select 1")
			if got := c.until(nil); !strings.Contains(got, "SELECT 1") {
				t.Error(got)
			}
		}
		msg := []byte{'Q', 0, 0, 0, 13, 's', 'e', 'l', 'e', 'c', 't', ' ', '1', 0}
		for _, b := range msg {
			time.Sleep(50 * time.Second)
			if _, err := c.nc.Write([]byte{b}); err != nil {
				t.Fatal(err)
			}
		}
		if got := c.until(nil); !strings.Contains(got, "SELECT 1") {
			t.Error(got)
		}
		if _, err := c.nc.Write(msg[:7]); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if got := c.until(nil); !strings.HasPrefix(got, "ErrorResponse FATAL 08P01") || !strings.HasSuffix(got, "(end)\n") {
			t.Error(got)
		}
		if d := time.Since(began); d != time.Minute {
			t.Errorf("after %v", d)
		}
		p.end(nil)
	})
}
