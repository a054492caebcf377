package types

import (
	"context"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/weirdb/weir/sql/sqlerr"
)

// The files under testdata say what PostgreSQL 15 does. With WEIR_PG_DSN set to a server's
// connection string the tests ask it again and compare; with -from-pg as well they write its
// answers into the files.
var fromPG = flag.Bool("from-pg", false, "take expected results from the PostgreSQL at WEIR_PG_DSN")

// testNow is what 'now' means in tests: 2024-03-15 13:45:30.123456 UTC.
var testNow = FromGoTime(time.Date(2024, 3, 15, 13, 45, 30, 123456000, time.UTC))

func testEnv(zone string) *Env {
	loc, ok := LoadZone(zone)
	if !ok {
		panic("no zone " + zone)
	}
	return &Env{TimeZone: loc, Now: testNow}
}

// pgOracle is a connection to PostgreSQL, or nil.
type pgOracle struct{ conn *pgconn.PgConn }

func newOracle(t *testing.T) *pgOracle {
	dsn := os.Getenv("WEIR_PG_DSN")
	if dsn == "" {
		return nil
	}
	conn, err := pgconn.Connect(context.Background(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return &pgOracle{conn}
}

// query gives the first column of the last result, a line per row, or the error.
func (o *pgOracle) query(sql string) string {
	res, err := o.conn.Exec(context.Background(), sql).ReadAll()
	if err != nil {
		var pe *pgconn.PgError
		if errors.As(err, &pe) {
			return errorLine(pe.Code, pe.Message, pe.Detail, pe.Hint)
		}
		return err.Error()
	}
	var lines []string
	last := len(res) - 1
	for last > 0 && len(res[last].FieldDescriptions) == 0 {
		last--
	}
	for _, row := range res[last].Rows {
		if row[0] == nil {
			lines = append(lines, "NULL")
		} else {
			lines = append(lines, string(row[0]))
		}
	}
	return strings.Join(lines, "\n")
}

func errorLine(code, msg, detail, hint string) string {
	s := "ERROR " + code + ": " + msg
	if detail != "" {
		s += " DETAIL: " + detail
	}
	if hint != "" {
		s += " HINT: " + hint
	}
	return s
}

func errText(err error) string {
	e := sqlerr.From(err)
	return errorLine(string(e.Code), e.Message, e.Detail, e.Hint)
}

// quoted writes s as an SQL literal.
func quoted(s string) string {
	return "E'" + strings.NewReplacer(`\`, `\\`, `'`, `''`, "\n", `\n`, "\t", `\t`).Replace(s) + "'"
}

// lines splits a test's input; unescapeLine gives what a line means.
func lines(input string) []string {
	var out []string
	for l := range strings.SplitSeq(strings.TrimSuffix(input, "\n"), "\n") {
		out = append(out, l)
	}
	return out
}

var unescapeLine = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\s`, " ", `\e`, "")

// runOracleFile runs a data-driven file line by line: eval computes Weir's answer to a line,
// ask the statement that gives PostgreSQL's.
func runOracleFile(t *testing.T, path string, eval func(d *datadriven.TestData, line string) string, ask func(d *datadriven.TestData, line string) string) {
	o := newOracle(t)
	datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
		var b strings.Builder
		for _, line := range lines(d.Input) {
			got := eval(d, line)
			if o != nil {
				sql := ask(d, line)
				want := got
				if sql != "" {
					want = o.query(sql)
				}
				if want != got {
					report := t.Errorf
					if *fromPG {
						report = t.Logf
					}
					report("%s: %s %v: %s\nPostgreSQL: %s\nWeir:       %s", d.Pos, d.Cmd, d.CmdArgs, line, want, got)
				}
				if *fromPG {
					got = want
				}
			}
			b.WriteString(got + "\n")
		}
		return b.String()
	})
}

// testType reads a type as FromName gets it from the parser.
func testType(s string) (Type, error) {
	var mods []string
	dims := 0
	for strings.HasSuffix(s, "[]") {
		s = strings.TrimSuffix(s, "[]")
		dims++
	}
	if open := strings.IndexByte(s, '('); open >= 0 {
		end := strings.IndexByte(s, ')')
		mods = strings.Split(s[open+1:end], ",")
		s = s[:open] + s[end+1:]
	}
	fields := ""
	if rest, ok := strings.CutPrefix(s, "interval "); ok {
		s, fields = "interval", rest
	}
	return FromName(s, mods, fields, dims)
}

func mustType(t testing.TB, s string) Type {
	t.Helper()
	typ, err := testType(s)
	if err != nil {
		t.Fatalf("type %s: %v", s, err)
	}
	return typ
}

func argOr(d *datadriven.TestData, key, def string) string {
	for _, a := range d.CmdArgs {
		if a.Key == key && len(a.Vals) > 0 {
			return strings.Join(a.Vals, ", ")
		}
	}
	return def
}
