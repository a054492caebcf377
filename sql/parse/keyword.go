package parse

import (
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/parse/lex"
)

// keywordExpr reads the expressions that begin with a keyword of the expression grammar. ok is
// false if the word is none here, in which case nothing has been consumed.
func (p *parser) keywordExpr(t *lex.Token) (f frag, ok bool) {
	paren := isSelf(p.peek(1), "(")
	switch t.Text {
	case "null":
		p.next()
		return p.out.textAt(t.Pos, "NULL"), true
	case "true":
		p.next()
		return p.out.textAt(t.Pos, "TRUE"), true
	case "false":
		p.next()
		return p.out.textAt(t.Pos, "FALSE"), true
	case "case":
		return p.caseExpr(), true
	case "cast", "treat":
		if t.Text == "treat" && !paren {
			return frag{}, false
		}
		p.next()
		p.expectSelf("(")
		x := p.expr()
		p.expectWord("as")
		c := &ast.Cast{P: at(t)}
		c.Type = p.typeName()
		p.expectSelf(")")
		if t.Text == "treat" {
			p.unsupported(t.Pos, "TREAT")
		}
		return p.marker(t.Pos, c, x), true
	case "array":
		return p.array(), true
	case "exists":
		if !paren {
			return frag{}, false
		}
		p.next()
		q := p.queryInParens()
		return p.compound(p.out.textAt(t.Pos, "EXISTS ("), p.finish(q), p.out.text(")")), true
	case "unique":
		p.next()
		p.queryInParens()
		p.unsupported(t.Pos, "UNIQUE predicate")
		return frag{}, true
	case "row":
		if !paren {
			return frag{}, false
		}
		return p.explicitRow(), true
	case "grouping":
		if !paren {
			return frag{}, false
		}
		p.next()
		p.next()
		list := p.exprList()
		p.expectSelf(")")
		return p.marker(t.Pos, &callCell{fn: &ast.Func{P: at(t), Name: plainName("grouping", t)}, args: len(list)}, list...), true
	case "current_date", "current_catalog", "current_role", "current_user", "session_user", "user":
		p.next()
		return p.keywordCall(t), true
	case "current_time", "current_timestamp", "localtime", "localtimestamp":
		p.next()
		return p.keywordCall(t), true
	case "current_schema":
		if paren {
			return frag{}, false
		}
		p.next()
		return p.keywordCall(t), true
	case "collation":
		if !isWord(p.peek(1), "for") {
			return frag{}, false
		}
		p.next()
		p.next()
		p.expectSelf("(")
		x := p.expr()
		p.expectSelf(")")
		return p.special(t, "pg_collation_for", x), true
	}
	if !paren || t.Cat != lex.ColName {
		return frag{}, false
	}
	switch t.Text {
	case "coalesce", "greatest", "least":
		p.next()
		p.next()
		list := p.exprList()
		p.expectSelf(")")
		if t.Text == "coalesce" {
			return p.marker(t.Pos, &ast.Coalesce{P: at(t)}, list...), true
		}
		return p.marker(t.Pos, &ast.MinMax{P: at(t), Least: t.Text == "least"}, list...), true
	case "nullif":
		p.next()
		p.next()
		l := p.expr()
		p.expectSelf(",")
		r := p.expr()
		p.expectSelf(")")
		return p.marker(t.Pos, &ast.NullIf{P: at(t)}, l, r), true
	case "extract":
		return p.extract(t), true
	case "position":
		return p.position(t), true
	case "substring":
		return p.substring(t), true
	case "overlay":
		return p.overlay(t), true
	case "trim":
		return p.trim(t), true
	case "normalize":
		p.next()
		p.next()
		args := []frag{p.expr()}
		if p.acceptSelf(",") {
			form := p.tok()
			if form.Kind != lex.Keyword || !isNormalForm(form.Text) {
				p.unexpected()
				return frag{}, true
			}
			p.next()
			args = append(args, p.out.strLit(form.Pos, upper(form.Text)))
		}
		p.expectSelf(")")
		return p.special(t, "normalize", args...), true
	case "xmlconcat", "xmlelement", "xmlexists", "xmlforest", "xmlparse", "xmlpi", "xmlroot", "xmlserialize":
		p.unsupported(t.Pos, upper(t.Text))
		return frag{}, true
	}
	return frag{}, false
}

// keywordCall is CURRENT_DATE and its kin; the word has been read. Those of time may have a
// precision.
func (p *parser) keywordCall(t *lex.Token) frag {
	c := &callCell{fn: &ast.Func{P: at(t), Name: plainName(t.Text, t), Special: true}}
	var ops []frag
	switch t.Text {
	case "current_time", "current_timestamp", "localtime", "localtimestamp":
		if p.isSelf("(") {
			p.next()
			n := p.tok()
			p.intConst()
			ops = append(ops, p.out.textAt(n.Pos, n.Text))
			c.args = 1
			p.expectSelf(")")
		}
	}
	return p.callText(c, ops)
}

// intConst reads PostgreSQL's Iconst, an integer of 32 bits, and gives its digits.
func (p *parser) intConst() string {
	t := p.tok()
	if !isIconst(t) {
		p.unexpected()
		return "0"
	}
	p.next()
	return t.Text
}

// isIconst tells whether t is an integer literal of 32 bits.
func isIconst(t *lex.Token) bool {
	if t.Kind != lex.Int {
		return false
	}
	digits := t.Text
	for len(digits) > 1 && digits[0] == '0' {
		digits = digits[1:]
	}
	return len(digits) < 10 || len(digits) == 10 && digits <= "2147483647"
}

func (p *parser) caseExpr() frag {
	t := p.tok()
	p.next()
	f := p.out.textAt(t.Pos, "CASE")
	if !p.isWord("when") {
		f = p.out.join(f, p.out.text(" "), p.out.parens(p.expr()))
	}
	if !p.isWord("when") {
		p.unexpected()
	}
	for p.acceptWord("when") {
		cond := p.expr()
		p.expectWord("then")
		result := p.expr()
		f = p.out.join(f, p.out.text(" WHEN "), cond, p.out.text(" THEN "), result)
	}
	if p.acceptWord("else") {
		f = p.out.join(f, p.out.text(" ELSE "), p.expr())
	}
	p.expectWord("end")
	f = p.out.join(f, p.out.text(" END"))
	f.depth++
	return f
}

// array reads ARRAY[...] or ARRAY(query).
func (p *parser) array() frag {
	t := p.tok()
	p.next()
	if p.isSelf("(") {
		q := p.queryInParens()
		return p.marker(t.Pos, &ast.ArrayQuery{P: at(t)}, p.out.parens(p.finish(q)))
	}
	if !p.isSelf("[") {
		p.unexpected()
		return frag{}
	}
	return p.arrayElems(t)
}

// arrayElems reads [a, b, ...] or [[...], [...]].
func (p *parser) arrayElems(t *lex.Token) frag {
	p.enter()
	defer p.leave()
	p.expectSelf("[")
	var list []frag
	if p.isSelf("[") {
		for {
			if !p.isSelf("[") {
				p.unexpected()
				break
			}
			list = append(list, p.arrayElems(p.tok()))
			if !p.acceptSelf(",") {
				break
			}
		}
	} else if !p.isSelf("]") {
		list = p.exprList()
	}
	p.expectSelf("]")
	return p.marker(t.Pos, &ast.Array{P: at(t)}, list...)
}

// The functions with a syntax of their own; the current token is their name.

func (p *parser) extract(t *lex.Token) frag {
	p.next()
	p.next()
	field := p.tok()
	switch {
	case field.Kind == lex.Ident, field.Kind == lex.String:
	case field.Kind == lex.Keyword && isTimeField(field.Text):
	default:
		p.unexpected()
		return frag{}
	}
	p.next()
	p.expectWord("from")
	x := p.expr()
	p.expectSelf(")")
	return p.special(t, "extract", p.out.strLit(field.Pos, field.Text), x)
}

func isTimeField(w string) bool {
	switch w {
	case "year", "month", "day", "hour", "minute", "second":
		return true
	}
	return false
}

func (p *parser) position(t *lex.Token) frag {
	p.next()
	p.next()
	part := p.exprPrec(precIs, modeRestricted)
	p.expectWord("in")
	whole := p.exprPrec(precIs, modeRestricted)
	p.expectSelf(")")
	return p.special(t, "position", whole, part)
}

func (p *parser) substring(t *lex.Token) frag {
	p.next()
	p.next()
	if p.acceptSelf(")") {
		return p.special(t, "substring")
	}
	fn := &ast.Func{P: at(t), Name: plainName("substring", t)}
	args := []frag{p.arg(fn, 0)}
	switch {
	case p.acceptWord("similar"):
		args = append(args, p.expr())
		p.expectWord("escape")
		args = append(args, p.expr())
	case p.acceptWord("from"):
		args = append(args, p.expr())
		if p.acceptWord("for") {
			args = append(args, p.expr())
		}
	case p.acceptWord("for"):
		n := p.tok()
		length := p.expr()
		if p.acceptWord("from") {
			args = append(args, p.expr(), length)
			break
		}
		// Postgres: the start is 1, and the length is made an int4 to keep substring(text, text)
		// out of the choice.
		c := &ast.Cast{P: ast.P{Pos: n.Pos}, Type: ast.TypeName{Name: plainName("int4", n), Pos: n.Pos}}
		args = append(args, p.out.textAt(n.Pos, "1"), p.marker(n.Pos, c, length))
	default:
		for p.acceptSelf(",") {
			args = append(args, p.arg(fn, len(args)))
		}
	}
	p.expectSelf(")")
	return p.callText(&callCell{fn: fn, args: len(args)}, args)
}

func (p *parser) overlay(t *lex.Token) frag {
	p.next()
	p.next()
	if p.acceptSelf(")") {
		return p.special(t, "overlay")
	}
	fn := &ast.Func{P: at(t), Name: plainName("overlay", t)}
	args := []frag{p.arg(fn, 0)}
	if p.acceptWord("placing") {
		args = append(args, p.expr())
		p.expectWord("from")
		args = append(args, p.expr())
		if p.acceptWord("for") {
			args = append(args, p.expr())
		}
	} else {
		for p.acceptSelf(",") {
			args = append(args, p.arg(fn, len(args)))
		}
	}
	p.expectSelf(")")
	return p.callText(&callCell{fn: fn, args: len(args)}, args)
}

func (p *parser) trim(t *lex.Token) frag {
	p.next()
	p.next()
	name := "btrim"
	switch p.acceptAnyOf("both", "leading", "trailing") {
	case "leading":
		name = "ltrim"
	case "trailing":
		name = "rtrim"
	}
	var args []frag
	if p.acceptWord("from") {
		args = p.exprList()
	} else {
		args = p.exprList()
		if p.acceptWord("from") {
			if len(args) != 1 {
				p.unexpectedAt(&p.toks[max(p.i-1, 0)])
			}
			args = append(p.exprList(), args...)
		}
	}
	p.expectSelf(")")
	return p.special(t, name, args...)
}

// queryInParens reads "(query)".
func (p *parser) queryInParens() *query {
	p.enter()
	defer p.leave()
	p.expectSelf("(")
	var q *query
	switch {
	case p.startsQueryOnly():
		q = p.query()
	case p.isSelf("("):
		q = p.queryInParens()
		if p.continuesQuery() {
			q = p.queryFrom(q)
		}
	default:
		p.unexpected()
		return &query{sel: &ast.Select{}}
	}
	p.expectSelf(")")
	return q
}
