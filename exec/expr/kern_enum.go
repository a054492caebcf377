package expr

import (
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// enumOf describes the enum that the first argument of a call is of.
func enumOf(x *genCall) (*types.UserType, error) {
	env := x.st.tenv()
	k := x.types[0].Kind
	if env.Types == nil {
		return nil, sqlerr.Newf(sqlerr.UndefinedObject, "type with OID %d does not exist", k.OID())
	}
	u := env.Types.UserType(k)
	switch {
	case u == nil:
		return nil, sqlerr.Newf(sqlerr.UndefinedObject, "type with OID %d does not exist", k.OID())
	case len(u.Labels) == 0:
		return nil, sqlerr.Newf(sqlerr.ObjectNotInPrerequisiteState, "enum %s contains no values", env.Types.UserTypeName(k))
	}
	return u, nil
}

// enumRange gives the labels from the first to the second argument; NULL is no bound.
func enumRange(x *genCall, a []types.Datum) (types.Datum, error) {
	u, err := enumOf(x)
	if err != nil {
		return types.Null, err
	}
	var elems []types.Datum
	for _, l := range u.Labels {
		if len(a) == 2 && (a[0].Valid && l.Pos < a[0].I || a[1].Valid && l.Pos > a[1].I) {
			continue
		}
		elems = append(elems, types.DInt(l.Pos))
	}
	return types.DStr(types.MakeArray(u.Kind, elems)), nil
}

func addEnumKernels(t table) {
	t.add("domain_check(anyelement,bool,text,text)", datums(func(_ *genCall, a []types.Datum) (types.Datum, error) {
		if a[1].Valid && !a[1].Bool() {
			return types.Null, types.DomainViolation(a[2].S, a[3].S)
		}
		return a[0], nil
	}))
	t.add("record_field(record,int4)", datums(func(_ *genCall, a []types.Datum) (types.Datum, error) {
		_, vals, err := types.DecodeRecord(a[0].S)
		if err != nil || a[1].I < 0 || int(a[1].I) >= len(vals) {
			return types.Null, err
		}
		return vals[a[1].I], nil
	}))
	end := func(last bool) factory {
		return datums(func(x *genCall, _ []types.Datum) (types.Datum, error) {
			u, err := enumOf(x)
			switch {
			case err != nil:
				return types.Null, err
			case last:
				return types.DInt(u.Labels[len(u.Labels)-1].Pos), nil
			}
			return types.DInt(u.Labels[0].Pos), nil
		})
	}
	t.add("enum_first(anyenum)", end(false))
	t.add("enum_last(anyenum)", end(true))
	t.add("enum_range(anyenum)", datums(enumRange))
	t.add("enum_range(anyenum,anyenum)", datums(enumRange))
}
