package parse

import (
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/parse/lex"
)

// with reads WITH [RECURSIVE] name AS (...), ... .
func (p *parser) with() frag {
	p.next()
	f := p.out.text("WITH ")
	if p.acceptWord("recursive") {
		f = p.out.text("WITH RECURSIVE ")
	}
	for n := 0; p.err == nil; n++ {
		if n > 0 {
			f = p.out.join(f, p.out.text(","))
		}
		c := &cteCell{cte: &ast.CTE{Pos: p.pos(), Name: p.colID()}}
		if p.isSelf("(") {
			c.cte.Columns = p.nameList()
		}
		p.expectWord("as")
		if p.acceptPhrase("not", "materialized") {
			no := false
			c.cte.Materialized = &no
		} else if p.acceptWord("materialized") {
			yes := true
			c.cte.Materialized = &yes
		}
		body := p.cteBody(c)
		f = p.out.join(f, p.out.cellName(c.cte.Pos, c), p.out.text(" AS "), p.out.parens(body))
		if p.isWord("search") || p.isWord("cycle") {
			p.unsupported(p.pos(), upper(p.tok().Text)+" clause of WITH")
		}
		if !p.acceptSelf(",") {
			break
		}
	}
	return p.out.join(f, p.out.text(" "))
}

// cteBody reads "(query)" or a data-modifying statement in parentheses.
func (p *parser) cteBody(c *cteCell) frag {
	p.enter()
	defer p.leave()
	if !p.isSelf("(") || isSelf(p.peek(1), "(") {
		return p.finish(p.queryInParens())
	}
	p.next()
	pos := p.pos()
	var with frag
	if p.isWord("with") {
		with = p.with()
	}
	var body frag
	switch {
	case isDML(p.tok()):
		c.dml = p.dml(with, pos)
		body = p.out.text("SELECT 1")
	case with.first != 0:
		body = p.finish(p.queryAfterWith(with, pos))
	case p.startsQueryOnly():
		body = p.finish(p.query())
	default:
		p.unexpected()
	}
	p.expectSelf(")")
	return body
}

func isDML(t *lex.Token) bool {
	return isWord(t, "insert") || isWord(t, "update") || isWord(t, "delete") || isWord(t, "merge")
}
