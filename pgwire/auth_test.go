package pgwire

import (
	"context"

	"github.com/jackc/pgproto3/v2"

	"github.com/weirdb/weir/sql/sqlerr"
)

// passwordAuth asks for one password.
type passwordAuth string

func (p passwordAuth) Authenticate(_ context.Context, s Startup, x AuthExchange) error {
	answer, err := x.Ask(&pgproto3.AuthenticationCleartextPassword{})
	if err != nil {
		return err
	}
	if string(answer) != string(p)+"\x00" {
		return sqlerr.Newf(sqlerr.InvalidPassword, "password authentication failed for user %q", s.User)
	}
	return nil
}
