package bind

import (
	"slices"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// A field of a composite value, (x).name, is bound to the column that the field is of: a row value does not know the names of its
// columns. That works where the row is made in the same place, as of a function with several columns, and for the columns of a
// subquery in FROM that are such rows: the subquery has their fields as further columns, which are pruned if nobody asks for them.

// field binds (x).name.
func (b *Binder) field(s *scope, e *ast.Field) scalar.Expr {
	switch x := e.X.(type) {
	case *ast.ColumnRef:
		if col, ok := s.namedColumn(x.Parts); ok {
			b.useColumn(col.id, x.Pos, len(x.Parts))
			if b.Meta.Type(col.id).Kind.IsComposite() {
				return b.attribute(b.Meta.RefAt(col.id, x.Pos), e.Name, e.Pos)
			}
			if k := b.Meta.Type(col.id).Kind; k != types.Record {
				fail(sqlerr.WrongObjectType, leftmost(e.X), "column notation .%s applied to type %s, which is not a composite type", e.Name, b.Meta.Type(col.id).WithoutMod())
			}
			if col.fields == nil {
				break
			}
			for _, f := range col.fields {
				if f.Name == e.Name {
					return b.Meta.RefAt(f.ID, e.Pos)
				}
			}
			fail(sqlerr.UndefinedColumn, leftmost(e.X), "could not identify column \"%s\" in record data type", e.Name)
		}
		return b.column(s, &ast.ColumnRef{P: e.P, Parts: append(slices.Clone(x.Parts), e.Name)})
	case *ast.Func:
		if q := b.outputField(x, e.Name, e.Pos); q != nil {
			return b.expr(s, q)
		}
		v := b.expr(s, x)
		if row, ok := v.(*scalar.MakeRow); ok && row.Names != nil {
			if i := slices.Index(row.Names, e.Name); i >= 0 {
				return row.Elems[i]
			}
			fail(sqlerr.UndefinedColumn, leftmost(e.X), "could not identify column \"%s\" in record data type", e.Name)
		}
		if v.Type().Kind.IsComposite() {
			return b.attribute(v, e.Name, e.Pos)
		}
		if k := v.Type().Kind; k != types.Record && k != types.Unknown {
			fail(sqlerr.WrongObjectType, leftmost(e.X), "column notation .%s applied to type %s, which is not a composite type", e.Name, v.Type().WithoutMod())
		}
	default:
		v := b.expr(s, x)
		if v.Type().Kind.IsComposite() {
			return b.attribute(v, e.Name, e.Pos)
		}
		if k := v.Type().Kind; k != types.Record && k != types.Unknown {
			fail(sqlerr.WrongObjectType, leftmost(e.X), "column notation .%s applied to type %s, which is not a composite type", e.Name, v.Type().WithoutMod())
		}
		if row, ok := v.(*scalar.MakeRow); ok && row.Names == nil {
			fail(sqlerr.UndefinedColumn, leftmost(e.X), "could not identify column \"%s\" in record data type", e.Name)
		}
	}
	unsupported(e.Pos, "selection of a field of a composite value")
	return nil
}

// fields binds (x).*, each field a target.
func (b *Binder) fields(s *scope, e *ast.Field) []target {
	var out []target
	switch x := e.X.(type) {
	case *ast.ColumnRef:
		col, ok := s.namedColumn(x.Parts)
		if !ok {
			if len(x.Parts) == 1 && b.findRel(s, "", x.Parts[0], x.Pos) != nil {
				return b.star(s, &ast.Star{P: e.P, Parts: x.Parts})
			}
			break
		}
		if b.Meta.Type(col.id).Kind.IsComposite() {
			b.useColumn(col.id, x.Pos, len(x.Parts))
			return b.attributes(b.Meta.RefAt(col.id, x.Pos), e.Pos)
		}
		if col.fields == nil {
			break
		}
		b.useColumn(col.id, x.Pos, len(x.Parts))
		for _, f := range col.fields {
			out = append(out, target{name: f.Name, expr: b.Meta.RefAt(f.ID, e.Pos), pos: e.Pos})
		}
		return out
	case *ast.Func:
		if fs := b.outputFields(x, e.Pos); fs != nil {
			return b.targets(s, fs)
		}
		if row, ok := b.expr(s, x).(*scalar.MakeRow); ok && row.Names != nil {
			for i, f := range row.Elems {
				out = append(out, target{name: row.Names[i], expr: f, pos: e.Pos})
			}
			return out
		}
	default:
		if v := b.expr(s, x); v.Type().Kind.IsComposite() {
			return b.attributes(v, e.Pos)
		}
	}
	unsupported(e.Pos, "row expansion via \"*\"")
	return nil
}

// namedColumn finds a column by its name, or by that of its relation and its own.
func (s *scope) namedColumn(parts []string) (scopeCol, bool) {
	if len(parts) > 2 {
		return scopeCol{}, false
	}
	name := parts[len(parts)-1]
	for at := s; at != nil; at = at.parent {
		cols := at.cols
		if len(parts) == 2 {
			i := slices.IndexFunc(at.rels, func(r *relItem) bool { return r.name == parts[0] })
			if i < 0 {
				continue
			}
			cols = at.rels[i].cols
		}
		var found []scopeCol
		for _, c := range cols {
			if c.name == name {
				found = append(found, c)
			}
		}
		if len(found) > 0 {
			return found[0], len(found) == 1
		}
	}
	return scopeCol{}, false
}

// spread adds targets for the fields of those visible targets that are rows whose columns have names, and gives for each such target
// where its fields are.
func (b *Binder) spread(s *scope, targets []target, visible int) ([]target, map[int][]int) {
	var at map[int][]int
	for i, t := range targets[:visible] {
		var fields []target
		switch x := t.expr.(type) {
		case *scalar.MakeRow:
			for k, name := range x.Names {
				fields = append(fields, target{name: name, expr: x.Elems[k], pos: t.pos})
			}
		case *scalar.Column:
			for _, c := range s.cols {
				if c.id != x.Index {
					continue
				}
				for _, f := range c.fields {
					fields = append(fields, target{name: f.Name, expr: b.Meta.RefAt(f.ID, t.pos), pos: t.pos})
				}
				break
			}
		}
		for _, f := range fields {
			if at == nil {
				at = map[int][]int{}
			}
			at[i] = append(at[i], len(targets))
			targets = append(targets, f)
		}
	}
	return targets, at
}

// rowOfOuts is the row of a set-returning function with several columns in a select list.
func (b *Binder) rowOfOuts(f *srfCall, pos int) scalar.Expr {
	row := &scalar.MakeRow{Node: node(types.Record, pos), Names: []string{}}
	for i, id := range f.ids {
		row.Elems = append(row.Elems, b.Meta.RefAt(id, pos))
		row.Names = append(row.Names, f.fn.Outs[i].Name)
	}
	return row
}

// sameSRF finds a call of the same function with the same arguments: both have the same rows, side by side.
func sameSRF(calls []*srfCall, f *srfCall) *srfCall {
	for _, o := range calls {
		if o.fn == f.fn && len(o.args) == len(f.args) {
			same := true
			for i := range f.args {
				same = same && logical.Equal(o.args[i], f.args[i]) && !volatileExpr(f.args[i])
			}
			if same {
				return o
			}
		}
	}
	return nil
}
