package expr

import (
	"strconv"
	"strings"

	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// formatter is one evaluation of format(): %[position$][-][width|*|*position$](s|I|L).
type formatter struct {
	x    *genCall
	args []types.Datum
	s    string
	i    int
	next int // the argument after the one used last
	out  strings.Builder
}

func format(x *genCall, a []types.Datum) (types.Datum, error) {
	if !a[0].Valid {
		return types.Null, nil
	}
	f := formatter{x: x, args: a, s: a[0].S, next: 1}
	for f.i < len(f.s) {
		c := f.s[f.i]
		f.i++
		if c != '%' {
			f.out.WriteByte(c)
			continue
		}
		if err := f.spec(); err != nil {
			return types.Null, err
		}
	}
	return types.DStr(f.out.String()), nil
}

func errFormat(msg string, args ...any) *sqlerr.Error {
	return sqlerr.Newf(sqlerr.InvalidParameterValue, msg, args...)
}

// peek gives the next byte; the end of the format inside a specifier is an error.
func (f *formatter) peek() (byte, error) {
	if f.i == len(f.s) {
		return 0, errFormat("unterminated format() type specifier").
			WithHint("For a single \"%%\" use \"%%%%\".")
	}
	return f.s[f.i], nil
}

// number reads digits; ok is false if there are none.
func (f *formatter) number() (n int, ok bool, err error) {
	start := f.i
	for f.i < len(f.s) && isDigitByte(f.s[f.i]) {
		f.i++
	}
	if f.i == start {
		return 0, false, nil
	}
	v, err := strconv.ParseInt(f.s[start:f.i], 10, 32)
	if err != nil {
		return 0, false, sqlerr.Newf(sqlerr.NumericValueOutOfRange, "number is out of range")
	}
	return int(v), true, nil
}

// position reads "n$" if it stands here.
func (f *formatter) position() (n int, ok bool, err error) {
	start := f.i
	n, ok, err = f.number()
	if err != nil || !ok {
		return 0, false, err
	}
	if f.i < len(f.s) && f.s[f.i] == '$' {
		f.i++
		if n == 0 {
			return 0, false, errFormat("format specifies argument 0, but arguments are numbered from 1")
		}
		return n, true, nil
	}
	f.i = start
	return 0, false, nil
}

// arg gives argument n, or with n 0 the next one.
func (f *formatter) arg(n int) (int, error) {
	if n == 0 {
		n = f.next
	}
	if n >= len(f.args) {
		return 0, errFormat("too few arguments for format()")
	}
	f.next = n + 1
	return n, nil
}

func (f *formatter) spec() error {
	c, err := f.peek()
	if err != nil {
		return err
	}
	if c == '%' {
		f.out.WriteByte(c)
		f.i++
		return nil
	}
	pos, _, err := f.position()
	if err != nil {
		return err
	}
	left := false
	for f.i < len(f.s) && f.s[f.i] == '-' {
		left = true
		f.i++
	}
	width, left, err := f.width(left)
	if err != nil {
		return err
	}
	if c, err = f.peek(); err != nil {
		return err
	}
	if c != 's' && c != 'I' && c != 'L' {
		return errFormat("unrecognized format() type specifier \"%s\"", firstChar(f.s[f.i:])).
			WithHint("For a single \"%%\" use \"%%%%\".")
	}
	f.i++
	n, err := f.arg(pos)
	if err != nil {
		return err
	}
	text, err := f.text(c, n)
	if err != nil {
		return err
	}
	pad := strings.Repeat(" ", max(0, width-int(runes(text))))
	if left {
		f.out.WriteString(text + pad)
	} else {
		f.out.WriteString(pad + text)
	}
	return nil
}

// width reads a width: a number, or * for an argument; a negative one means left.
func (f *formatter) width(left bool) (int, bool, error) {
	if f.i >= len(f.s) || f.s[f.i] != '*' {
		w, _, err := f.number()
		return w, left, err
	}
	f.i++
	pos, _, err := f.position()
	if err != nil {
		return 0, left, err
	}
	n, err := f.arg(pos)
	if err != nil || !f.args[n].Valid {
		return 0, left, err
	}
	w := f.args[n].I
	if !f.x.types[n].Kind.IsInteger() {
		d, err := types.ParseText(types.T(types.Int4), f.x.textOf(n, f.args[n]), nil)
		if err != nil {
			return 0, left, err
		}
		w = d.I
	}
	if w < 0 {
		w, left = -w, true
	}
	if w > maxText/4 {
		return 0, left, sqlerr.Newf(sqlerr.NumericValueOutOfRange, "number is out of range")
	}
	return int(w), left, nil
}

func (f *formatter) text(c byte, n int) (string, error) {
	d := f.args[n]
	if !d.Valid {
		switch c {
		case 'I':
			return "", sqlerr.Newf(sqlerr.NullValueNotAllowed, "null values cannot be formatted as an SQL identifier")
		case 'L':
			return "NULL", nil
		}
		return "", nil
	}
	s := f.x.textOf(n, d)
	switch c {
	case 'I':
		s = quoteIdent(s)
	case 'L':
		s = quoteLiteral(s)
	}
	return s, nil
}

// sizePretty is pg_size_pretty: the largest unit of which there are fewer than 10240 (halves round up).
func sizePretty(d types.Decimal) string {
	units := []string{"bytes", "kB", "MB", "GB", "TB", "PB"}
	limit := types.NewDecimal(10*1024, 0)
	if d.Abs().Cmp(limit) < 0 {
		return d.String() + " bytes"
	}
	// Below the first unit the value keeps one bit more, for rounding.
	two, k := types.NewDecimal(2, 0), types.NewDecimal(512, 0)
	half := types.NewDecimal(20*1024-1, 0)
	div := func(x, y types.Decimal) types.Decimal {
		q, err := x.DivTrunc(y)
		if err != nil {
			return x
		}
		return q
	}
	v := div(d, k)
	u := 1
	for ; u < len(units)-1 && v.Abs().Cmp(half) >= 0; u++ {
		v = div(v, types.NewDecimal(1024, 0))
	}
	if v.Sign() < 0 {
		v = v.Sub(types.NewDecimal(1, 0))
	} else {
		v = v.Add(types.NewDecimal(1, 0))
	}
	return div(v, two).Trunc(0).String() + " " + units[u]
}
