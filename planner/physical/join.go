package physical

import (
	"slices"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/planner/prop"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
)

// equiKey is one pair of join keys.
type equiKey struct {
	l, r     scalar.Expr
	nullSafe bool
}

// equiKeys splits a join condition into keys and a rest. The two sides of a key have one type:
// int4 = int8 is made so by a cast.
func (b *builder) equiKeys(on []scalar.Expr, ls, rs logical.ColSet) (keys []equiKey, rest []scalar.Expr) {
	for _, p := range on {
		k, ok := b.equiKey(p, ls, rs)
		if ok {
			dup := false
			for _, o := range keys {
				dup = dup || logical.Equal(o.l, k.l) && logical.Equal(o.r, k.r) && o.nullSafe == k.nullSafe
			}
			if !dup {
				keys = append(keys, k)
			}
			continue
		}
		rest = append(rest, p)
	}
	return keys, rest
}

func (b *builder) equiKey(p scalar.Expr, ls, rs logical.ColSet) (equiKey, bool) {
	var k equiKey
	switch p := p.(type) {
	case *scalar.Call:
		if p.Fn.Name != "=" || p.Fn.Kind != fn.Operator || len(p.Args) != 2 {
			return k, false
		}
		k.l, k.r = p.Args[0], p.Args[1]
	case *scalar.Distinct:
		if !p.Not {
			return k, false
		}
		k.l, k.r, k.nullSafe = p.L, p.R, true
	default:
		return k, false
	}
	if logical.Volatile(k.l) || logical.Volatile(k.r) {
		return k, false
	}
	lc, rc := logical.ColsOf(k.l), logical.ColsOf(k.r)
	if len(lc) == 0 || len(rc) == 0 {
		return k, false
	}
	switch {
	case lc.Within(ls) && rc.Within(rs):
	case lc.Within(rs) && rc.Within(ls):
		k.l, k.r = k.r, k.l
	default:
		return k, false
	}
	lt, rt := k.l.Type(), k.r.Type()
	if sameKey(lt, rt) {
		return k, true
	}
	// A comparison across types: both sides are cast to the wider one, if nothing can be lost or go wrong.
	t, _, err := b.Registry.CommonType("JOIN", []types.Type{lt.WithoutMod(), rt.WithoutMod()})
	if err != nil {
		return k, false
	}
	var ok bool
	if k.l, ok = b.safeCast(k.l, t); !ok {
		return k, false
	}
	k.r, ok = b.safeCast(k.r, t)
	return k, ok
}

// safeCast casts x to t if the cast cannot fail and depends on nothing else.
func (b *builder) safeCast(x scalar.Expr, t types.Type) (scalar.Expr, bool) {
	if x.Type().WithoutMod() == t {
		return x, true
	}
	steps, err := b.Registry.ResolveCast(x.Type(), t, fn.Implicit)
	if err != nil || len(steps) == 0 {
		return x, false
	}
	for _, s := range steps {
		if s.Fn.CanFail || s.Fn.Volatility != fn.Immutable {
			return x, false
		}
		x = &scalar.Call{Node: scalar.Node{T: s.To, Pos: x.Position()}, Fn: s.Fn, Args: []scalar.Expr{x}}
	}
	return x, true
}

// sameKey tells whether equal values of two types are equal as keys: they hash and are encoded alike.
func sameKey(a, b types.Type) bool {
	return sameKind(a, b) || a.Kind.IsInteger() && b.Kind.IsInteger()
}

func sameKind(a, b types.Type) bool {
	text := func(k types.Kind) bool { return k == types.Text || k == types.Varchar }
	return a.Kind == b.Kind && a.Elem == b.Elem || text(a.Kind) && text(b.Kind)
}

// keyColumns gives the positions of key expressions in x, which is extended by a projection where a
// key is not a column.
func (b *builder) keyColumns(x built, keys []scalar.Expr) (built, []int) {
	pos := make([]int, len(keys))
	var more []scalar.Expr
	for i, k := range keys {
		if c, ok := k.(*scalar.Column); ok && sameKey(c.T, b.Meta.Type(c.Index)) {
			pos[i] = x.pos(c.Index)
			continue
		}
		at := -1
		for j, m := range more {
			if logical.Equal(m, k) {
				at = j
			}
		}
		if at < 0 {
			at = len(more)
			more = append(more, k)
		}
		pos[i] = len(x.cols) + at
	}
	if len(more) == 0 {
		return x, pos
	}
	p := &plan.Project{In: x.node}
	in := x.node.Properties()
	p.AppendOnly, p.HasKey, p.Key = in.AppendOnly, in.HasKey, in.Key
	p.Cols = slices.Clone(in.Cols)
	for i, c := range x.cols {
		ref := b.Meta.Ref(c)
		ref.Index = i
		ref.T = in.Cols[i].Type
		p.Exprs = append(p.Exprs, ref)
	}
	cols := slices.Clone(x.cols)
	for _, m := range more {
		p.Exprs = append(p.Exprs, expr(m, x.cols))
		p.Cols = append(p.Cols, plan.Column{Name: "key", Type: m.Type()})
		cols = append(cols, b.Meta.New("key", m.Type()))
	}
	return built{p, cols}, pos
}

var kinds = [...]plan.JoinKind{
	logical.Inner: plan.Inner, logical.Left: plan.Left, logical.Right: plan.Right,
	logical.Full: plan.Full, logical.Semi: plan.Semi, logical.Anti: plan.Anti,
}

// uniqueKey tells whether no two rows of n have the same values of the join keys.
func uniqueKey(n logical.Node, keys []scalar.Expr) bool {
	set := logical.ColSet{}
	for _, k := range keys {
		if c, ok := k.(*scalar.Column); ok {
			set.Add(c.Index)
		}
	}
	return len(set) > 0 && prop.Unique(n, set)
}

func (b *builder) join(n *logical.Join, need logical.ColSet) built {
	ls, rs := logical.OutSet(n.L), logical.OutSet(n.R)
	keys, rest := b.equiKeys(n.On, ls, rs)
	used := logical.ColsOf(n.On...)
	used.AddSet(need)
	l, r := b.node(n.L, used.And(ls)), b.node(n.R, used.And(rs))
	var lk, rk []scalar.Expr
	out := &plan.HashJoin{Kind: kinds[n.Kind]}
	for _, k := range keys {
		lk, rk = append(lk, k.l), append(rk, k.r)
		out.NullSafe = append(out.NullSafe, k.nullSafe)
	}
	l, out.LeftKeys = b.keyColumns(l, lk)
	r, out.RightKeys = b.keyColumns(r, rk)
	out.L, out.R = l.node, r.node
	all := append(slices.Clone(l.cols), r.cols...)
	if len(rest) > 0 {
		out.Residual = expr(logical.Conj(rest), all)
	}
	var cols []logical.ColID
	from := all
	if n.Kind == logical.Semi || n.Kind == logical.Anti {
		from = l.cols
	}
	for i, c := range from {
		if need.Has(c) {
			out.Output = append(out.Output, i)
			cols = append(cols, c)
		}
	}
	lp, rp := l.node.Properties(), r.node.Properties()
	out.LeftAppendOnly, out.RightAppendOnly = lp.AppendOnly, rp.AppendOnly
	if lp.HasKey {
		out.LeftRowKey = lp.Key
	}
	if rp.HasKey {
		out.RightRowKey = rp.Key
	}
	if b.stream {
		out.LeftUnique, out.RightUnique = uniqueKey(n.L, lk), uniqueKey(n.R, rk)
	}
	out.Props = b.props(n, cols)
	b.share(out)
	b.feed(out)
	return built{out, cols}
}
