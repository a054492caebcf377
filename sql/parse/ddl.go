package parse

import (
	"strings"

	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/parse/lex"
	"github.com/weirdb/weir/sql/sqlerr"
)

// objectKinds are the kinds of objects that Weir has, by their words.
var objectKinds = []struct {
	words []string
	kind  ast.ObjectKind
}{
	{[]string{"table"}, ast.KindTable},
	{[]string{"source"}, ast.KindSource},
	{[]string{"view"}, ast.KindView},
	{[]string{"materialized", "view"}, ast.KindMatView},
	{[]string{"sink"}, ast.KindSink},
	{[]string{"index"}, ast.KindIndex},
	{[]string{"schema"}, ast.KindSchema},
	{[]string{"sequence"}, ast.KindSequence},
	{[]string{"database"}, ast.KindDatabase},
	{[]string{"type"}, ast.KindType},
	{[]string{"domain"}, ast.KindDomain},
}

// otherKinds are the kinds of objects that only PostgreSQL has.
var otherKinds = [][]string{
	{"access", "method"}, {"aggregate"}, {"cast"}, {"collation"}, {"conversion"}, {"default", "privileges"},
	{"event", "trigger"}, {"extension"}, {"foreign", "data", "wrapper"}, {"foreign", "table"},
	{"group"}, {"language"}, {"large", "object"}, {"operator", "class"}, {"operator", "family"},
	{"operator"}, {"owned"}, {"policy"}, {"procedural", "language"}, {"procedure"}, {"publication"}, {"role"},
	{"rule"}, {"server"}, {"statistics"}, {"subscription"}, {"system"}, {"tablespace"},
	{"text", "search"}, {"transform"}, {"trigger"}, {"user", "mapping"}, {"user"}, {"constraint"},
	{"connection"}, {"secret"},
}

// objectKind reads a kind of object that Weir has.
func (p *parser) objectKind() (ast.ObjectKind, bool) {
	for _, k := range objectKinds {
		if p.acceptPhrase(k.words...) {
			return k.kind, true
		}
	}
	return "", false
}

// otherKind gives the name of the statement "verb kind" if the kind is one of PostgreSQL's.
func (p *parser) otherKind(verb string) (string, bool) {
	for _, w := range otherKinds {
		if p.isWords(w...) {
			return verb + " " + strings.ToUpper(strings.Join(w, " ")), true
		}
	}
	return "", false
}

func (p *parser) ifExists() bool {
	if !p.isWord("if") || !isWord(p.peek(1), "exists") {
		return false
	}
	p.next()
	p.next()
	return true
}

// cascade reads CASCADE or RESTRICT.
func (p *parser) cascade() bool {
	if p.acceptWord("cascade") {
		return true
	}
	p.acceptWord("restrict")
	return false
}

func (p *parser) drop() ast.Statement {
	d := &ast.Drop{Pos: p.pos()}
	p.next()
	switch {
	case p.isOneOf("role", "group"), p.isWord("user") && !isWord(p.peek(1), "mapping"):
		return p.dropRole(d.Pos)
	case p.isWord("owned"):
		return p.owned(d.Pos, false)
	}
	if p.isOneOf("function", "routine") {
		p.next()
		d.Kind, d.IfExists = ast.KindFunction, p.ifExists()
		for p.err == nil {
			d.Funcs = append(d.Funcs, p.funcRef())
			if !p.acceptSelf(",") {
				break
			}
		}
		d.Cascade = p.cascade()
		return d
	}
	kind, ok := p.objectKind()
	if !ok {
		if name, ok := p.otherKind("DROP"); ok {
			p.skipRest()
			return &ast.Unsupported{Name: name, Pos: d.Pos}
		}
		p.unexpected()
		return nil
	}
	d.Kind = kind
	if kind == ast.KindIndex {
		p.acceptWord("concurrently")
	}
	d.IfExists = p.ifExists()
	for p.err == nil {
		d.Names = append(d.Names, p.relationName())
		if kind == ast.KindDatabase || !p.acceptSelf(",") {
			break
		}
	}
	if kind == ast.KindDatabase {
		p.acceptWord("with")
		if p.isSelf("(") {
			p.utilityOptions(true)
		}
		return d
	}
	d.Cascade = p.cascade()
	return d
}

// alter reads ALTER: RENAME, SET SCHEMA, OWNER TO, RESUME and SET (options) of the kinds that Weir has.
func (p *parser) alter() ast.Statement {
	a := &ast.Alter{Pos: p.pos()}
	p.next()
	if p.isOneOf("role", "group") || p.isWord("user") && !isWord(p.peek(1), "mapping") {
		return p.alterRole(a.Pos)
	}
	if p.isOneOf("function", "routine") {
		p.next()
		return p.alterFunction(a)
	}
	if p.isOneOf("type", "domain") {
		return p.alterType(a.Pos)
	}
	if p.isWord("database") && (isWord(p.peek(2), "set") && !isWord(p.peek(3), "tablespace") || isWord(p.peek(2), "reset")) {
		p.next()
		return p.alterSettings(&ast.AlterSettings{Database: p.colID(), Pos: a.Pos})
	}
	kind, ok := p.objectKind()
	if !ok {
		if name, ok := p.otherKind("ALTER"); ok {
			p.skipRest()
			return &ast.Unsupported{Name: name, Pos: a.Pos}
		}
		p.unexpected()
		return nil
	}
	a.Kind = kind
	if isWord(p.tok(), "all") {
		return p.unsupportedClause(a.Pos, "ALTER "+string(kind)+" ALL")
	}
	a.IfExists = p.ifExists()
	if kind == ast.KindTable {
		p.acceptWord("only")
	}
	a.Name = p.relationName()
	p.acceptSelf("*")
	switch {
	case p.isWords("rename", "to"):
		p.next()
		p.next()
		a.Action, a.NewName = "rename", p.colID()
	case p.isWords("set", "schema"):
		p.next()
		p.next()
		a.Action, a.NewName = "set_schema", p.colID()
	case p.isWords("owner", "to") && !isSelf(p.peek(3), ","):
		p.next()
		p.next()
		a.Action, a.NewName = "owner", p.name(isRole)
	case p.isWord("resume"):
		p.next()
		a.Action = "resume"
	case p.isWord("set") && (kind == ast.KindMatView || kind == ast.KindSink) && p.peek(1).Kind == lex.Self && p.peek(1).Text == "(":
		p.next()
		a.Action, a.Options = "set_options", p.withOptions()
	case kind == ast.KindSequence:
		return p.alterSequence(a)
	case kind == ast.KindTable && p.addsForeignKey():
		p.next()
		c := p.tableConstraint()
		c.NotValid = p.acceptWords("not", "valid")
		a.Action, a.Constraint = "add_foreign_key", &c
	case kind == ast.KindTable, (kind == ast.KindView || kind == ast.KindMatView) && p.isOneOf("rename", "alter"):
		return p.alterTable(a)
	case kind == ast.KindIndex && p.isOneOf("set", "reset", "attach", "alter", "depends"):
		if p.isWord("attach") || p.isWord("depends") || p.isWord("alter") {
			return p.unsupportedClause(a.Pos, "ALTER INDEX "+p.actionName())
		}
		return p.alterTable(a)
	default:
		if p.tok().Kind == lex.EOF || p.isSelf(";") {
			p.unexpected()
			return nil
		}
		return p.unsupportedClause(a.Pos, "ALTER "+string(kind)+" "+p.actionName())
	}
	return a
}

// addsForeignKey tells whether ADD [CONSTRAINT name] FOREIGN KEY follows.
func (p *parser) addsForeignKey() bool {
	if !p.isWord("add") {
		return false
	}
	if isWord(p.peek(1), "constraint") {
		return isWord(p.peek(3), "foreign")
	}
	return isWord(p.peek(1), "foreign") && isWord(p.peek(2), "key")
}

// actionName is what an ALTER wants to do, for the message: its words up to a name.
func (p *parser) actionName() string {
	var words []string
	for n := 0; n < 3; n++ {
		t := p.peek(n)
		if t.Kind != lex.Keyword {
			break
		}
		switch t.Text {
		case "add", "drop", "alter", "column", "constraint", "set", "reset", "enable", "disable", "validate",
			"attach", "detach", "partition", "inherit", "no", "cluster", "force", "row", "level", "security",
			"replica", "identity", "trigger", "rule", "depends", "rename", "primary", "unique", "foreign",
			"check", "key", "connection", "tablespace", "reset_", "logged", "unlogged", "access", "of", "not":
			words = append(words, upper(t.Text))
			continue
		}
		break
	}
	return strings.Join(words, " ")
}

func (p *parser) truncate() ast.Statement {
	t := &ast.Truncate{Pos: p.pos()}
	p.next()
	p.acceptWord("table")
	for p.err == nil {
		only := p.acceptWord("only")
		t.Tables = append(t.Tables, p.relationName())
		if !only {
			p.acceptSelf("*")
		}
		if !p.acceptSelf(",") {
			break
		}
	}
	switch {
	case p.acceptWord("restart"):
		p.expectWord("identity")
		t.Restart = true
	case p.acceptWord("continue"):
		p.expectWord("identity")
	}
	t.Cascade = p.cascade()
	return t
}

func (p *parser) comment() ast.Statement {
	c := &ast.Comment{Pos: p.pos()}
	p.next()
	p.expectWord("on")
	if p.acceptWord("column") {
		c.Kind = ast.KindColumn
		c.Name = p.qualifiedName()
		if n := len(c.Name.Parts); n > 1 {
			c.Column = c.Name.Parts[n-1]
			c.Name.Parts = c.Name.Parts[:n-1]
		}
	} else if p.acceptWord("constraint") {
		c.Kind, c.Column = ast.KindConstraint, p.colID()
		p.expectWord("on")
		if c.OnDomain = p.isWord("domain"); c.OnDomain {
			p.next()
		}
		c.Name = p.relationName()
	} else if p.acceptWord("extension") {
		c.Kind, c.Name = ast.KindExtension, ast.Name{Parts: []string{p.colID()}, Pos: p.pos()}
	} else if p.isOneOf("function", "routine") {
		p.next()
		r := p.funcRef()
		c.Kind, c.Func = ast.KindFunction, &r
	} else {
		kind, ok := p.objectKind()
		if !ok {
			if name, ok := p.otherKind("COMMENT ON"); ok {
				p.skipRest()
				return &ast.Unsupported{Name: name, Pos: c.Pos}
			}
			p.unexpected()
			return nil
		}
		c.Kind = kind
		c.Name = p.relationName()
	}
	p.expectWord("is")
	if !p.acceptWord("null") {
		s := p.stringLit()
		c.Text = &s
	}
	if c.Kind == ast.KindColumn && c.Column == "" && p.err == nil {
		p.failf(sqlerr.SyntaxError, sqlerr.NoPos, "column name must be qualified")
	}
	return c
}

// copy reads COPY in its present and its older syntax.
func (p *parser) copy() ast.Statement {
	c := &ast.Copy{Pos: p.pos()}
	p.next()
	if p.isSelf("(") {
		p.next()
		if t := p.tok(); isSelf(t, "(") || p.startsQuery() || isDML(t) || isWord(t, "subscribe") {
			c.Query = p.statement()
		} else {
			p.unexpected()
		}
		p.expectSelf(")")
		p.expectWord("to")
		c.To = true
	} else {
		p.acceptWord("binary")
		n := p.relationName()
		c.Table = &n
		if p.isSelf("(") {
			c.Columns = p.columnTargets()
		}
		switch {
		case p.acceptWord("to"):
			c.To = true
		case p.acceptWord("from"):
		default:
			p.unexpected()
		}
	}
	switch t := p.tok(); {
	case isWord(t, "program"):
		return p.unsupportedClause(c.Pos, "COPY ... PROGRAM")
	case isWord(t, "stdin"), isWord(t, "stdout"):
		p.next()
	case t.Kind == lex.String:
		p.next()
		c.File = t.Text
	default:
		p.unexpected()
	}
	if p.acceptWord("using") || p.isWord("delimiters") {
		p.expectWord("delimiters")
		c.Options = append(c.Options, p.copyOption("delimiter"))
	}
	withWord := p.acceptWord("with")
	if p.isSelf("(") {
		c.Options = append(c.Options, p.utilityOptions(true)...)
	} else {
		n := len(c.Options)
		c.Options = append(c.Options, p.oldCopyOptions()...)
		if withWord && len(c.Options) == n && !p.isWord("where") && !p.isSelf(";") && p.tok().Kind != lex.EOF {
			p.unexpected()
		}
	}
	if p.isWord("where") {
		pos := p.pos()
		p.next()
		c.Where = p.parseExpr()
		if c.To && p.err == nil {
			p.failf(sqlerr.SyntaxError, pos, "WHERE clause not allowed with COPY TO")
		}
	}
	return c
}

// copyOption reads the string of an option of the old syntax.
func (p *parser) copyOption(name string) ast.Option {
	o := ast.Option{Name: name, IsSet: true, Pos: p.pos()}
	p.acceptWord("as")
	o.Value = p.stringLit()
	return o
}

// oldCopyOptions reads the options without parentheses.
func (p *parser) oldCopyOptions() []ast.Option {
	var opts []ast.Option
	for p.err == nil {
		t := p.tok()
		o := ast.Option{Pos: t.Pos, IsSet: true}
		switch {
		case p.acceptWord("binary"):
			o.Name, o.Value = "format", "binary"
		case p.acceptWord("csv"):
			o.Name, o.Value = "format", "csv"
		case p.acceptWord("freeze"):
			o.Name, o.Value = "freeze", "true"
		case p.acceptWord("header"):
			o.Name, o.Value = "header", "true"
		case p.isOneOf("delimiter", "null", "quote", "escape"):
			p.next()
			o = p.copyOption(t.Text)
		case p.acceptWord("encoding"):
			o.Name, o.Value = "encoding", p.stringLit()
		case p.isWord("force"):
			p.next()
			switch {
			case p.acceptWord("quote"):
				o.Name = "force_quote"
			case p.acceptWords("not", "null"):
				o.Name = "force_not_null"
			case p.acceptWord("null"):
				o.Name = "force_null"
			default:
				p.unexpected()
			}
			if p.acceptSelf("*") {
				o.Value = "*"
				break
			}
			var cols []string
			for p.err == nil {
				cols = append(cols, p.colID())
				if !p.acceptSelf(",") {
					break
				}
			}
			o.Value = strings.Join(cols, ",")
		default:
			return opts
		}
		opts = append(opts, o)
	}
	return opts
}
