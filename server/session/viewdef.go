package session

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/weirdb/weir/planner"
	"github.com/weirdb/weir/server/syscat"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/parse"
	"github.com/weirdb/weir/sql/types"
)

// The definition of a view in PostgreSQL's form is made of the text that the view has:
//
//  1. The clauses are written from the syntax tree, with PostgreSQL's line breaks.
//  2. In an expression aggregates, window functions and subqueries, written by themselves, and columns become parameters with their types;
//     what is left is bound, and package planner writes it with the casts that binding added.
//  3. What comes out must be planned just as the text it was made of. If it is not, or has something that is not written here, the view
//     shows as it was written.

// viewShower writes one query.
type viewShower struct {
	s      *session
	cat    *catalog.Catalog
	path   []string
	pretty bool
	// level is the indentation, as PostgreSQL counts it.
	level int
	ok    bool
}

// viewScope are the items of FROM around an expression.
type viewScope struct {
	parent *viewScope
	// sub says that it is that of a subquery in an expression, whose names nobody sees.
	sub   bool
	items []viewItem
	from  []ast.TableExpr
}

type viewItem struct {
	name string
	cols []planner.OutColumn
}

// viewText writes the query of a view in PostgreSQL's form; "" if that cannot be done.
func (s *session) viewText(cat *catalog.Catalog, rel *catalog.Relation, text string, pretty bool) string {
	q, err := parse.ParseQuery(text)
	if err != nil {
		return ""
	}
	w := &viewShower{s: s, cat: cat, path: s.vars.searchPath(s.user()), pretty: pretty, ok: true}
	out := w.query(q, nil, 0)
	for strings.Contains(out, " \n") {
		out = strings.ReplaceAll(out, " \n", "\n")
	}
	if !w.ok || !w.same(text, out) {
		return ""
	}
	return out
}

func (w *viewShower) planner(variable func([]string) (int, types.Type, bool, error)) *planner.Planner {
	return planner.New(planner.Config{
		Catalog: syscat.WithSystem(w.cat), Registry: w.s.b.Registry, ParseQuery: parse.ParseQuery, ParseExpr: parse.ParseExpr, Env: &types.Env{},
		SearchPath: w.path, QuoteIdent: quoteIdent, Variable: variable,
	})
}

// same tells whether two texts have the same plan and the same columns.
func (w *viewShower) same(a, b string) bool {
	explain := func(text string) string {
		q, err := parse.ParseQuery(text)
		if err != nil {
			return err.Error()
		}
		// IN is written as a comparison with an array.
		w.replace(reflect.ValueOf(q).Elem(), func(e ast.Expr) ast.Expr {
			in, ok := e.(*ast.InList)
			if !ok || len(in.List) < 2 {
				return nil
			}
			op := "="
			if in.Not {
				op = "<>"
			}
			return &ast.AnyAll{P: in.P, Op: op, All: in.Not, L: in.X, R: &ast.Array{P: in.P, Elems: in.List}}
		})
		pl := w.planner(nil)
		bound, err := pl.Bind(q, nil)
		if err != nil {
			return err.Error()
		}
		var names strings.Builder
		for _, c := range bound.Columns {
			fmt.Fprintf(&names, "%s %s\n", c.Name, c.Type)
		}
		p, err := pl.Batch(bound)
		if err != nil {
			return err.Error()
		}
		return names.String() + p.Explain()
	}
	return explain(a) == explain(b)
}

func (w *viewShower) fail() string {
	w.ok = false
	return ""
}

// keyword begins a line as PostgreSQL does.
func (w *viewShower) keyword(text string, back, plus int) string {
	return "\n" + strings.Repeat(" ", max(w.level-back, 0)+plus) + text
}

const viewIndent = 8

// query writes a query at an indentation.
func (w *viewShower) query(q *ast.Select, parent *viewScope, level int) string {
	return w.queryOf(q, parent, level, false)
}

// queryOf is query, also for a subquery in an expression (sub).
func (w *viewShower) queryOf(q *ast.Select, parent *viewScope, level int, sub bool) string {
	was := w.level
	w.level = level
	defer func() { w.level = was }()
	if q.With != nil || q.WithTies || len(q.Locking) > 0 {
		return w.fail()
	}
	var b strings.Builder
	switch body := q.Body.(type) {
	case *ast.SelectCore:
		w.level += viewIndent
		sc := w.scope(body.From, parent)
		sc.sub = sub
		b.WriteString(" " + w.core(body, sc))
		b.WriteString(w.sort(q.OrderBy, body, sc))
		b.WriteString(w.limits(q, sc))
	case *ast.SetOp:
		b.WriteString(w.setOp(body, parent))
		for i, o := range q.OrderBy {
			n, isInt := o.Expr.(*ast.IntLit)
			if !isInt || o.Using != "" {
				return w.fail()
			}
			if i == 0 {
				b.WriteString(w.keyword(" ORDER BY ", viewIndent, 1))
			} else {
				b.WriteString(", ")
			}
			b.WriteString(fmt.Sprint(n.Value) + direction(o))
		}
		b.WriteString(w.limits(q, nil))
	default:
		return w.fail()
	}
	return b.String()
}

func (w *viewShower) limits(q *ast.Select, sc *viewScope) string {
	out := ""
	if q.Offset != nil {
		out += w.keyword(" OFFSET ", viewIndent, 0) + w.expr(q.Offset, sc, false)
	}
	if q.Limit != nil {
		out += w.keyword(" LIMIT ", viewIndent, 0) + w.expr(q.Limit, sc, false)
	}
	return out
}

func (w *viewShower) setOp(o *ast.SetOp, parent *viewScope) string {
	side := func(q *ast.Select) string {
		if _, core := q.Body.(*ast.SelectCore); !core || q.OrderBy != nil || q.Limit != nil || q.Offset != nil {
			if inner, ok := q.Body.(*ast.SetOp); ok && q == o.L && inner.Op == o.Op && inner.All == o.All && q.OrderBy == nil && q.Limit == nil && q.Offset == nil && q.With == nil {
				return w.setOp(inner, parent)
			}
			return w.fail()
		}
		return w.query(q, parent, w.level)
	}
	word := map[ast.SetOpKind]string{ast.Union: "UNION ", ast.Intersect: "INTERSECT ", ast.Except: "EXCEPT "}[o.Op]
	if o.All {
		word += "ALL "
	}
	return side(o.L) + w.keyword(word, 0, 0) + w.keyword("", 0, 0) + side(o.R)
}

// core writes SELECT ... HAVING.
func (w *viewShower) core(c *ast.SelectCore, sc *viewScope) string {
	if len(c.Windows) > 0 || c.GroupDist {
		return w.fail()
	}
	var b strings.Builder
	b.WriteString("SELECT ")
	if c.Distinct {
		b.WriteString("DISTINCT ")
	}
	if c.DistinctOn != nil {
		return w.fail()
	}
	first := true
	column := func(text string) {
		if !first {
			b.WriteString(",")
			if !strings.HasPrefix(text, "\n") {
				b.WriteString(w.keyword("", viewIndent, 4))
			}
		}
		first = false
		b.WriteString(text)
	}
	for _, t := range c.Targets {
		if star, ok := t.Expr.(*ast.Star); ok {
			found := false
			for _, it := range sc.items {
				if len(star.Parts) > 1 || len(star.Parts) == 1 && star.Parts[0] != it.name {
					continue
				}
				found = true
				for _, col := range it.cols {
					column(quoteIdent(it.name) + "." + quoteIdent(col.Name))
				}
			}
			if !found {
				return w.fail()
			}
			continue
		}
		text := w.expr(t.Expr, sc, true)
		name := t.Alias
		if name == "" {
			name = w.columnName(t, sc)
		}
		shown := ""
		if sc.sub {
			shown = "?column?"
		}
		if ref, ok := t.Expr.(*ast.ColumnRef); ok {
			shown = ref.Parts[len(ref.Parts)-1]
		}
		if name != shown {
			text += " AS " + quoteIdent(name)
		}
		column(text)
	}
	for i, f := range c.From {
		if i == 0 {
			b.WriteString(w.keyword(" FROM ", viewIndent, 2))
		} else {
			b.WriteString("," + w.keyword("", viewIndent, 4))
		}
		b.WriteString(w.item(f, sc))
	}
	if c.Where != nil {
		b.WriteString(w.keyword(" WHERE ", viewIndent, 1) + w.expr(c.Where, sc, false))
	}
	for i, g := range c.GroupBy {
		if g.Kind != ast.GroupExpr {
			return w.fail()
		}
		if i == 0 {
			b.WriteString(w.keyword(" GROUP BY ", viewIndent, 1))
		} else {
			b.WriteString(", ")
		}
		b.WriteString(w.sortKey(g.Expr, c, sc, true))
	}
	if c.Having != nil {
		b.WriteString(w.keyword(" HAVING ", viewIndent, 0) + w.expr(c.Having, sc, false))
	}
	return b.String()
}

// columnName is the name that a column has without AS.
func (w *viewShower) columnName(t ast.Target, sc *viewScope) string {
	b, ok := w.bind(t.Expr, sc)
	if !ok {
		return w.fail()
	}
	return b.Columns[0].Name
}

// bind binds an expression as the only column over the FROM of a scope.
func (w *viewShower) bind(e ast.Expr, sc *viewScope) (*planner.Bound, bool) {
	pl := w.planner(w.outer(sc.parent))
	b, err := pl.Bind(&ast.Select{Body: &ast.SelectCore{Targets: []ast.Target{{Expr: e}}, From: sc.from}}, nil)
	if err != nil || len(b.Columns) != 1 {
		return nil, w.fail() != ""
	}
	return b, true
}

// outer makes the columns of the scopes around a subquery parameters.
func (w *viewShower) outer(sc *viewScope) func([]string) (int, types.Type, bool, error) {
	if sc == nil {
		return nil
	}
	n := 0
	seen := map[string]int{}
	return func(parts []string) (int, types.Type, bool, error) {
		text, t, ok := sc.find(parts)
		if !ok {
			return 0, t, false, nil
		}
		if seen[text] == 0 {
			n++
			seen[text] = n
		}
		return seen[text], t, true, nil
	}
}

// find resolves a column; its text has the item's name before it.
func (sc *viewScope) find(parts []string) (string, types.Type, bool) {
	for at := sc; at != nil; at = at.parent {
		text, n := "", 0
		var t types.Type
		for _, it := range at.items {
			if len(parts) > 2 || len(parts) == 2 && parts[0] != it.name {
				continue
			}
			for _, c := range it.cols {
				if c.Name == parts[len(parts)-1] {
					text, t = quoteIdent(it.name)+"."+quoteIdent(c.Name), c.Type
					n++
				}
			}
		}
		if n > 0 {
			return text, t, n == 1
		}
	}
	return "", types.Type{}, false
}

// scope lists the items of FROM.
func (w *viewShower) scope(from []ast.TableExpr, parent *viewScope) *viewScope {
	sc := &viewScope{parent: parent, from: from}
	var add func(t ast.TableExpr)
	add = func(t ast.TableExpr) {
		name, alias := "", (*ast.Alias)(nil)
		switch t := t.(type) {
		case *ast.TableRef:
			name, alias = t.Name.Parts[len(t.Name.Parts)-1], t.Alias
			if t.AsOf != nil || t.Only {
				w.fail()
			}
		case *ast.DerivedTable:
			alias = t.Alias
			if t.Lateral || alias == nil {
				w.fail()
			}
		case *ast.Join:
			if t.Using != nil || t.Natural || t.AsOf || t.Alias != nil {
				w.fail()
				return
			}
			add(t.L)
			add(t.R)
			return
		default:
			w.fail()
			return
		}
		if alias != nil {
			name = alias.Name
			if alias.Columns != nil || alias.Defs != nil {
				w.fail()
			}
		}
		b, err := w.planner(w.outer(parent)).Bind(&ast.Select{Body: &ast.SelectCore{
			Targets: []ast.Target{{Expr: &ast.Star{}}}, From: []ast.TableExpr{t},
		}}, nil)
		if err != nil {
			w.fail()
			return
		}
		sc.items = append(sc.items, viewItem{name, b.Columns})
	}
	for _, t := range from {
		add(t)
	}
	return sc
}

// item writes an item of FROM.
func (w *viewShower) item(t ast.TableExpr, sc *viewScope) string {
	switch t := t.(type) {
	case *ast.TableRef:
		name := t.Name.Parts[len(t.Name.Parts)-1]
		text := ""
		for i, p := range t.Name.Parts {
			if i == len(t.Name.Parts)-2 && !w.visible(p, name) || i == len(t.Name.Parts)-1 {
				if text != "" {
					text += "."
				}
				text += quoteIdent(p)
			}
		}
		if len(t.Name.Parts) == 1 && !w.found(name) {
			return w.fail()
		}
		if t.Alias != nil && t.Alias.Name != name {
			text += " " + quoteIdent(t.Alias.Name)
		}
		return text
	case *ast.DerivedTable:
		return "(" + w.query(t.Query, sc.parent, w.level) + ") " + quoteIdent(t.Alias.Name)
	case *ast.Join:
		word := map[ast.JoinKind]string{ast.JoinInner: " JOIN ", ast.JoinLeft: " LEFT JOIN ", ast.JoinRight: " RIGHT JOIN ", ast.JoinFull: " FULL JOIN ", ast.JoinCross: " CROSS JOIN "}[t.Kind]
		text := w.item(t.L, sc) + w.keyword(word, viewIndent, 4)
		right := w.item(t.R, sc)
		if _, join := t.R.(*ast.Join); join && w.pretty {
			right = "(" + right + ")"
		}
		text += right
		if t.On != nil {
			on := w.expr(t.On, sc, false)
			if !w.pretty {
				on = "(" + on + ")"
			}
			text += " ON " + on
		}
		if !w.pretty {
			text = "(" + text + ")"
		}
		return text
	}
	return w.fail()
}

// found tells whether the search path finds a relation, visible whether what it finds is that of a schema.
func (w *viewShower) found(name string) bool {
	for _, p := range append([]string{"pg_catalog"}, w.path...) {
		if syscat.WithSystem(w.cat).Relation(p, name) != nil {
			return true
		}
	}
	return false
}

func (w *viewShower) visible(schema, name string) bool {
	for _, p := range append([]string{"pg_catalog"}, w.path...) {
		if syscat.WithSystem(w.cat).Relation(p, name) != nil {
			return p == schema
		}
	}
	return false
}

func direction(o ast.OrderItem) string {
	switch {
	case o.Desc && o.Nulls == ast.NullsLast:
		return " DESC NULLS LAST"
	case o.Desc:
		return " DESC"
	case o.Nulls == ast.NullsFirst:
		return " NULLS FIRST"
	}
	return ""
}

func (w *viewShower) sort(items []ast.OrderItem, c *ast.SelectCore, sc *viewScope) string {
	out := ""
	for i, o := range items {
		if o.Using != "" {
			return w.fail()
		}
		if i == 0 {
			out += w.keyword(" ORDER BY ", viewIndent, 1)
		} else {
			out += ", "
		}
		out += w.sortKey(o.Expr, c, sc, false) + direction(o)
	}
	return out
}

// sortKey writes a key of ORDER BY or GROUP BY, which may be the number or, if no column has it, the name of a result column.
func (w *viewShower) sortKey(e ast.Expr, c *ast.SelectCore, sc *viewScope, group bool) string {
	switch x := e.(type) {
	case *ast.IntLit:
		for _, t := range c.Targets {
			if _, star := t.Expr.(*ast.Star); star {
				return w.fail()
			}
		}
		if x.Value < 1 || int(x.Value) > len(c.Targets) {
			return w.fail()
		}
		e = c.Targets[x.Value-1].Expr
	case *ast.ColumnRef:
		_, _, isColumn := sc.find(x.Parts)
		for _, t := range c.Targets {
			if len(x.Parts) == 1 && t.Alias == x.Parts[0] && (!group || !isColumn) {
				e = t.Expr
				break
			}
		}
	}
	text := w.expr(e, sc, false)
	switch x := e.(type) {
	case *ast.ColumnRef:
	case *ast.Func:
		text = "(" + text + ")"
		_ = x
	case *ast.IntLit, *ast.StrLit, *ast.NumLit:
		return w.fail()
	default:
		if w.pretty {
			text = "(" + text + ")"
		}
	}
	return text
}

// held is a part of an expression that is written by itself.
type held struct {
	text string
	typ  types.Type
}

// expr writes an expression; top says that it is a result column.
func (w *viewShower) expr(e ast.Expr, sc *viewScope, top bool) string {
	if !w.ok {
		return ""
	}
	if sc == nil {
		sc = &viewScope{}
	}
	root := struct{ E ast.Expr }{e}
	var parts []held
	hold := func(text string, t types.Type) ast.Expr {
		parts = append(parts, held{text, t})
		return &ast.ColumnRef{P: ast.P{Pos: e.Position()}, Parts: []string{fmt.Sprintf("\x00%d", len(parts))}}
	}
	v := reflect.ValueOf(&root).Elem()
	w.replace(v, func(x ast.Expr) ast.Expr {
		switch x := x.(type) {
		case *ast.ColumnRef:
			text, t, ok := sc.find(x.Parts)
			if !ok {
				w.fail()
			}
			return hold(text, t)
		case *ast.Star, *ast.Row, *ast.Field, *ast.Subscript, *ast.ArrayQuery, *ast.AnyAllQuery, *ast.Overlaps, *ast.NullIf:
			w.fail()
			return x
		case *ast.Case:
			if x.Operand != nil {
				w.fail()
			}
		case *ast.StrLit:
			if strings.Contains(x.Value, "\n") {
				w.fail()
			}
		case *ast.Func:
			if text, ok := w.aggregate(x, sc); ok {
				b, ok := w.bind(x, sc)
				if !ok {
					return x
				}
				return hold(text, b.Columns[0].Type)
			}
			if x.ArgNames != nil || x.Variadic {
				w.fail()
			}
		case *ast.Subquery:
			b, ok := w.bind(x, sc)
			if !ok {
				return x
			}
			text := "(" + w.queryOf(x.Query, sc, w.level, true) + ")"
			if x.Exists {
				text = "(EXISTS " + text + ")"
			}
			return hold(text, b.Columns[0].Type)
		case *ast.InQuery:
			text := "(" + w.expr(x.X, sc, false) + " IN (" + w.queryOf(x.Query, sc, w.level, true) + "))"
			if x.Not {
				text = "(NOT " + text + ")"
			}
			return hold(text, types.T(types.Bool))
		}
		return nil
	})
	if !w.ok {
		return ""
	}
	variable := func(names []string) (int, types.Type, bool, error) {
		var n int
		if _, err := fmt.Sscanf(names[0], "\x00%d", &n); err != nil || n < 1 || n > len(parts) {
			return 0, types.Type{}, false, nil
		}
		return n, parts[n-1].typ, true, nil
	}
	text, ok := w.planner(variable).ShownOver(root.E, func(n int) string { return parts[n-1].text }, w.level, w.pretty)
	if !ok {
		return w.fail()
	}
	return text
}

// replace goes through the expressions below v; what f gives takes the place of one, nil goes on inside of it.
func (w *viewShower) replace(v reflect.Value, f func(ast.Expr) ast.Expr) {
	switch v.Kind() {
	case reflect.Interface:
		if v.IsNil() {
			return
		}
		if x, ok := v.Interface().(ast.Expr); ok {
			if y := f(x); y != nil {
				v.Set(reflect.ValueOf(y))
				return
			}
		}
		// The nodes of a tree that was parsed for other uses stay as they are.
		if p := v.Elem(); p.Kind() == reflect.Pointer {
			c := reflect.New(p.Type().Elem())
			c.Elem().Set(p.Elem())
			w.replace(c.Elem(), f)
			v.Set(c)
		}
	case reflect.Slice:
		if v.Len() == 0 {
			return
		}
		c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(c, v)
		for i := range c.Len() {
			w.replace(c.Index(i), f)
		}
		v.Set(c)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				w.replace(v.Field(i), f)
			}
		}
	}
}

// aggregate writes a call of an aggregate or a window function.
func (w *viewShower) aggregate(x *ast.Func, sc *viewScope) (string, bool) {
	name := x.Name.Parts[len(x.Name.Parts)-1]
	is := x.Over != nil || x.Star || x.Distinct || x.Filter != nil || x.WithinGroup != nil || x.OrderBy != nil
	if !is {
		for _, f := range w.s.b.Registry.Named(name) {
			is = is || f.Kind == fn.Aggregate
		}
	}
	if !is {
		return "", false
	}
	if x.WithinGroup != nil || x.IgnoreNulls || x.ArgNames != nil || x.Variadic || len(x.Name.Parts) > 1 {
		return w.fail(), true
	}
	keys := func(items []ast.OrderItem) string {
		var ks []string
		for _, o := range items {
			ks = append(ks, w.expr(o.Expr, sc, false)+direction(o))
		}
		return strings.Join(ks, ", ")
	}
	var args []string
	for _, a := range x.Args {
		args = append(args, w.expr(a, sc, true))
	}
	if x.Star {
		args = []string{"*"}
	}
	text := quoteIdent(name) + "("
	if x.Distinct {
		text += "DISTINCT "
	}
	text += strings.Join(args, ", ")
	if x.OrderBy != nil {
		text += " ORDER BY " + keys(x.OrderBy)
	}
	text += ")"
	if x.Filter != nil {
		text += " FILTER (WHERE " + w.expr(x.Filter, sc, false) + ")"
	}
	if o := x.Over; o != nil {
		if o.Name != "" || o.Frame != nil {
			return w.fail(), true
		}
		var ps []string
		for _, p := range o.PartitionBy {
			ps = append(ps, w.expr(p, sc, false))
		}
		over := ""
		if ps != nil {
			over = "PARTITION BY " + strings.Join(ps, ", ")
		}
		if o.OrderBy != nil {
			over = strings.TrimPrefix(over+" ORDER BY "+keys(o.OrderBy), " ")
		}
		text += " OVER (" + over + ")"
	}
	return text, true
}
