package op

import (
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// pickFirst is an aggregate whose result is a value of one input, over append-only input: that input is enough.
type pickFirst struct {
	from *ordered
	tab  *groupTable
	cur  paged[[]types.Datum]
	size int // bytes of all items, about
}

func (a *pickFirst) attach(tab *groupTable) { a.tab = tab }

func (a *pickFirst) add(b *aggBatch) error {
	for i, e := range b.ents {
		if !a.from.takes(b.args, i) {
			continue
		}
		cur := a.cur.at(e)
		if *cur != nil {
			item := make([]types.Datum, 0, 4)
			for _, v := range b.args {
				item = append(item, v.Datum(i))
			}
			if c := a.from.cmp(item, *cur); c == 0 || c > 0 != a.from.last {
				continue
			}
		}
		a.set(cur, itemOf(b.args, i))
	}
	return nil
}

func (a *pickFirst) set(cur *[]types.Datum, item []types.Datum) {
	a.size += itemBytes(item) - itemBytes(*cur)
	*cur = item
}

func itemBytes(item []types.Datum) int {
	n := 96 * len(item)
	for _, d := range item {
		n += len(d.S)
	}
	return n
}

func (a *pickFirst) results(ents []uint32, dst *vec.Vector) error {
	for _, e := range ents {
		if item := *a.cur.at(e); item != nil {
			dst.AppendDatum(item[0])
		} else {
			dst.AppendNull()
		}
	}
	return nil
}

func (a *pickFirst) reset(e uint32) {
	a.cur.ensure(e + 1)
	a.set(a.cur.at(e), nil)
}

func (a *pickFirst) bytes() int { return a.size + a.tab.store.count()*24 }

func (a *pickFirst) encode(e uint32, dst []byte) []byte {
	item := *a.cur.at(e)
	if item == nil {
		return append(dst, 0)
	}
	return vec.EncodeDatums(append(dst, 1), a.from.ts, item)
}

func (a *pickFirst) decode(e uint32, b []byte) ([]byte, error) {
	if len(b) == 0 || b[0] > 1 {
		return nil, vec.ErrCorruptRow
	}
	if b[0] == 0 {
		return b[1:], nil
	}
	item, rest, err := vec.DecodeDatums(make([]types.Datum, 0, len(a.from.ts)), a.from.ts, b[1:])
	if err == nil {
		a.set(a.cur.at(e), item)
	}
	return rest, err
}
