package syscat

import (
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// sequences: nextval, currval, setval, lastval.
func (t implTable) sequences() {
	with := func(f func(c *call, s Sequences, rel *catalog.Relation, col int) (int64, error)) impl {
		return func(c *call) (types.Datum, error) {
			x := c.object(c.oid(0))
			switch {
			case x == nil:
				return types.Null, sqlerr.Newf(sqlerr.UndefinedTable, "could not open relation with OID %d", uint32(c.oid(0)))
			case x.sequence == 0:
				return types.Null, sqlerr.Newf(sqlerr.WrongObjectType, "\"%s\" is not a sequence", x.name)
			case c.Sequences == nil:
				return types.Null, sqlerr.Newf(sqlerr.FeatureNotSupported, "sequences cannot be used here")
			}
			v, err := f(c, c.Sequences, x.rel, x.rel.ColumnIndex(x.rel.Columns[x.sequence-1].Name))
			return types.DInt(v), err
		}
	}
	t.set(with(func(_ *call, s Sequences, rel *catalog.Relation, col int) (int64, error) { return s.Next(rel, col) }), "nextval(regclass)")
	t.set(with(func(_ *call, s Sequences, rel *catalog.Relation, col int) (int64, error) { return s.Current(rel, col) }), "currval(regclass)")
	t.set(with(func(c *call, s Sequences, rel *catalog.Relation, col int) (int64, error) {
		called := len(c.args) < 3 || c.args[2].Bool()
		return c.args[1].I, s.Set(rel, col, c.args[1].I, called)
	}), "setval(regclass,int8)", "setval(regclass,int8,bool)")
	t.set(func(c *call) (types.Datum, error) {
		if c.Sequences == nil {
			return types.Null, sqlerr.Newf(sqlerr.FeatureNotSupported, "sequences cannot be used here")
		}
		v, err := c.Sequences.Last()
		return types.DInt(v), err
	}, "lastval()")
}
