package pgwire

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"time"

	"github.com/weirdb/weir/sql/sqlerr"
)

// recordHandshake is the first byte of a TLS connection (RFC 8446, section 5.1).
const recordHandshake = 22

// alpn is the protocol that clients name which begin with TLS at once (sslnegotiation=direct).
const alpn = "postgresql"

// startTLS answers a request for encryption with yes and does the handshake. direct says that the
// client's first packet was its side of the handshake already.
//
// Everything that came before is not encrypted, so nothing may have come: bytes that somebody in the
// middle put there would be taken for the client's.
func (c *conn) startTLS(direct bool) error {
	early := c.in.buf[c.in.r:c.in.w]
	if !direct && len(early) > 0 {
		return sqlerr.Newf(sqlerr.ProtocolViolation, "received unencrypted data after SSL request").
			WithDetail("This could be either a client-software bug or evidence of an attempted man-in-the-middle attack.")
	}
	if !direct {
		c.rows.buf = append(c.rows.buf, 'S')
		if err := c.flush(); err != nil {
			return err
		}
	}
	cfg := c.srv.cfg.TLS
	if direct {
		cfg = cfg.Clone()
		cfg.NextProtos = []string{alpn}
	}
	wire := &tlsWire{Conn: c.nc, early: append([]byte(nil), early...)}
	t := tls.Server(wire, cfg)
	if err := t.HandshakeContext(c.base); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		c.log.Debug("TLS handshake failed", "pid", c.pid, "remote", c.nc.RemoteAddr(), "err", err)
		return errQuit // what the client would understand, the handshake has told it
	}
	if direct && t.ConnectionState().NegotiatedProtocol != alpn {
		return sqlerr.Newf(sqlerr.ProtocolViolation, "received direct SSL connection request without ALPN protocol negotiation extension")
	}
	c.in.r, c.in.w = 0, 0
	c.tls = &tlsConn{tls: t, wire: wire}
	c.io, c.in.src = c.tls, c.tls
	return nil
}

// tlsConn encrypts a connection whose writes may be interrupted by a deadline and tried again, which
// tls.Conn alone cannot: it gives up for good after a write that failed in the middle of a record.
type tlsConn struct {
	tls  *tls.Conn
	wire *tlsWire
	// accepted counts the bytes at the front of the next Write that are encrypted already.
	accepted int
}

// maxRecord is the most that one TLS record carries, and so what one interrupted Write may hold.
const maxRecord = 16 << 10

// Read implements io.Reader. It may be tried again after a deadline.
func (t *tlsConn) Read(b []byte) (int, error) { return t.tls.Read(b) }

// Write implements io.Writer. After os.ErrDeadlineExceeded it must be called again with what was not
// written, in the same order: the bytes at its front may be on their way.
func (t *tlsConn) Write(b []byte) (int, error) {
	sent := 0
	for {
		if err := t.wire.drain(); err != nil {
			return sent, err
		}
		sent += t.accepted
		t.accepted = 0
		if sent == len(b) {
			return sent, nil
		}
		n, err := t.tls.Write(b[sent:min(len(b), sent+maxRecord)])
		if err != nil {
			return sent, err
		}
		t.accepted = n
	}
}

// close says goodbye, if that is possible at once or soon.
func (t *tlsConn) close(grace time.Duration) {
	_ = t.wire.Conn.SetWriteDeadline(time.Now().Add(grace))
	_ = t.tls.CloseWrite() // the socket is closed next, whatever comes of this
}

// tlsWire is the socket under a tls.Conn. Its writes do not fail because of a deadline: what could not
// be written waits in rest.
type tlsWire struct {
	net.Conn
	// early are bytes that were read before the handshake began.
	early []byte
	rest  []byte
}

// Read implements net.Conn.
func (w *tlsWire) Read(b []byte) (int, error) {
	if len(w.early) > 0 {
		n := copy(b, w.early)
		w.early = w.early[n:]
		return n, nil
	}
	return w.Conn.Read(b)
}

// Write implements net.Conn.
func (w *tlsWire) Write(b []byte) (int, error) {
	w.rest = append(w.rest, b...)
	if err := w.drain(); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return 0, err
	}
	return len(b), nil
}

// drain writes what waits.
func (w *tlsWire) drain() error {
	for len(w.rest) > 0 {
		n, err := w.Conn.Write(w.rest)
		w.rest = w.rest[:copy(w.rest, w.rest[n:])]
		if err != nil {
			return err
		}
	}
	return nil
}
