package rule

import (
	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/planner/prop"
	"github.com/weirdb/weir/sql/scalar"
)

// Empty replaces parts of a plan that cannot have rows (WHERE false, LIMIT 0) by VALUES without rows.
func Empty(e *Env, n logical.Node) logical.Node {
	return up(n, func(n logical.Node) logical.Node {
		none := func() logical.Node { return &logical.Values{Out: n.Cols()} }
		switch n := n.(type) {
		case *logical.Filter:
			for _, p := range n.Preds {
				if logical.IsFalseOrNull(p) {
					return none()
				}
			}
			if isEmpty(n.In) {
				return none()
			}
		case *logical.Project, *logical.Window, *logical.Hop, *logical.Session, *logical.ProjectSet, *logical.Max1Row, *logical.Lock:
			if isEmpty(n.Inputs()[0]) {
				return none()
			}
		case *logical.TopN:
			if isEmpty(n.In) || prop.ConstLimit(n.Limit) == 0 {
				return none()
			}
		case *logical.Agg:
			if isEmpty(n.In) && len(n.Keys) > 0 {
				return none()
			}
		case *logical.UnionAll:
			out := *n
			out.Ins, out.Map = nil, nil
			for i, in := range n.Ins {
				if !isEmpty(in) {
					out.Ins = append(out.Ins, in)
					out.Map = append(out.Map, n.Map[i])
				}
			}
			switch {
			case len(out.Ins) == 0:
				return none()
			case len(out.Ins) < len(n.Ins) && n.Source == 0:
				return &out
			}
		case *logical.Recursive:
			switch {
			case isEmpty(n.Base):
				return none()
			case isEmpty(n.Step) && n.Ord == 0:
				u := &logical.UnionAll{Ins: []logical.Node{n.Base}, Out: n.Out, Map: [][]logical.ColID{n.BaseMap}}
				if n.All {
					return u
				}
				return &logical.Agg{In: u, Keys: n.Out}
			}
		case *logical.Join:
			return e.emptyJoin(n)
		}
		return n
	})
}

func isEmpty(n logical.Node) bool {
	v, ok := n.(*logical.Values)
	return ok && len(v.Rows) == 0
}

func (e *Env) emptyJoin(n *logical.Join) logical.Node {
	l, r := isEmpty(n.L), isEmpty(n.R)
	for _, p := range n.On {
		// A condition that is never true is as good as an empty other side.
		if logical.IsFalseOrNull(p) {
			l, r = l || n.Kind == logical.Right, r || n.Kind != logical.Right && n.Kind != logical.Full
		}
	}
	pad := func(keep logical.Node, nulls []logical.ColID) logical.Node {
		p := &logical.Project{In: keep, Exprs: e.passAll(keep.Cols())}
		for _, c := range nulls {
			p.Exprs = append(p.Exprs, logical.ProjCol{ID: c, Expr: scalar.Expr(logical.NullConst(e.Meta.Type(c)))})
		}
		return p
	}
	none := &logical.Values{Out: n.Cols()}
	switch n.Kind {
	case logical.Inner, logical.Semi:
		if l || r {
			return none
		}
	case logical.Anti:
		if l {
			return none
		}
		if r {
			return n.L
		}
	case logical.Left:
		if l {
			return none
		}
		if r {
			return pad(n.L, n.R.Cols())
		}
	case logical.Right:
		if r {
			return none
		}
		if l {
			return pad(n.R, n.L.Cols())
		}
	}
	return n
}
