package sqlerr

import (
	"errors"
	"testing"
)

// TestErrorText: the cause is there, and once.
func TestErrorText(t *testing.T) {
	cause := errors.New("no such file")
	for _, c := range []struct {
		e    *Error
		want string
	}{
		{&Error{Code: IOError, Message: "m"}, "m (SQLSTATE 58030)"},
		{&Error{Code: IOError, Message: "m", Cause: cause}, "m (SQLSTATE 58030): no such file"},
		{&Error{Code: IOError, Message: "m: no such file", Cause: cause}, "m: no such file (SQLSTATE 58030)"},
	} {
		if got := c.e.Error(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
