package sqltext

import (
	"testing"

	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
)

func TestCanonical(t *testing.T) {
	node := func(k types.Kind) scalar.Node { return scalar.Node{T: types.T(k), Pos: -1} }
	col := func(name string, k types.Kind) scalar.Expr { return &scalar.Column{Node: node(k), Name: name} }
	num := func(n int64) scalar.Expr { return &scalar.Const{Node: node(types.Int4), Val: types.DInt(n)} }
	text := func(s string) scalar.Expr { return &scalar.Const{Node: node(types.Text), Val: types.DStr(s)} }
	call := func(kind fn.Kind, name string, ret types.Kind, args ...scalar.Expr) scalar.Expr {
		return &scalar.Call{Node: node(ret), Fn: &fn.Func{Name: name, Kind: kind}, Args: args}
	}
	cast := func(x scalar.Expr, to types.Kind) scalar.Expr { return call(fn.Cast, "cast", to, x) }
	a, s := col("a", types.Int4), col("s", types.Text)
	more := call(fn.Operator, ">=", types.Bool, col("n", types.Numeric), cast(num(0), types.Numeric))
	for _, c := range []struct {
		e           scalar.Expr
		full, short string
	}{
		{more, "(n >= (0)::numeric)", "n >= 0::numeric"},
		{call(fn.Operator, "<>", types.Bool, s, text("x'y")), "(s <> 'x''y'::text)", "s <> 'x''y'::text"},
		{num(-1), "'-1'::integer", "'-1'::integer"},
		{call(fn.Operator, "*", types.Int4, call(fn.Operator, "+", types.Int4, a, num(1)), num(2)), "((a + 1) * 2)", "(a + 1) * 2"},
		{call(fn.Operator, "+", types.Int4, call(fn.Operator, "+", types.Int4, a, num(1)), num(2)), "((a + 1) + 2)", "a + 1 + 2"},
		{call(fn.Operator, ">", types.Bool, cast(a, types.Int8), col("b", types.Int8)), "(a > b)", "a > b"},
		{&scalar.And{Node: node(types.Bool), Args: []scalar.Expr{more, &scalar.Or{Node: node(types.Bool), Args: []scalar.Expr{
			&scalar.IsNull{Node: node(types.Bool), X: a}, &scalar.Not{Node: node(types.Bool), X: col("b", types.Bool)},
		}}}}, "((n >= (0)::numeric) AND ((a IS NULL) OR (NOT b)))", "n >= 0::numeric AND (a IS NULL OR NOT b)"},
		{call(fn.Scalar, "lower", types.Text, text("X")), "lower('X'::text)", "lower('X'::text)"},
		{&scalar.In{Node: node(types.Bool), X: a, List: []scalar.Expr{num(1), num(2)}}, "(a = ANY (ARRAY[1, 2]))", "a = ANY (ARRAY[1, 2])"},
		{&scalar.Case{Node: node(types.Text), Whens: []scalar.When{{Cond: more, Result: text("y")}}, Else: &scalar.Const{Node: node(types.Text)}},
			"CASE WHEN (n >= (0)::numeric) THEN 'y'::text ELSE NULL::text END", "CASE WHEN n >= 0::numeric THEN 'y'::text ELSE NULL::text END"},
	} {
		name := func(c *scalar.Column) string { return c.Name }
		if got, ok := Canonical(c.e, name, false); !ok || got != c.full {
			t.Errorf("%s, %v; want %s", got, ok, c.full)
		}
		if got, ok := Canonical(c.e, name, true); !ok || got != c.short {
			t.Errorf("pretty: %s, %v; want %s", got, ok, c.short)
		}
	}
	if _, ok := Canonical(&scalar.MakeRow{Node: node(types.Record)}, nil, false); ok {
		t.Error("a row has no form here")
	}
}
