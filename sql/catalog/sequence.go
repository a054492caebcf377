package catalog

import (
	"math"
	"slices"
	"strconv"

	"github.com/weirdb/weir/sql/types"
)

// Sequence is what a sequence does. Where it stands is kept with the rows of tables, not in the catalog.
type Sequence struct {
	// Type is smallint, integer or bigint.
	Type                              types.Type
	Start, Increment, Min, Max, Cache int64
	Cycle                             bool `json:",omitempty"`
	// OwnedBy is the table of the column that the sequence goes with, and OwnedColumn the column's name; 0 and "": none.
	OwnedBy     ID     `json:",omitempty"`
	OwnedColumn string `json:",omitempty"`
	// Identity: it is that of an identity column, and a part of it.
	Identity bool `json:",omitempty"`
	// FromColumn is 1 and the number of the column of OwnedBy whose counter an earlier version kept, where the
	// sequence goes on as long as it has no state of its own; 0: there is none.
	FromColumn int `json:",omitempty"`
}

// SequenceColumns are what a sequence shows as a relation.
func SequenceColumns() []Column {
	return []Column{
		{Name: "last_value", Type: types.T(types.Int8), NotNull: true},
		{Name: "log_cnt", Type: types.T(types.Int8), NotNull: true},
		{Name: "is_called", Type: types.T(types.Bool), NotNull: true},
	}
}

// TypeLimits gives the least and greatest value of an integer type.
func TypeLimits(t types.Type) (lo, hi int64) {
	switch t.Kind {
	case types.Int2:
		return math.MinInt16, math.MaxInt16
	case types.Int4:
		return math.MinInt32, math.MaxInt32
	}
	return math.MinInt64, math.MaxInt64
}

// NewSequence gives the sequence of a column of a type, as CREATE SEQUENCE without options makes it.
func NewSequence(t types.Type) Sequence {
	_, hi := TypeLimits(t)
	return Sequence{Type: t, Start: 1, Increment: 1, Min: 1, Max: hi, Cache: 1}
}

// Owned lists the sequences that go with the columns of a table, by id.
func (c *Catalog) Owned(table ID) []*Relation {
	var out []*Relation
	for _, r := range c.Relations {
		if r.Seq != nil && r.Seq.OwnedBy == table {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b *Relation) int { return int(int64(a.ID) - int64(b.ID)) })
	return out
}

// FreeName gives the name, or the first of it with a number behind, that no relation of the schema has.
func (c *Catalog) FreeName(schema, name string) string {
	free := name
	for n := 1; c.Relation(schema, free) != nil || c.PendingRelation(schema, free) != nil; n++ {
		free = name + strconv.Itoa(n)
	}
	return free
}

// Upgrade makes the sequences of serial and identity columns that an earlier version did not keep as objects. It makes
// the same ones whenever it is asked.
func (c *Catalog) Upgrade() {
	for _, r := range c.Sorted() {
		if r.Kind != Table {
			continue
		}
		t := *r
		t.Columns = slices.Clone(r.Columns)
		changed := false
		for i := range t.Columns {
			k := &t.Columns[i]
			if k.Hidden || k.Sequence != 0 || !k.Serial && k.Identity == "" {
				continue
			}
			seq := NewSequence(k.Type)
			seq.OwnedBy, seq.OwnedColumn, seq.Identity, seq.FromColumn = r.ID, k.Name, k.Identity != "", i+1
			k.Sequence, changed = c.NextID, true
			c.Put(&Relation{
				ID: c.NextID, Schema: r.Schema, Name: c.FreeName(r.Schema, r.Name+"_"+k.Name+"_seq"), Kind: SequenceKind, Owner: r.Owner,
				Columns: SequenceColumns(), Seq: &seq,
			})
			c.NextID++
		}
		if changed {
			c.Put(&t)
		}
	}
}
