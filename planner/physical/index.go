package physical

import (
	"slices"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/scalar"
)

// Index is an index that reads may use.
type Index struct {
	Rel *catalog.Relation
	// Exprs are the indexed columns, as expressions over the columns of the indexed relation by ordinal; they
	// are the first columns of Rel's key.
	Exprs []scalar.Expr
	// Where are the conditions that the rows in the index meet, likewise.
	Where []scalar.Expr
}

// indexScan reads s by the index that preds restrict most, if that restricts it more than its own key
// does; nil otherwise. All of preds are still to be tested.
func (b *builder) indexScan(s *logical.Scan, preds []scalar.Expr, own *plan.Access) *plan.Scan {
	if b.Indexes == nil {
		return nil
	}
	best, found := narrowness(own, len(s.Rel.Key)), (*plan.Scan)(nil)
	for _, ix := range b.Indexes(s.Rel) {
		cols, ok := indexColumns(ix.Rel, s)
		if !ok || !b.implied(ix.Where, s, preds) {
			continue
		}
		var keys []keyColumn
		for _, e := range ix.Exprs {
			e, ok := b.overScan(e, s)
			if !ok {
				break
			}
			if c, ok := e.(*scalar.Column); ok {
				keys = append(keys, columnKey(c.Index, c.T))
				continue
			}
			keys = append(keys, keyColumn{t: e.Type(), is: func(x scalar.Expr) bool { return logical.Equal(x, e) }})
		}
		acc, _ := accessBy(keys, len(ix.Rel.Key), preds)
		if n := narrowness(&acc, len(ix.Rel.Key)); n > best {
			best, found = n, &plan.Scan{Rel: ix.Rel, Cols: cols, Access: acc, Base: s.Rel, BaseCols: s.Ords}
		}
	}
	return found
}

// indexColumns finds the columns of s in an index.
func indexColumns(ix *catalog.Relation, s *logical.Scan) ([]int, bool) {
	return columnsIn(ix, s.Rel, s.Ords)
}

// columnsIn finds columns of a relation in an index of it.
func columnsIn(ix, rel *catalog.Relation, ords []int) ([]int, bool) {
	cols := make([]int, len(ords))
	for i, o := range ords {
		c := rel.Columns[o]
		at := ix.ColumnIndex(c.Name)
		if at < 0 || ix.Columns[at].Type.Kind != c.Type.Kind {
			return nil, false
		}
		cols[i] = at
	}
	return cols, true
}

// overScan puts the columns of s in the place of the relation's ordinals; false if it does not read all of
// them.
func (b *builder) overScan(e scalar.Expr, s *logical.Scan) (scalar.Expr, bool) {
	ok := true
	e = logical.MapExpr(e, func(x scalar.Expr) scalar.Expr {
		c, is := x.(*scalar.Column)
		if !is {
			return nil
		}
		d := *c
		if at := slices.Index(s.Ords, c.Index); at >= 0 {
			d.Index = s.Out[at]
		} else {
			ok = false
		}
		return &d
	})
	return e, ok
}

// implied tells whether every row that meets preds meets where.
func (b *builder) implied(where []scalar.Expr, s *logical.Scan, preds []scalar.Expr) bool {
	for _, w := range where {
		w, ok := b.overScan(w, s)
		if !ok || !slices.ContainsFunc(preds, func(p scalar.Expr) bool { return logical.Implies(p, w) }) {
			return false
		}
	}
	return true
}
