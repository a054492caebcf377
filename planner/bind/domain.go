package bind

import (
	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// The values of a domain are those of its base type: an expression has that type. A cast to the domain, and a write into a column of
// it, checks the domain's constraints.

// domainValue checks x, which has the domain's base type, against its constraints.
func (b *Binder) domainValue(x scalar.Expr, d *catalog.Type, pos int) scalar.Expr {
	for _, c := range b.domainChecks(x, d) {
		f := b.cfg.Registry.ByID("domain_check(anyelement,bool,text,text)")
		text := func(s string) scalar.Expr { return &scalar.Const{Node: node(types.Text, pos), Val: types.DStr(s)} }
		x = &scalar.Call{Node: scalar.Node{T: x.Type(), Pos: pos}, Fn: f, Args: []scalar.Expr{x, c.Expr, text(c.Domain), text(c.Name)}}
	}
	return x
}

// domainChecks gives the constraints of a domain over a value.
func (b *Binder) domainChecks(x scalar.Expr, d *catalog.Type) []plan.Check {
	var out []plan.Check
	for _, at := range b.cfg.Catalog.Domains(d.ID) {
		if at.NotNull {
			out = append(out, plan.Check{Domain: d.Name, Expr: &scalar.IsNull{Node: node(types.Bool, sqlerr.NoPos), X: x, Not: true}})
		}
		for _, c := range at.Checks {
			e, err := b.cfg.ParseExpr(c.Expr)
			check(err, sqlerr.NoPos)
			out = append(out, plan.Check{Name: c.Name, Domain: d.Name, Expr: b.valueExpr(e, x, at.Base)})
		}
	}
	return out
}

// valueExpr binds the check of a domain, in which VALUE is x.
func (b *Binder) valueExpr(e ast.Expr, x scalar.Expr, base types.Type) scalar.Expr {
	rel := &catalog.Relation{Kind: catalog.Table, Columns: []catalog.Column{{Name: "value", Type: base}}}
	s := &scope{q: &queryState{clause: "check constraints", noSubquery: "cannot use subquery in check constraint"}}
	r := b.relColumns(rel, "value")
	s.addRel(r)
	id := r.cols[0].id
	bound := b.needBool(b.expr(s, e), "CHECK", e.Position())
	return logical.MapExpr(bound, func(y scalar.Expr) scalar.Expr {
		if c, ok := y.(*scalar.Column); ok && c.Index == id {
			return x
		}
		return nil
	})
}

// DomainCheck binds the check of a domain over a base type, for its errors.
func (b *Binder) DomainCheck(e ast.Expr, base types.Type) (err error) {
	defer catch(&err)
	b.valueExpr(e, logical.NullConst(base), base)
	return nil
}

// domainDefault is the default of a domain as text, "" if it has none.
func (b *Binder) domainDefault(id catalog.ID) string {
	text := ""
	for _, d := range b.cfg.Catalog.Domains(id) {
		if d.Default != "" {
			text = d.Default
		}
	}
	return text
}

// rowAs makes a row of a composite type of one that is made here.
func (b *Binder) rowAs(row *scalar.MakeRow, to types.Type, ctx fn.CastContext, pos int) scalar.Expr {
	u := b.cfg.Catalog.UserType(to.Kind)
	bad := func(detail string) {
		raise(sqlerr.New(sqlerr.CannotCoerce, pos, "cannot cast type record to %s", to).WithDetail("%s", detail))
	}
	switch {
	case u == nil:
		bad("The type is gone.")
	case len(row.Elems) < len(u.Attrs):
		bad("Input has too few columns.")
	case len(row.Elems) > len(u.Attrs):
		bad("Input has too many columns.")
	}
	out := &scalar.MakeRow{Node: scalar.Node{T: to, Pos: row.Pos}, Names: []string{}}
	for i, x := range row.Elems {
		a := u.Attrs[i]
		// ROW has made text of a literal of unknown type.
		if c, ok := x.(*scalar.Const); ok && c.T == types.T(types.Text) {
			x = &scalar.Const{Node: node(types.Unknown, c.Pos), Val: c.Val}
		}
		if from := x.Type(); from.Kind != types.Unknown && from != a.Type && !(from.Kind == types.Record && a.Type.Kind.IsComposite()) && !b.cfg.Registry.CanCast(from, a.Type, ctx) {
			raise(sqlerr.New(sqlerr.CannotCoerce, pos, "cannot cast type record to %s", to).
				WithDetail("Cannot cast type %s to %s in column %d.", from.WithoutMod(), a.Type, i+1))
		}
		out.Elems = append(out.Elems, b.cast(x, a.Type, ctx, x.Position()))
		out.Names = append(out.Names, a.Name)
	}
	return out
}

// attribute gives a column of a composite value.
func (b *Binder) attribute(x scalar.Expr, name string, pos int) scalar.Expr {
	if row, ok := x.(*scalar.MakeRow); ok && row.Names != nil {
		for i, n := range row.Names {
			if n == name {
				return row.Elems[i]
			}
		}
	}
	u := b.cfg.Catalog.UserType(x.Type().Kind)
	if u != nil {
		for i, a := range u.Attrs {
			if a.Name == name {
				return b.nthField(x, i, a.Type, pos)
			}
		}
	}
	fail(sqlerr.UndefinedColumn, pos, "column \"%s\" not found in data type %s", name, x.Type())
	return nil
}

// nthField gives the field i, of type t, of a row.
func (b *Binder) nthField(x scalar.Expr, i int, t types.Type, pos int) scalar.Expr {
	f := b.cfg.Registry.ByID("record_field(record,int4)")
	return &scalar.Call{Node: scalar.Node{T: t, Pos: pos}, Fn: f,
		Args: []scalar.Expr{x, &scalar.Const{Node: node(types.Int4, pos), Val: types.DInt(int64(i))}}}
}

// attributes gives all columns of a composite value as targets.
func (b *Binder) attributes(x scalar.Expr, pos int) []target {
	u := b.cfg.Catalog.UserType(x.Type().Kind)
	if u == nil {
		unsupported(pos, "row expansion via \"*\"")
	}
	out := make([]target, len(u.Attrs))
	for i, a := range u.Attrs {
		out[i] = target{name: a.Name, expr: b.attribute(x, a.Name, pos), pos: pos}
	}
	return out
}
