package parse

import (
	"strings"

	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/parse/lex"
	"github.com/weirdb/weir/sql/sqlerr"
)

// statement reads one statement.
func (p *parser) statement() ast.Statement {
	p.enter()
	defer p.leave()
	t := p.tok()
	if isSelf(t, "(") {
		return p.selectStatement()
	}
	if t.Kind != lex.Keyword && t.Kind != lex.Ident || t.Quoted {
		p.unexpected()
		return nil
	}
	switch t.Text {
	case "select", "values", "table":
		return p.selectStatement()
	case "with":
		pos := p.pos()
		with := p.with()
		if p.isWord("merge") {
			return p.merge(with, pos)
		}
		if isDML(p.tok()) {
			return p.dmlTree(with, pos)
		}
		q := p.queryAfterWith(with, pos)
		if p.err != nil {
			return nil
		}
		return p.decodeQuery(p.finish(q))
	case "merge":
		return p.merge(frag{}, t.Pos)
	case "insert", "update", "delete":
		return p.dmlTree(frag{}, t.Pos)
	case "create":
		return p.create()
	case "drop":
		return p.drop()
	case "grant", "revoke":
		return p.grant()
	case "reassign":
		p.next()
		return p.owned(t.Pos, true)
	case "alter":
		return p.alter()
	case "explain":
		return p.explain()
	case "copy":
		return p.copy()
	case "truncate":
		return p.truncate()
	case "comment":
		return p.comment()
	case "set":
		return p.set()
	case "reset":
		return p.reset()
	case "show":
		return p.show()
	case "begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release":
		return p.transaction()
	case "prepare":
		return p.prepare()
	case "execute":
		return p.execute()
	case "deallocate":
		return p.deallocate()
	case "discard":
		p.next()
		what := p.acceptAnyOf("all", "plans", "sequences", "temp", "temporary")
		if what == "" {
			p.unexpected()
		}
		if what == "temporary" {
			what = "temp"
		}
		return &ast.Discard{What: what, Pos: t.Pos}
	case "declare":
		return p.declare()
	case "fetch", "move":
		return p.fetch()
	case "close":
		return p.closeCursor()
	case "listen":
		return p.listen()
	case "unlisten":
		return p.unlisten()
	case "notify":
		return p.notify()
	case "subscribe":
		return p.subscribe()
	case "verify":
		return p.verify()
	case "checkpoint", "flush", "wait":
		p.next()
		return &ast.Simple{What: t.Text, Pos: t.Pos}
	case "analyze", "analyse", "vacuum", "reindex", "cluster":
		return p.maintain()
	case "lock":
		return p.lockTable()
	case "do":
		return p.do()
	case "backup":
		p.next()
		p.acceptWord("database")
		p.expectWord("to")
		return &ast.Simple{What: "backup", Text: p.stringLit(), Pos: t.Pos}
	case "refresh":
		p.next()
		p.expectWord("materialized", "view")
		p.acceptWord("concurrently")
		n := p.relationName()
		if p.acceptWord("with") {
			p.acceptWord("no")
			p.expectWord("data")
		}
		return &ast.Simple{What: "refresh", Name: &n, Pos: t.Pos}
	}
	if name, ok := unsupportedStatement(t.Text); ok {
		return p.skipStatement(name)
	}
	p.unexpected()
	return nil
}

// do reads DO: the code and LANGUAGE in any order.
func (p *parser) do() ast.Statement {
	d := &ast.Do{Pos: p.pos(), BodyPos: -1}
	p.next()
	hasBody := false
	for p.err == nil && (p.tok().Kind == lex.String || p.isWord("language")) {
		t := p.tok()
		if p.acceptWord("language") {
			if d.Language != "" {
				p.failf(sqlerr.SyntaxError, t.Pos, "conflicting or redundant options")
				return nil
			}
			d.Language = p.nonReservedOrString()
			continue
		}
		if hasBody {
			p.failf(sqlerr.SyntaxError, t.Pos, "conflicting or redundant options")
			return nil
		}
		hasBody = true
		d.Body = p.stringLit()
		if raw := p.src[t.Pos:t.End]; strings.Count(raw, d.Body) > 0 && d.Body != "" {
			d.BodyPos = t.Pos + strings.Index(raw, d.Body)
		}
	}
	if p.err == nil && !hasBody {
		if d.Language == "" {
			p.unexpected()
			return nil
		}
		p.failf(sqlerr.SyntaxError, sqlerr.NoPos, "no inline code specified")
	}
	return d
}

func (p *parser) selectStatement() ast.Statement {
	if q := p.parseQuery(); q != nil {
		return q
	}
	return nil
}

// unsupportedStatement gives the name of a statement that PostgreSQL knows and Weir does not, by
// its first word.
func unsupportedStatement(word string) (name string, ok bool) {
	switch word {
	case "call", "load", "import", "security":
		return strings.ToUpper(word), true
	}
	return "", false
}

// skipStatement passes over the rest of a statement that is not supported; the tokens are still
// read, so that lexical mistakes are found.
func (p *parser) skipStatement(name string) ast.Statement {
	u := &ast.Unsupported{Name: name, Pos: p.pos()}
	p.skipRest()
	return u
}

// skipRest passes to the end of the statement. A semicolon in parentheses or in a function body
// (BEGIN ATOMIC ... END) does not end it.
func (p *parser) skipRest() {
	depth, blocks := 0, 0
	for p.err == nil {
		t := p.tok()
		switch {
		case t.Kind == lex.EOF:
			if depth > 0 || blocks > 0 {
				p.unexpected()
			}
			return
		case t.Kind == lex.Err, t.Kind == lex.Self && !strings.Contains(" , ( ) [ ] . ; : + - * / % ^ < > = :: .. := <= >= <> => ", " "+t.Text+" "):
			p.unexpected()
			return
		case isSelf(t, "("):
			depth++
		case isSelf(t, ")"):
			if depth == 0 {
				p.unexpected()
				return
			}
			depth--
		case isSelf(t, ";") && depth == 0 && blocks == 0:
			return
		case p.isWords("begin", "atomic"):
			blocks++
		case isWord(t, "case") && blocks > 0:
			blocks++
		case isWord(t, "end") && blocks > 0:
			blocks--
		}
		p.next()
	}
}

// transaction reads the statements that begin and end transactions.
func (p *parser) transaction() ast.Statement {
	t := p.tok()
	p.next()
	tx := &ast.Transaction{Pos: t.Pos}
	switch t.Text {
	case "begin", "start":
		if t.Text == "start" {
			p.expectWord("transaction")
			tx.Start = true
		} else if !p.acceptWord("work") {
			p.acceptWord("transaction")
		}
		tx.Modes = p.transactionModes(false)
		return tx
	case "savepoint":
		tx.Kind, tx.Name = ast.TxSavepoint, p.colID()
		return tx
	case "release":
		tx.Kind = ast.TxRelease
		tx.Name = p.savepoint()
		return tx
	case "commit", "end":
		tx.Kind = ast.TxCommit
	default:
		tx.Kind = ast.TxRollback
	}
	if (t.Text == "commit" || t.Text == "rollback") && p.acceptWord("prepared") {
		p.stringLit()
		return &ast.Unsupported{Name: strings.ToUpper(t.Text) + " PREPARED", Pos: t.Pos}
	}
	if !p.acceptWord("work") {
		p.acceptWord("transaction")
	}
	if t.Text == "rollback" && p.acceptWord("to") {
		tx.Kind = ast.TxRollbackTo
		tx.Name = p.savepoint()
		return tx
	}
	if p.acceptWord("and") {
		tx.Chain = !p.acceptWord("no")
		p.expectWord("chain")
	}
	return tx
}

// savepoint reads [SAVEPOINT] name.
func (p *parser) savepoint() string {
	if p.isWord("savepoint") && isColID(p.peek(1)) {
		p.next()
	}
	return p.colID()
}

// transactionModes reads a list of modes, with or without commas; at least one if must is set.
func (p *parser) transactionModes(must bool) []string {
	var modes []string
	for p.err == nil {
		switch {
		case p.acceptWords("isolation", "level"):
			switch {
			case p.acceptWord("serializable"):
				modes = append(modes, "isolation level serializable")
			case p.acceptWords("repeatable", "read"):
				modes = append(modes, "isolation level repeatable read")
			case p.acceptWords("read", "committed"):
				modes = append(modes, "isolation level read committed")
			case p.acceptWords("read", "uncommitted"):
				modes = append(modes, "isolation level read uncommitted")
			default:
				if p.isWord("read") || p.isWord("repeatable") {
					p.next()
				}
				p.unexpected()
			}
		case p.acceptWords("read", "only"):
			modes = append(modes, "read only")
		case p.acceptWords("read", "write"):
			modes = append(modes, "read write")
		case p.acceptWord("deferrable"):
			modes = append(modes, "deferrable")
		case p.acceptWords("not", "deferrable"):
			modes = append(modes, "not deferrable")
		default:
			if must || p.isWord("isolation") || p.isWord("read") || p.isWord("not") {
				if p.isWord("isolation") || p.isWord("read") || p.isWord("not") {
					p.next()
				}
				p.unexpected()
			}
			return modes
		}
		must = p.acceptSelf(",")
	}
	return modes
}

func (p *parser) prepare() ast.Statement {
	pos := p.pos()
	p.next()
	if p.isWord("transaction") && p.peek(1).Kind == lex.String {
		return p.skipStatement("PREPARE TRANSACTION")
	}
	s := &ast.Prepare{Pos: pos, Name: p.colID()}
	if p.acceptSelf("(") {
		for p.err == nil {
			s.Types = append(s.Types, p.typeName())
			if !p.acceptSelf(",") {
				break
			}
		}
		p.expectSelf(")")
	}
	p.expectWord("as")
	start := p.pos()
	switch t := p.tok(); {
	case isSelf(t, "("), p.startsQuery(), isDML(t):
		s.Stmt = p.statement()
	default:
		p.unexpected()
	}
	s.Text = p.textFrom(start)
	return s
}

// textFrom is the text from an offset to the end of the last token that was read.
func (p *parser) textFrom(start int) string {
	if p.err != nil || p.prevEnd() < start {
		return ""
	}
	return p.src[start:p.prevEnd()]
}

func (p *parser) execute() ast.Statement {
	s := &ast.Execute{Pos: p.pos()}
	p.next()
	s.Name = p.colID()
	if p.acceptSelf("(") {
		for p.err == nil {
			s.Args = append(s.Args, p.parseExpr())
			if !p.acceptSelf(",") {
				break
			}
		}
		p.expectSelf(")")
	}
	return s
}

func (p *parser) deallocate() ast.Statement {
	s := &ast.Deallocate{Pos: p.pos()}
	p.next()
	if p.isWord("prepare") && isColID(p.peek(1)) || p.isWords("prepare", "all") {
		p.next()
	}
	if !p.acceptWord("all") {
		s.Name = p.colID()
	}
	return s
}

// explain reads EXPLAIN.
func (p *parser) explain() ast.Statement {
	e := &ast.Explain{Pos: p.pos()}
	p.next()
	if p.isSelf("(") && !p.parenStartsQuery() {
		e.Options = p.utilityOptions(false)
		for _, o := range e.Options {
			switch o.Name {
			case "analyze", "analyse":
				e.Analyze = optionOn(o)
			case "verbose":
				e.Verbose = optionOn(o)
			}
		}
	} else {
		e.Analyze = p.acceptAnyOf("analyze", "analyse") != ""
		e.Verbose = p.acceptWord("verbose")
	}
	switch t := p.tok(); {
	case p.isWords("materialized", "view"):
		p.next()
		p.next()
		n := p.relationName()
		e.View = &n
	case isWord(t, "create"):
		what := p.peek(1)
		e.Stmt = p.statement()
		switch s := e.Stmt.(type) {
		case *ast.CreateView:
			if !s.Materialized {
				p.unexpectedAt(what)
			}
		case *ast.CreateTable:
			if s.As == nil {
				p.unexpectedAt(what)
			}
		case *ast.CreateSink:
		default:
			p.unexpectedAt(what)
		}
	case isSelf(t, "("), p.startsQuery(), isDML(t), isWord(t, "execute"), isWord(t, "declare"), isWord(t, "refresh"):
		e.Stmt = p.statement()
	default:
		p.unexpected()
	}
	return e
}

func optionOn(o ast.Option) bool {
	switch strings.ToLower(o.Value) {
	case "false", "off", "0":
		return false
	}
	return true
}

// utilityOptions reads the "(name [value], ...)" of EXPLAIN and COPY. Those of COPY may have any
// word as a name, and lists as values.
func (p *parser) utilityOptions(copying bool) []ast.Option {
	var opts []ast.Option
	p.expectSelf("(")
	for p.err == nil {
		o := ast.Option{Pos: p.pos()}
		if copying {
			o.Name = p.colLabel()
		} else {
			o.Name = p.name(isOptionName)
		}
		switch t := p.tok(); {
		case isSelf(t, "(") && copying:
			o.IsSet = true
			o.Value = strings.Join(p.nameListOrStrings(), ",")
		case isSelf(t, "*") && copying:
			p.next()
			o.Value, o.IsSet = "*", true
		case isSelf(t, ","), isSelf(t, ")"):
		default:
			o.Value, o.IsSet = p.settingValue(), true
		}
		opts = append(opts, o)
		if !p.acceptSelf(",") {
			break
		}
	}
	p.expectSelf(")")
	return opts
}

// isOptionName accepts the words of EXPLAIN's options, among them a reserved one.
func isOptionName(t *lex.Token) bool {
	return isNonReserved(t) || isWord(t, "analyze") || isWord(t, "analyse")
}

// nameListOrStrings reads "(a, 'b', ...)".
func (p *parser) nameListOrStrings() []string {
	var list []string
	p.expectSelf("(")
	for p.err == nil {
		list = append(list, p.settingValue())
		if !p.acceptSelf(",") {
			break
		}
	}
	p.expectSelf(")")
	return list
}
