package parse

import (
	"strings"

	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/parse/lex"
	"github.com/weirdb/weir/sql/sqlerr"
)

// createFunction reads CREATE [OR REPLACE] FUNCTION; the current token is FUNCTION.
func (p *parser) createFunction(pos int, orReplace bool) ast.Statement {
	c := &ast.CreateFunction{Pos: pos, OrReplace: orReplace}
	p.next()
	c.Name = p.funcName()
	c.Params = p.funcParams()
	if p.acceptWord("returns") {
		if p.isWord("table") {
			p.next()
			c.Params = append(c.Params, p.resultColumns()...)
			c.SetOf = true
		} else {
			c.SetOf = p.acceptWord("setof")
			t := p.funcType()
			c.Returns = &t
		}
	}
	p.funcOptions(c)
	return c
}

// funcName is the name of a function: a type or function name, qualified or not.
func (p *parser) funcName() ast.Name {
	n := ast.Name{Pos: p.pos()}
	if isSelf(p.peek(1), ".") {
		n.Parts = append(n.Parts, p.colID())
		for p.acceptSelf(".") {
			n.Parts = append(n.Parts, p.colLabel())
		}
		return n
	}
	n.Parts = append(n.Parts, p.name(isFuncOrTypeName))
	return n
}

// funcType reads the type of a parameter or result.
func (p *parser) funcType() ast.TypeName {
	pos := p.pos()
	t := p.typeName()
	if p.isSelf("%") && isWord(p.peek(1), "type") {
		p.unsupported(pos, "%TYPE")
	}
	return t
}

// paramMode reads IN, OUT, INOUT, IN OUT or VARIADIC; "" if there is none.
func (p *parser) paramMode() string {
	switch {
	case p.acceptWords("in", "out"), p.acceptWord("inout"):
		return "inout"
	case p.acceptWord("in"):
		return "in"
	case p.acceptWord("out"):
		return "out"
	case p.acceptWord("variadic"):
		return "variadic"
	}
	return ""
}

// paramNamed tells whether a parameter's name stands here: a name that a type follows.
func (p *parser) paramNamed() bool {
	t, n := p.tok(), p.peek(1)
	if !isFuncOrTypeName(t) || isWord(t, "double") && isWord(n, "precision") {
		return false
	}
	if isWord(t, "setof") || isWord(n, "setof") {
		return isWord(n, "setof")
	}
	return n.Kind == lex.Ident || n.Kind == lex.Keyword && n.Cat != lex.Reserved || isWord(n, "in") || isWord(n, "variadic")
}

// funcParam reads a parameter: a mode and a name in either order, a type, a default.
func (p *parser) funcParam() ast.FuncParam {
	f := ast.FuncParam{Pos: p.pos(), Mode: p.paramMode()}
	if p.paramNamed() {
		f.Name = p.name(isFuncOrTypeName)
		if f.Mode == "" {
			f.Mode = p.paramMode()
		}
	}
	if f.Mode == "" {
		f.Mode = "in"
	}
	f.Type = p.funcType()
	return f
}

// funcParams reads "(parameters)".
func (p *parser) funcParams() []ast.FuncParam {
	var ps []ast.FuncParam
	p.expectSelf("(")
	if p.acceptSelf(")") {
		return nil
	}
	for p.err == nil {
		f := p.funcParam()
		if p.acceptWord("default") || p.acceptSelf("=") {
			f.Default, f.DefaultText = p.exprAndText()
		}
		ps = append(ps, f)
		if !p.acceptSelf(",") {
			break
		}
	}
	p.expectSelf(")")
	return ps
}

// resultColumns reads the "(name type, ...)" of RETURNS TABLE.
func (p *parser) resultColumns() []ast.FuncParam {
	var cs []ast.FuncParam
	p.expectSelf("(")
	for p.err == nil {
		f := ast.FuncParam{Pos: p.pos(), Mode: "table"}
		f.Name = p.name(isFuncOrTypeName)
		f.Type = p.funcType()
		cs = append(cs, f)
		if !p.acceptSelf(",") {
			break
		}
	}
	p.expectSelf(")")
	return cs
}

// funcAttribute reads an attribute that CREATE and ALTER FUNCTION share.
func (p *parser) funcAttribute() (o ast.FuncOption, ok bool) {
	o.Pos = p.pos()
	set := func(name, value string) (ast.FuncOption, bool) {
		o.Name, o.Value = name, value
		return o, true
	}
	switch {
	case p.isOneOf("immutable", "stable", "volatile"):
		v := p.tok().Text
		p.next()
		return set("volatility", v)
	case p.acceptWord("strict"), p.acceptPhrase("returns", "null", "on", "null", "input"):
		return set("strict", "true")
	case p.acceptPhrase("called", "on", "null", "input"):
		return set("strict", "false")
	case p.isWord("external"), p.isWord("security"):
		p.acceptWord("external")
		p.expectWord("security")
		v := p.acceptAnyOf("definer", "invoker")
		if v == "" {
			p.unexpected()
		}
		return set("security", v)
	case p.acceptWord("leakproof"):
		return set("leakproof", "true")
	case p.acceptPhrase("not", "leakproof"):
		return set("leakproof", "false")
	case p.acceptWord("cost"):
		return set("cost", p.settingValue())
	case p.acceptWord("rows"):
		return set("rows", p.settingValue())
	case p.acceptWord("support"):
		return set("support", strings.Join(p.qualifiedName().Parts, "."))
	case p.acceptWord("parallel"):
		return set("parallel", p.colID())
	case p.isWord("set"), p.isWord("reset"):
		if isWord(p.peek(1), "schema") {
			return o, false
		}
		if p.isWord("reset") {
			if r, isReset := p.reset().(*ast.Reset); isReset {
				o.Setting = r.Name
				return set("reset", "")
			}
			return o, false
		}
		if v, isSet := p.set().(*ast.Set); isSet {
			o.Setting = v.Name
			return set("set", strings.Join(v.Values, ","))
		}
	}
	return o, false
}

// funcOptions reads what follows the parameters and the result of CREATE FUNCTION.
func (p *parser) funcOptions(c *ast.CreateFunction) {
	redundant := func(pos int) {
		p.failf(sqlerr.SyntaxError, pos, "conflicting or redundant options")
	}
	seen := map[string]bool{}
	for p.err == nil {
		pos := p.pos()
		switch {
		case p.acceptWord("language"):
			if c.Language != "" {
				redundant(pos)
				return
			}
			if t := p.tok(); t.Kind == lex.String {
				c.Language = strings.ToLower(p.stringLit())
			} else {
				c.Language = p.name(isNonReserved)
			}
			continue
		case p.acceptWord("as"):
			if c.HasBody {
				redundant(pos)
				return
			}
			c.Body, c.HasBody = p.stringLit(), true
			if p.acceptSelf(",") {
				p.stringLit()
				p.unsupported(pos, "a function with a link symbol")
			}
			continue
		case p.isWord("transform"), p.isWord("window"):
			p.unsupported(pos, strings.ToUpper(p.tok().Text)+" in CREATE FUNCTION")
			return
		case p.acceptWord("return"):
			start := p.pos()
			x := p.parseExpr()
			c.QueryText = "SELECT " + p.textFrom(start)
			c.Query = &ast.Select{Pos: start, Body: &ast.SelectCore{Pos: start, Targets: []ast.Target{{Expr: x, Pos: start}}}}
			c.Form = "return"
			return
		case p.acceptWords("begin", "atomic"):
			p.atomicBody(c, pos)
			return
		}
		o, ok := p.funcAttribute()
		if !ok {
			return
		}
		if seen[o.Name] && o.Name != "set" {
			redundant(pos)
			return
		}
		seen[o.Name] = true
		c.Options = append(c.Options, o)
	}
}

// atomicBody reads "query; END".
func (p *parser) atomicBody(c *ast.CreateFunction, pos int) {
	if p.isWord("end") {
		p.unsupported(pos, "an empty BEGIN ATOMIC body")
		return
	}
	if !p.isSelf("(") && !p.startsQuery() {
		p.unsupported(p.pos(), "a statement other than a query in the body of a function")
		return
	}
	start := p.pos()
	c.Query = p.parseQuery()
	c.QueryText = p.textFrom(start)
	c.Form = "atomic"
	p.expectSelf(";")
	if p.err == nil && !p.isWord("end") {
		p.unsupported(p.pos(), "more than one statement in the body of a function")
		return
	}
	p.expectWord("end")
}

// funcRef reads a function with, maybe, the types of its parameters.
func (p *parser) funcRef() ast.FuncRef {
	r := ast.FuncRef{Name: p.funcName()}
	if !p.acceptSelf("(") {
		return r
	}
	r.Listed = true
	if p.acceptSelf(")") {
		return r
	}
	for p.err == nil {
		f := p.funcParam()
		if f.Mode != "out" {
			r.Args = append(r.Args, f.Type)
		}
		if !p.acceptSelf(",") {
			break
		}
	}
	p.expectSelf(")")
	return r
}

// alterFunction reads what follows ALTER FUNCTION.
func (p *parser) alterFunction(a *ast.Alter) ast.Statement {
	a.Kind = ast.KindFunction
	r := p.funcRef()
	a.Func = &r
	switch {
	case p.acceptPhrase("rename", "to"):
		a.Action, a.NewName = "rename", p.colID()
	case p.isWords("set", "schema"):
		p.next()
		p.next()
		a.Action, a.NewName = "set_schema", p.colID()
	case p.acceptPhrase("owner", "to"):
		a.Action, a.NewName = "owner", p.name(isRole)
	case p.isWord("depends"), p.isWords("no", "depends"):
		return p.unsupportedClause(a.Pos, "ALTER FUNCTION ... DEPENDS ON EXTENSION")
	default:
		a.Action = "attributes"
		for p.err == nil {
			o, ok := p.funcAttribute()
			if !ok {
				break
			}
			a.Attributes = append(a.Attributes, o)
		}
		if len(a.Attributes) == 0 {
			p.unexpected()
			return nil
		}
		p.acceptWord("restrict")
	}
	return a
}
