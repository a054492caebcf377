package parse

import (
	"strings"

	tast "github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/opcode"

	"github.com/weirdb/weir/sql/ast"
)

func (d *decoder) exprs(list []tast.ExprNode) []ast.Expr {
	if len(list) == 0 {
		return nil
	}
	r := make([]ast.Expr, len(list))
	for i, e := range list {
		r[i] = d.expr(e)
	}
	return r
}

// expr decodes an expression; nil stays nil.
func (d *decoder) expr(n tast.ExprNode) ast.Expr {
	if n == nil {
		return nil
	}
	pos := func() ast.P { return ast.P{Pos: d.at(n.OriginTextPosition())} }
	switch n := n.(type) {
	case *tast.ParenthesesExpr:
		return d.expr(n.Expr)
	case *valueExpr:
		return d.literal(n)
	case *tast.PositionExpr:
		// An integer in GROUP BY or ORDER BY.
		return &ast.IntLit{P: pos(), Value: int64(n.N)}
	case *tast.ColumnNameExpr:
		parts := []string{n.Name.Name.O}
		if n.Name.Table.O != "" {
			parts = []string{n.Name.Table.O, n.Name.Name.O}
		}
		return &ast.ColumnRef{P: pos(), Parts: parts}
	case *tast.BinaryOperationExpr:
		return d.binary(n)
	case *tast.UnaryOperationExpr:
		return d.unary(n)
	case *tast.BetweenExpr:
		p := ast.P{Pos: d.before(n.Left.OriginTextPosition())}
		return &ast.Between{P: p, X: d.expr(n.Expr), Lo: d.expr(n.Left), Hi: d.expr(n.Right), Not: n.Not}
	case *tast.PatternInExpr:
		if n.Sel != nil {
			p := ast.P{Pos: d.before(n.Sel.OriginTextPosition())}
			return &ast.InQuery{P: p, X: d.expr(n.Expr), Query: d.subquery(n.Sel), Not: n.Not}
		}
		p := ast.P{Pos: d.before(n.List[0].OriginTextPosition())}
		return &ast.InList{P: p, X: d.expr(n.Expr), List: d.exprs(n.List), Not: n.Not}
	case *tast.PatternLikeOrIlikeExpr:
		kind := ast.LikeLike
		if !n.IsLike {
			kind = ast.LikeILike
		}
		p := ast.P{Pos: d.before(n.Pattern.OriginTextPosition())}
		return &ast.Like{P: p, Kind: kind, X: d.expr(n.Expr), Pattern: d.expr(n.Pattern), Not: n.Not}
	case *tast.IsNullExpr:
		x := d.expr(n.Expr)
		return &ast.Is{P: pos(), X: x, What: ast.IsNull, Not: n.Not}
	case *tast.IsTruthExpr:
		what := ast.IsTrue
		if n.True == 0 {
			what = ast.IsFalse
		}
		return &ast.Is{P: pos(), X: d.expr(n.Expr), What: what, Not: n.Not}
	case *tast.CaseExpr:
		c := &ast.Case{P: pos(), Operand: d.expr(n.Value), Else: d.expr(n.ElseClause)}
		for _, w := range n.WhenClauses {
			c.Whens = append(c.Whens, ast.When{Cond: d.expr(w.Expr), Result: d.expr(w.Result)})
		}
		return c
	case *tast.SubqueryExpr:
		return &ast.Subquery{P: pos(), Query: d.query(n.Query)}
	case *tast.ExistsSubqueryExpr:
		return &ast.Subquery{P: pos(), Query: d.subquery(n.Sel), Exists: true}
	case *tast.FuncCallExpr:
		if n.FnName.O == "\x01" {
			cell, ops := d.marker(n)
			return d.cellExpr(cell, ops)
		}
		name := ast.Name{Parts: []string{n.FnName.O}, Pos: pos().Pos}
		if n.Schema.O != "" {
			name.Parts = []string{n.Schema.O, n.FnName.O}
		}
		return &ast.Func{P: pos(), Name: name, Args: d.exprs(n.Args)}
	case *tast.WindowFuncExpr:
		if len(n.Args) != 1 {
			break
		}
		fn, ok := d.expr(n.Args[0]).(*ast.Func)
		if !ok {
			break
		}
		spec := d.window(&n.Spec)
		fn.Over = &spec
		return fn
	}
	d.broken(n)
	return &ast.NullLit{}
}

// subquery gives the query of a subquery operand.
func (d *decoder) subquery(n tast.ExprNode) *ast.Select {
	for {
		switch s := n.(type) {
		case *tast.SubqueryExpr:
			return d.query(s.Query)
		case *tast.ParenthesesExpr:
			n = s.Expr
			continue
		}
		d.broken(n)
		return &ast.Select{}
	}
}

func (d *decoder) literal(n *valueExpr) ast.Expr {
	p := ast.P{Pos: d.at(n.OriginTextPosition())}
	switch v := n.value.(type) {
	case nil:
		return &ast.NullLit{P: p}
	case int64:
		return &ast.IntLit{P: p, Value: v}
	case bool:
		return &ast.BoolLit{P: p, Value: v}
	case string:
		return &ast.StrLit{P: p, Value: v}
	}
	d.broken(n)
	return &ast.NullLit{}
}

// binaryOps are the operators that go through TiDB as they are.
var binaryOps = map[opcode.Op]string{
	opcode.Plus: "+", opcode.Minus: "-", opcode.Mul: "*", opcode.Div: "/", opcode.Mod: "%", opcode.Xor: "^",
	opcode.EQ: "=", opcode.NE: "<>", opcode.LT: "<", opcode.GT: ">", opcode.LE: "<=", opcode.GE: ">=",
}

func (d *decoder) binary(n *tast.BinaryOperationExpr) ast.Expr {
	p := ast.P{Pos: d.before(n.R.OriginTextPosition())}
	l, r := d.expr(n.L), d.expr(n.R)
	// AND and OR collect the operands of a chain, as PostgreSQL does; a chain to the right, which
	// only parentheses make, stays nested.
	switch n.Op {
	case opcode.LogicAnd:
		if a, ok := l.(*ast.And); ok {
			a.Args = append(a.Args, r)
			return a
		}
		return &ast.And{P: p, Args: []ast.Expr{l, r}}
	case opcode.LogicOr:
		if o, ok := l.(*ast.Or); ok {
			o.Args = append(o.Args, r)
			return o
		}
		return &ast.Or{P: p, Args: []ast.Expr{l, r}}
	}
	op, ok := binaryOps[n.Op]
	if !ok {
		d.broken(n)
	}
	return &ast.Binary{P: p, Op: op, L: l, R: r}
}

// unary decodes NOT and the minus sign, which becomes part of a number as in PostgreSQL.
func (d *decoder) unary(n *tast.UnaryOperationExpr) ast.Expr {
	p := ast.P{Pos: d.at(n.OriginTextPosition())}
	x := d.expr(n.V)
	switch n.Op {
	case opcode.Not:
		return &ast.Not{P: p, X: x}
	case opcode.Minus:
		switch lit := x.(type) {
		case *ast.IntLit:
			if v := -lit.Value; v != lit.Value || v == 0 {
				return &ast.IntLit{P: p, Value: v}
			}
			return &ast.NumLit{P: p, Text: "9223372036854775808"}
		case *ast.NumLit:
			if s, ok := strings.CutPrefix(lit.Text, "-"); ok {
				return &ast.NumLit{P: p, Text: s}
			}
			if strings.TrimLeft(lit.Text, "0") == "9223372036854775808" {
				return &ast.IntLit{P: p, Value: -1 << 63}
			}
			return &ast.NumLit{P: p, Text: "-" + lit.Text}
		// Other constants stay operands, but PostgreSQL moves them to the sign as well.
		case *ast.StrLit:
			lit.P = p
		case *ast.NullLit:
			lit.P = p
		case *ast.BoolLit:
			lit.P = p
		case *ast.BitLit:
			lit.P = p
		}
		return &ast.Unary{P: p, Op: "-", X: x}
	}
	d.broken(n)
	return x
}

// window decodes a window definition; its cell is the first item of PARTITION BY.
func (d *decoder) window(n *tast.WindowSpec) ast.WindowSpec {
	if n.PartitionBy == nil || len(n.PartitionBy.Items) == 0 {
		d.broken(n)
		return ast.WindowSpec{}
	}
	cell, ops := d.marker(n.PartitionBy.Items[0].Expr)
	c, ok := cell.(*windowCell)
	if !ok {
		d.broken(n)
		return ast.WindowSpec{}
	}
	spec := *c.spec
	if f := spec.Frame; f != nil {
		for _, b := range []*ast.FrameBound{&f.Start, &f.End} {
			if b.Kind != ast.OffsetPreceding && b.Kind != ast.OffsetFollowing {
				continue
			}
			if len(ops) == 0 {
				d.broken(n)
				break
			}
			b.Offset = d.expr(ops[0])
			ops = ops[1:]
		}
	}
	for _, it := range n.PartitionBy.Items[1:] {
		spec.PartitionBy = append(spec.PartitionBy, d.expr(it.Expr))
	}
	if n.OrderBy != nil {
		spec.OrderBy = spec.OrderBy[:0]
		for _, it := range n.OrderBy.Items {
			spec.OrderBy = append(spec.OrderBy, d.orderItem(it.Expr))
		}
	}
	return spec
}

// call fills the operands of a call in.
func (d *decoder) call(c *callCell, ops []tast.ExprNode) ast.Expr {
	fn := c.fn
	want := c.args + len(fn.OrderBy) + len(fn.WithinGroup)
	if c.filter {
		want++
	}
	if len(ops) != want {
		d.broken(c)
		return fn
	}
	fn.Args, ops = d.exprs(ops[:c.args]), ops[c.args:]
	for i := range fn.OrderBy {
		fn.OrderBy[i] = d.orderItem(ops[i])
	}
	ops = ops[len(fn.OrderBy):]
	for i := range fn.WithinGroup {
		fn.WithinGroup[i] = d.orderItem(ops[i])
	}
	ops = ops[len(fn.WithinGroup):]
	if c.filter {
		fn.Filter = d.expr(ops[0])
	}
	return fn
}

// cellExpr fills the operands of a cell's shell in.
func (d *decoder) cellExpr(cell any, ops []tast.ExprNode) ast.Expr {
	// get gives operand i.
	get := func(i int) ast.Expr {
		if i >= len(ops) {
			d.broken(cell)
			return &ast.NullLit{}
		}
		return d.expr(ops[i])
	}
	query := func(i int) *ast.Select {
		if i >= len(ops) {
			d.broken(cell)
			return &ast.Select{}
		}
		return d.subquery(ops[i])
	}
	switch c := cell.(type) {
	case *ast.IntLit, *ast.NumLit, *ast.BitLit, *ast.TypedLit, *ast.Param, *ast.Default, *ast.Star, *ast.ColumnRef:
		return c.(ast.Expr)
	case *callCell:
		return d.call(c, ops)
	case *ast.Cast:
		c.X = get(0)
		return c
	case *ast.Binary:
		c.L, c.R = get(0), get(1)
		return c
	case *ast.Unary:
		c.X = get(0)
		return c
	case *ast.And:
		c.Args = d.exprs(ops)
		// The first operand may be a chain of its own.
		if a, ok := c.Args[0].(*ast.And); ok {
			c.Args = append(a.Args, c.Args[1:]...)
		}
		return c
	case *ast.Or:
		c.Args = d.exprs(ops)
		if o, ok := c.Args[0].(*ast.Or); ok {
			c.Args = append(o.Args, c.Args[1:]...)
		}
		return c
	case *ast.Is:
		c.X = get(0)
		return c
	case *ast.IsDistinct:
		c.L, c.R = get(0), get(1)
		return c
	case *ast.Between:
		c.X, c.Lo, c.Hi = get(0), get(1), get(2)
		return c
	case *ast.Like:
		c.X, c.Pattern = get(0), get(1)
		if len(ops) > 2 {
			c.Escape = get(2)
		}
		return c
	case *ast.AnyAll:
		c.L, c.R = get(0), get(1)
		return c
	case *ast.AnyAllQuery:
		c.X, c.Query = get(0), query(1)
		return c
	case *ast.Coalesce:
		c.Args = d.exprs(ops)
		return c
	case *ast.NullIf:
		c.L, c.R = get(0), get(1)
		return c
	case *ast.MinMax:
		c.Args = d.exprs(ops)
		return c
	case *ast.Collate:
		c.X = get(0)
		return c
	case *ast.AtTimeZone:
		c.X, c.Zone = get(0), get(1)
		return c
	case *ast.Array:
		c.Elems = d.exprs(ops)
		return c
	case *ast.ArrayQuery:
		c.Query = query(0)
		return c
	case *ast.Row:
		c.Elems = d.exprs(ops)
		return c
	case *ast.Field:
		c.X = get(0)
		return c
	case *subscriptCell:
		c.sub.X = get(0)
		n := 1
		if c.lo {
			c.sub.Lo = get(n)
			n++
		}
		if c.hi {
			c.sub.Hi = get(n)
		}
		return c.sub
	case *ast.Overlaps:
		l, ok := get(0).(*ast.Row)
		r, ok2 := get(1).(*ast.Row)
		if !ok || !ok2 {
			d.broken(c)
		}
		c.L, c.R = l, r
		return c
	}
	d.broken(cell)
	return &ast.NullLit{}
}
