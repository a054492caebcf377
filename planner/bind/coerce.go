package bind

import (
	"errors"

	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// cast makes e a value of type to; a failure is 42846 at pos.
func (b *Binder) cast(e scalar.Expr, to types.Type, ctx fn.CastContext, pos int) scalar.Expr {
	from := e.Type()
	if from == to {
		return e
	}
	if from.Kind == types.Unknown {
		return b.fromUnknown(e, to, ctx)
	}
	if row, ok := e.(*scalar.MakeRow); ok && to.Kind.IsComposite() {
		return b.rowAs(row, to, ctx, pos)
	}
	steps, err := b.cfg.Registry.ResolveCast(from, to, ctx)
	check(err, pos)
	for _, s := range steps {
		e = &scalar.Call{Node: scalar.Node{T: s.To, Pos: pos}, Fn: s.Fn, Args: []scalar.Expr{e}}
	}
	if e.Type() != to {
		e = relabel(e, to)
	}
	return e
}

// fromUnknown gives a literal or parameter of unknown type the type to.
func (b *Binder) fromUnknown(e scalar.Expr, to types.Type, ctx fn.CastContext) scalar.Expr {
	switch x := e.(type) {
	case *scalar.Const:
		if !x.Val.Valid {
			return &scalar.Const{Node: scalar.Node{T: to, Pos: x.Pos}}
		}
		return b.literal(x.Val.S, to, ctx, x.Pos)
	case *scalar.Param:
		t := to.WithoutMod()
		known := b.params[x.N-1]
		if known.Kind == types.Unknown {
			b.params[x.N-1] = t
		} else if known != t {
			raise(sqlerr.New(sqlerr.AmbiguousParameter, x.Pos, "inconsistent types deduced for parameter $%d", x.N).
				WithDetail("%s versus %s", known, t))
		}
		p := &scalar.Param{Node: scalar.Node{T: t, Pos: x.Pos}, N: x.N}
		if to.Mod >= 0 {
			return b.cast(p, to, ctx, x.Pos)
		}
		return p
	}
	// An expression of unknown type that is no literal does not arise; treat it as text.
	return b.cast(relabel(e, types.T(types.Text)), to, fn.Explicit, e.Position())
}

// literal parses an unknown literal as type to.
func (b *Binder) literal(text string, to types.Type, ctx fn.CastContext, pos int) scalar.Expr {
	// The modifier is applied afterwards: an explicit cast to varchar(n) cuts, an assignment checks.
	base := to
	if to.Kind != types.Interval && !to.IsVector() {
		base = to.WithoutMod()
	}
	if base.Kind == types.Record || base.Kind.IsPseudo() {
		fail(sqlerr.FeatureNotSupported, pos, "input of anonymous composite types is not implemented")
	}
	v, err := types.ParseText(base, text, b.cfg.Env)
	check(err, pos)
	if base.Kind == types.Regclass && len(b.views) == 0 && len(b.inlining) == 0 && pos >= 0 {
		if b.named == nil {
			b.named = map[int]uint32{}
		}
		b.named[pos] = uint32(v.I)
	}
	c := &scalar.Const{Node: scalar.Node{T: base, Pos: pos}, Val: v}
	if base == to {
		return c
	}
	return b.cast(c, to, ctx, pos)
}

// relabel changes the type of e where the value stays as it is.
func relabel(e scalar.Expr, to types.Type) scalar.Expr {
	switch x := e.(type) {
	case *scalar.Column:
		c := *x
		c.T = to
		return &c
	case *scalar.Const:
		c := *x
		c.T = to
		return &c
	}
	return &scalar.Coalesce{Node: scalar.Node{T: to, Pos: e.Position()}, Args: []scalar.Expr{e}}
}

// resolve makes text of an unknown literal.
func (b *Binder) resolve(e scalar.Expr) scalar.Expr {
	if e.Type().Kind == types.Unknown {
		return b.fromUnknown(e, types.T(types.Text), fn.Implicit)
	}
	return e
}

// assign casts e to the type of a column in assignment context; mismatch makes the error.
func (b *Binder) assign(e scalar.Expr, to types.Type, mismatch func(from types.Type) error) scalar.Expr {
	return b.assignWith(e, to, fn.Assignment, mismatch)
}

func (b *Binder) assignWith(e scalar.Expr, to types.Type, ctx fn.CastContext, mismatch func(from types.Type) error) scalar.Expr {
	from := e.Type()
	_, row := e.(*scalar.MakeRow)
	if from.Kind != types.Unknown && from != to && !(row && to.Kind.IsComposite()) && !b.cfg.Registry.CanCast(from, to, ctx) {
		raise(mismatch(from.WithoutMod()))
	}
	return b.cast(e, to, ctx, e.Position())
}

// needBool casts e to bool for a clause such as WHERE.
func (b *Binder) needBool(e scalar.Expr, clause string, pos int) scalar.Expr {
	if e.Type().Kind != types.Bool {
		if e.Type().Kind != types.Unknown {
			fail(sqlerr.DatatypeMismatch, pos, "argument of %s must be type boolean, not type %s", clause, e.Type().WithoutMod())
		}
		return b.fromUnknown(e, types.T(types.Bool), fn.Implicit)
	}
	return e
}

// needEquality refuses types that cannot be grouped.
func (b *Binder) needEquality(t types.Type, pos int) {
	switch k := t.Kind; {
	case k == types.Unknown, k == types.Array, k.IsRow():
		return
	}
	if _, err := b.cfg.Registry.ResolveOperator("=", t, t); err != nil {
		raise(sqlerr.New(sqlerr.UndefinedFunction, pos, "could not identify an equality operator for type %s", t.WithoutMod()))
	}
}

// needOrdering refuses types that cannot be sorted.
func (b *Binder) needOrdering(t types.Type, pos int) {
	switch k := t.Kind; {
	case k == types.Unknown, k == types.Array, k.IsRow():
		return
	}
	if _, err := b.cfg.Registry.ResolveOperator("<", t, t); err != nil {
		raise(sqlerr.New(sqlerr.UndefinedFunction, pos, "could not identify an ordering operator for type %s", t.WithoutMod()).
			WithHint("Use an explicit ordering operator or modify the query."))
	}
}

// operator applies an infix operator by name.
func (b *Binder) operator(name string, l, r scalar.Expr, pos int) scalar.Expr {
	res, err := b.cfg.Registry.ResolveOperator(name, l.Type(), r.Type())
	check(err, pos)
	return &scalar.Call{Node: scalar.Node{T: res.Ret, Pos: pos}, Fn: res.Fn,
		Args: b.args(res, []scalar.Expr{l, r}, pos)}
}

// args casts arguments to what a Resolution wants, in its order, defaults filled in.
func (b *Binder) args(res fn.Resolution, args []scalar.Expr, pos int) []scalar.Expr {
	out := make([]scalar.Expr, len(res.Args))
	for i, want := range res.Args {
		k := i
		if res.Order != nil {
			k = res.Order[i]
		}
		if k < 0 {
			out[i] = b.literal(res.Fn.Defaults[i], want, fn.Implicit, pos)
			continue
		}
		out[i] = b.arg(args[k], want)
	}
	return out
}

// arg casts one argument; modifiers play no part.
func (b *Binder) arg(e scalar.Expr, want types.Type) scalar.Expr {
	have := e.Type()
	switch {
	case have.Kind == types.Unknown && want.Kind == types.Unknown:
		return b.resolve(e)
	case want.Kind == types.Unknown, want.Kind == types.Any, want.Kind == types.Record && have.Kind.IsComposite():
		return e
	case have.Kind == want.Kind && have.Elem == want.Elem:
		return e
	}
	return b.cast(e, want, fn.Implicit, e.Position())
}

func sqlError(err error) *sqlerr.Error {
	var e *sqlerr.Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}
