package parse

import (
	"strconv"

	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/parse/lex"
	"github.com/weirdb/weir/sql/sqlerr"
)

// createSequence reads CREATE SEQUENCE; the current token is that word, or TEMP.
func (p *parser) createSequence(pos int) ast.Statement {
	c := &ast.CreateSequence{Pos: pos}
	c.Temporary = p.acceptAnyOf("temp", "temporary") != ""
	p.acceptWord("unlogged")
	p.expectWord("sequence")
	c.IfNotExists = p.ifNotExists()
	c.Name = p.relationName()
	c.Options = p.sequenceOptions()
	return c
}

// sequenceOptions reads the options of a sequence, as many as there are.
func (p *parser) sequenceOptions() []ast.SequenceOption {
	var opts []ast.SequenceOption
	for p.err == nil {
		o, ok := p.sequenceOption()
		if !ok {
			break
		}
		opts = append(opts, o)
	}
	return opts
}

func (p *parser) sequenceOption() (o ast.SequenceOption, ok bool) {
	o.Pos = p.pos()
	switch {
	case p.acceptWord("as"):
		o.Name, o.Type = "as", p.typeName()
	case p.acceptWord("increment"):
		p.acceptWord("by")
		o.Name, o.Value = "increment", p.signedInt()
	case p.acceptWord("minvalue"):
		o.Name, o.Value = "minvalue", p.signedInt()
	case p.acceptWord("maxvalue"):
		o.Name, o.Value = "maxvalue", p.signedInt()
	case p.acceptWords("no", "minvalue"):
		o.Name = "minvalue"
	case p.acceptWords("no", "maxvalue"):
		o.Name = "maxvalue"
	case p.acceptWords("no", "cycle"):
		o.Name = "cycle"
	case p.acceptWord("cycle"):
		o.Name, o.On = "cycle", true
	case p.acceptWord("start"):
		p.acceptWord("with")
		o.Name, o.Value = "start", p.signedInt()
	case p.acceptWord("restart"):
		o.Name = "restart"
		if p.acceptWord("with") || p.startsInt() {
			o.Value = p.signedInt()
		}
	case p.acceptWord("cache"):
		o.Name, o.Value = "cache", p.signedInt()
	case p.acceptWords("owned", "by"):
		o.Name = "owned by"
		if n := p.qualifiedName(); len(n.Parts) != 1 || n.Parts[0] != "none" {
			o.Owner = &n
		}
	case p.acceptWords("sequence", "name"):
		n := p.relationName()
		o.Name, o.Owner = "sequence name", &n
	default:
		return o, false
	}
	return o, true
}

// startsInt tells whether an integer with its sign follows.
func (p *parser) startsInt() bool {
	t := p.tok()
	return t.Kind == lex.Int || t.Kind == lex.Num || p.isSelf("-") || p.isSelf("+") || t.Kind == lex.Op && (t.Text == "-" || t.Text == "+")
}

// signedInt reads an integer of 64 bits with its sign.
func (p *parser) signedInt() *int64 {
	sign := ""
	if t := p.tok(); p.isSelf("-") || p.isSelf("+") || t.Kind == lex.Op && (t.Text == "-" || t.Text == "+") {
		if t.Text == "-" {
			sign = "-"
		}
		p.next()
	}
	t := p.tok()
	if t.Kind != lex.Int && t.Kind != lex.Num {
		p.unexpected()
		return nil
	}
	p.next()
	n, err := strconv.ParseInt(sign+t.Text, 10, 64)
	if err != nil {
		p.failf(sqlerr.InvalidTextRepresentation, sqlerr.NoPos, "value \"%s\" is out of range for type bigint", sign+t.Text)
		return nil
	}
	return &n
}

// identityOptions reads the "(...)" of an identity column.
func (p *parser) identityOptions() []ast.SequenceOption {
	if !p.acceptSelf("(") {
		return nil
	}
	opts := p.sequenceOptions()
	if len(opts) == 0 {
		p.unexpected()
	}
	p.expectSelf(")")
	return opts
}

// alterSequence reads what follows the name in ALTER SEQUENCE, if it is not common to all objects.
func (p *parser) alterSequence(a *ast.Alter) ast.Statement {
	opts := p.sequenceOptions()
	if len(opts) == 0 {
		p.unexpected()
	}
	return &ast.AlterSequence{Name: a.Name, IfExists: a.IfExists, Options: opts, Pos: a.Pos}
}
