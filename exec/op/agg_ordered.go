package op

import (
	"slices"
	"strings"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// ordered is an aggregate whose result is a list of its inputs, or the first or last of them: string_agg, array_agg,
// jsonb_agg, min_by and so on.
// The inputs are kept in the order of ORDER BY; equal ones, and all without ORDER BY, in the order
// of their values, since no other order is the same after a restart, in another plan or from scratch.
//
// An item has the arguments and then the order columns that are not arguments.
type ordered struct {
	inputSets[[]types.Datum]
	name  string
	ts    []types.Type // of an item
	nargs int
	last  bool // the result is the last item
}

func newOrdered(g Agg, no int, args []types.Type, appendOnly bool) (aggregator, int, error) {
	o := &ordered{name: g.Fn.Name, ts: args, nargs: len(g.Args)}
	var keys []SortKey
	for i, k := range g.OrderBy {
		at := slices.Index(g.Args, k.Col)
		if at < 0 {
			at = o.nargs + i
			if g.Distinct || at >= len(args) {
				return nil, 0, unsupported(g)
			}
		}
		k.Col = at
		keys = append(keys, k)
	}
	switch g.Fn.Name {
	case "min_by", "arg_min":
		keys = append([]SortKey{{Col: 1}}, keys...)
	case "max_by", "arg_max":
		keys = append([]SortKey{{Col: 1, Desc: true}}, keys...)
	}
	o.last = g.Fn.Name == "last_value"
	o.no, o.size = byte(no), 24+96*len(args)
	o.cmp = func(a, b []types.Datum) int { return compareItems(o.ts, keys, a, b) }
	o.appendKey = func(dst []byte, x []types.Datum) []byte {
		for i, d := range x {
			dst = appendDatumKey(dst, o.ts[i], d, true)
		}
		return dst
	}
	o.appendVal = func(dst []byte, x []types.Datum) []byte { return vec.EncodeDatums(dst, o.ts, x) }
	o.takeVal = func(b []byte) ([]types.Datum, error) { return takeRow(o.ts, b) }
	if appendOnly && isPick(o.name) {
		return &pickFirst{from: o}, 0, nil
	}
	return o, 0, nil
}

// compareByKeys orders by keys.
func compareByKeys(ts []types.Type, keys []SortKey, a, b []types.Datum) int {
	for _, k := range keys {
		x, y := a[k.Col], b[k.Col]
		switch {
		case !x.Valid || !y.Valid:
			if x.Valid == y.Valid {
				continue
			}
			if !x.Valid == k.NullsFirst {
				return -1
			}
			return 1
		default:
			c := types.Compare(ts[k.Col], x, y)
			if k.Desc {
				c = -c
			}
			if c != 0 {
				return c
			}
		}
	}
	return 0
}

// compareItems orders by keys, then by all values in a total order, NULL last.
func compareItems(ts []types.Type, keys []SortKey, a, b []types.Datum) int {
	if c := compareByKeys(ts, keys, a, b); c != 0 {
		return c
	}
	for i := range a {
		switch {
		case a[i].Valid && b[i].Valid:
			if c := compareTotal(ts[i], a[i], b[i]); c != 0 {
				return c
			}
		case a[i].Valid:
			return -1
		case b[i].Valid:
			return 1
		}
	}
	return 0
}

// takes tells whether row i is an input: NULLs are left out by the aggregates that say so.
func (a *ordered) takes(args []*vec.Vector, i int) bool {
	switch a.name {
	case "string_agg", "any_value":
		return !args[0].Nulls.Get(i)
	case "min_by", "arg_min", "max_by", "arg_max":
		return !args[1].Nulls.Get(i)
	}
	return true
}

// itemOf copies a row, since the set outlives the chunk and must not keep a whole arena page alive.
func itemOf(args []*vec.Vector, row int) []types.Datum {
	item := make([]types.Datum, len(args))
	for k, v := range args {
		item[k] = cloned(v.Datum(row))
	}
	return item
}

func cloned(d types.Datum) types.Datum {
	d.S = strings.Clone(d.S)
	return d
}

func (a *ordered) add(b *aggBatch) error {
	for i, e := range b.ents {
		if a.takes(b.args, i) {
			a.change(e, itemOf(b.args, i), b.diff(i))
		}
	}
	return nil
}

func (a *ordered) results(ents []uint32, dst *vec.Vector) error {
	for _, e := range ents {
		ms := &a.sets.at(e).ms
		if ms.n == 0 {
			dst.AppendNull()
			continue
		}
		d, err := a.result(ms)
		if err == nil {
			dst.AppendDatum(d)
		} else if err := a.tab.failed(err, dst); err != nil {
			return err
		}
	}
	return nil
}

func (a *ordered) result(ms *multiset[[]types.Datum]) (types.Datum, error) {
	switch a.name {
	case "string_agg":
		return types.DStr(joinItems(ms)), nil
	case "array_agg":
		if a.ts[0].Kind == types.Array {
			s, err := types.JoinArrays(a.ts[0].Elem, firstColumn(ms))
			return types.DStr(s), err
		}
		return types.DStr(types.MakeArray(a.ts[0].Kind, firstColumn(ms))), nil
	case "json_agg", "json_rows_agg":
		return a.jsonList(ms)
	case "json_object_agg":
		return a.jsonObject(ms)
	case "jsonb_agg":
		elems := firstColumn(ms)
		texts := make([]string, len(elems))
		for i, x := range elems {
			var err error
			if texts[i], err = a.json(a.ts[0], x); err != nil {
				return types.Null, err
			}
		}
		return types.DStr(types.JSONArray(texts)), nil
	case "jsonb_object_agg":
		return a.object(ms)
	}
	item, ok := ms.first()
	if a.last {
		item, ok = ms.last()
	}
	if !ok {
		return types.Null, nil
	}
	return item[0], nil
}

func (a *ordered) json(t types.Type, d types.Datum) (string, error) {
	if !d.Valid {
		return "null", nil
	}
	return types.JSONFromDatum(t, d, a.tab.env)
}

// object is the result of jsonb_object_agg: of equal keys the last one stays.
func (a *ordered) object(ms *multiset[[]types.Datum]) (types.Datum, error) {
	var pairs []string
	var err error
	ms.each(func(v []types.Datum, n int64) {
		if err != nil || n <= 0 {
			return
		}
		var key, value string
		if key, err = types.JSONKey(a.ts[0], v[0], a.tab.env); err != nil {
			return
		}
		if value, err = a.json(a.ts[1], v[1]); err == nil {
			pairs = append(pairs, key, value)
		}
	})
	if err != nil {
		return types.Null, err
	}
	return types.DStr(types.JSONObject(pairs)), nil
}

// jsonList is the result of json_agg.
func (a *ordered) jsonList(ms *multiset[[]types.Datum]) (types.Datum, error) {
	sep := ", "
	if k := a.ts[0].Kind; k == types.Array || k.IsRow() || a.name == "json_rows_agg" {
		sep = ", \n "
	}
	out := []byte{'['}
	var err error
	ms.each(func(v []types.Datum, n int64) {
		for range n {
			if err != nil {
				return
			}
			if len(out) > 1 {
				out = append(out, sep...)
			}
			out, err = types.AppendJSONText(out, a.ts[0], v[0], false, a.tab.env)
		}
	})
	return types.DStr(string(append(out, ']'))), err
}

// jsonObject is the result of json_object_agg, which keeps members of one name.
func (a *ordered) jsonObject(ms *multiset[[]types.Datum]) (types.Datum, error) {
	out := []byte("{ ")
	var err error
	ms.each(func(v []types.Datum, n int64) {
		for range n {
			if err != nil {
				return
			}
			var key string
			if key, err = types.JSONKey(a.ts[0], v[0], a.tab.env); err != nil {
				return
			}
			if len(out) > 2 {
				out = append(out, ", "...)
			}
			out = append(types.AppendJSONString(out, key), " : "...)
			out, err = types.AppendJSONText(out, a.ts[1], v[1], false, a.tab.env)
		}
	})
	return types.DStr(string(append(out, " }"...))), err
}

// joinItems joins the first column; each further value is preceded by its own second column.
func joinItems(ms *multiset[[]types.Datum]) string {
	var b strings.Builder
	first := true
	ms.each(func(v []types.Datum, n int64) {
		for range n {
			if !first && len(v) > 1 && v[1].Valid {
				b.WriteString(v[1].S)
			}
			first = false
			b.WriteString(v[0].S)
		}
	})
	return b.String()
}

func firstColumn(ms *multiset[[]types.Datum]) []types.Datum {
	var out []types.Datum
	ms.each(func(v []types.Datum, n int64) {
		for range n {
			out = append(out, v[0])
		}
	})
	return out
}
