package op

import (
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/types"
)

// splitAgg says how the result of g over several panes comes from the panes' results: the aggregates that
// each pane computes, how to combine each, and, if there are two, the result is the first over the
// second. args are the types of the arguments.
func splitAgg(g Agg, args []types.Type) ([]Agg, []merger, error) {
	if len(g.OrderBy) > 0 || g.Distinct && !distinctIsNoop(g.Fn.Name) {
		return nil, nil, unsupported(g)
	}
	one := func(m merger) ([]Agg, []merger, error) {
		m.t = g.Type
		return []Agg{g}, []merger{m}, nil
	}
	if g.Fn.Name == "count" {
		return one(merger{kind: mergeSum})
	}
	if len(args) != 1 {
		return nil, nil, unsupported(g)
	}
	t := args[0]
	switch g.Fn.Name {
	case "min", "max":
		kind := mergeMin
		if g.Fn.Name == "max" {
			kind = mergeMax
		}
		return one(merger{kind: kind})
	case "bool_and", "every":
		return one(merger{kind: mergeAnd})
	case "bool_or":
		return one(merger{kind: mergeOr})
	case "bit_and":
		return one(merger{kind: mergeAnd})
	case "bit_or":
		return one(merger{kind: mergeOr})
	case "bit_xor":
		return one(merger{kind: mergeXor})
	}
	// Sums of floats depend on the order in which they are rounded, and sums of intervals may overflow.
	total := types.T(types.Numeric)
	switch t.Kind {
	case types.Int2, types.Int4:
		total = types.T(types.Int8)
	case types.Int8, types.Numeric:
	default:
		return nil, nil, unsupported(g)
	}
	switch g.Fn.Name {
	case "sum":
		return one(merger{kind: mergeSum})
	case "avg":
		sum, count := g, g
		sum.Fn, sum.Type = &fn.Func{ID: "sum", Name: "sum", Kind: fn.Aggregate, Direct: -1, Args: args, Ret: total}, total
		count.Fn, count.Type = &fn.Func{ID: "count", Name: "count", Kind: fn.Aggregate, Direct: -1, Args: args, Ret: types.T(types.Int8)}, types.T(types.Int8)
		return []Agg{sum, count}, []merger{{kind: mergeSum, t: total}, {kind: mergeSum, t: count.Type}}, nil
	}
	return nil, nil, unsupported(g)
}

type mergeKind uint8

const (
	mergeSum mergeKind = iota
	mergeMin
	mergeMax
	mergeAnd
	mergeOr
	mergeXor
)

// merger combines a column of the panes' results. NULLs do not count. What it does is associative and
// commutative to the last bit, so that a result depends on the panes alone.
type merger struct {
	kind mergeKind
	t    types.Type
	// Buffers: the parts of the windows of a pane up to it, by their number of panes less one.
	ints  []int64
	vals  []types.Datum
	valid []bool
}

func (m *merger) int(a, b int64) int64 {
	switch m.kind {
	case mergeSum:
		return a + b
	case mergeMin:
		return min(a, b)
	case mergeMax:
		return max(a, b)
	case mergeAnd:
		return a & b
	case mergeOr:
		return a | b
	default:
		return a ^ b
	}
}

func (m *merger) datum(a, b types.Datum) types.Datum {
	if !a.Valid {
		return b
	}
	if !b.Valid {
		return a
	}
	switch m.kind {
	case mergeSum:
		return types.DDec(a.Dec.Add(b.Dec))
	case mergeMin:
		if compareTotal(m.t, b, a) < 0 {
			return b
		}
		return a
	case mergeMax:
		if compareTotal(m.t, b, a) > 0 {
			return b
		}
		return a
	case mergeAnd:
		return types.DBool(a.Bool() && b.Bool())
	default:
		return types.DBool(a.Bool() || b.Bool())
	}
}

// merge appends to dst a value for each window of the present piece: of the rows of v that rows lists
// for the window's panes. Where there are none it is anything.
func (m *merger) merge(h *HopAgg, v *vec.Vector, rows []int32, dst *vec.Vector) {
	n := h.n
	mid := n - 1
	if m.t.Phys() != types.PhysInt {
		m.mergeDatums(h, v, rows, dst)
		return
	}
	if cap(m.ints) < n {
		m.ints, m.valid = make([]int64, n), make([]bool, n)
	}
	ints, valid := m.ints[:n], m.valid[:n]
	nulls := v.HasNulls()
	at := func(r int32) bool { return r >= 0 && !(nulls && v.Nulls.Get(int(r))) }
	for i, ahead := range h.ahead {
		r := rows[i*(2*n-1):][:2*n-1]
		acc, ok := int64(0), false
		for d := range n {
			if x := r[mid-d]; at(x) {
				if ok {
					acc = m.int(acc, v.Int[x])
				} else {
					acc, ok = v.Int[x], true
				}
			}
			ints[d], valid[d] = acc, ok
		}
		acc, ok = 0, false
		for d := range int(ahead) {
			if d > 0 {
				if x := r[mid+d]; at(x) {
					if ok {
						acc = m.int(acc, v.Int[x])
					} else {
						acc, ok = v.Int[x], true
					}
				}
			}
			switch left := mid - d; {
			case ok && valid[left]:
				dst.Int = append(dst.Int, m.int(ints[left], acc))
			case ok:
				dst.Int = append(dst.Int, acc)
			case valid[left]:
				dst.Int = append(dst.Int, ints[left])
			default:
				dst.AppendNull()
			}
		}
	}
}

func (m *merger) mergeDatums(h *HopAgg, v *vec.Vector, rows []int32, dst *vec.Vector) {
	n := h.n
	mid := n - 1
	if cap(m.vals) < n {
		m.vals = make([]types.Datum, n)
	}
	vals := m.vals[:n]
	for i, ahead := range h.ahead {
		r := rows[i*(2*n-1):][:2*n-1]
		acc := types.Null
		for d := range n {
			if x := r[mid-d]; x >= 0 {
				acc = m.datum(acc, v.Datum(int(x)))
			}
			vals[d] = acc
		}
		acc = types.Null
		for d := range int(ahead) {
			if d > 0 {
				if x := r[mid+d]; x >= 0 {
					acc = m.datum(acc, v.Datum(int(x)))
				}
			}
			dst.AppendDatum(m.datum(vals[mid-d], acc))
		}
	}
}

// finalAgg makes an output column of combined results: the first part, or for avg the first over the second.
type finalAgg struct {
	parts [2]int
	avg   bool
	site  int
}

func (f *finalAgg) divide(h *HopAgg, dst *vec.Vector) error {
	sum, count := h.parts.Cols[f.parts[0]], h.parts.Cols[f.parts[1]]
	tab, w := h.panes.tab, len(h.starts)
	tab.site, tab.of = f.site, nil
	for i, ok := range h.exists {
		if !ok || sum.IsNull(i) || count.IsNull(i) || count.Int[i] == 0 {
			dst.AppendNull()
			continue
		}
		var total types.Decimal
		if sum.Type.Phys() == types.PhysInt {
			total = types.NewDecimal(sum.Int[i], 0)
		} else {
			total = sum.Dec[i]
		}
		d, err := total.Div(types.NewDecimal(count.Int[i], 0))
		if err == nil {
			dst.AppendDec(d)
			continue
		}
		key := tab.keyOf(h.ents[i])
		key[len(key)-1].Int[0] = h.starts[i%w]
		fail := exec.RowFailure{Err: err, Site: f.site, Cols: key, Diff: 1}
		if i < w {
			fail.Diff = -1 // the window as it was
		}
		if err := h.failed(fail); err != nil {
			return err
		}
		dst.AppendNull()
	}
	return nil
}
