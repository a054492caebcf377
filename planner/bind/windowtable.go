package bind

import (
	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// windowArgs is the number of arguments of the window functions that take a relation, without the offset.
var windowArgs = map[string]int{"tumble": 3, "hop": 4, "cumulate": 4, "session": 3}

// windowTable binds
//
//	TUMBLE(rel, time, size [, offset])
//	HOP(rel, time, slide, size [, offset])
//	CUMULATE(rel, time, step, size [, offset])
//	SESSION(rel [PARTITION BY columns], time, gap)
//
// The two intervals of HOP and CUMULATE may come in either order: the size is the longer one.
func (b *Binder) windowTable(q, left *scope, t *ast.FuncTable) *fromItem {
	f := t.Funcs[0]
	name := f.Name.Parts[0]
	want := windowArgs[name]
	switch {
	case name == "session" && len(f.Args) != want:
		fail(sqlerr.UndefinedFunction, f.Pos, "table function %s takes %d arguments", name, want)
	case len(f.Args) != want && len(f.Args) != want+1:
		fail(sqlerr.UndefinedFunction, f.Pos, "table function %s takes %d or %d arguments", name, want, want+1)
	case f.ArgNames != nil:
		unsupported(f.Pos, "named arguments of "+name)
	case len(f.PartitionBy) > 0 && name != "session":
		unsupported(f.PartitionBy[0].Pos, "PARTITION BY in "+name)
	}
	var in *fromItem
	switch a := f.Args[0].(type) {
	case *ast.ColumnRef:
		in = b.tableRef(q, &ast.TableRef{Name: ast.Name{Parts: a.Parts, Pos: a.Pos}, Pos: a.Pos})
	case *ast.Subquery:
		in = b.derived(q, left, &ast.DerivedTable{Query: a.Query, Lateral: t.Lateral, Alias: &ast.Alias{Name: name}, Pos: a.Pos})
	}
	inScope := &scope{parent: q.parent, rels: in.rels, cols: in.cols, q: &queryState{clause: "functions in FROM"}}
	time := b.timeColumn(inScope, f.Args[1], name)
	span := func(i int) types.Span { return b.windowSpan(f.Args[i], name) }
	start, end := b.Meta.New("window_start", time.T), b.Meta.New("window_end", time.T)
	var node logical.Node
	if name == "session" {
		s := &logical.Session{In: in.node, Time: time.Index, Gap: span(2), Start: start, End: end}
		if micros(s.Gap) <= 0 {
			fail(sqlerr.InvalidParameterValue, f.Args[2].Position(), "the gap of session must be positive")
		}
		for _, p := range f.PartitionBy {
			c, ok := b.column(inScope, p).(*scalar.Column)
			if !ok {
				fail(sqlerr.InvalidColumnReference, p.Pos, "PARTITION BY in session must name columns of its relation")
			}
			s.Partition = append(s.Partition, c.Index)
		}
		node = s
	} else {
		h := &logical.Hop{In: in.node, Time: time.Index, Start: start, End: end}
		h.Size = span(2)
		h.Slide = h.Size
		if want == 4 {
			h.Slide = span(3)
			if micros(h.Slide) > micros(h.Size) {
				h.Size, h.Slide = h.Slide, h.Size
			}
		}
		if micros(h.Slide) <= 0 {
			fail(sqlerr.InvalidParameterValue, f.Args[2].Position(), "the window size of %s must be positive", name)
		}
		if n := micros(h.Size) / micros(h.Slide); n > maxWindows {
			fail(sqlerr.ProgramLimitExceeded, f.Args[2].Position(), "%s would put each row into %d windows, and %d is the most", name, n, maxWindows)
		}
		if name == "cumulate" {
			if micros(h.Size)%micros(h.Slide) != 0 {
				fail(sqlerr.InvalidParameterValue, f.Args[3].Position(), "the size of cumulate must be a multiple of its step")
			}
			h.Cumulate = micros(h.Size) != micros(h.Slide)
		}
		if len(f.Args) > want {
			h.Offset = span(want)
		}
		node = h
	}
	r := *in.rels[0]
	r.cols = append(append([]scopeCol(nil), in.cols...),
		scopeCol{name: "window_start", id: start}, scopeCol{name: "window_end", id: end})
	return b.single(q, node, &r, t.Alias, "table")
}

// maxWindows bounds the windows that one row is in: each of them is a row of the result.
const maxWindows = 100_000

// timeColumn binds the time column of a window function: column or DESCRIPTOR(column).
func (b *Binder) timeColumn(in *scope, arg ast.Expr, name string) *scalar.Column {
	if d, ok := arg.(*ast.Func); ok && len(d.Name.Parts) == 1 && d.Name.Parts[0] == "descriptor" && len(d.Args) == 1 {
		arg = d.Args[0]
	}
	ref, ok := arg.(*ast.ColumnRef)
	if !ok {
		fail(sqlerr.InvalidColumnReference, arg.Position(), "the second argument of %s must be a time column", name)
	}
	col, ok := b.column(in, ref).(*scalar.Column)
	if !ok || col.T.Kind != types.Timestamp && col.T.Kind != types.Timestamptz {
		fail(sqlerr.DatatypeMismatch, ref.Pos, "the time column of %s must be of type timestamp or timestamptz", name)
	}
	return col
}

// windowSpan binds a constant interval without months.
func (b *Binder) windowSpan(arg ast.Expr, name string) types.Span {
	e := b.cast(b.expr(&scope{q: &queryState{clause: "functions in FROM"}, noColumns: "the window arguments of " + name + " must be constants"}, arg),
		types.T(types.Interval), fn.Implicit, arg.Position())
	c, ok := e.(*scalar.Const)
	if !ok || !c.Val.Valid {
		fail(sqlerr.InvalidParameterValue, arg.Position(), "the window arguments of %s must be interval constants", name)
	}
	if c.Val.Span.Months != 0 {
		unsupported(arg.Position(), "a window size in months")
	}
	return c.Val.Span
}

func micros(s types.Span) int64 { return int64(s.Days)*86400e6 + s.Micros }
