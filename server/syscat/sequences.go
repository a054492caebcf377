package syscat

import (
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/parse"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// sequences: nextval, currval, setval, lastval, pg_sequence_last_value, pg_sequence_parameters.
func (t implTable) sequences() {
	with := func(f func(c *call, s Sequences, seq *catalog.Relation) (int64, error)) impl {
		return func(c *call) (types.Datum, error) {
			x := c.object(c.oid(0))
			switch {
			case x == nil:
				return types.Null, sqlerr.Newf(sqlerr.UndefinedTable, "could not open relation with OID %d", uint32(c.oid(0)))
			case x.seq == nil:
				return types.Null, sqlerr.Newf(sqlerr.WrongObjectType, "\"%s\" is not a sequence", x.name)
			case c.Sequences == nil:
				return types.Null, sqlerr.Newf(sqlerr.FeatureNotSupported, "sequences cannot be used here")
			}
			v, err := f(c, c.Sequences, x.rel)
			return types.DInt(v), err
		}
	}
	t.set(with(func(_ *call, s Sequences, seq *catalog.Relation) (int64, error) { return s.Next(seq) }), "nextval(regclass)")
	t.set(with(func(_ *call, s Sequences, seq *catalog.Relation) (int64, error) { return s.Current(seq) }), "currval(regclass)")
	t.set(with(func(c *call, s Sequences, seq *catalog.Relation) (int64, error) {
		called := len(c.args) < 3 || c.args[2].Bool()
		return c.args[1].I, s.Set(seq, c.args[1].I, called)
	}), "setval(regclass,int8)", "setval(regclass,int8,bool)")
	t.set(func(c *call) (types.Datum, error) {
		if c.Sequences == nil {
			return types.Null, sqlerr.Newf(sqlerr.FeatureNotSupported, "sequences cannot be used here")
		}
		v, err := c.Sequences.Last()
		return types.DInt(v), err
	}, "lastval()")
	t.set(func(c *call) (types.Datum, error) {
		x := c.object(c.oid(0))
		if x == nil || x.seq == nil || c.Sequences == nil || !c.Sequences.Readable(x.rel) {
			return types.Null, nil
		}
		v, _, called, err := c.Sequences.Standing(x.rel)
		if err != nil || !called {
			return types.Null, err
		}
		return types.DInt(v), nil
	}, "pg_sequence_last_value(regclass)")
}

// standing is a sequence as a relation: its one row.
func standing(env *Env, seq *catalog.Relation) ([][]types.Datum, error) {
	if env.Sequences == nil {
		return nil, sqlerr.Newf(sqlerr.FeatureNotSupported, "sequences cannot be used here")
	}
	last, logged, called, err := env.Sequences.Standing(seq)
	if err != nil {
		return nil, err
	}
	return [][]types.Datum{{types.DInt(last), types.DInt(logged), types.DBool(called)}}, nil
}

// ownedColumn is the number of the column that owns a sequence, 0 if none does.
func (e *Env) ownedColumn(q *catalog.Sequence) int {
	if x := e.object(q.OwnedBy); x != nil && q.OwnedBy != 0 {
		for _, a := range x.cols {
			if a.Name == q.OwnedColumn {
				return a.num
			}
		}
	}
	return 0
}

// unpin writes names of relations where a stored text has their oids.
func (e *Env) unpin(text string) string {
	return parse.Unpin(text, func(oid uint32) (string, bool) {
		x := e.object(catalog.ID(oid))
		if x == nil {
			return "", false
		}
		return e.qualified(x), true
	})
}
