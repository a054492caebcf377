package logical

import (
	"fmt"
	"strings"

	"github.com/weirdb/weir/planner/sqltext"
	"github.com/weirdb/weir/sql/scalar"
)

// String writes the plan as an indented tree; columns are name#number.
func String(m *Meta, n Node) string {
	p := printer{m: m}
	p.node(n, 0)
	return p.b.String()
}

// ExprString writes an expression of a logical plan.
func ExprString(m *Meta, e scalar.Expr) string { return (&printer{m: m}).expr(e) }

type printer struct {
	m *Meta
	b strings.Builder
	// sub collects subquery plans to be written below the node that uses them.
	sub []*Subquery
}

func (p *printer) col(id ColID) string { return fmt.Sprintf("%s#%d", p.m.Info(id).Name, id) }

func (p *printer) cols(ids []ColID) string {
	ss := make([]string, len(ids))
	for i, id := range ids {
		ss[i] = p.col(id)
	}
	return strings.Join(ss, ", ")
}

func (p *printer) expr(e scalar.Expr) string {
	return sqltext.Expr(e, func(c *scalar.Column) string { return p.col(c.Index) }, func(e scalar.Expr) (string, bool) {
		s, ok := e.(*Subquery)
		if !ok {
			return "", false
		}
		p.sub = append(p.sub, s)
		k := fmt.Sprintf("subquery %d", len(p.sub))
		switch s.Kind {
		case SubExists:
			return "EXISTS(" + k + ")", true
		case SubAny:
			return "ANY(" + k + ": " + p.expr(s.Pred) + ")", true
		case SubArray:
			return "ARRAY(" + k + ": " + p.col(s.Col) + ")", true
		}
		return "(" + k + ": " + p.col(s.Col) + ")", true
	})
}

func (p *printer) exprs(es []scalar.Expr) string {
	ss := make([]string, len(es))
	for i, e := range es {
		ss[i] = p.expr(e)
	}
	return strings.Join(ss, " AND ")
}

func (p *printer) order(os []Order) string {
	ss := make([]string, len(os))
	for i, o := range os {
		ss[i] = p.col(o.Col)
		if o.Desc {
			ss[i] += " DESC"
		}
		if o.NullsFirst != o.Desc {
			if o.NullsFirst {
				ss[i] += " NULLS FIRST"
			} else {
				ss[i] += " NULLS LAST"
			}
		}
	}
	return strings.Join(ss, ", ")
}

// JoinNames names the join kinds.
var JoinNames = [...]string{"Inner", "Left", "Right", "Full", "Semi", "Anti"}

func (p *printer) node(n Node, depth int) {
	p.sub = nil
	line := p.line(n)
	sub := p.sub
	p.b.WriteString(strings.Repeat("  ", depth) + line + "\n")
	for i, s := range sub {
		fmt.Fprintf(&p.b, "%ssubquery %d:\n", strings.Repeat("  ", depth+2), i+1)
		p.node(s.Plan, depth+3)
	}
	for _, in := range n.Inputs() {
		p.node(in, depth+1)
	}
}

func (p *printer) line(n Node) string {
	switch n := n.(type) {
	case *Scan:
		s := fmt.Sprintf("Scan %s (%s)", n.Rel.Name, p.cols(n.Cols()))
		if n.Alias != n.Rel.Name {
			s = fmt.Sprintf("Scan %s %s (%s)", n.Rel.Name, n.Alias, p.cols(n.Cols()))
		}
		return s
	case *Values:
		var rows []string
		for _, r := range n.Rows {
			var es []string
			for _, e := range r {
				es = append(es, p.expr(e))
			}
			rows = append(rows, "("+strings.Join(es, ", ")+")")
		}
		return fmt.Sprintf("Values (%s): %s", p.cols(n.Out), strings.Join(rows, ", "))
	case *Filter:
		return "Filter " + p.exprs(n.Preds)
	case *Project:
		var es []string
		for _, e := range n.Exprs {
			if c, ok := e.Expr.(*scalar.Column); ok && c.Index == e.ID {
				es = append(es, p.col(e.ID))
				continue
			}
			es = append(es, p.col(e.ID)+" := "+p.expr(e.Expr))
		}
		return "Project " + strings.Join(es, ", ")
	case *Join:
		s := JoinNames[n.Kind] + " Join"
		if Free(n.R).Meets(OutSet(n.L)) {
			s = "Dependent " + s
		}
		if len(n.On) > 0 {
			s += " on " + p.exprs(n.On)
		}
		return s
	case *Lookup:
		s := fmt.Sprintf("%s Lookup %s (%s)", JoinNames[n.Kind], n.Rel.Name, p.cols(n.Out))
		if len(n.On) > 0 {
			s += " on " + p.exprs(n.On)
		}
		return s
	case *Agg:
		s := "Aggregate"
		if len(n.Aggs) == 0 {
			s = "Distinct"
		}
		if len(n.Keys) > 0 {
			s += " by " + p.cols(n.Keys)
		}
		for i, a := range n.Aggs {
			if i > 0 {
				s += ","
			}
			s += " " + p.col(a.ID) + " := " + a.Fn.Name + "("
			if a.Distinct {
				s += "DISTINCT "
			}
			s += p.cols(a.Args)
			if len(a.OrderBy) > 0 {
				s += " ORDER BY " + p.order(a.OrderBy)
			}
			s += ")"
			if a.Filter != 0 {
				s += " FILTER " + p.col(a.Filter)
			}
		}
		return s
	case *TopN:
		s := "TopN"
		if n.Limit == nil && n.Offset == nil {
			s = "Sort"
		}
		if n.Rank != 0 {
			s += " " + p.col(n.Rank) + " := row_number()"
		}
		if len(n.GroupBy) > 0 {
			s += " group by " + p.cols(n.GroupBy)
		}
		if len(n.Order) > 0 {
			s += " order by " + p.order(n.Order)
		}
		if n.Limit != nil {
			s += " limit " + p.expr(n.Limit)
		}
		if n.Offset != nil {
			s += " offset " + p.expr(n.Offset)
		}
		if n.WithTies {
			s += " with ties"
		}
		return s
	case *Window:
		return "Window " + p.calls(n) + fmt.Sprintf(" partition by (%s) order by (%s)", p.cols(n.Partition), p.order(n.Order))
	case *UnionAll:
		s := "UnionAll " + p.cols(n.Cols()) + " from"
		for i, m := range n.Map {
			if i > 0 {
				s += ";"
			}
			s += " " + p.cols(m)
		}
		return s
	case *Hop:
		if n.Cumulate {
			return fmt.Sprintf("Cumulate %s size %s step %s", p.col(n.Time), SpanText(n.Size), SpanText(n.Slide))
		}
		return fmt.Sprintf("Hop %s size %s slide %s", p.col(n.Time), SpanText(n.Size), SpanText(n.Slide))
	case *Session:
		time := p.col(n.Time)
		if n.Last != 0 {
			time += " to " + p.col(n.Last)
		}
		return fmt.Sprintf("Session %s gap %s partition by (%s)", time, SpanText(n.Gap), p.cols(n.Partition))
	case *ProjectSet:
		var fs []string
		for _, f := range n.Funcs {
			var es []string
			for _, a := range f.Args {
				es = append(es, p.expr(a))
			}
			fs = append(fs, fmt.Sprintf("%s := %s(%s)", p.cols(f.Out), f.Fn.Name, strings.Join(es, ", ")))
		}
		s := "ProjectSet " + strings.Join(fs, ", ")
		if n.Ord != 0 {
			s += " ordinality " + p.col(n.Ord)
		}
		return s
	case *Recursive:
		s := fmt.Sprintf("Recursive %s (%s) from %s; %s", n.Name, p.cols(n.Cols()), p.cols(n.BaseMap), p.cols(n.StepMap))
		if n.All {
			s += " all"
		}
		return s
	case *Working:
		return fmt.Sprintf("Working %s (%s)", n.Name, p.cols(n.Out))
	case *Lock:
		var rs []string
		for _, r := range n.Rels {
			t := "for " + strings.ToLower(r.Strength.String()) + " of " + r.Rel.Name
			switch {
			case r.NoWait:
				t += " nowait"
			case r.SkipLocked:
				t += " skip locked"
			}
			rs = append(rs, t)
		}
		s := "Lock " + strings.Join(rs, ", ")
		if len(n.Order) > 0 {
			s += " order by " + p.order(n.Order)
		}
		return s
	case *Max1Row:
		if len(n.GroupBy) > 0 {
			return "Max1Row per " + p.cols(n.GroupBy)
		}
		return "Max1Row"
	}
	return fmt.Sprintf("%T", n)
}

// calls prints the calls of a Window.
func (p *printer) calls(n *Window) string {
	var out []string
	for _, c := range n.Calls {
		var args []string
		for i, a := range c.Args {
			if a != 0 {
				args = append(args, p.col(a))
			} else {
				args = append(args, p.expr(c.Consts[i]))
			}
		}
		s := p.col(c.ID) + " := " + c.Fn.Name + "(" + strings.Join(args, ",") + ")"
		if c.Filter != 0 {
			s += " FILTER " + p.col(c.Filter)
		}
		if !c.Frame.IsDefault() {
			s += " " + c.Frame.Text(p.expr)
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}
