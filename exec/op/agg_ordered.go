package op

import (
	"slices"
	"strings"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// ordered is an aggregate whose result is a list of its inputs: string_agg, array_agg, jsonb_agg.
// The inputs are kept in the order of ORDER BY; equal ones, and all without ORDER BY, in the order
// of their values, since no other order is the same after a restart, in another plan or from scratch.
//
// An item has the arguments and then the order columns that are not arguments.
type ordered struct {
	inputSets[[]types.Datum]
	name  string
	ts    []types.Type // of an item
	nargs int
}

func newOrdered(g Agg, no int, args []types.Type) (aggregator, int, error) {
	if g.Fn.Name == "array_agg" && args[0].Kind == types.Array {
		return nil, 0, unsupported(g)
	}
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
	o.no, o.size = byte(no), 24+96*len(args)
	o.cmp = func(a, b []types.Datum) int { return compareItems(o.ts, keys, a, b) }
	o.appendKey = func(dst []byte, x []types.Datum) []byte {
		for i, d := range x {
			dst = appendDatumKey(dst, o.ts[i], d, true)
		}
		return dst
	}
	o.appendVal = func(dst []byte, x []types.Datum) []byte { return vec.EncodeDatums(dst, o.ts, x) }
	o.takeVal = func(b []byte) ([]types.Datum, error) {
		row, rest, err := vec.DecodeDatums(nil, o.ts, b)
		if err == nil && len(rest) > 0 {
			err = vec.ErrCorruptRow
		}
		return row, err
	}
	return o, 0, nil
}

// compareItems orders by keys, then by all values in a total order, NULL last.
func compareItems(ts []types.Type, keys []SortKey, a, b []types.Datum) int {
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

func (a *ordered) add(b *aggBatch) error {
	for i, e := range b.ents {
		if a.name == "string_agg" && b.args[0].Nulls.Get(i) {
			continue
		}
		item := make([]types.Datum, len(b.args))
		for k, v := range b.args {
			item[k] = v.Datum(i)
			// The set outlives the chunk, and must not keep a whole arena page alive.
			item[k].S = strings.Clone(item[k].S)
		}
		a.change(e, item, b.diff(i))
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
		var d types.Datum
		var err error
		switch a.name {
		case "string_agg":
			d = types.DStr(joinItems(ms))
		case "array_agg":
			d = types.DStr(types.MakeArray(a.ts[0].Kind, firstColumn(ms)))
		default:
			elems := firstColumn(ms)
			texts := make([]string, len(elems))
			for i, x := range elems {
				if texts[i] = "null"; x.Valid {
					if texts[i], err = types.JSONFromDatum(a.ts[0], x, nil); err != nil {
						break
					}
				}
			}
			d = types.DStr(types.JSONArray(texts))
		}
		if err == nil {
			dst.AppendDatum(d)
		} else if err := a.tab.failed(err, dst); err != nil {
			return err
		}
	}
	return nil
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
