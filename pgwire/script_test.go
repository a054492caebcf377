package pgwire

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cockroachdb/datadriven"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"go.uber.org/goleak"
)

// The scripts under testdata are conversations, with these commands:
//
//	connect [conn=NAME] [user=U] [database=D] [NAME=VALUE ...]
//	    opens a connection (named "a" unless said otherwise) and prints what comes before
//	    ReadyForQuery but what differs between servers.
//	send [conn=NAME]
//	    sends the messages of its input, one a line: a message name and its fields, strings
//	    quoted as in Go.  See parseMessage.
//	until [conn=NAME] [MESSAGE ...]
//	    prints what the server sends, up to and including one message of each name given, in that
//	    order (ReadyForQuery if none is), or up to the end of the connection.
//	raw [conn=NAME]
//	    opens a connection without a start-up and sends the bytes of its input, hexadecimal or
//	    quoted, then prints the answer as "until" does, or the byte that answers a request for
//	    encryption.
//	cancel [conn=NAME] [secret=wrong]
//	    sends a CancelRequest for a connection, once its statement blocks.
//	block
//	    waits until a statement blocks.
//	terminate [conn=NAME] / shutdown
//	    ends a connection, or the server.
//	close [conn=NAME]
//	    closes the client's side.
//
// Those in testdata/postgres run against PostgreSQL too, if WEIR_TEST_POSTGRES is the address
// (host:port) of one that trusts the user postgres.

// settings that every script may connect with.
const scriptTimeout = 10 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestScripts(t *testing.T) {
	for _, dir := range []string{"testdata/postgres", "testdata/weir"} {
		datadriven.Walk(t, dir, func(t *testing.T, path string) {
			s := startScript(t, configOf(path))
			datadriven.RunTest(t, path, s.command)
			s.end()
		})
	}
}

// TestScriptsPostgres shows that the scripts expect what PostgreSQL does.
func TestScriptsPostgres(t *testing.T) {
	addr := os.Getenv("WEIR_TEST_POSTGRES")
	if addr == "" {
		return
	}
	datadriven.Walk(t, "testdata/postgres", func(t *testing.T, path string) {
		s := &script{t: t, addr: addr, clients: map[string]*scriptClient{}}
		datadriven.RunTest(t, path, s.command)
		s.end()
	})
}

// configOf gives the configuration of a script.
func configOf(path string) Config {
	cfg := Config{ClientCheck: 5 * time.Millisecond, StopGrace: 2 * time.Second}
	switch filepath.Base(path) {
	case "limits":
		cfg.MaxConnections = 2
		cfg.MaxMessageSize = 20000
	case "startup_timeout":
		cfg.StartupTimeout = 30 * time.Millisecond
	}
	return cfg
}

// script is a running script with its server, unless that is somewhere else.
type script struct {
	t       *testing.T
	addr    string
	fake    *fakeBackend
	srv     *Server
	served  chan error
	clients map[string]*scriptClient
}

type scriptClient struct {
	nc  net.Conn
	fe  *pgproto3.Frontend
	pid uint32
	key []byte
}

func startScript(t *testing.T, cfg Config) *script {
	t.Helper()
	s := &script{t: t, fake: newFake(), clients: map[string]*scriptClient{}, served: make(chan error, 1)}
	cfg.Backend = s.fake
	srv, err := NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := ListenTCP(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.srv, s.addr = srv, ln.Addr().String()
	go func() { s.served <- srv.Serve(context.Background(), ln) }()
	return s
}

// end closes the clients and shows that the server comes to its end, with every session closed.
func (s *script) end() {
	s.t.Helper()
	for _, c := range s.clients {
		_ = c.nc.Close()
	}
	if s.srv == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), scriptTimeout)
	defer cancel()
	if err := s.srv.Shutdown(ctx); err != nil {
		s.t.Errorf("shutdown: %v", err)
	}
	if err := <-s.served; !errors.Is(err, ErrServerClosed) {
		s.t.Errorf("serve: %v", err)
	}
	if n := s.fake.live(); n != 0 {
		s.t.Errorf("%d sessions were not closed", n)
	}
	if n := s.srv.stats.Open.Load() + s.srv.stats.Sessions.Load(); n != 0 {
		s.t.Errorf("%d connections are still counted", n)
	}
}

func (s *script) command(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	name := "a"
	d.MaybeScanArgs(t, "conn", &name)
	c := s.clients[name]
	if c == nil && d.Cmd != "connect" && d.Cmd != "raw" && d.Cmd != "shutdown" && d.Cmd != "block" {
		d.Fatalf(t, "no connection %s", name)
	}
	switch d.Cmd {
	case "connect":
		c = s.dial(name)
		params := map[string]string{"user": "postgres", "database": "postgres"}
		for _, a := range d.CmdArgs {
			if a.Key != "conn" {
				params[a.Key] = strings.Join(a.Vals, ", ")
			}
		}
		return s.sent(c, (&pgproto3.StartupMessage{ProtocolVersion: 196608, Parameters: params}), "ReadyForQuery")
	case "send":
		var buf []byte
		for _, line := range strings.Split(d.Input, "\n") {
			b, err := parseMessage(line)
			if err != nil {
				d.Fatalf(t, "%s: %v", line, err)
			}
			buf = append(buf, b...)
		}
		if _, err := c.nc.Write(buf); err != nil {
			return "write failed"
		}
		return ""
	case "until":
		var names []string
		for _, a := range d.CmdArgs {
			if a.Key != "conn" {
				names = append(names, a.Key)
			}
		}
		return c.until(names)
	case "raw":
		c = s.dial(name)
		b, err := parseBytes(d.Input)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		return s.raw(c, b)
	case "cancel":
		s.block(d)
		key := append([]byte(nil), c.key...)
		for _, a := range d.CmdArgs {
			if a.Key == "secret" {
				key[0]++
			}
		}
		x := s.dial("canceller")
		b, _ := (&pgproto3.CancelRequest{ProcessID: c.pid, SecretKey: key}).Encode(nil)
		return s.raw(x, b)
	case "block":
		s.block(d)
		return ""
	case "terminate":
		return fmt.Sprint(s.srv.Terminate(int32(c.pid)))
	case "shutdown":
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		return fmt.Sprint(s.srv.Shutdown(ctx))
	case "close":
		return fmt.Sprint(c.nc.Close())
	}
	d.Fatalf(t, "unknown command %s", d.Cmd)
	return ""
}

// block waits for a statement to block: the fake says so, PostgreSQL is asked.
func (s *script) block(d *datadriven.TestData) {
	if s.fake == nil {
		ctx, cancel := context.WithTimeout(context.Background(), scriptTimeout)
		defer cancel()
		db, err := pgconn.Connect(ctx, "postgres://postgres@"+s.addr+"/postgres")
		if err != nil {
			d.Fatalf(s.t, "%v", err)
		}
		defer db.Close(ctx)
		for {
			r := db.ExecParams(ctx, "select count(*) from pg_stat_activity where wait_event = 'PgSleep'", nil, nil, nil, nil).Read()
			if r.Err != nil {
				d.Fatalf(s.t, "%v", r.Err)
			}
			if string(r.Rows[0][0]) != "0" {
				return
			}
		}
	}
	select {
	case <-s.fake.entered:
	case <-time.After(scriptTimeout):
		d.Fatalf(s.t, "no statement blocks")
	}
}

func (s *script) dial(name string) *scriptClient {
	s.t.Helper()
	nc, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	_ = nc.SetDeadline(time.Now().Add(scriptTimeout))
	if old := s.clients[name]; old != nil {
		_ = old.nc.Close()
	}
	c := &scriptClient{nc: nc, fe: pgproto3.NewFrontend(nc, nc)}
	s.clients[name] = c
	return c
}

// sent sends m and prints up to the message named.
func (s *script) sent(c *scriptClient, m pgproto3.FrontendMessage, until string) string {
	s.t.Helper()
	b, err := m.Encode(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := c.nc.Write(b); err != nil {
		return "write failed"
	}
	return c.until([]string{until})
}

// raw sends b and prints the answer: one byte, or messages up to the end or ReadyForQuery.
func (s *script) raw(c *scriptClient, b []byte) string {
	if _, err := c.nc.Write(b); err != nil {
		return "write failed"
	}
	var out strings.Builder
	for n := encryptionRequests(b); n > 0; n-- {
		var one [1]byte
		if _, err := io.ReadFull(c.nc, one[:]); err != nil {
			return out.String() + "(end)"
		}
		fmt.Fprintf(&out, "%c\n", one[0])
	}
	if len(b) >= 8 && binary.BigEndian.Uint32(b[len(b)-8:]) == 8 {
		return out.String()
	}
	return out.String() + c.until(nil)
}

// encryptionRequests counts the encryption requests at the front of b.
func encryptionRequests(b []byte) int {
	n := 0
	for len(b) >= 8 && binary.BigEndian.Uint32(b) == 8 {
		n++
		b = b[8:]
	}
	return n
}

// until reads and prints messages.
func (c *scriptClient) until(names []string) string {
	if len(names) == 0 {
		names = []string{"ReadyForQuery"}
	}
	var out strings.Builder
	for {
		m, err := c.fe.Receive()
		if err != nil {
			var ne net.Error
			if errors.As(err, &ne) && ne.Timeout() {
				out.WriteString("(nothing more came)\n")
			} else {
				out.WriteString("(end)\n")
			}
			return out.String()
		}
		line := c.show(m)
		if line != "" {
			out.WriteString(line + "\n")
		}
		if n, _, _ := strings.Cut(strings.TrimPrefix(fmt.Sprintf("%T", m), "*pgproto3."), " "); n == names[0] {
			names = names[1:]
			if len(names) == 0 {
				return out.String()
			}
		}
	}
}

// show prints a message; it hides what differs between servers.
func (c *scriptClient) show(m pgproto3.BackendMessage) string {
	switch m := m.(type) {
	case *pgproto3.BackendKeyData:
		c.pid, c.key = m.ProcessID, m.SecretKey
		return ""
	case *pgproto3.ParameterStatus:
		switch m.Name {
		case "application_name", "client_encoding", "DateStyle", "TimeZone":
			return "ParameterStatus " + m.Name + "=" + strconv.Quote(m.Value)
		}
		return ""
	case *pgproto3.RowDescription:
		s := "RowDescription"
		for i, f := range m.Fields {
			if i > 0 {
				s += ","
			}
			s += fmt.Sprintf(" %s oid=%d len=%d mod=%d format=%d", f.Name, f.DataTypeOID, f.DataTypeSize, f.TypeModifier, f.Format)
		}
		return s
	case *pgproto3.DataRow:
		s := "DataRow"
		for _, v := range m.Values {
			s += " " + showValue(v)
		}
		return s
	case *pgproto3.CopyData:
		return "CopyData " + showValue(m.Data)
	case *pgproto3.CommandComplete:
		return "CommandComplete " + strconv.Quote(string(m.CommandTag))
	case *pgproto3.ReadyForQuery:
		return "ReadyForQuery " + string(m.TxStatus)
	case *pgproto3.ParameterDescription:
		return "ParameterDescription " + strings.Trim(fmt.Sprint(m.ParameterOIDs), "[]")
	case *pgproto3.CopyInResponse:
		return fmt.Sprintf("CopyInResponse %d %v", m.OverallFormat, m.ColumnFormatCodes)
	case *pgproto3.CopyOutResponse:
		return fmt.Sprintf("CopyOutResponse %d %v", m.OverallFormat, m.ColumnFormatCodes)
	case *pgproto3.NotificationResponse:
		return fmt.Sprintf("NotificationResponse %s %q", m.Channel, m.Payload)
	case *pgproto3.NegotiateProtocolVersion:
		return fmt.Sprintf("NegotiateProtocolVersion %d %q", m.NewestMinorProtocol, m.UnrecognizedOptions)
	case *pgproto3.ErrorResponse:
		return "ErrorResponse " + showError(m)
	case *pgproto3.NoticeResponse:
		return "NoticeResponse " + showError((*pgproto3.ErrorResponse)(m))
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", m), "*pgproto3.")
}

func showError(m *pgproto3.ErrorResponse) string {
	s := fmt.Sprintf("%s %s %q", m.Severity, m.Code, m.Message)
	if m.SeverityUnlocalized != m.Severity {
		s += " severities differ"
	}
	for _, f := range []struct{ name, v string }{
		{"detail", m.Detail}, {"hint", m.Hint}, {"schema", m.SchemaName}, {"table", m.TableName}, {"column", m.ColumnName}, {"constraint", m.ConstraintName},
	} {
		// PostgreSQL puts temporary tables in a schema named after the session.
		if f.v != "" && !strings.HasPrefix(f.v, "pg_temp") {
			s += fmt.Sprintf(" %s=%q", f.name, f.v)
		}
	}
	if m.Position != 0 {
		s += fmt.Sprintf(" position=%d", m.Position)
	}
	return s
}

func showValue(v []byte) string {
	switch {
	case v == nil:
		return "null"
	case utf8.Valid(v) && strings.IndexFunc(string(v), func(r rune) bool { return r < 8 }) < 0:
		return strconv.Quote(string(v))
	default:
		return "hex:" + hex.EncodeToString(v)
	}
}

// parseBytes reads the words of s, each hexadecimal or a quoted string.
func parseBytes(s string) ([]byte, error) {
	var b []byte
	words, err := splitWords(strings.ReplaceAll(s, "\n", " "))
	for _, w := range words {
		if w.quoted {
			b = append(b, w.s...)
			continue
		}
		x, err := hex.DecodeString(w.s)
		if err != nil {
			return nil, err
		}
		b = append(b, x...)
	}
	return b, err
}

type word struct {
	s      string
	quoted bool
}

// splitWords splits at blanks; a word in quotes is unquoted.
func splitWords(s string) ([]word, error) {
	var words []word
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		if s[0] == '"' || s[0] == '`' {
			q, err := strconv.QuotedPrefix(s)
			if err != nil {
				return nil, err
			}
			u, err := strconv.Unquote(q)
			if err != nil {
				return nil, err
			}
			words = append(words, word{u, true})
			s = s[len(q):]
			continue
		}
		w, rest, _ := strings.Cut(s, " ")
		words = append(words, word{w, false})
		s = rest
	}
	return words, nil
}

// parseMessage reads a line of "send":
//
//	Query "SQL"
//	Parse "NAME" "SQL" [OID ...]
//	Bind "PORTAL" "STATEMENT" [params=F,F] [results=F,F] [VALUE ...]   VALUE: "text", null, hex:00
//	Describe S|P "NAME"     Close S|P "NAME"     Execute "PORTAL" [ROWS]
//	Sync     Flush     Terminate     CopyData "..."     CopyDone     CopyFail "..."
//	Bytes 51 00000004 "..."   (any bytes)
func parseMessage(line string) ([]byte, error) {
	name, rest, _ := strings.Cut(line, " ")
	if name == "Bytes" {
		return parseBytes(rest)
	}
	words, err := splitWords(rest)
	if err != nil {
		return nil, err
	}
	arg := func(i int) string {
		if i < len(words) {
			return words[i].s
		}
		return ""
	}
	var m pgproto3.FrontendMessage
	switch name {
	case "Query":
		m = &pgproto3.Query{String: arg(0)}
	case "Parse":
		p := &pgproto3.Parse{Name: arg(0), Query: arg(1)}
		for i := 2; i < len(words); i++ {
			oid, err := strconv.ParseUint(words[i].s, 10, 32)
			if err != nil {
				return nil, err
			}
			p.ParameterOIDs = append(p.ParameterOIDs, uint32(oid))
		}
		m = p
	case "Bind":
		b := &pgproto3.Bind{DestinationPortal: arg(0), PreparedStatement: arg(1)}
		for _, w := range words[min(2, len(words)):] {
			if err := bindWord(b, w); err != nil {
				return nil, err
			}
		}
		m = b
	case "Describe":
		m = &pgproto3.Describe{ObjectType: arg(0)[0], Name: arg(1)}
	case "Close":
		m = &pgproto3.Close{ObjectType: arg(0)[0], Name: arg(1)}
	case "Execute":
		n, _ := strconv.Atoi("0" + arg(1))
		m = &pgproto3.Execute{Portal: arg(0), MaxRows: uint32(n)}
	case "Sync":
		m = &pgproto3.Sync{}
	case "Flush":
		m = &pgproto3.Flush{}
	case "Terminate":
		m = &pgproto3.Terminate{}
	case "CopyData":
		m = &pgproto3.CopyData{Data: []byte(arg(0))}
	case "CopyDone":
		m = &pgproto3.CopyDone{}
	case "CopyFail":
		m = &pgproto3.CopyFail{Message: arg(0)}
	default:
		return nil, fmt.Errorf("unknown message %q", name)
	}
	return m.Encode(nil)
}

// bindWord reads one of Bind's words after the names.
func bindWord(b *pgproto3.Bind, w word) error {
	formats := func(s string) (list []int16, err error) {
		for _, f := range strings.Split(s, ",") {
			n, err := strconv.Atoi(f)
			if err != nil {
				return nil, err
			}
			list = append(list, int16(n))
		}
		return list, nil
	}
	var err error
	switch {
	case w.quoted:
		b.Parameters = append(b.Parameters, []byte(w.s))
	case w.s == "null":
		b.Parameters = append(b.Parameters, nil)
	case strings.HasPrefix(w.s, "hex:"):
		var v []byte
		v, err = hex.DecodeString(w.s[4:])
		b.Parameters = append(b.Parameters, v)
	case strings.HasPrefix(w.s, "params="):
		b.ParameterFormatCodes, err = formats(w.s[7:])
	case strings.HasPrefix(w.s, "results="):
		b.ResultFormatCodes, err = formats(w.s[8:])
	default:
		err = fmt.Errorf("%q is not a part of Bind", w.s)
	}
	return err
}
