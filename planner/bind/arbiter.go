package bind

import (
	"slices"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// arbiters finds the unique constraints and indexes that an ON CONFLICT target means: those with exactly its columns and
// expressions, and with a condition only if that of the target implies it.
func (b *Binder) arbiters(rel *catalog.Relation, name string, c *ast.OnConflict) []string {
	s := &scope{q: &queryState{clause: "ON CONFLICT", noSubquery: "cannot use subquery in index expression"}}
	item := b.relColumns(rel, name)
	s.rels, s.cols = []*relItem{item}, append([]scopeCol(nil), item.cols...)
	over := map[logical.ColID]scalar.Expr{}
	for i := range rel.Columns {
		ref := b.Meta.Ref(item.cols[i].id)
		over[ref.Index] = &scalar.Column{Node: ref.Node, Index: i, Name: ref.Name}
	}
	var want []scalar.Expr
	for _, e := range c.Columns {
		if ref, ok := e.(*ast.ColumnRef); ok && len(ref.Parts) == 1 {
			if i := rel.ColumnIndex(ref.Parts[0]); i < 0 || rel.Columns[i].Hidden {
				fail(sqlerr.UndefinedColumn, ref.Pos, "column \"%s\" does not exist", ref.Parts[0])
			}
		}
		if x := indexed(b.expr(s, e), over); !slices.ContainsFunc(want, func(w scalar.Expr) bool { return logical.Equal(w, x) }) {
			want = append(want, x)
		}
	}
	var given []scalar.Expr
	if c.Where != nil {
		given = logical.Conjuncts(indexed(b.boolExpr(s, c.Where, "WHERE"), over))
	}
	matches := func(have []scalar.Expr) bool {
		for _, w := range want {
			if !slices.ContainsFunc(have, func(h scalar.Expr) bool { return logical.Equal(w, h) }) {
				return false
			}
		}
		for _, h := range have {
			if !slices.ContainsFunc(want, func(w scalar.Expr) bool { return logical.Equal(w, h) }) {
				return false
			}
		}
		return true
	}
	column := func(i int) scalar.Expr {
		ref := b.Meta.Ref(item.cols[i].id)
		return &scalar.Column{Node: ref.Node, Index: i, Name: ref.Name}
	}
	var out []string
	for _, u := range rel.Uniques {
		var have []scalar.Expr
		for _, k := range u.Columns {
			have = append(have, column(k))
		}
		if matches(have) {
			out = append(out, u.Name)
		}
	}
	for _, ix := range b.cfg.Catalog.Indexes(rel.ID) {
		if !ix.Index.Unique {
			continue
		}
		of := *rel
		of.SearchPath, of.Functions = ix.SearchPath, ix.Functions
		var have []scalar.Expr
		for _, k := range ix.Index.Columns {
			if k.Expr == "" {
				have = append(have, column(rel.ColumnIndex(k.Column)))
			} else {
				have = append(have, b.stored(&of, k.Expr, types.T(types.Unknown)))
			}
		}
		if !matches(have) {
			continue
		}
		if ix.Index.Where != "" {
			where := logical.Conjuncts(b.stored(&of, ix.Index.Where, types.T(types.Bool)))
			if !logical.AllImplied(where, given) {
				continue
			}
		}
		out = append(out, ix.Name)
	}
	return out
}
