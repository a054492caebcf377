package exec

import (
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/types"
)

// Objects is the catalog of a session or job as functions see it.
type Objects interface {
	// CallCatalog computes f, whose Catalog is set, for one row. args have the types ts, which are those
	// of f but for its polymorphic arguments; strict functions are not called with NULLs.
	CallCatalog(f *fn.Func, ts []types.Type, args []types.Datum) (types.Datum, error)
	// CatalogRows is the same for a set-returning function.
	CatalogRows(f *fn.Func, ts []types.Type, args []types.Datum) ([][]types.Datum, error)
}
