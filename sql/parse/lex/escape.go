package lex

import (
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/weirdb/weir/sql/sqlerr"
)

// escapeString reads the rest of E'...', with its continuations.
func (l *lexer) escapeString(start int) string {
	var b strings.Builder
	var high rune // first half of a surrogate pair that waits for the second
	bytesSeen := false
	for {
		if l.pos >= len(l.src) {
			l.fail("unterminated quoted string", start, len(l.src))
			return ""
		}
		c := l.src[l.pos]
		isUnicode := c == '\\' && (l.at(1) == 'u' || l.at(1) == 'U')
		if high != 0 && !isUnicode {
			l.fail("invalid Unicode surrogate pair", l.pos, l.pos+1)
			return ""
		}
		switch {
		case c == '\'' && l.at(1) == '\'':
			b.WriteByte('\'')
			l.pos += 2
		case c == '\'':
			l.pos++
			if l.continued() {
				continue
			}
			s := b.String()
			if bytesSeen {
				if off, ok := InvalidUTF8(s); !ok {
					l.failWith(InvalidEncoding(s, off))
				}
			}
			return s
		case isUnicode:
			digits := 4
			if l.at(1) == 'U' {
				digits = 8
			}
			at := l.pos
			r, ok := hexRune(l.src[l.pos+2:], digits)
			if !ok {
				l.failWith(sqlerr.New(sqlerr.InvalidEscapeSequence, at, "invalid Unicode escape").
					WithHint(`Unicode escapes must be \uXXXX or \UXXXXXXXX.`))
				return ""
			}
			l.pos += 2 + digits
			r, high, ok = pair(r, high)
			if !ok {
				l.fail("invalid Unicode surrogate pair", at, l.pos)
				return ""
			}
			if high != 0 {
				continue
			}
			if r == 0 || r > utf8.MaxRune {
				l.fail("invalid Unicode escape value", at, l.pos)
				return ""
			}
			b.WriteRune(r)
		case c == '\\':
			l.pos++
			if l.pos >= len(l.src) {
				continue
			}
			if l.escape(&b) {
				bytesSeen = true
			}
		default:
			b.WriteByte(c)
			l.pos++
		}
	}
}

// escape resolves one backslash escape other than \u; the backslash has been read. It reports
// whether it wrote a byte by number.
func (l *lexer) escape(b *strings.Builder) bool {
	c := l.src[l.pos]
	l.pos++
	switch c {
	case 'b':
		b.WriteByte('\b')
	case 'f':
		b.WriteByte('\f')
	case 'n':
		b.WriteByte('\n')
	case 'r':
		b.WriteByte('\r')
	case 't':
		b.WriteByte('\t')
	case 'v':
		b.WriteByte('\v')
	case '0', '1', '2', '3', '4', '5', '6', '7':
		v := int(c - '0')
		for n := 1; n < 3 && l.at(0) >= '0' && l.at(0) <= '7'; n++ {
			v = v*8 + int(l.at(0)-'0')
			l.pos++
		}
		b.WriteByte(byte(v))
		return true
	case 'x':
		v, n := 0, 0
		for n < 2 {
			d, ok := hexDigit(l.at(0))
			if !ok {
				break
			}
			v = v*16 + d
			l.pos++
			n++
		}
		if n == 0 {
			b.WriteByte('x')
			return false
		}
		b.WriteByte(byte(v))
		return true
	default:
		b.WriteByte(c)
	}
	return false
}

// unicode resolves the escapes of a U&'...' or U&"..." token, whose escape character an UESCAPE
// clause may change.
func (l *lexer) unicode(t Token) Token {
	if l.err != nil {
		return t
	}
	esc := byte('\\')
	bodyEnd := l.pos
	if u := l.next(); l.err == nil && u.Kind == Keyword && u.Text == "uescape" {
		start := l.skipSpace()
		if l.at(0) != '\'' {
			v := l.next()
			if l.err == nil {
				l.fail("UESCAPE must be followed by a simple string literal", start, v.End)
			}
			return t
		}
		v := l.next()
		if l.err != nil {
			return t
		}
		if len(v.Text) != 1 || strings.IndexByte("+'\"0123456789abcdefABCDEF", v.Text[0]) >= 0 || isSpace(v.Text[0]) {
			l.fail("invalid Unicode escape character", start, v.End)
			return t
		}
		esc = v.Text[0]
		t.End = l.pos
	} else {
		l.pos = bodyEnd
		l.err = nil // it is reported when it is read again
	}
	var b strings.Builder
	var high rune
	s := t.Text
	// base is where the text between the quotes starts; a doubled quote before an escape makes
	// the reported position a little early.
	base := t.Pos + 3
	for i := 0; i < len(s); {
		if s[i] != esc {
			if high != 0 {
				l.failWith(sqlerr.New(sqlerr.SyntaxError, base+i, "invalid Unicode surrogate pair"))
				return t
			}
			b.WriteByte(s[i])
			i++
			continue
		}
		if i+1 < len(s) && s[i+1] == esc {
			if high != 0 {
				l.failWith(sqlerr.New(sqlerr.SyntaxError, base+i, "invalid Unicode surrogate pair"))
				return t
			}
			b.WriteByte(esc)
			i += 2
			continue
		}
		skip, digits := 1, 4
		if i+1 < len(s) && s[i+1] == '+' {
			skip, digits = 2, 6
		}
		r, ok := hexRune(s[min(i+skip, len(s)):], digits)
		if !ok {
			l.failWith(sqlerr.New(sqlerr.SyntaxError, base+i, "invalid Unicode escape").
				WithHint(`Unicode escapes must be \XXXX or \+XXXXXX.`))
			return t
		}
		r, high, ok = pair(r, high)
		if !ok {
			l.failWith(sqlerr.New(sqlerr.SyntaxError, base+i, "invalid Unicode surrogate pair"))
			return t
		}
		i += skip + digits
		if high != 0 {
			continue
		}
		if r == 0 || r > utf8.MaxRune {
			l.failWith(sqlerr.New(sqlerr.SyntaxError, base+i-skip-digits, "invalid Unicode escape value"))
			return t
		}
		b.WriteRune(r)
	}
	if high != 0 {
		l.failWith(sqlerr.New(sqlerr.SyntaxError, base+len(s), "invalid Unicode surrogate pair"))
		return t
	}
	t.Text = b.String()
	if t.Kind == Ident {
		l.checkName(&t)
	}
	return t
}

// pair joins surrogates: it gives the finished rune, or the high half that still waits.
func pair(r, high rune) (rune, rune, bool) {
	isHigh := r >= 0xd800 && r < 0xdc00
	isLow := r >= 0xdc00 && r < 0xe000
	switch {
	case high != 0:
		if !isLow {
			return 0, 0, false
		}
		return utf16.DecodeRune(high, r), 0, true
	case isHigh:
		return 0, r, true
	case isLow:
		return 0, 0, false
	}
	return r, 0, true
}

// hexRune reads exactly n hexadecimal digits.
func hexRune(s string, n int) (rune, bool) {
	if len(s) < n {
		return 0, false
	}
	var r int64
	for i := range n {
		d, ok := hexDigit(s[i])
		if !ok {
			return 0, false
		}
		r = r*16 + int64(d)
	}
	if r > utf8.MaxRune {
		r = utf8.MaxRune + 1
	}
	return rune(r), true
}

func hexDigit(c byte) (int, bool) {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0'), true
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10, true
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10, true
	}
	return 0, false
}

// InvalidUTF8 looks for the first byte that is no UTF-8 text, or a zero byte; ok means there is none.
func InvalidUTF8(s string) (off int, ok bool) {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return 0, true
	}
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == 0 || r == utf8.RuneError && n <= 1 {
			return i, false
		}
		i += n
	}
	return 0, true
}

// InvalidEncoding is PostgreSQL's error for text that is not UTF-8, about the byte at off.
func InvalidEncoding(s string, off int) *sqlerr.Error {
	n := 1
	switch c := s[off]; {
	case c >= 0xf0 && c < 0xf8:
		n = 4
	case c >= 0xe0 && c < 0xf0:
		n = 3
	case c >= 0xc0 && c < 0xe0:
		n = 2
	}
	var b strings.Builder
	for i := off; i < min(off+n, len(s)); i++ {
		if i > off {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "0x%02x", s[i])
	}
	return sqlerr.Newf(sqlerr.CharacterNotInRepertoire, `invalid byte sequence for encoding "UTF8": %s`, b.String())
}
