package catalog

import (
	"sort"
)

// Referrer is a foreign key with its table.
type Referrer struct {
	Table *Relation
	Key   *ForeignKey
}

// Referrers lists the foreign keys that reference a table, also those of itself, by id.
func (c *Catalog) Referrers(id ID) []Referrer {
	var rs []Referrer
	for _, r := range c.Relations {
		for k := range r.ForeignKeys {
			if f := &r.ForeignKeys[k]; f.Ref == id {
				rs = append(rs, Referrer{r, f})
			}
		}
	}
	sort.Slice(rs, func(i, j int) bool { return rs[i].Key.ID < rs[j].Key.ID })
	return rs
}

// SinksInto lists the sinks that write to a table, by id.
func (c *Catalog) SinksInto(table ID) []*Relation { return c.into[table] }

// Feeding lists the sinks that write to tables that some relations are, or read directly or through others and through
// sinks, what comes first first. all are all relations that were come by.
func (c *Catalog) Feeding(rels []*Relation) (sinks []*Relation, all map[ID]bool) {
	all = map[ID]bool{}
	var visit func(r *Relation)
	visit = func(r *Relation) {
		if r == nil || all[r.ID] {
			return
		}
		all[r.ID] = true
		for _, d := range r.DependsOn {
			if d != r.Into {
				visit(c.Relations[d])
			}
		}
		for _, s := range c.into[r.ID] {
			if !all[s.ID] {
				visit(s)
				sinks = append(sinks, s)
			}
		}
	}
	for _, r := range rels {
		visit(r)
	}
	return sinks, all
}

// HasSinksInto tells whether any sink writes to a table.
func (c *Catalog) HasSinksInto() bool { return len(c.into) > 0 }

// Sorted lists all relations by id, which is the order of creation, but so that what an object depends on comes
// before it: an object that was replaced may read one that is younger.
func (c *Catalog) Sorted() []*Relation {
	rs := make([]*Relation, 0, len(c.Relations))
	inOrder := true
	for _, r := range c.Relations {
		rs = append(rs, r)
		for _, d := range r.Inputs() {
			inOrder = inOrder && d < r.ID
		}
	}
	sort.Slice(rs, func(i, j int) bool { return rs[i].ID < rs[j].ID })
	if inOrder {
		return rs
	}
	out := make([]*Relation, 0, len(rs))
	seen := make(map[ID]bool, len(rs))
	var visit func(r *Relation)
	visit = func(r *Relation) {
		if r == nil || seen[r.ID] {
			return
		}
		seen[r.ID] = true
		for _, d := range r.Inputs() {
			visit(c.Relations[d])
		}
		out = append(out, r)
	}
	for _, r := range rs {
		visit(r)
	}
	return out
}

// DependsOnAny tells whether a relation reads one of others, by name or not, directly or through what it reads.
func (c *Catalog) DependsOnAny(r *Relation, others map[ID]bool) bool {
	seen := map[ID]bool{}
	var reads func(r *Relation) bool
	reads = func(r *Relation) bool {
		for _, d := range r.Inputs() {
			if others[d] {
				return true
			}
			if up := c.Relations[d]; up != nil && !seen[d] {
				seen[d] = true
				if reads(up) {
					return true
				}
			}
		}
		return false
	}
	return reads(r)
}

// Dependents lists the relations whose query reads id directly, in the order of Sorted.
func (c *Catalog) Dependents(id ID) []*Relation {
	var ds []*Relation
	for _, r := range c.Sorted() {
		for _, d := range r.DependsOn {
			if d == id {
				ds = append(ds, r)
				break
			}
		}
	}
	return ds
}
