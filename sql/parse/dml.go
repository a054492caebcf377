package parse

import (
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/sqlerr"
)

// Cells of data-modifying statements. The statement's target is named after its cell; what TiDB's
// statement has no place for is in a further statement, a SELECT whose first field is auxCell.
type (
	insertCell struct {
		ins *ast.Insert
		// valuesPos is where VALUES stands, for rows that TiDB reads natively.
		valuesPos int
		// aux is the number of the further statement, 0 for none.
		aux int
	}
	updateCell struct {
		upd *ast.Update
		aux int
	}
	deleteCell struct {
		del *ast.Delete
		aux int
	}
	// setCell is one assignment.
	setCell struct{ set *ast.SetClause }
	// auxCell is the first field of a further statement; WITH and FROM of it are those of the
	// statement, its other fields are RETURNING. Its operands are of ON CONFLICT: the inference
	// expressions, their predicate, the assigned values, the condition.
	auxCell struct {
		conflict        *ast.OnConflict
		columns         int
		where, setWhere bool
		returning       []ast.Target
	}
	// auxParts are what a further statement is made of.
	auxParts struct {
		with, from frag
		conflict   []frag
		returning  []frag
	}
)

// dmlTree reads a data-modifying statement and makes its tree.
func (p *parser) dmlTree(with frag, pos int) ast.Statement {
	f := p.dmlText(with, pos)
	if p.err != nil {
		return nil
	}
	return p.decodeStatement(f)
}

// dml reads a data-modifying statement inside of WITH and gives the number of the further
// statement that it becomes.
func (p *parser) dml(with frag, pos int) int {
	n := len(p.out.stmts)
	p.out.stmts = append(p.out.stmts, frag{})
	f := p.dmlText(with, pos)
	p.out.stmts[n] = f
	return n + 1
}

// dmlText reads INSERT, UPDATE or DELETE, whose WITH clause has been read.
func (p *parser) dmlText(with frag, pos int) frag {
	p.enter()
	defer p.leave()
	switch {
	case p.isWord("insert"):
		return p.insert(with, pos)
	case p.isWord("update"):
		return p.update(with, pos)
	case p.isWord("delete"):
		return p.delete(with, pos)
	}
	p.failf(sqlerr.SyntaxError, p.pos(), "MERGE not supported in WITH query")
	return frag{}
}

// aux stores the further statement of a data-modifying one, if it needs one, and gives its number.
func (p *parser) aux(pos int, c *auxCell, parts auxParts) int {
	if parts.with.first == 0 && parts.from.first == 0 && c.conflict == nil && c.returning == nil {
		return 0
	}
	f := p.out.join(parts.with, p.out.text("SELECT "), p.marker(pos, c, parts.conflict...))
	for _, r := range parts.returning {
		f = p.out.join(f, p.out.text(","), r)
	}
	if parts.from.first != 0 {
		f = p.out.join(f, p.out.text(" FROM "), parts.from)
	}
	p.out.stmts = append(p.out.stmts, f)
	return len(p.out.stmts)
}

// returning reads RETURNING.
func (p *parser) returning(c *auxCell, parts *auxParts) {
	if p.acceptWord("returning") {
		c.returning, parts.returning = p.targets(false)
	}
}

func (p *parser) insert(with frag, pos int) frag {
	start := p.pos()
	p.expectWord("insert", "into")
	ins := &ast.Insert{Pos: pos}
	c := &insertCell{ins: ins}
	ins.Table = p.relationName()
	if p.acceptWord("as") {
		ins.Alias = p.colID()
	}
	if p.isSelf("(") && !p.parenStartsQuery() {
		ins.Columns = p.columnTargets()
	}
	if p.acceptWord("overriding") {
		ins.Overriding = p.acceptAnyOf("system", "user")
		if ins.Overriding == "" {
			p.unexpected()
		}
		p.expectWord("value")
	}
	f := p.out.join(p.out.textAt(start, "INSERT INTO "), p.out.cellName(ins.Table.Pos, c))
	switch {
	case p.isWord("default") && ins.Columns == nil && ins.Overriding == "":
		p.next()
		p.expectWord("values")
		f = p.out.join(f, p.out.text(" VALUES ()"))
	case p.isWord("values"):
		c.valuesPos = p.pos()
		f = p.out.join(f, p.insertValues())
	default:
		f = p.out.join(f, p.out.text(" "), p.finish(p.query()))
	}
	parts := auxParts{with: with}
	a := &auxCell{}
	if p.isWord("on") {
		parts.conflict = p.onConflict(a)
	}
	p.returning(a, &parts)
	c.aux = p.aux(pos, a, parts)
	return f
}

// insertValues reads VALUES natively, unless more than rows follows.
func (p *parser) insertValues() frag {
	start := p.i
	pieces, stmts := len(p.out.pieces), len(p.out.stmts)
	pos := p.pos()
	p.next()
	f := p.out.textAt(pos, " VALUES ")
	for n := 0; p.err == nil; n++ {
		if n > 0 {
			f = p.out.append(f, p.out.text(","))
		}
		p.expectSelf("(")
		row := p.exprList()
		p.expectSelf(")")
		f = p.out.join(f, p.out.text("("), p.out.list(row), p.out.text(")"))
		if !p.acceptSelf(",") {
			break
		}
	}
	if p.err == nil && p.continuesQuery() {
		p.i = start
		p.out.pieces, p.out.stmts = p.out.pieces[:pieces], p.out.stmts[:stmts]
		return p.out.join(p.out.text(" "), p.finish(p.query()))
	}
	return f
}

// parenStartsQuery tells whether the parentheses that open here hold a query.
func (p *parser) parenStartsQuery() bool {
	t := p.peek(1)
	return isSelf(t, "(") || isWord(t, "select") || isWord(t, "with") || isWord(t, "table") ||
		isWord(t, "values") && isSelf(p.peek(2), "(")
}

// columnTargets reads "(a, b, ...)".
func (p *parser) columnTargets() []ast.ColumnTarget {
	p.expectSelf("(")
	var cols []ast.ColumnTarget
	for p.err == nil {
		cols = append(cols, p.columnTarget())
		if !p.acceptSelf(",") {
			break
		}
	}
	p.expectSelf(")")
	return cols
}

func (p *parser) columnTarget() ast.ColumnTarget {
	c := ast.ColumnTarget{Pos: p.pos(), Name: p.colID()}
	switch {
	case p.isSelf("["):
		p.unsupported(p.pos(), "assignment to an array element")
	case p.isSelf("."):
		p.unsupported(p.pos(), "assignment to a field of a composite column")
	}
	return c
}

// onConflict reads ON CONFLICT and gives the operands of its cell.
func (p *parser) onConflict(a *auxCell) []frag {
	oc := &ast.OnConflict{Pos: p.pos()}
	a.conflict = oc
	p.expectWord("on", "conflict")
	var ops []frag
	switch {
	case p.isSelf("("):
		p.next()
		for p.err == nil {
			_, f, _, _ := p.indexElem()
			ops = append(ops, f)
			if !p.acceptSelf(",") {
				break
			}
		}
		p.expectSelf(")")
		a.columns = len(ops)
		if p.acceptWord("where") {
			ops = append(ops, p.expr())
			a.where = true
		}
	case p.acceptPhrase("on", "constraint"):
		oc.Constraint = p.colID()
	}
	p.expectWord("do")
	if p.acceptWord("nothing") {
		return ops
	}
	p.expectWord("update", "set")
	oc.DoUpdate = true
	sets, values := p.setClauses()
	for _, s := range sets {
		oc.Set = append(oc.Set, *s)
	}
	ops = append(ops, values...)
	if p.acceptWord("where") {
		ops = append(ops, p.expr())
		a.setWhere = true
	}
	return ops
}

// indexElem reads one element of an index: a column, a call or (expression), with what follows.
func (p *parser) indexElem() (item ast.OrderItem, f frag, collation *ast.Name, text string) {
	item.Pos = p.pos()
	switch t := p.tok(); {
	case isSelf(t, "("):
		p.next()
		f = p.expr()
		p.expectSelf(")")
	case isColID(t) && !isSelf(p.peek(1), "(") && !isSelf(p.peek(1), "."):
		p.next()
		f = p.out.ident(t.Pos, t.Text)
	default:
		f = p.funcExpr()
	}
	text = p.textFrom(item.Pos)
	if p.acceptWord("collate") {
		n := p.qualifiedName()
		collation = &n
	}
	// An operator class, which there is only one of for each type.
	if isColID(p.tok()) && !p.isWord("nulls") {
		p.qualifiedName()
		if p.isSelf("(") {
			p.unsupported(p.pos(), "operator class parameters")
		}
	}
	switch {
	case p.acceptWord("desc"):
		item.Desc = true
	default:
		p.acceptWord("asc")
	}
	if p.acceptWords("nulls", "first") {
		item.Nulls = ast.NullsFirst
	} else if p.acceptWords("nulls", "last") {
		item.Nulls = ast.NullsLast
	}
	return item, f, collation, text
}

// setClauses reads the assignments of SET and gives them without their values, and these.
func (p *parser) setClauses() ([]*ast.SetClause, []frag) {
	var sets []*ast.SetClause
	var values []frag
	for p.err == nil {
		s := &ast.SetClause{Pos: p.pos()}
		if p.isSelf("(") {
			s.Columns = p.columnTargets()
		} else {
			s.Columns = []ast.ColumnTarget{p.columnTarget()}
		}
		p.expectSelf("=")
		sets = append(sets, s)
		values = append(values, p.expr())
		if !p.acceptSelf(",") {
			break
		}
	}
	return sets, values
}

// target reads the relation that UPDATE or DELETE changes.
func (p *parser) target() ast.TableRef {
	rel := ast.TableRef{Pos: p.pos()}
	if p.acceptWord("only") {
		rel.Only = true
	}
	paren := rel.Only && p.acceptSelf("(")
	rel.Name = p.relationName()
	if paren {
		p.expectSelf(")")
	} else if !rel.Only {
		p.acceptSelf("*")
	}
	switch t := p.tok(); {
	case isWord(t, "as"):
		p.next()
		rel.Alias = &ast.Alias{Name: p.colID()}
	case isColID(t) && !isWord(t, "set"):
		p.next()
		rel.Alias = &ast.Alias{Name: t.Text}
	}
	return rel
}

// where reads the WHERE clause of UPDATE or DELETE.
func (p *parser) where() frag {
	if !p.acceptWord("where") {
		return frag{}
	}
	if p.isWords("current", "of") {
		p.unsupported(p.pos(), "WHERE CURRENT OF")
		return frag{}
	}
	return p.out.join(p.out.text(" WHERE "), p.out.parens(p.expr()))
}

func (p *parser) update(with frag, pos int) frag {
	start := p.pos()
	p.next()
	upd := &ast.Update{Pos: pos, Table: p.target()}
	c := &updateCell{upd: upd}
	p.expectWord("set")
	sets, values := p.setClauses()
	f := p.out.join(p.out.textAt(start, "UPDATE "), p.out.cellName(upd.Table.Pos, c), p.out.text(" SET "))
	for i, s := range sets {
		if i > 0 {
			f = p.out.append(f, p.out.text(","))
		}
		f = p.out.join(f, p.out.cellName(s.Pos, &setCell{set: s}), p.out.text("="), p.out.operand(values[i]))
	}
	parts := auxParts{with: with}
	if p.acceptWord("from") {
		parts.from = p.fromList()
	}
	f = p.out.join(f, p.where())
	a := &auxCell{}
	p.returning(a, &parts)
	c.aux = p.aux(pos, a, parts)
	return f
}

func (p *parser) delete(with frag, pos int) frag {
	start := p.pos()
	p.expectWord("delete", "from")
	del := &ast.Delete{Pos: pos, Table: p.target()}
	c := &deleteCell{del: del}
	f := p.out.join(p.out.textAt(start, "DELETE FROM "), p.out.cellName(del.Table.Pos, c))
	parts := auxParts{with: with}
	if p.acceptWord("using") {
		parts.from = p.fromList()
	}
	f = p.out.join(f, p.where())
	a := &auxCell{}
	p.returning(a, &parts)
	c.aux = p.aux(pos, a, parts)
	return f
}
