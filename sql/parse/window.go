package parse

import (
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/parse/lex"
	"github.com/weirdb/weir/sql/sqlerr"
)

// windowCell is the shell of a window definition: the first item of its PARTITION BY. Operands
// are the offsets of the frame.
type windowCell struct{ spec *ast.WindowSpec }

// windowClause reads name AS (...), ... .
func (p *parser) windowClause(core *ast.SelectCore) frag {
	var f frag
	for n := 0; p.err == nil; n++ {
		if n > 0 {
			f = p.out.append(f, p.out.text(","))
		}
		pos := p.pos()
		name := p.colID()
		p.expectWord("as")
		spec := &ast.WindowSpec{Pos: p.pos()}
		core.Windows = append(core.Windows, ast.NamedWindow{Name: name})
		f = p.out.join(f, p.out.ident(pos, name), p.out.text(" AS "), p.windowSpec(spec))
		if !p.acceptSelf(",") {
			break
		}
	}
	return f
}

// windowSpec reads ([name] [PARTITION BY ...] [ORDER BY ...] [frame]).
func (p *parser) windowSpec(spec *ast.WindowSpec) frag {
	pos := p.pos()
	p.expectSelf("(")
	if t := p.tok(); isColID(t) && !isFrameStart(t) && !isWord(t, "partition") {
		spec.Name, spec.Ref = t.Text, true
		p.next()
	}
	var parts, order []frag
	if p.acceptPhrase("partition", "by") {
		parts = []frag{p.groupExpr()}
		for p.acceptSelf(",") {
			parts = append(parts, p.groupExpr())
		}
	}
	if p.isWord("order") {
		spec.OrderBy, order = p.orderItems()
	}
	var bounds []frag
	if isFrameStart(p.tok()) {
		bounds = p.frame(spec)
	}
	p.expectSelf(")")
	marker := p.marker(pos, &windowCell{spec: spec}, bounds...)
	f := p.out.join(p.out.text("(PARTITION BY "), p.out.list(append([]frag{marker}, parts...)))
	if len(order) > 0 {
		f = p.out.join(f, p.out.text(" ORDER BY "), p.out.list(order))
	}
	return p.out.join(f, p.out.text(")"))
}

func isFrameStart(t *lex.Token) bool {
	return isWord(t, "rows") || isWord(t, "range") || isWord(t, "groups")
}

// frame reads a frame clause and gives its offsets.
func (p *parser) frame(spec *ast.WindowSpec) []frag {
	t := p.tok()
	p.next()
	fr := &ast.Frame{Pos: t.Pos}
	spec.Frame = fr
	switch t.Text {
	case "range":
		fr.Unit = ast.FrameRange
	case "groups":
		fr.Unit = ast.FrameGroups
	}
	var offsets []frag
	bound := func(b *ast.FrameBound) int {
		pos := p.pos()
		switch {
		case p.acceptWords("unbounded", "preceding"):
			b.Kind = ast.UnboundedPreceding
		case p.acceptWords("unbounded", "following"):
			b.Kind = ast.UnboundedFollowing
		case p.acceptWords("current", "row"):
			b.Kind = ast.CurrentRow
		default:
			offsets = append(offsets, p.expr())
			switch {
			case p.acceptWord("preceding"):
				b.Kind = ast.OffsetPreceding
			case p.acceptWord("following"):
				b.Kind = ast.OffsetFollowing
			default:
				p.unexpected()
			}
		}
		return pos
	}
	between := p.acceptWord("between")
	startPos := bound(&fr.Start)
	fr.End.Kind = ast.CurrentRow
	if between {
		p.expectWord("and")
		endPos := bound(&fr.End)
		p.checkFrame(fr, startPos, endPos)
	} else {
		switch fr.Start.Kind {
		case ast.UnboundedFollowing:
			p.failf(sqlerr.WindowingError, startPos, "frame start cannot be UNBOUNDED FOLLOWING")
		case ast.OffsetFollowing:
			p.failf(sqlerr.WindowingError, startPos, "frame starting from following row cannot end with current row")
		}
	}
	if p.acceptWord("exclude") {
		switch {
		case p.acceptPhrase("current", "row"):
			fr.Exclude = ast.ExcludeCurrentRow
		case p.acceptWord("group"):
			fr.Exclude = ast.ExcludeGroup
		case p.acceptWord("ties"):
			fr.Exclude = ast.ExcludeTies
		default:
			p.expectWord("no", "others")
		}
	}
	return offsets
}

// checkFrame refuses the frames that PostgreSQL's grammar refuses.
func (p *parser) checkFrame(fr *ast.Frame, startPos, endPos int) {
	s, e := fr.Start.Kind, fr.End.Kind
	switch {
	case s == ast.UnboundedFollowing:
		p.failf(sqlerr.WindowingError, startPos, "frame start cannot be UNBOUNDED FOLLOWING")
	case e == ast.UnboundedPreceding:
		p.failf(sqlerr.WindowingError, endPos, "frame end cannot be UNBOUNDED PRECEDING")
	case s == ast.CurrentRow && e == ast.OffsetPreceding:
		p.failf(sqlerr.WindowingError, endPos, "frame starting from current row cannot have preceding rows")
	case s == ast.OffsetFollowing && e == ast.OffsetPreceding, s == ast.OffsetFollowing && e == ast.CurrentRow:
		p.failf(sqlerr.WindowingError, endPos, "frame starting from following row cannot have preceding rows")
	}
}
