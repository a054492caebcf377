package parse

import (
	"strings"

	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/parse/lex"
)

// create reads CREATE.
func (p *parser) create() ast.Statement {
	pos := p.pos()
	p.next()
	orReplace := p.acceptPhrase("or", "replace")
	switch {
	case p.isWord("view"), p.isWords("materialized", "view"):
		return p.createView(pos, orReplace)
	case p.isWords("recursive", "view"):
		return p.skipStatement("CREATE RECURSIVE VIEW")
	case (p.isWord("temp") || p.isWord("temporary")) && isWord(p.peek(1), "recursive"):
		return p.skipStatement("CREATE TEMPORARY RECURSIVE VIEW")
	case (p.isWord("temp") || p.isWord("temporary")) && isWord(p.peek(1), "view"):
		p.next()
		v := p.createView(pos, orReplace)
		if c, ok := v.(*ast.CreateView); ok {
			c.Temporary = true
		}
		return v
	case orReplace && !p.isOneOf("function", "procedure", "rule", "trigger", "language", "aggregate",
		"transform", "constraint", "trusted", "procedural"):
		p.unexpected()
		return nil
	case !orReplace && (p.isOneOf("role", "group") || p.isWord("user") && !isWord(p.peek(1), "mapping")):
		return p.createRole(pos)
	case p.isWord("function"):
		return p.createFunction(pos, orReplace)
	case p.isWord("source"):
		return p.createSource(pos)
	case p.isWord("sink"):
		return p.createSink(pos)
	case p.isWord("schema"):
		return p.createSchema(pos)
	case p.isWord("extension"):
		return p.createExtension(pos)
	case p.isWord("sequence"), p.isOneOf("temp", "temporary", "unlogged") && isWord(p.peek(1), "sequence"):
		return p.createSequence(pos)
	case p.isWord("type"):
		return p.createType(pos)
	case p.isWord("domain"):
		return p.createDomain(pos)
	case p.isWord("index"), p.isWord("unique"):
		return p.createIndex(pos)
	case p.isWord("table"), p.isWord("unlogged"), p.isWord("local"), p.isWord("global"),
		(p.isWord("temp") || p.isWord("temporary")) && !isWord(p.peek(1), "sequence"):
		return p.createTable(pos)
	}
	t := p.tok()
	for _, w := range [][]string{
		{"access", "method"}, {"aggregate"}, {"cast"}, {"collation"}, {"constraint", "trigger"}, {"conversion"},
		{"database"}, {"default", "conversion"}, {"event", "trigger"},
		{"foreign", "data", "wrapper"}, {"foreign", "table"}, {"group"}, {"language"}, {"operator"},
		{"policy"}, {"procedural", "language"}, {"procedure"}, {"publication"}, {"role"}, {"rule"},
		{"server"}, {"statistics"}, {"subscription"}, {"tablespace"}, {"text", "search"}, {"transform"}, {"trigger"}, {"trusted", "language"},
		{"user", "mapping"}, {"user"}, {"connection"}, {"secret"},
	} {
		if p.isWords(w...) {
			u := p.skipStatement("CREATE " + strings.ToUpper(strings.Join(w, " ")))
			u.(*ast.Unsupported).Pos = pos
			return u
		}
	}
	p.unexpectedAt(t)
	return nil
}

func (p *parser) isOneOf(words ...string) bool {
	for _, w := range words {
		if p.isWord(w) {
			return true
		}
	}
	return false
}

func (p *parser) ifNotExists() bool {
	if !p.isWord("if") || !isWord(p.peek(1), "not") {
		return false
	}
	p.next()
	p.expectWord("not", "exists")
	return true
}

// createTable reads CREATE TABLE; the current token is TABLE or what stands before it.
func (p *parser) createTable(pos int) ast.Statement {
	c := &ast.CreateTable{Pos: pos}
	local := p.acceptAnyOf("local", "global") != ""
	c.Temporary = p.acceptAnyOf("temp", "temporary") != ""
	if local && !c.Temporary {
		p.unexpected()
	}
	if !c.Temporary {
		p.acceptWord("unlogged")
	}
	p.expectWord("table")
	c.IfNotExists = p.ifNotExists()
	c.Name = p.relationName()
	switch {
	case p.isWords("partition", "of"):
		return p.unsupportedClause(pos, "CREATE TABLE ... PARTITION OF")
	case p.isWord("of"):
		return p.unsupportedClause(pos, "CREATE TABLE ... OF")
	}
	elements, names := p.isSelf("("), p.columnNamesOnly()
	switch {
	case names:
		for _, n := range p.nameList() {
			c.Columns = append(c.Columns, ast.ColumnDef{Name: n, Pos: c.Name.Pos})
		}
	case elements:
		p.tableElements(&c.Columns, &c.Constraints, &c.Watermark)
	}
	for p.err == nil {
		switch {
		case p.isWord("inherits"):
			return p.unsupportedClause(pos, "CREATE TABLE ... INHERITS")
		case p.isWords("partition", "by"):
			return p.unsupportedClause(pos, "CREATE TABLE ... PARTITION BY")
		case p.isWord("using"):
			p.next()
			p.colID()
			continue
		case p.acceptWords("append", "only"):
			c.AppendOnly = true
			continue
		case p.acceptWord("with"):
			c.Options = p.withOptions()
			continue
		case p.acceptPhrase("without", "oids"):
			continue
		case p.isWords("on", "commit"):
			p.next()
			p.next()
			switch {
			case p.acceptWord("drop"):
				c.OnCommit = "drop"
			case p.acceptWord("delete"):
				p.expectWord("rows")
				c.OnCommit = "delete rows"
			default:
				p.expectWord("preserve", "rows")
				c.OnCommit = "preserve rows"
			}
			continue
		case p.isWord("tablespace"):
			p.next()
			p.colID()
			continue
		case p.isWord("format"):
			c.Format = p.format()
			continue
		}
		break
	}
	if p.isWord("as") && (names || !elements) {
		p.next()
		start := p.pos()
		if p.isWord("execute") {
			return p.unsupportedClause(pos, "CREATE TABLE ... AS EXECUTE")
		}
		c.As = p.parseQuery()
		c.AsText = p.textFrom(start)
		if p.acceptWord("with") {
			if p.isWord("no") {
				return p.unsupportedClause(pos, "CREATE TABLE ... AS ... WITH NO DATA")
			}
			p.expectWord("data")
		}
	} else if names || !elements && c.Options == nil {
		p.unexpected() // AS must follow
	}
	return c
}

// unsupportedClause passes over a statement with a clause that Weir does not have.
func (p *parser) unsupportedClause(pos int, name string) ast.Statement {
	p.skipRest()
	return &ast.Unsupported{Name: name, Pos: pos}
}

// columnNamesOnly tells whether parentheses open here and hold names only: those of CREATE TABLE
// t (a, b) AS.
func (p *parser) columnNamesOnly() bool {
	return p.isSelf("(") && isColID(p.peek(1)) && (isSelf(p.peek(2), ")") || isSelf(p.peek(2), ","))
}

// tableElements reads "(column or constraint, ...)", which may be empty.
func (p *parser) tableElements(cols *[]ast.ColumnDef, cons *[]ast.TableConstraint, mark **ast.Watermark) {
	p.expectSelf("(")
	if p.acceptSelf(")") {
		return
	}
	for p.err == nil {
		switch t := p.tok(); {
		case isWord(t, "watermark") && isWord(p.peek(1), "for"):
			w := p.watermark()
			if *mark != nil && p.err == nil {
				p.unsupported(w.Pos, "more than one WATERMARK")
			}
			*mark = w
		case isWord(t, "like") && t.Kind == lex.Keyword:
			p.unsupported(t.Pos, "LIKE in CREATE TABLE")
		case isTableConstraint(t):
			*cons = append(*cons, p.tableConstraint())
		default:
			*cols = append(*cols, p.columnDef())
		}
		if !p.acceptSelf(",") {
			break
		}
	}
	p.expectSelf(")")
}

func (p *parser) watermark() *ast.Watermark {
	w := &ast.Watermark{Pos: p.pos()}
	p.next()
	p.next()
	w.Column = p.colID()
	p.expectWord("as")
	w.Expr, w.ExprText = p.exprAndText()
	return w
}

// exprAndText reads an expression and gives also its text.
func (p *parser) exprAndText() (ast.Expr, string) {
	start := p.pos()
	e := p.parseExpr()
	return e, p.textFrom(start)
}

// columnDef reads "name type [COLLATE c] constraints".
func (p *parser) columnDef() ast.ColumnDef {
	d := ast.ColumnDef{Pos: p.pos()}
	d.Name = p.colID()
	d.Type = p.typeName()
	for p.err == nil {
		switch {
		case p.isWord("compression"), p.isWord("storage"):
			p.next()
			if !p.acceptWord("default") {
				p.colID()
			}
			continue
		case p.isWord("collate"):
			p.next()
			n := p.qualifiedName()
			d.Collation = &n
			continue
		}
		c, ok := p.columnConstraint()
		if !ok {
			break
		}
		d.Constraints = append(d.Constraints, c)
	}
	return d
}

// withOptions reads the "(name = value, ...)" of WITH.
func (p *parser) withOptions() []ast.Option {
	opts := []ast.Option{}
	p.expectSelf("(")
	for p.err == nil {
		o := ast.Option{Pos: p.pos()}
		o.Name = p.colLabel()
		for p.acceptSelf(".") {
			o.Name += "." + p.colLabel()
		}
		if p.acceptSelf("=") {
			o.IsSet = true
			switch t := p.tok(); {
			case t.Kind == lex.Op, t.Kind == lex.Err, t.Kind == lex.EOF:
				p.unexpected()
			case isColLabel(t) && t.Kind == lex.Keyword:
				p.next()
				o.Value = t.Text
			default:
				o.Value = p.settingValue()
			}
		}
		opts = append(opts, o)
		if !p.acceptSelf(",") {
			break
		}
	}
	p.expectSelf(")")
	return opts
}

// format reads FORMAT x ENCODE y [(options)].
func (p *parser) format() *ast.Format {
	f := &ast.Format{Pos: p.pos()}
	p.expectWord("format")
	f.Format = p.colLabel()
	p.expectWord("encode")
	f.Encode = p.colLabel()
	if p.isSelf("(") {
		f.Options = p.withOptions()
	}
	return f
}

func (p *parser) createSource(pos int) ast.Statement {
	c := &ast.CreateSource{Pos: pos}
	p.next()
	c.IfNotExists = p.ifNotExists()
	c.Name = p.relationName()
	if p.isSelf("(") {
		p.tableElements(&c.Columns, &c.Constraints, &c.Watermark)
	}
	if p.acceptWord("with") {
		c.Options = p.withOptions()
	}
	if p.isWord("format") {
		c.Format = p.format()
	}
	return c
}

func (p *parser) createSink(pos int) ast.Statement {
	c := &ast.CreateSink{Pos: pos}
	p.next()
	c.IfNotExists = p.ifNotExists()
	c.Name = p.relationName()
	if p.acceptWord("into") {
		n := p.relationName()
		c.Into = &n
		if p.isSelf("(") {
			c.IntoColumns = p.nameList()
		}
	}
	switch {
	case p.acceptWord("from"):
		n := p.relationName()
		c.From = &n
	case p.acceptWord("as"):
		start := p.pos()
		c.Query = p.parseQuery()
		c.QueryText = p.textFrom(start)
	default:
		p.unexpected()
	}
	c.EmitOnWindowClose = p.emit()
	if p.acceptWord("with") {
		c.Options = p.withOptions()
	}
	if p.isWord("format") {
		c.Format = p.format()
	}
	c.EmitOnWindowClose = p.emit() || c.EmitOnWindowClose
	return c
}

// emit reads EMIT ON WINDOW CLOSE, if it is there.
func (p *parser) emit() bool {
	if !p.startsEmit() {
		return false
	}
	for range 4 {
		p.next()
	}
	return true
}

func (p *parser) createView(pos int, orReplace bool) ast.Statement {
	c := &ast.CreateView{Pos: pos, OrReplace: orReplace}
	c.Materialized = p.acceptWord("materialized")
	p.expectWord("view")
	if c.Materialized {
		c.IfNotExists = p.ifNotExists()
	}
	c.Name = p.relationName()
	if p.isSelf("(") {
		c.Columns = p.nameList()
	}
	if p.acceptWord("using") {
		p.colID()
	}
	if p.acceptWord("with") {
		c.Options = p.withOptions()
	}
	if p.acceptWord("tablespace") {
		p.colID()
	}
	p.expectWord("as")
	start := p.pos()
	c.Query = p.parseQuery()
	c.QueryText = p.textFrom(start)
	emit := p.pos()
	if c.EmitOnWindowClose = p.emit(); c.EmitOnWindowClose && !c.Materialized {
		p.unsupported(emit, "EMIT ON WINDOW CLOSE of a view that is not materialized")
	}
	if !c.Materialized {
		if p.isWord("with") {
			w := p.pos()
			p.next()
			p.acceptAnyOf("cascaded", "local")
			p.expectWord("check", "option")
			p.unsupported(w, "WITH CHECK OPTION")
		}
		return c
	}
	if p.acceptWord("with") {
		c.WithNoData = p.acceptWord("no")
		p.expectWord("data")
	}
	return c
}

func (p *parser) createIndex(pos int) ast.Statement {
	c := &ast.CreateIndex{Pos: pos}
	c.Unique = p.acceptWord("unique")
	p.expectWord("index")
	c.Concurrently = p.acceptWord("concurrently")
	c.IfNotExists = p.ifNotExists()
	if c.IfNotExists || !p.isWord("on") {
		c.Name = p.colID()
	}
	p.expectWord("on")
	if p.isWord("only") {
		p.next()
	}
	c.Table = p.relationName()
	p.acceptSelf("*")
	if p.acceptWord("using") {
		method := p.tok()
		p.colID()
		if p.err == nil && method.Text != "btree" {
			p.unsupported(method.Pos, "index access method \""+method.Text+"\"")
		}
	}
	p.expectSelf("(")
	for p.err == nil {
		item, f, collation, text := p.indexElem()
		if p.err != nil {
			break
		}
		item.Expr = p.decodeExpr(f)
		if collation != nil {
			item.Expr = &ast.Collate{P: ast.P{Pos: collation.Pos}, X: item.Expr, Collation: *collation}
		}
		c.Columns = append(c.Columns, item)
		c.Texts = append(c.Texts, strings.TrimSpace(text))
		if !p.acceptSelf(",") {
			break
		}
	}
	p.expectSelf(")")
	if p.acceptWord("include") {
		c.Include = p.nameList()
	}
	c.NullsNotDistinct = p.nullsNotDistinct()
	if p.acceptWord("with") {
		p.withOptions()
	}
	if p.acceptWord("tablespace") {
		p.colID()
	}
	if p.acceptWord("where") {
		c.Where, c.WhereText = p.exprAndText()
	}
	return c
}

func (p *parser) createSchema(pos int) ast.Statement {
	c := &ast.CreateSchema{Pos: pos}
	p.next()
	c.IfNotExists = p.ifNotExists()
	if p.isWord("authorization") {
		return p.unsupportedClause(pos, "CREATE SCHEMA AUTHORIZATION")
	}
	c.Name = p.colID()
	if p.acceptWord("authorization") {
		c.Owner = p.roleName()
	}
	if p.isOneOf("create", "grant") {
		return p.unsupportedClause(pos, "CREATE SCHEMA with elements")
	}
	return c
}

// isRole accepts the name of a role.
func isRole(t *lex.Token) bool {
	return isNonReserved(t) || isWord(t, "current_user") || isWord(t, "current_role") || isWord(t, "session_user")
}

// createExtension reads CREATE EXTENSION.
func (p *parser) createExtension(pos int) ast.Statement {
	p.next()
	c := &ast.CreateExtension{Pos: pos, IfNotExists: p.ifNotExists(), Name: p.colID()}
	p.acceptWord("with")
	for p.err == nil {
		switch {
		case p.acceptWord("schema"), p.acceptWord("version"):
			if p.tok().Kind == lex.String {
				p.stringLit()
			} else {
				p.colID()
			}
		case p.acceptWord("cascade"):
		default:
			return c
		}
	}
	return c
}
