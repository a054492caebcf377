package planner

import (
	"fmt"
	"slices"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/expr"
	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
)

// physInterp evaluates batch plans by nested loops, literally as package plan documents the nodes.
type physInterp struct {
	data  map[string][][]types.Datum
	env   *exec.Env
	steps int
	// frags are of a stream plan.
	frags []*plan.Fragment
}

func (pi *physInterp) eval(e scalar.Expr, r row) (types.Datum, error) {
	if pi.steps--; pi.steps < 0 {
		return types.Null, errTooLong
	}
	e = logical.MapExpr(e, func(x scalar.Expr) scalar.Expr {
		if c, ok := x.(*scalar.Column); ok {
			return &scalar.Const{Node: c.Node, Val: r[c.Index]}
		}
		return nil
	})
	if c, ok := e.(*scalar.Const); ok {
		return c.Val, nil
	}
	return expr.FoldConst(e, pi.env)
}

// ids numbers positions from 1, so that the helpers of interp can be used.
func ids(pos []int) []logical.ColID {
	out := []logical.ColID{}
	for _, p := range pos {
		out = append(out, p+1)
	}
	return out
}

func upTo(n int) []logical.ColID {
	out := make([]logical.ColID, n)
	for i := range out {
		out[i] = i + 1
	}
	return out
}

func (pi *physInterp) run(n plan.Node) ([]row, error) {
	if pi.steps--; pi.steps < 0 {
		return nil, errTooLong
	}
	var ins [][]row
	for _, in := range n.Inputs() {
		rows, err := pi.run(in)
		if err != nil {
			return nil, err
		}
		ins = append(ins, rows)
	}
	var out []row
	switch n := n.(type) {
	case *plan.Scan:
		for _, r := range pi.data[n.Rel.Name] {
			ok, err := pi.inAccess(n, r)
			if err != nil {
				return nil, err
			}
			if !ok {
				continue
			}
			o := row{}
			for _, c := range n.Cols {
				o = append(o, r[c])
			}
			out = append(out, o)
		}
	case *plan.TableScan:
		for _, r := range pi.data[n.Rel.Name] {
			o := row{}
			for _, c := range n.Cols {
				o = append(o, r[c])
			}
			out = append(out, o)
		}
	case *plan.Receive:
		return pi.run(pi.frags[n.From].Root)
	case *plan.Materialize:
		seen := map[string]bool{}
		for _, r := range ins[0] {
			k := ""
			for _, c := range n.Key {
				k += datumText(r[c.Col]) + "|"
			}
			if seen[k] {
				return nil, fmt.Errorf("key %s is not unique", k)
			}
			seen[k] = true
		}
		return ins[0], nil
	case *plan.Hop:
		l := &logical.Hop{Time: n.TimeCol + 1, Size: n.Size, Slide: n.Slide, Offset: n.Offset, Cumulate: n.Cumulate}
		return hopRows(l, upTo(len(n.In.Properties().Cols)), ins[0]), nil
	case *plan.Session:
		l := &logical.Session{Time: n.TimeCol + 1, Last: n.LastCol + 1, Gap: n.Gap, Partition: ids(n.Partition)}
		return sessionRows(l, upTo(len(n.In.Properties().Cols)), ins[0]), nil
	case *plan.HopAgg:
		width := len(n.In.Properties().Cols)
		l := &logical.Hop{Time: n.TimeCol + 1, Size: n.Size, Slide: n.Slide, Offset: n.Offset}
		a := &logical.Agg{Keys: append(ids(n.Keys), ids([]int{width, width + 1})...)}
		for _, x := range n.Aggs {
			a.Aggs = append(a.Aggs, logical.AggCol{Fn: x.Fn, Args: ids(x.Args), Distinct: x.Distinct, Filter: x.Filter + 1})
		}
		return (&interp{}).agg(a, upTo(width+2), hopRows(l, upTo(width), ins[0]))
	case *plan.Values:
		for _, es := range n.Rows {
			o := row{}
			for _, e := range es {
				v, err := pi.eval(e, nil)
				if err != nil {
					return nil, err
				}
				o = append(o, v)
			}
			out = append(out, o)
		}
	case *plan.Filter:
		for _, r := range ins[0] {
			v, err := pi.eval(n.Pred, r)
			if err != nil {
				return nil, err
			}
			if v.Bool() {
				out = append(out, r)
			}
		}
	case *plan.Project:
		for _, r := range ins[0] {
			o := row{}
			for _, e := range n.Exprs {
				v, err := pi.eval(e, r)
				if err != nil {
					return nil, err
				}
				o = append(o, v)
			}
			out = append(out, o)
		}
	case *plan.UnionAll:
		for k, rows := range ins {
			for _, r := range rows {
				if n.SourceColumn {
					r = append(slices.Clone(r), types.DInt(int64(k)))
				}
				out = append(out, r)
			}
		}
	case *plan.HashAgg:
		a := &logical.Agg{Keys: ids(n.Keys)}
		for _, x := range n.Aggs {
			a.Aggs = append(a.Aggs, logical.AggCol{Fn: x.Fn, Args: ids(x.Args), Distinct: x.Distinct, Filter: x.Filter + 1})
		}
		return (&interp{}).agg(a, upTo(len(n.In.Properties().Cols)), ins[0])
	case *plan.TopN:
		return pi.topN(n.In, n.GroupBy, n.OrderBy, n.Limit, n.Offset, n.WithTies, n.RankOutput, ins[0])
	case *plan.Limit:
		return pi.topN(n.In, nil, nil, n.Limit, n.Offset, false, false, ins[0])
	case *plan.Sort:
		return pi.topN(n.In, nil, n.OrderBy, nil, nil, false, false, ins[0])
	case *plan.Consolidate:
		return ins[0], nil
	case *plan.Max1Row:
		seen := map[string]bool{}
		for _, r := range ins[0] {
			k := rowText(pick(upTo(len(r)), ids(n.GroupBy), r))
			if seen[k] {
				return nil, errTwoRows
			}
			seen[k] = true
		}
		return ins[0], nil
	case *plan.HashJoin:
		return pi.join(n, ins[0], ins[1])
	default:
		return nil, fmt.Errorf("physInterp: %T", n)
	}
	return out, nil
}

// stream evaluates a stream plan as if all input came at once.
func (pi *physInterp) stream(s *plan.Stream) ([]row, error) {
	pi.frags = s.Fragments
	for i, f := range s.Fragments {
		if f.ID != i {
			return nil, fmt.Errorf("fragment %d has number %d", i, f.ID)
		}
	}
	return pi.run(s.Fragments[len(s.Fragments)-1].Root)
}

func (pi *physInterp) inAccess(n *plan.Scan, r row) (bool, error) {
	a := &n.Access
	prefix := func(es []scalar.Expr) (bool, error) {
		for i, e := range es {
			v, err := pi.eval(e, nil)
			if err != nil {
				return false, err
			}
			k := r[n.Rel.Key[i].Col]
			if !v.Valid || !k.Valid || num(v) != num(k) {
				return false, nil
			}
		}
		return true, nil
	}
	if a.Points != nil {
		for _, p := range a.Points {
			if ok, err := prefix(p); ok || err != nil {
				return ok, err
			}
		}
		return false, nil
	}
	if ok, err := prefix(a.Prefix); !ok || err != nil {
		return ok, err
	}
	for i, e := range []*plan.Endpoint{a.Lo, a.Hi} {
		if e == nil {
			continue
		}
		v, err := pi.eval(e.Val, nil)
		if err != nil {
			return false, err
		}
		k := r[n.Rel.Key[len(a.Prefix)].Col]
		if !v.Valid || !k.Valid {
			return false, nil
		}
		x, y := num(k), num(v)
		if i == 1 {
			x, y = y, x
		}
		if x < y || x == y && !e.Inclusive {
			return false, nil
		}
	}
	return true, nil
}

func (pi *physInterp) topN(in plan.Node, group []int, order []plan.SortKey, limit, offset scalar.Expr, ties, rank bool, rows []row) ([]row, error) {
	t := &logical.TopN{GroupBy: ids(group), Limits: logical.Limits{Limit: limit, Offset: offset, WithTies: ties}}
	for _, o := range order {
		t.Order = append(t.Order, logical.Order{Col: o.Col + 1, Desc: o.Desc, NullsFirst: o.NullsFirst})
	}
	if rank {
		t.Rank = -1
	}
	ip := &interp{env: pi.env, steps: 1000}
	return ip.topN(t, upTo(len(in.Properties().Cols)), rows, binding{})
}

func (pi *physInterp) join(n *plan.HashJoin, ls, rs []row) ([]row, error) {
	var out []row
	nl, nr := len(n.L.Properties().Cols), len(n.R.Properties().Cols)
	emit := func(l, r row) {
		all := append(slices.Clone(l), r...)
		o := row{}
		for _, c := range n.Output {
			o = append(o, all[c])
		}
		out = append(out, o)
	}
	matched := make([]bool, len(rs))
	for _, l := range ls {
		any := false
		for i, r := range rs {
			ok := true
			for k := range n.LeftKeys {
				x, y := l[n.LeftKeys[k]], r[n.RightKeys[k]]
				if !x.Valid || !y.Valid {
					ok = ok && n.NullSafe[k] && x.Valid == y.Valid
				} else {
					ok = ok && datumText(x) == datumText(y)
				}
			}
			if ok && n.Residual != nil {
				v, err := pi.eval(n.Residual, append(slices.Clone(l), r...))
				if err != nil {
					return nil, err
				}
				ok = v.Bool()
			}
			if !ok {
				continue
			}
			any, matched[i] = true, true
			if n.Kind != plan.Semi && n.Kind != plan.Anti {
				emit(l, r)
			}
		}
		switch {
		case n.Kind == plan.Semi && any, n.Kind == plan.Anti && !any:
			emit(l, nil)
		case (n.Kind == plan.Left || n.Kind == plan.Full) && !any:
			emit(l, make(row, nr))
		}
	}
	if n.Kind == plan.Right || n.Kind == plan.Full {
		for i, r := range rs {
			if !matched[i] {
				emit(make(row, nl), r)
			}
		}
	}
	return out, nil
}
