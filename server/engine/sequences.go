package engine

import (
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/server/table"
	"github.com/weirdb/weir/sql/catalog"
)

// NextValues gives the next n values of a sequence. They are gone, also if the statement fails.
func (i *Incarnation) NextValues(seq *catalog.Relation, n int64) ([]int64, error) {
	vs, err := i.seqs.Next(seq, n)
	return vs, i.Explain(err)
}

// FillColumn gives a column whose missing values, or all, are the next of a sequence, and the last of those.
func (i *Incarnation) FillColumn(seq *catalog.Relation, v *vec.Vector, n int, all bool) (out *vec.Vector, last int64, ok bool, err error) {
	out, last, ok, err = i.seqs.Fill(seq, v, n, all)
	return out, last, ok, i.Explain(err)
}

// SetSequence lets a sequence stand at a value, which was given out if called is set, and else comes next.
func (i *Incarnation) SetSequence(seq *catalog.Relation, value int64, called bool) error {
	return i.Explain(i.seqs.Put(seq, value, called))
}

// SequenceStanding tells where a sequence is.
func (i *Incarnation) SequenceStanding(seq *catalog.Relation) (table.Standing, error) {
	return i.seqs.Standing(seq)
}
