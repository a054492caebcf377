package fn

import (
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// CastContext says where a cast stands; a later context allows everything that an earlier one does.
type CastContext uint8

// The contexts of a cast.
const (
	// Implicit: anywhere in an expression.
	Implicit CastContext = iota
	// Assignment: storing into a column.
	Assignment
	// Explicit: CAST or ::.
	Explicit
)

// CastStep is one function to apply; To is the type after it, with its modifier.
type CastStep struct {
	Fn *Func
	To types.Type
}

// IDs of the casts that are not bound to one pair of types. Their kernels look at the argument's
// type and at the result type of the call.
const (
	// CastArray and CastArrayExplicit cast each element of an array.
	CastArray         = "cast(anyarray as anyarray)"
	CastArrayExplicit = "cast(anyarray as anyarray,explicit)"
	// CastArrayText, CastTextArray and those of records and enums use the text form.
	CastArrayText  = "cast(anyarray as text)"
	CastTextArray  = "cast(text as anyarray)"
	CastRecordText = "cast(record as text)"
	CastTextRecord = "cast(text as record)"
	CastEnumText   = "cast(anyenum as text)"
	CastTextEnum   = "cast(text as anyenum)"
)

// castKey is a pair of kinds; arrays are not in the table.
type castKey struct{ from, to types.Kind }

// castEntry is a row of the cast matrix; fn nil: the representation is the same.
type castEntry struct {
	fn  *Func
	ctx CastContext
}

// ResolveCast finds how a value of type from becomes one of type to. The steps are to be applied in
// order; no steps: the value is right as it is and only its type changes. An Unknown literal is
// not cast: the caller parses its text as the target type (from Unknown gives no steps but those
// for the modifier). The error is 42846.
//
// A modifier that the source does not have is applied by the last step, as Postgres does: for an
// explicit cast varchar(n) and char(n) cut silently, else they refuse.
func (r *Registry) ResolveCast(from, to types.Type, ctx CastContext) ([]CastStep, error) {
	steps, ok := r.castSteps(from, to, ctx)
	if !ok {
		return nil, sqlerr.Newf(sqlerr.CannotCoerce, "cannot cast type %s to %s", typeName(from), typeName(to))
	}
	return steps, nil
}

// CanCast tells whether ResolveCast would succeed.
func (r *Registry) CanCast(from, to types.Type, ctx CastContext) bool {
	_, ok := r.castSteps(from, to, ctx)
	return ok
}

func (r *Registry) castSteps(from, to types.Type, ctx CastContext) ([]CastStep, bool) {
	if from == to {
		return nil, true
	}
	if from.Kind == types.Array && to.Kind == types.Array {
		return r.arrayCast(from, to, ctx)
	}
	var steps []CastStep
	switch {
	case from.Kind == to.Kind, isUnknown(from), from.Kind.IsComposite() && to.Kind == types.Record:
	default:
		e, ok := r.casts[castKey{from.Kind, to.Kind}]
		if ok && e.ctx <= ctx {
			if e.fn != nil {
				steps = append(steps, CastStep{e.fn, base(to)})
			}
			break
		}
		// A pair in the matrix with a narrower context never falls back to the text form.
		if ok {
			return nil, false
		}
		steps, ok = r.ioCast(from, to, ctx)
		if !ok {
			return nil, false
		}
	}
	if to.Mod >= 0 && (from.Kind != to.Kind || from.Mod != to.Mod) {
		if m := r.modCast(to.Kind, ctx); m != nil {
			steps = append(steps, CastStep{m, to})
		}
	}
	return steps, true
}

// ioCast casts through the text form: to a string type in assignments, from one explicitly.
func (r *Registry) ioCast(from, to types.Type, ctx CastContext) ([]CastStep, bool) {
	text := types.T(types.Text)
	switch {
	case categoryOf(to) == catString && ctx >= Assignment:
		id := "cast(" + idName(from) + " as text)"
		switch {
		case from.Kind == types.Array:
			id = CastArrayText
		case from.Kind.IsEnum():
			id = CastEnumText
		case from.Kind.IsComposite():
			id = CastRecordText
		}
		f := r.byID[id]
		if f == nil {
			return nil, false
		}
		steps := []CastStep{{f, text}}
		if to.Kind == types.Text {
			return steps, true
		}
		rest, ok := r.castSteps(text, base(to), Explicit)
		return append(steps, rest...), ok
	case categoryOf(from) == catString && ctx == Explicit:
		id := "cast(text as " + idName(to) + ")"
		switch {
		case to.Kind == types.Array:
			id = CastTextArray
		case to.Kind.IsEnum():
			id = CastTextEnum
		case to.Kind.IsComposite():
			id = CastTextRecord
		}
		f := r.byID[id]
		if f == nil {
			return nil, false
		}
		steps, ok := r.castSteps(base(from), text, Explicit)
		return append(steps, CastStep{f, base(to)}), ok
	}
	return nil, false
}

// arrayCast casts element by element, if the elements can be cast in that context.
func (r *Registry) arrayCast(from, to types.Type, ctx CastContext) ([]CastStep, bool) {
	elem := types.Type{Kind: to.Elem, Mod: to.Mod}
	steps, ok := r.castSteps(types.Type{Kind: from.Elem, Mod: from.Mod}, elem, ctx)
	if !ok || len(steps) == 0 {
		return nil, ok
	}
	id := CastArray
	if ctx == Explicit {
		id = CastArrayExplicit
	}
	return []CastStep{{r.byID[id], to}}, true
}

// ModCast gives the function that enforces the modifier of a type of kind k on a value of the same
// kind, or nil if the kind has no modifier. The kernel reads the modifier from the type of the call.
func (r *Registry) modCast(k types.Kind, ctx CastContext) *Func {
	id := "mod(" + k.Name() + ")"
	if ctx == Explicit {
		if f := r.byID["mod("+k.Name()+",explicit)"]; f != nil {
			return f
		}
	}
	return r.byID[id]
}
