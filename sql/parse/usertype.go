package parse

import (
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/sqlerr"
)

// createType reads CREATE TYPE; the current token is TYPE.
func (p *parser) createType(pos int) ast.Statement {
	p.next()
	c := &ast.CreateType{Pos: pos, Name: p.relationName()}
	if p.err == nil && !p.isWord("as") {
		// A shell type, or a base type in C.
		return p.unsupportedClause(pos, "CREATE TYPE without AS")
	}
	p.expectWord("as")
	switch {
	case p.acceptWord("enum"):
		c.Enum = true
		p.expectSelf("(")
		for !p.isSelf(")") && p.err == nil {
			c.Labels = append(c.Labels, p.stringLit())
			if !p.acceptSelf(",") {
				break
			}
		}
		p.expectSelf(")")
	case p.isWord("range"):
		return p.unsupportedClause(pos, "CREATE TYPE AS RANGE")
	default:
		p.expectSelf("(")
		for !p.isSelf(")") && p.err == nil {
			c.Attrs = append(c.Attrs, p.attribute())
			if !p.acceptSelf(",") {
				break
			}
		}
		p.expectSelf(")")
	}
	return c
}

// attribute reads "name type [COLLATE c]".
func (p *parser) attribute() ast.ColumnDef {
	d := ast.ColumnDef{Pos: p.pos()}
	d.Name = p.colID()
	d.Type = p.typeName()
	if p.acceptWord("collate") {
		n := p.qualifiedName()
		d.Collation = &n
	}
	return d
}

// createDomain reads CREATE DOMAIN; the current token is DOMAIN.
func (p *parser) createDomain(pos int) ast.Statement {
	p.next()
	c := &ast.CreateDomain{Pos: pos, Name: p.relationName()}
	p.acceptWord("as")
	c.Type = p.typeName()
	for p.err == nil {
		if p.acceptWord("collate") {
			n := p.qualifiedName()
			c.Collation = &n
			continue
		}
		k, ok := p.columnConstraint()
		if !ok {
			break
		}
		c.Constraints = append(c.Constraints, k)
	}
	return c
}

// alterType reads what follows ALTER; the current token is TYPE or DOMAIN.
func (p *parser) alterType(pos int) ast.Statement {
	a := &ast.AlterUserType{Pos: pos, Domain: p.isWord("domain")}
	p.next()
	a.Name = p.relationName()
	switch {
	case p.acceptWords("rename", "to"):
		a.Action, a.NewName = "rename", p.colID()
		return a
	case p.acceptWords("set", "schema"):
		a.Action, a.NewName = "set_schema", p.colID()
		return a
	case p.acceptWords("owner", "to"):
		a.Action, a.NewName = "owner", p.name(isRole)
		return a
	}
	if a.Domain {
		p.alterDomain(a)
		return a
	}
	switch {
	case p.acceptWords("add", "value"):
		a.Action, a.IfNotExists = "add_value", p.ifNotExists()
		a.Old = p.stringLit()
		switch {
		case p.acceptWord("before"):
			s := p.stringLit()
			a.Before = &s
		case p.acceptWord("after"):
			s := p.stringLit()
			a.After = &s
		}
	case p.acceptWords("rename", "value"):
		a.Action, a.Old = "rename_value", p.stringLit()
		p.expectWord("to")
		a.NewName = p.stringLit()
	case p.acceptWords("rename", "attribute"):
		a.Action, a.Old = "rename_attribute", p.colID()
		p.expectWord("to")
		a.NewName = p.colID()
		a.Cascade = p.cascade()
	case p.isOneOf("add", "drop", "alter") && isWord(p.peek(1), "attribute"):
		a.Action = "attributes"
		for p.err == nil {
			a.Attrs = append(a.Attrs, p.alterAttribute())
			if !p.acceptSelf(",") {
				break
			}
		}
	case p.isWord("set"):
		return p.unsupportedClause(pos, "ALTER TYPE SET")
	default:
		p.unexpected()
	}
	return a
}

func (p *parser) alterAttribute() ast.AlterAttribute {
	x := ast.AlterAttribute{Pos: p.pos(), Action: p.acceptAnyOf("add", "drop", "alter")}
	p.expectWord("attribute")
	switch x.Action {
	case "add":
		x.Def = p.attribute()
	case "drop":
		x.IfExists = p.ifExists()
		x.Def = ast.ColumnDef{Pos: p.pos()}
		x.Def.Name = p.colID()
	case "alter":
		x.Def = ast.ColumnDef{Pos: p.pos()}
		x.Def.Name = p.colID()
		p.acceptWords("set", "data")
		p.expectWord("type")
		x.Def.Type = p.typeName()
		if p.acceptWord("collate") {
			n := p.qualifiedName()
			x.Def.Collation = &n
		}
	default:
		p.unexpected()
	}
	x.Cascade = p.cascade()
	return x
}

// alterDomain reads what only ALTER DOMAIN does.
func (p *parser) alterDomain(a *ast.AlterUserType) {
	switch {
	case p.acceptWords("set", "default"):
		a.Action = "set_default"
		a.Default, a.DefaultText = p.exprAndText()
	case p.acceptWords("drop", "default"):
		a.Action = "drop_default"
	case p.isWord("set") && isWord(p.peek(1), "not"):
		p.next()
		p.expectWord("not", "null")
		a.Action = "set_not_null"
	case p.isWord("drop") && isWord(p.peek(1), "not"):
		p.next()
		p.expectWord("not", "null")
		a.Action = "drop_not_null"
	case p.acceptWord("add"):
		a.Action = "add_constraint"
		c, ok := p.columnConstraint()
		if !ok || c.Kind != ast.ConCheck {
			if p.err == nil {
				p.failf(sqlerr.FeatureNotSupported, c.Pos, "only CHECK constraints can be added to a domain")
			}
			return
		}
		a.Constraint, a.NotValid = &c, p.acceptWords("not", "valid")
	case p.acceptWords("drop", "constraint"):
		a.Action, a.IfExists = "drop_constraint", p.ifExists()
		a.Old = p.colID()
		a.Cascade = p.cascade()
	case p.acceptWords("rename", "constraint"):
		a.Action, a.Old = "rename_constraint", p.colID()
		p.expectWord("to")
		a.NewName = p.colID()
	case p.acceptWords("validate", "constraint"):
		a.Action, a.Old = "validate_constraint", p.colID()
	default:
		p.unexpected()
	}
}
