package types

import (
	"strings"

	"github.com/weirdb/weir/sql/sqlerr"
)

// VectorMod as the modifier of an array of int2 or oid makes it the catalogs' int2vector or oidvector:
// an array with another name and oid, whose text is its elements with blanks between them and whose first
// element has number 0. The values are encoded as those of the plain array, so that the two are the same
// to every function.
const VectorMod int32 = -2

// VectorOf gives the vector type of Int2 or Oid.
func VectorOf(k Kind) Type { return Type{Kind: Array, Elem: k, Mod: VectorMod} }

// IsVector tells whether t is int2vector or oidvector.
func (t Type) IsVector() bool {
	return t.Mod == VectorMod && t.Kind == Array && (t.Elem == Int2 || t.Elem == Oid)
}

// MakeVector encodes a vector.
func MakeVector(elem Kind, elems []Datum) string {
	a := ArrayValue{Elem: elem, Elems: elems}
	if len(elems) > 0 {
		a.Dims = []Dim{{len(elems), 0}}
	}
	return a.Encode()
}

// PostgreSQL's oids of the vector types.
const (
	int2vectorOID = 22
	oidvectorOID  = 30
)

func vectorName(elem Kind) string { return kinds[elem].name + "vector" }

func vectorOID(elem Kind) uint32 {
	if elem == Int2 {
		return int2vectorOID
	}
	return oidvectorOID
}

// vectorByName finds int2vector and oidvector.
func vectorByName(lower string) (Type, bool) {
	switch lower {
	case "int2vector":
		return VectorOf(Int2), true
	case "oidvector":
		return VectorOf(Oid), true
	}
	return Type{}, false
}

func parseVector(t Type, s string, env *Env) (Datum, error) {
	var elems []Datum
	for _, f := range strings.Fields(s) {
		d, err := parseText(T(t.Elem), f, env)
		if err != nil {
			return Null, err
		}
		elems = append(elems, d)
	}
	return DStr(MakeVector(t.Elem, elems)), nil
}

func appendVectorText(dst []byte, t Type, s string, env *Env) []byte {
	a, err := DecodeArray(s)
	if err != nil {
		return append(dst, s...)
	}
	for i, e := range a.Elems {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = AppendText(dst, T(t.Elem), e, env)
	}
	return dst
}

// errVectorDims is what an array of vectors gives.
func errVectorDims(name string) error {
	return sqlerr.Newf(sqlerr.UndefinedObject, "type \"%s[]\" does not exist", name)
}
