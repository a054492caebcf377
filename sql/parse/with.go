package parse

import (
	"strconv"

	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/parse/lex"
	"github.com/weirdb/weir/sql/sqlerr"
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
		p.traversal(c.cte)
		if !p.acceptSelf(",") {
			break
		}
	}
	return p.out.join(f, p.out.text(" "))
}

// traversal reads the SEARCH and CYCLE clauses of a WITH item.
func (p *parser) traversal(c *ast.CTE) {
	if p.isWord("search") {
		s := &ast.SearchClause{Pos: p.pos()}
		p.next()
		switch p.acceptAnyOf("depth", "breadth") {
		case "breadth":
			s.Breadth = true
		case "":
			p.unexpected()
		}
		p.expectWord("first", "by")
		s.Columns = p.columnNames()
		p.expectWord("set")
		s.Set = p.colID()
		c.Search = s
	}
	if p.isWord("cycle") {
		y := &ast.CycleClause{Pos: p.pos()}
		p.next()
		y.Columns = p.columnNames()
		p.expectWord("set")
		y.Mark = p.colID()
		y.Value, y.Default = &ast.BoolLit{P: ast.P{Pos: y.Pos}, Value: true}, &ast.BoolLit{P: ast.P{Pos: y.Pos}}
		if p.acceptWord("to") {
			y.Value = p.constant()
			p.expectWord("default")
			y.Default = p.constant()
		}
		p.expectWord("using")
		y.Path = p.colID()
		c.Cycle = y
	}
}

// columnNames reads "a, b, ...".
func (p *parser) columnNames() []string {
	var names []string
	for p.err == nil {
		names = append(names, p.colID())
		if !p.acceptSelf(",") {
			break
		}
	}
	return names
}

// constant reads a literal.
func (p *parser) constant() ast.Expr {
	t := p.tok()
	at := ast.P{Pos: t.Pos}
	switch {
	case t.Kind == lex.String:
		return &ast.StrLit{P: at, Value: p.stringLit()}
	case t.Kind == lex.Int:
		p.next()
		if n, err := strconv.ParseInt(t.Text, 10, 64); err == nil {
			return &ast.IntLit{P: at, Value: n}
		}
		return &ast.NumLit{P: at, Text: t.Text}
	case t.Kind == lex.Num:
		p.next()
		return &ast.NumLit{P: at, Text: t.Text}
	case p.acceptWord("true"):
		return &ast.BoolLit{P: at, Value: true}
	case p.acceptWord("false"):
		return &ast.BoolLit{P: at}
	case p.acceptWord("null"):
		return &ast.NullLit{P: at}
	case t.Kind == lex.Ident || t.Kind == lex.Keyword && t.Cat != lex.Reserved:
		typ := p.typeName()
		return &ast.TypedLit{P: at, Type: typ, Value: p.stringLit()}
	}
	p.unexpected()
	return nil
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
	case p.isWord("merge"):
		p.failf(sqlerr.FeatureNotSupported, c.cte.Pos, "MERGE not supported in WITH query")
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
