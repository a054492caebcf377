package fn

import (
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// CommonType chooses the type that the branches of a UNION, CASE, COALESCE, ... are cast to.
// what is the construct's name for the error `CASE types text and integer cannot be matched`
// (42804); the index is that of the branch an error points to. Order matters: Postgres puts the
// ELSE of a CASE first, and the left side of IN. The result keeps a modifier that all share.
func (r *Registry) CommonType(what string, ts []types.Type) (types.Type, int, error) {
	t, bad := r.commonType(ts)
	if bad >= 0 {
		prev, _ := r.commonType(ts[:bad])
		return types.Type{}, bad, sqlerr.Newf(sqlerr.DatatypeMismatch, "%s types %s and %s cannot be matched",
			what, typeName(prev), typeName(ts[bad]))
	}
	for i, u := range ts {
		if !r.CanCast(base(u), t, Implicit) {
			return types.Type{}, i, sqlerr.Newf(sqlerr.CannotCoerce, "%s could not convert type %s to %s",
				what, typeName(u), typeName(t))
		}
	}
	t.Mod = commonMod(t, ts)
	return t, 0, nil
}

// commonType gives the type without modifier, or the index of the first that has none in common
// with those before it.
func (r *Registry) commonType(ts []types.Type) (types.Type, int) {
	p := types.T(types.Unknown)
	for i, n := range ts {
		n = base(n)
		switch {
		case isUnknown(n) || n == p:
		case isUnknown(p):
			p = n
		case categoryOf(n) != categoryOf(p):
			return p, i
		case !isPreferred(p) && r.CanCast(p, n, Implicit) && !r.CanCast(n, p, Implicit):
			p = n
		}
	}
	if isUnknown(p) {
		p = types.T(types.Text)
	}
	return p, -1
}

// commonMod is the modifier that every branch has, or -1.
func commonMod(t types.Type, ts []types.Type) int32 {
	mod := int32(-1)
	for i, u := range ts {
		if base(u) != base(t) || i > 0 && u.Mod != mod {
			return -1
		}
		mod = u.Mod
	}
	return mod
}
