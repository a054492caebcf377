package server

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// running starts a server; stop ends it.
func running(t *testing.T, cfg Config) (addr string, stop func()) {
	t.Helper()
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	return s.Addr().String(), func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// login connects and runs statements; it gives the error of the first that fails.
func login(t *testing.T, addr, params string, stmts ...string) error {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	db, err := pgx.Connect(ctx, "host="+host+" port="+port+" dbname=weir "+params)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close(ctx) }()
	for _, q := range stmts {
		if _, err := db.Exec(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

// Passwords, and the certificate that the server makes, outlive it.
func TestPasswords(t *testing.T) {
	dir := t.TempDir()
	cfg := Config{DataDir: dir, Listen: "127.0.0.1:0", HTTP: "off", TLS: "auto"}

	scram := cfg
	scram.Auth = "scram"
	if s, err := Open(scram); err == nil || !strings.Contains(err.Error(), "no user has one") {
		t.Fatal(s, err)
	}
	open := cfg
	open.Listen = "0.0.0.0:0"
	if s, err := Open(open); err == nil || !strings.Contains(err.Error(), "no user has a password") {
		t.Fatal(s, err)
	}

	addr, stop := running(t, cfg)
	root := "sslrootcert=" + filepath.Join(dir, ownCertFile)
	err := login(t, addr, "user=me sslmode=verify-full "+root,
		"CREATE USER alice PASSWORD 'secret'", "CREATE USER old PASSWORD 'secret' VALID UNTIL '2001-01-01'",
		"CREATE ROLE silent PASSWORD 'secret'", "CREATE USER once CONNECTION LIMIT 0",
		"CREATE TABLE t (a int)", "GRANT SELECT ON t TO alice")
	if err != nil {
		t.Fatal(err)
	}
	if err := login(t, addr, "user=silent sslmode=disable"); err == nil || !strings.Contains(err.Error(), "not permitted to log in (SQLSTATE 28000)") {
		t.Error(err)
	}
	if err := login(t, addr, "user=once sslmode=disable"); err == nil || !strings.Contains(err.Error(), "too many connections for role \"once\" (SQLSTATE 53300)") {
		t.Error(err)
	}
	stop()

	addr, stop = running(t, scram)
	defer stop()
	for _, c := range []struct{ params, stmt, want string }{
		{"user=alice password=secret sslmode=verify-full channel_binding=require " + root, "SELECT * FROM t", ""},
		{"user=alice password=secret sslmode=disable", "SELECT * FROM t", ""},
		{"user=alice password=secret sslmode=disable", "INSERT INTO t VALUES (1)", "SQLSTATE 42501"},
		{"user=alice password=secret sslmode=disable", "SET ROLE weir", "SQLSTATE 42501"},
		{"user=alice password=secret sslmode=disable", "SET weir.clock = '2024-01-01'", "SQLSTATE 42501"},
		{"user=alice password=wrong sslmode=disable", "", "SQLSTATE 28P01"},
		{"user=old password=secret sslmode=disable", "", "SQLSTATE 28P01"},
		{"user=silent password=secret sslmode=disable", "", "SQLSTATE 28P01"},
		{"user=me password=secret sslmode=disable", "", "SQLSTATE 28P01"},
		{"user=weir password='' sslmode=disable", "", "SQLSTATE 28P01"},
	} {
		stmts := []string{c.stmt}
		if c.stmt == "" {
			stmts = nil
		}
		err := login(t, addr, c.params, stmts...)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %s: %v, not %q", c.params, c.stmt, err, c.want)
		}
	}
}
