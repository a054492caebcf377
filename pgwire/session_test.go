package pgwire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/weirdb/weir/sql/sqlerr"
)

// hook is a backend whose every statement runs one function.
type hook struct {
	client Client
	run    func(ctx context.Context, w ResultWriter) (Result, error)
	// cols describes every prepared statement.
	cols   []Column
	aborts int
}

func (h *hook) Connect(_ context.Context, _ Startup, c Client) (Session, error) {
	h.client = c
	return h, nil
}

func (h *hook) Params() []ParameterStatus                     { return nil }
func (h *hook) ChangedParams() []ParameterStatus              { return nil }
func (h *hook) Split(context.Context, string) ([]Unit, error) { return []Unit{h}, nil }
func (h *hook) Prepare(context.Context, string, []uint32) (Prepared, error) {
	return hookStatement{h}, nil
}
func (h *hook) TxStatus() byte             { return 'I' }
func (h *hook) Sync(context.Context) error { return nil }
func (h *hook) Abort()                     { h.aborts++ }
func (h *hook) Close()                     {}
func (h *hook) Run(ctx context.Context, w ResultWriter) (Result, error) {
	return h.run(ctx, w)
}

type hookStatement struct{ h *hook }

func (s hookStatement) ParamOIDs() []uint32                       { return nil }
func (s hookStatement) Columns(context.Context) ([]Column, error) { return s.h.cols, nil }
func (s hookStatement) Close()                                    {}
func (s hookStatement) Bind(context.Context, []Param, []Format) (Portal, error) {
	return hookPortal(s), nil
}

type hookPortal hookStatement

func (p hookPortal) Columns() []Column { return p.h.cols }
func (p hookPortal) Close()            {}
func (p hookPortal) Execute(ctx context.Context, w ResultWriter, _ int) (Result, error) {
	return p.h.run(ctx, w)
}

// runHook runs one query whose statement is run and gives the answer.
func runHook(t *testing.T, run func(h *hook, ctx context.Context, w ResultWriter) (Result, error)) string {
	t.Helper()
	var got string
	withHook(t, func(h *hook, c *scriptClient) {
		h.run = func(ctx context.Context, w ResultWriter) (Result, error) { return run(h, ctx, w) }
		c.query(t, "select häß")
		got = c.until(nil)
	})
	return got
}

// withHook gives f a hook and a client of it.
func withHook(t *testing.T, f func(h *hook, c *scriptClient)) {
	t.Helper()
	h := &hook{}
	s := &script{t: t, clients: map[string]*scriptClient{}, served: make(chan error, 1)}
	srv, err := NewServer(Config{Backend: h})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := ListenTCP(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.addr = ln.Addr().String()
	go func() { s.served <- srv.Serve(context.Background(), ln) }()
	c := s.dial("a")
	s.sent(c, &pgproto3.StartupMessage{ProtocolVersion: 196608, Parameters: map[string]string{"user": "u"}}, "ReadyForQuery")
	f(h, c)
	_ = c.nc.Close()
	if err := srv.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	<-s.served
}

func expect(t *testing.T, got string, want ...string) {
	t.Helper()
	if w := strings.Join(want, "\n") + "\n"; got != w {
		t.Errorf("got\n%s\nwant\n%s", got, w)
	}
}

func TestErrorInTheMiddleOfARow(t *testing.T) {
	got := runHook(t, func(_ *hook, _ context.Context, w ResultWriter) (Result, error) {
		w.Columns([]Column{{Name: "a\x00b"}})
		w.Rows().BeginRow()
		w.Rows().String("first")
		if err := w.Rows().EndRow(); err != nil {
			return Result{}, err
		}
		w.Rows().BeginRow()
		w.Rows().String("half")
		w.Rows().BeginValue()
		w.Notice(&Notice{Severity: "WARNING", Message: "in\x00side"})
		return Result{}, &sqlerr.Error{Code: sqlerr.DivisionByZero, Message: "di\x00vision", Pos: 10}
	})
	expect(t, got, "RowDescription ab oid=0 len=0 mod=0 format=0", `DataRow "first"`, `NoticeResponse WARNING 01000 "inside"`,
		`ErrorResponse ERROR 22012 "division" position=10`, "ReadyForQuery I")
}

func TestKindsOfErrors(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{errors.New("disk on fire"), `ERROR XX000 "disk on fire"`},
		{fmt.Errorf("plan: %w", sqlerr.New(sqlerr.UndefinedColumn, 0, "no column")), `ERROR 42703 "no column" position=1`},
		{context.Canceled, `ERROR 57014 "canceling statement due to user request"`},
		{&sqlerr.Error{Code: sqlerr.UniqueViolation, Message: "m", Detail: "d", Hint: "h", Pos: 999, Schema: "s", Table: "t", Column: "c", Constraint: "n"},
			`ERROR 23505 "m" detail="d" hint="h" schema="s" table="t" column="c" constraint="n"`},
	} {
		got := runHook(t, func(*hook, context.Context, ResultWriter) (Result, error) { return Result{}, c.err })
		expect(t, got, "ErrorResponse "+c.want, "ReadyForQuery I")
	}
}

// What is written before Flush arrives while the statement goes on.
func TestFlushShowsRowsEarly(t *testing.T) {
	withHook(t, func(h *hook, c *scriptClient) {
		seen := make(chan struct{})
		h.run = func(_ context.Context, w ResultWriter) (Result, error) {
			w.Rows().BeginRow()
			w.Rows().String("early")
			if err := errors.Join(w.Rows().EndRow(), w.Flush()); err != nil {
				return Result{}, err
			}
			<-seen
			h.client.Notice(&Notice{Message: "late"})
			return Result{Tag: "SELECT 1"}, nil
		}
		c.query(t, "q")
		expect(t, c.until([]string{"DataRow"}), `DataRow "early"`)
		close(seen)
		expect(t, c.until(nil), `NoticeResponse NOTICE 00000 "late"`, `CommandComplete "SELECT 1"`, "ReadyForQuery I")
	})
}

func TestLargeRows(t *testing.T) {
	big := strings.Repeat("x", 3<<20)
	got := runHook(t, func(_ *hook, _ context.Context, w ResultWriter) (Result, error) {
		for range 3 {
			w.Rows().BeginRow()
			w.Rows().String(big)
			if err := w.Rows().EndRow(); err != nil {
				return Result{}, err
			}
		}
		return Result{Tag: fmt.Sprintf("SELECT %d", w.Rows().Count())}, nil
	})
	expect(t, strings.ReplaceAll(got, big, "big"), `DataRow "big"`, `DataRow "big"`, `DataRow "big"`, `CommandComplete "SELECT 3"`, "ReadyForQuery I")
	got = runHook(t, func(_ *hook, _ context.Context, w ResultWriter) (Result, error) {
		w.Rows().BeginRow()
		for range 40000 {
			w.Rows().Null()
		}
		return Result{}, w.Rows().EndRow()
	})
	expect(t, got, `ErrorResponse ERROR 54000 "row of 40000 columns is too large to be sent"`, "ReadyForQuery I")
}

// A statement need not read all that the client copies, and a COPY OUT that fails has no end.
func TestCopyEdges(t *testing.T) {
	withHook(t, func(h *hook, c *scriptClient) {
		h.run = func(_ context.Context, w ResultWriter) (Result, error) {
			in, err := w.CopyIn(Binary, 2)
			if err != nil {
				return Result{}, err
			}
			var b [3]byte
			_, err = io.ReadFull(in, b[:])
			return Result{Tag: "COPY " + string(b[:])}, err
		}
		c.query(t, "q")
		c.fe.Send(&pgproto3.CopyData{Data: []byte("ab")})
		c.fe.Send(&pgproto3.CopyData{Data: []byte("cdef")})
		c.fe.Send(&pgproto3.CopyData{Data: []byte("ghi")})
		c.fe.Send(&pgproto3.CopyDone{})
		if err := c.fe.Flush(); err != nil {
			t.Fatal(err)
		}
		expect(t, c.until(nil), "CopyInResponse 1 [1 1]", `CommandComplete "COPY abc"`, "ReadyForQuery I")
		h.run = func(_ context.Context, w ResultWriter) (Result, error) {
			out, err := w.CopyOut(Text, 1)
			if err != nil {
				return Result{}, err
			}
			if err := out.End(append(out.Begin(), "row\n"...)); err != nil {
				return Result{}, err
			}
			out.Begin()
			return Result{}, &sqlerr.Error{Code: sqlerr.DataCorrupted, Message: "broken", Where: "COPY t, line 2", Pos: sqlerr.NoPos}
		}
		c.query(t, "q")
		expect(t, c.until(nil), "CopyOutResponse 0 [0]", `CopyData "row\n"`, `ErrorResponse ERROR XX001 "broken"`, "ReadyForQuery I")
		if h.aborts != 1 {
			t.Errorf("%d aborts", h.aborts)
		}
		// Many small writes fill the buffer more than once.
		h.run = func(_ context.Context, w ResultWriter) (Result, error) {
			out, err := w.CopyOut(Text, 1)
			for i := 0; i < 100000 && err == nil; i++ {
				_, err = fmt.Fprintf(out, "%d\n", i)
			}
			return Result{Tag: "COPY 100000"}, err
		}
		c.query(t, "q")
		got := c.until(nil)
		if n := strings.Count(got, "CopyData"); n != 100000 || !strings.HasSuffix(got, "CopyDone\nCommandComplete \"COPY 100000\"\nReadyForQuery I\n") {
			t.Errorf("%d messages, ending %q", n, got[max(0, len(got)-100):])
		}
	})
}

// Terminate in the middle of COPY is the end of the connection, not of the data.
func TestTerminateDuringCopy(t *testing.T) {
	withHook(t, func(h *hook, c *scriptClient) {
		result := make(chan error, 1)
		h.run = func(_ context.Context, w ResultWriter) (Result, error) {
			in, err := w.CopyIn(Text, 1)
			if err == nil {
				_, err = io.Copy(io.Discard, in)
			}
			result <- err
			return Result{}, err
		}
		c.query(t, "q")
		c.fe.Send(&pgproto3.CopyData{Data: []byte("ab")})
		c.fe.Send(&pgproto3.Terminate{})
		if err := c.fe.Flush(); err != nil {
			t.Fatal(err)
		}
		if err := <-result; err == nil {
			t.Error("the data seemed to be complete")
		}
		expect(t, c.until(nil), "CopyInResponse 0 [0]", "(end)")
	})
}

// Describe of a statement says text, whatever the session has in Format; a portal's are its own.
func TestDescribeFormats(t *testing.T) {
	withHook(t, func(h *hook, c *scriptClient) {
		h.cols = []Column{{Name: "a", Format: Binary}}
		c.fe.Send(&pgproto3.Parse{})
		c.fe.Send(&pgproto3.Describe{ObjectType: 'S'})
		c.fe.Send(&pgproto3.Bind{})
		c.fe.Send(&pgproto3.Describe{ObjectType: 'P'})
		c.fe.Send(&pgproto3.Sync{})
		if err := c.fe.Flush(); err != nil {
			t.Fatal(err)
		}
		expect(t, c.until(nil), "ParseComplete", "ParameterDescription ", "RowDescription a oid=0 len=0 mod=0 format=0", "BindComplete",
			"RowDescription a oid=0 len=0 mod=0 format=1", "ReadyForQuery I")
	})
}

// The names that SQL and the protocol share, as a session sees them.
func TestClientNames(t *testing.T) {
	withHook(t, func(h *hook, c *scriptClient) {
		h.run = func(context.Context, ResultWriter) (Result, error) {
			x := h.client
			var problems []error
			check := func(what string, err error, want sqlerr.Code) {
				if e := (*sqlerr.Error)(nil); errors.As(err, &e) && e.Code == want || err == nil && want == "" {
					return
				}
				problems = append(problems, fmt.Errorf("%s: %w", what, err))
			}
			check("add", x.AddStatement("s", "select 1", hookStatement{h}), "")
			check("add again", x.AddStatement("s", "select 1", hookStatement{h}), sqlerr.DuplicatePreparedStatement)
			check("add", x.AddStatement("r", "select 2", hookStatement{h}), "")
			if list := x.Statements(); len(list) != 2 || list[0].Name != "r" || list[1].SQL != "select 1" || !list[0].FromSQL {
				problems = append(problems, fmt.Errorf("list: %v", list))
			}
			check("remove", x.RemoveStatement("s"), "")
			check("remove again", x.RemoveStatement("s"), sqlerr.InvalidSQLStatementName)
			x.RemoveStatements()
			if _, ok := x.Statement("r"); ok {
				problems = append(problems, errors.New("r is still there"))
			}
			check("portal", x.AddPortal("p", "", hookPortal{h}, false), "")
			check("portal again", x.AddPortal("p", "", hookPortal{h}, false), sqlerr.DuplicateCursor)
			check("held portal", x.AddPortal("h", "", hookPortal{h}, true), "")
			x.RemovePortals(false)
			check("portal after the end", x.RemovePortal("p"), sqlerr.InvalidCursorName)
			if _, ok := x.Portal("h"); !ok {
				problems = append(problems, errors.New("the held portal is gone"))
			}
			x.RemovePortals(true)
			if _, ok := x.Portal("h"); ok {
				problems = append(problems, errors.New("the held portal is still there"))
			}
			return Result{Tag: "OK"}, errors.Join(problems...)
		}
		c.query(t, "q")
		expect(t, c.until(nil), `CommandComplete "OK"`, "ReadyForQuery I")
		// A portal cannot close itself, but its end closes it.
		h.run = func(context.Context, ResultWriter) (Result, error) {
			h.client.RemovePortals(true)
			if err := h.client.RemovePortal("self"); sqlerr.From(err).Code != sqlerr.InvalidCursorState {
				return Result{}, fmt.Errorf("closed itself: %w", err)
			}
			return Result{Tag: "OK"}, nil
		}
		c.fe.Send(&pgproto3.Parse{})
		c.fe.Send(&pgproto3.Bind{DestinationPortal: "self"})
		c.fe.Send(&pgproto3.Execute{Portal: "self"})
		c.fe.Send(&pgproto3.Sync{})
		c.fe.Send(&pgproto3.Execute{Portal: "self"})
		c.fe.Send(&pgproto3.Sync{})
		if err := c.fe.Flush(); err != nil {
			t.Fatal(err)
		}
		expect(t, c.until([]string{"ReadyForQuery", "ReadyForQuery"}), "ParseComplete", "BindComplete", `CommandComplete "OK"`, "ReadyForQuery I",
			`ErrorResponse ERROR 34000 "portal \"self\" does not exist"`, "ReadyForQuery I")
	})
}

// Connections beyond twice the sessions are turned away before they say anything.
func TestTooManyConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startPipe(t, Config{MaxConnections: 1})
		p.connect()
		half := p.dialSilent()
		third := p.dialSilent()
		expect(t, third.until(nil), `ErrorResponse FATAL 53300 "sorry, too many clients already"`, "(end)")
		_ = half
		p.end(nil)
	})
}

// A RowWriter without a connection collects messages.
func TestRowWriterAlone(t *testing.T) {
	var w RowWriter
	w.BeginRow()
	w.EndValue(append(w.BeginValue(), "ab"...))
	w.Null()
	w.Value(nil)
	if err := w.EndRow(); err != nil {
		t.Fatal(err)
	}
	want := "D\x00\x00\x00\x14\x00\x03\x00\x00\x00\x02ab\xff\xff\xff\xff\x00\x00\x00\x00"
	if got := string(w.Bytes()); got != want {
		t.Errorf("%q", got)
	}
	if w.Count() != 1 || len(w.Bytes()) != 0 {
		t.Error("Bytes did not forget")
	}
}

// Messages of any size up to the limit arrive whole, wherever the read buffer cuts them.
func TestLargeMessages(t *testing.T) {
	s := startScript(t, Config{})
	c := s.dial("a")
	s.sent(c, &pgproto3.StartupMessage{ProtocolVersion: 196608, Parameters: map[string]string{"user": "u"}}, "ReadyForQuery")
	var want []string
	for _, n := range []int{1, 4000, readBuffer - 100, readBuffer, readBuffer + 1, 8*readBuffer - 20, 8 * readBuffer, 1 << 20, 10, 5 << 20, 1} {
		v := strings.Repeat("ä", n/2) + strings.Repeat("z", n%2)
		c.fe.Send(&pgproto3.Parse{Query: "select $1::text"})
		c.fe.Send(&pgproto3.Bind{Parameters: [][]byte{[]byte(v)}})
		c.fe.Send(&pgproto3.Execute{})
		c.fe.Send(&pgproto3.Sync{})
		want = append(want, v)
	}
	sent := make(chan error)
	go func() { sent <- c.fe.Flush() }()
	for _, v := range want {
		if got := c.until(nil); !strings.Contains(got, "DataRow \""+v+"\"\n") {
			t.Fatalf("%d bytes came back as %.100s", len(v), got)
		}
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	s.end()
}

// A session that does not listen cannot hold up the end of the server for ever.
func TestShutdownGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		h := &hook{run: func(context.Context, ResultWriter) (Result, error) {
			<-stuck
			return Result{}, nil
		}}
		p := &pipeServer{t: t, ln: newPipeListener(), served: make(chan error, 1)}
		srv, err := NewServer(Config{Backend: h, Auth: TrustAll{}})
		if err != nil {
			t.Fatal(err)
		}
		p.srv = srv
		go func() { p.served <- srv.Serve(context.Background(), p.ln) }()
		c := p.connect()
		c.query(t, "q")
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := srv.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "1 sessions did not end") {
			t.Error(err)
		}
		close(stuck)
		if err := srv.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if n := srv.Stats().Open.Load(); n != 0 {
			t.Errorf("%d connections are open", n)
		}
		<-p.served
	})
}
