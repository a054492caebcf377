package planner

import (
	"errors"
	"flag"
	"fmt"
	"math/rand"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/expr"
	"github.com/weirdb/weir/planner/logical"
	"github.com/weirdb/weir/planner/physical"
	"github.com/weirdb/weir/planner/rule"
	"github.com/weirdb/weir/planner/unnest"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/parse"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/types"
)

var (
	seedFlag  = flag.Int64("seed", 1, "first seed of TestPlansMeanTheSame")
	countFlag = flag.Int("queries", 700, "number of random queries")
)

// gen makes random queries over t(a primary key, b, c), u(a, b, c) and v(a not null, b, c bigint).
type gen struct {
	r *rand.Rand
	n int
	// window: window functions may be used where an expression is made.
	window bool
}

// genScope is what can be referred to: own columns, and those of outer queries.
type genScope struct {
	own   []string
	outer []string
}

func (s genScope) all() []string { return append(slices.Clone(s.own), s.outer...) }

func (g *gen) alias() string { g.n++; return fmt.Sprintf("x%d", g.n) }

func (g *gen) one(ss ...string) string { return ss[g.r.Intn(len(ss))] }

func (g *gen) col(s genScope) string {
	if len(s.own) == 0 && len(s.outer) == 0 {
		return fmt.Sprint(g.r.Intn(4))
	}
	if len(s.outer) > 0 && (len(s.own) == 0 || g.r.Intn(3) == 0) {
		return s.outer[g.r.Intn(len(s.outer))]
	}
	return s.own[g.r.Intn(len(s.own))]
}

func (g *gen) expr(s genScope, depth int) string {
	switch k := g.r.Intn(14); {
	case k < 7:
		return g.col(s)
	case k < 9:
		return fmt.Sprint(g.r.Intn(4))
	case k == 9:
		return fmt.Sprintf("(%s + %s)", g.col(s), g.col(s))
	case k == 10:
		return fmt.Sprintf("coalesce(%s, %d)", g.col(s), g.r.Intn(3))
	case k == 11 && depth > 0 && g.window && len(s.own) > 0:
		return fmt.Sprintf("%s OVER (%s)", g.one("count(*)", "sum("+g.own(s)+")", "max("+g.own(s)+")", "count("+g.own(s)+") FILTER (WHERE "+g.own(s)+" > 1)"),
			g.one("", "PARTITION BY "+g.own(s), "PARTITION BY "+g.own(s)+", "+g.own(s)))
	case k == 11 && depth > 0:
		return fmt.Sprintf("CASE WHEN %s THEN %s ELSE %s END", g.pred(s, depth-1), g.col(s), g.col(s))
	case depth > 0:
		return "(" + g.scalarQuery(genScope{outer: s.all()}, depth-1) + ")"
	}
	return g.col(s)
}

func (g *gen) scalarQuery(s genScope, depth int) string {
	defer func(w bool) { g.window = w }(g.window)
	g.window = false
	from, in := g.from(s, depth)
	w := g.where(in, depth)
	switch g.r.Intn(4) {
	case 0:
		return fmt.Sprintf("SELECT %s FROM %s%s ORDER BY 1 LIMIT 1", g.col(in), from, w)
	case 1:
		return fmt.Sprintf("SELECT coalesce(sum(%s), 7) FROM %s%s HAVING count(*) %s %d", g.own(in), from, w, g.one("<", ">", "="), g.r.Intn(3))
	}
	return fmt.Sprintf("SELECT %s FROM %s%s", g.agg(in), from, w)
}

func (g *gen) own(s genScope) string { return s.own[g.r.Intn(len(s.own))] }

func (g *gen) agg(s genScope) string {
	switch g.r.Intn(6) {
	case 0:
		return "count(*)"
	case 1:
		return fmt.Sprintf("count(DISTINCT %s)", g.own(s))
	case 2:
		return fmt.Sprintf("count(%s) + 1", g.own(s))
	case 3:
		return fmt.Sprintf("max(%s)", g.own(s))
	case 4:
		return fmt.Sprintf("coalesce(min(%s), -1)", g.own(s))
	}
	return fmt.Sprintf("sum(%s)", g.own(s))
}

func (g *gen) cmp() string { return g.one("=", "=", "=", "<>", "<", ">=") }

func (g *gen) pred(s genScope, depth int) string {
	defer func(w bool) { g.window = w }(g.window)
	g.window = false
	k := g.r.Intn(18)
	if depth <= 0 && k > 9 {
		k = g.r.Intn(6)
	}
	switch {
	case k < 5:
		return fmt.Sprintf("%s %s %s", g.expr(s, depth-1), g.cmp(), g.expr(s, depth-1))
	case k == 5:
		return fmt.Sprintf("%s IS %sNULL", g.col(s), g.one("", "NOT "))
	case k == 6:
		return fmt.Sprintf("(%s OR %s)", g.pred(s, depth-1), g.pred(s, depth-1))
	case k == 7:
		return fmt.Sprintf("(%s AND %s)", g.pred(s, depth-1), g.pred(s, depth-1))
	case k == 8:
		return fmt.Sprintf("NOT (%s)", g.pred(s, depth-1))
	case k == 9:
		return fmt.Sprintf("%s IS %sDISTINCT FROM %s", g.col(s), g.one("", "NOT "), g.col(s))
	case k < 12:
		return fmt.Sprintf("%sEXISTS (%s)", g.one("", "NOT "), g.query(genScope{outer: s.all()}, depth-1, 1))
	case k < 15:
		return fmt.Sprintf("%s %sIN (%s)", g.expr(s, 0), g.one("", "NOT "), g.query(genScope{outer: s.all()}, depth-1, 1))
	case k == 15:
		return fmt.Sprintf("(%s, %s) %sIN (%s)", g.col(s), g.col(s), g.one("", "NOT "), g.query(genScope{outer: s.all()}, depth-1, 2))
	case k == 16:
		return fmt.Sprintf("%s %s %s (%s)", g.expr(s, 0), g.cmp(), g.one("ANY", "ALL"), g.query(genScope{outer: s.all()}, depth-1, 1))
	}
	return fmt.Sprintf("%s BETWEEN %s AND (%s)", g.col(s), g.col(s), g.scalarQuery(genScope{outer: s.all()}, depth-1))
}

func (g *gen) where(s genScope, depth int) string {
	if g.r.Intn(4) == 0 {
		return ""
	}
	w := " WHERE " + g.pred(s, depth)
	for g.r.Intn(2) == 0 {
		w += " AND " + g.pred(s, depth-1)
	}
	return w
}

// item is one item of FROM and the columns that it brings; left is what a lateral one can use.
func (g *gen) item(left genScope, outer []string, depth int) (string, []string) {
	a := g.alias()
	if depth > 0 && g.r.Intn(4) == 0 {
		lateral, s := "", genScope{outer: outer}
		if g.r.Intn(2) == 0 {
			lateral, s = "LATERAL ", genScope{outer: append(slices.Clone(outer), left.own...)}
		}
		q := g.query(s, depth-1, 2)
		return fmt.Sprintf("%s(%s) AS %s(a, b)", lateral, q, a), []string{a + ".a", a + ".b"}
	}
	t := g.one("t", "u", "v")
	return fmt.Sprintf("%s AS %s", t, a), []string{a + ".a", a + ".b", a + ".c"}
}

func (g *gen) from(s genScope, depth int) (string, genScope) {
	in := genScope{outer: s.outer}
	text, cols := g.item(in, s.outer, depth)
	in.own = cols
	for i := 0; i < 2 && g.r.Intn(2) == 0; i++ {
		kind := g.one(" CROSS JOIN ", " JOIN ", " JOIN ", " LEFT JOIN ", " RIGHT JOIN ", " FULL JOIN ")
		left := in
		if kind == " RIGHT JOIN " || kind == " FULL JOIN " {
			left = genScope{}
		}
		next, more := g.item(left, s.outer, depth)
		in.own = append(slices.Clone(in.own), more...)
		text += kind + next
		if kind != " CROSS JOIN " {
			// Conditions with subqueries only where they are supported.
			d := 0
			if kind == " JOIN " {
				d = depth
			}
			on := fmt.Sprintf("%s = %s", in.own[g.r.Intn(len(in.own)-len(more))], more[g.r.Intn(len(more))])
			if g.r.Intn(3) == 0 {
				on = g.pred(in, d)
			} else if g.r.Intn(3) == 0 {
				on += " AND " + g.pred(in, d)
			}
			text += " ON " + on
		}
	}
	return text, in
}

// query makes a query of n integer columns.
func (g *gen) query(s genScope, depth, n int) string {
	if depth > 0 && g.r.Intn(8) == 0 {
		op := g.one("UNION ALL", "UNION", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL")
		return fmt.Sprintf("(%s) %s (%s)", g.query(s, depth-1, n), op, g.query(s, depth-1, n))
	}
	from, in := g.from(s, depth)
	where := g.where(in, depth)
	var list []string
	tail := ""
	switch g.r.Intn(6) {
	case 0:
		// Grouped.
		key := g.own(in)
		for i := 0; i < n; i++ {
			if i == 0 && g.r.Intn(3) > 0 {
				list = append(list, key)
			} else {
				list = append(list, g.agg(in))
			}
		}
		tail = " GROUP BY " + key
		if g.r.Intn(3) == 0 {
			tail += fmt.Sprintf(" HAVING count(*) > %d", g.r.Intn(2))
		}
	case 1:
		for i := 0; i < n; i++ {
			list = append(list, g.agg(in))
		}
	default:
		for i := 0; i < n; i++ {
			g.window = true
			list = append(list, g.expr(in, max(depth-1, g.r.Intn(2))))
			g.window = false
		}
	}
	sel := "SELECT "
	if g.r.Intn(5) == 0 {
		sel = "SELECT DISTINCT "
	}
	q := sel + strings.Join(list, ", ") + " FROM " + from + where + tail
	if g.r.Intn(6) == 0 {
		var ord []string
		for i := 1; i <= n; i++ {
			ord = append(ord, fmt.Sprint(i)+g.one("", " DESC", " NULLS FIRST"))
		}
		q += " ORDER BY " + strings.Join(ord, ", ") + fmt.Sprintf(" LIMIT %d", 1+g.r.Intn(3))
		if g.r.Intn(3) == 0 {
			q += " OFFSET 1"
		}
	}
	return q
}

func (g *gen) data() map[string][][]types.Datum {
	val := func(null bool) types.Datum {
		if null && g.r.Intn(4) == 0 {
			return types.Null
		}
		return types.DInt(int64(g.r.Intn(4)))
	}
	d := map[string][][]types.Datum{}
	for i, n := 0, g.r.Intn(5); i < n; i++ {
		d["t"] = append(d["t"], []types.Datum{types.DInt(int64(i)), val(true), val(true)})
	}
	for i, n := 0, g.r.Intn(5); i < n; i++ {
		d["u"] = append(d["u"], []types.Datum{val(true), val(true), val(true), types.DInt(int64(i))})
	}
	for i, n := 0, g.r.Intn(4); i < n; i++ {
		d["v"] = append(d["v"], []types.Datum{val(false), val(true), val(true), types.DInt(int64(i))})
	}
	return d
}

func semanticCatalog() *catalog.Catalog {
	c := catalog.New()
	i4, i8 := types.T(types.Int4), types.T(types.Int8)
	id := catalog.Column{Name: "_row_id", Type: i8, Hidden: true, NotNull: true}
	put := func(r *catalog.Relation) {
		r.Schema, r.Kind = "public", catalog.Table
		r.ID = c.NextID
		c.NextID++
		c.Put(r)
	}
	put(&catalog.Relation{Name: "t", Key: []catalog.SortColumn{{Col: 0}}, PrimaryKey: "t_pkey", Columns: []catalog.Column{
		{Name: "a", Type: i4, NotNull: true}, {Name: "b", Type: i4}, {Name: "c", Type: i4}}})
	put(&catalog.Relation{Name: "u", Key: []catalog.SortColumn{{Col: 3}}, Columns: []catalog.Column{
		{Name: "a", Type: i4}, {Name: "b", Type: i4}, {Name: "c", Type: i4}, id}})
	put(&catalog.Relation{Name: "v", Key: []catalog.SortColumn{{Col: 3}}, Columns: []catalog.Column{
		{Name: "a", Type: i4, NotNull: true}, {Name: "b", Type: i4}, {Name: "c", Type: i8}, id}})
	put(&catalog.Relation{Name: "w", Key: []catalog.SortColumn{{Col: 3}}, Columns: []catalog.Column{
		{Name: "ts", Type: types.T(types.Timestamp)}, {Name: "a", Type: i4}, {Name: "b", Type: i4}, id}})
	return c
}

func evalEnv() *exec.Env { return &exec.Env{Location: time.UTC} }

func semanticPlanner() *Planner {
	return New(Config{
		Catalog: semanticCatalog(), SearchPath: []string{"public"}, Registry: fn.Default(),
		ParseQuery: parse.ParseQuery, ParseExpr: parse.ParseExpr, Env: &types.Env{},
		Eval: func(e scalar.Expr) (types.Datum, error) { return expr.FoldConst(e, evalEnv()) },
	})
}

func resultText(cols []logical.ColID, want []logical.ColID, rows []row) string {
	var ss []string
	for _, r := range rows {
		ss = append(ss, rowText(pick(cols, want, r)))
	}
	sort.Strings(ss)
	return strings.Join(ss, "\n")
}

// TestPlansMeanTheSame runs random queries over small random tables: the plan as bound, without
// subqueries (by all ways of unnesting), after the rules and as a physical plan must give the same rows. A
// failure prints the seed: -run TestPlansMeanTheSame -seed N -queries 1 repeats it.
func TestPlansMeanTheSame(t *testing.T) {
	p := semanticPlanner()
	ran, long, failed := 0, 0, 0
	for seed := *seedFlag; seed < *seedFlag+int64(*countFlag); seed++ {
		g := &gen{r: rand.New(rand.NewSource(seed))}
		data := g.data()
		sql := g.query(genScope{}, 2, 2)
		sel, err := parse.ParseQuery(sql)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, sql)
		}
		if !compare(t, p, seed, sql, sel, data, &ran, &long) {
			if failed++; failed >= 3 {
				break
			}
		}
	}
	t.Logf("%d queries compared, %d too long", ran, long)
	if ran < *countFlag/3 {
		t.Errorf("only %d of %d queries were compared", ran, *countFlag)
	}
}

func compare(t *testing.T, p *Planner, seed int64, sql string, sel *ast.Select, data map[string][][]types.Datum, ran, long *int) (ok bool) {
	stage := "bind"
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("seed %d, %s: panic: %v\n%s", seed, stage, r, sql)
			ok = false
		}
	}()
	b, err := p.Bind(sel, nil)
	if err != nil {
		t.Errorf("seed %d: %v\n%s", seed, err, sql)
		return false
	}
	ids, names := outIDs(b.query)
	want, err := newInterp(b.meta, data).run(b.query.Node, binding{})
	if errors.Is(err, errTooLong) {
		*long++
		return true
	}
	if err != nil {
		if errors.Is(err, errTwoRows) {
			return true
		}
		t.Errorf("seed %d: %v\n%s", seed, err, sql)
		return false
	}
	wantText := resultText(b.query.Node.Cols(), ids, want)
	check := func(what string, m *logical.Meta, n logical.Node) bool {
		stage = what
		if free := logical.Free(n); len(free) > 0 {
			t.Errorf("seed %d, %s: outer columns %v are left\n%s\n%s", seed, what, free.Sorted(), sql, logical.String(m, n))
			return false
		}
		got, err := newInterp(m, data).run(n, binding{})
		if errors.Is(err, errTooLong) || errors.Is(err, errTwoRows) {
			return true
		}
		if err != nil {
			t.Errorf("seed %d, %s: %v\n%s\n%s", seed, what, err, sql, logical.String(m, n))
			return false
		}
		if text := resultText(n.Cols(), ids, got); text != wantText {
			t.Errorf("seed %d, %s: wrong result\n%s\n-- as bound\n%s\n-- want\n%s\n-- got\n%s\n-- plan\n%s", seed, what, sql,
				logical.String(b.meta, b.query.Node), wantText, text, logical.String(m, n))
			return false
		}
		return true
	}
	m := copyMeta(b)
	stage = "general unnesting"
	n, err := unnest.PlanGeneral(m, p.cfg.Registry, b.query.Node)
	if err != nil {
		t.Errorf("seed %d: %v\n%s", seed, err, sql)
		return false
	}
	if !check("general unnesting", m, n) {
		return false
	}
	m = copyMeta(b)
	stage = "unnesting"
	n, err = unnest.Plan(m, p.cfg.Registry, b.query.Node)
	if err != nil {
		t.Errorf("seed %d: %v\n%s", seed, err, sql)
		return false
	}
	if !check("unnesting", m, n) {
		return false
	}
	env := p.env(m, false)
	// Any sizes will do: the order of joins changes no result.
	env.Rows = func(rel *catalog.Relation) float64 {
		return float64(1 + uint64(seed)*2654435761>>(uint(rel.ID)%7*8)%100_000)
	}
	for _, r := range rule.Logical() {
		stage = r.Name
		n = r.Apply(env, n)
		if !check("rule "+r.Name, m, n) {
			return false
		}
	}
	stage = "prune"
	n = rule.Prune(env, n, logical.SetOf(ids...))
	if !check("prune", m, n) {
		return false
	}
	stage = "physical"
	ph, err := physical.Batch(physical.Config{Meta: m, Registry: p.cfg.Registry}, n, ids, names, nil)
	if err != nil {
		t.Errorf("seed %d, physical: %v\n%s", seed, err, sql)
		return false
	}
	pi := &physInterp{data: data, env: evalEnv(), steps: 300000}
	rows, err := pi.run(ph.Root)
	if err != nil {
		if errors.Is(err, errTooLong) || errors.Is(err, errTwoRows) {
			return true
		}
		t.Errorf("seed %d, physical: %v\n%s\n%s", seed, err, sql, ph.Explain())
		return false
	}
	var ss []string
	for _, r := range rows {
		ss = append(ss, rowText(r))
	}
	sort.Strings(ss)
	if text := strings.Join(ss, "\n"); text != wantText {
		t.Errorf("seed %d, physical: wrong result\n%s\n-- want\n%s\n-- got\n%s\n-- plan\n%s", seed, sql, wantText, text, ph.Explain())
		return false
	}
	for par := 1; par <= 2; par++ {
		stage = fmt.Sprintf("stream plan, parallelism %d", par)
		st, err := p.Stream(b, StreamOptions{Parallelism: par})
		if err != nil {
			t.Errorf("seed %d, %s: %v\n%s", seed, stage, err, sql)
			return false
		}
		rows, err := (&physInterp{data: data, env: evalEnv(), steps: 300000}).stream(st)
		if errors.Is(err, errTooLong) || errors.Is(err, errTwoRows) {
			continue
		}
		if err != nil {
			t.Errorf("seed %d, %s: %v\n%s\n%s", seed, stage, err, sql, st.Explain())
			return false
		}
		ss = nil
		for _, r := range rows {
			ss = append(ss, rowText(r[:len(ids)]))
		}
		sort.Strings(ss)
		if text := strings.Join(ss, "\n"); text != wantText {
			t.Errorf("seed %d, %s: wrong result\n%s\n-- want\n%s\n-- got\n%s\n-- plan\n%s", seed, stage, sql, wantText, text, st.Explain())
			return false
		}
	}
	*ran++
	return true
}

// TestWindowQueriesMeanTheSame is TestPlansMeanTheSame for joins with the maximum of groups and windows, as
// in Nexmark's queries 5 and 7.
func TestWindowQueriesMeanTheSame(t *testing.T) {
	p := semanticPlanner()
	ran, long, rewritten := 0, 0, 0
	for seed := *seedFlag; seed < *seedFlag+250; seed++ {
		g := &gen{r: rand.New(rand.NewSource(seed))}
		data := map[string][][]types.Datum{}
		for i, n := 0, g.r.Intn(9); i < n; i++ {
			r := []types.Datum{types.DInt(g.r.Int63n(10) * 5e6), types.DInt(int64(g.r.Intn(3))), types.DInt(int64(g.r.Intn(3))), types.DInt(int64(i))}
			for k := range r[:3] {
				if g.r.Intn(7) == 0 {
					r[k] = types.Null
				}
			}
			data["w"] = append(data["w"], r)
		}
		agg := g.one("max", "max", "min")
		win := g.one("tumble(w, ts, interval '10 s')", "tumble(w, ts, interval '10 s')", "hop(w, ts, interval '5 s', interval '10 s')",
			"cumulate(w, ts, interval '5 s', interval '10 s')", "session(w partition by a, ts, interval '6 s')")
		var sql string
		switch g.r.Intn(3) {
		case 0:
			key := g.one("a", "window_start", "window_end")
			rel := g.one(win, win, "(SELECT ts, a, b, ts AS window_start, ts AS window_end FROM w)")
			sql = fmt.Sprintf("SELECT x.a, y.k FROM (SELECT * FROM %s q1) x JOIN (SELECT %s AS k, %s(b) AS m FROM %s q2 GROUP BY %s) y ON x.%s = y.k AND x.b %s y.m",
				rel, key, agg, rel, key, key, g.one("=", "=", ">=", "<="))
		case 1:
			cnt := fmt.Sprintf("(SELECT a, window_start AS s, count(*) AS n FROM %s GROUP BY %s)", win, g.one("a, window_start", "window_start, a"))
			sql = fmt.Sprintf("SELECT x.a, x.n FROM %s x JOIN (SELECT s, %s(n) AS m FROM %s z GROUP BY s) y ON x.s = y.s AND x.n %s y.m",
				cnt, agg, cnt, g.one("=", ">=", "<="))
		case 2:
			key := g.one("", "", ", a")
			on := fmt.Sprintf("x.b = y.m AND x.ts %s %s AND x.ts %s %s", g.one(">=", ">=", ">"), g.one("y.e - interval '10 s'", "y.s", "y.e - interval '5 s'"),
				g.one("<=", "<"), g.one("y.e", "y.e", "y.s + interval '10 s'"))
			if key != "" && g.r.Intn(4) > 0 {
				on += " AND x.a = y.a"
			}
			sql = fmt.Sprintf("SELECT x.a, x.b FROM w x JOIN (SELECT window_start AS s, window_end AS e, %s(b) AS m%s FROM %s GROUP BY window_start, window_end%s) y ON %s",
				agg, key, win, key, on)
		}
		sel, err := parse.ParseQuery(sql)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, sql)
		}
		if !compare(t, p, seed, sql, sel, data, &ran, &long) {
			return
		}
		b, _ := p.Bind(sel, nil)
		if text, _ := p.Stage(b, "opt"); strings.Contains(text, "with ties") {
			rewritten++
		}
	}
	t.Logf("%d queries compared, %d rewritten", ran, rewritten)
	if rewritten < 50 {
		t.Errorf("only %d queries were rewritten", rewritten)
	}
}
