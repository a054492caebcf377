package parse

import (
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/parse/lex"
	"github.com/weirdb/weir/sql/sqlerr"
)

// alterTable reads the actions of ALTER TABLE; the name has been read.
func (p *parser) alterTable(a *ast.Alter) ast.Statement {
	t := &ast.AlterTable{Kind: a.Kind, Name: a.Name, IfExists: a.IfExists, Pos: a.Pos}
	if p.isWord("rename") {
		p.next()
		x := ast.AlterAction{Kind: ast.RenameColumn, Pos: p.pos()}
		if p.acceptWord("constraint") {
			x.Kind = ast.RenameConstraint
		} else {
			p.acceptWord("column")
		}
		x.Column = p.colID()
		p.expectWord("to")
		x.Name = p.colID()
		t.Actions = append(t.Actions, x)
		return t
	}
	for p.err == nil {
		x, ok := p.alterAction()
		if !ok {
			return p.unsupportedClause(a.Pos, "ALTER "+string(a.Kind)+" "+p.actionName())
		}
		t.Actions = append(t.Actions, x)
		if !p.acceptSelf(",") {
			break
		}
	}
	return t
}

func (p *parser) alterAction() (x ast.AlterAction, ok bool) {
	x.Pos = p.pos()
	switch {
	case p.isWord("add"):
		p.next()
		if isTableConstraint(p.tok()) || p.isWord("exclude") {
			p.addConstraint(&x)
			break
		}
		p.acceptWord("column")
		x.IfExists = p.ifNotExists()
		d := p.columnDef()
		x.Kind, x.Def = ast.AddColumn, &d
	case p.isWord("drop"):
		p.next()
		if p.acceptWord("constraint") {
			x.Kind, x.IfExists, x.Name = ast.DropConstraint, p.ifExists(), p.colID()
		} else {
			p.acceptWord("column")
			x.Kind, x.IfExists, x.Column = ast.DropColumn, p.ifExists(), p.colID()
		}
		x.Cascade = p.cascade()
	case p.isWord("alter") && !isWord(p.peek(1), "constraint"):
		p.next()
		p.acceptWord("column")
		x.Column = p.colID()
		return x, p.alterColumn(&x)
	case p.acceptWords("validate", "constraint"):
		x.Kind, x.Name = ast.ValidateConstraint, p.colID()
	case p.acceptWords("owner", "to"):
		x.Kind, x.Name = ast.ChangeOwner, p.name(isRole)
	case p.acceptWords("cluster", "on"):
		x.Kind = ast.Accepted
		p.colID()
	case p.acceptWords("set", "without", "cluster"), p.acceptWords("set", "without", "oids"), p.acceptWords("set", "logged"),
		p.acceptWords("no", "force", "row", "level", "security"), p.acceptWords("disable", "row", "level", "security"):
		x.Kind = ast.Accepted
	case p.acceptWords("replica", "identity"):
		x.Kind = ast.Accepted
		if p.acceptAnyOf("default", "full", "nothing") == "" {
			p.expectWord("using", "index")
			p.colID()
		}
	case (p.isWord("set") || p.isWord("reset")) && isSelf(p.peek(1), "("):
		p.next()
		x.Kind = ast.Accepted
		p.withOptions()
	case p.acceptWords("set", "tablespace"):
		x.Kind = ast.Accepted
		p.colID()
	default:
		if p.tok().Kind == lex.EOF || p.isSelf(";") {
			p.unexpected()
			return x, true
		}
		return x, false
	}
	return x, true
}

func (p *parser) addConstraint(x *ast.AlterAction) {
	x.Kind = ast.AddConstraint
	if k, at, name := p.usingIndex(); k != 0 {
		c := ast.TableConstraint{Name: name, Kind: ast.ConUnique, Pos: at}
		if k == 'p' {
			c.Kind = ast.ConPrimaryKey
		}
		p.expectWord("using", "index")
		x.Index, x.Constraint = p.colID(), &c
		p.constraintAttributes(nil)
		return
	}
	c := p.tableConstraint()
	x.Constraint = &c
	if p.acceptWords("not", "valid") {
		x.NotValid = true
		if c.Kind != ast.ConCheck && c.Kind != ast.ConForeignKey && p.err == nil {
			p.failf(sqlerr.FeatureNotSupported, sqlerr.NoPos, "%s constraints cannot be marked NOT VALID",
				map[ast.ConstraintKind]string{ast.ConUnique: "UNIQUE", ast.ConPrimaryKey: "PRIMARY KEY"}[c.Kind])
		}
	}
}

// usingIndex reads [CONSTRAINT name] UNIQUE or PRIMARY KEY if USING INDEX follows: the kind is 'u' or 'p'.
func (p *parser) usingIndex() (kind byte, pos int, name string) {
	n, pos := 0, p.pos()
	if p.isWord("constraint") {
		n, name = 2, p.peek(1).Text
	}
	switch {
	case isWord(p.peek(n), "unique"):
		kind, n = 'u', n+1
	case isWord(p.peek(n), "primary") && isWord(p.peek(n+1), "key"):
		kind, n = 'p', n+2
	default:
		return 0, pos, ""
	}
	if !isWord(p.peek(n), "using") || !isWord(p.peek(n+1), "index") || isWord(p.peek(n+2), "tablespace") {
		return 0, pos, ""
	}
	for range n {
		p.next()
	}
	return kind, pos, name
}

// alterColumn reads what follows ALTER COLUMN name.
func (p *parser) alterColumn(x *ast.AlterAction) bool {
	switch {
	case p.acceptWords("set", "default"):
		x.Kind = ast.SetDefault
		x.Expr, x.ExprText = p.exprAndText()
	case p.acceptWords("drop", "default"):
		x.Kind = ast.DropDefault
	case p.acceptWords("set", "not", "null"):
		x.Kind = ast.SetNotNull
	case p.acceptWords("drop", "not", "null"):
		x.Kind = ast.DropNotNull
	case p.acceptWords("drop", "expression"):
		x.Kind, x.IfExists = ast.DropExpression, p.ifExists()
	case p.acceptWords("drop", "identity"):
		x.Kind, x.IfExists = ast.DropIdentity, p.ifExists()
	case p.isWords("add", "generated"):
		p.next()
		p.next()
		x.Kind = ast.AddIdentity
		if !p.acceptWord("always") {
			p.expectWord("by", "default")
		} else {
			x.Always = true
		}
		p.expectWord("as", "identity")
		x.Sequence = p.identityOptions()
	case p.isWord("type"), p.isWords("set", "data"):
		if p.acceptWord("set") {
			p.expectWord("data")
		}
		p.expectWord("type")
		d := ast.ColumnDef{Name: x.Column, Type: p.typeName(), Pos: x.Pos}
		if p.acceptWord("collate") {
			n := p.qualifiedName()
			d.Collation = &n
		}
		x.Kind, x.Def = ast.AlterType, &d
		if p.acceptWord("using") {
			x.Expr, x.ExprText = p.exprAndText()
		}
	case p.isWords("set", "generated"), p.isWord("restart"), p.isWord("set") && p.setsSequence():
		x.Kind = ast.SetIdentity
		p.setIdentity(x)
	case p.acceptWords("set", "statistics"):
		x.Kind = ast.Accepted
		p.signedInt()
	case p.acceptWords("set", "storage"), p.acceptWords("set", "compression"):
		x.Kind = ast.Accepted
		if !p.acceptWord("default") {
			p.colID()
		}
	case (p.isWord("set") || p.isWord("reset")) && isSelf(p.peek(1), "("):
		p.next()
		x.Kind = ast.Accepted
		p.withOptions()
	default:
		if p.tok().Kind == lex.EOF || p.isSelf(";") {
			p.unexpected()
			return true
		}
		return false
	}
	return true
}

// setsSequence tells whether SET is followed by an option of a sequence.
func (p *parser) setsSequence() bool {
	switch t := p.peek(1); {
	case isWord(t, "no"):
		return true
	default:
		for _, w := range []string{"increment", "minvalue", "maxvalue", "start", "restart", "cache", "cycle", "as", "owned", "sequence"} {
			if isWord(t, w) {
				return true
			}
		}
	}
	return false
}

// setIdentity reads the changes of an identity column.
func (p *parser) setIdentity(x *ast.AlterAction) {
	for p.err == nil {
		switch {
		case p.acceptWords("set", "generated"):
			if x.AlwaysSet = true; p.acceptWord("always") {
				x.Always = true
			} else {
				p.expectWord("by", "default")
			}
			continue
		case p.isWord("restart"):
		case p.isWord("set"):
			p.next()
		default:
			return
		}
		o, ok := p.sequenceOption()
		if !ok {
			p.unexpected()
			return
		}
		x.Sequence = append(x.Sequence, o)
	}
}
