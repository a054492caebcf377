// Package prop derives what can be relied on of the output of a logical plan: which columns are never
// NULL, which identify a row, whether rows are ever taken back.
package prop

import (
	"slices"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/scalar"
)

// NotNull gives the output columns of n that are never NULL.
func NotNull(n logical.Node) logical.ColSet {
	switch n := n.(type) {
	case *logical.Scan:
		s := logical.ColSet{}
		if n.RowID != 0 {
			s.Add(n.RowID)
		}
		for i, o := range n.Ords {
			if n.Rel.Kind == catalog.Table && (n.Rel.Columns[o].NotNull || n.Rel.PrimaryKey != "" && inKey(n.Rel, o) || n.Rel.Columns[o].Hidden) {
				s.Add(n.Out[i])
			}
		}
		return s
	case *logical.Values:
		s := logical.ColSet{}
		for i, c := range n.Out {
			all := true
			for _, r := range n.Rows {
				all = all && ExprNotNull(r[i], nil)
			}
			if all {
				s.Add(c)
			}
		}
		return s
	case *logical.Filter:
		s := copySet(NotNull(n.In))
		for _, p := range n.Preds {
			Rejects(p, s)
		}
		return s
	case *logical.Project:
		in := NotNull(n.In)
		s := logical.ColSet{}
		for _, e := range n.Exprs {
			if ExprNotNull(e.Expr, in) {
				s.Add(e.ID)
			}
		}
		return s
	case *logical.Join:
		switch n.Kind {
		case logical.Semi:
			s := copySet(NotNull(n.L))
			own := logical.OutSet(n.L)
			for _, p := range n.On {
				r := logical.ColSet{}
				Rejects(p, r)
				s.AddSet(r.And(own))
			}
			return s
		case logical.Anti, logical.Left:
			return NotNull(n.L)
		case logical.Right:
			return NotNull(n.R)
		case logical.Full:
			return logical.ColSet{}
		}
		s := copySet(NotNull(n.L))
		s.AddSet(NotNull(n.R))
		for _, p := range n.On {
			Rejects(p, s)
		}
		return s
	case *logical.Lookup:
		return NotNull(n.In)
	case *logical.Agg:
		in := NotNull(n.In)
		s := logical.ColSet{}
		for _, k := range n.Keys {
			if in.Has(k) {
				s.Add(k)
			}
		}
		for _, a := range n.Aggs {
			if EmptyIsZero(a.Fn) {
				s.Add(a.ID)
			}
		}
		return s
	case *logical.TopN:
		s := copySet(NotNull(n.In))
		if n.Rank != 0 {
			s.Add(n.Rank)
		}
		return s
	case *logical.Window:
		s := copySet(NotNull(n.In))
		for _, c := range n.Calls {
			switch c.Fn.Name {
			case "row_number", "rank", "dense_rank", "percent_rank", "cume_dist":
				s.Add(c.ID)
			case "count":
				s.Add(c.ID)
			}
		}
		return s
	case *logical.UnionAll:
		s := logical.ColSet{}
		if n.Source != 0 {
			s.Add(n.Source)
		}
		var ins []logical.ColSet
		for _, in := range n.Ins {
			ins = append(ins, NotNull(in))
		}
		for i, c := range n.Out {
			all := true
			for k := range n.Ins {
				all = all && ins[k].Has(n.Map[k][i])
			}
			if all {
				s.Add(c)
			}
		}
		return s
	case *logical.Hop:
		s := copySet(NotNull(n.In))
		s.Add(n.Time)
		s.Add(n.Start)
		s.Add(n.End)
		return s
	case *logical.Session:
		s := copySet(NotNull(n.In))
		s.AddSet(logical.SetOf(n.Time, n.Start, n.End))
		return s
	case *logical.ProjectSet:
		s := copySet(NotNull(n.In))
		if n.Ord != 0 {
			s.Add(n.Ord)
		}
		return s
	case *logical.Max1Row:
		return NotNull(n.In)
	case *logical.Lock:
		return NotNull(n.In)
	}
	return logical.ColSet{}
}

func inKey(r *catalog.Relation, ord int) bool {
	for _, k := range r.Key {
		if k.Col == ord {
			return true
		}
	}
	return false
}

func copySet(s logical.ColSet) logical.ColSet {
	c := make(logical.ColSet, len(s))
	c.AddSet(s)
	return c
}

// EmptyIsZero tells whether an aggregate of no rows is 0 rather than NULL.
func EmptyIsZero(f *fn.Func) bool {
	switch f.Name {
	case "count", "regr_count", "approx_count_distinct":
		return true
	}
	return false
}

// ExprNotNull tells whether e is never NULL when the columns in notNull are not. Errors do not
// count.
func ExprNotNull(e scalar.Expr, notNull logical.ColSet) bool {
	switch e := e.(type) {
	case *scalar.Column:
		return notNull.Has(e.Index)
	case *scalar.Const:
		return e.Val.Valid
	case *scalar.IsNull, *scalar.IsBool, *scalar.Distinct, *scalar.MakeArray, *scalar.MakeRow:
		return true
	case *scalar.Coalesce:
		for _, a := range e.Args {
			if ExprNotNull(a, notNull) {
				return true
			}
		}
		return false
	case *scalar.And, *scalar.Or, *scalar.Not:
		return all(logical.Children(e), notNull)
	case *scalar.In:
		return all(logical.Children(e), notNull)
	case *scalar.Case:
		for _, w := range e.Whens {
			if !ExprNotNull(w.Result, notNull) {
				return false
			}
		}
		return ExprNotNull(e.Else, notNull)
	case *scalar.Call:
		// A strict operator on the basic types gives NULL for NULL only; of functions that is not
		// known in general.
		return e.Fn.Strict && total(e.Fn) && all(e.Args, notNull)
	case *logical.Subquery:
		return e.Kind == logical.SubExists
	}
	return false
}

func all(es []scalar.Expr, notNull logical.ColSet) bool {
	for _, e := range es {
		if !ExprNotNull(e, notNull) {
			return false
		}
	}
	return true
}

// total tells whether a strict function gives NULL only for NULL arguments. (A row error may become NULL in
// a stream, so functions that can fail do not count.)
func total(f *fn.Func) bool {
	if f.CanFail {
		return false
	}
	switch f.Kind {
	case fn.Operator:
		switch f.Name {
		case "=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "||", "~~", "!~~":
			for _, a := range f.Args {
				if a.Kind.Phys() > 5 {
					return false
				}
			}
			return true
		}
	case fn.Cast:
		return true
	}
	return false
}

// Rejects adds to set the columns that must not be NULL for p to be true.
func Rejects(p scalar.Expr, set logical.ColSet) {
	switch p := p.(type) {
	case *scalar.And:
		for _, a := range p.Args {
			Rejects(a, set)
		}
	case *scalar.Or:
		var common logical.ColSet
		for i, a := range p.Args {
			s := logical.ColSet{}
			Rejects(a, s)
			if i == 0 {
				common = s
			} else {
				common = common.And(s)
			}
		}
		set.AddSet(common)
	case *scalar.Not:
		strictCols(p.X, set)
	case *scalar.IsNull:
		if p.Not {
			strictCols(p.X, set)
		}
	case *scalar.IsBool:
		if !p.Not {
			strictCols(p.X, set)
		}
	default:
		strictCols(p, set)
	}
}

// strictCols adds the columns whose being NULL makes e NULL.
func strictCols(e scalar.Expr, set logical.ColSet) {
	switch e := e.(type) {
	case *scalar.Column:
		set.Add(e.Index)
	case *scalar.Call:
		if e.Fn.Strict {
			for _, a := range e.Args {
				strictCols(a, set)
			}
		}
	case *scalar.Not:
		strictCols(e.X, set)
	case *scalar.In:
		strictCols(e.X, set)
	case *scalar.AnyAll:
		strictCols(e.R, set)
	case *scalar.Coalesce:
		if len(e.Args) == 1 {
			strictCols(e.Args[0], set)
		}
	}
}

// WithRising gives n with the Working nodes of the Recursive node id marked.
func WithRising(n logical.Node, id int, rising bool) logical.Node {
	if w, ok := n.(*logical.Working); ok {
		if w.ID != id || w.Rising == rising {
			return n
		}
		c := *w
		c.Rising = rising
		return &c
	}
	ins := n.Inputs()
	changed := false
	nins := make([]logical.Node, len(ins))
	for i, in := range ins {
		nins[i] = WithRising(in, id, rising)
		changed = changed || nins[i] != in
	}
	if !changed {
		return n
	}
	return n.WithInputs(nins)
}

// clockIn tells whether the expressions of n itself depend on the time.
func clockIn(n logical.Node) bool { return slices.ContainsFunc(logical.NodeExprs(n), Clock) }

// AppendOnly tells whether rows of n are never taken back in a stream.
func AppendOnly(n logical.Node) bool {
	switch n := n.(type) {
	case *logical.Scan:
		return n.Rel.Kind == catalog.Source || n.Rel.AppendOnly
	case *logical.Values:
		return !clockIn(n)
	case *logical.Filter:
		return !clockIn(n) && AppendOnly(n.In)
	case *logical.Join:
		return (n.Kind == logical.Inner || n.Kind == logical.Semi) && AppendOnly(n.L) && AppendOnly(n.R)
	case *logical.Agg:
		return len(n.Aggs) == 0 && len(n.Keys) > 0 && AppendOnly(n.In)
	case *logical.TopN:
		return n.Limit == nil && n.Offset == nil && n.Rank == 0 && AppendOnly(n.In)
	case *logical.Window, *logical.Session, *logical.Max1Row:
		return false
	case *logical.Recursive:
		return AppendOnly(n.Base) && AppendOnly(WithRising(n.Step, n.ID, true))
	case *logical.Working:
		return n.Rising
	}
	for _, in := range n.Inputs() {
		if !AppendOnly(in) {
			return false
		}
	}
	return true
}
