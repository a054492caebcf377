package op

import (
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// catalogRows calls a set-returning function that depends on the catalog.
func (p *ProjectSet) catalogRows(f SetFunc) func([]types.Datum) (setIter, error) {
	ts := make([]types.Type, len(f.Args))
	for i, a := range f.Args {
		ts[i] = a.Type()
	}
	return func(args []types.Datum) (setIter, error) {
		if f.Fn.Strict && anyNull(args) {
			return nil, nil
		}
		if p.ectx.Env == nil || p.ectx.Env.Objects == nil {
			return nil, sqlerr.Newf(sqlerr.FeatureNotSupported, "function %s is not supported here", f.Fn.Name)
		}
		rows, err := p.ectx.Env.Objects.CatalogRows(f.Fn, ts, args)
		if err != nil {
			return nil, err
		}
		return func(vals []types.Datum) (bool, error) {
			if len(rows) == 0 {
				return false, nil
			}
			copy(vals, rows[0])
			rows = rows[1:]
			return true, nil
		}, nil
	}
}
