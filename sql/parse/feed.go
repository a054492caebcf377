package parse

import (
	"strconv"

	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/parse/lex"
	"github.com/weirdb/weir/sql/sqlerr"
)

// declare reads DECLARE name [BINARY] [ASENSITIVE | INSENSITIVE] [[NO] SCROLL] CURSOR [{WITH | WITHOUT} HOLD]
// FOR query. The options come in any order.
func (p *parser) declare() ast.Statement {
	d := &ast.DeclareCursor{Pos: p.pos()}
	p.next()
	d.Name = p.colID()
	sensitive, insensitive := false, false
options:
	for p.err == nil {
		switch {
		case p.acceptWord("binary"):
			d.Binary = true
		case p.acceptWord("asensitive"):
			sensitive = true
		case p.acceptWord("insensitive"):
			insensitive = true
		case p.acceptWord("scroll"):
			d.Scroll = true
		case p.acceptPhrase("no", "scroll"):
			d.NoScroll = true
		default:
			break options
		}
	}
	p.expectWord("cursor")
	if p.acceptAnyOf("with", "without") == "with" {
		d.Hold = true
		p.expectWord("hold")
	} else if p.isWord("hold") {
		p.next()
	}
	p.expectWord("for")
	switch t := p.tok(); {
	case isWord(t, "subscribe"):
		d.Query = p.subscribe()
	case isSelf(t, "("), p.startsQuery():
		d.Query = p.selectStatement()
	default:
		p.unexpected()
	}
	switch {
	case d.Scroll && d.NoScroll:
		p.failLater(sqlerr.Newf(sqlerr.InvalidCursorDefinition, "cannot specify both SCROLL and NO SCROLL"))
	case sensitive && insensitive:
		p.failLater(sqlerr.Newf(sqlerr.InvalidCursorDefinition, "cannot specify both ASENSITIVE and INSENSITIVE"))
	}
	return d
}

// fetch reads FETCH and MOVE.
func (p *parser) fetch() ast.Statement {
	f := &ast.Fetch{Move: p.isWord("move"), Count: 1, Pos: p.pos()}
	p.next()
	// A word that is followed by the end of the statement is the cursor's name, whatever it means elsewhere.
	if t := p.peek(1); isColID(p.tok()) && (t.Kind == lex.EOF || isSelf(t, ";")) {
		f.Name = p.colID()
		return f
	}
	switch {
	case p.acceptWord("next"):
	case p.acceptWord("prior"):
		f.Dir = ast.FetchBackward
	case p.acceptWord("first"):
		f.Dir = ast.FetchAbsolute
	case p.acceptWord("last"):
		f.Dir, f.Count = ast.FetchAbsolute, -1
	case p.acceptWord("absolute"):
		f.Dir, f.Count = ast.FetchAbsolute, p.signed()
	case p.acceptWord("relative"):
		f.Dir, f.Count = ast.FetchRelative, p.signed()
	case p.acceptWord("all"):
		f.Count = ast.FetchAll
	case p.isOneOf("forward", "backward"):
		if p.isWord("backward") {
			f.Dir = ast.FetchBackward
		}
		p.next()
		switch {
		case p.acceptWord("all"):
			f.Count = ast.FetchAll
		case p.startsNumber():
			f.Count = p.signed()
		}
	case p.startsNumber():
		f.Count = p.signed()
	}
	p.acceptAnyOf("from", "in")
	f.Name = p.colID()
	if p.acceptWord("with") {
		f.Options = p.withOptions()
	}
	return f
}

func (p *parser) startsNumber() bool {
	return p.tok().Kind == lex.Int || p.isSelf("+") || p.isSelf("-")
}

// signed reads an integer that fits into four bytes, as the counts of cursors must.
func (p *parser) signed() int64 {
	neg := p.acceptSelf("-")
	if !neg {
		p.acceptSelf("+")
	}
	t := p.tok()
	if t.Kind != lex.Int {
		p.unexpected()
		return 0
	}
	n, err := strconv.ParseInt(t.Text, 10, 32)
	if err != nil {
		p.unexpected()
		return 0
	}
	p.next()
	if neg {
		return -n
	}
	return n
}

func (p *parser) closeCursor() ast.Statement {
	c := &ast.CloseCursor{Pos: p.pos()}
	p.next()
	if !p.acceptWord("all") {
		c.Name = p.colID()
	}
	return c
}

func (p *parser) listen() ast.Statement {
	l := &ast.Listen{Pos: p.pos()}
	p.next()
	l.Channel = p.colID()
	return l
}

func (p *parser) unlisten() ast.Statement {
	u := &ast.Unlisten{Pos: p.pos()}
	p.next()
	if !p.acceptSelf("*") {
		u.Channel = p.colID()
	}
	return u
}

func (p *parser) notify() ast.Statement {
	n := &ast.Notify{Pos: p.pos()}
	p.next()
	n.Channel = p.colID()
	if p.acceptSelf(",") {
		n.Payload = p.stringLit()
	}
	return n
}

// subscribe reads SUBSCRIBE [TO] relation | (query) | query [WITH (options)].
func (p *parser) subscribe() ast.Statement {
	s := &ast.Subscribe{Pos: p.pos()}
	p.next()
	p.acceptWord("to")
	switch t := p.tok(); {
	case isSelf(t, "("):
		p.next()
		start := p.pos()
		s.Query = p.parseQuery()
		s.QueryText = p.textFrom(start)
		p.expectSelf(")")
	case p.startsQuery() && !isWord(t, "table"):
		start := p.pos()
		s.Query = p.parseQuery()
		s.QueryText = p.textFrom(start)
	default:
		p.acceptWord("table")
		n := p.relationName()
		s.Name = &n
	}
	if p.acceptWord("with") {
		s.Options = p.subscribeOptions()
	}
	return s
}

// subscribeOptions reads "(name [[=] value], ...)"; UP TO is a name of two words.
func (p *parser) subscribeOptions() []ast.Option {
	var opts []ast.Option
	p.expectSelf("(")
	for p.err == nil {
		o := ast.Option{Pos: p.pos()}
		if p.acceptWords("up", "to") {
			o.Name = "up to"
		} else {
			o.Name = p.colLabel()
		}
		eq := p.acceptSelf("=")
		if eq || !p.isSelf(",") && !p.isSelf(")") {
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

// verify reads VERIFY MATERIALIZED VIEW name.
func (p *parser) verify() ast.Statement {
	v := &ast.Verify{Pos: p.pos()}
	p.next()
	p.expectWord("materialized", "view")
	v.Name = p.relationName()
	return v
}
