package logical

import (
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/scalar"
)

// WindowCall is a call of a window function, or of an aggregate as one, whose arguments are columns of the
// input.
type WindowCall struct {
	ID ColID
	Fn *fn.Func
	// Args are columns; 0 where Consts has an expression without columns instead.
	Args   []ColID
	Consts []scalar.Expr
	Filter ColID // bool column or 0
	Frame  Frame
	Pos    int
}

// Frame is the part of its partition that a row's call looks at.
type Frame struct {
	Unit       FrameUnit
	Start, End FrameBound
	Exclude    FrameExclude
}

// DefaultFrame is RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW.
func DefaultFrame() Frame {
	return Frame{Unit: FrameRange, Start: FrameBound{Kind: UnboundedPreceding}, End: FrameBound{Kind: CurrentRow}}
}

// FrameUnit is ROWS, RANGE or GROUPS.
type FrameUnit uint8

// The frame units.
const (
	FrameRows FrameUnit = iota
	FrameRange
	FrameGroups
)

// FrameBound is an end of a frame. Offset, for the two offset kinds, is an expression without columns.
type FrameBound struct {
	Kind   BoundKind
	Offset scalar.Expr
	// Pos is where the offset is in the statement.
	Pos int
}

// BoundKind is the kind of a frame bound.
type BoundKind uint8

// The frame bounds, from the earliest to the latest.
const (
	UnboundedPreceding BoundKind = iota
	OffsetPreceding
	CurrentRow
	OffsetFollowing
	UnboundedFollowing
)

// FrameExclude is the EXCLUDE clause.
type FrameExclude uint8

// The frame exclusions.
const (
	ExcludeNoOthers FrameExclude = iota
	ExcludeCurrentRow
	ExcludeGroup
	ExcludeTies
)

// Equal tells whether two frames are written the same.
func (f Frame) Equal(g Frame) bool {
	return f.Unit == g.Unit && f.Exclude == g.Exclude && f.Start.equal(g.Start) && f.End.equal(g.End)
}

func (b FrameBound) equal(c FrameBound) bool {
	if b.Kind != c.Kind || (b.Offset == nil) != (c.Offset == nil) {
		return false
	}
	return b.Offset == nil || Equal(b.Offset, c.Offset)
}

// IsDefault tells whether f is DefaultFrame.
func (f Frame) IsDefault() bool { return f.Equal(DefaultFrame()) }

// MapFrame rewrites the offsets of f.
func (f Frame) MapFrame(m func(scalar.Expr) scalar.Expr) Frame {
	if f.Start.Offset != nil {
		f.Start.Offset = m(f.Start.Offset)
	}
	if f.End.Offset != nil {
		f.End.Offset = m(f.End.Offset)
	}
	return f
}

// Text prints f as SQL, offsets by text.
func (f Frame) Text(text func(scalar.Expr) string) string {
	s := [...]string{"ROWS", "RANGE", "GROUPS"}[f.Unit] + " BETWEEN " + f.Start.text(text) + " AND " + f.End.text(text)
	return s + [...]string{"", " EXCLUDE CURRENT ROW", " EXCLUDE GROUP", " EXCLUDE TIES"}[f.Exclude]
}

func (b FrameBound) text(text func(scalar.Expr) string) string {
	switch b.Kind {
	case UnboundedPreceding:
		return "UNBOUNDED PRECEDING"
	case OffsetPreceding:
		return text(b.Offset) + " PRECEDING"
	case CurrentRow:
		return "CURRENT ROW"
	case OffsetFollowing:
		return text(b.Offset) + " FOLLOWING"
	}
	return "UNBOUNDED FOLLOWING"
}

// MapExprs rewrites the expressions without columns that c has.
func (c *WindowCall) MapExprs(m func(scalar.Expr) scalar.Expr) {
	c.Frame = c.Frame.MapFrame(m)
	c.Consts = append([]scalar.Expr(nil), c.Consts...)
	for i, e := range c.Consts {
		if e != nil {
			c.Consts[i] = m(e)
		}
	}
}

// Only gives the call of a Window that has one, nil otherwise.
func (n *Window) Only() *WindowCall {
	if len(n.Calls) != 1 {
		return nil
	}
	return &n.Calls[0]
}

// Uses lists the columns of the input that n's calls and its definition read.
func (n *Window) Uses() ColSet {
	s := SetOf(n.Partition...)
	s.AddSet(SetOf(n.RowKey...))
	for _, o := range n.Order {
		s.Add(o.Col)
	}
	for _, c := range n.Calls {
		for _, a := range c.Args {
			if a != 0 {
				s.Add(a)
			}
		}
		if c.Filter != 0 {
			s.Add(c.Filter)
		}
	}
	return s
}

// Outs lists the columns that the calls give.
func (n *Window) Outs() ColSet {
	s := ColSet{}
	for _, c := range n.Calls {
		s.Add(c.ID)
	}
	return s
}
