package parse

import (
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/parse/lex"
	"github.com/weirdb/weir/sql/sqlerr"
)

// Precedences, from PostgreSQL's grammar, lowest first. Is, comparison and like operators do not
// associate.
const (
	precNone = iota
	precOr
	precAnd
	precNot
	precIs
	precCompare
	precLike
	precOp
	precAdd
	precMul
	precPow
	precAt
	precCollate
	precSign
	precCast
)

func nonAssoc(prec int) bool { return prec == precIs || prec == precCompare || prec == precLike }

// mode says which operators an expression may have.
type mode uint8

const (
	// modeFull is a_expr.
	modeFull mode = iota
	// modeRestricted is b_expr, which has no logical operators, LIKE, BETWEEN, IN and so on.
	modeRestricted
	// modeTarget is a_expr in a select list, where an operator that is a word and ends the item is
	// its label: SELECT a AND FROM t.
	modeTarget
)

// expr is PostgreSQL's a_expr.
func (p *parser) expr() frag { return p.exprPrec(precOr, modeFull) }

// exprPrec reads an expression whose infix operators bind at least as tight as least.
func (p *parser) exprPrec(least int, m mode) frag {
	p.enter()
	f := p.infix(p.prefix(m.operand()), least, m)
	p.leave()
	return f
}

// operand is the mode of the operands of an expression.
func (m mode) operand() mode {
	if m == modeTarget {
		return modeFull
	}
	return m
}

// prefix reads an operand with its prefix operators.
func (p *parser) prefix(m mode) frag {
	t := p.tok()
	switch {
	case isSelf(t, "-"), isSelf(t, "+"):
		p.next()
		x := p.exprPrec(precSign+1, m)
		if t.Text == "-" {
			return p.compound(p.out.textAt(t.Pos, "-"), p.out.parens(x))
		}
		return p.marker(t.Pos, &ast.Unary{P: at(t), Op: t.Text}, x)
	case t.Kind == lex.Op, t.Kind == lex.Keyword && t.Text == "operator" && isSelf(p.peek(1), "("):
		schema, op := p.operator()
		x := p.exprPrec(precOp+1, m)
		return p.marker(t.Pos, &ast.Unary{P: at(t), Schema: schema, Op: op}, x)
	case t.Kind != lex.Keyword || m == modeRestricted:
	case t.Text == "not":
		p.next()
		x := p.exprPrec(precNot+1, modeFull)
		return p.compound(p.out.textAt(t.Pos, "NOT "), p.out.parens(x))
	case t.Text == "default":
		p.next()
		return p.marker(t.Pos, &ast.Default{P: at(t)})
	}
	return p.primary(m)
}

// infixPrec gives the precedence of the infix or postfix operator at the current token, or
// precNone if there is none.
func (p *parser) infixPrec(m mode) int {
	t := p.tok()
	switch t.Kind {
	case lex.Op:
		return precOp
	case lex.Self:
		switch t.Text {
		case "<", ">", "=", "<=", ">=", "<>":
			return precCompare
		case "+", "-":
			return precAdd
		case "*", "/", "%":
			return precMul
		case "^":
			return precPow
		case "::":
			return precCast
		}
		return precNone
	case lex.Keyword:
	default:
		return precNone
	}
	switch t.Text {
	case "operator":
		return precOp
	case "is":
		return precIs
	}
	if m == modeRestricted {
		return precNone
	}
	switch t.Text {
	case "or":
		return precOr
	case "and":
		return precAnd
	case "isnull", "notnull":
		return precIs
	case "between", "in", "like", "ilike":
		return precLike
	case "similar":
		if isWord(p.peek(1), "to") {
			return precLike
		}
	case "not":
		switch n := p.peek(1); {
		case n.Kind == lex.Keyword && (n.Text == "between" || n.Text == "in" || n.Text == "like" ||
			n.Text == "ilike" || n.Text == "similar"):
			return precLike
		}
	case "at":
		return precAt
	case "collate":
		return precCollate
	}
	return precNone
}

// infix continues an expression behind its first operand.
func (p *parser) infix(left frag, least int, m mode) frag {
	for p.err == nil {
		prec := p.infixPrec(m)
		if prec == precNone || prec < least || m == modeTarget && p.isLabel() {
			break
		}
		var open bool
		left, open = p.infixOne(left, prec, m)
		// The right operand of an operator that does not associate may not be followed by
		// another one of its level; a closed form such as IN (...) may.
		if open && nonAssoc(prec) && p.infixPrec(m) == prec {
			p.unexpected()
		}
		if left.depth > depthLimit {
			p.tooDeep()
		}
	}
	return left
}

// isLabel tells whether the operator at the current token is a label, as it ends its select item.
func (p *parser) isLabel() bool {
	t := p.tok()
	return t.Kind == lex.Keyword && t.Bare && (isSelf(p.peek(1), ",") || endsTargets(p.peek(1)))
}

// infixOne reads one infix or postfix operator and what is right of it. open tells whether it
// ended with an operand, rather than with a word or a parenthesis.
func (p *parser) infixOne(left frag, prec int, m mode) (f frag, open bool) {
	t := p.tok()
	labels := m == modeTarget
	m = m.operand()
	switch prec {
	case precOr, precAnd:
		return p.logic(left, prec, labels), true
	case precIs:
		return p.is(left, m)
	case precLike:
		return p.likeInBetween(left)
	case precCast:
		p.next()
		c := &ast.Cast{P: at(t)}
		c.Type = p.typeName()
		return p.marker(t.Pos, c, left), false
	case precAt:
		p.next()
		p.expectWord("time", "zone")
		right := p.exprPrec(precAt+1, m)
		return p.marker(t.Pos, &ast.AtTimeZone{P: at(t)}, left, right), true
	case precCollate:
		p.next()
		c := &ast.Collate{P: at(t)}
		c.Collation = p.qualifiedName()
		return p.marker(t.Pos, c, left), false
	}
	// A binary operator, or one before ANY or ALL.
	schema, op := p.operator()
	if p.isWord("any") || p.isWord("some") || p.isWord("all") {
		if m != modeRestricted {
			return p.anyAll(left, t, schema, op), false
		}
	}
	right := p.exprPrec(prec+1, m)
	if schema == "" {
		if native := nativeOp(op); native != "" {
			return p.compound(p.out.operand(left), p.out.textAt(t.Pos, native), p.out.operand(right)), true
		}
	}
	return p.marker(t.Pos, &ast.Binary{P: at(t), Schema: schema, Op: op}, left, right), true
}

// nativeOp is the TiDB spelling of the operators that it reads as Postgres does, with spaces.
func nativeOp(op string) string {
	switch op {
	case "+":
		return " + "
	case "-":
		return " - "
	case "*":
		return " * "
	case "/":
		return " / "
	case "%":
		return " % "
	case "^":
		return " ^ "
	case "=":
		return " = "
	case "<>":
		return " <> "
	case "<":
		return " < "
	case ">":
		return " > "
	case "<=":
		return " <= "
	case ">=":
		return " >= "
	}
	return ""
}

// operator reads a symbol or OPERATOR(schema.symbol).
func (p *parser) operator() (schema, op string) {
	t := p.tok()
	if t.Kind == lex.Op || t.Kind == lex.Self {
		p.next()
		return "", t.Text
	}
	p.expectWord("operator")
	p.expectSelf("(")
	for isColID(p.tok()) {
		schema = p.colID()
		p.expectSelf(".")
	}
	t = p.tok()
	if t.Kind == lex.Op || t.Kind == lex.Self && nativeOp(t.Text) != "" {
		p.next()
	} else {
		p.unexpected()
	}
	p.expectSelf(")")
	return schema, t.Text
}

// nativeLogic is the longest chain of AND or OR that goes to TiDB as it is; its tree would be as
// high as the chain is long.
const nativeLogic = 32

// logic reads "left AND b AND c ..." as a whole. With labels set the last AND may be a label.
func (p *parser) logic(left frag, prec int, labels bool) frag {
	word, op := "and", " AND "
	if prec == precOr {
		word, op = "or", " OR "
	}
	start := p.pos()
	operands := []frag{left}
	var ops []int
	for p.isWord(word) && !(labels && len(ops) > 0 && p.isLabel()) {
		ops = append(ops, p.pos())
		p.next()
		operands = append(operands, p.exprPrec(prec+1, modeFull))
	}
	if len(ops) > nativeLogic {
		if prec == precOr {
			return p.marker(start, &ast.Or{P: ast.P{Pos: start}}, operands...)
		}
		return p.marker(start, &ast.And{P: ast.P{Pos: start}}, operands...)
	}
	f := p.out.operand(left)
	for i, pos := range ops {
		f = p.out.join(f, p.out.textAt(pos, op), p.out.operand(operands[i+1]))
	}
	f.compound = true
	f.depth++
	return f
}

// is reads what begins with IS, ISNULL or NOTNULL.
func (p *parser) is(left frag, m mode) (f frag, open bool) {
	t := p.tok()
	p.next()
	native := func(s string) (frag, bool) {
		return p.compound(p.out.operand(left), p.out.textAt(t.Pos, s)), false
	}
	switch t.Text {
	case "isnull":
		return native(" IS NULL")
	case "notnull":
		return native(" IS NOT NULL")
	}
	not := p.acceptWord("not")
	choose := func(s, negated string) (frag, bool) {
		if not {
			s = negated
		}
		p.next()
		return native(s)
	}
	switch w := p.tok(); {
	case isWord(w, "distinct"):
		p.next()
		p.expectWord("from")
		right := p.exprPrec(precIs+1, m)
		return p.marker(t.Pos, &ast.IsDistinct{P: at(t), Not: not}, left, right), true
	case isWord(w, "document"):
		p.unsupported(t.Pos, "IS DOCUMENT")
	case m == modeRestricted:
		p.unexpected()
	case isWord(w, "null"):
		return choose(" IS NULL", " IS NOT NULL")
	case isWord(w, "true"):
		return choose(" IS TRUE", " IS NOT TRUE")
	case isWord(w, "false"):
		return choose(" IS FALSE", " IS NOT FALSE")
	case isWord(w, "unknown"):
		p.next()
		return p.marker(t.Pos, &ast.Is{P: at(t), What: ast.IsUnknown, Not: not}, left), false
	case isWord(w, "normalized"), w.Kind == lex.Keyword && isNormalForm(w.Text):
		args := []frag{left}
		if w.Text != "normalized" {
			args = append(args, p.out.strLit(w.Pos, upper(w.Text)))
			p.next()
		}
		p.expectWord("normalized")
		f := p.marker(t.Pos, &callCell{fn: &ast.Func{P: at(t), Name: plainName("is_normalized", t)}, args: len(args)}, args...)
		if not {
			f = p.compound(p.out.textAt(t.Pos, "NOT "), f)
		}
		return f, false
	default:
		p.unexpected()
	}
	return left, false
}

func isNormalForm(w string) bool { return w == "nfc" || w == "nfd" || w == "nfkc" || w == "nfkd" }

// likeInBetween reads [NOT] LIKE, ILIKE, SIMILAR TO, IN or BETWEEN.
func (p *parser) likeInBetween(left frag) (f frag, open bool) {
	start := p.tok()
	not := p.acceptWord("not")
	t := p.tok()
	p.next()
	word := " " + upper(t.Text) + " "
	if not {
		word = " NOT" + word
	}
	switch t.Text {
	case "between":
		sym := p.acceptWord("symmetric")
		if !sym {
			p.acceptWord("asymmetric")
		}
		lo := p.exprPrec(precIs, modeRestricted)
		p.expectWord("and")
		hi := p.exprPrec(precLike+1, modeFull)
		if sym {
			return p.marker(start.Pos, &ast.Between{P: at(start), Not: not, Sym: true}, left, lo, hi), true
		}
		return p.compound(p.out.operand(left), p.out.textAt(start.Pos, word),
			p.out.operand(lo), p.out.text(" AND "), p.out.operand(hi)), true
	case "in":
		if !p.isSelf("(") {
			p.unexpected()
			return left, false
		}
		q, list := p.parenthesised(false)
		in := p.out.textAt(start.Pos, word)
		if q != nil {
			return p.compound(p.out.operand(left), in, p.out.parens(p.finish(q))), false
		}
		return p.compound(p.out.operand(left), in, p.out.parens(p.out.list(list))), false
	}
	kind := ast.LikeLike
	switch t.Text {
	case "ilike":
		kind = ast.LikeILike
	case "similar":
		kind = ast.LikeSimilar
		p.expectWord("to")
	}
	if kind != ast.LikeSimilar && (p.isWord("any") || p.isWord("some") || p.isWord("all")) {
		op := "~~"
		if not {
			op = "!~~"
		}
		if kind == ast.LikeILike {
			op += "*"
		}
		return p.anyAll(left, start, "", op), false
	}
	pattern := p.exprPrec(precLike+1, modeFull)
	if p.acceptWord("escape") {
		esc := p.exprPrec(precLike+1, modeFull)
		return p.marker(start.Pos, &ast.Like{P: at(start), Kind: kind, Not: not}, left, pattern, esc), true
	}
	if kind == ast.LikeSimilar {
		return p.marker(start.Pos, &ast.Like{P: at(start), Kind: kind, Not: not}, left, pattern), true
	}
	return p.compound(p.out.operand(left), p.out.textAt(start.Pos, word), p.out.operand(pattern)), true
}

// anyAll reads "ANY|SOME|ALL (query or array)" behind the operator op at token t.
func (p *parser) anyAll(left frag, t *lex.Token, schema, op string) frag {
	all := p.isWord("all")
	p.next()
	if !p.isSelf("(") {
		p.unexpected()
		return left
	}
	q, list := p.parenthesised(true)
	if q != nil {
		return p.marker(t.Pos, &ast.AnyAllQuery{P: at(t), Schema: schema, Op: op, All: all}, left, p.out.parens(p.finish(q)))
	}
	return p.marker(t.Pos, &ast.AnyAll{P: at(t), Schema: schema, Op: op, All: all}, left, list[0])
}

// exprList reads one or more expressions with commas between them.
func (p *parser) exprList() []frag {
	list := []frag{p.expr()}
	for p.acceptSelf(",") {
		list = append(list, p.expr())
	}
	return list
}

// Short forms.

func at(t *lex.Token) ast.P { return ast.P{Pos: t.Pos} }

func plainName(s string, t *lex.Token) ast.Name { return ast.Name{Parts: []string{s}, Pos: t.Pos} }

func (p *parser) compound(frags ...frag) frag { return p.out.compound(frags...) }

func (p *parser) marker(src int, c any, operands ...frag) frag {
	f := p.out.marker(src, c, operands...)
	if f.depth > depthLimit {
		p.tooDeep()
	}
	return f
}

func upper(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'a' && c <= 'z' {
			b[i] = c - 'a' + 'A'
		}
	}
	return string(b)
}

// improperStar is PostgreSQL's error for a "*" that is not at the end of a reference; it finds it
// when the whole reference has been read.
func (p *parser) improperStar() {
	p.indirection(frag{})
	if t := p.tok(); t.Kind == lex.EOF {
		p.failf(sqlerr.SyntaxError, t.Pos, "improper use of \"*\" at end of input")
	} else {
		p.failf(sqlerr.SyntaxError, t.Pos, "improper use of \"*\" at or near \"%s\"", p.src[t.Pos:t.End])
	}
}
