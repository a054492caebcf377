// Package server composes Weir and owns the life of the process: it opens the engine, listens for the
// Postgres protocol and for HTTP (health, metrics, profiles), and shuts down in order.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weirdb/weir/checkpoint"
	"github.com/weirdb/weir/checkpoint/failover"
	"github.com/weirdb/weir/connector"
	"github.com/weirdb/weir/connector/builtin"
	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/pgwire"
	"github.com/weirdb/weir/server/engine"
	"github.com/weirdb/weir/server/session"
	"github.com/weirdb/weir/server/syscat"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/storage"
)

// Config says how a server works. The zero value of a field means its default.
type Config struct {
	// DataDir holds everything durable. Default ./weir-data.
	DataDir string
	// Listen is the address for clients, HTTP the one for health and metrics ("off" for none).
	// Defaults 127.0.0.1:9347 and 127.0.0.1:9348.
	Listen, HTTP string
	// MemoryLimit bounds the memory of the process, in bytes. Default 70 % of the machine's.
	MemoryLimit int64
	// Parallelism is the number of actors of a parallel fragment. Default: the number of cores.
	Parallelism int
	// MaxRecursion bounds the iterations of a recursive query in a view or sink, for one epoch. Default: 100000.
	MaxRecursion int
	// BarrierInterval is the longest time that input waits for its epoch to end, CheckpointInterval
	// the time between checkpoints. Defaults 100 ms and 1 s.
	BarrierInterval, CheckpointInterval time.Duration
	// CheckpointTimeout is how long a checkpoint may take until all actors have passed its barrier; then it is aborted
	// (0: as long as it needs). CheckpointsInFlight is how many may be on their way at a time. Default 2.
	CheckpointTimeout   time.Duration
	CheckpointsInFlight int
	// StuckAfter is how long a barrier may be on its way until the log names the actors that it waits for. Default 10 s.
	StuckAfter time.Duration
	// FailoverStrategy is what is restarted when a job fails: restart-region (the default), its region alone;
	// restart-all, everything. RestartAttempts is how often a job may fail in a row before it is stalled
	// (0: 5, negative: always again), RestartDelayMax the longest pause before a restart (0: 2 s).
	FailoverStrategy string
	RestartAttempts  int
	RestartDelayMax  time.Duration
	// BlockingAlignment: a producer that is ahead by a barrier waits for the others, instead of having what it sends
	// meanwhile kept in memory and on disk.
	BlockingAlignment bool
	// CheckpointsRetained is how many checkpoints before the newest one are kept, to go back to if that is
	// damaged (negative: none), CheckpointRetentionInterval the least time between two of them. Defaults 2
	// and 1 minute.
	CheckpointsRetained         int
	CheckpointRetentionInterval time.Duration
	// ShutdownGrace is how long running statements may take to end at a shutdown. Default 10 s.
	ShutdownGrace time.Duration
	// MaxConnections is how many sessions there may be at once. Default 5000.
	MaxConnections int
	// RecoveryGrace is how long, after a failure, a recovery waits for statements whose clients do not
	// read or do not send. Default 5 s.
	RecoveryGrace time.Duration
	Logger        *slog.Logger
	// Connectors are the sources and sinks that there are. Default: those that come with Weir.
	Connectors *connector.Registry
	// TLS is "off" (the default) or "auto": a certificate that the server makes and keeps in the data directory.
	// TLSCert and TLSKey are files of one's own.
	TLS, TLSCert, TLSKey string
	// Auth is "trust" (the default): clients from this machine need no password; or "scram": everybody does.
	Auth string
	// Insecure allows an address that other machines reach, without passwords.
	Insecure bool
	// Tune changes what the engine is opened with; for tests (chunk size, file system).
	Tune func(*engine.Config)
}

func (c Config) withDefaults() Config {
	if c.DataDir == "" {
		c.DataDir = "./weir-data"
	}
	if c.Listen == "" {
		c.Listen = "127.0.0.1:9347"
	}
	if c.HTTP == "" {
		c.HTTP = "127.0.0.1:9348"
	}
	if c.MemoryLimit == 0 {
		c.MemoryLimit = machineMemory() / 10 * 7
	}
	if c.MaxRecursion == 0 {
		c.MaxRecursion = 100_000
	}
	if c.Parallelism == 0 {
		c.Parallelism = runtime.GOMAXPROCS(0)
	}
	if c.BarrierInterval == 0 {
		c.BarrierInterval = 100 * time.Millisecond
	}
	if c.CheckpointInterval == 0 {
		c.CheckpointInterval = time.Second
	}
	if c.FailoverStrategy == "" {
		c.FailoverStrategy = failover.Region
	}
	if c.ShutdownGrace == 0 {
		c.ShutdownGrace = 10 * time.Second
	}
	if c.MaxConnections == 0 {
		c.MaxConnections = 5000
	}
	if c.RecoveryGrace == 0 {
		c.RecoveryGrace = 5 * time.Second
	}
	if c.Connectors == nil {
		c.Connectors = builtin.New()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// machineMemory is the memory that the process may use: the machine's, or what its cgroup allows. 0 if
// neither can be read.
func machineMemory() int64 {
	var total int64
	if b, err := os.ReadFile("/proc/meminfo"); err == nil {
		for line := range strings.Lines(string(b)) {
			if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
				kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
				if err == nil {
					total = kb << 10
				}
			}
		}
	}
	for _, f := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		b, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && n > 0 && (total == 0 || n < total) {
			total = n
		}
	}
	return total
}

// Server is a running server.
type Server struct {
	cfg    Config
	engine *engine.Engine
	wire   *pgwire.Server
	ln     net.Listener
	http   *http.Server
	httpLn net.Listener
}

// Open opens the data directory, recovers, and listens. Run serves.
func Open(cfg Config) (*Server, error) {
	cfg = cfg.withDefaults()
	if _, err := local(cfg); err != nil {
		return nil, err
	}
	if cfg.MemoryLimit > 0 {
		debug.SetMemoryLimit(engine.HeapLimit(cfg.MemoryLimit, 0))
		fewArenas()
	}
	strategy, err := failover.Parse(cfg.FailoverStrategy)
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg}
	// Listening first: a port that is taken must not cost a recovery.
	if s.ln, err = net.Listen("tcp", cfg.Listen); err != nil {
		return nil, fmt.Errorf("listen for clients: %w", err)
	}
	if cfg.HTTP != "off" {
		if s.httpLn, err = net.Listen("tcp", cfg.HTTP); err != nil {
			return nil, errors.Join(fmt.Errorf("listen for HTTP: %w", err), s.ln.Close())
		}
	}
	ec := engine.Config{
		Storage: storage.Config{
			Dir: cfg.DataDir, Retained: cfg.CheckpointsRetained, RetainInterval: cfg.CheckpointRetentionInterval,
		},
		Logger: cfg.Logger, Parallelism: cfg.Parallelism, MaxRecursion: cfg.MaxRecursion,
		Checkpoint: checkpoint.Config{
			BarrierInterval: cfg.BarrierInterval, CheckpointInterval: cfg.CheckpointInterval, CheckpointTimeout: cfg.CheckpointTimeout,
			MaxCheckpoints: cfg.CheckpointsInFlight,
		},
		StuckAfter:  cfg.StuckAfter,
		MemoryLimit: cfg.MemoryLimit, Connectors: cfg.Connectors, Registry: syscat.Registry(), Catalog: syscat.WithSystem,
	}
	ec.Failover = failover.Config{Attempts: cfg.RestartAttempts, MaxDelay: cfg.RestartDelayMax, Strategy: strategy}
	if cfg.BlockingAlignment {
		ec.Alignment = flow.Blocking
	}
	if cfg.Tune != nil {
		cfg.Tune(&ec)
	}
	s.engine, err = engine.Open(ec)
	if err != nil {
		err = errors.Join(err, s.ln.Close())
		if s.httpLn != nil {
			err = errors.Join(err, s.httpLn.Close())
		}
		return nil, err
	}
	// The data directory exists now.
	encryption, err := tlsConfig(cfg)
	if err == nil {
		err = s.checkPasswords()
	}
	auth, authErr := s.authenticator()
	if err = errors.Join(err, authErr); err != nil {
		return nil, errors.Join(err, s.abandon())
	}
	s.wire, err = pgwire.NewServer(pgwire.Config{
		Backend: &session.Backend{
			Engine: s.engine, Logger: cfg.Logger, Registry: syscat.Registry(), RecoveryGrace: cfg.RecoveryGrace,
			Interrupt: func(pid int32, err *sqlerr.Error) bool { return s.wire.Interrupt(pid, err) },
			Fact:      s.fact(encryption != nil),
		},
		Auth: auth, TLS: encryption, Logger: cfg.Logger, MaxConnections: cfg.MaxConnections,
	})
	if err != nil {
		return nil, err
	}
	s.http = &http.Server{Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second}
	return s, nil
}

// fact gives the settings that say how the server runs.
func (s *Server) fact(encrypted bool) func(setting string) (string, bool) {
	return func(setting string) (string, bool) {
		host, port, err := net.SplitHostPort(s.ln.Addr().String())
		if err != nil { // not a TCP address
			return "", false
		}
		switch setting {
		case "max_connections":
			return strconv.Itoa(s.cfg.MaxConnections), true
		case "port":
			return port, true
		case "listen_addresses":
			if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
				host = "*"
			}
			return host, true
		case "ssl":
			if encrypted {
				return "on", true
			}
			return "off", true
		}
		return "", false
	}
}

// local tells whether only this machine reaches the address for clients.
func local(cfg Config) (bool, error) {
	host, _, err := net.SplitHostPort(cfg.Listen)
	if err != nil {
		return false, fmt.Errorf("address %q: %w", cfg.Listen, err)
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback(), nil
}

// checkPasswords refuses to ask for passwords where nobody has one.
func (s *Server) checkPasswords() error {
	here, err := local(s.cfg)
	if err != nil || s.cfg.Insecure || here && s.cfg.Auth != "scram" {
		return err
	}
	for _, r := range s.engine.Catalog().RoleList() {
		if r.Login && r.Password != "" {
			return nil
		}
	}
	const how = "start the server on a loopback address without --auth, and run CREATE USER name PASSWORD '...', or ALTER USER weir PASSWORD '...'"
	if here {
		return errors.New("passwords are asked for, and no user has one: " + how)
	}
	return fmt.Errorf("address %q can be reached from other machines, and no user has a password: %s. "+
		"Or use --insecure if that is what you want", s.cfg.Listen, how)
}

// loginDelay is how long a failed login has to wait for its answer.
const loginDelay = 500 * time.Millisecond

// authenticator makes what decides who may connect.
func (s *Server) authenticator() (pgwire.Authenticator, error) {
	switch s.cfg.Auth {
	case "", "trust", "scram":
	default:
		return nil, fmt.Errorf("auth is %q, but can only be trust or scram", s.cfg.Auth)
	}
	if s.cfg.Insecure {
		return pgwire.TrustAll{}, nil
	}
	return pgwire.NewScram(s.verifier, s.cfg.Auth == "scram", loginDelay)
}

// verifier finds the password of a user who may log in with one.
func (s *Server) verifier(_ context.Context, user string) (pgwire.Verifier, bool, error) {
	v, ok := session.Password(s.engine.Catalog(), user, time.Now())
	return v, ok, nil
}

// abandon closes what Open has opened.
func (s *Server) abandon() error {
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.ShutdownGrace)
	defer cancel()
	err := errors.Join(s.ln.Close(), s.engine.Close(ctx))
	if s.httpLn != nil {
		err = errors.Join(err, s.httpLn.Close())
	}
	return err
}

// Addr is where clients connect; HTTPAddr is nil if there is no HTTP.
func (s *Server) Addr() net.Addr { return s.ln.Addr() }

// Engine gives the engine, for tools that run in the server's process.
func (s *Server) Engine() *engine.Engine { return s.engine }

// HTTPAddr is where health and metrics are.
func (s *Server) HTTPAddr() net.Addr {
	if s.httpLn == nil {
		return nil
	}
	return s.httpLn.Addr()
}

// Run serves until ctx ends, and then shuts down in order: clients, HTTP, a last checkpoint.
func (s *Server) Run(ctx context.Context) error {
	g, serving := errgroup.WithContext(ctx)
	g.Go(func() error {
		if err := s.wire.Serve(context.WithoutCancel(ctx), s.ln); err != nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, pgwire.ErrServerClosed) {
			return fmt.Errorf("serve clients: %w", err)
		}
		return nil
	})
	if s.httpLn != nil {
		g.Go(func() error {
			if err := s.http.Serve(s.httpLn); err != nil && !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("serve HTTP: %w", err)
			}
			return nil
		})
	}
	if s.cfg.MemoryLimit > 0 {
		go s.keepMemory(serving)
	}
	g.Go(func() error {
		select {
		case <-serving.Done():
			return s.shutdown()
		case err := <-s.engine.Fatal():
			return errors.Join(fmt.Errorf("storage: %w", err), s.shutdown())
		}
	})
	return g.Wait()
}

func (s *Server) shutdown() error {
	s.cfg.Logger.Info("shutting down", "event", "shutdown")
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.ShutdownGrace)
	defer cancel()
	err := s.wire.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		s.cfg.Logger.Warn("statements were cut off by the shutdown")
		err = nil
	}
	if s.httpLn != nil {
		err = errors.Join(err, s.http.Shutdown(ctx))
	}
	last, cancelLast := context.WithTimeout(context.Background(), s.cfg.ShutdownGrace)
	defer cancelLast()
	return errors.Join(err, s.engine.Close(last))
}
