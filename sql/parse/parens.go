package parse

import (
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/sqlerr"
)

// parenthesised reads "(query)" or "(expression, ...)"; the current token is the parenthesis.
// Which of the two it is shows only behind any number of further parentheses, so that a query
// that has been read may turn out to be the first operand of an expression. With single set there
// may be only one expression.
func (p *parser) parenthesised(single bool) (*query, []frag) {
	p.enter()
	defer p.leave()
	p.expectSelf("(")
	inner := p.pos()
	var first frag
	switch {
	case p.startsQuery():
		q := p.query()
		p.expectSelf(")")
		return q, nil
	case p.isSelf("("):
		q, list := p.parenthesised(false)
		if q != nil {
			if p.continuesQuery() {
				q = p.queryFrom(q)
			}
			if p.acceptSelf(")") {
				return q, nil
			}
			first = p.subquery(inner, q)
		} else {
			first = p.group(inner, list)
		}
		first = p.infix(p.afterParens(first), precOr, modeFull)
	default:
		first = p.expr()
	}
	list := []frag{first}
	for !single && p.acceptSelf(",") {
		list = append(list, p.expr())
	}
	p.expectSelf(")")
	return nil, list
}

// group is what "(a)" or "(a, b)" means as an operand.
func (p *parser) group(pos int, list []frag) frag {
	if len(list) == 1 {
		list[0].row = 0
		return list[0]
	}
	f := p.marker(pos, &ast.Row{P: ast.P{Pos: pos}}, list...)
	f.row = int32(len(list)) + 1
	return f
}

// subquery is a query as a scalar operand.
func (p *parser) subquery(pos int, q *query) frag {
	return p.out.join(p.out.textAt(pos, "("), p.finish(q), p.out.text(")"))
}

// afterParens reads what may follow a closing parenthesis directly: subscripts, fields, and for
// a row OVERLAPS.
func (p *parser) afterParens(f frag) frag {
	return p.overlaps(p.indirection(f))
}

func (p *parser) overlaps(f frag) frag {
	if f.row == 0 || !p.isWord("overlaps") {
		return f
	}
	t := p.tok()
	p.next()
	var right frag
	switch {
	case p.isSelf("("):
		pos := p.pos()
		q, list := p.parenthesised(false)
		if q != nil || len(list) < 2 {
			p.unexpected()
			return f
		}
		right = p.group(pos, list)
	case p.isWord("row"):
		right = p.explicitRow()
	default:
		p.unexpected()
		return f
	}
	for _, side := range []struct {
		name string
		row  frag
	}{{"left", f}, {"right", right}} {
		if p.err == nil && side.row.row != 3 {
			p.failf(sqlerr.SyntaxError, int(p.out.pieces[side.row.first].src),
				"wrong number of parameters on %s side of OVERLAPS expression", side.name)
		}
	}
	return p.marker(t.Pos, &ast.Overlaps{P: at(t)}, f, right)
}

// indirection reads ".field", ".*", "[i]" and "[lo:hi]" behind an operand.
func (p *parser) indirection(f frag) frag {
	chain := false
	for p.err == nil {
		t := p.tok()
		switch {
		case isSelf(t, "."):
			p.next()
			if p.acceptSelf("*") {
				if p.isSelf(".") || p.isSelf("[") {
					p.improperStar()
				}
				return p.marker(t.Pos, &ast.Field{P: at(t), Name: "*"}, f)
			}
			f = p.marker(t.Pos, &ast.Field{P: at(t), Name: p.colLabel()}, f)
			chain = false
		case isSelf(t, "["):
			f = p.subscript(f, chain)
			chain = true
		default:
			return f
		}
		if f.depth > depthLimit {
			p.tooDeep()
		}
	}
	return f
}

// subscript reads one "[...]"; chain tells whether another precedes it.
func (p *parser) subscript(f frag, chain bool) frag {
	t := p.tok()
	p.next()
	c := &subscriptCell{sub: &ast.Subscript{P: at(t), Chain: chain}}
	operands := []frag{f}
	if !p.isSelf(":") {
		operands = append(operands, p.expr())
		c.lo = true
	}
	if p.acceptSelf(":") {
		c.sub.Slice = true
		if !p.isSelf("]") {
			operands = append(operands, p.expr())
			c.hi = true
		}
	}
	p.expectSelf("]")
	return p.marker(t.Pos, c, operands...)
}
