package parse

import (
	"strings"

	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/parse/lex"
	"github.com/weirdb/weir/sql/sqlerr"
)

// query is a query that has been read, in parts, since clauses outside of parentheses are added
// to the query inside: (SELECT ... ORDER BY a) LIMIT 1 is one query.
type query struct {
	with frag
	body frag
	// core is the cell of a plain SELECT body, nil for a set operation or VALUES.
	core *coreCell
	// sel is the shell; order is its ORDER BY, as TiDB items.
	sel           *ast.Select
	order         []frag
	limit, offset frag
	locking       []ast.Locking
	hasLimit      bool
	// values is set for VALUES, for messages.
	values bool
}

type (
	// coreCell is the shell of a SELECT ... FROM ..., with the aliases of its targets. Its
	// operands are those of DISTINCT ON. It is the first field of every SELECT.
	coreCell struct {
		core *ast.SelectCore
	}
	// bodyCell is the shell of what a query has besides SELECT ... FROM: the first item of its
	// ORDER BY. Operands are the limit and the offset.
	bodyCell struct {
		sel           *ast.Select
		setOp         *ast.SetOp
		values        *ast.Values
		limit, offset bool
	}
	// orderCell is an ORDER BY item that is more than an expression.
	orderCell struct{ item ast.OrderItem }
	// cteCell is a common table expression; with dml set its query is that further statement.
	cteCell struct {
		cte *ast.CTE
		dml int
	}
)

// startsQuery tells whether a query without parentheses begins here.
func (p *parser) startsQuery() bool {
	t := p.tok()
	if t.Kind != lex.Keyword {
		return false
	}
	switch t.Text {
	case "select", "with", "table":
		return true
	case "values":
		return isSelf(p.peek(1), "(")
	}
	return false
}

// startsQueryOnly is startsQuery where nothing but a query can stand.
func (p *parser) startsQueryOnly() bool { return p.startsQuery() || p.isWord("values") }

// continuesQuery tells whether behind a query in parentheses something follows that makes it part
// of a larger query.
func (p *parser) continuesQuery() bool {
	t := p.tok()
	if t.Kind != lex.Keyword {
		return false
	}
	switch t.Text {
	case "union", "intersect", "except", "order", "limit", "offset", "fetch", "for":
		return true
	}
	return false
}

// parseQuery reads a query and makes its tree.
func (p *parser) parseQuery() *ast.Select {
	q := p.query()
	if p.err != nil {
		return nil
	}
	return p.decodeQuery(p.finish(q))
}

// parseExpr reads an expression and makes its tree.
func (p *parser) parseExpr() ast.Expr {
	f := p.expr()
	if p.err != nil {
		return nil
	}
	return p.decodeExpr(f)
}

// query is PostgreSQL's SelectStmt: a query with or without parentheses around it.
func (p *parser) query() *query {
	p.enter()
	defer p.leave()
	if p.isWord("with") {
		pos := p.pos()
		return p.queryAfterWith(p.with(), pos)
	}
	q := p.setExpr(1)
	p.queryTail(q)
	return q
}

// queryAfterWith reads the query that a WITH clause belongs to.
func (p *parser) queryAfterWith(with frag, pos int) *query {
	q := p.setExpr(1)
	if q.with.first != 0 {
		p.multipleClauses(pos, "WITH")
	}
	q.with = with
	p.queryTail(q)
	return q
}

// queryFrom continues a query of which the first part, in parentheses, has been read.
func (p *parser) queryFrom(q *query) *query {
	q = p.setOps(q, 1)
	p.queryTail(q)
	return q
}

// setExpr reads SELECTs with set operations between them; INTERSECT binds tighter (2) than UNION
// and EXCEPT (1).
func (p *parser) setExpr(least int) *query {
	p.enter()
	defer p.leave()
	var q *query
	switch t := p.tok(); {
	case isSelf(t, "("):
		q = p.queryInParens()
	case isWord(t, "select"):
		q = p.selectCore()
	case isWord(t, "values"):
		q = p.valuesBody()
	case isWord(t, "table"):
		q = p.tableBody()
	default:
		p.unexpected()
		q = &query{sel: &ast.Select{}}
	}
	return p.setOps(q, least)
}

func (p *parser) setOps(q *query, least int) *query {
	height := q.body.depth
	for p.err == nil {
		t := p.tok()
		prec, kind := 1, ast.Union
		switch {
		case isWord(t, "union"):
		case isWord(t, "except"):
			kind = ast.Except
		case isWord(t, "intersect"):
			prec, kind = 2, ast.Intersect
		default:
			return q
		}
		if prec < least {
			return q
		}
		p.next()
		op := &ast.SetOp{Op: kind, Pos: t.Pos}
		if p.acceptWord("all") {
			op.All = true
		} else {
			p.acceptWord("distinct")
		}
		right := p.setExpr(prec + 1)
		word := [...]string{ast.Union: " UNION ", ast.Intersect: " INTERSECT ", ast.Except: " EXCEPT "}[kind]
		if op.All {
			word += "ALL "
		}
		body := p.out.join(p.out.parens(p.finish(q)), p.out.text(word), p.out.parens(p.finish(right)))
		height++
		body.depth = max(body.depth, height) + 1
		pos := q.sel.Pos
		q = &query{sel: &ast.Select{Pos: pos, Body: op}, body: body}
		if body.depth > depthLimit {
			p.tooDeep()
		}
	}
	return q
}

// queryTail reads ORDER BY, LIMIT, OFFSET, FETCH and FOR UPDATE, the last two groups in any order.
func (p *parser) queryTail(q *query) {
	if p.isWord("order") {
		hadOrder := q.sel.OrderBy != nil
		items, frags := p.orderItems()
		if hadOrder {
			p.multipleClauses(items[0].Pos, "ORDER BY")
		}
		q.sel.OrderBy = items
		q.order = frags
	}
	locked := p.lockingClauses(q)
	p.limits(q)
	if !locked {
		p.lockingClauses(q)
	}
}

// limits reads LIMIT or FETCH and OFFSET, in any order.
func (p *parser) limits(q *query) {
	ties := q.sel.WithTies
	limit, offset := false, false
	for p.err == nil {
		t := p.tok()
		switch {
		case isWord(t, "limit") && !limit:
			limit = true
			p.limitClause(q)
		case isWord(t, "fetch") && !limit:
			limit = true
			p.fetchClause(q)
		case isWord(t, "offset") && !offset:
			offset = true
			p.offsetClause(q)
		default:
			if ties && (limit || offset) {
				p.failf(sqlerr.SyntaxError, sqlerr.NoPos, "multiple limit options not allowed")
			}
			return
		}
	}
}

func (p *parser) limitClause(q *query) {
	pos := p.pos()
	p.next()
	count := p.pos()
	again := q.hasLimit
	q.hasLimit = true
	if !p.acceptWord("all") {
		q.limit = p.expr()
	}
	if again {
		p.multipleClauses(count, "LIMIT")
	}
	if p.acceptSelf(",") {
		p.expr()
		p.fail(sqlerr.New(sqlerr.SyntaxError, pos, "LIMIT #,# syntax is not supported").
			WithHint("Use separate LIMIT and OFFSET clauses."))
	}
}

func (p *parser) offsetClause(q *query) {
	p.next()
	pos := p.pos()
	again := q.offset.first != 0
	q.offset = p.expr()
	if again {
		p.multipleClauses(pos, "OFFSET")
	}
	if !p.acceptWord("rows") {
		p.acceptWord("row")
	}
}

// fetchClause reads FETCH FIRST [n] ROWS ONLY or WITH TIES.
func (p *parser) fetchClause(q *query) {
	p.next()
	if p.acceptAnyOf("first", "next") == "" {
		p.unexpected()
	}
	pos := p.pos()
	again := q.hasLimit
	q.hasLimit = true
	defer func() {
		if again {
			p.multipleClauses(pos, "LIMIT")
		}
	}()
	switch t := p.tok(); {
	case isWord(t, "row") && !isSelf(p.peek(1), "(") && !isWord(p.peek(1), "row") && !isWord(p.peek(1), "rows"),
		isWord(t, "rows") && !isWord(p.peek(1), "row") && !isWord(p.peek(1), "rows"):
		q.limit = p.out.textAt(t.Pos, "1")
	case isSelf(t, "+"), isSelf(t, "-"):
		p.next()
		n := p.tok()
		if n.Kind != lex.Int && n.Kind != lex.Num {
			p.unexpected()
			return
		}
		f := p.primary(modeFull)
		if t.Text == "-" {
			f = p.compound(p.out.textAt(t.Pos, "-"), p.out.parens(f))
		}
		q.limit = f
	default:
		q.limit = p.primary(modeFull)
	}
	if p.acceptAnyOf("row", "rows") == "" {
		p.unexpected()
	}
	if p.acceptWord("only") {
		return
	}
	p.expectWord("with", "ties")
	q.sel.WithTies = true
	if p.err == nil && q.sel.OrderBy == nil {
		p.failf(sqlerr.SyntaxError, sqlerr.NoPos, "WITH TIES cannot be specified without ORDER BY clause")
	}
}

// lockingClauses reads any number of them and tells whether there was one.
func (p *parser) lockingClauses(q *query) bool {
	any := false
	for p.isWord("for") {
		any = true
		p.lockingClause(q)
	}
	return any
}

// lockingClause reads FOR UPDATE and its kin, or FOR READ ONLY, which says nothing.
func (p *parser) lockingClause(q *query) {
	l := ast.Locking{Pos: p.pos()}
	p.next()
	switch {
	case p.acceptPhrase("read", "only"):
		return
	case p.acceptPhrase("no", "key", "update"):
		l.Strength = "NO KEY UPDATE"
	case p.acceptPhrase("key", "share"):
		l.Strength = "KEY SHARE"
	default:
		l.Strength = strings.ToUpper(p.acceptAnyOf("update", "share"))
		if l.Strength == "" {
			p.unexpected()
		}
	}
	if p.acceptWord("of") {
		for {
			l.Of = append(l.Of, p.qualifiedName())
			if !p.acceptSelf(",") {
				break
			}
		}
	}
	if p.acceptWord("nowait") {
		l.NoWait = true
	} else {
		l.SkipLocked = p.acceptPhrase("skip", "locked")
	}
	q.locking = append(q.locking, l)
}

// orderItems reads ORDER BY ...; the current token is ORDER. It gives the items without their
// expressions, and these with everything that TiDB has to carry.
func (p *parser) orderItems() ([]ast.OrderItem, []frag) {
	p.expectWord("order", "by")
	var items []ast.OrderItem
	var frags []frag
	for {
		item, f := p.orderItem(p.expr)
		items = append(items, item)
		frags = append(frags, f)
		if !p.acceptSelf(",") {
			return items, frags
		}
	}
}

// orderItem reads one item, its expression by the given rule.
func (p *parser) orderItem(expr func() frag) (ast.OrderItem, frag) {
	item := ast.OrderItem{Pos: p.pos()}
	f := expr()
	switch {
	case p.acceptWord("using"):
		t := p.tok()
		if t.Kind != lex.Op && (t.Kind != lex.Self || nativeOp(t.Text) == "") && !isWord(t, "operator") {
			p.unexpected()
			return item, f
		}
		_, item.Using = p.operator()
	case p.acceptWord("desc"):
		item.Desc = true
	default:
		p.acceptWord("asc")
	}
	if p.isWord("nulls") && (isWord(p.peek(1), "first") || isWord(p.peek(1), "last")) {
		p.next()
		item.Nulls = ast.NullsLast
		if p.isWord("first") {
			item.Nulls = ast.NullsFirst
		}
		p.next()
	}
	return item, p.marker(item.Pos, &orderCell{item: item}, f)
}

// finish is the whole query as TiDB text, without parentheses around it.
func (p *parser) finish(q *query) frag {
	f := p.out.join(q.with, q.body)
	order := q.order
	q.sel.Locking = q.locking
	if q.core == nil || q.limit.first != 0 || q.offset.first != 0 || q.sel.WithTies || len(q.locking) > 0 {
		c := &bodyCell{sel: q.sel}
		switch b := q.sel.Body.(type) {
		case *ast.SetOp:
			c.setOp = b
		case *ast.Values:
			c.values = b
		}
		var ops []frag
		if q.limit.first != 0 {
			c.limit = true
			ops = append(ops, q.limit)
		}
		if q.offset.first != 0 {
			c.offset = true
			ops = append(ops, q.offset)
		}
		order = append([]frag{p.marker(q.sel.Pos, c, ops...)}, order...)
	}
	if len(order) > 0 {
		f = p.out.join(f, p.out.text(" ORDER BY "), p.out.list(order))
	}
	f.depth++
	return f
}

func (p *parser) valuesBody() *query {
	pos := p.pos()
	p.next()
	v := &ast.Values{Pos: pos}
	q := &query{sel: &ast.Select{Pos: pos, Body: v}, values: true}
	body := p.out.text("VALUES ")
	for n := 0; p.err == nil; n++ {
		if n > 0 {
			body = p.out.append(body, p.out.text(","))
		}
		p.expectSelf("(")
		row := p.exprList()
		p.expectSelf(")")
		body = p.out.join(body, p.out.text("ROW("), p.out.list(row), p.out.text(")"))
		if !p.acceptSelf(",") {
			break
		}
	}
	q.body = body
	return q
}

// tableBody reads TABLE name, which is SELECT * FROM name.
func (p *parser) tableBody() *query {
	pos := p.pos()
	p.next()
	core := &ast.SelectCore{Pos: pos, Targets: []ast.Target{{Pos: pos}}}
	c := &coreCell{core: core}
	rel := &ast.TableRef{Pos: p.pos()}
	rel.Only = p.acceptWord("only")
	rel.Name = p.relationName()
	if !rel.Only {
		p.acceptSelf("*")
	}
	return &query{
		sel: &ast.Select{Pos: pos}, core: c,
		body: p.out.join(p.out.text("SELECT "), p.marker(pos, c), p.out.text(","),
			p.marker(pos, &ast.Star{P: ast.P{Pos: pos}}), p.out.text(" FROM "), p.tableSource(rel)),
	}
}

// selectCore reads SELECT ... up to the WINDOW clause.
func (p *parser) selectCore() *query {
	pos := p.pos()
	p.next()
	core := &ast.SelectCore{Pos: pos}
	c := &coreCell{core: core}
	var on []frag
	if p.acceptWord("distinct") {
		core.Distinct = true
		if p.acceptWord("on") {
			p.expectSelf("(")
			on = p.exprList()
			p.expectSelf(")")
		}
	} else {
		p.acceptWord("all")
	}
	marker := p.marker(pos, c, on...)
	f := p.out.join(p.out.text("SELECT "), marker)
	targets, frags := p.targets(!core.Distinct)
	core.Targets = targets
	for _, t := range frags {
		f = p.out.join(f, p.out.text(","), t)
	}
	if p.isWord("into") {
		p.unsupported(p.pos(), "SELECT INTO")
	}
	var from frag
	if p.acceptWord("from") {
		from = p.fromList()
	}
	var rest frag
	if p.acceptWord("where") {
		rest = p.out.join(p.out.text(" WHERE "), p.out.parens(p.expr()))
	}
	if p.acceptPhrase("group", "by") {
		if p.acceptWord("distinct") {
			core.GroupDist = true
		} else {
			p.acceptWord("all")
		}
		rest = p.out.join(rest, p.out.text(" GROUP BY "), p.out.list(p.groupItems()))
	}
	if p.acceptWord("having") {
		rest = p.out.join(rest, p.out.text(" HAVING "), p.out.parens(p.expr()))
	}
	if p.acceptWord("window") {
		rest = p.out.join(rest, p.out.text(" WINDOW "), p.windowClause(core))
	}
	if from.first == 0 && rest.first != 0 {
		from = p.out.text("`\x01`")
	}
	if from.first != 0 {
		f = p.out.join(f, p.out.text(" FROM "), from)
	}
	return &query{sel: &ast.Select{Pos: pos, Body: core}, core: c, body: p.out.join(f, rest)}
}

// targets reads a select list, which may be empty, or a RETURNING list.
func (p *parser) targets(mayBeEmpty bool) ([]ast.Target, []frag) {
	var targets []ast.Target
	var frags []frag
	if mayBeEmpty && endsTargets(p.tok()) {
		return nil, nil
	}
	for p.err == nil {
		t := p.tok()
		target := ast.Target{Pos: t.Pos}
		var f frag
		if isSelf(t, "*") {
			p.next()
			f = p.marker(t.Pos, &ast.Star{P: at(t)})
		} else {
			f = p.exprPrec(precOr, modeTarget)
			switch a := p.tok(); {
			case isWord(a, "as"):
				p.next()
				target.Alias = p.colLabel()
			case isColLabel(a) && a.Bare && !p.startsEmit():
				target.Alias = a.Text
				p.next()
			}
		}
		targets = append(targets, target)
		frags = append(frags, f)
		if !p.acceptSelf(",") {
			break
		}
	}
	return targets, frags
}

// endsTargets tells whether t is what follows a select list.
func endsTargets(t *lex.Token) bool {
	switch t.Kind {
	case lex.EOF:
		return true
	case lex.Self:
		return t.Text == ";" || t.Text == ")"
	case lex.Keyword:
		switch t.Text {
		case "from", "where", "group", "having", "window", "union", "intersect", "except", "order",
			"limit", "offset", "fetch", "for", "into", "on", "returning", "with":
			return true
		}
	}
	return false
}

// startsEmit tells whether EMIT ON WINDOW CLOSE follows, rather than an alias.
func (p *parser) startsEmit() bool { return p.isWords("emit", "on", "window", "close") }

// multipleClauses is PostgreSQL's error for a clause that is given twice, inside and outside of
// parentheses.
func (p *parser) multipleClauses(pos int, what string) {
	p.failf(sqlerr.SyntaxError, pos, "multiple %s clauses not allowed", what)
}
