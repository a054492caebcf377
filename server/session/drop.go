package session

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/weirdb/weir/pgwire"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
)

func (d *definer) drop(ctx context.Context, st *ast.Drop) error {
	switch st.Kind {
	case ast.KindSchema:
		return d.dropSchemas(ctx, st)
	case ast.KindFunction:
		return d.dropFunctions(ctx, st)
	case ast.KindType, ast.KindDomain:
		return d.dropTypes(ctx, st)
	}
	if _, ok := relationKinds[st.Kind]; !ok {
		return sqlerr.New(sqlerr.FeatureNotSupported, st.Pos, "DROP %s is not supported yet", st.Kind)
	}
	named := map[catalog.ID]*catalog.Relation{}
	names, err := d.dropPending(ctx, st)
	if err != nil {
		return err
	}
	for _, n := range names {
		r, err := d.find(st.Kind, n, st.IfExists)
		if err != nil {
			return err
		}
		if r != nil {
			if err := d.owner(kindWord(r.Kind), r.Name, r.Owner); err != nil {
				return err
			}
			named[r.ID] = r
		}
	}
	return d.dropRelations(ctx, named, st.Cascade)
}

// abandon gives up what is being restarted after a failure and is about to be dropped. It is called before the lock, which
// somebody may hold who waits for the restart. A statement that will be refused gives up nothing.
func (d *definer) abandon(st *ast.Drop) (alone bool) {
	named := map[catalog.ID]*catalog.Relation{}
	switch st.Kind {
	case ast.KindFunction, ast.KindType, ast.KindDomain:
		return false
	}
	for _, n := range st.Names {
		if st.Kind == ast.KindSchema {
			for _, r := range d.cat.Sorted() {
				if r.Schema == n.Parts[len(n.Parts)-1] {
					named[r.ID] = r
				}
			}
			continue
		}
		schema, name, err := d.qualify(n, false)
		if err != nil {
			return true
		}
		switch r := d.cat.Relation(schema, name); {
		case r != nil && r.Kind == relationKinds[st.Kind]:
			named[r.ID] = r
		case r != nil || !st.IfExists:
			return true
		}
	}
	for _, r := range named {
		if d.owner(kindWord(r.Kind), r.Name, r.Owner) != nil {
			return true
		}
	}
	all, details := d.dependent(named)
	if len(details) > 0 && !st.Cascade {
		return true
	}
	rels, _ := d.cat.Left(slices.Collect(maps.Values(all)))
	d.t.inc.Abandon(rels)
	return d.t.inc.Apart(rels)
}

// dependent gives relations with all that depends on them, and says of each of those why.
func (d *definer) dependent(named map[catalog.ID]*catalog.Relation) (all map[catalog.ID]*catalog.Relation, details []string) {
	all = map[catalog.ID]*catalog.Relation{}
	var visit func(r *catalog.Relation)
	visit = func(r *catalog.Relation) {
		if all[r.ID] != nil {
			return
		}
		all[r.ID] = r
		for _, f := range d.cat.Referrers(r.ID) {
			if f.Table.ID != r.ID && named[f.Table.ID] == nil && all[f.Table.ID] == nil {
				details = append(details, fmt.Sprintf("constraint %s on table %s depends on table %s", f.Key.Name, d.displayName(f.Table), d.displayName(r)))
			}
		}
		if r.Kind == catalog.Index && named[r.Parent] == nil && all[r.Parent] == nil {
			for _, f := range d.cat.Referrers(r.Parent) {
				if f.Key.Key == r.Name {
					details = append(details, fmt.Sprintf("constraint %s on table %s depends on index %s", f.Key.Name, d.displayName(f.Table), d.displayName(r)))
				}
			}
		}
		for _, dep := range d.cat.Dependents(r.ID) {
			if named[dep.ID] == nil && all[dep.ID] == nil && dep.Kind != catalog.Index && !dep.Internal {
				details = append(details, fmt.Sprintf("%s %s depends on %s %s",
					kindWord(dep.Kind), d.displayName(dep), kindWord(r.Kind), d.displayName(r)))
			}
			visit(dep)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(named)) {
		visit(named[id])
	}
	return all, details
}

func (d *definer) dropSchemas(ctx context.Context, st *ast.Drop) error {
	named := map[catalog.ID]*catalog.Relation{}
	var functions []*catalog.Function
	var schemas []string
	for _, n := range st.Names {
		name := n.Parts[len(n.Parts)-1]
		if !d.cat.HasSchema(name) {
			if st.IfExists {
				d.s.notice(sqlerr.SuccessfulCompletion, fmt.Sprintf("schema %q does not exist, skipping", name))
				continue
			}
			return sqlerr.Newf(sqlerr.InvalidSchemaName, "schema %q does not exist", name)
		}
		if err := d.owner("schema", name, d.cat.Schemas[name].Owner); err != nil {
			return err
		}
		schemas = append(schemas, name)
		for _, r := range d.cat.Sorted() {
			if r.Schema != name {
				continue
			}
			if !st.Cascade {
				return sqlerr.Newf(sqlerr.DependentObjectsStillExist, "cannot drop schema %s because other objects depend on it", name).
					WithDetail("%s %s depends on schema %s", kindWord(r.Kind), d.displayName(r), name).
					WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
			}
			named[r.ID] = r
		}
		for _, f := range d.cat.SortedFunctions() {
			if f.Schema != name {
				continue
			}
			if !st.Cascade {
				return sqlerr.Newf(sqlerr.DependentObjectsStillExist, "cannot drop schema %s because other objects depend on it", name).
					WithDetail("function %s depends on schema %s", d.displayFunction(f), name).
					WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
			}
			functions = append(functions, f)
		}
	}
	if err := d.dropTypesOf(ctx, schemas, st.Cascade); err != nil {
		return err
	}
	for id, r := range named {
		if d.cat.RelationByID(id) == nil {
			delete(named, id)
		} else {
			named[id] = d.cat.RelationByID(r.ID)
		}
	}
	functions = slices.DeleteFunc(functions, func(f *catalog.Function) bool { return d.cat.Functions[f.ID] == nil })
	uses, err := d.callers(functions)
	if err != nil {
		return err
	}
	for _, r := range uses.relations {
		named[r.ID] = r
	}
	return d.dropRelations(ctx, named, st.Cascade, func(c *catalog.Catalog) {
		for _, name := range schemas {
			delete(c.Schemas, name)
		}
		uses.remove(c)
	})
}

// displayName qualifies a relation that is not in the search path.
func (d *definer) displayName(r *catalog.Relation) string {
	for _, sc := range d.s.vars.searchPath(d.s.user()) {
		if sc == r.Schema {
			return r.Name
		}
	}
	return r.Schema + "." + r.Name
}

// dropRelations drops relations and, with cascade, all that depends on them; also changes the catalog together with that.
func (d *definer) dropRelations(ctx context.Context, named map[catalog.ID]*catalog.Relation, cascade bool, also ...func(*catalog.Catalog)) error {
	if len(named) == 0 {
		if len(also) == 0 {
			return nil
		}
		return d.to().Change(d.ctx, func(c *catalog.Catalog) {
			for _, change := range also {
				change(c)
			}
		})
	}
	all, details := d.dependent(named)
	if err := d.notPending("drop", all); err != nil {
		return err
	}
	uses, clear, err := d.dropOwned(all)
	if err != nil {
		return err
	}
	details, also = append(details, uses...), append(also, clear)
	if len(details) > 0 && !cascade {
		what, on := "desired object(s)", "them"
		for _, r := range named {
			if len(named) == 1 {
				what, on = kindWord(r.Kind)+" "+d.displayName(r), "it"
			}
		}
		return sqlerr.Newf(sqlerr.DependentObjectsStillExist, "cannot drop %s because other objects depend on %s", what, on).
			WithDetail("%s", strings.Join(details, "\n")).
			WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
	}
	d.cascades(details)
	return d.to().Drop(ctx, newestFirst(all), also...)
}

// newestFirst lists relations by falling id: what depends on others comes before them.
func newestFirst(all map[catalog.ID]*catalog.Relation) []*catalog.Relation {
	var rels []*catalog.Relation
	for _, r := range all {
		rels = append(rels, r)
	}
	sort.Slice(rels, func(i, j int) bool { return rels[i].ID > rels[j].ID })
	return rels
}

// cascades tells what CASCADE drops; details say of each object what it depends on.
func (d *definer) cascades(details []string) {
	if d.quiet {
		return
	}
	switch len(details) {
	case 0:
	case 1:
		obj, _, _ := strings.Cut(details[0], " depends on ")
		d.s.notice(sqlerr.SuccessfulCompletion, "drop cascades to "+obj)
	default:
		var objs []string
		for _, x := range details {
			obj, _, _ := strings.Cut(x, " depends on ")
			objs = append(objs, "drop cascades to "+obj)
		}
		d.s.tell(&pgwire.Notice{
			Message: fmt.Sprintf("drop cascades to %d other objects", len(details)), Detail: strings.Join(objs, "\n"),
		})
	}
}
