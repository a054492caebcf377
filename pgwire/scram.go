package pgwire

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgproto3/v2"
	"github.com/xdg-go/scram"

	"github.com/weirdb/weir/sql/sqlerr"
)

const (
	mechanism     = "SCRAM-SHA-256"
	mechanismPlus = "SCRAM-SHA-256-PLUS"
	// scramIterations and saltSize are those of PostgreSQL 15.
	scramIterations = 4096
	saltSize        = 16
)

// Verifier is what a server keeps of a password: enough to check it, not enough to log in with it. Its
// text is PostgreSQL's, SCRAM-SHA-256$iterations:salt$StoredKey:ServerKey (RFC 5803), so that
// passwords can be moved between the two.
type Verifier struct{ c scram.StoredCredentials }

// NewVerifier makes the verifier of a password, with a salt of its own.
func NewVerifier(password string) (Verifier, error) {
	salt := make([]byte, saltSize)
	if _, err := rand.Read(salt); err != nil {
		return Verifier{}, err
	}
	return newVerifier(password, salt)
}

func newVerifier(password string, salt []byte) (Verifier, error) {
	client, err := scram.SHA256.NewClient("", password, "")
	if err != nil {
		// As PostgreSQL does: what SASLprep refuses is taken as it is.
		if client, err = scram.SHA256.NewClientUnprepped("", password, ""); err != nil {
			return Verifier{}, err
		}
	}
	c, err := client.GetStoredCredentialsWithError(scram.KeyFactors{Salt: string(salt), Iters: scramIterations})
	return Verifier{c}, err
}

// ParseVerifier reads the text of a verifier; ok is false if it is something else, a password for
// example.
func ParseVerifier(s string) (v Verifier, ok bool) {
	rest, ok := strings.CutPrefix(s, mechanism+"$")
	if !ok {
		return v, false
	}
	head, keys, ok1 := strings.Cut(rest, "$")
	iterations, salt64, ok2 := strings.Cut(head, ":")
	stored64, server64, ok3 := strings.Cut(keys, ":")
	if !ok1 || !ok2 || !ok3 {
		return v, false
	}
	n, err := strconv.ParseInt(iterations, 10, 32)
	salt, err1 := base64.StdEncoding.DecodeString(salt64)
	stored, err2 := base64.StdEncoding.DecodeString(stored64)
	server, err3 := base64.StdEncoding.DecodeString(server64)
	if errors.Join(err, err1, err2, err3) != nil || n < 1 || len(stored) != sha256.Size || len(server) != sha256.Size {
		return v, false
	}
	return Verifier{scram.StoredCredentials{
		KeyFactors: scram.KeyFactors{Salt: string(salt), Iters: int(n)}, StoredKey: stored, ServerKey: server,
	}}, true
}

// String gives the text that ParseVerifier reads.
func (v Verifier) String() string {
	b64 := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("%s$%d:%s$%s:%s", mechanism, v.c.Iters, b64([]byte(v.c.Salt)), b64(v.c.StoredKey), b64(v.c.ServerKey))
}

// Check says whether password is the one that v was made of.
func (v Verifier) Check(password string) bool {
	w, err := newVerifier(password, []byte(v.c.Salt))
	return err == nil && w.c.Iters == v.c.Iters && hmac.Equal(w.c.StoredKey, v.c.StoredKey)
}

// Scram is an Authenticator that trusts clients from this machine, unless told otherwise, and asks all
// others for a password by SCRAM-SHA-256 (RFC 5802, RFC 7677), bound to the TLS connection
// (tls-server-end-point, RFC 5929) if the client can do that.
//
// A user that does not exist, or has no password, is asked all the same, and refused in the same
// way: nobody learns from here which users there are.
type Scram struct {
	lookup func(ctx context.Context, user string) (Verifier, bool, error)
	// always asks clients from this machine too.
	always bool
	// delay is waited before a failed login is answered.
	delay time.Duration
	// secret makes the salts of users that do not exist.
	secret [32]byte
}

// NewScram makes a Scram. lookup gives the verifier of a user, and false for one who cannot log in with a
// password; always says that clients from this machine need one too; a failed login is answered
// after delay.
func NewScram(lookup func(ctx context.Context, user string) (Verifier, bool, error), always bool, delay time.Duration) (*Scram, error) {
	s := &Scram{lookup: lookup, always: always, delay: delay}
	if _, err := rand.Read(s.secret[:]); err != nil {
		return nil, err
	}
	return s, nil
}

// Authenticate implements Authenticator.
func (a *Scram) Authenticate(ctx context.Context, s Startup, x AuthExchange) error {
	if !a.always && fromHere(s.Remote) {
		return nil
	}
	known, err := a.exchange(ctx, s, x)
	if err == nil && known {
		return nil
	}
	if e := (*sqlerr.Error)(nil); err != nil && !errors.Is(err, errProof) {
		if errors.As(err, &e) {
			return e
		}
		return err
	}
	t := time.NewTimer(a.delay)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
	return sqlerr.Newf(sqlerr.InvalidPassword, "password authentication failed for user \"%s\"", s.User)
}

// errProof says that the client does not know the password.
var errProof = errors.New("wrong password")

// exchange asks for the password; known says that there is such a user.
func (a *Scram) exchange(ctx context.Context, s Startup, x AuthExchange) (known bool, err error) {
	v, known, err := a.lookup(ctx, s.User)
	if err != nil {
		return false, err
	}
	if !known {
		h := hmac.New(sha256.New, a.secret[:])
		h.Write([]byte(s.User))
		if v, err = newVerifier("", h.Sum(nil)[:saltSize]); err != nil {
			return false, err
		}
	}
	server, err := scram.SHA256.NewServer(func(string) (scram.StoredCredentials, error) { return v.c, nil })
	if err != nil {
		return false, err
	}
	mechanisms := []string{mechanism}
	conv := server.NewConversation()
	// There is no binding for some kinds of certificates (Ed25519, RFC 5929 has no hash for it).
	if b, err := scram.NewTLSServerEndpointBinding(s.tlsState()); err == nil {
		mechanisms = []string{mechanismPlus, mechanism}
		conv = server.NewConversationWithChannelBinding(b)
	}
	body, err := x.Ask(&pgproto3.AuthenticationSASL{AuthMechanisms: mechanisms})
	if err != nil {
		return false, err
	}
	first, err := saslInitial(body, mechanisms)
	if err != nil {
		return false, err
	}
	challenge, err := conv.Step(first)
	if challenge == scram.ErrServerDoesSupportChannelBinding {
		return false, sqlerr.Newf(sqlerr.InvalidAuthorization, "SCRAM channel binding negotiation error").
			WithDetail("The client supports SCRAM channel binding but thinks the server does not. However, this server does support channel binding.")
	}
	if err != nil {
		return false, malformed(err)
	}
	if body, err = x.Ask(&pgproto3.AuthenticationSASLContinue{Data: []byte(challenge)}); err != nil {
		return false, err
	}
	final, err := conv.Step(string(body))
	switch {
	case conv.Valid() && err == nil && known:
		return true, x.Send(&pgproto3.AuthenticationSASLFinal{Data: []byte(final)})
	case err == nil, final == scram.ErrInvalidProof:
		return known, errProof
	case final == scram.ErrChannelBindingsDontMatch:
		return known, sqlerr.Newf(sqlerr.InvalidAuthorization, "SCRAM channel binding check failed")
	}
	return known, malformed(err)
}

// malformed is the error for a message that does not make sense.
func malformed(err error) error {
	return sqlerr.Newf(sqlerr.ProtocolViolation, "malformed SCRAM message").WithDetail("%s.", err.Error())
}

// saslInitial reads a SASLInitialResponse: the mechanism, which must be one that was offered and must fit
// what the data say about binding, and the data.
func saslInitial(body []byte, offered []string) (string, error) {
	name, rest, ok := bytes.Cut(body, []byte{0})
	if !ok || len(rest) < 4 {
		return "", sqlerr.Newf(sqlerr.ProtocolViolation, "insufficient data left in message")
	}
	known := false
	for _, m := range offered {
		known = known || m == string(name)
	}
	if !known {
		return "", sqlerr.Newf(sqlerr.ProtocolViolation, "client selected an invalid SASL authentication mechanism")
	}
	n := int32(binary.BigEndian.Uint32(rest))
	if rest = rest[4:]; int(n) != len(rest) {
		return "", sqlerr.Newf(sqlerr.ProtocolViolation, "invalid message format")
	}
	switch bound := bytes.HasPrefix(rest, []byte("p=")); {
	case bound && string(name) != mechanismPlus:
		return "", malformed(errors.New("the client selected SCRAM-SHA-256 without channel binding, but the SCRAM message includes channel binding data"))
	case !bound && string(name) == mechanismPlus:
		return "", malformed(errors.New("the client selected SCRAM-SHA-256-PLUS, but the SCRAM message does not include channel binding data"))
	}
	return string(rest), nil
}

// tlsState is the state of the client's side of the connection, as far as a binding to the server's
// certificate needs it; nil without TLS.
func (s Startup) tlsState() *tls.ConnectionState {
	if s.Certificate == nil {
		return nil
	}
	return &tls.ConnectionState{PeerCertificates: []*x509.Certificate{s.Certificate}}
}

// fromHere says that addr is of this machine.
func fromHere(addr net.Addr) bool {
	if addr == nil || addr.Network() == "unix" {
		return true
	}
	a, ok := addr.(*net.TCPAddr)
	return ok && a.IP.IsLoopback()
}
