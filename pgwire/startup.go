package pgwire

import (
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgproto3/v2"

	"github.com/weirdb/weir/sql/sqlerr"
)

// Codes that take the place of a version in the first packet.
const (
	codeCancel = 80877102
	codeSSL    = 80877103
	codeGSS    = 80877104
)

// Bounds of the first packet's length, which includes itself.
const (
	minStartup = 8
	maxStartup = 10000
)

// startup runs the connection until its session is there and the client was told so.
func (c *conn) startup() error {
	c.mu.Lock()
	c.state = idle
	if c.term.Load() == nil {
		_ = c.nc.SetDeadline(time.Now().Add(c.srv.cfg.StartupTimeout))
	}
	c.mu.Unlock()
	version, body, err := c.firstPacket()
	if err != nil {
		return c.startupError(err)
	}
	start, refused, err := parseStartup(version, body)
	if err != nil {
		return err
	}
	start.Remote, start.PID = c.nc.RemoteAddr(), c.pid
	if c.tls != nil {
		start.Certificate = c.srv.cfg.TLS.Certificates[0].Leaf
	}
	if version&0xffff > 0 || len(refused) > 0 {
		m := c.beginMessage('v')
		// PostgreSQL sends the whole version here, not only its minor part.
		c.rows.buf = binary.BigEndian.AppendUint32(c.rows.buf, 3<<16)
		c.rows.buf = binary.BigEndian.AppendUint32(c.rows.buf, uint32(len(refused)))
		for _, name := range refused {
			c.cstring(name)
		}
		c.finishMessage(m)
	}
	if t := c.term.Load(); t != nil {
		return t
	}
	if !c.srv.takeSlot(c) {
		return sqlerr.Newf(sqlerr.TooManyConnections, "sorry, too many clients already")
	}
	if err := c.srv.cfg.Auth.Authenticate(c.base, start, (*authExchange)(c)); err != nil {
		c.srv.stats.Refused.Add(1)
		return c.startupError(err)
	}
	c.mu.Lock()
	c.state = busy
	c.woken = false
	if !c.killed {
		_ = c.nc.SetDeadline(time.Time{})
	}
	c.mu.Unlock()
	c.encode(&pgproto3.AuthenticationOk{})
	session, err := c.srv.cfg.Backend.Connect(c.base, start, (*client)(c))
	if err != nil {
		return sqlerr.From(err)
	}
	c.session = session
	c.limiter, _ = session.(IdleLimiter)
	for _, p := range session.Params() {
		c.parameterStatus(p)
	}
	c.encode(&pgproto3.BackendKeyData{ProcessID: uint32(c.pid), SecretKey: c.secret})
	c.log.Debug("session begins", "pid", c.pid, "user", start.User, "database", start.Database, "remote", start.Remote)
	c.sendReady()
	return nil
}

// startupError sorts out what an error during the start-up means: a deadline is the start-up
// limit, or the server's end; a lost client needs no words.
func (c *conn) startupError(err error) error {
	if t := c.term.Load(); t != nil {
		return t
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return sqlerr.Newf(sqlerr.QueryCanceled, "canceling authentication due to timeout")
	}
	if e := (*sqlerr.Error)(nil); errors.As(err, &e) {
		return e
	}
	if errors.Is(err, errQuit) || errors.As(err, new(*lostError)) {
		return errQuit
	}
	return sqlerr.From(err)
}

// firstPacket answers requests for encryption and gives the start-up packet; a cancel request is
// carried out and gives errQuit.
func (c *conn) firstPacket() (version uint32, body []byte, err error) {
	ssl, gss := false, false
	for {
		direct, err := c.beginsTLS()
		if err != nil {
			return 0, nil, err
		}
		if direct {
			if err := c.startTLS(true); err != nil {
				return 0, nil, err
			}
		}
		code, body, err := c.startupPacket()
		if err != nil {
			return 0, nil, err
		}
		switch {
		case code == codeCancel:
			if len(body) == 8 {
				c.srv.cancelRequest(int32(binary.BigEndian.Uint32(body)), binary.BigEndian.Uint32(body[4:]))
			}
			return 0, nil, errQuit
		case code == codeSSL && !ssl && c.srv.cfg.TLS != nil && c.tls == nil:
			ssl = true
			if err := c.startTLS(false); err != nil {
				return 0, nil, err
			}
		case code == codeSSL && !ssl, code == codeGSS && !gss:
			ssl, gss = ssl || code == codeSSL, gss || code == codeGSS
			c.rows.buf = append(c.rows.buf, 'N')
			if err := c.flush(); err != nil {
				return 0, nil, err
			}
		case code>>16 != 3:
			return 0, nil, sqlerr.Newf(sqlerr.FeatureNotSupported,
				"unsupported frontend protocol %d.%d: server supports 3.0 to 3.0", code>>16, code&0xffff)
		default:
			return code, body, nil
		}
	}
}

// beginsTLS says whether the first byte of the connection is that of a TLS handshake, which no
// packet begins with.
func (c *conn) beginsTLS() (bool, error) {
	if c.tls != nil || c.srv.cfg.TLS == nil {
		return false, nil
	}
	for c.in.r == c.in.w {
		if err := c.in.fill(); err != nil {
			return false, &lostError{err}
		}
	}
	return c.in.r == 0 && c.in.buf[0] == recordHandshake, nil
}

// startupPacket reads one packet without a type byte.
func (c *conn) startupPacket() (code uint32, body []byte, err error) {
	r := c.in
	for {
		if n := r.w - r.r; n >= 4 {
			size := int(binary.BigEndian.Uint32(r.buf[r.r:]))
			if size < minStartup || size > maxStartup {
				return 0, nil, sqlerr.Newf(sqlerr.ProtocolViolation, "invalid length of startup packet")
			}
			if n >= size {
				p := r.buf[r.r : r.r+size]
				r.r += size
				return binary.BigEndian.Uint32(p[4:]), p[8:], nil
			}
		}
		if err := r.fill(); err != nil {
			return 0, nil, &lostError{err}
		}
	}
}

// parseStartup decodes the start-up packet's names and values. refused are the protocol options
// that it asks for, of which there are none.
func parseStartup(version uint32, body []byte) (s Startup, refused []string, err error) {
	cur := cursor{b: body}
	s.Params = map[string]string{}
	options := ""
	for {
		name := string(cur.text())
		if cur.err == nil && name == "" {
			break
		}
		value := string(cur.text())
		if cur.err != nil {
			break
		}
		switch {
		case name == "user":
			s.User = value
		case name == "database":
			s.Database = value
		case name == "options":
			options = value
		case name == "replication":
			if replicationWanted(value) {
				return s, nil, sqlerr.Newf(sqlerr.FeatureNotSupported, "replication connections are not supported")
			}
		case strings.HasPrefix(name, "_pq_."):
			refused = append(refused, name)
		default:
			s.Params[name] = value
		}
	}
	if cur.err != nil || len(cur.b) > 0 {
		if e := (*sqlerr.Error)(nil); errors.As(cur.err, &e) && e.Code != sqlerr.ProtocolViolation {
			return s, nil, e
		}
		return s, nil, sqlerr.Newf(sqlerr.ProtocolViolation, "invalid startup packet layout: expected terminator as last byte")
	}
	if s.User == "" {
		return s, nil, sqlerr.Newf(sqlerr.InvalidAuthorization, "no PostgreSQL user name specified in startup packet")
	}
	if s.Database == "" {
		s.Database = s.User
	}
	fromOptions, err := parseOptions(options)
	if err != nil {
		return s, nil, err
	}
	for name, value := range fromOptions {
		if _, ok := s.Params[name]; !ok {
			s.Params[name] = value
		}
	}
	return s, refused, nil
}

// replicationWanted reads the value of the start-up parameter replication.
func replicationWanted(v string) bool {
	switch strings.ToLower(v) {
	case "", "false", "off", "no", "0", "f", "n":
		return false
	}
	return true
}

// parseOptions reads a start-up packet's command line: words separated by white space, in which a
// backslash takes away the meaning of the next character.
func parseOptions(s string) (map[string]string, error) {
	var words []string
	var word []byte
	open := false
	for i := 0; i < len(s); i++ {
		switch ch := s[i]; {
		case ch == ' ' || ch >= '\t' && ch <= '\r':
			if open {
				words = append(words, string(word))
				word, open = word[:0], false
			}
		case ch == '\\' && i+1 < len(s):
			i++
			word, open = append(word, s[i]), true
		default:
			word, open = append(word, ch), true
		}
	}
	if open {
		words = append(words, string(word))
	}
	settings := map[string]string{}
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w == "-c" && i+1 < len(words):
			i++
			w = words[i]
		case strings.HasPrefix(w, "--"):
			w = w[2:]
		case strings.HasPrefix(w, "-c"):
			w = w[2:]
		default:
			return nil, sqlerr.Newf(sqlerr.SyntaxError, "invalid command-line argument for server process: %s", words[i])
		}
		name, value, ok := strings.Cut(w, "=")
		if !ok {
			return nil, sqlerr.Newf(sqlerr.SyntaxError, "-c %s requires a value", w)
		}
		settings[strings.ReplaceAll(name, "-", "_")] = value
	}
	return settings, nil
}

// authExchange is a conn as its Authenticator sees it.
type authExchange conn

// Send implements AuthExchange.
func (x *authExchange) Send(m pgproto3.BackendMessage) error {
	c := (*conn)(x)
	c.encode(m)
	return c.flush()
}

// Ask implements AuthExchange.
func (x *authExchange) Ask(m pgproto3.BackendMessage) ([]byte, error) {
	if err := x.Send(m); err != nil {
		return nil, err
	}
	c := (*conn)(x)
	for {
		typ, body, ok, err := c.in.next()
		if err != nil {
			return nil, err
		}
		if ok {
			if typ != 'p' {
				return nil, sqlerr.Newf(sqlerr.ProtocolViolation, "expected password response, got message type %d", typ)
			}
			return body, nil
		}
		if err := c.in.fill(); err != nil {
			return nil, &lostError{err}
		}
	}
}
