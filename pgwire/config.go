package pgwire

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/jackc/pgproto3/v2"

	"github.com/weirdb/weir/sql/sqlerr"
)

// Config says how a Server works. Only Backend is required.
type Config struct {
	Backend Backend
	// Auth decides who may connect; nil is TrustLoopback.
	Auth Authenticator
	// TLS encrypts the connections of clients that ask for it; it has one certificate. nil refuses
	// encryption, and clients that insist on it go away.
	TLS *tls.Config
	// Logger takes the server's events; nil drops them.
	Logger *slog.Logger
	// MaxConnections is how many sessions there may be at once; 0 is 100. There may be twice as
	// many connections, so that a cancel request gets through when all sessions are taken.
	MaxConnections int
	// MaxMessageSize is the size from which a client's message is refused; 0 is 256 MiB. The data
	// of COPY is not limited, it is never held as a whole.
	MaxMessageSize int
	// WriteBuffer is the size from which the output buffer is written out; 0 is 32 KiB.
	WriteBuffer int
	// StartupTimeout is the time in which a client must have finished its start-up; 0 is 1 minute.
	StartupTimeout time.Duration
	// MessageTimeout is how long a client that has begun a message may be silent before its connection is
	// closed; 0 is 1 minute, negative is for ever.
	MessageTimeout time.Duration
	// ClientCheck is how often it is looked whether the client of a running statement is still
	// there; 0 is 1 second, negative is never. A statement whose client went away is cancelled.
	ClientCheck time.Duration
	// KeepAlive is the idle time after which TCP asks whether the client is still there; 0 is 1
	// minute, negative is never.
	KeepAlive time.Duration
	// StopGrace is how long a connection may take, once it was told to end, to write its last
	// words and to come to its end; 0 is 5 seconds.
	StopGrace time.Duration
}

// withDefaults checks c and fills in what was left out.
func (c Config) withDefaults() (Config, error) {
	if c.Backend == nil {
		return c, errors.New("pgwire: Config.Backend is nil")
	}
	if c.MaxConnections < 0 || c.MaxMessageSize < 0 || c.WriteBuffer < 0 || c.StartupTimeout < 0 || c.StopGrace < 0 {
		return c, errors.New("pgwire: a limit in Config is negative")
	}
	if c.TLS != nil && (len(c.TLS.Certificates) != 1 || c.TLS.Certificates[0].Leaf == nil) {
		return c, errors.New("pgwire: Config.TLS has not exactly one certificate, with its Leaf")
	}
	if c.Auth == nil {
		c.Auth = TrustLoopback{}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	setDefault(&c.MaxConnections, 100)
	setDefault(&c.MaxMessageSize, 256<<20)
	setDefault(&c.WriteBuffer, 32<<10)
	setDefault(&c.StartupTimeout, time.Minute)
	setDefault(&c.MessageTimeout, time.Minute)
	setDefault(&c.ClientCheck, time.Second)
	setDefault(&c.KeepAlive, time.Minute)
	setDefault(&c.StopGrace, 5*time.Second)
	return c, nil
}

func setDefault[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}

// Authenticator decides whether a client may connect as the user it names.
type Authenticator interface {
	// Authenticate returns nil to let the client in, or the error to report as FATAL. It may ask
	// the client for passwords and the like. AuthenticationOk is not its business.
	Authenticate(ctx context.Context, s Startup, x AuthExchange) error
}

// AuthExchange is the conversation of an Authenticator with the client.
type AuthExchange interface {
	// Send sends an authentication message that the client does not answer (SASL final).
	Send(m pgproto3.BackendMessage) error
	// Ask sends an authentication request and gives the body of the client's answer, valid until
	// the next call.
	Ask(m pgproto3.BackendMessage) ([]byte, error)
}

// TrustLoopback lets in, without a password, every client that connects from this machine, and
// nobody else.
type TrustLoopback struct{}

// Authenticate implements Authenticator.
func (TrustLoopback) Authenticate(_ context.Context, s Startup, _ AuthExchange) error {
	if fromHere(s.Remote) {
		return nil
	}
	host := s.Remote.String()
	if a, ok := s.Remote.(*net.TCPAddr); ok {
		host = a.IP.String()
	}
	return sqlerr.Newf(sqlerr.InvalidAuthorization,
		"no pg_hba.conf entry for host %q, user %q, database %q, no encryption", host, s.User, s.Database).
		WithHint("This server accepts connections without a password only from its own machine.")
}

// TrustAll lets in everybody. It is for networks in which every client is trusted.
type TrustAll struct{}

// Authenticate implements Authenticator.
func (TrustAll) Authenticate(context.Context, Startup, AuthExchange) error { return nil }

// Stats counts what a Server did. The fields may be read at any time.
type Stats struct {
	// Connections counts accepted connections, also those that only cancel; Open those that are
	// open; Sessions those that finished their start-up and are open.
	Connections, Open, Sessions atomic.Int64
	// Refused counts connections that were turned away by a limit or by authentication.
	Refused atomic.Int64
	// Messages, BytesRead and BytesWritten count the traffic, updated at each flush.
	Messages, BytesRead, BytesWritten atomic.Int64
	// Statements counts the statements that ran, Errors the errors that were reported.
	Statements, Errors atomic.Int64
	// Cancels counts the cancel requests that found their statement running.
	Cancels atomic.Int64
	// Panics counts the connections that ended with a panic.
	Panics atomic.Int64
}
