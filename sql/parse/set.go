package parse

import (
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/parse/lex"
)

// setConstraints reads SET CONSTRAINTS.
func (p *parser) setConstraints(pos int) ast.Statement {
	p.next()
	c := &ast.SetConstraints{Pos: pos}
	if !p.acceptWord("all") {
		for p.err == nil {
			c.Names = append(c.Names, p.relationName())
			if !p.acceptSelf(",") {
				break
			}
		}
	}
	switch p.acceptAnyOf("deferred", "immediate") {
	case "deferred":
		c.Deferred = true
	case "":
		p.unexpected()
	}
	return c
}

// set reads SET in its many forms.
func (p *parser) set() ast.Statement {
	s := &ast.Set{Pos: p.pos()}
	p.next()
	switch {
	case p.isWord("constraints"):
		return p.setConstraints(s.Pos)
	case p.isWords("local") && !p.setsVariable(1):
		p.next()
		s.Local = true
	case p.isWord("session") && !p.setsVariable(1) && !isWord(p.peek(1), "characteristics") &&
		!isWord(p.peek(1), "authorization"):
		p.next()
	}
	t := p.tok()
	switch {
	case p.acceptWords("session", "characteristics"):
		p.expectWord("as", "transaction")
		s.Name = "session_characteristics"
		s.Values = p.transactionModes(true)
		return s
	case p.isWord("transaction") && !p.setsVariable(1):
		p.next()
		if p.acceptWord("snapshot") {
			p.stringLit()
			return &ast.Unsupported{Name: "SET TRANSACTION SNAPSHOT", Pos: s.Pos}
		}
		s.Name = "transaction_mode"
		s.Values = p.transactionModes(true)
		return s
	case p.acceptWords("time", "zone"):
		s.Name = "timezone"
		s.Values = p.zoneValue()
		return s
	case p.isWord("names") && !p.setsVariable(1):
		p.next()
		s.Name = "client_encoding"
		if p.tok().Kind == lex.String {
			s.Values = []string{p.stringLit()}
		} else {
			p.acceptWord("default")
		}
		return s
	case p.isWord("schema") && p.peek(1).Kind == lex.String:
		p.next()
		s.Name, s.Values = "search_path", []string{p.stringLit()}
		return s
	case p.isWord("catalog") && p.peek(1).Kind == lex.String:
		return p.skipStatement("SET CATALOG")
	case p.isWord("role") && !p.setsVariable(1):
		p.next()
		s.Name = "role"
		s.Values = []string{p.nonReservedOrString()}
		return s
	case p.acceptWords("session", "authorization"):
		s.Name = "session_authorization"
		if !p.acceptWord("default") {
			s.Values = []string{p.nonReservedOrString()}
		}
		return s
	case p.isWords("xml", "option"):
		return p.skipStatement("SET XML OPTION")
	}
	s.Name = p.settingName()
	if !p.acceptSelf("=") && !p.acceptWord("to") {
		if p.acceptPhrase("from", "current") {
			p.unsupported(t.Pos, "SET ... FROM CURRENT")
		}
		p.unexpected()
		return nil
	}
	if p.acceptWord("default") {
		return s
	}
	for p.err == nil {
		s.Values = append(s.Values, p.settingValue())
		if !p.acceptSelf(",") {
			break
		}
	}
	return s
}

// setsVariable tells whether the word before the nth token is a variable that is set, rather than
// a keyword of SET.
func (p *parser) setsVariable(n int) bool {
	t := p.peek(n)
	return isSelf(t, "=") || isSelf(t, ".") || isWord(t, "to")
}

// settingName reads a possibly dotted name.
func (p *parser) settingName() string {
	name := p.colID()
	for p.acceptSelf(".") {
		name += "." + p.colID()
	}
	return name
}

// settingValue reads a constant: a word, string, boolean or number.
func (p *parser) settingValue() string {
	t := p.tok()
	switch {
	case t.Kind == lex.String:
		p.next()
		return t.Text
	case isWord(t, "true"), isWord(t, "false"), isWord(t, "on"), isNonReserved(t):
		p.next()
		return t.Text
	}
	return p.number()
}

// number reads a numeric literal with its sign.
func (p *parser) number() string {
	sign := ""
	if p.acceptSelf("-") {
		sign = "-"
	} else {
		p.acceptSelf("+")
	}
	t := p.tok()
	if t.Kind != lex.Int && t.Kind != lex.Num {
		p.unexpected()
		return ""
	}
	p.next()
	return sign + t.Text
}

// zoneValue reads what SET TIME ZONE takes; nil for DEFAULT and LOCAL.
func (p *parser) zoneValue() []string {
	t := p.tok()
	switch {
	case t.Kind == lex.String, t.Kind == lex.Ident:
		p.next()
		return []string{t.Text}
	case isWord(t, "default"), isWord(t, "local"):
		p.next()
		return nil
	case isWord(t, "interval"):
		p.next()
		var typ ast.TypeName
		if p.isSelf("(") {
			p.precision()
		}
		s := p.stringLit()
		p.intervalFields(&typ)
		return []string{s}
	}
	return []string{p.number()}
}

func (p *parser) nonReservedOrString() string {
	if p.tok().Kind == lex.String {
		return p.stringLit()
	}
	return p.name(isNonReserved)
}

func (p *parser) reset() ast.Statement {
	r := &ast.Reset{Pos: p.pos()}
	p.next()
	switch {
	case p.acceptWord("all"):
		r.Name = "all"
	case p.acceptWords("time", "zone"):
		r.Name = "timezone"
	case p.isWords("transaction", "isolation"):
		p.expectWord("transaction", "isolation", "level")
		r.Name = "transaction_isolation"
	case p.acceptWords("session", "authorization"):
		r.Name = "session_authorization"
	default:
		r.Name = p.settingName()
	}
	return r
}

func (p *parser) show() ast.Statement {
	s := &ast.Show{Pos: p.pos()}
	p.next()
	switch {
	case p.acceptWord("all"):
		s.Name = "all"
	case p.acceptWords("time", "zone"):
		s.Name = "timezone"
	case p.isWords("transaction", "isolation"):
		p.expectWord("transaction", "isolation", "level")
		s.Name = "transaction_isolation"
	case p.acceptWords("session", "authorization"):
		s.Name = "session_authorization"
	case p.acceptWords("materialized", "views"):
		s.Name = "materialized views"
	default:
		s.Name = p.settingName()
	}
	return s
}
