package expr

import (
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// callCatalog computes a function that depends on the catalog.
func callCatalog(x *genCall, args []types.Datum) (types.Datum, error) {
	if x.st.env == nil || x.st.env.Objects == nil {
		return types.Null, sqlerr.Newf(sqlerr.FeatureNotSupported, "function %s is not supported here", x.fn.Name)
	}
	return x.st.env.Objects.CallCatalog(x.fn, x.types, args)
}
