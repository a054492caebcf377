package pgwire

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// memConn is a connection whose client has sent everything that it will ever send and reads
// everything. At most chunk bytes are read at a time.
type memConn struct {
	in    []byte
	chunk int
	out   bytes.Buffer
}

func (c *memConn) Read(p []byte) (int, error) {
	if len(c.in) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.in[:min(c.chunk, len(c.in))])
	c.in = c.in[n:]
	return n, nil
}

func (c *memConn) Write(p []byte) (int, error)      { return c.out.Write(p) }
func (c *memConn) Close() error                     { return nil }
func (c *memConn) LocalAddr() net.Addr              { return &net.UnixAddr{Net: "unix"} }
func (c *memConn) RemoteAddr() net.Addr             { return &net.UnixAddr{Net: "unix"} }
func (c *memConn) SetDeadline(time.Time) error      { return nil }
func (c *memConn) SetReadDeadline(time.Time) error  { return nil }
func (c *memConn) SetWriteDeadline(time.Time) error { return nil }

// talk runs a whole connection over the bytes of a client and gives what the server answered.
func talk(t *testing.T, in []byte, chunk int) []byte {
	t.Helper()
	fake := newFake()
	fake.tame = true
	var logged bytes.Buffer
	srv, err := NewServer(Config{Backend: fake, MaxMessageSize: 1 << 20, ClientCheck: -1, WriteBuffer: 100, Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	if err != nil {
		t.Fatal(err)
	}
	nc := &memConn{in: in, chunk: chunk}
	c := newConn(srv, nc, context.Background())
	c.secret = 0 // random, but not for a comparison
	c.pid = 1
	srv.conns[1] = c
	c.serve()
	if n := srv.stats.Panics.Load(); n != 0 {
		t.Errorf("%d panics: %s", n, &logged)
	}
	if n := fake.live(); n != 0 {
		t.Errorf("%d sessions are open", n)
	}
	return nc.out.Bytes()
}

// checkAnswer shows that b is a sequence of whole messages.
func checkAnswer(t *testing.T, b []byte) {
	t.Helper()
	for len(b) > 0 && b[0] == 'N' && (len(b) < 5 || binary.BigEndian.Uint32(b[1:]) > 10000) {
		b = b[1:] // the answer to a request for encryption
	}
	for len(b) > 0 {
		if len(b) < 5 {
			t.Fatalf("half a message: %q", b)
		}
		n := int(binary.BigEndian.Uint32(b[1:]))
		if n < 4 || len(b) < 1+n {
			t.Fatalf("message %q of length %d has only %d bytes", b[0], n, len(b)-1)
		}
		b = b[1+n:]
	}
}

func startupBytes(t testing.TB) []byte {
	b, err := (&pgproto3.StartupMessage{ProtocolVersion: 196608, Parameters: map[string]string{"user": "u"}}).Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// seeds are the messages of the scripts, all those of a "send" together.
func seeds(t testing.TB) [][]byte {
	t.Helper()
	var list [][]byte
	for _, dir := range []string{"testdata/postgres", "testdata/weir"} {
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			text, err := os.ReadFile(dir + "/" + f.Name())
			if err != nil {
				t.Fatal(err)
			}
			var all []byte
			for _, block := range strings.Split(string(text), "\n\n") {
				_, send, ok := strings.Cut("\n"+block, "\nsend")
				if !ok {
					continue
				}
				send, _, _ = strings.Cut(send, "\n----")
				for _, line := range strings.Split(send, "\n")[1:] {
					b, err := parseMessage(line)
					if err != nil {
						t.Fatal(err)
					}
					all = append(all, b...)
				}
			}
			list = append(list, all)
		}
	}
	return list
}

// FuzzMessages sends any bytes after a good start-up.
func FuzzMessages(f *testing.F) {
	for _, b := range seeds(f) {
		f.Add(b)
	}
	start := startupBytes(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		in := append(bytes.Clone(start), b...)
		whole := talk(t, in, len(in))
		checkAnswer(t, whole)
		if pieces := talk(t, in, 3); !bytes.Equal(whole, pieces) {
			t.Errorf("the answer depends on how the bytes arrive:\n%q\n%q", whole, pieces)
		}
	})
}

// FuzzStartup sends any bytes from the start.
func FuzzStartup(f *testing.F) {
	f.Add(startupBytes(f))
	f.Add([]byte("\x00\x00\x00\x08\x04\xd2\x16\x2f\x00\x00\x00\x08\x04\xd2\x16\x30\x00\x00\x00\x10\x00\x03\x00\x00user\x00u\x00\x00"))
	f.Add([]byte("\x00\x00\x00\x10\x04\xd2\x16\x2e\x00\x00\x00\x01\x00\x00\x00\x00"))
	f.Add([]byte("\x00\x00\x00\x2c\x00\x03\x00\x02user\x00u\x00options\x00-c a=b --c-d=e\\ f\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		whole := talk(t, bytes.Clone(b), max(1, len(b)))
		checkAnswer(t, whole)
		if pieces := talk(t, bytes.Clone(b), 1); !bytes.Equal(whole, pieces) {
			t.Errorf("the answer depends on how the bytes arrive:\n%q\n%q", whole, pieces)
		}
	})
}

// Whatever way good messages are damaged, the server answers with whole messages and ends.
func TestDamagedMessages(t *testing.T) {
	const seed = 1
	rnd := rand.New(rand.NewPCG(seed, 0))
	start := startupBytes(t)
	for i, good := range seeds(t) {
		if len(good) == 0 {
			continue
		}
		for j := range 100 {
			t.Run(fmt.Sprintf("seed %d file %d try %d", seed, i, j), func(t *testing.T) {
				b := bytes.Clone(good)
				for range 1 + rnd.IntN(3) {
					at := rnd.IntN(len(b))
					switch rnd.IntN(4) {
					case 0:
						b[at] = byte(rnd.Uint32())
					case 1:
						b[at] ^= 1 << rnd.IntN(8)
					case 2:
						b = append(b[:at], b[min(len(b), at+1+rnd.IntN(4)):]...)
					case 3:
						b = append(b[:at], append([]byte{0, 0xff, 'Q'}[:rnd.IntN(4)], b[at:]...)...)
					}
					if len(b) == 0 {
						return
					}
				}
				in := append(bytes.Clone(start), b...)
				whole := talk(t, in, len(in))
				checkAnswer(t, whole)
				if pieces := talk(t, in, 1+rnd.IntN(7)); !bytes.Equal(whole, pieces) {
					t.Errorf("the answer depends on how the bytes arrive")
				}
			})
		}
	}
}
