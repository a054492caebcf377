package physical

import (
	"slices"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// Ranks of watermark columns: which of several says best when a row is final.
const (
	rankTime = iota
	rankStart
	rankEnd
)

// watermark builds the scan of a source that has a watermark. It wants the event time and the row id, from which the
// split follows, also if nobody else does.
func (b *builder) watermark(n *logical.Scan) built {
	w := n.Rel.Watermark
	s := *n
	s.Ords, s.Out = slices.Clone(n.Ords), slices.Clone(n.Out)
	if !slices.Contains(s.Ords, w.Col) {
		s.Ords, s.Out = append(s.Ords, w.Col), append(s.Out, b.Meta.NewFrom(n.Rel, w.Col))
	}
	if s.RowID == 0 && n.Rel.Splits > 1 {
		s.RowID = b.Meta.New("_row_id", types.T(types.Int8))
	}
	cols := s.Cols()
	p := b.props(&s, cols)
	for i := range p.Cols {
		if i < len(s.Ords) {
			p.Cols[i].Hidden = n.Rel.Columns[s.Ords[i]].Hidden
		}
	}
	scan := &plan.SourceScan{Props: p, Rel: n.Rel, Cols: s.Ords, RowID: s.RowID != 0}
	out := &plan.Watermark{Props: p, In: scan, Def: *w, TimeCol: slices.Index(s.Ords, w.Col), RowID: -1, Splits: max(n.Rel.Splits, 1)}
	if s.RowID != 0 {
		out.RowID = len(s.Ords)
	}
	return built{out, cols}
}

// deriveWatermarks says of each node of a stream plan which columns have watermarks, as its operator forwards them.
func deriveWatermarks(n plan.Node) {
	for _, in := range n.Inputs() {
		deriveWatermarks(in)
	}
	p := n.Properties()
	set := map[int]int{}
	pass := func(in plan.Node) {
		for _, w := range in.Properties().Watermarks {
			set[w.Col] = w.Rank
		}
	}
	keys := func(in plan.Node, keys []int) {
		for i, k := range keys {
			if r, ok := in.Properties().Watermark(k); ok {
				set[i] = r
			}
		}
	}
	switch n := n.(type) {
	case *plan.TableScan:
		for i, c := range n.Cols {
			if w := n.Rel.Watermark; w != nil && w.Col == c {
				set[i] = rankTime
			}
			for _, w := range n.Rel.Watermarks {
				if w.Col == c {
					set[i] = w.Rank
				}
			}
		}
	case *plan.Watermark:
		set[n.TimeCol] = rankTime
	case *plan.ProcTime:
		pass(n.In)
		set[len(n.Cols)-1] = rankTime
	case *plan.Filter, *plan.ProjectSet, *plan.Consolidate, *fork:
		pass(n.Inputs()[0])
	case *plan.Project:
		for i, e := range n.Exprs {
			if c, ok := scalar.Rises(e); ok {
				if r, has := n.In.Properties().Watermark(c); has {
					set[i] = r
				}
			}
		}
	case *plan.Lookup:
		for i, c := range n.Output {
			if r, ok := n.In.Properties().Watermark(c); ok {
				set[i] = r
			}
		}
	case *plan.Hop:
		pass(n.In)
		if _, ok := n.In.Properties().Watermark(n.TimeCol); ok {
			w := len(n.In.Properties().Cols)
			set[w], set[w+1] = rankStart, rankEnd
		}
	case *plan.Session:
		if _, ok := n.In.Properties().Watermark(n.TimeCol); ok {
			set[len(n.In.Properties().Cols)+1] = rankEnd
		}
	case *plan.UnionAll:
		pass(n.Ins[0])
		for c, r := range set {
			for _, in := range n.Ins[1:] {
				r2, ok := in.Properties().Watermark(c)
				if !ok {
					delete(set, c)
					break
				}
				r = min(r, r2)
				set[c] = r
			}
		}
	case *plan.HashJoin:
		joinWatermarks(n, set)
	case *plan.HashAgg:
		keys(n.In, n.Keys)
	case *plan.HopAgg:
		keys(n.In, n.Keys)
		if _, ok := n.In.Properties().Watermark(n.TimeCol); ok {
			set[len(n.Keys)], set[len(n.Keys)+1] = rankStart, rankEnd
		}
	case *plan.TopN:
		for _, c := range n.GroupBy {
			if r, ok := n.In.Properties().Watermark(c); ok {
				set[c] = r
			}
		}
	}
	p.Watermarks = nil
	for c, r := range set {
		p.Watermarks = append(p.Watermarks, catalog.WatermarkColumn{Col: c, Rank: r})
	}
	slices.SortFunc(p.Watermarks, func(a, b catalog.WatermarkColumn) int { return a.Col - b.Col })
}

// joinWatermarks finds the watermarks of a join's output, and the interval that its condition allows between rows.
func joinWatermarks(n *plan.HashJoin, set map[int]int) {
	l, r := n.L.Properties(), n.R.Properties()
	width := len(l.Cols)
	n.Interval = joinInterval(n)
	for i, c := range n.Output {
		for k := range n.LeftKeys {
			lr, okL := l.Watermark(n.LeftKeys[k])
			rr, okR := r.Watermark(n.RightKeys[k])
			if okL && okR && (c == n.LeftKeys[k] || c == n.RightKeys[k]+width) {
				set[i] = min(lr, rr)
			}
		}
		if iv := n.Interval; iv != nil {
			if _, has := set[i]; has {
				continue
			}
			if c == iv.LeftCol && iv.HasLo {
				set[i], _ = l.Watermark(c)
			}
			if c == iv.RightCol+width && iv.HasHi {
				set[i], _ = r.Watermark(iv.RightCol)
			}
		}
	}
}

// joinInterval finds conditions left + a >= right + b and the like between two columns with watermarks.
func joinInterval(n *plan.HashJoin) *plan.JoinInterval {
	l, r := n.L.Properties(), n.R.Properties()
	width := len(l.Cols)
	var iv *plan.JoinInterval
	for _, p := range logical.Conjuncts(n.Residual) {
		c, ok := p.(*scalar.Call)
		if !ok || len(c.Args) != 2 || c.Args[0].Type().Kind != c.Args[1].Type().Kind {
			continue
		}
		name := c.Fn.Name
		x, a, okX := shifted(c.Args[0])
		y, b, okY := shifted(c.Args[1])
		if !okX || !okY {
			continue
		}
		if x >= width {
			x, y, a, b = y, x, b, a
			name = map[string]string{">": "<", ">=": "<=", "<": ">", "<=": ">="}[name]
		}
		if x >= width || y < width {
			continue
		}
		y -= width
		if _, ok := l.Watermark(x); !ok {
			continue
		}
		if _, ok := r.Watermark(y); !ok {
			continue
		}
		if iv != nil && (iv.LeftCol != x || iv.RightCol != y) {
			continue
		}
		// left + a op right + b: left op right + d.
		d := b - a
		switch name {
		case ">", ">=":
			if iv == nil {
				iv = &plan.JoinInterval{LeftCol: x, RightCol: y}
			}
			if !iv.HasLo || d > iv.Lo {
				iv.HasLo, iv.Lo = true, d
			}
		case "<", "<=":
			if iv == nil {
				iv = &plan.JoinInterval{LeftCol: x, RightCol: y}
			}
			if !iv.HasHi || d < iv.Hi {
				iv.HasHi, iv.Hi = true, d
			}
		}
	}
	return iv
}

// shifted splits a timestamp column plus or minus a constant of a fixed length, in microseconds.
func shifted(e scalar.Expr) (col int, by int64, ok bool) {
	if k := e.Type().Kind; k != types.Timestamp && k != types.Timestamptz {
		return 0, 0, false
	}
	switch e := e.(type) {
	case *scalar.Column:
		return e.Index, 0, true
	case *scalar.Call:
		if len(e.Args) != 2 || e.Fn.Name != "+" && e.Fn.Name != "-" || e.Args[0].Type().Kind != e.T.Kind {
			return 0, 0, false
		}
		k, isConst := e.Args[1].(*scalar.Const)
		if !isConst || !k.Val.Valid || k.T.Kind != types.Interval || k.Val.Span.Months != 0 || k.Val.Span.Days != 0 && e.T.Kind == types.Timestamptz {
			return 0, 0, false
		}
		col, by, ok = shifted(e.Args[0])
		d := int64(k.Val.Span.Days)*86400e6 + k.Val.Span.Micros
		if e.Fn.Name == "-" {
			d = -d
		}
		return col, by + d, ok
	}
	return 0, 0, false
}

// onClose puts a WindowClose over a plan.
func onClose(x built, key []int) (built, *plan.Props, error) {
	p := *x.node.Properties()
	best := -1
	for i, w := range p.Watermarks {
		if best < 0 || w.Rank > p.Watermarks[best].Rank {
			best = i
		}
	}
	if best < 0 {
		return x, nil, sqlerr.Newf(sqlerr.InvalidObjectDefinition, "EMIT ON WINDOW CLOSE needs a column with a watermark in the key of the query").
			WithHint("Declare WATERMARK FOR column AS column - interval '...' on the source or table, and group by that column, or by window_start and window_end of windows over it.")
	}
	w := p.Watermarks[best]
	p.AppendOnly, p.Watermarks = true, []catalog.WatermarkColumn{w}
	n := &plan.WindowClose{Props: p, In: x.node, Col: w.Col, InDist: key}
	return built{n, x.cols}, &n.Props, nil
}
