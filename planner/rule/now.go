package rule

import (
	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/planner/prop"
	"github.com/weirdb/weir/sql/scalar"
)

// NowJoin makes a stream plan's dependence on time explicit: expressions that depend on it, other than conditions that are
// time bounds (prop.TimeBounds), use the columns of a relation of one row, which changes as time passes (Values that
// depend on the time), to which every row is joined. joined is the first such expression, nil if there is none; bad is one that
// cannot be treated like that, and where says why.
func NowJoin(e *Env, n logical.Node) (out logical.Node, joined, bad scalar.Expr, where string) {
	j := nowJoiner{e: e}
	n = logical.MapPlanExprs(n, func(x scalar.Expr) scalar.Expr {
		a := prop.AgeOfToday(e.Registry, x)
		if c, ok := a.(*scalar.Call); ok {
			c.Args[1] = logical.MapExpr(c.Args[1], func(y scalar.Expr) scalar.Expr { return prop.AgeOfToday(e.Registry, y) })
		}
		return a
	})
	out = j.node(n)
	return out, j.joined, j.bad, j.where
}

type nowJoiner struct {
	e           *Env
	joined, bad scalar.Expr
	where       string
}

func (j *nowJoiner) refuse(es []scalar.Expr, where string) {
	for _, x := range es {
		logical.WalkExpr(x, func(x scalar.Expr) bool {
			if j.bad == nil && prop.ClockCall(x) {
				j.bad, j.where = x, where
			}
			return j.bad == nil
		})
	}
}

func (j *nowJoiner) node(n logical.Node) logical.Node {
	if r, ok := n.(*logical.Recursive); ok {
		var es []scalar.Expr
		logical.WalkPlanExprs(r.Step, func(x scalar.Expr) bool {
			es = append(es, x)
			return false
		})
		j.refuse(es, "in a recursive term")
		c := *r
		c.Base = j.node(r.Base)
		return &c
	}
	if ins := n.Inputs(); len(ins) > 0 {
		nins := make([]logical.Node, len(ins))
		changed := false
		for i, in := range ins {
			nins[i] = j.node(in)
			changed = changed || nins[i] != in
		}
		if changed {
			n = n.WithInputs(nins)
		}
	}
	switch n := n.(type) {
	case *logical.Filter:
		return j.filter(n.In, n.Preds)
	case *logical.Project:
		m := j.times(logical.NodeExprs(n))
		if m == nil {
			return n
		}
		p := &logical.Project{In: m.join(n.In)}
		for _, x := range n.Exprs {
			p.Exprs = append(p.Exprs, logical.ProjCol{ID: x.ID, Expr: m.replace(x.Expr)})
		}
		return p
	case *logical.ProjectSet:
		m := j.times(logical.NodeExprs(n))
		if m == nil {
			return n
		}
		c := logical.MapNodeExprs(n, m.of)
		return c.WithInputs([]logical.Node{m.join(n.In)})
	case *logical.Join:
		return j.join(n)
	case *logical.Lookup:
		j.refuse(n.On, "in the condition of a join FOR SYSTEM_TIME AS OF")
	case *logical.Values:
	case *logical.TopN:
		j.refuse(logical.NodeExprs(n), "in LIMIT or OFFSET")
	default:
		j.refuse(logical.NodeExprs(n), "in this place")
	}
	return n
}

func (j *nowJoiner) join(n *logical.Join) logical.Node {
	if n.Kind == logical.Inner {
		var on, ps []scalar.Expr
		for _, p := range n.On {
			if prop.Clock(p) {
				ps = append(ps, p)
			} else {
				on = append(on, p)
			}
		}
		if len(ps) == 0 {
			return n
		}
		return j.filter(&logical.Join{Kind: n.Kind, L: n.L, R: n.R, On: on}, ps)
	}
	if n.Kind == logical.Full {
		j.refuse(n.On, "in the condition of a FULL JOIN")
		return n
	}
	m := j.times(n.On)
	if m == nil {
		return n
	}
	c := *n
	c.On = nil
	for _, p := range n.On {
		c.On = append(c.On, m.replace(p))
	}
	// On the side whose rows appear only if they match.
	if n.Kind == logical.Right {
		c.L = m.join(c.L)
	} else {
		c.R = m.join(c.R)
	}
	return &c
}

func (j *nowJoiner) filter(in logical.Node, preds []scalar.Expr) logical.Node {
	var keep, general []scalar.Expr
	for _, p := range preds {
		if prop.Clock(p) {
			if _, ok := prop.TimeBounds(j.e.Registry, p, j.e.Zoned); !ok {
				general = append(general, p)
				continue
			}
		}
		keep = append(keep, p)
	}
	in = filter(in, keep)
	m := j.times(general)
	if m == nil {
		return in
	}
	for i, p := range general {
		general[i] = m.replace(p)
	}
	return filter(m.join(in), general)
}

// nowRow is the relation of the present: the time-dependent expressions and their columns.
type nowRow struct {
	e     *Env
	exprs []scalar.Expr
	cols  []logical.ColID
}

// times collects the calls of functions of the time in es; nil if there are none.
func (j *nowJoiner) times(es []scalar.Expr) *nowRow {
	m := &nowRow{e: j.e}
	for _, x := range es {
		logical.WalkExpr(x, func(x scalar.Expr) bool {
			if !prop.ClockCall(x) {
				return true
			}
			c := x.(*scalar.Call)
			for _, a := range c.Args {
				if _, ok := a.(*scalar.Const); !ok {
					j.refuse([]scalar.Expr{x}, "with arguments that are not constant")
				}
			}
			if j.joined == nil {
				j.joined = x
			}
			if m.find(x) == 0 {
				m.exprs = append(m.exprs, x)
				m.cols = append(m.cols, j.e.Meta.New(c.Fn.Name, x.Type()))
			}
			return false
		})
	}
	if len(m.exprs) == 0 {
		return nil
	}
	return m
}

func (m *nowRow) find(x scalar.Expr) logical.ColID {
	for i, y := range m.exprs {
		if logical.Equal(x, y) {
			return m.cols[i]
		}
	}
	return 0
}

func (m *nowRow) of(x scalar.Expr) scalar.Expr {
	if prop.ClockCall(x) {
		if id := m.find(x); id != 0 {
			return m.e.Meta.RefAt(id, x.Position())
		}
	}
	return nil
}

func (m *nowRow) replace(x scalar.Expr) scalar.Expr { return logical.MapExpr(x, m.of) }

func (m *nowRow) join(in logical.Node) logical.Node {
	now := &logical.Values{Out: m.cols, Rows: [][]scalar.Expr{m.exprs}}
	if isOneRow(in) {
		return now
	}
	return &logical.Join{Kind: logical.Inner, L: in, R: now}
}
