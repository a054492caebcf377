package pgwire

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
)

// testCert makes a certificate for localhost that signs itself, and the file of it.
func testCert(t *testing.T) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"},
		NotBefore: time.Unix(0, 0), NotAfter: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "root.crt")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, file
}

// secured starts a server with TLS and passwords for everybody: that of user is "päss wörd".
func secured(t *testing.T) (s *script, host, port, root string) {
	t.Helper()
	cert, root := testCert(t)
	v, err := NewVerifier("päss wörd")
	if err != nil {
		t.Fatal(err)
	}
	auth, err := NewScram(func(_ context.Context, user string) (Verifier, bool, error) { return v, user == "user", nil }, true, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	s = startScript(t, Config{TLS: &tls.Config{Certificates: []tls.Certificate{cert}}, Auth: auth})
	t.Cleanup(s.end)
	host, port, err = net.SplitHostPort(s.addr)
	if err != nil {
		t.Fatal(err)
	}
	return s, host, port, root
}

func TestSecuredPgx(t *testing.T) {
	_, host, port, root := secured(t)
	ctx, cancel := context.WithTimeout(t.Context(), scriptTimeout)
	defer cancel()
	for _, c := range []struct{ params, user, password, want string }{
		{"sslmode=disable", "user", "päss wörd", ""},
		{"sslmode=require channel_binding=require", "user", "päss wörd", ""},
		{"sslmode=require channel_binding=disable", "user", "päss wörd", ""},
		{"sslmode=verify-full sslrootcert=" + root, "user", "päss wörd", ""},
		{"sslmode=verify-full sslnegotiation=direct sslrootcert=" + root, "user", "päss wörd", ""},
		{"sslmode=disable channel_binding=require", "user", "päss wörd", "channel binding"},
		{"sslmode=require", "user", "wrong", `password authentication failed for user "user" (SQLSTATE 28P01)`},
		{"sslmode=require", "nobody", "päss wörd", `password authentication failed for user "nobody" (SQLSTATE 28P01)`},
		{"sslmode=disable", "nobody", "", `password authentication failed for user "nobody" (SQLSTATE 28P01)`},
	} {
		cfg, err := pgx.ParseConfig(fmt.Sprintf("host=%s port=%s user=%s password='%s' dbname=db %s", host, port, c.user, c.password, c.params))
		if err != nil {
			t.Fatalf("%s: %v", c.params, err)
		}
		db, err := pgx.ConnectConfig(ctx, cfg)
		if err == nil {
			var n int
			err = db.QueryRow(ctx, "select $1::int", 7).Scan(&n)
			_ = db.Close(ctx)
		}
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.params, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s as %s: %v, not %s", c.params, c.user, err, c.want)
		}
	}
}

func TestSecuredPsql(t *testing.T) {
	psql, err := exec.LookPath("psql")
	if err != nil {
		return // the same is tested with pgx
	}
	_, host, port, root := secured(t)
	run := func(conninfo string) string {
		cmd := exec.CommandContext(t.Context(), psql, "-X", "-A", "-t", "-w", "-c", "select 1",
			fmt.Sprintf("host=%s port=%s dbname=db %s", host, port, conninfo))
		cmd.Env = append(os.Environ(), "PGPASSWORD=päss wörd")
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	for _, mode := range []string{"disable", "allow", "prefer", "require channel_binding=require", "verify-ca sslrootcert=" + root, "verify-full sslrootcert=" + root} {
		if out := run("user=user sslmode=" + mode); out != "1\n" {
			t.Errorf("sslmode=%s: %s", mode, out)
		}
	}
	if out := run("user=else sslmode=require"); !strings.Contains(out, `FATAL:  password authentication failed for user "else"`) {
		t.Error(out)
	}
}

// Whoever puts bytes in front of the handshake does not get them taken for the client's.
func TestEarlyBytes(t *testing.T) {
	s, _, _, _ := secured(t)
	nc, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = nc.Close() }()
	if _, err := nc.Write(append(sslRequest(), "Q\x00\x00\x00\x0fdrop table"...)); err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(nc)
	if !strings.Contains(string(b), "received unencrypted data after SSL request") {
		t.Fatalf("%q", b)
	}
}

func sslRequest() []byte {
	b, _ := hex.DecodeString("0000000804d2162f")
	return b
}

// A statement that is cancelled while the client does not read leaves the encrypted stream whole.
func TestCancelWhileEncryptedClientDoesNotRead(t *testing.T) {
	cert, _ := testCert(t)
	synctest.Test(t, func(t *testing.T) {
		p := startPipe(t, Config{WriteBuffer: 1000, TLS: &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}})
		nc := p.dialSilent().nc
		if _, err := nc.Write(sslRequest()); err != nil {
			t.Fatal(err)
		}
		var yes [1]byte
		if _, err := io.ReadFull(nc, yes[:]); err != nil || yes[0] != 'S' {
			t.Fatal(yes, err)
		}
		enc := tls.Client(nc, &tls.Config{InsecureSkipVerify: true})
		c := &scriptClient{nc: enc, fe: pgproto3.NewFrontend(enc, enc)}
		c.fe.Send(&pgproto3.StartupMessage{ProtocolVersion: 196608, Parameters: map[string]string{"user": "u"}})
		if err := c.fe.Flush(); err != nil {
			t.Fatal(err)
		}
		c.until(nil)
		c.query(t, "select generate_series(1,1000000) as g")
		synctest.Wait()
		head := make([]byte, 700)
		if _, err := io.ReadFull(enc, head); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !p.srv.Cancel(int32(c.pid)) {
			t.Fatal("nothing to cancel")
		}
		synctest.Wait()
		fe := pgproto3.NewFrontend(io.MultiReader(bytes.NewReader(head), enc), enc)
		out := (&scriptClient{nc: enc, fe: fe}).until(nil)
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

// The verifiers are PostgreSQL's.
func TestVerifier(t *testing.T) {
	// What PostgreSQL 15 stored for the password "secret".
	const stored = "SCRAM-SHA-256$4096:sjK7YhNDspnHn/d5BW7AEA==$IBThaBIKV1bYCoySTfetL1ClP5Wm0CAlFEGZcNL0M+g=:PG6EVYINhIsVfX1hEHauNDVsAdgwF2e2ZoWe1HyzGRA="
	v, ok := ParseVerifier(stored)
	if !ok || v.String() != stored || !v.Check("secret") {
		t.Fatalf("%v %s", ok, v)
	}
	w, err := NewVerifier("secret")
	if err != nil {
		t.Fatal(err)
	}
	again, ok := ParseVerifier(w.String())
	if !ok || !again.Check("secret") || again.Check("Secret") || again.Check("") {
		t.Error(w)
	}
	for _, bad := range []string{"", "secret", "SCRAM-SHA-256$", "SCRAM-SHA-256$0:AAAA$AAAA:AAAA", "SCRAM-SHA-256$4096:AAAA$AAAA:AAAA", strings.Replace(stored, "4096", "-1", 1), strings.Replace(stored, "==$", "$", 1)} {
		if _, ok := ParseVerifier(bad); ok {
			t.Errorf("%q is a verifier", bad)
		}
	}
}
