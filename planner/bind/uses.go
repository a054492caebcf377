package bind

import (
	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// ColumnUse is a place in a text where a column of a relation is named, alone or as part of a star.
type ColumnUse struct {
	Rel catalog.ID
	Ord int
	// Pos is where the name begins and Parts how many it has; 0 parts: it is meant without being named.
	Pos, Parts int
}

// TableUse is a place in FROM where a relation is named.
type TableUse struct {
	Rel        *catalog.Relation
	Pos, Parts int
	// Alias is the one that it has there, nil if none.
	Alias *ast.Alias
}

// uses are the places where the bound text itself, not what it inlines, names relations and their columns.
type uses struct {
	columns []ColumnUse
	tables  []TableUse
	// of says which column of which relation the columns of FROM items are.
	of map[logical.ColID]ColumnUse
}

// Uses gives the places where the text names relations in FROM, and their columns.
func (b *Binder) Uses() ([]TableUse, []ColumnUse) { return b.uses.tables, b.uses.columns }

// Assign casts a bound expression to the type of a column in assignment context.
func (b *Binder) Assign(e scalar.Expr, to types.Type) (out scalar.Expr, err error) {
	defer catch(&err)
	return b.assign(b.resolve(e), to, func(from types.Type) error {
		return sqlerr.Newf(sqlerr.DatatypeMismatch, "cannot cast type %s to %s", from, to)
	}), nil
}

func (b *Binder) inText() bool { return len(b.views) == 0 && len(b.inlining) == 0 }

// columnsOf notes the columns of a FROM item.
func (b *Binder) columnsOf(r *relItem) {
	if len(b.views) > 0 || r.rel == nil {
		return
	}
	if b.uses.of == nil {
		b.uses.of = map[logical.ColID]ColumnUse{}
	}
	for k, c := range r.cols {
		b.uses.of[c.id] = ColumnUse{Rel: r.rel.ID, Ord: k}
	}
}

// column notes the use of a column.
func (b *Binder) useColumn(id logical.ColID, pos, parts int) {
	u, ok := b.uses.of[id]
	if !ok || len(b.views) > 0 {
		return
	}
	if b.inText() {
		u.Pos, u.Parts = pos, parts
	}
	b.uses.columns = append(b.uses.columns, u)
}

// useTable notes a relation in FROM.
func (b *Binder) useTable(rel *catalog.Relation, t *ast.TableRef) {
	if b.inText() {
		b.uses.tables = append(b.uses.tables, TableUse{Rel: rel, Pos: t.Name.Pos, Parts: len(t.Name.Parts), Alias: t.Alias})
	}
}
