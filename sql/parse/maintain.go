package parse

import (
	"strings"

	"github.com/weirdb/weir/sql/ast"
)

// maintain reads VACUUM, ANALYZE, REINDEX and CLUSTER.
func (p *parser) maintain() ast.Statement {
	t := p.tok()
	m := &ast.Maintain{What: strings.ToUpper(t.Text), Pos: t.Pos}
	if m.What == "ANALYSE" {
		m.What = "ANALYZE"
	}
	p.next()
	if p.isSelf("(") {
		p.utilityOptions(false)
	} else if m.What == "VACUUM" {
		p.acceptWord("full")
		p.acceptWord("freeze")
	}
	if m.What == "REINDEX" {
		return p.reindex(m)
	}
	p.acceptWord("verbose")
	if m.What == "VACUUM" {
		p.acceptAnyOf("analyze", "analyse")
	}
	if !isColID(p.tok()) {
		return m
	}
	for p.err == nil {
		mt := ast.MaintainTable{Name: p.relationName()}
		switch {
		case m.What == "CLUSTER":
			if p.acceptWord("using") {
				p.colID()
			} else if p.acceptWord("on") {
				mt.Name = p.relationName() // the old form: CLUSTER index ON table
			}
		case p.acceptSelf("("):
			for p.err == nil {
				mt.Columns = append(mt.Columns, p.colID())
				if !p.acceptSelf(",") {
					break
				}
			}
			p.expectSelf(")")
		}
		m.Tables = append(m.Tables, mt)
		if m.What == "CLUSTER" || !p.acceptSelf(",") {
			break
		}
	}
	return m
}

func (p *parser) reindex(m *ast.Maintain) ast.Statement {
	m.Kind = p.acceptAnyOf("index", "table", "schema", "database", "system")
	if m.Kind == "" {
		p.unexpected()
		return m
	}
	p.acceptWord("concurrently")
	switch m.Kind {
	case "index", "table":
		m.Tables = []ast.MaintainTable{{Name: p.relationName()}}
	default:
		m.Name = p.colID()
	}
	return m
}

// lockTable reads LOCK [TABLE] name [, ...] [IN mode MODE] [NOWAIT].
func (p *parser) lockTable() ast.Statement {
	l := &ast.LockTable{Mode: "ACCESS EXCLUSIVE", Pos: p.pos()}
	p.next()
	p.acceptWord("table")
	for p.err == nil {
		paren := false
		if p.acceptWord("only") {
			paren = p.acceptSelf("(")
		}
		l.Tables = append(l.Tables, p.relationName())
		if paren {
			p.expectSelf(")")
		} else {
			p.acceptSelf("*")
		}
		if !p.acceptSelf(",") {
			break
		}
	}
	if p.acceptWord("in") {
		switch {
		case p.acceptWords("access", "share"):
			l.Mode = "ACCESS SHARE"
		case p.acceptWords("access", "exclusive"):
		case p.acceptWords("row", "share"):
			l.Mode = "ROW SHARE"
		case p.acceptWords("row", "exclusive"):
			l.Mode = "ROW EXCLUSIVE"
		case p.acceptWords("share", "update", "exclusive"):
			l.Mode = "SHARE UPDATE EXCLUSIVE"
		case p.acceptWords("share", "row", "exclusive"):
			l.Mode = "SHARE ROW EXCLUSIVE"
		case p.acceptWord("share"):
			l.Mode = "SHARE"
		case p.acceptWord("exclusive"):
			l.Mode = "EXCLUSIVE"
		default:
			p.unexpected()
		}
		p.expectWord("mode")
	}
	l.NoWait = p.acceptWord("nowait")
	return l
}
