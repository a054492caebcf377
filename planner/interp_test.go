package planner

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/expr"
	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
)

// interp evaluates logical plans as they stand, subqueries and dependent joins by nested loops. It is slow
// and has no cleverness: what it says is what a plan means.
type interp struct {
	m    *logical.Meta
	data map[string][][]types.Datum
	env  *exec.Env
	// steps bounds the work.
	steps int
}

type row = []types.Datum

type binding map[logical.ColID]types.Datum

var (
	errTwoRows = errors.New("more than one row")
	errTooLong = errors.New("too many steps")
)

func newInterp(m *logical.Meta, data map[string][][]types.Datum) *interp {
	return &interp{m: m, data: data, env: &exec.Env{Location: time.UTC}, steps: 300000}
}

func (b binding) with(cols []logical.ColID, r row) binding {
	n := make(binding, len(b)+len(cols))
	for k, v := range b {
		n[k] = v
	}
	for i, c := range cols {
		n[c] = r[i]
	}
	return n
}

func (ip *interp) eval(e scalar.Expr, env binding) (types.Datum, error) {
	var bad error
	ip.steps--
	if ip.steps < 0 {
		return types.Null, errTooLong
	}
	e = logical.MapExpr(e, func(x scalar.Expr) scalar.Expr {
		switch x := x.(type) {
		case *scalar.Column:
			v, ok := env[x.Index]
			if !ok {
				bad = fmt.Errorf("column %s#%d is not there", x.Name, x.Index)
			}
			return &scalar.Const{Node: x.Node, Val: v}
		case *logical.Subquery:
			v, err := ip.subquery(x, env)
			if err != nil {
				bad = err
			}
			return &scalar.Const{Node: x.Node, Val: v}
		}
		return nil
	})
	if bad != nil {
		return types.Null, bad
	}
	if c, ok := e.(*scalar.Const); ok {
		return c.Val, nil
	}
	return expr.FoldConst(e, ip.env)
}

func (ip *interp) truth(es []scalar.Expr, env binding) (bool, error) {
	for _, e := range es {
		v, err := ip.eval(e, env)
		if err != nil || !v.Bool() {
			return false, err
		}
	}
	return true, nil
}

func (ip *interp) subquery(s *logical.Subquery, env binding) (types.Datum, error) {
	rows, err := ip.run(s.Plan, env)
	if err != nil {
		return types.Null, err
	}
	cols := s.Plan.Cols()
	switch s.Kind {
	case logical.SubExists:
		return types.DBool(len(rows) > 0), nil
	case logical.SubScalar:
		if len(rows) > 1 {
			return types.Null, errTwoRows
		}
		if len(rows) == 0 {
			return types.Null, nil
		}
		return rows[0][slices.Index(cols, s.Col)], nil
	case logical.SubAny:
		out := types.DBool(false)
		for _, r := range rows {
			v, err := ip.eval(s.Pred, env.with(cols, r))
			if err != nil {
				return types.Null, err
			}
			if v.Bool() {
				return v, nil
			}
			if !v.Valid {
				out = v
			}
		}
		return out, nil
	}
	return types.Null, fmt.Errorf("subquery kind %d", s.Kind)
}

func datumText(v types.Datum) string {
	if !v.Valid {
		return "NULL"
	}
	return fmt.Sprint(num(v))
}

// num is the value of an integer, also of one that is a numeric.
func num(v types.Datum) int64 {
	if c, scale, ok := v.Dec.Trim().Small(); ok && scale == 0 && c != 0 {
		return c
	}
	return v.I
}

func rowText(r row) string {
	ss := make([]string, len(r))
	for i, v := range r {
		ss[i] = datumText(v)
	}
	return strings.Join(ss, "|")
}

func pick(cols, want []logical.ColID, r row) row {
	out := make(row, len(want))
	for i, c := range want {
		out[i] = r[slices.Index(cols, c)]
	}
	return out
}

func (ip *interp) run(n logical.Node, env binding) ([]row, error) {
	ip.steps--
	if ip.steps < 0 {
		return nil, errTooLong
	}
	switch n := n.(type) {
	case *logical.Scan:
		var out []row
		for i, r := range ip.data[n.Rel.Name] {
			var o row
			for _, k := range n.Ords {
				o = append(o, r[k])
			}
			if n.RowID != 0 {
				o = append(o, types.DInt(int64(i)))
			}
			out = append(out, o)
		}
		return out, nil
	case *logical.Values:
		var out []row
		for _, es := range n.Rows {
			o := row{}
			for _, e := range es {
				v, err := ip.eval(e, env)
				if err != nil {
					return nil, err
				}
				o = append(o, v)
			}
			out = append(out, o)
		}
		return out, nil
	case *logical.Join:
		return ip.join(n, env)
	case *logical.UnionAll:
		var out []row
		for k, in := range n.Ins {
			rows, err := ip.run(in, env)
			if err != nil {
				return nil, err
			}
			for _, r := range rows {
				o := pick(in.Cols(), n.Map[k], r)
				if n.Source != 0 {
					o = append(o, types.DInt(int64(k)))
				}
				out = append(out, o)
			}
		}
		return out, nil
	}
	in := n.Inputs()[0]
	rows, err := ip.run(in, env)
	if err != nil {
		return nil, err
	}
	cols := in.Cols()
	switch n := n.(type) {
	case *logical.Filter:
		var out []row
		for _, r := range rows {
			ok, err := ip.truth(n.Preds, env.with(cols, r))
			if err != nil {
				return nil, err
			}
			if ok {
				out = append(out, r)
			}
		}
		return out, nil
	case *logical.Project:
		var out []row
		for _, r := range rows {
			e := env.with(cols, r)
			o := row{}
			for _, x := range n.Exprs {
				v, err := ip.eval(x.Expr, e)
				if err != nil {
					return nil, err
				}
				o = append(o, v)
			}
			out = append(out, o)
		}
		return out, nil
	case *logical.Agg:
		return ip.agg(n, cols, rows)
	case *logical.TopN:
		return ip.topN(n, cols, rows, env)
	case *logical.Max1Row:
		seen := map[string]bool{}
		for _, r := range rows {
			k := rowText(pick(cols, n.GroupBy, r))
			if seen[k] {
				return nil, errTwoRows
			}
			seen[k] = true
		}
		return rows, nil
	case *logical.Hop:
		return hopRows(n, cols, rows), nil
	case *logical.Session:
		return sessionRows(n, cols, rows), nil
	case *logical.Window:
		return ip.window(n, cols, rows, env)
	}
	return nil, fmt.Errorf("interp: %T", n)
}

func (ip *interp) join(n *logical.Join, env binding) ([]row, error) {
	ls, err := ip.run(n.L, env)
	if err != nil {
		return nil, err
	}
	lc, rc := n.L.Cols(), n.R.Cols()
	dependent := logical.Free(n.R).Meets(logical.SetOf(lc...))
	var rs []row
	if !dependent {
		if rs, err = ip.run(n.R, env); err != nil {
			return nil, err
		}
	}
	var out []row
	matched := make([]bool, len(rs))
	for _, l := range ls {
		le := env.with(lc, l)
		if dependent {
			if rs, err = ip.run(n.R, le); err != nil {
				return nil, err
			}
		}
		any := false
		for i, r := range rs {
			ok, err := ip.truth(n.On, le.with(rc, r))
			if err != nil {
				return nil, err
			}
			if !ok {
				continue
			}
			any = true
			if !dependent {
				matched[i] = true
			}
			if n.Kind != logical.Semi && n.Kind != logical.Anti {
				out = append(out, append(slices.Clone(l), r...))
			}
		}
		switch {
		case n.Kind == logical.Semi && any, n.Kind == logical.Anti && !any:
			out = append(out, l)
		case (n.Kind == logical.Left || n.Kind == logical.Full) && !any:
			out = append(out, append(slices.Clone(l), make(row, len(rc))...))
		}
	}
	if n.Kind == logical.Right || n.Kind == logical.Full {
		for i, r := range rs {
			if !matched[i] {
				out = append(out, append(make(row, len(lc)), r...))
			}
		}
	}
	return out, nil
}

func (ip *interp) agg(n *logical.Agg, cols []logical.ColID, rows []row) ([]row, error) {
	var order []string
	groups := map[string][]row{}
	for _, r := range rows {
		k := rowText(pick(cols, n.Keys, r))
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], r)
	}
	if len(n.Keys) == 0 && len(rows) == 0 {
		order = []string{""}
	}
	var out []row
	for _, k := range order {
		g := groups[k]
		var o row
		if len(n.Keys) > 0 {
			o = pick(cols, n.Keys, g[0])
		}
		for _, a := range n.Aggs {
			v, err := aggregate(a.Fn, a.Distinct, g, cols, a.Args, a.Filter)
			if err != nil {
				return nil, err
			}
			o = append(o, v)
		}
		out = append(out, o)
	}
	return out, nil
}

// aggregate computes the few aggregates that the tests use, over integers and booleans.
func aggregate(f *fn.Func, distinct bool, rows []row, cols []logical.ColID, args []logical.ColID, filter logical.ColID) (types.Datum, error) {
	var vals []types.Datum
	seen := map[string]bool{}
	for _, r := range rows {
		if filter != 0 && !r[slices.Index(cols, filter)].Bool() {
			continue
		}
		v := types.DBool(true)
		if len(args) > 0 {
			v = r[slices.Index(cols, args[0])]
		}
		if !v.Valid || distinct && seen[datumText(v)] {
			continue
		}
		seen[datumText(v)] = true
		vals = append(vals, v)
	}
	if f.Name == "count" {
		return types.DInt(int64(len(vals))), nil
	}
	if len(vals) == 0 {
		return types.Null, nil
	}
	acc := num(vals[0])
	for _, v := range vals[1:] {
		switch n := num(v); f.Name {
		case "sum":
			acc += n
		case "min":
			acc = min(acc, n)
		case "max":
			acc = max(acc, n)
		case "bool_or":
			acc |= n
		default:
			return types.Null, fmt.Errorf("interp: aggregate %s", f.Name)
		}
	}
	if f.Ret.Kind == types.Numeric {
		return types.DDec(types.NewDecimal(acc, 0)), nil
	}
	return types.DInt(acc), nil
}

func (ip *interp) topN(n *logical.TopN, cols []logical.ColID, rows []row, env binding) ([]row, error) {
	limit, offset := int64(-1), int64(0)
	if n.Limit != nil {
		v, err := ip.eval(n.Limit, env)
		if err != nil {
			return nil, err
		}
		if v.Valid {
			limit = v.I
		}
	}
	if n.Offset != nil {
		v, err := ip.eval(n.Offset, env)
		if err != nil {
			return nil, err
		}
		offset = v.I
	}
	var order []string
	groups := map[string][]row{}
	for _, r := range rows {
		k := rowText(pick(cols, n.GroupBy, r))
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], r)
	}
	key := func(r row) row {
		var o row
		for _, x := range n.Order {
			o = append(o, r[slices.Index(cols, x.Col)])
		}
		return o
	}
	less := func(a, b row) bool {
		for i, x := range n.Order {
			p, q := key(a)[i], key(b)[i]
			if p.Valid != q.Valid {
				return p.Valid != x.NullsFirst
			}
			if num(p) != num(q) {
				return num(p) < num(q) != x.Desc
			}
		}
		return false
	}
	var out []row
	for _, k := range order {
		g := groups[k]
		sort.SliceStable(g, func(i, j int) bool { return less(g[i], g[j]) })
		for i, r := range g {
			at := int64(i)
			tie := n.WithTies && limit > 0 && offset+limit-1 < int64(len(g)) && at >= offset+limit && !less(g[offset+limit-1], r)
			if at < offset || limit >= 0 && at >= offset+limit && !tie {
				continue
			}
			if n.Rank != 0 {
				r = append(slices.Clone(r), types.DInt(at+1))
			}
			out = append(out, r)
		}
	}
	return out, nil
}

// hopRows assigns rows to windows.
func hopRows(n *logical.Hop, cols []logical.ColID, rows []row) []row {
	micros := func(s types.Span) int64 { return int64(s.Days)*86400e6 + s.Micros }
	size, slide, off := micros(n.Size), micros(n.Slide), micros(n.Offset)
	var out []row
	for _, r := range rows {
		v := r[slices.Index(cols, n.Time)]
		if !v.Valid {
			continue
		}
		t := v.I - off
		if n.Cumulate {
			s := t - ((t%size)+size)%size
			for e := s + slide; e <= s+size; e += slide {
				if e > t {
					out = append(out, append(slices.Clone(r), types.DInt(s+off), types.DInt(e+off)))
				}
			}
			continue
		}
		last := t - ((t%slide)+slide)%slide
		for s := last; s > t-size; s -= slide {
			out = append(out, append(slices.Clone(r), types.DInt(s+off), types.DInt(s+off+size)))
		}
	}
	return out
}

// sessionRows assigns rows to sessions.
func sessionRows(n *logical.Session, cols []logical.ColID, rows []row) []row {
	gap := int64(n.Gap.Days)*86400e6 + n.Gap.Micros
	at := slices.Index(cols, n.Time)
	last := at
	if n.Last != 0 {
		last = slices.Index(cols, n.Last)
	}
	key := func(r row) string {
		k := ""
		for _, p := range n.Partition {
			k += datumText(r[slices.Index(cols, p)]) + "|"
		}
		return k
	}
	var out []row
	for _, r := range rows {
		if !r[at].Valid {
			continue
		}
		// The rows of the partition, from this one on in both directions.
		lo, hi := r[at].I, r[last].I
		for grown := true; grown; {
			grown = false
			for _, o := range rows {
				if !o[at].Valid || key(o) != key(r) {
					continue
				}
				if from, to := o[at].I, o[last].I; from < lo && lo-to < gap || to > hi && from-hi < gap {
					lo, hi, grown = min(lo, from), max(hi, to), true
				}
			}
		}
		out = append(out, append(slices.Clone(r), types.DInt(lo), types.DInt(hi+gap)))
	}
	return out
}

// window knows row_number() and rank().
func (ip *interp) window(n *logical.Window, cols []logical.ColID, rows []row, env binding) ([]row, error) {
	for _, c := range n.Calls {
		numbered, err := ip.topN(&logical.TopN{In: n.In, GroupBy: n.Partition, Order: n.Order, Rank: c.ID}, cols, rows, env)
		if err != nil {
			return nil, err
		}
		if c.Fn.Name != "row_number" && c.Fn.Name != "rank" {
			return nil, fmt.Errorf("interp: window function %s", c.Fn.Name)
		}
		key := func(r row) string {
			var o row
			for _, x := range n.Order {
				o = append(o, r[slices.Index(cols, x.Col)])
			}
			return rowText(o)
		}
		for i := 1; i < len(numbered) && c.Fn.Name == "rank"; i++ {
			r, p := numbered[i], numbered[i-1]
			last := len(r) - 1
			if r[last].I > 1 && key(r) == key(p) {
				r[last] = p[last]
			}
		}
		rows, cols = numbered, append(slices.Clone(cols), c.ID)
	}
	return rows, nil
}
