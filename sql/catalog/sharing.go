package catalog

import (
	"fmt"
	"slices"
	"sort"
)

// A relation may take rows of others for equal parts of its query. The names in its query do not say so, and those relations may lose
// their names: what is dropped while others take its rows goes on without one until nobody does.

// Inputs lists the relations that this one reads, by name or not.
func (r *Relation) Inputs() []ID {
	if len(r.Takes) == 0 {
		return r.DependsOn
	}
	return slices.Concat(r.DependsOn, r.Takes)
}

// Readers lists the relations that read id directly, by name or not, in the order of Sorted.
func (c *Catalog) Readers(id ID) []*Relation {
	var rs []*Relation
	for _, r := range c.Sorted() {
		if slices.Contains(r.DependsOn, id) || slices.Contains(r.Takes, id) {
			rs = append(rs, r)
		}
	}
	return rs
}

// Takers lists the relations that take the rows of id, also those that are being created in the background, by id.
func (c *Catalog) Takers(id ID) []*Relation {
	var rs []*Relation
	for _, of := range []map[ID]*Relation{c.Relations, c.Pending} {
		for _, r := range of {
			if slices.Contains(r.Takes, id) {
				rs = append(rs, r)
			}
		}
	}
	sort.Slice(rs, func(i, j int) bool { return rs[i].ID < rs[j].ID })
	return rs
}

// Left tells what becomes of relations that are dropped: kept are those whose rows others take, which stay without a name, and gone
// are all that go, with those that have no name and that nobody takes rows of then. gone has the order of rels.
func (c *Catalog) Left(rels []*Relation) (gone, kept []*Relation) {
	going := map[ID]bool{}
	for _, r := range rels {
		going[r.ID] = true
	}
	stays := func(id ID) bool {
		return slices.ContainsFunc(c.Takers(id), func(r *Relation) bool { return !going[r.ID] })
	}
	// Who stays may need others.
	for changed := true; changed; {
		changed = false
		for _, r := range rels {
			if going[r.ID] && stays(r.ID) {
				going[r.ID], changed = false, true
			}
		}
	}
	for _, r := range rels {
		if going[r.ID] {
			gone = append(gone, r)
		} else {
			kept = append(kept, r)
		}
	}
	for {
		var more []*Relation
		for _, r := range c.Sorted() {
			if _, named := going[r.ID]; !named && r.Internal && !stays(r.ID) {
				going[r.ID], more = true, append(more, r)
			}
		}
		if more == nil {
			return gone, kept
		}
		gone = append(gone, more...)
	}
}

// Unnamed gives a relation as it is when it has been dropped, or replaced, while others take its rows: under an id that may be another one.
func (r *Relation) Unnamed(id ID) *Relation {
	c := *r
	c.ID, c.RowsID, c.Internal = id, r.Rows(), true
	c.Schema, c.Name = InternalSchema, fmt.Sprintf("shared_%d", id)
	c.ACL, c.Comment, c.ColumnComments, c.ConstraintComments = nil, "", nil, nil
	return &c
}

// AllIndexes lists the indexes of a relation, also those without names, by id.
func (c *Catalog) AllIndexes(id ID) []*Relation {
	out := slices.Clone(c.indexes[id])
	for _, r := range c.Relations {
		if r.Internal && r.Kind == Index && r.Parent == id {
			out = append(out, r)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].ID < out[j].ID })
	return out
}
