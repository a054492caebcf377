package parse

import (
	"strconv"

	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/parse/lex"
	"github.com/weirdb/weir/sql/sqlerr"
)

// Cells that need more than the shell of a node to tell their operands apart.
type (
	// callCell is a call whose operands are, in this order, the arguments, the ORDER BY items,
	// the WITHIN GROUP items and the filter.
	callCell struct {
		fn     *ast.Func
		args   int
		filter bool
	}
	subscriptCell struct {
		sub    *ast.Subscript
		lo, hi bool
	}
)

// primary is PostgreSQL's c_expr, func_expr included.
func (p *parser) primary(m mode) frag {
	t := p.tok()
	switch t.Kind {
	case lex.Int:
		p.next()
		if len(t.Text) > 18 {
			return p.marker(t.Pos, intOrNum(t))
		}
		return p.out.textAt(t.Pos, t.Text)
	case lex.Num:
		p.next()
		return p.marker(t.Pos, &ast.NumLit{P: at(t), Text: t.Text})
	case lex.String:
		p.next()
		return p.out.strLit(t.Pos, t.Text)
	case lex.Bit, lex.Hex:
		p.next()
		c := &ast.BitLit{P: at(t), Prefix: 'b', Digits: t.Text}
		if t.Kind == lex.Hex {
			c.Prefix = 'x'
		}
		return p.marker(t.Pos, c)
	case lex.Param:
		p.next()
		return p.indirection(p.param(t))
	case lex.Self:
		if t.Text == "(" {
			q, list := p.parenthesised(false)
			if q != nil {
				return p.indirection(p.subquery(t.Pos, q))
			}
			f := p.indirection(p.group(t.Pos, list))
			if m == modeRestricted {
				return f
			}
			return p.overlaps(f)
		}
	case lex.Ident:
		return p.nameOrCall()
	case lex.Keyword:
		if f, ok := p.keywordExpr(t); ok {
			if m == modeRestricted {
				return f
			}
			return p.overlaps(f)
		}
		if t.Cat != lex.Reserved {
			return p.nameOrCall()
		}
	}
	p.unexpected()
	return frag{}
}

// intOrNum is a literal of many digits: an integer if it fits 64 bits.
func intOrNum(t *lex.Token) any {
	if v, err := strconv.ParseInt(t.Text, 10, 64); err == nil {
		return &ast.IntLit{P: at(t), Value: v}
	}
	return &ast.NumLit{P: at(t), Text: t.Text}
}

// maxParam is the highest parameter number of the protocol.
const maxParam = 65535

func paramNumber(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil || n > maxParam {
		return 0
	}
	return n
}

func (p *parser) param(t *lex.Token) frag {
	n := paramNumber(t.Text)
	if n == 0 {
		p.failLater(sqlerr.New(sqlerr.UndefinedParameter, t.Pos, "there is no parameter $%s", t.Text))
	}
	return p.marker(t.Pos, &ast.Param{P: at(t), N: n})
}

// nameOrCall reads what begins with a name: a column, a call or a typed literal.
func (p *parser) nameOrCall() frag {
	first := p.tok()
	if f, ok := p.typedLiteral(); ok {
		return f
	}
	parts := make([]string, 1, 4)
	parts[0] = first.Text
	p.next()
	if isSelf(p.tok(), ".") && !isColID(first) {
		p.unexpected() // a word for functions and types only is never qualified
		return frag{}
	}
	for isSelf(p.tok(), ".") && isColLabel(p.peek(1)) {
		p.next()
		parts = append(parts, p.tok().Text)
		p.next()
	}
	t := p.tok()
	callable := len(parts) > 1 || isFuncOrTypeName(first)
	switch {
	case callable && isSelf(t, "("):
		return p.callOrLiteral(first, parts)
	case callable && t.Kind == lex.String:
		p.next()
		lit := &ast.TypedLit{P: at(first), Value: t.Text}
		lit.Type = ast.TypeName{Name: ast.Name{Parts: parts, Pos: first.Pos}, Pos: first.Pos}
		return p.marker(first.Pos, lit)
	case !isColID(first):
		p.unexpected()
		return frag{}
	case isSelf(t, "(") && len(parts) == 1:
		// numeric(3) can only be the type of a literal.
		p.i--
		p.keywordType(false)
		p.unexpected()
		return frag{}
	case isSelf(t, ".") && isSelf(p.peek(1), "*"):
		p.next()
		p.next()
		if p.isSelf(".") || p.isSelf("[") {
			p.improperStar()
		}
		return p.marker(first.Pos, &ast.Star{P: at(first), Parts: parts})
	}
	return p.indirection(p.column(first.Pos, parts))
}

// column is a reference to a column.
func (p *parser) column(pos int, parts []string) frag {
	switch len(parts) {
	case 1:
		return p.out.ident(pos, parts[0])
	case 2:
		return p.out.join(p.out.ident(pos, parts[0]), p.out.text("."), p.out.ident(noSrc, parts[1]))
	}
	return p.marker(pos, &ast.ColumnRef{P: ast.P{Pos: pos}, Parts: parts})
}

// callOrLiteral reads a call, or a literal of a type with modifiers: varbit(3) '101'.
func (p *parser) callOrLiteral(first *lex.Token, parts []string) frag {
	open := p.i
	f := p.afterCall(p.call(&ast.Func{P: at(first), Name: ast.Name{Parts: parts, Pos: first.Pos}}))
	t := p.tok()
	if p.err != nil || t.Kind != lex.String || !isSelf(&p.toks[p.i-1], ")") || p.i == open+2 || isSelf(&p.toks[open+1], "*") {
		return f
	}
	p.i = open
	lit := &ast.TypedLit{P: at(first), Value: t.Text}
	lit.Type = ast.TypeName{Name: ast.Name{Parts: parts, Pos: first.Pos}, Pos: first.Pos}
	lit.Type.Mods = p.typeMods()
	p.stringLit()
	return p.marker(first.Pos, lit)
}

// call reads the arguments; the current token is the parenthesis.
func (p *parser) call(fn *ast.Func) (*callCell, []frag) {
	c := &callCell{fn: fn}
	var ops []frag
	p.expectSelf("(")
	switch {
	case p.acceptSelf(")"):
	case p.acceptSelf("*"):
		fn.Star = true
		p.expectSelf(")")
	default:
		if p.acceptWord("distinct") {
			fn.Distinct = true
		} else {
			p.acceptWord("all")
		}
		for p.err == nil {
			if !fn.Distinct && p.acceptWord("variadic") {
				fn.Variadic = true
			}
			p.tableArg(fn, len(ops))
			ops = append(ops, p.arg(fn, len(ops)))
			p.partitionArg(fn, len(ops))
			if fn.Variadic || !p.acceptSelf(",") {
				break
			}
		}
		c.args = len(ops)
		if p.isWord("order") {
			var items []frag
			fn.OrderBy, items = p.orderItems()
			ops = append(ops, items...)
		}
		p.expectSelf(")")
	}
	return c, ops
}

// tableArg reads the word TABLE before the relation of a window function: TUMBLE(TABLE t, ...).
func (p *parser) tableArg(fn *ast.Func, n int) {
	if n == 0 && len(fn.Name.Parts) == 1 && p.isWord("table") && isColID(p.peek(1)) {
		switch fn.Name.Parts[0] {
		case "tumble", "hop", "cumulate", "session":
			p.next()
		}
	}
}

// partitionArg reads PARTITION BY columns behind the first argument of SESSION. The list ends before DESCRIPTOR(...), or
// before the last name: that is the time column.
func (p *parser) partitionArg(fn *ast.Func, n int) {
	if n != 1 || len(fn.Name.Parts) != 1 || fn.Name.Parts[0] != "session" || !p.isWord("partition") {
		return
	}
	p.expectWord("partition", "by")
	for p.err == nil {
		c := &ast.ColumnRef{P: at(p.tok()), Parts: []string{p.colID()}}
		for p.acceptSelf(".") {
			c.Parts = append(c.Parts, p.colLabel())
		}
		fn.PartitionBy = append(fn.PartitionBy, c)
		if !p.isSelf(",") || !p.nameAndComma(1) {
			break
		}
		// A name follows, and more behind it: if that is another name, the first one belongs to this list.
		k := 1
		for !isSelf(p.peek(k), ",") {
			k++
		}
		if !p.nameAndComma(k+1) && !isWord(p.peek(k+1), "descriptor") {
			break
		}
		p.next()
	}
}

// nameAndComma tells whether a column's name and a comma stand k tokens ahead.
func (p *parser) nameAndComma(k int) bool {
	if !isColID(p.peek(k)) {
		return false
	}
	for isSelf(p.peek(k+1), ".") && isColLabel(p.peek(k+2)) {
		k += 2
	}
	return isSelf(p.peek(k+1), ",")
}

// arg reads one argument, with its name if it has one.
func (p *parser) arg(fn *ast.Func, n int) frag {
	t := p.tok()
	name := ""
	if isFuncOrTypeName(t) && (isSelf(p.peek(1), "=>") || isSelf(p.peek(1), ":=")) {
		name = t.Text
		p.next()
		p.next()
	}
	if name != "" && fn.ArgNames == nil {
		fn.ArgNames = make([]string, n)
	}
	if fn.ArgNames != nil {
		fn.ArgNames = append(fn.ArgNames, name)
	}
	return p.expr()
}

// afterCall reads WITHIN GROUP, FILTER, IGNORE NULLS and OVER behind a call.
func (p *parser) afterCall(c *callCell, ops []frag) frag {
	fn := c.fn
	if p.isWord("within") {
		within := p.pos()
		p.expectWord("within", "group")
		p.expectSelf("(")
		if !p.isWord("order") {
			p.unexpected()
			return frag{}
		}
		var items []frag
		fn.WithinGroup, items = p.orderItems()
		ops = append(ops, items...)
		p.expectSelf(")")
		switch {
		case p.err != nil:
		case fn.OrderBy != nil:
			p.failf(sqlerr.SyntaxError, within, "cannot use multiple ORDER BY clauses with WITHIN GROUP")
		case fn.Distinct:
			p.failf(sqlerr.SyntaxError, within, "cannot use DISTINCT with WITHIN GROUP")
		case fn.Variadic:
			p.failf(sqlerr.SyntaxError, within, "cannot use VARIADIC with WITHIN GROUP")
		}
	}
	if p.acceptWord("filter") {
		p.expectSelf("(")
		p.expectWord("where")
		ops = append(ops, p.expr())
		c.filter = true
		p.expectSelf(")")
	}
	if p.isWords("ignore", "nulls") && isWord(p.peek(2), "over") || p.isWords("respect", "nulls") && isWord(p.peek(2), "over") {
		fn.IgnoreNulls = p.isWord("ignore")
		p.next()
		p.next()
	}
	if !p.acceptWord("over") {
		return p.callText(c, ops)
	}
	spec := &ast.WindowSpec{Pos: p.pos()}
	var over frag
	if p.isSelf("(") {
		over = p.windowSpec(spec)
	} else {
		spec.Name = p.colID()
		over = p.out.join(p.out.text("(PARTITION BY "), p.marker(spec.Pos, &windowCell{spec: spec}), p.out.text(")"))
	}
	f := p.out.join(p.out.text("FIRST_VALUE("), p.callText(c, ops), p.out.text(") OVER "), over)
	f.depth++
	return f
}

// callText is a call as TiDB reads it: natively if it has nothing but positional arguments.
func (p *parser) callText(c *callCell, ops []frag) frag {
	fn := c.fn
	plain := len(ops) == c.args && !fn.Star && !fn.Distinct && !fn.Variadic && fn.ArgNames == nil &&
		!fn.IgnoreNulls && !fn.Special && fn.PartitionBy == nil && len(fn.Name.Parts) <= 2
	if !plain {
		return p.marker(fn.Pos, c, ops...)
	}
	var f frag
	pos := fn.Pos
	for i, part := range fn.Name.Parts {
		if i > 0 {
			f = p.out.append(f, p.out.text("."))
			pos = noSrc
		}
		f = p.out.append(f, p.out.ident(pos, part))
	}
	f = p.out.join(f, p.out.text("("), p.out.list(ops), p.out.text(")"))
	f.depth++
	if f.depth > depthLimit {
		p.tooDeep()
	}
	return f
}

// special is a call that has a syntax of its own.
func (p *parser) special(t *lex.Token, name string, args ...frag) frag {
	fn := &ast.Func{P: at(t), Name: plainName(name, t)}
	return p.callText(&callCell{fn: fn, args: len(args)}, args)
}

// explicitRow reads ROW(...).
func (p *parser) explicitRow() frag {
	t := p.tok()
	p.next()
	p.expectSelf("(")
	var list []frag
	if !p.isSelf(")") {
		list = p.exprList()
	}
	p.expectSelf(")")
	f := p.marker(t.Pos, &ast.Row{P: at(t), Explicit: true}, list...)
	f.row = int32(len(list)) + 1
	return f
}
