package parse

import (
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/parse/lex"
	"github.com/weirdb/weir/sql/sqlerr"
)

// Cells of FROM. Every source gets an alias that names its cell.
type (
	// tableCell is a named relation; its FOR SYSTEM_TIME expression is native.
	tableCell struct{ rel *ast.TableRef }
	// derivedCell is a query in parentheses.
	derivedCell struct{ table *ast.DerivedTable }
	// funcCell is a function; its calls are the fields of a query.
	funcCell struct{ table *ast.FuncTable }
	// joinCell is a join: the first operand of its ON condition. A second is the condition.
	joinCell struct{ join *ast.Join }
)

// fromList reads the items of FROM.
func (p *parser) fromList() frag {
	var items []frag
	for p.err == nil {
		items = append(items, p.tableExpr())
		if !p.acceptSelf(",") {
			break
		}
	}
	return p.out.list(items)
}

// tableExpr reads an item of FROM with its joins.
func (p *parser) tableExpr() frag {
	p.enter()
	defer p.leave()
	f, _ := p.joins(p.tablePrimary())
	return f
}

// joins reads the joins behind a table; joined tells whether there were any.
func (p *parser) joins(left frag) (f frag, joined bool) {
	for p.err == nil {
		c := &joinCell{join: &ast.Join{Pos: p.pos()}}
		j := c.join
		cond := true
		switch {
		case p.acceptWords("cross", "join"):
			j.Kind, cond = ast.JoinCross, false
		case p.isWord("natural"):
			p.next()
			j.Natural, cond = true, false
			j.Kind = p.joinKind()
		case p.isWord("asof") && (isWord(p.peek(1), "join") || isWord(p.peek(1), "left")):
			p.next()
			j.AsOf = true
			j.Kind = p.joinKind()
		case p.isWord("cross"):
			p.next()
			p.expectWord("join")
		case p.isWord("join"), p.isWord("inner"), p.isWord("left"), p.isWord("right"), p.isWord("full"):
			j.Kind = p.joinKind()
		default:
			return left, joined
		}
		joined = true
		right := p.tablePrimary()
		var ops []frag
		if cond {
			// A join to the right belongs to the right table until its own condition has been
			// read: a JOIN b JOIN c ON ... ON ...
			right, _ = p.joinsBeforeCondition(right)
			switch {
			case p.acceptWord("on"):
				ops = append(ops, p.expr())
			case p.acceptWord("using"):
				j.Using = p.nameList()
				if p.acceptWord("as") {
					j.UsingAlias = p.colID()
				}
			default:
				p.unexpected()
			}
		}
		left = p.joinText(left, c, right, ops)
	}
	return left, joined
}

// joinsBeforeCondition reads further joins if no condition stands here yet.
func (p *parser) joinsBeforeCondition(right frag) (frag, bool) {
	if p.isWord("on") || p.isWord("using") {
		return right, false
	}
	p.enter()
	defer p.leave()
	return p.joins(right)
}

// startsJoin tells whether a join follows.
func (p *parser) startsJoin() bool {
	return p.isOneOf("join", "cross", "natural", "inner", "left", "right", "full")
}

// joinKind reads [INNER|LEFT|RIGHT|FULL [OUTER]] JOIN.
func (p *parser) joinKind() ast.JoinKind {
	kind := ast.JoinInner
	switch p.acceptAnyOf("inner", "left", "right", "full") {
	case "left":
		kind = ast.JoinLeft
		p.acceptWord("outer")
	case "right":
		kind = ast.JoinRight
		p.acceptWord("outer")
	case "full":
		kind = ast.JoinFull
		p.acceptWord("outer")
	}
	p.expectWord("join")
	return kind
}

func (p *parser) joinText(left frag, c *joinCell, right frag, ops []frag) frag {
	word := " JOIN "
	switch c.join.Kind {
	case ast.JoinLeft:
		word = " LEFT JOIN "
	case ast.JoinRight:
		word = " RIGHT JOIN "
	}
	f := p.out.join(p.out.text("("), left, p.out.textAt(c.join.Pos, word), right, p.out.text(" ON "),
		p.marker(c.join.Pos, c, ops...), p.out.text(")"))
	f.depth++
	if f.depth > depthLimit {
		p.tooDeep()
	}
	p.lastJoin = c.join
	return f
}

// tablePrimary reads a relation, function, derived table or parenthesised join.
func (p *parser) tablePrimary() frag {
	t := p.tok()
	switch {
	case isSelf(t, "("):
		return p.parenTable()
	case isWord(t, "lateral"):
		p.next()
		if p.isSelf("(") {
			pos := p.pos()
			return p.derived(p.queryInParens(), pos, true)
		}
		return p.funcTable(true)
	case isWord(t, "only") && t.Kind == lex.Keyword:
		p.next()
		rel := &ast.TableRef{Only: true, Pos: t.Pos}
		if p.acceptSelf("(") {
			rel.Name = p.relationName()
			p.expectSelf(")")
		} else {
			rel.Name = p.relationName()
		}
		return p.table(rel)
	case p.isWords("rows", "from"):
		return p.funcTable(false)
	case p.isFuncTable():
		return p.funcTable(false)
	}
	if isFuncOrTypeName(t) && !isColID(t) {
		p.next() // it could only be a function
		p.unexpected()
		return frag{}
	}
	rel := &ast.TableRef{Pos: t.Pos, Name: p.relationName()}
	p.acceptSelf("*")
	return p.table(rel)
}

// isFuncTable tells whether a call, or a keyword that stands for one, follows.
func (p *parser) isFuncTable() bool {
	t := p.tok()
	if t.Kind == lex.Keyword {
		switch t.Text {
		case "current_date", "current_time", "current_timestamp", "localtime", "localtimestamp",
			"current_role", "current_user", "session_user", "user", "current_catalog", "current_schema", "cast":
			return true
		}
		if t.Cat == lex.Reserved {
			return false
		}
	} else if t.Kind != lex.Ident {
		return false
	}
	n := 1
	for isSelf(p.peek(n), ".") && isColLabel(p.peek(n+1)) {
		n += 2
	}
	return isSelf(p.peek(n), "(")
}

// parenTable reads "(query) alias" or "(joined table) [alias]".
func (p *parser) parenTable() frag {
	pos := p.pos()
	q, f := p.parenQueryOrTable()
	if q != nil {
		return p.derived(q, pos, false)
	}
	p.joinAlias()
	return f
}

// joinAlias reads the alias of the join in parentheses that has just been read.
func (p *parser) joinAlias() {
	if join := p.lastJoin; p.startsAlias() && join != nil {
		join.Alias = p.alias(false)
	}
}

// parenQueryOrTable reads "(query)" or "(joined table)". As with expressions, a query may turn out
// to be the first table of a join.
func (p *parser) parenQueryOrTable() (*query, frag) {
	p.enter()
	defer p.leave()
	p.expectSelf("(")
	inner := p.pos()
	switch {
	case p.startsQuery():
		q := p.query()
		p.expectSelf(")")
		return q, frag{}
	case p.isSelf("("):
		q, f := p.parenQueryOrTable()
		if q != nil {
			if p.continuesQuery() {
				q = p.queryFrom(q)
			}
			if p.acceptSelf(")") {
				return q, frag{}
			}
			if !p.startsAlias() && !p.startsJoin() {
				p.unexpected()
			}
			f = p.derived(q, inner, false)
			f, joined := p.joins(f)
			if !joined {
				p.unexpected()
			}
			p.expectSelf(")")
			return nil, f
		}
		aliased := p.startsAlias()
		p.joinAlias()
		f, joined := p.joins(f)
		if aliased && !joined {
			p.unexpected()
		}
		p.expectSelf(")")
		return nil, f
	}
	f, joined := p.joins(p.tablePrimary())
	if !joined {
		p.unexpected()
	}
	p.expectSelf(")")
	return nil, f
}

func (p *parser) derived(q *query, pos int, lateral bool) frag {
	c := &derivedCell{table: &ast.DerivedTable{Pos: pos, Lateral: lateral}}
	c.table.Alias = p.alias(false)
	if c.table.Alias == nil && p.err == nil {
		what, example := "subquery", "SELECT"
		if q.values {
			what, example = "VALUES", "VALUES"
		}
		p.fail(sqlerr.New(sqlerr.SyntaxError, pos, "%s in FROM must have an alias", what).
			WithHint("For example, FROM (%s ...) [AS] foo.", example))
	}
	return p.out.join(p.out.parens(p.finish(q)), p.out.text(" AS "), p.out.cellName(pos, c))
}

// table reads FOR SYSTEM_TIME AS OF and the alias behind a relation's name.
func (p *parser) table(rel *ast.TableRef) frag {
	asOf := p.asOf()
	rel.Alias = p.alias(false)
	if asOf.first == 0 {
		asOf = p.asOf()
	}
	if p.isWord("tablesample") {
		p.unsupported(p.pos(), "TABLESAMPLE")
	}
	f := p.tableSource(rel)
	if asOf.first != 0 {
		f = p.out.join(f, p.out.text(" AS OF TIMESTAMP "), p.out.parens(asOf))
	}
	return f
}

func (p *parser) asOf() frag {
	if !p.isWord("for") || !isWord(p.peek(1), "system_time") {
		return frag{}
	}
	p.next()
	p.next()
	p.expectWord("as", "of")
	return p.exprPrec(precIs, modeRestricted)
}

func (p *parser) tableSource(rel *ast.TableRef) frag {
	name := ""
	if n := len(rel.Name.Parts); n > 0 {
		name = rel.Name.Parts[n-1]
	}
	return p.out.join(p.out.ident(rel.Name.Pos, name), p.out.text(" AS "), p.out.cellName(rel.Pos, &tableCell{rel: rel}))
}

// startsAlias tells whether an alias follows.
func (p *parser) startsAlias() bool {
	t := p.tok()
	switch {
	case isWord(t, "as"):
		return true
	case !isColID(t), p.startsEmit():
		return false
	case isWord(t, "asof") && (isWord(p.peek(1), "join") || isWord(p.peek(1), "left")):
		return false
	}
	return true
}

// alias reads [AS] name [(columns)], nil if there is none. A function's may have column
// definitions, and then needs no name.
func (p *parser) alias(function bool) *ast.Alias {
	if !p.startsAlias() {
		return nil
	}
	a := &ast.Alias{}
	if !p.acceptWord("as") || !function || !p.isSelf("(") {
		a.Name = p.colID()
	}
	if !p.isSelf("(") {
		return a
	}
	if function && (a.Name == "" || !isSelf(p.peek(2), ",") && !isSelf(p.peek(2), ")")) {
		p.next()
		for p.err == nil {
			d := ast.ColumnDef{Pos: p.pos(), Name: p.colID()}
			d.Type = p.typeName()
			if p.acceptWord("collate") {
				n := p.qualifiedName()
				d.Collation = &n
			}
			a.Defs = append(a.Defs, d)
			if !p.acceptSelf(",") {
				break
			}
		}
		p.expectSelf(")")
		return a
	}
	a.Columns = p.nameList()
	return a
}

// funcTable reads a function or ROWS FROM (...) in FROM.
func (p *parser) funcTable(lateral bool) frag {
	pos := p.pos()
	c := &funcCell{table: &ast.FuncTable{Pos: pos, Lateral: lateral}}
	var calls []frag
	if p.acceptWords("rows", "from") {
		p.expectSelf("(")
		for p.err == nil {
			calls = append(calls, p.funcExpr())
			if p.isWord("as") {
				p.unsupported(p.pos(), "column definition list in ROWS FROM")
			}
			if !p.acceptSelf(",") {
				break
			}
		}
		p.expectSelf(")")
	} else {
		calls = append(calls, p.funcExpr())
	}
	if p.isWord("with") && isWord(p.peek(1), "ordinality") {
		p.next()
		p.next()
		c.table.Ordinality = true
	}
	c.table.Alias = p.alias(true)
	return p.out.join(p.out.text("(SELECT "), p.out.list(calls), p.out.text(") AS "), p.out.cellName(pos, c))
}

// funcExpr reads a call, or one of the keywords that stand for one, without WITHIN GROUP, FILTER
// and OVER.
func (p *parser) funcExpr() frag {
	t := p.tok()
	if t.Kind == lex.Keyword {
		switch t.Text {
		case "null", "true", "false", "case", "array", "exists", "row", "grouping", "unique":
		default:
			if f, ok := p.keywordExpr(t); ok {
				return f
			}
		}
	}
	if !p.isFuncTable() {
		if isColLabel(t) && t.Cat != lex.Reserved {
			p.next()
			for p.acceptSelf(".") {
				p.colLabel()
			}
		}
		p.unexpected()
		return frag{}
	}
	parts := []string{t.Text}
	if isSelf(p.peek(1), "(") && !isFuncOrTypeName(t) || !isSelf(p.peek(1), "(") && !isColID(t) {
		p.next()
		p.unexpected()
		return frag{}
	}
	p.next()
	for p.acceptSelf(".") {
		parts = append(parts, p.colLabel())
	}
	return p.callText(p.call(&ast.Func{P: at(t), Name: ast.Name{Parts: parts, Pos: t.Pos}}))
}
