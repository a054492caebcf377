package op

import (
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// hypothetical is rank, dense_rank, percent_rank and cume_dist of a row that is not there: of the direct
// arguments among the rows of the group. What is equal in SQL is one item, since the result does not tell it apart.
type hypothetical struct {
	inputSets[[]types.Datum]
	name   string
	direct directArgs
}

func newHypothetical(g Agg, no int, args []types.Type) *hypothetical {
	n := len(args) / 2
	a := &hypothetical{name: g.Fn.Name}
	a.direct.ts = args[:n]
	ts := args[n:]
	keys := make([]SortKey, n)
	for i, k := range g.OrderBy {
		keys[i] = SortKey{Col: i, Desc: k.Desc, NullsFirst: k.NullsFirst}
	}
	a.no, a.size = byte(no), 24+96*n
	a.cmp = func(x, y []types.Datum) int { return compareByKeys(ts, keys, x, y) }
	a.appendKey = func(dst []byte, x []types.Datum) []byte {
		for i, d := range x {
			dst = appendDatumKey(dst, ts[i], d, false)
		}
		return dst
	}
	a.appendVal = func(dst []byte, x []types.Datum) []byte { return vec.EncodeDatums(dst, ts, x) }
	a.takeVal = func(b []byte) ([]types.Datum, error) { return takeRow(ts, b) }
	return a
}

func takeRow(ts []types.Type, b []byte) ([]types.Datum, error) {
	row, rest, err := vec.DecodeDatums(make([]types.Datum, 0, len(ts)), ts, b)
	if err == nil && len(rest) > 0 {
		err = vec.ErrCorruptRow
	}
	return row, err
}

func (a *hypothetical) add(b *aggBatch) error {
	n := len(a.direct.ts)
	for i, e := range b.ents {
		a.direct.note(e, b.args, i)
		a.change(e, itemOf(b.args[n:], i), b.diff(i))
	}
	return nil
}

func (a *hypothetical) results(ents []uint32, dst *vec.Vector) error {
	for _, e := range ents {
		ms := &a.sets.at(e).ms
		var before, upTo int64
		var different int
		if args := a.direct.of(e); args != nil {
			before, different = ms.before(args, a.cmp)
			_, same := ms.count(args, a.cmp)
			upTo = before + same
		}
		switch a.name {
		case "rank":
			dst.AppendInt(before + 1)
		case "dense_rank":
			dst.AppendInt(int64(different) + 1)
		case "percent_rank":
			if ms.total == 0 {
				dst.AppendFloat(0)
			} else {
				dst.AppendFloat(float64(before) / float64(ms.total))
			}
		default:
			dst.AppendFloat(float64(upTo+1) / float64(ms.total+1))
		}
	}
	return nil
}

func (a *hypothetical) reset(e uint32) {
	a.inputSets.reset(e)
	a.direct.reset(e)
}

func (a *hypothetical) bytes() int { return a.inputSets.bytes() + a.tab.store.count()*120 }

func (a *hypothetical) encode(e uint32, dst []byte) []byte { return a.direct.encode(e, dst) }

func (a *hypothetical) decode(e uint32, b []byte) ([]byte, error) { return a.direct.decode(e, b) }
