package parse

import (
	"fmt"
	"strconv"

	tidb "github.com/pingcap/tidb/pkg/parser"
	tast "github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/sqlerr"
)

// decoder turns one TiDB parse into Weir's tree: TiDB says what is an operand of what, the cells
// say what everything is.
type decoder struct {
	out *output
	// tidb made stmts. It keeps references into their trees and writes positions to them in its
	// next parse: it goes back to the pool when the trees have been decoded, not before.
	tidb *tidb.Parser
	// stmts are the statement and its further ones.
	stmts []tast.StmtNode
	err   error
}

// parseTiDB renders f and lets TiDB parse it.
func (p *parser) parseTiDB(f frag) *decoder {
	text := p.out.render(f)
	tp := tidbParsers.Get().(*tidb.Parser)
	stmts, _, err := tp.ParseSQL(text)
	d := &decoder{out: &p.out, tidb: tp}
	if err != nil {
		// The rewriter made something that TiDB does not know: our mistake, never the user's.
		p.fail(&sqlerr.Error{
			Code: sqlerr.InternalError, Pos: sqlerr.NoPos,
			Message: "the statement could not be parsed", Detail: fmt.Sprintf("%v in %q", err, text),
		})
		tidbParsers.Put(tp)
		return nil
	}
	// The next parse overwrites the slice.
	d.stmts = append(d.stmts, stmts...)
	return d
}

// finishDecode ends a decoder's work: cells are used once.
func (p *parser) finishDecode(d *decoder) {
	if d.err != nil {
		p.fail(d.err)
	}
	p.out.reset()
	tidbParsers.Put(d.tidb)
}

func (p *parser) decodeQuery(f frag) *ast.Select {
	d := p.parseTiDB(f)
	if d == nil {
		return nil
	}
	defer p.finishDecode(d)
	return d.query(d.stmts[0])
}

func (p *parser) decodeExpr(f frag) ast.Expr {
	d := p.parseTiDB(p.out.join(p.out.text("SELECT "), f))
	if d == nil {
		return nil
	}
	defer p.finishDecode(d)
	sel, ok := d.stmts[0].(*tast.SelectStmt)
	if !ok || len(sel.Fields.Fields) != 1 {
		d.broken(d.stmts[0])
		return nil
	}
	return d.expr(sel.Fields.Fields[0].Expr)
}

func (p *parser) decodeStatement(f frag) ast.Statement {
	d := p.parseTiDB(f)
	if d == nil {
		return nil
	}
	defer p.finishDecode(d)
	return d.statement(d.stmts[0])
}

// broken reports a tree that the rewriter cannot have meant.
func (d *decoder) broken(n any) {
	if d.err == nil {
		d.err = sqlerr.Newf(sqlerr.InternalError, "unexpected syntax tree node %T", n)
	}
}

// at gives the source offset of the piece that output offset out lies in.
func (d *decoder) at(out int) int {
	if i := d.search(out + 1); i > 0 {
		return int(d.out.marks[i-1].src)
	}
	return 0
}

// before gives the source offset of the last piece that starts before out.
func (d *decoder) before(out int) int {
	if i := d.search(out); i > 0 {
		return int(d.out.marks[i-1].src)
	}
	return 0
}

// search counts the marks below out.
func (d *decoder) search(out int) int {
	m := d.out.marks
	lo, hi := 0, len(m)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if int(m[mid].out) < out {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// cellOf gives the cell that an identifier names, or nil.
func (d *decoder) cellOf(ident string) any {
	if len(ident) < 2 || ident[0] != 1 {
		return nil
	}
	n, err := strconv.Atoi(ident[1:])
	if err != nil {
		return nil
	}
	return d.cell(n)
}

func (d *decoder) cell(n int) any {
	if n <= 0 || n >= len(d.out.cells) {
		return nil
	}
	return d.out.cells[n]
}

// marker takes a marker call apart; cell is nil if e is none.
func (d *decoder) marker(e tast.ExprNode) (cell any, operands []tast.ExprNode) {
	call, ok := e.(*tast.FuncCallExpr)
	if !ok || call.FnName.O != "\x01" || len(call.Args) == 0 {
		return nil, nil
	}
	v, ok := call.Args[0].(*valueExpr)
	if !ok {
		return nil, nil
	}
	n, ok := v.value.(int64)
	if !ok {
		return nil, nil
	}
	return d.cell(int(n)), call.Args[1:]
}

// statement decodes a query or a data-modifying statement.
func (d *decoder) statement(n tast.Node) ast.Statement {
	switch n := n.(type) {
	case *tast.InsertStmt:
		return d.insert(n)
	case *tast.UpdateStmt:
		return d.update(n)
	case *tast.DeleteStmt:
		return d.delete(n)
	}
	return d.query(n)
}

// query decodes a SELECT, VALUES or set operation, with or without parentheses around it.
func (d *decoder) query(n tast.Node) *ast.Select {
	switch n := n.(type) {
	case *tast.SelectStmt:
		return d.selectStmt(n)
	case *tast.SetOprStmt:
		return d.setOp(n.SelectList.Selects, n.With, n.OrderBy)
	case *tast.SetOprSelectList:
		return d.setOp(n.Selects, n.With, n.OrderBy)
	}
	d.broken(n)
	return &ast.Select{}
}

// setOp decodes a set operation; the rewriter gives each exactly two operands.
func (d *decoder) setOp(selects []tast.Node, with *tast.WithClause, order *tast.OrderByClause) *ast.Select {
	if len(selects) == 1 {
		return d.query(selects[0])
	}
	body, items := d.bodyCell(order)
	if body == nil || body.setOp == nil || len(selects) != 2 {
		d.broken(order)
		return &ast.Select{}
	}
	sel := body.sel
	sel.With = d.with(with)
	body.setOp.L = d.query(selects[0])
	body.setOp.R = d.query(selects[1])
	d.orderBy(sel, items)
	return sel
}

// bodyCell splits ORDER BY into its first item's cell and the others, and fills the limits in.
func (d *decoder) bodyCell(order *tast.OrderByClause) (*bodyCell, []*tast.ByItem) {
	if order == nil || len(order.Items) == 0 {
		return nil, nil
	}
	cell, ops := d.marker(order.Items[0].Expr)
	c, ok := cell.(*bodyCell)
	if !ok {
		return nil, order.Items
	}
	if c.limit && len(ops) > 0 {
		if e := d.expr(ops[0]); !isNull(e) {
			c.sel.Limit = e
		}
		ops = ops[1:]
	}
	if c.offset && len(ops) > 0 {
		if e := d.expr(ops[0]); !isNull(e) {
			c.sel.Offset = e
		}
	}
	return c, order.Items[1:]
}

func isNull(e ast.Expr) bool {
	_, ok := e.(*ast.NullLit)
	return ok
}

func (d *decoder) orderBy(sel *ast.Select, items []*tast.ByItem) {
	if len(items) == 0 {
		return
	}
	sel.OrderBy = make([]ast.OrderItem, 0, len(items))
	for _, it := range items {
		sel.OrderBy = append(sel.OrderBy, d.orderItem(it.Expr))
	}
}

func (d *decoder) orderItem(e tast.ExprNode) ast.OrderItem {
	cell, ops := d.marker(e)
	c, ok := cell.(*orderCell)
	if !ok || len(ops) != 1 {
		d.broken(e)
		return ast.OrderItem{}
	}
	c.item.Expr = d.expr(ops[0])
	return c.item
}

func (d *decoder) selectStmt(n *tast.SelectStmt) *ast.Select {
	body, items := d.bodyCell(n.OrderBy)
	var sel *ast.Select
	switch {
	case n.Kind == tast.SelectStmtKindValues:
		if body == nil || body.values == nil {
			d.broken(n)
			return &ast.Select{}
		}
		sel = body.sel
		for _, row := range n.Lists {
			body.values.Rows = append(body.values.Rows, d.exprs(row.Values))
		}
	default:
		core := d.core(n)
		if body != nil {
			sel = body.sel
		} else {
			sel = &ast.Select{Pos: core.Pos}
		}
		sel.Body = core
	}
	sel.With = d.with(n.With)
	d.orderBy(sel, items)
	return sel
}

// core decodes what is between SELECT and ORDER BY.
func (d *decoder) core(n *tast.SelectStmt) *ast.SelectCore {
	fields := n.Fields.Fields
	cell, on := d.marker(fields[0].Expr)
	c, ok := cell.(*coreCell)
	if !ok || len(fields)-1 != len(c.core.Targets) {
		d.broken(n)
		return &ast.SelectCore{}
	}
	core := c.core
	core.DistinctOn = d.exprs(on)
	for i, f := range fields[1:] {
		core.Targets[i].Expr = d.expr(f.Expr)
	}
	core.From = d.from(n.From)
	core.Where = d.expr(n.Where)
	if n.GroupBy != nil {
		for _, it := range n.GroupBy.Items {
			core.GroupBy = append(core.GroupBy, d.groupItem(it.Expr))
		}
	}
	if n.Having != nil {
		core.Having = d.expr(n.Having.Expr)
	}
	for i := range n.WindowSpecs {
		if i < len(core.Windows) {
			core.Windows[i].Spec = d.window(&n.WindowSpecs[i])
		}
	}
	return core
}

func (d *decoder) groupItem(e tast.ExprNode) ast.GroupItem {
	cell, ops := d.marker(e)
	if c, ok := cell.(*groupCell); ok {
		for _, op := range ops {
			c.item.Sets = append(c.item.Sets, d.groupItem(op))
		}
		return c.item
	}
	x := d.expr(e)
	if x == nil {
		return ast.GroupItem{}
	}
	if row, ok := x.(*ast.Row); ok && !row.Explicit {
		item := ast.GroupItem{Kind: ast.GroupSet, Pos: row.Pos}
		for _, el := range row.Elems {
			item.Sets = append(item.Sets, ast.GroupItem{Kind: ast.GroupExpr, Expr: el, Pos: el.Position()})
		}
		return item
	}
	return ast.GroupItem{Kind: ast.GroupExpr, Expr: x, Pos: x.Position()}
}

// with decodes a WITH clause.
func (d *decoder) with(w *tast.WithClause) *ast.With {
	if w == nil {
		return nil
	}
	r := &ast.With{Recursive: w.IsRecursive}
	for _, t := range w.CTEs {
		c, ok := d.cellOf(t.Name.O).(*cteCell)
		if !ok {
			d.broken(t)
			continue
		}
		cte := *c.cte
		if c.dml > 0 {
			cte.Query = d.further(c.dml)
		} else {
			cte.Query = d.query(t.Query.Query)
		}
		r.CTEs = append(r.CTEs, cte)
	}
	return r
}

// further decodes the nth further statement as a data-modifying one.
func (d *decoder) further(n int) ast.Statement {
	if n >= len(d.stmts) {
		d.broken(n)
		return nil
	}
	return d.statement(d.stmts[n])
}

// from decodes FROM. In TiDB's tree a comma is a join without condition; every join of ours has
// one, since its cell is there.
func (d *decoder) from(refs *tast.TableRefsClause) []ast.TableExpr {
	if refs == nil || refs.TableRefs == nil {
		return nil
	}
	return d.tables(refs.TableRefs, nil)
}

func (d *decoder) tables(n tast.ResultSetNode, list []ast.TableExpr) []ast.TableExpr {
	if j, ok := n.(*tast.Join); ok && j.On == nil {
		list = d.tables(j.Left, list)
		if j.Right != nil {
			list = d.tables(j.Right, list)
		}
		return list
	}
	if t := d.table(n); t != nil {
		list = append(list, t)
	}
	return list
}

func (d *decoder) table(n tast.ResultSetNode) ast.TableExpr {
	switch n := n.(type) {
	case *tast.Join:
		return d.join(n)
	case *tast.TableSource:
		return d.tableSource(n)
	case *tast.TableName:
		if n.Name.O == "\x01" {
			return nil // the FROM that TiDB wants before WHERE and GROUP BY
		}
	}
	d.broken(n)
	return nil
}

func (d *decoder) join(n *tast.Join) ast.TableExpr {
	if n.On == nil {
		// A join in parentheses of its own.
		if n.Right == nil {
			return d.table(n.Left)
		}
		d.broken(n)
		return nil
	}
	cell, ops := d.marker(n.On.Expr)
	c, ok := cell.(*joinCell)
	if !ok {
		d.broken(n)
		return nil
	}
	c.join.L = d.table(n.Left)
	c.join.R = d.table(n.Right)
	if len(ops) > 0 {
		c.join.On = d.expr(ops[0])
	}
	return c.join
}

func (d *decoder) tableSource(n *tast.TableSource) ast.TableExpr {
	switch c := d.cellOf(n.AsName.O).(type) {
	case *tableCell:
		if t, ok := n.Source.(*tast.TableName); ok && t.AsOf != nil {
			c.rel.AsOf = d.expr(t.AsOf.TsExpr)
		}
		return c.rel
	case *derivedCell:
		c.table.Query = d.query(n.Source)
		return c.table
	case *funcCell:
		sel, ok := n.Source.(*tast.SelectStmt)
		if !ok {
			break
		}
		for _, f := range sel.Fields.Fields {
			e := d.expr(f.Expr)
			fn, ok := e.(*ast.Func)
			if !ok {
				if d.err == nil {
					d.err = sqlerr.New(sqlerr.FeatureNotSupported, c.table.Pos, "this expression in FROM is not supported")
				}
				continue
			}
			c.table.Funcs = append(c.table.Funcs, fn)
		}
		return c.table
	}
	if n.AsName.O == "" {
		if t, ok := n.Source.(*tast.TableName); ok && t.Name.O == "\x01" {
			return nil
		}
	}
	d.broken(n)
	return nil
}
