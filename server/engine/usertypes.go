package engine

import "github.com/weirdb/weir/sql/types"

// userTypes describes the types of the present catalog to jobs, which go on while types are changed.
type userTypes struct{ i *Incarnation }

// UserTypes describes the types of the present catalog, whatever it is when they are asked for.
func (i *Incarnation) UserTypes() types.UserTypes { return userTypes{i} }

// UserType describes a type.
func (u userTypes) UserType(k types.Kind) *types.UserType { return u.i.Catalog().UserType(k) }

// UserTypeByOID finds a type by its oid.
func (u userTypes) UserTypeByOID(oid uint32) *types.UserType { return u.i.Catalog().UserTypeByOID(oid) }

// UserTypeName is the name of a type.
func (u userTypes) UserTypeName(k types.Kind) string { return u.i.Catalog().UserTypeName(k) }
