package expr

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"github.com/weirdb/weir/sql/sqlerr"
)

// Postgres's regular expressions (POSIX AREs) are translated to those of package regexp:
//
//  1. Options: the argument "flags" of the regexp_ functions, and "(?flags)" or "***:" and "***=" at
//     the start of the pattern.
//  2. Class escapes mean Unicode classes; \m, \M, \y and \Y become word boundaries.
//  3. A pattern without a non-greedy quantifier matches as long as it can (POSIX); one with them
//     follows Perl's rules, which agree with Postgres's unless both kinds are mixed.
//
// Back references and look-around need another kind of engine; they give 0A000.

// regexFlags are the options of a pattern.
type regexFlags struct {
	fold, global bool
	// nlStop: . and [^...] do not match a line end. nlAnchor: ^ and $ match at line ends.
	nlStop, nlAnchor bool
	expanded         bool
	literal          bool
}

// parseFlags reads the flags argument. global says whether g is allowed.
func parseFlags(s string, global bool, fn string) (regexFlags, error) {
	var f regexFlags
	for i, c := range s {
		switch c {
		case 'g':
			if !global {
				err := sqlerr.Newf(sqlerr.InvalidParameterValue, "%s does not support the \"global\" option", fn)
				if fn == "regexp_match()" {
					err = err.WithHint("Use the regexp_matches function instead.")
				}
				return f, err
			}
			f.global = true
		default:
			if !f.set(byte(c)) || c >= utf8.RuneSelf {
				return f, sqlerr.Newf(sqlerr.InvalidParameterValue, "invalid regular expression option: \"%s\"", firstChar(s[i:]))
			}
		}
	}
	return f, nil
}

func (f *regexFlags) set(c byte) bool {
	switch c {
	case 'i':
		f.fold = true
	case 'c':
		f.fold = false
	case 'n', 'm':
		f.nlStop, f.nlAnchor = true, true
	case 'p':
		f.nlStop, f.nlAnchor = true, false
	case 's':
		f.nlStop, f.nlAnchor = false, false
	case 'w':
		f.nlStop, f.nlAnchor = false, true
	case 'x':
		f.expanded = true
	case 't':
		f.expanded = false
	case 'q':
		f.literal = true
	case 'e', 'b':
		// Extended is close enough to advanced, and basic is not told apart.
	default:
		return false
	}
	return true
}

func regexError(what string) error {
	return sqlerr.Newf(sqlerr.InvalidRegularExpression, "invalid regular expression: %s", what)
}

// regex is a compiled pattern.
type regex struct {
	*regexp.Regexp
	// context: a match depends on the text before it (anchors, word boundaries), so that a search cannot
	// simply start in the middle of a string.
	context bool
	// global is the g flag, for the caller.
	global bool
	// one is a faster matcher, or nil.
	one *onePass
}

// MatchString is that of package regexp.
func (re *regex) MatchString(s string) bool {
	if re.one != nil {
		if found, done := re.one.find(s, nil); done {
			return found
		}
	}
	return re.Regexp.MatchString(s)
}

// FindStringSubmatchIndex is that of package regexp.
func (re *regex) FindStringSubmatchIndex(s string) []int {
	if re.one != nil {
		caps := make([]int, re.one.caps)
		if found, done := re.one.find(s, caps); done {
			if !found {
				return nil
			}
			return caps
		}
	}
	return re.Regexp.FindStringSubmatchIndex(s)
}

// compileRegex translates and compiles a pattern.
func compileRegex(pat string, f regexFlags) (*regex, error) {
	if rest, ok := strings.CutPrefix(pat, "***="); ok {
		pat, f.literal = rest, true
	} else if rest, ok := strings.CutPrefix(pat, "***:"); ok {
		pat = rest
	} else if strings.HasPrefix(pat, "***") {
		return nil, regexError("quantifier operand invalid")
	}
	var b strings.Builder
	lazy, context := false, false
	if f.literal {
		b.WriteString(regexp.QuoteMeta(pat))
	} else {
		if strings.HasPrefix(pat, "(?") && len(pat) > 2 && isLower(pat[2]) {
			end := strings.IndexByte(pat, ')')
			if end < 0 {
				return nil, regexError("invalid embedded option")
			}
			for i := 2; i < end; i++ {
				if !f.set(pat[i]) {
					return nil, regexError("invalid embedded option")
				}
			}
			pat = pat[end+1:]
			if f.literal {
				return compileRegex(pat, f)
			}
		}
		tr := regexTranslator{in: pat, flags: f}
		if err := tr.run(); err != nil {
			return nil, err
		}
		b.WriteString(tr.out.String())
		lazy, context = tr.lazy, tr.context
	}
	prefix := "(?"
	if f.fold {
		prefix += "i"
	}
	if !f.nlStop {
		prefix += "s"
	}
	if f.nlAnchor {
		prefix += "m"
	}
	src := b.String()
	if prefix != "(?" {
		src = prefix + ")" + src
	}
	re, err := regexp.Compile(src)
	if err != nil {
		return nil, mapRegexError(err)
	}
	out := &regex{Regexp: re, context: context, global: f.global}
	if !lazy {
		re.Longest()
		out.one = newOnePass(src)
	}
	return out, nil
}

func isLower(c byte) bool { return c >= 'a' && c <= 'z' }

// mapRegexError gives Postgres's message for an error of package regexp.
func mapRegexError(err error) error {
	var se *syntax.Error
	if !errors.As(err, &se) {
		return regexError(err.Error())
	}
	switch se.Code {
	case syntax.ErrMissingParen, syntax.ErrUnexpectedParen:
		return regexError("parentheses () not balanced")
	case syntax.ErrMissingBracket:
		return regexError("brackets [] not balanced")
	case syntax.ErrMissingRepeatArgument, syntax.ErrInvalidRepeatOp:
		return regexError("quantifier operand invalid")
	case syntax.ErrInvalidRepeatSize:
		return regexError("invalid repetition count(s)")
	case syntax.ErrInvalidCharRange:
		return regexError("invalid character range")
	case syntax.ErrTrailingBackslash, syntax.ErrInvalidEscape:
		return regexError(`invalid escape \ sequence`)
	case syntax.ErrLarge, syntax.ErrNestingDepth:
		return regexError("regular expression is too complex")
	}
	return regexError(string(se.Code))
}

// regexTranslator walks over a pattern.
type regexTranslator struct {
	in    string
	at    int
	flags regexFlags
	out   strings.Builder
	lazy  bool
	depth int
	// context: see regex.
	context bool
}

// Bodies of bracket expressions for the class escapes and named classes.
var classBodies = map[string]string{
	"alpha": `\p{L}`, "digit": `\p{Nd}`, "alnum": `\p{L}\p{N}`, "upper": `\p{Lu}`, "lower": `\p{Ll}`,
	"space": `\t-\r \x{85}\p{Z}`, "blank": ` \t`, "punct": `\p{P}\p{S}`, "word": `\p{L}\p{N}\p{M}\p{Pc}`,
	"cntrl": `\p{Cc}`, "graph": `\p{L}\p{N}\p{P}\p{S}\p{M}`, "print": `\p{L}\p{N}\p{P}\p{S}\p{M} `,
	"xdigit": `0-9A-Fa-f`, "ascii": `\x00-\x7f`,
}

func (t *regexTranslator) more() bool { return t.at < len(t.in) }

func (t *regexTranslator) run() error {
	atom := false // a quantifier may follow
	for t.more() {
		c := t.in[t.at]
		switch c {
		case '\\':
			isAtom, err := t.escape()
			if err != nil {
				return err
			}
			atom = isAtom
			continue
		case '[':
			if strings.HasPrefix(t.in[t.at:], "[[:<:]]") || strings.HasPrefix(t.in[t.at:], "[[:>:]]") {
				t.out.WriteString(`\b`)
				t.context = true
				t.at += 7
				atom = false
				continue
			}
			if err := t.bracket(); err != nil {
				return err
			}
			atom = true
			continue
		case '*', '+', '?':
			if !atom {
				return regexError("quantifier operand invalid")
			}
			t.quantifier(string(c), 1)
			atom = false
			continue
		case '{':
			if t.at+1 < len(t.in) && isDigitByte(t.in[t.at+1]) {
				if !atom {
					return regexError("quantifier operand invalid")
				}
				if err := t.repeat(); err != nil {
					return err
				}
				atom = false
				continue
			}
			t.out.WriteString(`\{`)
			atom = true
		case '(':
			if err := t.group(); err != nil {
				return err
			}
			atom = false
			continue
		case ')':
			if t.depth == 0 {
				return regexError("parentheses () not balanced")
			}
			t.depth--
			t.out.WriteByte(c)
			atom = true
		case '|', '^':
			t.context = t.context || c == '^'
			t.out.WriteByte(c)
			atom = false
		case '$':
			if t.flags.nlAnchor {
				t.out.WriteByte(c)
			} else {
				t.out.WriteString(`\z`)
			}
			atom = false
		case '#':
			if t.flags.expanded {
				for t.more() && t.in[t.at] != '\n' {
					t.at++
				}
				continue
			}
			t.out.WriteByte(c)
			atom = true
		case ' ', '\t', '\n', '\r', '\f', '\v':
			if !t.flags.expanded {
				t.out.WriteByte(c)
				atom = true
			}
		case '}', ']':
			t.out.WriteByte('\\')
			t.out.WriteByte(c)
			atom = true
		default:
			_, n := utf8.DecodeRuneInString(t.in[t.at:])
			t.out.WriteString(t.in[t.at : t.at+n])
			t.at += n
			atom = true
			continue
		}
		t.at++
	}
	if t.depth > 0 {
		return regexError("parentheses () not balanced")
	}
	return nil
}

func isDigitByte(c byte) bool { return c >= '0' && c <= '9' }

// quantifier writes q, which is n bytes long, and the ? of a non-greedy one.
func (t *regexTranslator) quantifier(q string, n int) {
	t.out.WriteString(q)
	t.at += n
	if t.more() && t.in[t.at] == '?' {
		t.out.WriteByte('?')
		t.at++
		t.lazy = true
	}
}

func (t *regexTranslator) repeat() error {
	end := strings.IndexByte(t.in[t.at:], '}')
	if end < 0 {
		return regexError("braces {} not balanced")
	}
	q := t.in[t.at : t.at+end+1]
	for _, part := range strings.Split(q[1:len(q)-1], ",") {
		n := 0
		for _, c := range []byte(part) {
			if !isDigitByte(c) {
				return regexError("invalid repetition count(s)")
			}
			if n = n*10 + int(c-'0'); n > 255 {
				return regexError("invalid repetition count(s)")
			}
		}
	}
	t.quantifier(q, len(q))
	return nil
}

func (t *regexTranslator) group() error {
	rest := t.in[t.at:]
	switch {
	case strings.HasPrefix(rest, "(?:"):
		t.out.WriteString("(?:")
		t.at += 3
	case strings.HasPrefix(rest, "(?=") || strings.HasPrefix(rest, "(?!") || strings.HasPrefix(rest, "(?<=") || strings.HasPrefix(rest, "(?<!"):
		return sqlerr.Newf(sqlerr.FeatureNotSupported, "look-around in regular expressions is not supported")
	case strings.HasPrefix(rest, "(?#"):
		end := strings.IndexByte(rest, ')')
		if end < 0 {
			return regexError("parentheses () not balanced")
		}
		t.at += end + 1
		return nil
	case strings.HasPrefix(rest, "(?"):
		return regexError("quantifier operand invalid")
	default:
		t.out.WriteByte('(')
		t.at++
	}
	t.depth++
	return nil
}

// escape translates a backslash outside of brackets and tells whether it stands for an atom.
func (t *regexTranslator) escape() (bool, error) {
	if t.at+1 >= len(t.in) {
		return false, regexError(`invalid escape \ sequence`)
	}
	c := t.in[t.at+1]
	t.at += 2
	switch c {
	case 'd', 's', 'w':
		t.out.WriteString("[" + classBodies[escapeClass[c]] + "]")
		return true, nil
	case 'D', 'S', 'W':
		t.out.WriteString("[^" + classBodies[escapeClass[c|0x20]] + "]")
		return true, nil
	case 'm', 'M', 'y':
		t.context = true
		t.out.WriteString(`\b`)
		return false, nil
	case 'Y':
		t.context = true
		t.out.WriteString(`\B`)
		return false, nil
	case 'A':
		t.context = true
		t.out.WriteString(`\A`)
		return false, nil
	case 'Z':
		t.out.WriteString(`\z`)
		return false, nil
	}
	if c >= '1' && c <= '9' {
		return false, sqlerr.Newf(sqlerr.FeatureNotSupported, "back references in regular expressions are not supported")
	}
	r, err := t.charEscape(c)
	if err != nil {
		return false, err
	}
	t.out.WriteString(regexp.QuoteMeta(string(r)))
	return true, nil
}

var escapeClass = map[byte]string{'d': "digit", 's': "space", 'w': "word"}

// charEscape reads the rest of an escape that stands for one character.
func (t *regexTranslator) charEscape(c byte) (rune, error) {
	hex := func(digits int) (rune, error) {
		var r rune
		n := 0
		for n < digits && t.more() {
			d := strings.IndexByte("0123456789abcdef", t.in[t.at]|0x20)
			if isDigitByte(t.in[t.at]) {
				d = int(t.in[t.at] - '0')
			}
			if d < 0 {
				break
			}
			r = r<<4 | rune(d)
			t.at++
			n++
		}
		if n == 0 || n < digits && digits < 255 {
			return 0, regexError(`invalid escape \ sequence`)
		}
		return r, nil
	}
	switch c {
	case 'a':
		return 7, nil
	case 'b':
		return 8, nil
	case 'B':
		return '\\', nil
	case 'e':
		return 27, nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'v':
		return '\v', nil
	case '0':
		return 0, nil
	case 'c':
		if !t.more() {
			return 0, regexError(`invalid escape \ sequence`)
		}
		r := rune(t.in[t.at] & 31)
		t.at++
		return r, nil
	case 'u':
		return hex(4)
	case 'U':
		return hex(8)
	case 'x':
		return hex(255)
	}
	if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
		return 0, regexError(`invalid escape \ sequence`)
	}
	t.at--
	r, n := utf8.DecodeRuneInString(t.in[t.at:])
	t.at += n
	return r, nil
}

// bracket translates a bracket expression.
func (t *regexTranslator) bracket() error {
	t.out.WriteByte('[')
	t.at++
	if t.more() && t.in[t.at] == '^' {
		t.at++
		t.out.WriteByte('^')
		if t.flags.nlStop {
			t.out.WriteString(`\n`)
		}
	}
	first := true
	for {
		if !t.more() {
			return regexError("brackets [] not balanced")
		}
		rest := t.in[t.at:]
		switch {
		case rest[0] == ']' && !first:
			t.out.WriteByte(']')
			t.at++
			return nil
		case strings.HasPrefix(rest, "[:"):
			end := strings.Index(rest, ":]")
			if end < 0 {
				return regexError("brackets [] not balanced")
			}
			body, ok := classBodies[rest[2:end]]
			if !ok {
				return regexError("invalid character class")
			}
			t.out.WriteString(body)
			t.at += end + 2
		case strings.HasPrefix(rest, "[.") || strings.HasPrefix(rest, "[="):
			end := strings.Index(rest, rest[1:2]+"]")
			if end < 0 {
				return regexError("brackets [] not balanced")
			}
			if utf8.RuneCountInString(rest[2:end]) != 1 {
				return regexError("invalid collating element")
			}
			t.setChar([]rune(rest[2:end])[0])
			t.at += end + 2
		case rest[0] == '\\':
			if len(rest) < 2 {
				return regexError(`invalid escape \ sequence`)
			}
			c := rest[1]
			t.at += 2
			if name, ok := escapeClass[c]; ok {
				t.out.WriteString(classBodies[name])
				break
			}
			r, err := t.charEscape(c)
			if err != nil {
				return err
			}
			t.setChar(r)
		case rest[0] == '-' && !first && len(rest) > 1 && rest[1] != ']':
			t.out.WriteByte('-')
			t.at++
		default:
			r, n := utf8.DecodeRuneInString(rest)
			t.setChar(r)
			t.at += n
		}
		first = false
	}
}

// setChar writes a character inside brackets.
func (t *regexTranslator) setChar(r rune) {
	if r < utf8.RuneSelf && !isDigitByte(byte(r)) && !isLower(byte(r)|0x20) {
		if strings.ContainsRune(`\]^-[&~`, r) {
			t.out.WriteByte('\\')
		}
	}
	t.out.WriteRune(r)
}
