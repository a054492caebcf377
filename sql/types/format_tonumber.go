package types

import (
	"strings"
	"unicode/utf8"

	"github.com/weirdb/weir/sql/sqlerr"
)

// numberReader is what to_number has read.
type numberReader struct {
	f *NumberFormat
	s string
	// sign is ' ' until one is read.
	sign byte
	// out has the digits and the point.
	out       []byte
	pre, post int
	point     bool
}

// Parse is to_number(text, text).
func (f *NumberFormat) Parse(input string) (Decimal, error) {
	if f.sci {
		return Decimal{}, sqlerr.Newf(sqlerr.FeatureNotSupported, "\"EEEE\" not supported for input")
	}
	if f.roman {
		return Decimal{}, sqlerr.Newf(sqlerr.FeatureNotSupported, "\"RN\" not supported for input")
	}
	r := numberReader{f: f, s: input, sign: ' '}
	for i := range f.nodes {
		if r.s == "" {
			break
		}
		n := &f.nodes[i]
		if n.kind != nodePattern {
			r.skipRune()
			continue
		}
		r.pattern(n)
	}
	text := string(r.sign) + strings.TrimSuffix(string(r.out), ".")
	d, err := ParseDecimal(text)
	if err != nil {
		return Decimal{}, err
	}
	if d, err = d.ApplyTypmod(f.pre+f.multi+r.post, r.post); err != nil || !f.shift {
		return d, err
	}
	p, err := NewDecimal(10, 0).Power(NewDecimal(int64(-f.multi), 0))
	if err != nil {
		return Decimal{}, err
	}
	return d.Mul(p)
}

func (r *numberReader) skipRune() {
	_, n := utf8.DecodeRuneInString(r.s)
	r.s = r.s[n:]
}

// skipOther passes over up to n characters that are no part of a number.
func (r *numberReader) skipOther(n int) {
	for ; n > 0 && r.s != "" && strings.IndexByte("0123456789.,+-", r.s[0]) < 0; n-- {
		r.skipRune()
	}
}

// takeSign reads a sign character if it stands here and is one of the allowed.
func (r *numberReader) takeSign(allowed string) {
	if strings.IndexByte(allowed, r.s[0]) >= 0 {
		r.sign = r.s[0]
		r.s = r.s[1:]
		return
	}
	r.skipOther(1)
}

func (r *numberReader) pattern(n *fmtNode) {
	switch n.key {
	case "9", "0", ".", "D":
		r.position(n.key)
		if r.s != "" {
			r.skipRune()
		}
	case ",", "G":
		if r.f.fill {
			return // no digit before it counts as read under FM
		}
		if r.s[0] == ',' {
			r.s = r.s[1:]
		}
	case "L":
		r.skipOther(1)
	case "TH":
		if r.sign != '-' && !r.f.decimal {
			r.skipOther(2)
		}
	case "MI":
		r.takeSign("-")
	case "PL":
		r.takeSign("+")
	case "SG":
		r.takeSign("+-")
	}
}

// position reads the sign and the digit or point for one position; the caller then goes on by one
// character.
func (r *numberReader) position(key string) {
	f := r.f
	if r.s[0] == ' ' {
		r.s = r.s[1:]
	}
	if r.s == "" {
		return
	}
	if r.sign == ' ' && (key == "9" || key == "0") && r.pre+r.post == 0 {
		c := r.s[0]
		switch {
		case c == '-' || c == '+':
			if f.sign != signAfter {
				r.sign = c
				r.s = r.s[1:]
			}
		case f.bracket && c == '<':
			r.sign = '-'
			r.s = r.s[1:]
		}
	}
	if r.s == "" {
		return
	}
	read := false
	switch c := r.s[0]; {
	case isDigit(c):
		if r.point && r.post == f.post {
			return
		}
		r.out = append(r.out, c)
		if r.point {
			r.post++
		} else {
			r.pre++
		}
		read = true
	case c == '.' && f.decimal && !r.point:
		r.out = append(r.out, '.')
		r.point = true
		read = true
	}
	if r.sign != ' ' || r.pre+r.post == 0 {
		return
	}
	// A sign right behind the last digit counts if the template has an S.
	if f.sign != noSign && read && len(r.s) > 1 && (r.s[1] == '-' || r.s[1] == '+') {
		r.sign = r.s[1]
		r.s = r.s[1:]
	}
}
