package types

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weirdb/weir/sql/sqlerr"
)

// The parser of jsonpath: recursive descent over tokens. Predicates and values share one grammar of operators, by
// precedence: || && comparisons + * unary; what must be a predicate and what a value is checked where it matters.

type pathToken uint8

const (
	ptEnd pathToken = iota
	ptPunct
	ptWord     // a name or key word
	ptString   // in quotes
	ptVariable // $name
	ptNumber
)

type pathParser struct {
	s          string
	start, pos int
	tok        pathToken
	// text is the value of the token: the characters of a string, the punctuation.
	text  string
	depth int
}

const pathSpecial = "?%$.[]{}()|&!=<>@#,*:-+/\\\" \t\n\r\f"

func (p *pathParser) syntax() error {
	if p.tok == ptEnd {
		return sqlerr.Newf(sqlerr.SyntaxError, "syntax error at end of jsonpath input")
	}
	return sqlerr.Newf(sqlerr.SyntaxError, "syntax error at or near \"%s\" of jsonpath input", p.s[p.start:p.pos])
}

// word tells whether the token is a key word; they go by any case, but for null, true and false.
func (p *pathParser) word(w string) bool {
	return p.tok == ptWord && (strings.EqualFold(p.text, w) && w != "null" && w != "true" && w != "false" || p.text == w)
}

func (p *pathParser) punct(c string) bool { return p.tok == ptPunct && p.text == c }

func (p *pathParser) advance() error {
	i := p.pos
	for {
		for i < len(p.s) && strings.IndexByte(" \t\n\r\f", p.s[i]) >= 0 {
			i++
		}
		if !strings.HasPrefix(p.s[i:], "/*") {
			break
		}
		end := strings.Index(p.s[i+2:], "*/")
		if end < 0 {
			p.start, p.pos, p.tok = i, len(p.s), ptPunct
			return sqlerr.Newf(sqlerr.SyntaxError, "unexpected end of comment at end of jsonpath input")
		}
		i += end + 4
	}
	p.start = i
	if i >= len(p.s) {
		p.pos, p.tok, p.text = i, ptEnd, ""
		return nil
	}
	c := p.s[i]
	switch {
	case c == '"':
		return p.quoted(i, ptString)
	case c == '$':
		if i+1 < len(p.s) && p.s[i+1] == '"' {
			return p.quoted(i+1, ptVariable)
		}
		if i+1 < len(p.s) && strings.IndexByte(pathSpecial, p.s[i+1]) < 0 {
			p.pos = i + 1
			return p.name(ptVariable)
		}
	case isDigit(c) || c == '.' && i+1 < len(p.s) && isDigit(p.s[i+1]):
		return p.number()
	case strings.IndexByte(pathSpecial, c) < 0 || c == '\\':
		p.pos = i
		return p.name(ptWord)
	}
	for _, two := range []string{"&&", "||", "==", "!=", "<>", "<=", ">=", "**"} {
		if strings.HasPrefix(p.s[i:], two) {
			p.pos, p.tok, p.text = i+2, ptPunct, two
			return nil
		}
	}
	p.pos, p.tok, p.text = i+1, ptPunct, string(c)
	return nil
}

// name reads an unquoted name from pos.
func (p *pathParser) name(tok pathToken) error {
	var b []byte
	for p.pos < len(p.s) {
		c := p.s[p.pos]
		if c == '\\' {
			var err error
			if b, err = p.escape(b); err != nil {
				return err
			}
			continue
		}
		if strings.IndexByte(pathSpecial, c) >= 0 {
			break
		}
		b = append(b, c)
		p.pos++
	}
	p.tok, p.text = tok, string(b)
	return nil
}

func (p *pathParser) quoted(i int, tok pathToken) error {
	var b []byte
	p.pos = i + 1
	for p.pos < len(p.s) {
		switch c := p.s[p.pos]; c {
		case '"':
			p.pos++
			p.tok, p.text = tok, string(b)
			return nil
		case '\\':
			var err error
			if b, err = p.escape(b); err != nil {
				return err
			}
		default:
			b = append(b, c)
			p.pos++
		}
	}
	return sqlerr.Newf(sqlerr.SyntaxError, "unterminated quoted string at end of jsonpath input")
}

// escape reads an escape sequence at pos.
func (p *pathParser) escape(b []byte) ([]byte, error) {
	p.pos++
	if p.pos >= len(p.s) {
		return b, sqlerr.Newf(sqlerr.SyntaxError, "unexpected end after backslash at end of jsonpath input")
	}
	c := p.s[p.pos]
	p.pos++
	hex := func(least, most int) (rune, bool) {
		v, n := rune(0), 0
		for n < most && p.pos < len(p.s) {
			d, ok := unhex(p.s[p.pos])
			if !ok {
				break
			}
			v = v<<4 | rune(d)
			p.pos++
			n++
		}
		return v, n >= least
	}
	bad := func(what string) ([]byte, error) {
		return b, sqlerr.Newf(sqlerr.SyntaxError, "invalid %s escape sequence at or near \"%s\" of jsonpath input", what, p.s[p.start:min(p.pos, len(p.s))])
	}
	switch c {
	case 'b':
		return append(b, '\b'), nil
	case 'f':
		return append(b, '\f'), nil
	case 'n':
		return append(b, '\n'), nil
	case 'r':
		return append(b, '\r'), nil
	case 't':
		return append(b, '\t'), nil
	case 'v':
		return append(b, '\v'), nil
	case 'x':
		v, ok := hex(2, 2)
		if !ok {
			return bad("hexadecimal character")
		}
		return utf8.AppendRune(b, v), nil
	case 'u':
		v, ok := rune(0), false
		if p.pos < len(p.s) && p.s[p.pos] == '{' {
			p.pos++
			v, ok = hex(1, 6)
			ok = ok && p.pos < len(p.s) && p.s[p.pos] == '}'
			p.pos++
		} else {
			v, ok = hex(4, 4)
		}
		if ok && v >= 0xd800 && v < 0xdc00 && strings.HasPrefix(p.s[p.pos:], `\u`) {
			p.pos += 2
			var low rune
			if low, ok = hex(4, 4); ok && low >= 0xdc00 && low < 0xe000 {
				v = 0x10000 + (v-0xd800)<<10 + low - 0xdc00
			}
		}
		if !ok {
			return bad("Unicode")
		}
		if v == 0 {
			return b, sqlerr.Newf(sqlerr.UntranslatableCharacter, "unsupported Unicode escape sequence").
				WithDetail("\\u0000 cannot be converted to text.")
		}
		return utf8.AppendRune(b, v), nil
	}
	_, n := utf8.DecodeRuneInString(p.s[p.pos-1:])
	p.pos += n - 1
	return append(b, p.s[p.pos-n:p.pos]...), nil
}

func (p *pathParser) number() error {
	i := p.start
	digits := func() {
		for i < len(p.s) && isDigit(p.s[i]) {
			i++
		}
	}
	digits()
	if i < len(p.s) && p.s[i] == '.' && i+1 < len(p.s) && isDigit(p.s[i+1]) {
		i++
		digits()
	}
	if i < len(p.s) && p.s[i]|0x20 == 'e' {
		j := i + 1
		if j < len(p.s) && (p.s[j] == '+' || p.s[j] == '-') {
			j++
		}
		if j >= len(p.s) || !isDigit(p.s[j]) {
			p.pos = min(j, len(p.s))
			return sqlerr.Newf(sqlerr.SyntaxError, "invalid numeric literal at or near \"%s\" of jsonpath input", p.s[p.start:p.pos])
		}
		i = j
		digits()
	}
	p.pos, p.tok, p.text = i, ptNumber, p.s[p.start:i]
	if i < len(p.s) && (isAlpha(p.s[i]) || p.s[i] == '_' || p.s[i] >= 0x80) {
		_, n := utf8.DecodeRuneInString(p.s[i:])
		p.pos += n
		return sqlerr.Newf(sqlerr.SyntaxError, "trailing junk after numeric literal at or near \"%s\" of jsonpath input", p.s[p.start:p.pos])
	}
	return nil
}

func (n *pathNode) predicate() bool {
	if n.next != nil {
		return false
	}
	switch n.op {
	case poNot, poIsUnknown, poExists, poLikeRegex, poStartsWith, poAnd, poOr, poEqual, poNotEqual, poLess, poGreater,
		poLessEqual, poGreaterEqual:
		return true
	}
	return false
}

// binary reads operands of the next level joined by operators. Both sides are predicates, or neither is.
func (p *pathParser) binary(ops map[string]pathOp, predicates bool, operand func() (*pathNode, error)) (*pathNode, error) {
	l, err := operand()
	for err == nil && p.tok == ptPunct {
		op, ok := ops[p.text]
		if !ok {
			break
		}
		if l.predicate() != predicates {
			return nil, p.syntax()
		}
		if err = p.advance(); err != nil {
			break
		}
		var r *pathNode
		if r, err = operand(); err != nil {
			break
		}
		if r.predicate() != predicates {
			return nil, p.syntax()
		}
		l = &pathNode{op: op, left: l, right: r}
	}
	return l, err
}

var (
	pathOr      = map[string]pathOp{"||": poOr}
	pathAnd     = map[string]pathOp{"&&": poAnd}
	pathSum     = map[string]pathOp{"+": poAdd, "-": poSub}
	pathProduct = map[string]pathOp{"*": poMul, "/": poDiv, "%": poMod}
	pathCompare = map[string]pathOp{
		"==": poEqual, "=": poEqual, "!=": poNotEqual, "<>": poNotEqual, "<": poLess, ">": poGreater,
		"<=": poLessEqual, ">=": poGreaterEqual,
	}
)

func (p *pathParser) or() (*pathNode, error)  { return p.binary(pathOr, true, p.and) }
func (p *pathParser) and() (*pathNode, error) { return p.binary(pathAnd, true, p.comparison) }
func (p *pathParser) sum() (*pathNode, error) { return p.binary(pathSum, false, p.product) }
func (p *pathParser) product() (*pathNode, error) {
	return p.binary(pathProduct, false, p.unary)
}

func (p *pathParser) comparison() (*pathNode, error) {
	if p.punct("!") {
		if err := p.advance(); err != nil {
			return nil, err
		}
		n, err := p.delimited()
		if err != nil {
			return nil, err
		}
		return &pathNode{op: poNot, left: n}, nil
	}
	l, err := p.sum()
	if err != nil || l.predicate() {
		return l, err
	}
	switch {
	case p.tok == ptPunct:
		op, ok := pathCompare[p.text]
		if !ok {
			return l, nil
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
		r, err := p.sum()
		if err != nil {
			return nil, err
		}
		if r.predicate() {
			return nil, p.syntax()
		}
		return &pathNode{op: op, left: l, right: r}, nil
	case p.word("starts"):
		if err := p.advance(); err != nil {
			return nil, err
		}
		if !p.word("with") {
			return nil, p.syntax()
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
		r := &pathNode{op: poString, str: p.text}
		switch p.tok {
		case ptString:
		case ptVariable:
			r.op = poVariable
		default:
			return nil, p.syntax()
		}
		return &pathNode{op: poStartsWith, left: l, right: r}, p.advance()
	case p.word("like_regex"):
		if err := p.advance(); err != nil {
			return nil, err
		}
		if p.tok != ptString {
			return nil, p.syntax()
		}
		n := &pathNode{op: poLikeRegex, left: l, str: p.text}
		if err := p.advance(); err != nil {
			return nil, err
		}
		if p.word("flag") {
			if err := p.advance(); err != nil {
				return nil, err
			}
			if p.tok != ptString {
				return nil, p.syntax()
			}
			if n.flags, err = pathLikeFlags(p.text); err != nil {
				return nil, err
			}
			if err := p.advance(); err != nil {
				return nil, err
			}
		}
		return n, nil
	}
	return l, nil
}

// delimited reads what may follow !: a predicate in parentheses, or exists.
func (p *pathParser) delimited() (*pathNode, error) {
	if p.word("exists") {
		return p.primary()
	}
	if !p.punct("(") {
		return nil, p.syntax()
	}
	n, err := p.group()
	if err == nil && !n.predicate() {
		err = p.syntax()
	}
	return n, err
}

// group reads ( ... ), the token being the first parenthesis.
func (p *pathParser) group() (*pathNode, error) {
	if p.depth++; p.depth > maxPathDepth {
		return nil, sqlerr.Newf(sqlerr.StatementTooComplex, "stack depth limit exceeded")
	}
	defer func() { p.depth-- }()
	if err := p.advance(); err != nil {
		return nil, err
	}
	n, err := p.or()
	if err != nil {
		return nil, err
	}
	if !p.punct(")") {
		return nil, p.syntax()
	}
	return n, p.advance()
}

// maxPathDepth bounds the nesting, since parsing recurses.
const maxPathDepth = 1000

func (p *pathParser) unary() (*pathNode, error) {
	for _, op := range []pathOp{poPlus, poMinus} {
		if !p.punct(pathSymbols[op]) {
			continue
		}
		if p.depth++; p.depth > maxPathDepth {
			return nil, sqlerr.Newf(sqlerr.StatementTooComplex, "stack depth limit exceeded")
		}
		defer func() { p.depth-- }()
		if err := p.advance(); err != nil {
			return nil, err
		}
		n, err := p.unary()
		switch {
		case err != nil:
			return nil, err
		case n.predicate():
			return nil, p.syntax()
		case n.op == poNumber && n.next == nil:
			if op == poMinus {
				n.num = n.num.Neg()
			}
			return n, nil
		}
		return &pathNode{op: op, left: n}, nil
	}
	return p.accessors()
}

// accessors reads a primary and what is applied to it.
func (p *pathParser) accessors() (*pathNode, error) {
	n, err := p.primary()
	if err != nil {
		return nil, err
	}
	last := n
	for {
		a, err := p.accessor()
		if err != nil {
			return nil, err
		}
		if a == nil {
			return n, nil
		}
		for last.next != nil {
			last = last.next
		}
		last.next = a
	}
}

func (p *pathParser) primary() (*pathNode, error) {
	n := &pathNode{str: p.text}
	switch p.tok {
	case ptString:
		n.op = poString
	case ptVariable:
		n.op = poVariable
	case ptNumber:
		d, err := ParseDecimal(p.text)
		if err != nil {
			return nil, err
		}
		n.op, n.num = poNumber, d
	case ptPunct:
		switch p.text {
		case "$":
			n.op = poRoot
		case "@":
			n.op = poCurrent
		case "(":
			g, err := p.group()
			if err != nil || !g.predicate() || !p.word("is") {
				return g, err
			}
			if err := p.advance(); err != nil {
				return nil, err
			}
			if !p.word("unknown") {
				return nil, p.syntax()
			}
			return &pathNode{op: poIsUnknown, left: g}, p.advance()
		default:
			return nil, p.syntax()
		}
	case ptWord:
		switch {
		case p.word("null"):
			n.op = poNull
		case p.word("true"), p.word("false"):
			n.op, n.flag = poBool, p.text == "true"
		case p.word("last"):
			n.op = poLast
		case p.word("exists"):
			if err := p.advance(); err != nil {
				return nil, err
			}
			if !p.punct("(") {
				return nil, p.syntax()
			}
			g, err := p.group()
			if err != nil {
				return nil, err
			}
			if g.predicate() {
				return nil, p.syntax()
			}
			return &pathNode{op: poExists, left: g}, nil
		default:
			return nil, p.syntax()
		}
	default:
		return nil, p.syntax()
	}
	return n, p.advance()
}

var pathMethods = map[string]bool{
	"abs": true, "size": true, "type": true, "floor": true, "double": true, "ceiling": true, "keyvalue": true, "datetime": true,
}

// accessor reads one accessor, or gives nil.
func (p *pathParser) accessor() (*pathNode, error) {
	switch {
	case p.punct("?"):
		if err := p.advance(); err != nil {
			return nil, err
		}
		if !p.punct("(") {
			return nil, p.syntax()
		}
		g, err := p.group()
		if err != nil {
			return nil, err
		}
		if !g.predicate() {
			return nil, p.syntax()
		}
		return &pathNode{op: poFilter, left: g}, nil
	case p.punct("["):
		return p.subscript()
	case !p.punct("."):
		return nil, nil
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	switch {
	case p.punct("*"):
		return &pathNode{op: poAnyKey}, p.advance()
	case p.punct("**"):
		return p.levels()
	case p.tok == ptString:
		n := &pathNode{op: poKey, str: p.text}
		return n, p.advance()
	case p.tok != ptWord:
		return nil, p.syntax()
	}
	n := &pathNode{op: poKey, str: p.text}
	method := strings.ToLower(p.text)
	if err := p.advance(); err != nil {
		return nil, err
	}
	if !p.punct("(") {
		return n, nil
	}
	if !pathMethods[method] {
		return nil, p.syntax()
	}
	n.op, n.str = poMethod, method
	if err := p.advance(); err != nil {
		return nil, err
	}
	if method == "datetime" && p.tok == ptString {
		n.left = &pathNode{op: poString, str: p.text}
		if err := p.advance(); err != nil {
			return nil, err
		}
	}
	if !p.punct(")") {
		return nil, p.syntax()
	}
	return n, p.advance()
}

func (p *pathParser) subscript() (*pathNode, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.punct("*") {
		if err := p.advance(); err != nil {
			return nil, err
		}
		if !p.punct("]") {
			return nil, p.syntax()
		}
		return &pathNode{op: poAnyArray}, p.advance()
	}
	n := &pathNode{op: poIndex}
	for {
		var r pathRange
		var err error
		if r.from, err = p.sum(); err != nil {
			return nil, err
		}
		if p.word("to") {
			if err := p.advance(); err != nil {
				return nil, err
			}
			if r.to, err = p.sum(); err != nil {
				return nil, err
			}
		}
		n.subs = append(n.subs, r)
		switch {
		case p.punct(","):
			if err := p.advance(); err != nil {
				return nil, err
			}
			continue
		case p.punct("]"):
			return n, p.advance()
		}
		return nil, p.syntax()
	}
}

// levels reads what follows **.
func (p *pathParser) levels() (*pathNode, error) {
	n := &pathNode{op: poAny, last: anyLevel}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if !p.punct("{") {
		return n, nil
	}
	level := func() (uint32, error) {
		if err := p.advance(); err != nil {
			return 0, err
		}
		if p.word("last") {
			return anyLevel, p.advance()
		}
		v, err := strconv.ParseUint(p.text, 10, 31)
		if p.tok != ptNumber || err != nil {
			return 0, p.syntax()
		}
		return uint32(v), p.advance()
	}
	var err error
	if n.first, err = level(); err != nil {
		return nil, err
	}
	n.last = n.first
	if p.word("to") {
		if n.last, err = level(); err != nil {
			return nil, err
		}
	}
	if !p.punct("}") {
		return nil, p.syntax()
	}
	return n, p.advance()
}
