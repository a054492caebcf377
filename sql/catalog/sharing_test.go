package catalog

import (
	"slices"
	"testing"
)

// TestLeft: what is dropped stays without a name as long as others take its rows, and goes with the last of them.
func TestLeft(t *testing.T) {
	c := New()
	put := func(id ID, takes ...ID) *Relation {
		r := &Relation{ID: id, Schema: PublicSchema, Name: string(rune('a' + id)), Kind: MatView, Takes: takes}
		c.Put(r)
		return r
	}
	left := func(gone, kept []ID, drop ...*Relation) {
		t.Helper()
		g, k := c.Left(drop)
		ids := func(rs []*Relation) (out []ID) {
			for _, r := range rs {
				out = append(out, r.ID)
			}
			return out
		}
		if !slices.Equal(ids(g), gone) || !slices.Equal(ids(k), kept) {
			t.Fatalf("dropping %v: gone %v, kept %v, want %v and %v", ids(drop), ids(g), ids(k), gone, kept)
		}
		for _, r := range g {
			c.Remove(r.ID)
		}
		for _, r := range k {
			c.Put(r.Unnamed(r.ID))
		}
	}
	a := put(1)
	b := put(2, a.ID)
	d := put(3, b.ID)
	e := put(4, a.ID)
	free := put(5)
	left([]ID{5}, nil, free)
	left(nil, []ID{1, 2}, a, b)
	if c.Relation(PublicSchema, a.Name) != nil || !c.RelationByID(a.ID).Internal || c.Relation(InternalSchema, c.RelationByID(a.ID).Name) != nil {
		t.Fatal("what was dropped has a name")
	}
	if got := c.RelationByID(a.ID).Rows(); got != uint32(a.ID) {
		t.Fatalf("its rows are those of table %d", got)
	}
	put(6) // of the name that is free now
	left([]ID{4}, nil, e)
	// The last one takes along what only it needs, through others too.
	left([]ID{3, 2, 1}, nil, d)
	// One that is being created counts.
	f := put(7)
	c.SetPending(8, &Relation{ID: 8, Takes: []ID{f.ID}})
	left(nil, []ID{7}, f)
	c.SetPending(8, nil)
	left([]ID{7}, nil)
}
