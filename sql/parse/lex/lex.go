// Package lex is the lexer of PostgreSQL's SQL: text in, tokens with byte offsets out.
//
// It follows PostgreSQL 15's rules to the letter where they are surprising: identifiers are folded
// (ASCII only) and cut to 63 bytes, comments nest, an operator ends before a comment and loses
// trailing signs unless it holds a "real" operator character, string literals that are only
// separated by white space with a line break are one, a number may not run into a letter.
//
// A mistake (an unterminated string, say) becomes a last token of kind Err: a parser that stops
// with a syntax error before it reports that one, as PostgreSQL does, since it reads tokens one
// by one.
package lex

import (
	"strings"
	"unicode/utf8"

	"github.com/weirdb/weir/sql/sqlerr"
)

// Kind is the kind of a token.
type Kind uint8

// The kinds of tokens.
const (
	// EOF ends every token list; its position is the length of the text.
	EOF Kind = iota
	// Ident is an identifier that is no keyword, or a quoted one; Text is folded and unescaped.
	Ident
	// Keyword is an unquoted keyword of any class; Text is in lower case.
	Keyword
	// String is any character string literal; Text has its escapes resolved.
	String
	// Bit and Hex are B'...' and X'...'; Text is what stands between the quotes.
	Bit
	// Hex is X'...'.
	Hex
	// Int is a literal of digits only.
	Int
	// Num is any other numeric literal.
	Num
	// Param is $n; Text is the digits.
	Param
	// Self is a character or pair with a meaning in the grammar: ( ) [ ] , ; . : + - * / % ^ < >
	// = :: .. := => <= >= <> (for != too).
	Self
	// Op is any other operator.
	Op
	// Err is a lexical mistake; Token.Err has it. Nothing follows but EOF.
	Err
)

// Token is one token.
type Token struct {
	Kind Kind
	// Cat is the class of a Keyword; NotKeyword for everything else.
	Cat Category
	// Bare is set for names that may be a column label without AS.
	Bare bool
	// Quoted is set for "identifiers in quotes".
	Quoted bool
	// Pos and End delimit the token in the text.
	Pos, End int
	Text     string
	// Err is of kind Err.
	Err *sqlerr.Error
}

// MaxName is the longest identifier in bytes; longer ones are cut.
const MaxName = 63

// Lex appends the tokens of src to buf, the last of them EOF.
func Lex(src string, buf []Token) []Token {
	l := lexer{src: src}
	for {
		t := l.next()
		if l.err != nil {
			return append(buf,
				Token{Kind: Err, Pos: t.Pos, End: len(src), Err: l.err},
				Token{Kind: EOF, Pos: len(src), End: len(src)})
		}
		buf = append(buf, t)
		if t.Kind == EOF {
			return buf
		}
	}
}

type lexer struct {
	src string
	pos int
	err *sqlerr.Error
}

// fail records the first mistake: msg at or near the text from start to end.
func (l *lexer) fail(msg string, start, end int) {
	switch {
	case l.err != nil:
	case start == len(l.src):
		l.err = sqlerr.New(sqlerr.SyntaxError, start, "%s at end of input", msg)
	default:
		l.err = sqlerr.New(sqlerr.SyntaxError, start, "%s at or near \"%s\"", msg, l.src[start:end])
	}
}

func (l *lexer) failWith(e *sqlerr.Error) {
	if l.err == nil {
		l.err = e
	}
}

// skipSpace passes white space and comments; an open comment is a failure, with its start.
func (l *lexer) skipSpace() (start int) {
	for l.pos < len(l.src) {
		c := l.src[l.pos]
		switch {
		case isSpace(c):
			l.pos++
		case c == '-' && strings.HasPrefix(l.src[l.pos:], "--"):
			l.skipLine()
		case c == '/' && strings.HasPrefix(l.src[l.pos:], "/*"):
			start := l.pos
			depth := 0
			for {
				rest := l.src[l.pos:]
				if rest == "" {
					l.fail("unterminated /* comment", start, len(l.src))
					return start
				}
				if strings.HasPrefix(rest, "/*") {
					depth++
					l.pos += 2
				} else if strings.HasPrefix(rest, "*/") {
					depth--
					l.pos += 2
					if depth == 0 {
						break
					}
				} else {
					l.pos++
				}
			}
		default:
			return l.pos
		}
	}
	return l.pos
}

func (l *lexer) skipLine() {
	for l.pos < len(l.src) && l.src[l.pos] != '\n' && l.src[l.pos] != '\r' {
		l.pos++
	}
}

func (l *lexer) next() Token {
	start := l.skipSpace()
	if l.err != nil {
		return Token{Pos: start}
	}
	if l.pos >= len(l.src) {
		return Token{Kind: EOF, Pos: len(l.src), End: len(l.src)}
	}
	c := l.src[start]
	var second byte
	if start+1 < len(l.src) {
		second = l.src[start+1]
	}
	switch {
	case second == '\'' && (c == 'e' || c == 'E'):
		l.pos += 2
		return l.finish(String, start, l.escapeString(start))
	case second == '\'' && (c == 'b' || c == 'B'):
		l.pos += 2
		return l.finish(Bit, start, l.plainString(start, "unterminated bit string literal"))
	case second == '\'' && (c == 'x' || c == 'X'):
		l.pos += 2
		return l.finish(Hex, start, l.plainString(start, "unterminated hexadecimal string literal"))
	case second == '\'' && (c == 'n' || c == 'N'):
		// N'...' is the keyword NCHAR and a string.
		l.pos++
		return Token{Kind: Keyword, Cat: ColName, Bare: true, Pos: start, End: l.pos, Text: "nchar"}
	case second == '&' && (c == 'u' || c == 'U') && start+2 < len(l.src) && l.src[start+2] == '\'':
		l.pos += 3
		return l.unicode(l.finish(String, start, l.plainString(start, "unterminated quoted string")))
	case second == '&' && (c == 'u' || c == 'U') && start+2 < len(l.src) && l.src[start+2] == '"':
		l.pos += 3
		return l.unicode(l.quotedIdent(start, true))
	case isIdentStart(c):
		return l.word(start)
	case c == '\'':
		l.pos++
		return l.finish(String, start, l.plainString(start, "unterminated quoted string"))
	case c == '"':
		l.pos++
		return l.quotedIdent(start, false)
	case c == '$':
		return l.dollar(start)
	case isDigit(c) || c == '.' && isDigit(second):
		return l.number(start)
	case isOpChar(c):
		return l.operator(start)
	}
	switch c {
	case ':':
		if second == ':' || second == '=' {
			l.pos += 2
			return l.finish(Self, start, l.src[start:l.pos])
		}
	case '.':
		if second == '.' {
			l.pos += 2
			return l.finish(Self, start, "..")
		}
	}
	if c < utf8.RuneSelf {
		l.pos++
	} else {
		_, n := utf8.DecodeRuneInString(l.src[start:])
		l.pos += n
	}
	return l.finish(Self, start, l.src[start:l.pos])
}

func (l *lexer) finish(k Kind, start int, text string) Token {
	return Token{Kind: k, Pos: start, End: l.pos, Text: text}
}

// word reads an unquoted identifier or keyword.
func (l *lexer) word(start int) Token {
	upper := false
	for l.pos < len(l.src) && isIdentCont(l.src[l.pos]) {
		c := l.src[l.pos]
		upper = upper || c >= 'A' && c <= 'Z'
		l.pos++
	}
	text := l.src[start:l.pos]
	if upper {
		text = lower(text)
	}
	if k, ok := keywords[text]; ok {
		return Token{Kind: Keyword, Cat: k.cat, Bare: k.bare, Pos: start, End: l.pos, Text: k.word}
	}
	return Token{Kind: Ident, Bare: true, Pos: start, End: l.pos, Text: cut(text)}
}

// quotedIdent reads the rest of "..."; with raw set its unescaping follows later.
func (l *lexer) quotedIdent(start int, raw bool) Token {
	body := l.pos
	doubled := false
	for {
		i := strings.IndexByte(l.src[l.pos:], '"')
		if i < 0 {
			l.pos = len(l.src)
			l.fail("unterminated quoted identifier", start, l.pos)
			return Token{Pos: start}
		}
		l.pos += i + 1
		if l.pos < len(l.src) && l.src[l.pos] == '"' {
			doubled = true
			l.pos++
			continue
		}
		break
	}
	text := l.src[body : l.pos-1]
	if text == "" {
		l.fail("zero-length delimited identifier", start, l.pos)
	}
	if doubled {
		text = strings.ReplaceAll(text, `""`, `"`)
	}
	t := Token{Kind: Ident, Bare: true, Quoted: true, Pos: start, End: l.pos, Text: text}
	if !raw {
		l.checkName(&t)
	}
	return t
}

// checkName cuts a quoted identifier and refuses control characters in it: nobody needs them and
// they would go through to terminals and logs.
func (l *lexer) checkName(t *Token) {
	for i := 0; i < len(t.Text); i++ {
		if t.Text[i] < ' ' || t.Text[i] == 0x7f {
			l.failWith(sqlerr.New(sqlerr.InvalidName, t.Pos, "control characters are not allowed in identifiers"))
			return
		}
	}
	t.Text = cut(t.Text)
}

// plainString reads the rest of '...' without escapes, with its continuations.
func (l *lexer) plainString(start int, unterminated string) string {
	var b strings.Builder
	simple := true
	for {
		i := strings.IndexByte(l.src[l.pos:], '\'')
		if i < 0 {
			l.pos = len(l.src)
			l.fail(unterminated, start, l.pos)
			return ""
		}
		part := l.src[l.pos : l.pos+i]
		l.pos += i + 1
		if l.pos < len(l.src) && l.src[l.pos] == '\'' {
			l.pos++
			b.WriteString(part)
			b.WriteByte('\'')
			simple = false
			continue
		}
		more := l.continued()
		if simple && !more {
			return part
		}
		b.WriteString(part)
		simple = false
		if !more {
			return b.String()
		}
	}
}

// continued reports whether after a closing quote the literal goes on on another line, and if so
// stands behind the new opening quote.
func (l *lexer) continued() bool {
	i := l.pos
	newline := false
	for i < len(l.src) {
		c := l.src[i]
		switch {
		case c == '\n' || c == '\r':
			newline = true
			i++
		case isSpace(c):
			i++
		case c == '-' && strings.HasPrefix(l.src[i:], "--"):
			for i < len(l.src) && l.src[i] != '\n' && l.src[i] != '\r' {
				i++
			}
		case c == '\'' && newline:
			l.pos = i + 1
			return true
		default:
			return false
		}
	}
	return false
}

// number reads a numeric literal.
func (l *lexer) number(start int) Token {
	kind := Int
	l.digits()
	if l.at(0) == '.' && l.at(1) != '.' {
		kind = Num
		l.pos++
		l.digits()
	}
	if c := l.at(0); c == 'e' || c == 'E' {
		n := 1
		if s := l.at(1); s == '+' || s == '-' {
			n = 2
		}
		switch {
		case isDigit(l.at(n)):
			kind = Num
			l.pos += n
			l.digits()
		case n == 2:
			l.fail("trailing junk after numeric literal", start, l.pos+2)
		}
	}
	if isIdentStart(l.at(0)) {
		l.fail("trailing junk after numeric literal", start, l.wordEnd())
	}
	return l.finish(kind, start, l.src[start:l.pos])
}

func (l *lexer) digits() {
	for l.pos < len(l.src) && isDigit(l.src[l.pos]) {
		l.pos++
	}
}

// at gives the byte n after the current one, 0 past the end.
func (l *lexer) at(n int) byte {
	if l.pos+n < len(l.src) {
		return l.src[l.pos+n]
	}
	return 0
}

// wordEnd is where the identifier that starts here ends.
func (l *lexer) wordEnd() int {
	end := l.pos
	for end < len(l.src) && isIdentCont(l.src[end]) {
		end++
	}
	return end
}

// dollar reads $n or a dollar-quoted string.
func (l *lexer) dollar(start int) Token {
	if isDigit(l.at(1)) {
		l.pos++
		l.digits()
		if isIdentStart(l.at(0)) {
			l.fail("trailing junk after parameter", start, l.wordEnd())
		}
		return l.finish(Param, start, l.src[start+1:l.pos])
	}
	i := start + 1
	if i < len(l.src) && isIdentStart(l.src[i]) {
		for i < len(l.src) && (isIdentStart(l.src[i]) || isDigit(l.src[i])) {
			i++
		}
	}
	if i >= len(l.src) || l.src[i] != '$' {
		l.pos++
		return l.finish(Self, start, "$")
	}
	tag := l.src[start : i+1]
	body := i + 1
	j := strings.Index(l.src[body:], tag)
	if j < 0 {
		l.pos = len(l.src)
		l.fail("unterminated dollar-quoted string", start, l.pos)
		return Token{Pos: start}
	}
	l.pos = body + j + len(tag)
	return l.finish(String, start, l.src[body:body+j])
}

// operator reads a run of operator characters and decides how much of it is one operator.
func (l *lexer) operator(start int) Token {
	end := start
	special := false
	for end < len(l.src) && isOpChar(l.src[end]) {
		rest := l.src[end:]
		if end > start && (strings.HasPrefix(rest, "--") || strings.HasPrefix(rest, "/*")) {
			break
		}
		special = special || strings.IndexByte("~!@#^&|`?%", l.src[end]) >= 0
		end++
	}
	if !special {
		for end-start > 1 && (l.src[end-1] == '+' || l.src[end-1] == '-') {
			end--
		}
	}
	l.pos = end
	text := l.src[start:end]
	if len(text) > MaxName {
		l.fail("operator too long", start, end)
	}
	switch text {
	case "+", "-", "*", "/", "%", "^", "<", ">", "=", "<=", ">=", "<>", "=>":
		return l.finish(Self, start, text)
	case "!=":
		return l.finish(Self, start, "<>")
	}
	return l.finish(Op, start, text)
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isIdentStart(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= utf8.RuneSelf
}
func isIdentCont(c byte) bool { return isIdentStart(c) || isDigit(c) || c == '$' }
func isOpChar(c byte) bool {
	switch c {
	case '~', '!', '@', '#', '^', '&', '|', '`', '?', '+', '-', '*', '/', '%', '<', '>', '=':
		return true
	}
	return false
}

// lower folds ASCII letters only.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// cut shortens a name to MaxName bytes without splitting a character.
func cut(s string) string {
	if len(s) <= MaxName {
		return s
	}
	n := MaxName
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
