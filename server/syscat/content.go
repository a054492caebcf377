package syscat

import (
	"fmt"

	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/types"
)

// content collects the rows of one system relation.
type content struct {
	env *Env
	cat *catalog.Catalog
	sys *system
	def *relation
	// at are the columns that add gives values for, base a row of the values of the others.
	at   []int
	base []types.Datum
	out  [][]types.Datum
	err  error
}

// columns says which columns the following adds have values for. The others are NULL, or 0, false
// or "" if they are NOT NULL.
func (c *content) columns(names ...string) {
	cols := c.def.rel.Columns
	c.base = make([]types.Datum, len(cols))
	for i, col := range cols {
		if col.NotNull {
			c.base[i].Valid = true
			if col.Hidden { // tableoid
				c.base[i] = types.DInt(int64(c.def.rel.ID))
			}
			if col.Type.Kind == types.Array {
				c.base[i] = types.DStr(types.MakeArray(col.Type.Elem, nil))
			}
		}
	}
	c.at = c.at[:0]
	for _, n := range names {
		i := c.def.rel.ColumnIndex(n)
		if i < 0 {
			c.fail(fmt.Errorf("no column %q", n))
			i = 0
		}
		c.at = append(c.at, i)
	}
}

// add adds a row with the values of the columns that were named. A nil is NULL.
func (c *content) add(vals ...any) {
	if len(vals) != len(c.at) {
		c.fail(fmt.Errorf("%d values for %d columns", len(vals), len(c.at)))
		return
	}
	row := append([]types.Datum(nil), c.base...)
	for i, v := range vals {
		col := &c.def.rel.Columns[c.at[i]]
		if s, isText := v.(string); isText {
			v = c.env.resolve(s)
		}
		d, ok := datum(col.Type, v)
		if !ok || !d.Valid && col.NotNull {
			c.fail(fmt.Errorf("column %s of type %s cannot be %#v", col.Name, col.Type.Name(), v))
			return
		}
		row[c.at[i]] = d
	}
	c.out = append(c.out, row)
}

func (c *content) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// datum makes a value of type t of a Go value.
func datum(t types.Type, v any) (types.Datum, bool) {
	ints := t.Phys() == types.PhysInt
	switch v := v.(type) {
	case nil:
		return types.Null, true
	case types.Datum:
		return v, true
	case bool:
		return types.DBool(v), t.Kind == types.Bool
	case string:
		return types.DStr(v), t.Phys() == types.PhysStr && t.Kind != types.Array
	case byte:
		return types.DStr(string(rune(v))), t.Kind == types.QChar
	case int32: // a modifier, or a letter
		if t.Kind == types.QChar {
			return types.DStr(string(v)), true
		}
		return types.DInt(int64(v)), ints
	case int:
		return types.DInt(int64(v)), ints
	case int64:
		return types.DInt(v), ints
	case int16:
		return types.DInt(int64(v)), ints
	case uint32:
		return types.DInt(int64(v)), ints
	case catalog.ID:
		return types.DInt(int64(v)), ints
	case float64:
		return types.DFloat(v), t.Phys() == types.PhysFloat
	case []string:
		return array(t, v)
	case []int:
		return array(t, v)
	case []uint32:
		return array(t, v)
	}
	return types.Null, false
}

func array[T any](t types.Type, vs []T) (types.Datum, bool) {
	if t.Kind != types.Array {
		return types.Null, false
	}
	ds := make([]types.Datum, len(vs))
	for i, v := range vs {
		d, ok := datum(t.ElemType(), any(v))
		if !ok {
			return types.Null, false
		}
		ds[i] = d
	}
	if t.IsVector() {
		return types.DStr(types.MakeVector(t.Elem, ds)), true
	}
	return types.DStr(types.MakeArray(t.Elem, ds)), true
}
