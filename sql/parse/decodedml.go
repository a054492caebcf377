package parse

import (
	tast "github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/weirdb/weir/sql/ast"
)

// target gives the identifier that names an INSERT's, UPDATE's or DELETE's cell.
func target(refs *tast.TableRefsClause) string {
	if refs == nil || refs.TableRefs == nil {
		return ""
	}
	if src, ok := refs.TableRefs.Left.(*tast.TableSource); ok {
		if t, ok := src.Source.(*tast.TableName); ok {
			return t.Name.O
		}
	}
	return ""
}

func (d *decoder) insert(n *tast.InsertStmt) ast.Statement {
	c, ok := d.cellOf(target(n.Table)).(*insertCell)
	if !ok {
		d.broken(n)
		return nil
	}
	ins := c.ins
	switch {
	case n.Select != nil:
		ins.Query = d.query(n.Select)
	case len(n.Lists) == 1 && len(n.Lists[0]) == 0:
		// DEFAULT VALUES
	default:
		v := &ast.Values{Rows: make([][]ast.Expr, 0, len(n.Lists))}
		for _, row := range n.Lists {
			v.Rows = append(v.Rows, d.exprs(row))
		}
		if len(n.Lists) > 0 && len(n.Lists[0]) > 0 {
			v.Pos = c.valuesPos
		}
		ins.Query = &ast.Select{Body: v, Pos: v.Pos}
	}
	if a, sel := d.aux(c.aux); a != nil {
		ins.With = d.with(sel.With)
		ins.Returning = a.returning
		ins.OnConflict = a.conflict
	}
	return ins
}

func (d *decoder) update(n *tast.UpdateStmt) ast.Statement {
	c, ok := d.cellOf(target(n.TableRefs)).(*updateCell)
	if !ok {
		d.broken(n)
		return nil
	}
	upd := c.upd
	for _, a := range n.List {
		s, ok := d.cellOf(a.Column.Name.O).(*setCell)
		if !ok {
			d.broken(a)
			return nil
		}
		s.set.Value = d.expr(a.Expr)
		upd.Set = append(upd.Set, *s.set)
	}
	upd.Where = d.expr(n.Where)
	if a, sel := d.aux(c.aux); a != nil {
		upd.With = d.with(sel.With)
		upd.From = d.from(sel.From)
		upd.Returning = a.returning
	}
	return upd
}

func (d *decoder) delete(n *tast.DeleteStmt) ast.Statement {
	c, ok := d.cellOf(target(n.TableRefs)).(*deleteCell)
	if !ok {
		d.broken(n)
		return nil
	}
	del := c.del
	del.Where = d.expr(n.Where)
	if a, sel := d.aux(c.aux); a != nil {
		del.With = d.with(sel.With)
		del.Using = d.from(sel.From)
		del.Returning = a.returning
	}
	return del
}

// aux decodes the further statement n of a data-modifying one; 0 is none.
func (d *decoder) aux(n int) (*auxCell, *tast.SelectStmt) {
	if n == 0 {
		return nil, nil
	}
	if n >= len(d.stmts) {
		d.broken(n)
		return nil, nil
	}
	sel, ok := d.stmts[n].(*tast.SelectStmt)
	if !ok || sel.Fields == nil {
		d.broken(d.stmts[n])
		return nil, nil
	}
	cell, ops := d.marker(sel.Fields.Fields[0].Expr)
	a, ok := cell.(*auxCell)
	if !ok || len(sel.Fields.Fields)-1 != len(a.returning) {
		d.broken(sel)
		return nil, nil
	}
	for i, f := range sel.Fields.Fields[1:] {
		a.returning[i].Expr = d.expr(f.Expr)
	}
	if a.conflict != nil {
		d.onConflict(a, d.exprs(ops))
	}
	return a, sel
}

func (d *decoder) onConflict(a *auxCell, ops []ast.Expr) {
	want := a.columns + len(a.conflict.Set)
	if a.where {
		want++
	}
	if a.setWhere {
		want++
	}
	if len(ops) != want {
		d.broken(a)
		return
	}
	oc := a.conflict
	oc.Columns, ops = ops[:a.columns:a.columns], ops[a.columns:]
	if a.where {
		oc.Where, ops = ops[0], ops[1:]
	}
	for i := range oc.Set {
		oc.Set[i].Value = ops[i]
	}
	if a.setWhere {
		oc.SetWhere = ops[len(oc.Set)]
	}
}
