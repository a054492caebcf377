package parse

import (
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/parse/lex"
)

// groupCell is the shell of ROLLUP, CUBE, GROUPING SETS or (); its operands are the items.
type groupCell struct {
	item ast.GroupItem
}

// groupItems reads the items of GROUP BY or GROUPING SETS.
func (p *parser) groupItems() []frag {
	var items []frag
	for p.err == nil {
		items = append(items, p.groupItem())
		if !p.acceptSelf(",") {
			break
		}
	}
	return items
}

func (p *parser) groupItem() frag {
	p.enter()
	defer p.leave()
	t := p.tok()
	c := &groupCell{item: ast.GroupItem{Pos: t.Pos}}
	switch {
	case isSelf(t, "(") && isSelf(p.peek(1), ")"):
		p.next()
		p.next()
		c.item.Kind = ast.GroupSet
		return p.marker(t.Pos, c)
	case (isWord(t, "rollup") || isWord(t, "cube")) && isSelf(p.peek(1), "("):
		c.item.Kind = ast.GroupRollup
		if t.Text == "cube" {
			c.item.Kind = ast.GroupCube
		}
		p.next()
		p.next()
		list := []frag{p.groupExpr()}
		for p.acceptSelf(",") {
			list = append(list, p.groupExpr())
		}
		p.expectSelf(")")
		return p.marker(t.Pos, c, list...)
	case p.isWords("grouping", "sets"):
		c.item.Kind = ast.GroupGroupingSets
		p.next()
		p.next()
		p.expectSelf("(")
		list := p.groupItems()
		p.expectSelf(")")
		return p.marker(t.Pos, c, list...)
	}
	return p.groupExpr()
}

// groupExpr reads an expression of GROUP BY or PARTITION BY. TiDB takes an integer there for the
// number of a select item and forgets where it stands: it gets a cell.
func (p *parser) groupExpr() frag {
	t, first := p.tok(), p.i
	f := p.expr()
	if t.Kind == lex.Int && p.i == first+1 {
		return p.marker(t.Pos, intOrNum(t))
	}
	return f
}
