package parse

import (
	"strconv"
	"sync"
)

// parsers keeps runs for reuse, with their buffers.
var parsers = sync.Pool{New: func() any { return new(parser) }}

// output is the TiDB text under construction: a tree of pieces that is joined once, so that
// wrapping a long left operand costs nothing, together with the cells that markers refer to.
//
// A cell is what TiDB's grammar cannot carry: the shell of an AST node with its leaves (names,
// types, flags, positions) set and its operands empty. The marker is a call `\x01`(cell, operands).
type output struct {
	pieces []piece
	cells  []any
	// marks are the source offsets of pieces, by rising offset in the joined text.
	marks []mark
	// stmts are further statements: of a data-modifying statement the parts that TiDB's has no
	// place for, and data-modifying statements inside WITH.
	stmts []frag
	buf   []byte
}

type piece struct {
	s string
	// n is the number or cell of a piece.
	n    int32
	src  int32
	next int32
	kind pieceKind
}

type pieceKind uint8

const (
	// pieceText is s as it is.
	pieceText pieceKind = iota
	// pieceIdent is s in backticks.
	pieceIdent
	// pieceString is s as a string literal.
	pieceString
	// pieceCell is the identifier that names cell n.
	pieceCell
	// pieceMarker is the start of a marker call, up to and with its cell number n.
	pieceMarker
)

type mark struct{ out, src int32 }

// noSrc is the source offset of a piece that has none.
const noSrc = -1

// frag is a list of pieces: part of the TiDB text. The zero frag is empty.
type frag struct {
	first, last int32
	// depth is the height of the tree that the text stands for.
	depth int32
	// compound is set if the text must be parenthesised as an operand.
	compound bool
	// row is one more than the number of elements of a row constructor, implicit or not; 0 for
	// everything else. OVERLAPS takes nothing but rows.
	row int32
}

func (o *output) reset() {
	// Piece 0 and cell 0 stay unused: 0 means none.
	o.pieces = append(o.pieces[:0], piece{})
	o.cells = append(o.cells[:0], nil)
	o.marks = o.marks[:0]
	o.stmts = o.stmts[:0]
}

// clear drops the references to texts and nodes.
func (o *output) clear() {
	clear(o.pieces)
	clear(o.cells)
	o.buf = o.buf[:0]
}

func (o *output) add(kind pieceKind, src int, s string, n int32) frag {
	o.pieces = append(o.pieces, piece{kind: kind, src: int32(src), s: s, n: n})
	i := int32(len(o.pieces) - 1)
	return frag{first: i, last: i}
}

func (o *output) text(s string) frag            { return o.add(pieceText, noSrc, s, 0) }
func (o *output) textAt(src int, s string) frag { return o.add(pieceText, src, s, 0) }
func (o *output) ident(src int, s string) frag  { return o.add(pieceIdent, src, s, 0) }
func (o *output) strLit(src int, s string) frag { return o.add(pieceString, src, s, 0) }
func (o *output) cellName(src int, c any) frag  { return o.add(pieceCell, src, "", o.cell(c)) }

// cell stores a cell and gives its number.
func (o *output) cell(c any) int32 {
	o.cells = append(o.cells, c)
	return int32(len(o.cells) - 1)
}

// join strings fragments together; the result is no operand yet, so compound stays unset.
func (o *output) join(frags ...frag) frag {
	var r frag
	for _, f := range frags {
		r = o.append(r, f)
	}
	return r
}

func (o *output) append(a, b frag) frag {
	if b.first == 0 {
		return a
	}
	if a.first == 0 {
		return frag{first: b.first, last: b.last, depth: b.depth}
	}
	o.pieces[a.last].next = b.first
	return frag{first: a.first, last: b.last, depth: max(a.depth, b.depth)}
}

// list joins fragments with commas.
func (o *output) list(frags []frag) frag {
	var r frag
	for i, f := range frags {
		if i > 0 {
			r = o.append(r, o.text(","))
		}
		r = o.append(r, f)
	}
	return r
}

// parens puts f in parentheses.
func (o *output) parens(f frag) frag {
	return o.join(o.text("("), f, o.text(")"))
}

// operand is f, in parentheses if it is compound.
func (o *output) operand(f frag) frag {
	if f.compound {
		return o.parens(f)
	}
	return f
}

// compound joins fragments to something that needs parentheses as an operand, one level higher.
func (o *output) compound(frags ...frag) frag {
	r := o.join(frags...)
	r.compound = true
	r.depth++
	return r
}

// marker is a marker call about the cell c, at source offset src.
func (o *output) marker(src int, c any, operands ...frag) frag {
	r := o.add(pieceMarker, src, "", o.cell(c))
	for _, f := range operands {
		r = o.append(o.append(r, o.text(",")), f)
	}
	r = o.append(r, o.text(")"))
	r.depth++
	return r
}

// render joins f and the further statements to the text for TiDB and records the marks.
func (o *output) render(f frag) string {
	o.buf = o.buf[:0]
	o.marks = o.marks[:0]
	o.renderOne(f)
	for _, s := range o.stmts {
		o.buf = append(o.buf, ';')
		o.renderOne(s)
	}
	return string(o.buf)
}

func (o *output) renderOne(f frag) {
	for i := f.first; i != 0; i = o.pieces[i].next {
		p := &o.pieces[i]
		if p.src != noSrc {
			o.marks = append(o.marks, mark{out: int32(len(o.buf)), src: p.src})
		}
		switch p.kind {
		case pieceText:
			o.buf = append(o.buf, p.s...)
		case pieceIdent:
			o.buf = appendQuoted(o.buf, p.s, '`')
		case pieceString:
			o.buf = appendQuoted(o.buf, p.s, '\'')
		case pieceCell:
			o.buf = append(o.buf, "`\x01"...)
			o.buf = strconv.AppendInt(o.buf, int64(p.n), 10)
			o.buf = append(o.buf, '`')
		case pieceMarker:
			o.buf = append(o.buf, "`\x01`("...)
			o.buf = strconv.AppendInt(o.buf, int64(p.n), 10)
		}
		if i == f.last {
			break
		}
	}
}

func appendQuoted(buf []byte, s string, quote byte) []byte {
	buf = append(buf, quote)
	for i := 0; i < len(s); i++ {
		if s[i] == quote {
			buf = append(buf, quote)
		}
		buf = append(buf, s[i])
	}
	return append(buf, quote)
}
