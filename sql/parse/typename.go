package parse

import (
	"strconv"
	"strings"

	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/parse/lex"
	"github.com/weirdb/weir/sql/sqlerr"
)

// typeName reads a type. Types with a syntax of their own get the name that the catalog has for
// them: "double precision" is float8, "timestamp with time zone" is timestamptz, an unquoted
// "char" is bpchar of length 1.
func (p *parser) typeName() ast.TypeName {
	if t := p.tok(); isWord(t, "setof") {
		p.unsupported(t.Pos, "SETOF")
		return ast.TypeName{}
	}
	typ, ok := p.keywordType(false)
	if !ok {
		typ = p.genericType()
	}
	if isWord(p.tok(), "array") {
		p.next()
		typ.Dims = 1
		if p.acceptSelf("[") {
			p.intConst()
			p.expectSelf("]")
		}
		return typ
	}
	for p.acceptSelf("[") {
		typ.Dims++
		if !p.isSelf("]") {
			p.intConst()
		}
		p.expectSelf("]")
	}
	return typ
}

// genericType reads a type that is named like any other object.
func (p *parser) genericType() ast.TypeName {
	t := p.tok()
	typ := ast.TypeName{Pos: t.Pos, Name: ast.Name{Pos: t.Pos}}
	if !isFuncOrTypeName(t) {
		p.unexpected()
		return typ
	}
	p.next()
	typ.Name.Parts = []string{t.Text}
	for p.acceptSelf(".") {
		typ.Name.Parts = append(typ.Name.Parts, p.colLabel())
	}
	if p.isSelf("(") {
		typ.Mods = p.typeMods()
	}
	return typ
}

// typeMods reads "(10, 2)". The grammar has any expressions here, of which only constants and names
// such as geometry(point)'s mean something.
func (p *parser) typeMods() []string {
	var mods []string
	p.expectSelf("(")
	for p.err == nil {
		first := p.i
		p.expr()
		sign := ""
		if p.i == first+2 && (isSelf(&p.toks[first], "-") || isSelf(&p.toks[first], "+")) {
			sign = strings.TrimPrefix(p.toks[first].Text, "+")
			first++
		}
		t := &p.toks[first]
		switch {
		case p.err != nil:
			return nil
		case p.i == first+1 && (t.Kind == lex.Int || t.Kind == lex.Num || sign == "" && (t.Kind == lex.String || isColID(t))):
			mods = append(mods, sign+t.Text)
		default:
			p.failLater(sqlerr.New(sqlerr.SyntaxError, t.Pos, "type modifiers must be simple constants or identifiers"))
		}
		if !p.acceptSelf(",") {
			break
		}
	}
	p.expectSelf(")")
	return mods
}

// keywordType reads a type that begins with a keyword of its own. As the start of a typed literal
// (literal set) the word need not be one: ok is false then, and nothing has been consumed.
func (p *parser) keywordType(literal bool) (typ ast.TypeName, ok bool) {
	t := p.tok()
	if t.Kind != lex.Keyword {
		return typ, false
	}
	start := p.i
	typ = ast.TypeName{Pos: t.Pos, Name: ast.Name{Pos: t.Pos, Parts: []string{""}}}
	is := func(name string) { typ.Name.Parts[0] = name }
	switch t.Text {
	case "int", "integer":
		is("int4")
		p.next()
	case "smallint":
		is("int2")
		p.next()
	case "bigint":
		is("int8")
		p.next()
	case "real":
		is("float4")
		p.next()
	case "boolean":
		is("bool")
		p.next()
	case "float":
		is("float8")
		p.next()
		if p.isSelf("(") && (!literal || p.literalBehindParens()) {
			is(p.floatBits())
		}
	case "double":
		if literal && !isWord(p.peek(1), "precision") {
			return typ, false
		}
		is("float8")
		p.next()
		p.expectWord("precision")
	case "decimal", "dec", "numeric":
		is("numeric")
		p.next()
		if p.isSelf("(") && (!literal || p.literalBehindParens()) {
			typ.Mods = p.typeMods()
		}
	case "bit":
		is("bit")
		p.next()
		if p.acceptWord("varying") {
			is("varbit")
		}
		if p.isSelf("(") && (!literal || p.literalBehindParens()) {
			typ.Mods = p.typeMods()
		} else if typ.Name.Parts[0] == "bit" && !literal {
			typ.Mods = []string{"1"}
		}
	case "character", "char", "varchar", "national", "nchar":
		if literal && t.Text == "national" && !isWord(p.peek(1), "char") && !isWord(p.peek(1), "character") {
			return typ, false
		}
		p.characterType(&typ, literal)
	case "timestamp", "time":
		p.timeType(&typ, literal)
	case "interval":
		is("interval")
		p.next()
		if literal {
			// The fields follow the literal, a precision precedes it.
			if p.isSelf("(") && p.literalBehindParens() {
				typ.Mods = []string{p.precision()}
			}
			break
		}
		if p.isSelf("(") {
			typ.Mods = []string{p.precision()}
		} else {
			p.intervalFields(&typ)
		}
	default:
		return typ, false
	}
	if literal && p.tok().Kind != lex.String {
		if p.i > start+1 {
			p.unexpected() // the second word was of a type for certain
		} else {
			p.i = start
		}
		return typ, false
	}
	return typ, true
}

// literalBehindParens tells whether the parenthesis that opens here is closed and followed by a
// string: numeric(3,1) '1.5' is a literal, float8(x) a call.
func (p *parser) literalBehindParens() bool {
	for n := 1; ; n++ {
		t := p.peek(n)
		switch {
		case isSelf(t, ")"):
			after := p.peek(n + 1)
			return after.Kind == lex.String || isWord(after, "with") || isWord(after, "without")
		case t.Kind == lex.Int, isSelf(t, ","), isSelf(t, "-"), isSelf(t, "+"), t.Kind == lex.Num, t.Kind == lex.String, isColID(t):
		default:
			return false
		}
	}
}

// precision reads "(n)".
func (p *parser) precision() string {
	p.expectSelf("(")
	n := p.intConst()
	p.expectSelf(")")
	return n
}

// floatBits reads the "(n)" of float(n) and chooses the type.
func (p *parser) floatBits() string {
	t := p.peek(1)
	n, err := strconv.Atoi(p.precision())
	switch {
	case p.err != nil || err != nil:
	case n < 1:
		p.failf(sqlerr.InvalidParameterValue, t.Pos, "precision for type float must be at least 1 bit")
	case n > 53:
		p.failf(sqlerr.InvalidParameterValue, t.Pos, "precision for type float must be less than 54 bits")
	case n <= 24:
		return "float4"
	}
	return "float8"
}

func (p *parser) characterType(typ *ast.TypeName, literal bool) {
	name := "bpchar"
	switch w := p.tok().Text; w {
	case "varchar":
		name = "varchar"
		p.next()
	case "national":
		p.next()
		if !p.acceptWord("character") {
			p.expectWord("char")
		}
	default:
		p.next()
	}
	if name == "bpchar" && p.acceptWord("varying") {
		name = "varchar"
	}
	typ.Name.Parts[0] = name
	switch {
	case p.isSelf("(") && (!literal || p.literalBehindParens()):
		typ.Mods = []string{p.precision()}
	case name == "bpchar":
		// Without a length: one character; a literal keeps its length.
		if !literal {
			typ.Mods = []string{"1"}
		}
	}
}

func (p *parser) timeType(typ *ast.TypeName, literal bool) {
	name := p.tok().Text
	p.next()
	if p.isSelf("(") && (!literal || p.literalBehindParens()) {
		typ.Mods = []string{p.precision()}
	}
	switch {
	case p.acceptWords("with", "time"):
		name += "tz"
		p.expectWord("zone")
	case p.acceptWords("without", "time"):
		p.expectWord("zone")
	}
	typ.Name.Parts[0] = name
}

// intervalFields reads the fields that an interval is cut to, and the precision of seconds.
func (p *parser) intervalFields(typ *ast.TypeName) {
	var last string
	switch first := p.acceptAnyOf("year", "month", "day", "hour", "minute", "second"); first {
	case "":
		return
	default:
		typ.Fields, last = first, first
		if !p.isWord("to") || first == "month" || first == "second" {
			break
		}
		p.next()
		switch first {
		case "year":
			last = p.acceptAnyOf("month")
		case "day":
			last = p.acceptAnyOf("hour", "minute", "second")
		case "hour":
			last = p.acceptAnyOf("minute", "second")
		case "minute":
			last = p.acceptAnyOf("second")
		}
		if last == "" {
			p.unexpected()
			return
		}
		typ.Fields += " to " + last
	}
	if last == "second" && p.isSelf("(") {
		typ.Mods = []string{p.precision()}
	}
}

// typedLiteral reads "type 'text'" for the types with a syntax of their own.
func (p *parser) typedLiteral() (frag, bool) {
	t := p.tok()
	if t.Kind != lex.Keyword || t.Cat != lex.ColName && t.Text != "double" {
		return frag{}, false
	}
	typ, ok := p.keywordType(true)
	if !ok {
		return frag{}, false
	}
	lit := &ast.TypedLit{P: at(t), Type: typ, Value: p.stringLit()}
	if lit.Type.Name.Parts[0] == "interval" && len(lit.Type.Mods) == 0 {
		p.intervalFields(&lit.Type)
	}
	return p.marker(t.Pos, lit), true
}
