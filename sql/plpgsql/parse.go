package plpgsql

import (
	"strings"

	"github.com/weirdb/weir/sql/parse/lex"
	"github.com/weirdb/weir/sql/sqlerr"
)

// depthLimit bounds how deep statements are nested.
const depthLimit = 500

// Parse reads the body of a DO block. Positions in the errors are offsets in body.
func Parse(body string) (b *Block, err error) {
	p := &parser{src: body, toks: lex.Lex(body, nil)}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			b, err = nil, r.err
		default:
			panic(r)
		}
	}()
	label := p.label()
	b = p.block(label)
	p.accept(";")
	if p.tok().Kind != lex.EOF {
		p.unexpected()
	}
	return b, nil
}

// failure carries an error out of the recursion.
type failure struct{ err *sqlerr.Error }

type parser struct {
	src   string
	toks  []lex.Token
	i     int
	depth int
	// line is the line of the offset upTo, from which the next one is counted on.
	upTo, line int
}

func (p *parser) tok() *lex.Token       { return &p.toks[p.i] }
func (p *parser) peek(n int) *lex.Token { return &p.toks[min(p.i+n, len(p.toks)-1)] }
func (p *parser) next() {
	if p.i < len(p.toks)-1 {
		p.i++
	}
}

func (p *parser) fail(code sqlerr.Code, pos int, format string, args ...any) {
	panic(failure{sqlerr.New(code, pos, format, args...)})
}

func (p *parser) unsupported(pos int, what string) {
	p.fail(sqlerr.FeatureNotSupported, pos, "%s in PL/pgSQL is not supported", what)
}

func (p *parser) unexpected() {
	t := p.tok()
	switch t.Kind {
	case lex.Err:
		panic(failure{t.Err})
	case lex.EOF:
		p.fail(sqlerr.SyntaxError, t.Pos, "syntax error at end of input")
	default:
		p.fail(sqlerr.SyntaxError, t.Pos, "syntax error at or near \"%s\"", p.src[t.Pos:t.End])
	}
}

// lineAt is the line of an offset.
func (p *parser) lineAt(pos int) int {
	if pos < p.upTo {
		p.upTo, p.line = 0, 0
	}
	p.line += strings.Count(p.src[p.upTo:pos], "\n")
	p.upTo = pos
	return p.line + 1
}

func (p *parser) here() Line { return Line(p.lineAt(p.tok().Pos)) }

func isWord(t *lex.Token, w string) bool {
	return (t.Kind == lex.Keyword || t.Kind == lex.Ident && !t.Quoted) && t.Text == w
}

func isSelf(t *lex.Token, s string) bool {
	return (t.Kind == lex.Self || t.Kind == lex.Op) && t.Text == s
}

// is tells whether the token is this word or sign.
func is(t *lex.Token, s string) bool { return isWord(t, s) || isSelf(t, s) }

func (p *parser) is(s string) bool { return is(p.tok(), s) }

func (p *parser) accept(s string) bool {
	if p.is(s) {
		p.next()
		return true
	}
	return false
}

func (p *parser) expect(s string) {
	if !p.accept(s) {
		p.unexpected()
	}
}

func isName(t *lex.Token) bool { return t.Kind == lex.Ident || t.Kind == lex.Keyword }

func (p *parser) name() string {
	t := p.tok()
	if !isName(t) {
		p.unexpected()
	}
	p.next()
	return t.Text
}

// label reads <<name>>, if there is one.
func (p *parser) label() string {
	if !p.accept("<<") {
		return ""
	}
	n := p.name()
	p.expect(">>")
	return n
}

// endLabel reads the name that may stand behind END.
func (p *parser) endLabel(label string) {
	if t := p.tok(); isName(t) {
		switch {
		case label == "":
			p.fail(sqlerr.SyntaxError, t.Pos, "end label \"%s\" specified for unlabeled block", t.Text)
		case t.Text != label:
			p.fail(sqlerr.SyntaxError, t.Pos, "end label \"%s\" differs from block's label \"%s\"", t.Text, label)
		}
		p.next()
	}
}

// until takes everything up to one of the words or signs outside of parentheses, which is not consumed.
func (p *parser) until(ends ...string) Expr {
	start, depth := p.i, 0
	for {
		t := p.tok()
		if depth == 0 {
			for _, e := range ends {
				if is(t, e) {
					return p.text(start)
				}
			}
		}
		switch {
		case t.Kind == lex.EOF, t.Kind == lex.Err:
			p.unexpected()
		case isSelf(t, ";"):
			p.unexpected()
		case isSelf(t, "("), isSelf(t, "["):
			depth++
		case isSelf(t, ")"), isSelf(t, "]"):
			if depth--; depth < 0 {
				p.unexpected()
			}
		}
		p.next()
	}
}

// text is what stands from a token to the present one.
func (p *parser) text(start int) Expr {
	if start == p.i {
		t := p.tok()
		p.fail(sqlerr.SyntaxError, t.Pos, "missing expression at or near \"%s\"", p.src[t.Pos:t.End])
	}
	pos := p.toks[start].Pos
	return Expr{Text: p.src[pos:p.toks[p.i-1].End], Pos: pos, Line: p.lineAt(pos)}
}

// block reads from DECLARE or BEGIN to END and its label.
func (p *parser) block(label string) *Block {
	p.enter()
	defer p.leave()
	b := &Block{Label: label}
	if p.accept("declare") {
		for !p.is("begin") {
			if p.accept("declare") {
				continue
			}
			b.Decls = append(b.Decls, p.decl())
		}
	}
	b.Line = p.here()
	p.expect("begin")
	b.Body = p.statements("end", "exception")
	if p.accept("exception") {
		for p.is("when") {
			h := Handler{Pos: p.tok().Pos}
			p.next()
			for {
				h.Conditions = append(h.Conditions, p.condition())
				if !p.accept("or") {
					break
				}
			}
			p.expect("then")
			h.Body = p.statements("when", "end")
			b.Handlers = append(b.Handlers, h)
		}
		if b.Handlers == nil {
			p.unexpected()
		}
	}
	p.expect("end")
	p.endLabel(label)
	return b
}

// condition reads the name of an error condition, or SQLSTATE 'xxxxx'.
func (p *parser) condition() string {
	t := p.tok()
	if !isWord(t, "sqlstate") {
		return conditionName(p, t)
	}
	p.next()
	t = p.tok()
	if t.Kind != lex.String {
		p.unexpected()
	}
	if len(t.Text) != 5 || strings.Trim(t.Text, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		p.fail(sqlerr.SyntaxError, t.Pos, "invalid SQLSTATE code at or near \"%s\"", p.src[t.Pos:t.End])
	}
	p.next()
	return "=" + t.Text
}

func conditionName(p *parser, t *lex.Token) string {
	n := p.name()
	if n != "others" && Codes(n) == nil {
		p.fail(sqlerr.UndefinedObject, t.Pos, "unrecognized exception condition \"%s\"", n)
	}
	return n
}

// decl reads one declaration.
func (p *parser) decl() Decl {
	t := p.tok()
	d := Decl{Name: p.name(), Pos: t.Pos, Line: p.lineAt(t.Pos)}
	if p.accept("alias") {
		p.expect("for")
		if k := p.tok().Kind; k == lex.Param {
			p.unsupported(p.tok().Pos, "ALIAS FOR a parameter")
		}
		d.Alias = p.name()
		p.expect(";")
		return d
	}
	if p.is("cursor") || p.is("no") && is(p.peek(1), "scroll") || p.is("scroll") && is(p.peek(1), "cursor") {
		p.unsupported(p.tok().Pos, "a cursor")
	}
	d.Constant = p.accept("constant")
	typ := p.until(";", "default", ":=", "=", "not", "collate")
	d.Type = typ.Text
	if base, kind, ok := cutPercent(typ.Text); ok {
		d.Type, d.Like, d.RowOf = base, kind == "type", kind == "rowtype"
		if !d.Like && !d.RowOf {
			p.fail(sqlerr.SyntaxError, typ.Pos, "invalid type name \"%s\"", typ.Text)
		}
	}
	if p.accept("collate") {
		p.name()
		for p.accept(".") {
			p.name()
		}
	}
	if p.accept("not") {
		p.expect("null")
		d.NotNull = true
	}
	if p.accept("default") || p.accept(":=") || p.accept("=") {
		e := p.until(";")
		d.Default = &e
	}
	if d.NotNull && d.Default == nil {
		p.fail(sqlerr.NullValueNotAllowed, d.Pos, "variable \"%s\" must have a default value, since it's declared NOT NULL", d.Name)
	}
	p.expect(";")
	return d
}

// cutPercent takes name%kind apart.
func cutPercent(s string) (base, kind string, ok bool) {
	i := strings.LastIndexByte(s, '%')
	if i < 0 {
		return "", "", false
	}
	return strings.TrimSpace(s[:i]), strings.ToLower(strings.TrimSpace(s[i+1:])), true
}

func (p *parser) enter() {
	if p.depth++; p.depth > depthLimit {
		panic(failure{sqlerr.Newf(sqlerr.StatementTooComplex, "stack depth limit exceeded")})
	}
}

func (p *parser) leave() { p.depth-- }

// statements reads statements up to one of the words, which is not consumed.
func (p *parser) statements(ends ...string) []Stmt {
	p.enter()
	defer p.leave()
	var out []Stmt
	for {
		for _, e := range ends {
			if isWord(p.tok(), e) {
				return out
			}
		}
		out = append(out, p.statement())
	}
}

// variable reads the name of a variable, or of a field of a record.
func (p *parser) variable() Target {
	t := Target{Pos: p.tok().Pos, Parts: []string{p.name()}}
	for p.accept(".") {
		t.Parts = append(t.Parts, p.name())
	}
	return t
}

func (p *parser) variables() []Target {
	list := []Target{p.variable()}
	for p.accept(",") {
		list = append(list, p.variable())
	}
	return list
}
