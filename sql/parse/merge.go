package parse

import (
	tast "github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/sqlerr"
)

// merge reads MERGE, whose WITH clause has been read. TiDB has no such statement: its parts are read as those of queries.
func (p *parser) merge(with frag, pos int) ast.Statement {
	m := &ast.Merge{Pos: pos}
	p.expectWord("merge", "into")
	m.Table = p.mergeTarget()
	p.expectWord("using")
	from := p.tableExpr()
	if p.err != nil {
		return nil
	}
	d := p.parseTiDB(p.out.join(with, p.out.text("SELECT 1 FROM "), from))
	if d == nil {
		return nil
	}
	if sel, ok := d.stmts[0].(*tast.SelectStmt); ok {
		m.With = d.with(sel.With)
		if items := d.from(sel.From); len(items) == 1 {
			m.Source = items[0]
		}
	}
	if m.Source == nil {
		d.broken(d.stmts[0])
	}
	if p.finishDecode(d); p.err != nil {
		return nil
	}
	p.expectWord("on")
	m.On = p.parseExpr()
	for p.err == nil && (p.isWord("when") || len(m.Whens) == 0) {
		m.Whens = append(m.Whens, p.mergeWhen())
	}
	return m
}

// mergeTarget is target, whose alias ends before USING.
func (p *parser) mergeTarget() ast.TableRef {
	rel := ast.TableRef{Pos: p.pos()}
	rel.Only = p.acceptWord("only")
	rel.Name = p.relationName()
	if !rel.Only {
		p.acceptSelf("*")
	}
	switch t := p.tok(); {
	case isWord(t, "as"):
		p.next()
		rel.Alias = &ast.Alias{Name: p.colID()}
	case isColID(t) && !isWord(t, "using"):
		p.next()
		rel.Alias = &ast.Alias{Name: t.Text}
	}
	return rel
}

func (p *parser) mergeWhen() ast.MergeWhen {
	w := ast.MergeWhen{Pos: p.pos(), Matched: true}
	p.expectWord("when")
	if p.acceptWord("not") {
		w.Matched = false
	}
	p.expectWord("matched")
	if p.acceptWord("and") {
		w.Cond = p.parseExpr()
	}
	p.expectWord("then")
	switch {
	case p.acceptWords("do", "nothing"):
	case w.Matched && p.isWord("update"):
		p.next()
		p.expectWord("set")
		w.Action = ast.MergeUpdate
		for p.err == nil {
			set := ast.SetClause{Pos: p.pos()}
			if p.isSelf("(") {
				set.Columns = p.columnTargets()
			} else {
				set.Columns = []ast.ColumnTarget{p.columnTarget()}
			}
			p.expectSelf("=")
			set.Value = p.parseExpr()
			w.Set = append(w.Set, set)
			if !p.acceptSelf(",") {
				break
			}
		}
	case w.Matched && p.acceptWord("delete"):
		w.Action = ast.MergeDelete
	case !w.Matched && p.isWord("insert"):
		p.next()
		w.Action = ast.MergeInsert
		p.mergeInsert(&w)
	default:
		p.unexpected()
	}
	return w
}

// mergeInsert reads what follows INSERT.
func (p *parser) mergeInsert(w *ast.MergeWhen) {
	if p.isSelf("(") {
		w.Columns = p.columnTargets()
	}
	if p.acceptWord("overriding") {
		if w.Overriding = p.acceptAnyOf("system", "user"); w.Overriding == "" {
			p.unexpected()
		}
		p.expectWord("value")
	}
	if w.Columns == nil && w.Overriding == "" && p.acceptWords("default", "values") {
		return
	}
	p.expectWord("values")
	p.expectSelf("(")
	for p.err == nil {
		w.Values = append(w.Values, p.parseExpr())
		if !p.acceptSelf(",") {
			break
		}
	}
	p.expectSelf(")")
	if p.err == nil && p.isSelf(",") {
		p.failf(sqlerr.SyntaxError, p.pos(), "syntax error at or near \",\"")
	}
}
