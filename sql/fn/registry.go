package fn

import (
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Registry is an immutable set of functions, operators and casts.
type Registry struct {
	byID  map[string]*Func
	funcs map[string][]*Func // everything that is called by name
	ops   map[string][]*Func // infix and prefix
	casts map[castKey]castEntry
}

// Default gives the registry of everything that this package defines. It is made once and shared.
var Default = sync.OnceValue(func() *Registry {
	r := &Registry{
		byID: map[string]*Func{}, funcs: map[string][]*Func{}, ops: map[string][]*Func{},
		casts: map[castKey]castEntry{},
	}
	for _, d := range allDefs {
		for _, f := range parseDefs(d.kind, d.text) {
			r.add(f)
		}
	}
	r.addCasts()
	return r
})

// Extend gives a registry that has fs besides everything of r, which stays as it is. An ID that
// exists already is an error.
func (r *Registry) Extend(fs ...*Func) (*Registry, error) {
	n := &Registry{byID: maps.Clone(r.byID), funcs: cloneLists(r.funcs), ops: cloneLists(r.ops), casts: r.casts}
	for _, f := range fs {
		if n.byID[f.ID] != nil {
			return nil, fmt.Errorf("function %s exists already", f.ID)
		}
		if f.Kind == Cast {
			return nil, fmt.Errorf("function %s: the cast matrix cannot be extended", f.ID)
		}
		n.add(f)
	}
	return n, nil
}

// Define makes Funcs of a kind from lines in the notation of parseDefs, for Extend.
func Define(kind Kind, lines string) []*Func { return parseDefs(kind, lines) }

// ByID finds a Func, or nil.
func (r *Registry) ByID(id string) *Func { return r.byID[id] }

// HasName tells whether any function (not operator) is called name.
func (r *Registry) HasName(name string) bool { return len(r.funcs[name]) > 0 }

// Named lists the functions of a name, operators not among them.
func (r *Registry) Named(name string) []*Func { return r.funcs[name] }

// All lists every Func in the order of IDs.
func (r *Registry) All() []*Func {
	ids := slices.Sorted(maps.Keys(r.byID))
	fs := make([]*Func, len(ids))
	for i, id := range ids {
		fs[i] = r.byID[id]
	}
	return fs
}

// AggregateOf gives the aggregate that a window function stands for where it has no OVER, or nil.
func (r *Registry) AggregateOf(f *Func) *Func { return r.byID[f.ID+aggregateForm] }

// aggregateForm ends the ID of an aggregate that has its name and arguments from a window function.
const aggregateForm = " aggregate"

func (r *Registry) add(f *Func) {
	if w := r.byID[f.ID]; w != nil && w.Kind == Window && f.Kind == Aggregate {
		f.ID += aggregateForm
		r.byID[f.ID] = f
		return
	}
	if r.byID[f.ID] != nil {
		panic("fn: " + f.ID + " is defined twice")
	}
	r.byID[f.ID] = f
	if f.Spread != nil {
		r.byID[f.Spread.ID] = f.Spread
	}
	switch f.Kind {
	case Operator:
		r.ops[f.Name] = append(r.ops[f.Name], f)
	case Cast:
	default:
		r.funcs[f.Name] = append(r.funcs[f.Name], f)
	}
}

func cloneLists(m map[string][]*Func) map[string][]*Func {
	n := make(map[string][]*Func, len(m))
	for k, l := range m {
		n[k] = slices.Clip(l)
	}
	return n
}
