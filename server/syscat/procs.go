package syscat

import (
	"hash/fnv"
	"strings"
	"sync"

	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// proc is an entry of pg_proc or pg_operator.
type proc struct {
	oid catalog.ID
	fn  *fn.Func
}

// procSet is all functions and operators.
type procSet struct {
	list, operators []*proc
	byOID           map[catalog.ID]*proc
	byName          map[string][]*proc
}

// procs lists the functions of Registry and the input and output functions of types. Functions have no
// numbers of their own: oids are hashes of their IDs, so that they stay the same as functions come and go.
var procs = sync.OnceValue(func() *procSet {
	s := &procSet{byOID: map[catalog.ID]*proc{}, byName: map[string][]*proc{}}
	for _, item := range strings.FieldsFunc(ioFuncs, func(r rune) bool { return r == ';' || r == '\n' }) {
		name, oid, _ := strings.Cut(strings.TrimSpace(item), " ")
		s.add(&proc{parseID(oid), ioFunc(name)})
	}
	for _, f := range Registry().All() {
		if f.Kind == fn.Cast {
			continue
		}
		h := fnv.New32a()
		_, _ = h.Write([]byte(f.ID)) // never fails
		oid := catalog.ID(1<<29 | h.Sum32()&(1<<29-1))
		for s.byOID[oid] != nil {
			oid++
		}
		s.add(&proc{oid, f})
	}
	return s
})

func (s *procSet) add(p *proc) {
	s.byOID[p.oid] = p
	if p.fn.Kind == fn.Operator {
		s.operators = append(s.operators, p)
		return
	}
	s.list = append(s.list, p)
	s.byName[p.fn.Name] = append(s.byName[p.fn.Name], p)
}

// ioFunc describes an input or output function; its arguments, C strings and internal values, cannot be
// said.
func ioFunc(name string) *fn.Func {
	return &fn.Func{
		ID: name + "(any)", Name: name, Args: []types.Type{types.T(types.Any)}, Ret: types.T(types.Any), Strict: true, Direct: -1,
		Volatility: fn.Stable,
	}
}

// ioOID gives the oid of an input or output function; "" is none.
func ioOID(name string) catalog.ID {
	if ps := procs().byName[name]; len(ps) > 0 {
		return ps[0].oid
	}
	return 0
}

// procOID resolves the text of a regproc.
func procOID(name string) (uint32, error) {
	parts, err := splitName(name)
	if err != nil {
		return 0, err
	}
	ps := procs().byName[parts[len(parts)-1]]
	switch {
	case len(ps) == 0 || len(parts) > 2 || len(parts) == 2 && parts[0] != pgCatalog:
		return 0, sqlerr.Newf(sqlerr.UndefinedFunction, "function \"%s\" does not exist", strings.Join(parts, "."))
	case len(ps) > 1:
		return 0, sqlerr.Newf(sqlerr.AmbiguousFunction, "more than one function named \"%s\"", name)
	}
	return uint32(ps[0].oid), nil
}

// procName gives the text of a regproc.
func procName(oid uint32) (string, bool) {
	p := procs().byOID[catalog.ID(oid)]
	if p == nil {
		return "", false
	}
	name := quoteIdent(p.fn.Name)
	if len(procs().byName[p.fn.Name]) > 1 {
		name = pgCatalog + "." + name
	}
	return name, true
}
