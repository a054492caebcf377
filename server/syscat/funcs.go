package syscat

import (
	"fmt"
	"sync"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/types"
)

var (
	_ exec.Objects      = (*Env)(nil)
	_ types.ObjectNames = (*Env)(nil)
)

// Registry gives the default functions and the catalog functions. It is made once and shared.
func Registry() *fn.Registry { return registry() }

var registry = sync.OnceValue(func() *fn.Registry {
	fs := append(fn.Define(fn.Scalar, catalogFuncs+advisoryFuncs), fn.Define(fn.Table, catalogTableFuncs)...)
	for _, f := range fs {
		f.Catalog = true
	}
	for _, f := range fn.Define(fn.Scalar, pureFuncs) {
		f.Impl = parseIdent
		fs = append(fs, f)
	}
	r, err := fn.Default().Extend(fs...)
	if err != nil {
		panic("syscat: " + err.Error())
	}
	return r
})

// CallCatalog computes a function of catalogFuncs.
func (e *Env) CallCatalog(f *fn.Func, ts []types.Type, args []types.Datum) (types.Datum, error) {
	impl := impls()[f.ID]
	if impl == nil {
		return types.Null, fmt.Errorf("catalog function %s has no implementation", f.ID)
	}
	d, err := impl(&call{Env: e, types: ts, args: args})
	if d.S != "" && f.Ret.Phys() == types.PhysStr && f.Ret.Kind != types.Array {
		d.S = e.resolve(d.S)
	}
	return d, err
}

// call is one call of a catalog function.
type call struct {
	*Env
	types []types.Type
	args  []types.Datum
}

func (c *call) oid(i int) catalog.ID { return catalog.ID(c.args[i].I) }
func (c *call) text(i int) string    { return c.args[i].S }

// CatalogRows computes a function of catalogTableFuncs.
func (e *Env) CatalogRows(f *fn.Func, ts []types.Type, args []types.Datum) ([][]types.Datum, error) {
	impl := tableImpls()[f.ID]
	if impl == nil {
		return nil, fmt.Errorf("catalog function %s has no implementation", f.ID)
	}
	return impl(&call{Env: e, types: ts, args: args})
}
