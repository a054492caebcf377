package bind

import (
	"fmt"

	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// Modifying is a data-modifying statement in WITH. Rel stands for the rows that it returns, in what reads it.
type Modifying struct {
	*DML
	Rel *catalog.Relation
}

// Modifying lists the data-modifying statements in WITH, in the order in which they stand there.
func (b *Binder) Modifying() []Modifying { return b.modified }

// modifying binds a data-modifying item of WITH, once.
func (b *Binder) modifying(s *scope, w *ast.With, c *ast.CTE, self bool) *cte {
	if w != b.top {
		fail(sqlerr.FeatureNotSupported, c.Pos, "WITH clause containing a data-modifying statement must be at the top level")
	}
	if self {
		fail(sqlerr.InvalidRecursion, c.Pos, "recursive query \"%s\" must not contain data-modifying statements", c.Name)
	}
	if c.Search != nil || c.Cycle != nil {
		fail(sqlerr.SyntaxError, c.Pos, "SEARCH and CYCLE are of recursive queries")
	}
	b.around = append(b.around, s.ctes)
	var d *DML
	switch st := c.Query.(type) {
	case *ast.Insert:
		d = b.insert(st)
	case *ast.Update:
		d = b.update(st)
	case *ast.Delete:
		d = b.delete(st)
	default:
		unsupported(c.Pos, "this statement in WITH")
	}
	b.around = b.around[:len(b.around)-1]
	rel := &catalog.Relation{
		Name: c.Name, Kind: catalog.System, ID: modifiedID - catalog.ID(len(b.modified)),
	}
	names := map[string]bool{}
	if len(c.Columns) > len(d.Returning) {
		fail(sqlerr.InvalidColumnReference, c.Pos, "WITH query \"%s\" has %d columns available but %d columns specified",
			c.Name, len(d.Returning), len(c.Columns))
	}
	for i, x := range d.Plan.Returning {
		t := x.Type()
		if t.Kind == types.Unknown {
			t = types.T(types.Text)
			d.Plan.Returning[i] = b.cast(x, t, fn.Implicit, sqlerr.NoPos)
		}
		// The names of a query's columns need not differ; those of a relation do.
		name := fmt.Sprint(i)
		for names[name] {
			name += "_"
		}
		names[name] = true
		rel.Columns = append(rel.Columns, catalog.Column{Name: name, Type: t})
	}
	b.modified = append(b.modified, Modifying{d, rel})
	out := &cte{name: c.Name, columns: c.Columns, pos: c.Pos, rel: rel}
	for i := range d.Returning {
		if i >= len(out.columns) {
			out.columns = append(out.columns[:i:i], d.Returning[i].Name)
		}
	}
	return out
}

// modifiedID is the id of what stands for the first data-modifying item of WITH; others follow below. No other relation has them.
const modifiedID catalog.ID = 1<<32 - 2

// outerCTEs are the items of WITH that a data-modifying item sees, before those of its own.
func (b *Binder) outerCTEs() []*cte {
	if n := len(b.around); n > 0 {
		return append([]*cte(nil), b.around[n-1]...)
	}
	return nil
}

// modifiedRef binds a reference to what a data-modifying item of WITH returns.
func (b *Binder) modifiedRef(q *scope, c *cte, alias *ast.Alias, pos int) *fromItem {
	if len(c.rel.Columns) == 0 {
		fail(sqlerr.FeatureNotSupported, pos, "WITH query \"%s\" does not have a RETURNING clause", c.name)
	}
	it := b.relItem(q, c.rel, nil, sqlerr.NoPos)
	r := &relItem{name: c.name, relName: c.name}
	for i, col := range it.rels[0].cols {
		r.cols = append(r.cols, scopeCol{name: c.columns[i], id: col.id})
	}
	return b.single(q, it.node, r, alias, "table")
}
