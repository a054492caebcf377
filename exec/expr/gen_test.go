package expr

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// testdata/generated.txt holds random expressions over the columns of a small table, a line each, and
// below it what PostgreSQL 15 gives for each row. With -from-pg and WEIR_PG_DSN set the file is made
// anew: -from-pg-seed and -from-pg-n say what to generate.
var (
	fromPG = flag.Bool("from-pg", false, "generate expressions and ask the PostgreSQL at WEIR_PG_DSN")
	pgSeed = flag.Uint64("from-pg-seed", 1, "seed of the generator")
	pgN    = flag.Int("from-pg-n", 3000, "number of expressions")
)

const genFile = "testdata/generated.txt"

// pool has the values of each type: the columns of the table hold them, and so do literals.
var pool = []struct {
	kind types.Kind
	vals []string
}{
	{types.Bool, []string{"t", "f", "NULL"}},
	{types.Int2, []string{"0", "1", "-1", "NULL", "32767", "-32768", "7"}},
	{types.Int4, []string{"0", "NULL", "1", "-1", "3", "2147483647", "-2147483648", "100"}},
	{types.Int8, []string{"NULL", "0", "1", "-5", "9223372036854775807", "-9223372036854775808", "12345678901"}},
	{types.Float4, []string{"0", "-0", "1.5", "NULL", "NaN", "Infinity", "-3.25e10", "3e38"}},
	{types.Float8, []string{"0", "-0", "1.5", "-2.5", "NULL", "NaN", "-Infinity", "1e300", "123456.789"}},
	{types.Numeric, []string{"0", "1.0", "1.00", "-2.5", "NULL", "NaN", "99999999999999999999.99", "0.001", "Infinity"}},
	{types.Text, []string{"", "a", "NULL", "abc", "Hello World", "12", "été", "a%b_c", "  x "}},
	{types.Varchar, []string{"", "a", "abc", "NULL", "ABC", "x y"}},
	{types.Char, []string{"a", "ab ", "NULL", ""}},
	{types.Name, []string{"a", "NULL", "abc"}},
	{types.Bytea, []string{`\x`, `\x00ff`, "NULL", `\x616263`}},
	{types.Date, []string{"2000-01-01", "NULL", "2024-02-29", "1999-12-31", "infinity", "0044-03-15 BC"}},
	{types.Time, []string{"00:00:00", "12:34:56.789", "NULL", "23:59:59.999999"}},
	{types.Timestamp, []string{"2000-01-01 00:00:00", "2024-02-29 12:34:56.789", "NULL", "-infinity", "1970-01-01 00:00:00"}},
	{types.Timestamptz, []string{"2000-01-01 00:00:00+00", "NULL", "2024-03-10 07:30:00+00", "infinity"}},
	{types.Interval, []string{"24:00:00", "1 day", "NULL", "1 year 2 mons -3 days", "-01:30:00", "00:00:00"}},
	{types.UUID, []string{"550e8400-e29b-41d4-a716-446655440000", "NULL", "00000000-0000-0000-0000-000000000000"}},
	{types.Jsonb, []string{`{"a": 1, "b": [1, 2]}`, "null", "NULL", "[1, \"x\"]", "1.50", "{}", "true"}},
}

const genRows = 9

// arrays are generated from their elements' literals, for these types.
var arrayKinds = []types.Kind{types.Int4, types.Text}

func poolOf(k types.Kind) []string {
	for _, p := range pool {
		if p.kind == k {
			return p.vals
		}
	}
	return nil
}

// genRelation is the table: a column per type, c_<type>.
func genRelation() *catalog.Relation {
	r := &catalog.Relation{Schema: "public", Name: "t"}
	for _, p := range pool {
		r.Columns = append(r.Columns, catalog.Column{Name: "c_" + p.kind.Name(), Type: types.T(p.kind)})
	}
	return r
}

func genRow(i int) []string {
	var row []string
	for j, p := range pool {
		row = append(row, p.vals[(i+j)%len(p.vals)])
	}
	return row
}

// genChunk is the content of the table, times over.
func genChunk(t *testing.T, env *types.Env, times int) *vec.Chunk {
	var ts []types.Type
	for _, p := range pool {
		ts = append(ts, types.T(p.kind))
	}
	c := vec.NewChunk(ts, genRows*times)
	for range times {
		for i := range genRows {
			row := make([]types.Datum, len(ts))
			for j, s := range genRow(i) {
				if s == "NULL" {
					continue
				}
				d, err := types.ParseText(ts[j], s, env)
				if err != nil {
					t.Fatal(err)
				}
				row[j] = d
			}
			c.AppendRow(row, 1)
		}
	}
	return c
}

// generator makes expressions by type.
type generator struct {
	r    *rand.Rand
	byTy map[types.Type][]*fn.Func
}

// skipped functions are those whose results depend on more than their arguments, differ in the last
// digit of a float, need much memory, or are keywords in Postgres.
func skipped(f *fn.Func) bool {
	switch f.Name {
	case "repeat", "lpad", "rpad", "factorial", "array_fill", "random", "gen_random_uuid", "version", "^", "power", "pow", "exp",
		"array_subscript", "array_slice", "user", "session_user", "normalize", "is_normalized", "timeofday",
		"overlaps", "position", "substring", "overlay", "extract", "to_char", "to_date", "to_timestamp", "to_number",
		"age", "pg_typeof", "convert_to", "convert_from", "make_interval", "date_bin", "make_timestamptz", "similar_escape", "||/", "cbrt", "lcm", "format",
		"pg_size_pretty", "log", "ln", "log10", "sqrt", "|/", "regexp_instr", "timestamptz", "timestamp":
		return true
	}
	// Functions in SQL of Postgres: they evaluate their arguments in another order.
	switch f.ID {
	case "+(int4,date)", "+(interval,date)", "+(interval,time)", "+(interval,timestamp)", "+(interval,timestamptz)", "+(time,date)",
		"||(text,anyelement)", "||(anyelement,text)", "timezone(text,timestamp)", "timezone(text,timestamptz)", "date_trunc(text,timestamptz,text)":
		return true
	}
	if strings.HasPrefix(f.Name, "current_") || strings.HasPrefix(f.Name, "local") || f.Volatility == fn.Volatile {
		return true
	}
	if slices.Contains([]string{"now", "transaction_timestamp", "statement_timestamp"}, f.Name) {
		return true
	}
	// Float functions of the C library.
	return f.Ret.Kind == types.Float8 && len(f.Args) > 0 && f.Args[0].Kind == types.Float8 && f.Kind == fn.Scalar &&
		!slices.Contains([]string{"abs", "ceil", "floor", "round", "trunc", "sign"}, f.Name)
}

func newGenerator(seed uint64) *generator {
	g := &generator{r: rand.New(rand.NewPCG(seed, 2)), byTy: map[types.Type][]*fn.Func{}}
	for _, f := range fn.Default().All() {
		if f.Kind != fn.Scalar && f.Kind != fn.Operator || skipped(f) {
			continue
		}
		g.byTy[f.Ret] = append(g.byTy[f.Ret], f)
	}
	return g
}

// concrete replaces a polymorphic type.
func (g *generator) concrete(t types.Type, elem types.Kind) types.Type {
	switch t.Kind {
	case types.AnyElement:
		return types.T(elem)
	case types.AnyArray:
		return types.ArrayOf(elem)
	case types.Any:
		return types.T(pool[g.r.IntN(len(pool))].kind)
	}
	return t
}

func sqlString(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// leaf is a column or a literal.
func (g *generator) leaf(t types.Type) string {
	if t.Kind == types.Array {
		vals := poolOf(t.Elem)
		if vals == nil {
			return "NULL::" + t.String()
		}
		var elems []string
		for range g.r.IntN(4) {
			elems = append(elems, g.leaf(types.T(t.Elem)))
		}
		return "ARRAY[" + strings.Join(elems, ", ") + "]::" + t.String()
	}
	vals := poolOf(t.Kind)
	if vals == nil {
		return "NULL::" + t.String()
	}
	if g.r.IntN(10) < 7 {
		return "c_" + t.Kind.Name()
	}
	v := vals[g.r.IntN(len(vals))]
	if v == "NULL" {
		return "NULL::" + t.String()
	}
	return sqlString(v) + "::" + t.String()
}

func (g *generator) expr(t types.Type, depth int) string {
	if depth == 0 || g.r.IntN(6) == 0 {
		return g.leaf(t)
	}
	switch g.r.IntN(12) {
	case 0:
		return fmt.Sprintf("CASE WHEN %s THEN %s WHEN %s THEN %s ELSE %s END", g.expr(types.T(types.Bool), depth-1), g.expr(t, depth-1),
			g.expr(types.T(types.Bool), depth-1), g.leaf(t), g.expr(t, depth-1))
	case 1:
		return fmt.Sprintf("COALESCE(%s, %s)", g.expr(t, depth-1), g.expr(t, depth-1))
	case 2:
		if t.Kind != types.Array && t.Kind != types.Jsonb {
			return fmt.Sprintf("%s(%s, %s)", []string{"GREATEST", "LEAST"}[g.r.IntN(2)], g.expr(t, depth-1), g.expr(t, depth-1))
		}
	}
	if t.Kind == types.Bool {
		if s := g.boolean(depth); s != "" {
			return s
		}
	}
	fs := g.byTy[t]
	if len(fs) == 0 {
		return g.leaf(t)
	}
	return g.call(fs[g.r.IntN(len(fs))], depth)
}

func (g *generator) boolean(depth int) string {
	b := types.T(types.Bool)
	any := types.T(pool[g.r.IntN(len(pool))].kind)
	switch g.r.IntN(10) {
	case 0:
		return "(" + g.expr(b, depth-1) + " AND " + g.expr(b, depth-1) + ")"
	case 1:
		return "(" + g.expr(b, depth-1) + " OR " + g.expr(b, depth-1) + ")"
	case 2:
		return "(NOT " + g.expr(b, depth-1) + ")"
	case 3:
		return "(" + g.expr(any, depth-1) + " IS NULL)"
	case 4:
		return "(" + g.expr(any, depth-1) + " IS DISTINCT FROM " + g.expr(any, depth-1) + ")"
	case 5:
		return "(" + g.leaf(any) + " IN (" + g.leaf(any) + ", " + g.leaf(any) + "))"
	case 6:
		return "(" + g.expr(b, depth-1) + " IS NOT TRUE)"
	}
	return ""
}

func (g *generator) call(f *fn.Func, depth int) string {
	elem := arrayKinds[g.r.IntN(len(arrayKinds))]
	var args []string
	for i, a := range f.Args {
		if f.Variadic && i == len(f.Args)-1 {
			for range 1 + g.r.IntN(3) {
				last := a
				if a.Kind == types.Array {
					last = types.T(a.Elem)
				}
				args = append(args, g.expr(g.concrete(last, elem), depth-1))
			}
			break
		}
		args = append(args, g.expr(g.concrete(a, elem), depth-1))
	}
	// Postgres computes calls of constants while it plans, also where they are not needed.
	if len(args) > 0 && !strings.Contains(strings.Join(args, " "), "c_") {
		t := g.concrete(f.Args[0], elem)
		if poolOf(t.Kind) == nil {
			return g.leaf(f.Ret)
		}
		args[0] = "c_" + t.Kind.Name()
	}
	if f.Kind == fn.Operator {
		if len(args) == 1 {
			return "(" + f.Name + " " + args[0] + ")"
		}
		return "(" + args[0] + " " + f.Name + " " + args[1] + ")"
	}
	return f.Name + "(" + strings.Join(args, ", ") + ")"
}

// generate makes n different expressions: each function at least once with leaves as arguments, then
// deeper ones.
func (g *generator) generate(n int) []string {
	seen := map[string]bool{}
	var out []string
	add := func(s string) {
		if !seen[s] && len(s) < 400 {
			seen[s] = true
			out = append(out, s)
		}
	}
	for _, f := range fn.Default().All() {
		if (f.Kind == fn.Scalar || f.Kind == fn.Operator) && !skipped(f) {
			add(g.call(f, 1))
		}
	}
	for _, f := range fn.Default().All() {
		// Casts by way of the types.
		if f.Kind == fn.Cast && !strings.Contains(f.ID, "any") && !strings.Contains(f.ID, "record") && f.Args[0] != f.Ret &&
			poolOf(f.Args[0].Kind) != nil && poolOf(f.Ret.Kind) != nil && f.Ret.Kind != types.Char {
			add("c_" + f.Args[0].Kind.Name() + "::" + f.Ret.String())
		}
	}
	for len(out) < n {
		k := pool[g.r.IntN(len(pool))].kind
		add(g.expr(types.T(k), 1+g.r.IntN(3)))
	}
	return out
}

// genResult is a value as it stands in the file.
func genResult(t types.Type, s string) string {
	if t.Kind == types.Float4 || t.Kind == types.Float8 {
		return oneLine(types.T(types.Float8), s, map[types.Kind]int{types.Float4: 6, types.Float8: 13}[t.Kind])
	}
	return strings.ReplaceAll(oneLine(t, s, 0), " | ", " ¦ ")
}

func writeGenerated(t *testing.T) {
	conn := pgConn(t)
	if conn == nil {
		t.Fatal("WEIR_PG_DSN is not set")
	}
	run := func(sql string) ([]*pgconn.Result, error) { return conn.Exec(context.Background(), sql).ReadAll() }
	must := func(sql string) {
		if _, err := run(sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	var cols []string
	for _, p := range pool {
		name := types.T(p.kind).String()
		cols = append(cols, "c_"+p.kind.Name()+" "+name)
	}
	must("CREATE TEMP TABLE t (id int, " + strings.Join(cols, ", ") + "); SET statement_timeout = 1000")
	for i := range genRows {
		vals := []string{fmt.Sprint(i)}
		for _, v := range genRow(i) {
			if v != "NULL" {
				v = sqlString(v)
			}
			vals = append(vals, v)
		}
		must("INSERT INTO t VALUES (" + strings.Join(vals, ", ") + ")")
	}
	f, err := os.Create(genFile)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	for _, e := range newGenerator(*pgSeed).generate(*pgN) {
		var out []string
		for i := range genRows {
			res, err := run(fmt.Sprintf("SELECT %s FROM t WHERE id = %d", e, i))
			var pe *pgconn.PgError
			switch {
			case errors.As(err, &pe):
				out = append(out, "!"+pe.Code)
			case err != nil:
				t.Fatal(err)
			case res[0].Rows[0][0] == nil:
				out = append(out, "NULL")
			default:
				fd := res[0].FieldDescriptions[0]
				ty, _ := types.TypeByOID(fd.DataTypeOID, -1)
				out = append(out, genResult(ty, string(res[0].Rows[0][0])))
			}
		}
		// Statements that ran out of time or memory say nothing.
		if slices.Contains(out, "!57014") || slices.Contains(out, "!54000") || len(strings.Join(out, "")) > 2000 {
			continue
		}
		fmt.Fprintf(w, "%s\n\t%s\n", e, strings.Join(out, " | "))
	}
	if err := errors.Join(w.Flush(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestGenerated compares with PostgreSQL row by row, and whole chunks with single rows.
func TestGenerated(t *testing.T) {
	if *fromPG {
		writeGenerated(t)
	}
	data, err := os.ReadFile(genFile)
	if err != nil {
		t.Fatal(err)
	}
	env := testEnv()
	rel := genRelation()
	chunk := genChunk(t, &types.Env{}, 1)
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	bad := 0
	for i := 0; i+1 < len(lines); i += 2 {
		text, want := lines[i], strings.TrimPrefix(lines[i+1], "\t")
		got := evalGenerated(t, text, rel, chunk, env)
		if got != want {
			if bad++; bad <= 100 {
				t.Errorf("%s\n got: %s\nwant: %s", text, got, want)
			}
		}
	}
	t.Logf("%d expressions, %d differ", len(lines)/2, bad)
}

// evalGenerated gives the results of all rows like those in the file, from single rows; the
// evaluation of the chunk as a whole must agree with them.
func evalGenerated(t *testing.T, text string, rel *catalog.Relation, chunk *vec.Chunk, env *exec.Env) string {
	e, err := bindSQL(text, rel, env)
	if err != nil {
		return strings.TrimSuffix(strings.Repeat("!"+string(sqlerr.From(err).Code)+" | ", chunk.Len()), " | ")
	}
	ev, err := Compile(e, env)
	if err != nil {
		return err.Error()
	}
	ty := ev.Type()
	var out []string
	var vals []types.Datum
	failed := map[int]bool{}
	for i := range chunk.Len() {
		d, err := ev.EvalRow(nil, chunk.Row(i, nil))
		vals = append(vals, d)
		switch {
		case err != nil:
			failed[i] = true
			out = append(out, "!"+string(sqlerr.From(err).Code))
			if !ev.CanFail() {
				t.Errorf("%s: failed though it cannot: %v", text, err)
			}
		case !d.Valid:
			out = append(out, "NULL")
		default:
			out = append(out, genResult(ty, types.Format(ty, d, &types.Env{})))
		}
	}
	reported := 0
	v, err := ev.Eval(&EvalContext{RowError: func(*vec.Chunk, int, error) error { reported++; return nil }}, chunk)
	if err != nil {
		t.Errorf("%s: %v", text, err)
		return ""
	}
	if v.Len() != chunk.Len() || reported != len(failed) {
		t.Errorf("%s: %d rows, %d reported as failed, not %d and %d", text, v.Len(), reported, chunk.Len(), len(failed))
	}
	for i, d := range vals {
		if failed[i] {
			d = types.Null
		}
		if got := v.Datum(i); !vec.SameDatum(ty, got, d) {
			t.Errorf("%s: row %d is %v in the chunk and %v alone", text, i, got, d)
		}
	}
	return strings.Join(out, " | ")
}
