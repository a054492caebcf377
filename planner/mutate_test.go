package planner_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/weirdb/weir/planner"
	"github.com/weirdb/weir/sql/parse"
	"github.com/weirdb/weir/sql/sqlerr"
)

var (
	mutateSeed  = flag.Int64("mutate-seed", 1, "first seed of TestMutatedLikePostgres")
	mutateCount = flag.Int("mutate-count", 20000, "number of statements of TestMutatedLikePostgres")
)

// corpus reads the queries of the golden files, with the DDL that each file begins with.
func corpus(t *testing.T) (ddl, queries []string) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no testdata")
	}
	cmd := regexp.MustCompile(`(?ms)^(ddl|columns|batch|stream|sink|opt|dml)\b[^\n]*\n(.*?)\n----`)
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		last := ""
		for _, m := range cmd.FindAllStringSubmatch(string(text), -1) {
			if m[1] == "ddl" {
				last = m[2]
				continue
			}
			ddl = append(ddl, last)
			queries = append(queries, m[2])
		}
	}
	return ddl, queries
}

var token = regexp.MustCompile(`'[^']*'|[A-Za-z_][A-Za-z_0-9.]*|[0-9.]+|\s+|[<>=!|]+|.`)

// TestMutatedStatementsNeverPanic plans statements of the golden files with some of their tokens
// replaced, dropped or moved: whatever is accepted by the parser gets a plan or a proper error.
func TestMutatedStatementsNeverPanic(t *testing.T) {
	ddl, queries := corpus(t)
	dbs := map[string]*db{}
	for _, d := range ddl {
		if dbs[d] == nil {
			dbs[d] = newDB()
			if err := dbs[d].ddl(d); err != nil {
				t.Fatal(err)
			}
		}
	}
	bound, planned := 0, 0
	for seed := *mutateSeed; seed < *mutateSeed+30000; seed++ {
		r := rand.New(rand.NewSource(seed))
		i := r.Intn(len(queries))
		toks := token.FindAllString(queries[i], -1)
		other := token.FindAllString(queries[r.Intn(len(queries))], -1)
		for n := 1 + r.Intn(2); n > 0; n-- {
			at := r.Intn(len(toks))
			switch r.Intn(4) {
			case 0:
				toks[at] = other[r.Intn(len(other))]
			case 1:
				toks[at] = toks[r.Intn(len(toks))]
			case 2:
				toks = append(toks[:at:at], toks[at+1:]...)
			case 3:
				from := r.Intn(len(toks))
				to := min(len(toks), from+1+r.Intn(8))
				toks = append(toks[:at:at], append(append([]string{" "}, toks[from:to]...), toks[at:]...)...)
			}
			if len(toks) == 0 {
				toks = []string{"SELECT", " ", "1"}
			}
		}
		sql := strings.Join(toks, "")
		d := dbs[ddl[i]]
		func() {
			defer func() {
				if p := recover(); p != nil {
					t.Errorf("seed %d: panic: %v\n%s", seed, p, sql)
				}
			}()
			stmts, err := parse.Parse(sql)
			if err != nil || len(stmts) == 0 {
				return
			}
			p := d.planner()
			b, err := p.Bind(stmts[0].AST, nil)
			if !proper(t, seed, sql, err) || err != nil {
				return
			}
			bound++
			if b.IsQuery() {
				_, err = p.Batch(b)
				proper(t, seed, sql, err)
				_, err = p.Stream(b, planner.StreamOptions{Parallelism: 1 + r.Intn(3), Sink: r.Intn(2) == 0})
			} else {
				_, err = p.DML(b)
			}
			if proper(t, seed, sql, err) && err == nil {
				planned++
			}
		}()
		if t.Failed() {
			return
		}
	}
	t.Logf("%d bound, %d planned", bound, planned)
	if planned < 500 {
		t.Errorf("only %d statements were planned", planned)
	}
}

// proper tells whether err is nil or an error that a user may see.
func proper(t *testing.T, seed int64, sql string, err error) bool {
	var e *sqlerr.Error
	if err == nil || errors.As(err, &e) && e.Code != sqlerr.InternalError && !strings.Contains(e.Message, "%!") {
		return true
	}
	t.Errorf("seed %d: %s\n%s", seed, fmt.Sprint(err), sql)
	return false
}

// TestMutatedLikePostgres compares the analysis of mutated statements with PostgreSQL's, if there is one
// (WEIR_PG_DSN): result columns, parameter types, or the error with its position and hint. What
// Weir does not support is left out.
func TestMutatedLikePostgres(t *testing.T) {
	dsn := os.Getenv("WEIR_PG_DSN")
	if dsn == "" {
		return
	}
	pg, err := pgconn.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer pg.Close(t.Context())
	ddl, queries := corpus(t)
	var own []string
	for i, q := range queries {
		if strings.Contains(ddl[i], "CREATE TABLE big") && !strings.Contains(ddl[i], "CREATE SOURCE") {
			own = append(own, q)
		}
	}
	d := newDB()
	schema := `CREATE TABLE t (id int PRIMARY KEY, name text, amount numeric(10,2), ts timestamp);
		CREATE TABLE u (id int, tid int, label varchar(10));
		CREATE TABLE big (id bigint PRIMARY KEY, val bigint)`
	if err := d.ddl(schema); err != nil {
		t.Fatal(err)
	}
	if _, err := pg.Exec(t.Context(), "DROP SCHEMA public CASCADE; CREATE SCHEMA public; "+schema).ReadAll(); err != nil {
		t.Fatal(err)
	}
	d.pg = pg
	compared, differ := 0, 0
	for seed := *mutateSeed; seed < *mutateSeed+int64(*mutateCount); seed++ {
		r := rand.New(rand.NewSource(seed))
		toks := token.FindAllString(own[r.Intn(len(own))], -1)
		other := token.FindAllString(own[r.Intn(len(own))], -1)
		for n := r.Intn(3); n >= 0; n-- {
			at := r.Intn(len(toks))
			switch r.Intn(3) {
			case 0:
				toks[at] = other[r.Intn(len(other))]
			case 1:
				toks[at] = toks[r.Intn(len(toks))]
			case 2:
				from := r.Intn(len(toks))
				to := min(len(toks), from+1+r.Intn(8))
				toks = append(toks[:at:at], append(append([]string{" "}, toks[from:to]...), toks[at:]...)...)
			}
		}
		td := &datadriven.TestData{Cmd: "columns", Input: strings.Join(toks, "")}
		stmts, err := parse.Parse(td.Input)
		if err != nil || len(stmts) != 1 {
			continue
		}
		got, err := d.run(td)
		if err != nil {
			got = errText(err, td.Input)
		}
		if strings.Contains(got, "0A000") || regexp.MustCompile(`(?i)tumble|ON CONFLICT|LIMIT -|SELECT +t +FROM`).MatchString(td.Input) {
			continue
		}
		compared++
		if want := d.askPostgres(td); want != got {
			if differ++; differ <= 25 {
				t.Logf("seed %d\n%s\n-- PostgreSQL\n%s-- Weir\n%s", seed, td.Input, want, got)
			}
		}
	}
	// What is left are types of whole rows and the like.
	if t.Logf("%d compared, %d differ", compared, differ); differ*25 > compared {
		t.Errorf("too many differences")
	}
}
