package bind

import (
	"strings"

	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// A row value does not know the names of its columns. Where a function makes JSON of the row of a relation, as in
// row_to_json(t) or json_agg(t), the row is replaced by a call that knows them.

// namedRows replaces the rows of relations among the arguments of a JSON function. If the call is thereby done, it
// is the second result.
func (b *Binder) namedRows(name string, args []scalar.Expr, pos int) ([]scalar.Expr, scalar.Expr) {
	binary := strings.HasPrefix(name, "jsonb_") || name == "to_jsonb"
	switch name {
	case "to_json", "to_jsonb", "row_to_json":
		if len(args) == 0 || len(args) == 2 && name != "row_to_json" {
			return args, nil
		}
		row, ok := args[0].(*scalar.MakeRow)
		if !ok || row.Names == nil {
			return args, nil
		}
		var pretty scalar.Expr
		if len(args) == 2 {
			pretty = args[1]
		}
		return args, b.namedRow(row, binary, pretty, pos)
	case "json_agg", "jsonb_agg", "json_build_array", "jsonb_build_array", "json_build_object", "jsonb_build_object",
		"json_object_agg", "jsonb_object_agg":
	default:
		return args, nil
	}
	out := make([]scalar.Expr, len(args))
	for i, a := range args {
		if row, ok := a.(*scalar.MakeRow); ok && row.Names != nil {
			a = b.namedRow(row, binary, nil, pos)
		}
		out[i] = a
	}
	return out, nil
}

func (b *Binder) namedRow(row *scalar.MakeRow, binary bool, pretty scalar.Expr, pos int) scalar.Expr {
	names := make([]types.Datum, len(row.Names))
	for i, n := range row.Names {
		names[i] = types.DStr(n)
	}
	t := types.ArrayOf(types.Text)
	args := []scalar.Expr{&scalar.Const{Node: scalar.Node{T: t, Pos: pos}, Val: types.DStr(types.MakeArray(types.Text, names))}}
	name := "jsonb_named_row"
	if !binary {
		name = "json_named_row"
		if pretty == nil {
			pretty = &scalar.Const{Node: node(types.Bool, pos), Val: types.DBool(false)}
		}
		args = append(args, pretty)
	}
	return b.call(name, append(args, row.Elems...), pos)
}

// isNamedRow tells whether e is what namedRow made.
func isNamedRow(e scalar.Expr) bool {
	c, ok := e.(*scalar.Call)
	return ok && c.Fn.Name == "json_named_row"
}

// recordColumns gives the columns of a column definition list, AS r(a int, b text), to the function that needs
// one: it is told the names in a further argument.
func (b *Binder) recordColumns(t *ast.FuncTable, ps *logical.ProjectSet, r *relItem) {
	given := t.Alias != nil && len(t.Alias.Defs) > 0
	f := &ps.Funcs[0]
	record := f.Fn != nil && f.Fn.Ret.Kind == types.Record && f.Fn.Outs == nil
	switch {
	case !given && !record:
		return
	case !given:
		fail(sqlerr.SyntaxError, t.Funcs[0].Pos, "a column definition list is required for functions returning \"record\"")
	case !record && f.Fn != nil && f.Fn.Outs != nil:
		fail(sqlerr.SyntaxError, t.Alias.Defs[0].Pos, "a column definition list is redundant for a function with OUT parameters")
	case !record:
		fail(sqlerr.SyntaxError, t.Alias.Defs[0].Pos, "a column definition list is only allowed for functions returning \"record\"")
	case len(t.Funcs) > 1:
		unsupported(t.Pos, "a column definition list for several functions")
	}
	rest := r.cols[1:]
	r.cols = nil
	f.Out = nil
	var names []types.Datum
	for _, d := range t.Alias.Defs {
		id := b.Meta.New(d.Name, b.typeName(d.Type))
		f.Out = append(f.Out, id)
		r.cols = append(r.cols, scopeCol{name: d.Name, id: id})
		names = append(names, types.DStr(d.Name))
	}
	r.cols = append(r.cols, rest...)
	f.Args = append(f.Args, &scalar.Const{
		Node: scalar.Node{T: types.ArrayOf(types.Text), Pos: t.Pos},
		Val:  types.DStr(types.MakeArray(types.Text, names)),
	})
}
