package pgwire

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"strconv"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// readBackend answers every prepared statement with one row of five columns, out of nothing, and
// the simple query "rows N" with N such rows: what is measured is the protocol.
type readBackend struct{}

var readColumns = []Column{
	{Name: "id", TypeOID: 20, TypeLen: 8, TypeMod: -1}, {Name: "name", TypeOID: 25, TypeLen: -1, TypeMod: -1},
	{Name: "a", TypeOID: 23, TypeLen: 4, TypeMod: -1}, {Name: "b", TypeOID: 23, TypeLen: 4, TypeMod: -1},
	{Name: "c", TypeOID: 25, TypeLen: -1, TypeMod: -1},
}

type readSession struct {
	readPortal
	unit [1]Unit
	copy bool
}

func (readBackend) Connect(context.Context, Startup, Client) (Session, error) {
	s := &readSession{}
	s.unit[0] = s
	return s, nil
}

func (s *readSession) Params() []ParameterStatus        { return nil }
func (s *readSession) ChangedParams() []ParameterStatus { return nil }
func (s *readSession) Split(_ context.Context, sql string) (u []Unit, err error) {
	if s.copy = sql == "copy"; s.copy {
		return s.unit[:], nil
	}
	s.rows, err = strconv.Atoi(sql)
	return s.unit[:], err
}
func (s *readSession) Prepare(context.Context, string, []uint32) (Prepared, error) {
	return &readStatement{}, nil
}
func (s *readSession) TxStatus() byte             { return 'I' }
func (s *readSession) Sync(context.Context) error { return nil }
func (s *readSession) Abort()                     {}
func (s *readSession) Run(ctx context.Context, w ResultWriter) (Result, error) {
	if s.copy {
		in, err := w.CopyIn(Text, 5)
		if err != nil {
			return Result{}, err
		}
		_, err = io.Copy(io.Discard, in)
		return Result{Tag: "COPY"}, err
	}
	w.Columns(readColumns)
	return s.Execute(ctx, w, 0)
}

type readStatement struct{ portal readPortal }

var oneInt8 = []uint32{20}

func (s *readStatement) ParamOIDs() []uint32                       { return oneInt8 }
func (s *readStatement) Columns(context.Context) ([]Column, error) { return readColumns, nil }
func (s *readStatement) Close()                                    {}
func (s *readStatement) Bind(_ context.Context, p []Param, _ []Format) (Portal, error) {
	s.portal = readPortal{rows: 1, id: int64(binary.BigEndian.Uint64(p[0].Value))}
	return &s.portal, nil
}

type readPortal struct {
	rows int
	id   int64
}

func (p *readPortal) Columns() []Column { return readColumns }
func (p *readPortal) Close()            {}
func (p *readPortal) Execute(_ context.Context, w ResultWriter, _ int) (Result, error) {
	rows := w.Rows()
	for i := range p.rows {
		rows.BeginRow()
		rows.EndValue(strconv.AppendInt(rows.BeginValue(), p.id+int64(i), 10))
		rows.String("a name of twenty byt")
		rows.EndValue(strconv.AppendInt(rows.BeginValue(), int64(i), 10))
		rows.Null()
		rows.String("text")
		if err := rows.EndRow(); err != nil {
			return Result{}, err
		}
	}
	return Result{Tag: "SELECT 1"}, nil
}

// startRead starts a server and gives a function that makes connected clients.
func startRead(tb testing.TB) (dial func() net.Conn) {
	tb.Helper()
	srv, err := NewServer(Config{Backend: readBackend{}})
	if err != nil {
		tb.Fatal(err)
	}
	ln, err := ListenTCP(context.Background(), "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(context.Background(), ln) }()
	tb.Cleanup(func() {
		if err := srv.Shutdown(context.Background()); err != nil {
			tb.Error(err)
		}
		<-served
	})
	return func() net.Conn {
		nc, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = nc.Close() })
		exchange(tb, nc, startupBytes(tb), make([]byte, 4096))
		return nc
	}
}

// exchange sends in and reads up to a ReadyForQuery; it gives how many bytes came.
func exchange(tb testing.TB, nc net.Conn, in, buf []byte) int {
	if _, err := nc.Write(in); err != nil {
		tb.Fatal(err)
	}
	total := 0
	for have := 0; ; {
		n, err := nc.Read(buf[have:])
		if err != nil {
			tb.Fatal(err)
		}
		total += n
		have += n
		if have >= 6 && string(buf[have-6:have]) == "Z\x00\x00\x00\x05I" {
			return total
		}
		have = copy(buf, buf[max(0, have-6):have])
	}
}

// pointRead is a prepared point read as drivers send it.
func pointRead(tb testing.TB) (prepare, read []byte) {
	for _, m := range []pgproto3.FrontendMessage{&pgproto3.Parse{Name: "s", Query: "read"}, &pgproto3.Sync{}} {
		prepare, _ = m.Encode(prepare)
	}
	for _, m := range []pgproto3.FrontendMessage{
		&pgproto3.Bind{PreparedStatement: "s", ParameterFormatCodes: []int16{1}, Parameters: [][]byte{{0, 0, 0, 0, 0, 0, 0, 7}}},
		&pgproto3.Describe{ObjectType: 'P'}, &pgproto3.Execute{}, &pgproto3.Sync{},
	} {
		read, _ = m.Encode(read)
	}
	return prepare, read
}

func BenchmarkPointRead(b *testing.B) {
	dial := startRead(b)
	prepare, read := pointRead(b)
	for _, clients := range []int{1, 8} {
		b.Run("clients="+strconv.Itoa(clients), func(b *testing.B) {
			var wg sync.WaitGroup
			b.ReportAllocs()
			for i := range clients {
				nc := dial()
				exchange(b, nc, prepare, make([]byte, 4096))
				n := b.N / clients
				if i < b.N%clients {
					n++
				}
				wg.Go(func() {
					buf := make([]byte, 4096)
					for range n {
						exchange(b, nc, read, buf)
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "reads/s")
		})
	}
}

func BenchmarkRows(b *testing.B) {
	dial := startRead(b)
	nc := dial()
	q, _ := (&pgproto3.Query{String: strconv.Itoa(b.N)}).Encode(nil)
	b.ReportAllocs()
	b.ResetTimer()
	n := exchange(b, nc, q, make([]byte, 256<<10))
	b.SetBytes(int64(n / b.N))
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkCopyIn sends messages of 8 kB, as psql does.
func BenchmarkCopyIn(b *testing.B) {
	dial := startRead(b)
	nc := dial()
	data, _ := (&pgproto3.CopyData{Data: make([]byte, 8000)}).Encode(nil)
	in, _ := (&pgproto3.Query{String: "copy"}).Encode(nil)
	if _, err := nc.Write(in); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(8000)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if _, err := nc.Write(data); err != nil {
			b.Fatal(err)
		}
	}
	done, _ := (&pgproto3.CopyDone{}).Encode(nil)
	exchange(b, nc, done, make([]byte, 4096))
}

// BenchmarkEncodeRow leaves the socket out.
func BenchmarkEncodeRow(b *testing.B) {
	var w RowWriter
	b.ReportAllocs()
	for i := range b.N {
		w.BeginRow()
		w.EndValue(strconv.AppendInt(w.BeginValue(), int64(i), 10))
		w.String("a name of twenty byt")
		w.EndValue(binary.BigEndian.AppendUint32(w.BeginValue(), uint32(i)))
		w.Null()
		w.String("text")
		if err := w.EndRow(); err != nil {
			b.Fatal(err)
		}
		if i%500 == 0 {
			w.Bytes()
		}
	}
}

// A row costs no allocation, and a prepared point read none but what the session makes.
func TestAllocations(t *testing.T) {
	srv, err := NewServer(Config{Backend: readBackend{}, ClientCheck: -1})
	if err != nil {
		t.Fatal(err)
	}
	prepare, read := pointRead(t)
	many, _ := (&pgproto3.Query{String: "10000"}).Encode(nil)
	for _, c := range []struct {
		name string
		in   []byte
		max  float64
	}{
		// The string of the query.
		{"10000 rows", many, 1},
		{"point read", read, 0},
	} {
		nc := &scriptedConn{in: append(startupBytes(t), prepare...)}
		conn := newConn(srv, nc, t.Context())
		if err := conn.startup(); err != nil {
			t.Fatal(err)
		}
		run := func() {
			nc.in = append(nc.in, c.in...)
			for len(nc.in) > 0 || conn.in.r < conn.in.w {
				if err := conn.step(); err != nil {
					t.Fatal(err)
				}
			}
		}
		run()
		if n := testing.AllocsPerRun(100, run); n > c.max+poolMisses {
			t.Errorf("%s: %v allocations", c.name, n)
		}
		conn.close()
	}
}

// scriptedConn is a memConn whose answers go nowhere.
type scriptedConn struct {
	memConn
	in []byte
}

func (c *scriptedConn) Read(p []byte) (int, error) {
	if len(c.in) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.in)
	c.in = append(c.in[:0], c.in[n:]...)
	return n, nil
}

func (c *scriptedConn) Write(p []byte) (int, error) { return len(p), nil }
