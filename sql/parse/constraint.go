package parse

import (
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/parse/lex"
	"github.com/weirdb/weir/sql/sqlerr"
)

func isTableConstraint(t *lex.Token) bool {
	if t.Kind != lex.Keyword {
		return false
	}
	switch t.Text {
	case "constraint", "check", "unique", "primary", "foreign":
		return true
	case "exclude":
		return false
	}
	return false
}

// columnConstraint reads one constraint or property of a column.
func (p *parser) columnConstraint() (c ast.ColumnConstraint, ok bool) {
	c.Pos = p.pos()
	if p.acceptWord("constraint") {
		c.Name = p.colID()
	}
	switch {
	case p.isWord("not") && !isWord(p.peek(1), "deferrable"):
		p.expectWord("not", "null")
		c.Kind = ast.ConNotNull
	case p.acceptWord("null"):
		c.Kind = ast.ConNull
	case p.isWord("unique"):
		p.next()
		c.Kind = ast.ConUnique
		c.NullsNotDistinct = p.nullsNotDistinct()
		p.indexParameters(true)
	case p.isWord("primary"):
		p.next()
		p.expectWord("key")
		c.Kind = ast.ConPrimaryKey
		p.indexParameters(true)
	case p.isWord("check"):
		p.next()
		c.Kind = ast.ConCheck
		c.Expr, c.ExprText = p.checkExpr()
		if p.acceptWords("no", "inherit") {
			p.unsupported(c.Pos, "NO INHERIT")
		}
	case p.acceptWord("default"):
		c.Kind = ast.ConDefault
		// b_expr: NOT NULL and the like behind it are constraints, not operators.
		start := p.pos()
		f := p.exprPrec(precIs, modeRestricted)
		if p.err == nil {
			c.Expr = p.decodeExpr(f)
		}
		c.ExprText = p.textFrom(start)
	case p.isWord("generated"):
		p.next()
		if p.acceptPhrase("by", "default") {
			p.expectWord("as", "identity")
			c.Kind = ast.ConIdentity
			c.Sequence = p.identityOptions()
			break
		}
		p.expectWord("always", "as")
		if p.acceptWord("identity") {
			c.Kind, c.Always = ast.ConIdentity, true
			c.Sequence = p.identityOptions()
			break
		}
		c.Kind = ast.ConGenerated
		c.Expr, c.ExprText = p.checkExpr()
		p.expectWord("stored")
	case p.isWord("references"):
		c.Kind = ast.ConForeignKey
		c.References = p.references()
	default:
		if c.Name != "" {
			p.unexpected()
		}
		return c, false
	}
	p.constraintAttributes(c.References)
	return c, true
}

// checkExpr reads "(expr)" and gives also its text, without the parentheses.
func (p *parser) checkExpr() (ast.Expr, string) {
	p.expectSelf("(")
	e, text := p.exprAndText()
	p.expectSelf(")")
	return e, text
}

// indexParameters reads what may follow PRIMARY KEY and UNIQUE.
func (p *parser) indexParameters(column bool) {
	if !column && p.acceptWord("include") {
		p.nameList()
	}
	if p.isWord("with") && isSelf(p.peek(1), "(") {
		p.next()
		p.withOptions()
	}
	if p.acceptWords("using", "index", "tablespace") {
		p.colID()
	}
}

// nullsNotDistinct reads NULLS [NOT] DISTINCT.
func (p *parser) nullsNotDistinct() bool {
	if !p.acceptWord("nulls") {
		return false
	}
	not := p.acceptWord("not")
	p.expectWord("distinct")
	return not
}

// constraintAttributes reads [NOT] DEFERRABLE and INITIALLY; only foreign keys, with r, can have other than the defaults.
func (p *parser) constraintAttributes(r *ast.References) {
	never, immediate := false, false
	for p.err == nil {
		pos := p.pos()
		switch {
		case p.acceptWords("not", "deferrable"):
			never = true
			if r != nil && r.Deferred {
				p.failf(sqlerr.SyntaxError, pos, "constraint declared INITIALLY DEFERRED must be DEFERRABLE")
			}
		case p.acceptWords("initially", "immediate"):
			immediate = true
		case p.isWord("deferrable"), p.isWords("initially", "deferred"):
			if r == nil {
				p.unsupported(pos, "DEFERRABLE")
				return
			}
			if p.acceptWord("deferrable") {
				r.Deferrable = true
				break
			}
			p.next()
			p.next()
			switch {
			case never:
				p.failf(sqlerr.SyntaxError, pos, "constraint declared INITIALLY DEFERRED must be DEFERRABLE")
			case immediate:
				p.failf(sqlerr.SyntaxError, pos, "multiple INITIALLY IMMEDIATE/DEFERRED clauses not allowed")
			}
			r.Deferrable, r.Deferred = true, true
		default:
			return
		}
	}
}

// references reads REFERENCES table (columns) ... .
func (p *parser) references() *ast.References {
	p.expectWord("references")
	r := &ast.References{Table: p.relationName()}
	if p.isSelf("(") {
		r.Columns = p.nameList()
	}
	for p.err == nil {
		switch {
		case p.isWord("match"):
			pos := p.pos()
			p.next()
			switch p.acceptAnyOf("simple", "full", "partial") {
			case "":
				p.unexpected()
			case "full":
				r.MatchFull = true
			case "partial":
				p.failf(sqlerr.FeatureNotSupported, pos, "MATCH PARTIAL not yet implemented")
			}
		case p.isWord("on") && !isWord(p.peek(1), "update"):
			p.expectWord("on", "delete")
			r.OnDelete = p.referentialAction()
			if p.isSelf("(") && (r.OnDelete == "set null" || r.OnDelete == "set default") {
				r.SetColumns = p.nameList()
			}
		case p.isWords("on", "update"):
			pos := p.pos()
			p.next()
			p.next()
			r.OnUpdate = p.referentialAction()
			if p.isSelf("(") && (r.OnUpdate == "set null" || r.OnUpdate == "set default") {
				p.failf(sqlerr.FeatureNotSupported, pos, "a column list with %s is only supported for ON DELETE actions", upper(r.OnUpdate))
			}
		default:
			return r
		}
	}
	return r
}

func (p *parser) referentialAction() string {
	switch {
	case p.acceptWords("no", "action"):
		return "no action"
	case p.acceptWord("restrict"):
		return "restrict"
	case p.acceptWord("cascade"):
		return "cascade"
	case p.acceptWord("set"):
		if p.acceptWord("null") {
			return "set null"
		}
		p.expectWord("default")
		return "set default"
	}
	p.unexpected()
	return ""
}

func (p *parser) tableConstraint() ast.TableConstraint {
	c := ast.TableConstraint{Pos: p.pos()}
	if p.acceptWord("constraint") {
		c.Name = p.colID()
	}
	switch {
	case p.isWord("check"):
		p.next()
		c.Kind = ast.ConCheck
		c.Expr, c.ExprText = p.checkExpr()
		if p.isWords("no", "inherit") {
			p.unsupported(p.pos(), "NO INHERIT")
		}
	case p.isWord("unique"):
		p.next()
		c.Kind = ast.ConUnique
		if p.isWords("using", "index") {
			p.unsupported(p.pos(), "USING INDEX")
		}
		c.NullsNotDistinct = p.nullsNotDistinct()
		c.Columns = p.nameList()
		p.indexParameters(false)
	case p.isWord("primary"):
		p.next()
		p.expectWord("key")
		c.Kind = ast.ConPrimaryKey
		if p.isWords("using", "index") {
			p.unsupported(p.pos(), "USING INDEX")
		}
		c.Columns = p.nameList()
		p.indexParameters(false)
	case p.isWord("foreign"):
		p.next()
		p.expectWord("key")
		c.Kind = ast.ConForeignKey
		c.Columns = p.nameList()
		c.References = p.references()
	case p.isWord("exclude"):
		p.unsupported(p.pos(), "EXCLUDE constraint")
	default:
		p.unexpected()
	}
	p.constraintAttributes(c.References)
	return c
}
