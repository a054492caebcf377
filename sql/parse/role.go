package parse

import (
	"strconv"
	"strings"

	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/parse/lex"
	"github.com/weirdb/weir/sql/sqlerr"
)

// roleName reads the name of a role that exists or is to be made.
func (p *parser) roleName() string {
	t := p.tok()
	switch n := p.name(isRole); {
	case p.err != nil:
		return ""
	case n == "public" || n == "none":
		p.failf(sqlerr.ReservedName, t.Pos, "role name %q is reserved", n)
		return ""
	default:
		return n
	}
}

// grantee reads a role of GRANT: "" is PUBLIC.
func (p *parser) grantee() string {
	p.acceptWord("group")
	if p.tok().Kind == lex.Ident && p.tok().Text == "public" {
		p.next()
		return ""
	}
	return p.roleName()
}

func (p *parser) roleList(one func() string) []string {
	var names []string
	for p.err == nil {
		names = append(names, one())
		if !p.acceptSelf(",") {
			break
		}
	}
	return names
}

// createRole reads CREATE ROLE, USER or GROUP; the current token is that word.
func (p *parser) createRole(pos int) ast.Statement {
	c := &ast.CreateRole{Pos: pos, User: p.isWord("user")}
	p.next()
	c.Name = p.roleName()
	p.acceptWord("with")
	c.Options = p.roleOptions(true)
	return c
}

// switches are the options that may have NO in front.
var switches = []string{"superuser", "createdb", "createrole", "inherit", "login", "replication", "bypassrls"}

func (p *parser) roleOptions(creating bool) []ast.RoleOption {
	var opts []ast.RoleOption
next:
	for p.err == nil {
		o := ast.RoleOption{Pos: p.pos(), On: true}
		for _, w := range switches {
			if p.acceptWord(w) || p.acceptWord("no"+w) {
				o.Name, o.On = w, p.toks[p.i-1].Text == w
				opts = append(opts, o)
				continue next
			}
		}
		switch {
		case p.acceptPhrase("connection", "limit"):
			o.Name = "connection limit"
			text := ""
			if p.acceptSelf("-") {
				text = "-"
			}
			o.Number, _ = strconv.Atoi(text + p.intConst())
		case p.isWord("encrypted"), p.isWord("password"):
			p.acceptWord("encrypted")
			p.expectWord("password")
			o.Name = "password"
			if !p.acceptWord("null") {
				s := p.stringLit()
				o.Value = &s
			}
		case p.isWords("unencrypted", "password"):
			p.failf(sqlerr.FeatureNotSupported, p.pos(), "UNENCRYPTED PASSWORD is no longer supported")
		case p.acceptPhrase("valid", "until"):
			o.Name = "valid until"
			s := p.stringLit()
			o.Value = &s
		case creating && (p.acceptPhrase("in", "role") || p.acceptPhrase("in", "group")):
			o.Name, o.Roles = "in role", p.roleList(p.roleName)
		case creating && (p.acceptWord("role") || p.acceptWord("user")):
			o.Name, o.Roles = "role", p.roleList(p.roleName)
		case creating && p.acceptWord("admin"):
			o.Name, o.Roles = "admin", p.roleList(p.roleName)
		case creating && p.acceptWord("sysid"):
			p.intConst() // as in PostgreSQL, it has no meaning
			continue
		default:
			return opts
		}
		opts = append(opts, o)
	}
	return opts
}

// alterRole reads ALTER ROLE, USER or GROUP; the current token is that word.
func (p *parser) alterRole(pos int) ast.Statement {
	a := &ast.AlterRole{Pos: pos}
	group := p.isWord("group")
	p.next()
	if p.isWord("all") && (isWord(p.peek(1), "set") || isWord(p.peek(1), "reset") || isWord(p.peek(1), "in")) {
		p.next()
		return p.alterSettings(&ast.AlterSettings{Pos: pos})
	}
	a.Name = p.roleName()
	switch {
	case p.acceptPhrase("rename", "to"):
		a.NewName = p.roleName()
		return a
	case p.isOneOf("set", "reset"), p.isWords("in", "database"):
		return p.alterSettings(&ast.AlterSettings{Role: a.Name, Pos: pos})
	case group && p.acceptPhrase("add", "user"):
		a.Add = p.roleList(p.roleName)
		return a
	case group && p.acceptPhrase("drop", "user"):
		a.Remove = p.roleList(p.roleName)
		return a
	}
	p.acceptWord("with")
	a.Options = p.roleOptions(false)
	return a
}

// alterSettings reads [IN DATABASE name] SET ... or RESET ... of ALTER ROLE and ALTER DATABASE.
func (p *parser) alterSettings(a *ast.AlterSettings) ast.Statement {
	if a.Database == "" && p.acceptWords("in", "database") {
		a.Database = p.colID()
	}
	switch {
	case p.isWord("set"):
		at := *p.peek(1)
		switch s := p.set().(type) {
		case *ast.Set:
			if a.Set = s; s.Local || s.Name == "transaction_mode" || s.Name == "session_characteristics" {
				p.unexpectedAt(&at)
			}
		default:
			p.unexpectedAt(&at)
		}
	case p.isWord("reset"):
		if r, ok := p.reset().(*ast.Reset); ok {
			a.Reset = r
		}
	default:
		p.unexpected()
	}
	if p.err != nil {
		return nil
	}
	return a
}

// dropRole reads DROP ROLE, USER or GROUP; the current token is that word.
func (p *parser) dropRole(pos int) ast.Statement {
	d := &ast.DropRole{Pos: pos}
	p.next()
	d.IfExists = p.ifExists()
	d.Names = p.roleList(p.roleName)
	return d
}

// owned reads DROP OWNED or REASSIGN OWNED from BY on.
func (p *parser) owned(pos int, reassign bool) ast.Statement {
	r := &ast.Reassign{Pos: pos}
	p.expectWord("owned", "by")
	r.Roles = p.roleList(p.roleName)
	if reassign {
		p.expectWord("to")
		r.To = p.roleName()
		return r
	}
	r.Cascade = p.cascade()
	return r
}

// grantKinds are the kinds of objects that privileges can be given on, and those that Weir does not have.
var grantKinds = [][]string{
	{"all", "tables", "in", "schema"}, {"all", "sequences", "in", "schema"}, {"all", "functions", "in", "schema"},
	{"all", "procedures", "in", "schema"}, {"all", "routines", "in", "schema"}, {"foreign", "data", "wrapper"},
	{"foreign", "server"}, {"large", "object"}, {"table"}, {"schema"}, {"database"}, {"sequence"}, {"function"}, {"procedure"},
	{"routine"}, {"language"}, {"type"}, {"domain"}, {"tablespace"}, {"parameter"},
}

// grant reads GRANT or REVOKE.
func (p *parser) grant() ast.Statement {
	g := &ast.Grant{Pos: p.pos(), Revoke: p.isWord("revoke")}
	p.next()
	if g.Revoke {
		if p.acceptPhrase("grant", "option", "for") || p.acceptPhrase("admin", "option", "for") {
			g.Option = true
		}
	}
	if p.acceptWord("all") {
		p.acceptWord("privileges")
		if p.isSelf("(") {
			return p.unsupportedClause(g.Pos, "privileges on columns")
		}
	} else {
		for p.err == nil {
			n := p.colLabel()
			g.Privileges = append(g.Privileges, n)
			if p.isSelf("(") {
				return p.unsupportedClause(g.Pos, "privileges on columns")
			}
			if !p.acceptSelf(",") {
				break
			}
		}
	}
	if g.Privileges == nil || p.isWord("on") {
		p.expectWord("on")
		g.Kind = "table"
		for _, k := range grantKinds {
			if p.acceptWords(k...) {
				g.Kind = strings.Join(k, " ")
				break
			}
		}
		switch g.Kind {
		case "table", "schema", "database", "sequence", "all tables in schema", "all sequences in schema", "all functions in schema":
		case "function", "routine":
			g.Kind = "function"
		case "all routines in schema":
			g.Kind = "all functions in schema"
		default:
			return p.unsupportedClause(g.Pos, "privileges on a "+g.Kind)
		}
		for p.err == nil {
			if g.Kind == "function" {
				g.Funcs = append(g.Funcs, p.funcRef())
			} else {
				g.Names = append(g.Names, p.qualifiedName())
			}
			if !p.acceptSelf(",") {
				break
			}
		}
	}
	if g.Revoke {
		p.expectWord("from")
	} else {
		p.expectWord("to")
	}
	g.Roles = p.roleList(p.grantee)
	if !g.Revoke && p.acceptWord("with") {
		if p.acceptAnyOf("grant", "admin") == "" {
			p.unexpected()
		}
		p.expectWord("option")
		g.Option = true
	}
	if p.acceptPhrase("granted", "by") {
		p.roleName()
	}
	if g.Revoke {
		g.Cascade = p.cascade()
	}
	return g
}
