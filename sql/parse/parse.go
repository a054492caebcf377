package parse

import (
	"strings"

	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/parse/lex"
	"github.com/weirdb/weir/sql/sqlerr"
)

// Stmt is one statement of a text.
type Stmt struct {
	AST ast.Statement
	// Text is the statement as written, without the white space and comments around it and
	// without the semicolon.
	Text string
	// Start and End are the byte offsets of Text in the whole text.
	Start, End int
	// NumParams is the highest n of the parameters $n.
	NumParams int
}

// Parse splits text into statements and parses all of them: a mistake anywhere means that none
// may run. Empty statements are left out. Positions in nodes and errors are byte offsets in text.
// Errors are *sqlerr.Error.
func Parse(text string) ([]Stmt, error) {
	p, err := newParser(text)
	if err != nil {
		return nil, err
	}
	defer p.release()
	var stmts []Stmt
	for {
		for p.acceptSelf(";") {
		}
		if p.tok().Kind == lex.EOF {
			break
		}
		first := p.i
		node := p.statement()
		if p.err == nil && !p.isSelf(";") && p.tok().Kind != lex.EOF {
			p.unexpected()
		}
		if p.err != nil {
			return nil, p.err
		}
		start, end := p.toks[first].Pos, p.toks[p.i-1].End
		stmts = append(stmts, Stmt{
			AST: node, Text: text[start:end], Start: start, End: end,
			NumParams: p.paramsIn(first, p.i),
		})
	}
	if err := p.end(); err != nil {
		return nil, err
	}
	return stmts, nil
}

// ParseExpr parses one expression, such as a stored DEFAULT or CHECK.
func ParseExpr(text string) (ast.Expr, error) {
	return parseAll(text, (*parser).parseExpr)
}

// ParseQuery parses one query, such as that of a stored view.
func ParseQuery(text string) (*ast.Select, error) {
	return parseAll(text, (*parser).parseQuery)
}

// ParseType parses a type name with its modifiers.
func ParseType(text string) (ast.TypeName, error) {
	return parseAll(text, (*parser).typeName)
}

// QuoteIdent writes a name so that it is read back as it is: in quotes unless it is a lower-case
// word that is no keyword or an unreserved one.
func QuoteIdent(s string) string {
	plain := s != ""
	for i := 0; i < len(s) && plain; i++ {
		c := s[i]
		plain = c >= 'a' && c <= 'z' || c == '_' || i > 0 && c >= '0' && c <= '9'
	}
	if plain {
		if cat, _ := lex.Lookup(s); cat == lex.NotKeyword || cat == lex.Unreserved {
			return s
		}
	}
	return string(appendQuoted(nil, s, '"'))
}

// parseAll runs one rule over the whole text.
func parseAll[T any](text string, rule func(*parser) T) (T, error) {
	var zero T
	p, err := newParser(text)
	if err != nil {
		return zero, err
	}
	defer p.release()
	v := rule(p)
	p.acceptSelf(";")
	if err := p.end(); err != nil {
		return zero, err
	}
	return v, nil
}

// parser is one run over a text. Its methods are the rules of the grammar. After the first error
// it stands at the end of the tokens, where no rule finds anything, so that all of them return;
// what they return is then not used.
type parser struct {
	src  string
	toks []lex.Token
	i    int
	err  error
	// later is an error that is reported if there is no other.
	later error
	// depth counts the rules that are entered, depthLimit at most.
	depth int
	// lastJoin is the join that was read last: behind a closing parenthesis, the outermost inside.
	lastJoin *ast.Join
	out      output
}

func newParser(text string) (*parser, error) {
	if off, ok := lex.InvalidUTF8(text); !ok {
		return nil, lex.InvalidEncoding(text, off)
	}
	p := parsers.Get().(*parser)
	p.src, p.i, p.err, p.later, p.depth = text, 0, nil, nil, 0
	p.toks = lex.Lex(text, p.toks[:0])
	p.out.reset()
	return p, nil
}

func (p *parser) release() {
	if cap(p.toks) > 1<<14 || cap(p.out.pieces) > 1<<16 {
		return // a huge text: its buffers are better freed
	}
	clear(p.toks)
	p.src = ""
	p.out.clear()
	parsers.Put(p)
}

// Tokens.

func (p *parser) tok() *lex.Token { return &p.toks[p.i] }

// peek gives the nth token after the current one.
func (p *parser) peek(n int) *lex.Token { return &p.toks[min(p.i+n, len(p.toks)-1)] }

func (p *parser) next() {
	if p.i < len(p.toks)-1 {
		p.i++
	}
}

func (p *parser) pos() int { return p.tok().Pos }

// prevEnd is where the last consumed token ends.
func (p *parser) prevEnd() int {
	if p.i == 0 {
		return 0
	}
	return p.toks[p.i-1].End
}

func (p *parser) fail(e error) {
	if p.err == nil {
		p.err = e
	}
	p.i = len(p.toks) - 1
}

func (p *parser) failf(code sqlerr.Code, pos int, format string, args ...any) {
	p.fail(sqlerr.New(code, pos, format, args...))
}

// failLater is for mistakes that PostgreSQL finds only when all of the text has been read.
func (p *parser) failLater(e error) {
	if p.later == nil {
		p.later = e
	}
}

// end checks that everything was read and gives the error, if there is one.
func (p *parser) end() error {
	if p.err == nil && p.tok().Kind != lex.EOF {
		p.unexpected()
	}
	if p.err == nil {
		p.err = p.later
	}
	return p.err
}

// unsupported is for what PostgreSQL accepts and Weir does not.
func (p *parser) unsupported(pos int, what string) {
	p.failf(sqlerr.FeatureNotSupported, pos, "%s is not supported", what)
}

// unexpected reports the current token as a syntax error, or the lexical error that it is.
func (p *parser) unexpected() { p.unexpectedAt(p.tok()) }

func (p *parser) unexpectedAt(t *lex.Token) {
	switch {
	case p.err != nil:
	case t.Kind == lex.Err:
		p.fail(t.Err)
	case t.Kind == lex.EOF:
		p.failf(sqlerr.SyntaxError, t.Pos, "syntax error at end of input")
	default:
		p.failf(sqlerr.SyntaxError, t.Pos, "syntax error at or near \"%s\"", p.src[t.Pos:t.End])
	}
}

func isSelf(t *lex.Token, s string) bool { return t.Kind == lex.Self && t.Text == s }

// isWord tells whether t is the unquoted word w, keyword or not.
func isWord(t *lex.Token, w string) bool {
	return (t.Kind == lex.Keyword || t.Kind == lex.Ident && !t.Quoted) && t.Text == w
}

func (p *parser) isSelf(s string) bool { return isSelf(p.tok(), s) }
func (p *parser) isWord(w string) bool { return isWord(p.tok(), w) }

// isWords tells whether the next tokens are these words.
func (p *parser) isWords(words ...string) bool {
	for n, w := range words {
		if !isWord(p.peek(n), w) {
			return false
		}
	}
	return true
}

func (p *parser) acceptSelf(s string) bool {
	if p.isSelf(s) {
		p.next()
		return true
	}
	return false
}

func (p *parser) acceptWord(w string) bool {
	if p.isWord(w) {
		p.next()
		return true
	}
	return false
}

// acceptWords consumes these words if all of them follow.
func (p *parser) acceptWords(words ...string) bool {
	if !p.isWords(words...) {
		return false
	}
	for range words {
		p.next()
	}
	return true
}

// acceptPhrase consumes words of which the first commits to all of them.
func (p *parser) acceptPhrase(words ...string) bool {
	if !p.isWord(words[0]) {
		return false
	}
	p.expectWord(words...)
	return true
}

// acceptAnyOf consumes one of the words and gives it, or "".
func (p *parser) acceptAnyOf(words ...string) string {
	for _, w := range words {
		if p.acceptWord(w) {
			return w
		}
	}
	return ""
}

func (p *parser) expectSelf(s string) {
	if !p.acceptSelf(s) {
		p.unexpected()
	}
}

func (p *parser) expectWord(words ...string) {
	for _, w := range words {
		if !p.acceptWord(w) {
			p.unexpected()
			return
		}
	}
}

// Names, by PostgreSQL's classes of keywords.

func isColID(t *lex.Token) bool {
	return t.Kind == lex.Ident || t.Kind == lex.Keyword && (t.Cat == lex.Unreserved || t.Cat == lex.ColName)
}

func isFuncOrTypeName(t *lex.Token) bool {
	return t.Kind == lex.Ident || t.Kind == lex.Keyword && (t.Cat == lex.Unreserved || t.Cat == lex.TypeFuncName)
}

func isNonReserved(t *lex.Token) bool {
	return t.Kind == lex.Ident || t.Kind == lex.Keyword && t.Cat != lex.Reserved
}

func isColLabel(t *lex.Token) bool { return t.Kind == lex.Ident || t.Kind == lex.Keyword }

// name consumes a token that ok accepts and gives its text.
func (p *parser) name(ok func(*lex.Token) bool) string {
	t := p.tok()
	if !ok(t) {
		p.unexpected()
		return ""
	}
	p.next()
	return t.Text
}

func (p *parser) colID() string    { return p.name(isColID) }
func (p *parser) colLabel() string { return p.name(isColLabel) }

// qualifiedName reads ColId and any ".label" behind it.
func (p *parser) qualifiedName() ast.Name {
	n := ast.Name{Pos: p.pos()}
	n.Parts = append(n.Parts, p.colID())
	for p.acceptSelf(".") {
		n.Parts = append(n.Parts, p.colLabel())
	}
	return n
}

// relationName is a qualifiedName of at most three parts.
func (p *parser) relationName() ast.Name {
	n := p.qualifiedName()
	if p.err == nil && len(n.Parts) > 3 {
		p.failf(sqlerr.SyntaxError, n.Pos, "improper qualified name (too many dotted names): %s",
			strings.Join(n.Parts, "."))
	}
	return n
}

// nameList reads "(a, b, ...)".
func (p *parser) nameList() []string {
	p.expectSelf("(")
	var names []string
	for {
		names = append(names, p.colID())
		if !p.acceptSelf(",") {
			break
		}
	}
	p.expectSelf(")")
	return names
}

// stringLit reads a string literal.
func (p *parser) stringLit() string {
	t := p.tok()
	if t.Kind != lex.String {
		p.unexpected()
		return ""
	}
	p.next()
	return t.Text
}

// enter counts a level of nesting; every caller calls leave.
func (p *parser) enter() {
	p.depth++
	if p.depth > depthLimit {
		p.tooDeep()
	}
}

func (p *parser) leave() { p.depth-- }

func (p *parser) tooDeep() {
	if p.err == nil {
		p.fail(sqlerr.Newf(sqlerr.StatementTooComplex, "stack depth limit exceeded").
			WithHint("The statement is nested more than %d levels deep.", depthLimit))
	}
}

// depthLimit bounds the nesting of rules and of the tree. A goroutine's stack cannot be recovered
// once it overflows, and at this depth it holds well under a tenth of Go's limit.
const depthLimit = 5000

// paramsIn gives the highest parameter number among the tokens from..to.
func (p *parser) paramsIn(from, to int) int {
	highest := 0
	for i := from; i < to; i++ {
		if t := &p.toks[i]; t.Kind == lex.Param {
			highest = max(highest, paramNumber(t.Text))
		}
	}
	return highest
}
