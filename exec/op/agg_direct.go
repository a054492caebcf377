package op

import (
	"strings"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/types"
)

// directArgs keeps, for each group, the direct arguments of an ordered-set aggregate. They depend on the
// grouping alone, so that any row of the group has them.
type directArgs struct {
	ts   []types.Type
	vals paged[[]types.Datum]
}

func (d *directArgs) note(e uint32, args []*vec.Vector, row int) {
	v := d.vals.at(e)
	if *v != nil {
		return
	}
	*v = make([]types.Datum, len(d.ts))
	for k := range d.ts {
		(*v)[k] = args[k].Datum(row)
		(*v)[k].S = strings.Clone((*v)[k].S)
	}
}

// of gives the arguments of a group, nil if none of its rows has come yet.
func (d *directArgs) of(e uint32) []types.Datum { return *d.vals.at(e) }

func (d *directArgs) reset(e uint32) {
	d.vals.ensure(e + 1)
	*d.vals.at(e) = nil
}

func (d *directArgs) encode(e uint32, dst []byte) []byte {
	v := *d.vals.at(e)
	if v == nil {
		return append(dst, 0)
	}
	return vec.EncodeDatums(append(dst, 1), d.ts, v)
}

func (d *directArgs) decode(e uint32, b []byte) ([]byte, error) {
	if len(b) == 0 || b[0] > 1 {
		return nil, vec.ErrCorruptRow
	}
	if b[0] == 0 {
		return b[1:], nil
	}
	v, rest, err := vec.DecodeDatums(make([]types.Datum, 0, len(d.ts)), d.ts, b[1:])
	*d.vals.at(e) = v
	return rest, err
}
