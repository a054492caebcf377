package fn

import (
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// bindPoly finds what AnyElement stands for in a call (AnyArray is the array of it). The zero Type
// means that the signature is not polymorphic.
//
// If all arguments are of unknown type that is an error only when the call was chosen (final).
func (r *Registry) bindPoly(c *candidate, args []types.Type, final bool) (types.Type, error) {
	var elem types.Type
	bound, poly, array := false, isPoly(c.fn.Ret), c.fn.Ret.Kind == types.AnyArray
	var compat []types.Type
	for i, have := range args {
		want := c.args[i]
		if !isPoly(want) {
			continue
		}
		poly = true
		if want.Kind == types.AnyArray {
			array = true
			switch {
			case isUnknown(have):
				continue
			case have.Kind != types.Array:
				return types.Type{}, sqlerr.Newf(sqlerr.DatatypeMismatch,
					"argument declared anyarray is not an array but type %s", typeName(have))
			}
			have = types.T(have.Elem)
		}
		if want.Kind == types.AnyEnum && !isUnknown(have) && !have.Kind.IsEnum() {
			return types.Type{}, sqlerr.Newf(sqlerr.DatatypeMismatch, "type matched to anyenum is not an enum type: %s", typeName(have))
		}
		if c.fn.NonArray && have.Kind == types.Array {
			return types.Type{}, sqlerr.Newf(sqlerr.DatatypeMismatch, "type matched to anynonarray is an array type: %s", typeName(have))
		}
		switch {
		case c.fn.Compatible:
			compat = append(compat, have)
		case isUnknown(have):
		case !bound:
			elem, bound = have, true
		case elem != have:
			return types.Type{}, sqlerr.Newf(sqlerr.DatatypeMismatch,
				"arguments declared \"anyelement\" are not all alike").
				WithDetail("%s versus %s", typeName(elem), typeName(have))
		}
	}
	if !poly {
		return types.Type{}, nil
	}
	if c.fn.Compatible {
		t, _, err := r.CommonType("anycompatible", compat)
		if err != nil {
			return types.Type{}, err
		}
		elem, bound = base(t), true
	}
	if !bound && !final {
		return types.Type{}, nil
	}
	if !bound {
		return types.Type{}, sqlerr.Newf(sqlerr.DatatypeMismatch,
			"could not determine polymorphic type because input has type unknown")
	}
	if array && elem.Kind == types.Array {
		return types.Type{}, sqlerr.Newf(sqlerr.UndefinedObject,
			"could not find array type for data type %s", typeName(elem))
	}
	return elem, nil
}

// substitute puts elem in place of the polymorphic types.
func substitute(t, elem types.Type) types.Type {
	switch t.Kind {
	case types.AnyElement, types.AnyEnum:
		return elem
	case types.AnyArray:
		return types.ArrayOf(elem.Kind)
	}
	return t
}
