package session

import (
	"encoding/binary"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/pgwire"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// appender appends the wire form of row i of a column, which is not NULL.
type appender func(dst []byte, v *vec.Vector, i int) []byte

// appenderFor chooses how a column is written. The types that most columns have are written without the
// detour over a Datum.
func appenderFor(t types.Type, f pgwire.Format, env *types.Env) appender {
	if f == pgwire.Binary {
		switch t.Kind {
		case types.Int8:
			return func(dst []byte, v *vec.Vector, i int) []byte {
				return binary.BigEndian.AppendUint64(dst, uint64(v.Int[i]))
			}
		case types.Int4:
			return func(dst []byte, v *vec.Vector, i int) []byte {
				return binary.BigEndian.AppendUint32(dst, uint32(v.Int[i]))
			}
		case types.Float8:
			return func(dst []byte, v *vec.Vector, i int) []byte {
				if x := v.Float[i]; x == x {
					return binary.BigEndian.AppendUint64(dst, math.Float64bits(x))
				}
				return binary.BigEndian.AppendUint64(dst, 0x7ff8000000000000) // Go has another NaN
			}
		case types.Text, types.Varchar, types.Char, types.Bytea, types.Name:
			return func(dst []byte, v *vec.Vector, i int) []byte { return append(dst, v.Str[i]...) }
		}
		return func(dst []byte, v *vec.Vector, i int) []byte { return env.AppendBinary(dst, t, v.Datum(i)) }
	}
	switch t.Kind {
	case types.Int2, types.Int4, types.Int8:
		return func(dst []byte, v *vec.Vector, i int) []byte { return strconv.AppendInt(dst, v.Int[i], 10) }
	case types.Text, types.Varchar, types.Char, types.Name:
		return func(dst []byte, v *vec.Vector, i int) []byte { return append(dst, v.Str[i]...) }
	}
	return func(dst []byte, v *vec.Vector, i int) []byte { return types.AppendText(dst, t, v.Datum(i), env) }
}

func appendersFor(ts []types.Type, formats []pgwire.Format, env *types.Env) []appender {
	as := make([]appender, len(ts))
	for i, t := range ts {
		as[i] = appenderFor(t, pgwire.FormatOf(formats, i), env)
	}
	return as
}

// writeRows writes rows lo to hi-1 of the first columns of c.
func writeRows(w *pgwire.RowWriter, c *vec.Chunk, lo, hi int, as []appender) error {
	for i := lo; i < hi; i++ {
		w.BeginRow()
		for k, a := range as {
			v := c.Cols[k]
			if v.Nulls.Get(i) {
				w.Null()
				continue
			}
			w.EndValue(a(w.BeginValue(), v, i))
		}
		if err := w.EndRow(); err != nil {
			return err
		}
	}
	return nil
}

// wireType is the type that clients are told: an untyped literal is text.
func wireType(t types.Type) types.Type {
	if t.Kind == types.Unknown {
		return types.T(types.Text)
	}
	return t
}

// typeOfCatalog tells whether the text or the bytes of values of t mean nothing without the catalog: labels, rows and names of objects.
func typeOfCatalog(t types.Type) bool {
	return t.UserKind() != types.Unknown || t.Kind.IsReg() || t.Kind == types.Record || t.Kind == types.Array && (t.Elem.IsReg() || t.Elem == types.Record)
}

// typeLen is the size of a type's values on the wire, -1 if it varies.
func typeLen(t types.Type) int16 {
	switch t.Kind {
	case types.Bool, types.QChar:
		return 1
	case types.Int2:
		return 2
	case types.Int4, types.Float4, types.Date, types.Oid, types.Regclass, types.Regtype, types.Regproc, types.Regnamespace, types.Regrole, types.Xid, types.Void:
		return 4
	case types.Int8, types.Float8, types.Time, types.Timestamp, types.Timestamptz:
		return 8
	case types.Interval, types.UUID:
		return 16
	case types.Aclitem:
		return 12
	case types.Name:
		return 64
	}
	if t.Kind.IsEnum() {
		return 4
	}
	return -1
}

// decodeParam reads a parameter from the wire.
func decodeParam(t types.Type, p pgwire.Param, env *types.Env) (types.Datum, error) {
	if p.Value == nil {
		return types.Null, nil
	}
	if p.Format == pgwire.Binary {
		return env.ParseBinary(t, p.Value)
	}
	s := string(p.Value)
	if !utf8.ValidString(s) {
		return types.Null, sqlerr.Newf(sqlerr.CharacterNotInRepertoire, "invalid byte sequence for encoding \"UTF8\"")
	}
	return types.ParseText(t, s, env)
}
