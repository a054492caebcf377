package pg

import (
	"fmt"
	"strings"
	"testing"
)

// numbered is format with the numbers from 0 to n-1, separated by commas.
func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// TestLimits asks what is too deep, too long or too wide: an answer or an error, and the next statement works. Where
// PostgreSQL runs out of its parser's memory (42601), Weir says 54001.
func TestLimits(t *testing.T) {
	const deep = 10_000
	nested := func(open, middle, end string) string {
		return "SELECT " + strings.Repeat(open, deep) + middle + strings.Repeat(end, deep)
	}
	jsonpath := func(op, open, middle, end string) string {
		return "SELECT '1'::jsonb " + op + " '" + strings.Repeat(open, deep) + middle + strings.Repeat(end, deep) + "'"
	}
	const tooDeep = "ERROR 54001: stack depth limit exceeded"
	tests := []struct{ name, sql, want string }{
		{"parentheses", nested("(", "1", ")"), tooDeep},
		{"parentheses that fit", "SELECT " + strings.Repeat("(", 500) + "1" + strings.Repeat(")", 500), "?column?:  1"},
		{"NOT", nested("NOT ", "true", ""), tooDeep},
		{"minus", nested("- ", "1", ""), tooDeep},
		{"CASE", nested("CASE WHEN true THEN ", "1", " END"), tooDeep},
		{"ELSE", nested("CASE WHEN false THEN 1 ELSE ", "1", " END"), tooDeep},
		{"subqueries", nested("(SELECT ", "1", ")"), tooDeep},
		{"EXISTS", nested("EXISTS (SELECT 1 WHERE ", "true", ")"), tooDeep},
		{"IN", nested("1 IN (SELECT ", "1", ")"), tooDeep},
		{"FROM", "SELECT 1 FROM " + strings.Repeat("(SELECT 1 FROM ", deep) + "(SELECT 1) x" + strings.Repeat(") x", deep), tooDeep},
		{"ARRAY", nested("ARRAY[", "1", "]"), tooDeep},
		{"ARRAY of seven dimensions", "SELECT " + strings.Repeat("ARRAY[", 7) + "1" + strings.Repeat("]", 7), "ERROR 54000: number of array dimensions (7) exceeds the maximum allowed (6)"},
		{"array as text", "SELECT '" + strings.Repeat("{", deep) + "1" + strings.Repeat("}", deep) + "'::int[]", "ERROR 54000: number of array dimensions (7) exceeds the maximum allowed (6)"},
		{"ROW", nested("ROW(", "1", ")"), tooDeep},
		{"calls", nested("abs(", "1", ")"), tooDeep},
		{"casts", nested("CAST(", "1", " AS int)"), tooDeep},
		{"additions", nested("1+", "1", ""), tooDeep},
		{"UNION", "SELECT 1" + strings.Repeat(" UNION ALL SELECT 1", deep), tooDeep},
		{"AND", nested("true AND ", "true", ""), "?column?:  t"},
		{"OR", nested("false OR ", "true", ""), "?column?:  t"},
		{"json", "SELECT '" + strings.Repeat("[", deep) + strings.Repeat("]", deep) + "'::json IS NULL", tooDeep},
		{"jsonb", "SELECT '" + strings.Repeat(`{"a":`, deep) + "1" + strings.Repeat("}", deep) + "'::jsonb IS NULL", tooDeep},
		{"jsonpath in parentheses", jsonpath("@?", "(", "$", ")"), tooDeep},
		{"jsonpath with filters", jsonpath("@?", "$ ? (@ == ", "1", ")"), tooDeep},
		{"jsonpath with !", jsonpath("@@", "!(", "$ == 1", ")"), tooDeep},
		{"jsonpath with steps", jsonpath("@?", "", "$"+strings.Repeat(".a", deep), ""), "?column?:  f"},
		{"regular expression", "SELECT 'a' ~ '" + strings.Repeat("(", deep) + "a" + strings.Repeat(")", deep) + "'", "ERROR 2201B: invalid regular expression: regular expression is too complex"},
		{"regular expression without end", "SELECT 'a' ~ '" + strings.Repeat("[", deep) + "'", "ERROR 2201B: invalid regular expression: brackets [] not balanced"},
		{"CHECK", "CREATE TABLE deep (a int CHECK (" + strings.Repeat("(", deep) + "a > 0" + strings.Repeat(")", deep) + "))", tooDeep},
		{"view", "CREATE MATERIALIZED VIEW deep AS " + nested("(", "1", ")"), tooDeep},
		{"DO", "DO $$ BEGIN " + strings.Repeat("BEGIN ", deep) + "NULL;" + strings.Repeat(" END;", deep) + " END $$", tooDeep},

		{"16 MB", "SELECT length('" + strings.Repeat("x", 16<<20) + "')", "length:  16777216"},
		{"16 MB of bytes", `SELECT length('\x` + strings.Repeat("ab", 8<<20) + "'::bytea)", "length:  8388608"},
		{"list of numbers", "SELECT 5 IN (" + numbered("%d", deep) + ")", "?column?:  t"},
		{"list of texts", "SELECT count(*) FROM generate_series(9000, 11000) g WHERE 'x' || g IN (" + numbered("'x%d'", deep) + ")", "count:  1000"},
		{"list, negated", "SELECT count(*) FROM generate_series(9000, 11000) g WHERE g NOT IN (" + numbered("%d", deep) + ")", "count:  1001"},
		{"VALUES", "SELECT count(*) FROM (VALUES " + numbered("(%d)", deep) + ") v", "count:  10000"},
		{"digits", "SELECT " + strings.Repeat("9", 131073), "ERROR 22003: value overflows numeric format"},

		{"1,600 columns", "CREATE TABLE wide (" + numbered("c%d int", 1600) + ")", "CREATE TABLE"},
		{"1,600 values", "INSERT INTO wide VALUES (" + numbered("%d", 1600) + ") RETURNING c1599", "c1599:  1599"},
		{"one column more", "ALTER TABLE wide ADD COLUMN z int", "ERROR 54011: tables can have at most 1600 columns"},
		{"1,601 columns", "CREATE TABLE wider (" + numbered("c%d int", 1601) + ")", "ERROR 54011: tables can have at most 1600 columns"},
		{"1,601 columns of a query", "CREATE TABLE wider AS SELECT " + numbered("1 AS c%d", 1601), "ERROR 54011: tables can have at most 1600 columns"},
		{"1,601 columns of a view", "CREATE VIEW wider AS SELECT " + numbered("1 AS c%d", 1601), "ERROR 54011: tables can have at most 1600 columns"},
		{"1,601 columns of a materialized view", "CREATE MATERIALIZED VIEW wider AS SELECT " + numbered("1 AS c%d", 1601), "ERROR 54011: tables can have at most 1600 columns"},
		{"1,664 columns of a query", "SELECT count(*) FROM (SELECT " + numbered("1 AS c%d", 1664) + ") x", "count:  1"},
		{"1,665 columns of a query", "SELECT " + numbered("%d", 1665), "ERROR 54011: target lists can have at most 1664 entries"},
		{"1,665 columns in ORDER BY", "SELECT 1 ORDER BY " + numbered("1 + %d", 1665), "ERROR 54011: target lists can have at most 1664 entries"},
		{"1,665 columns of a row", "SELECT ROW(" + numbered("%d", 1665) + ") IS NULL", "ERROR 54011: ROW expressions can have at most 1664 entries"},
		{"100 arguments", "SELECT length(concat(" + strings.Repeat("1,", 99) + "1))", "length:  100"},
		{"101 arguments", "SELECT concat(" + strings.Repeat("1,", 100) + "1)", "ERROR 54023: cannot pass more than 100 arguments to a function"},
		{"33 columns of an index", "CREATE INDEX ON wide (" + numbered("c%d", 33) + ")", "ERROR 54011: cannot use more than 32 columns in an index"},
		{"33 columns of a key", "CREATE TABLE keys (" + numbered("c%d int", 33) + ", PRIMARY KEY (" + numbered("c%d", 33) + "))", "ERROR 54011: cannot use more than 32 columns in an index"},
		{"32 columns of a key", "CREATE TABLE keys (" + numbered("c%d int", 32) + ", PRIMARY KEY (" + numbered("c%d", 32) + "))", "CREATE TABLE"},
	}
	a := connect(t, startWeir(t))
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			if got := a.query(c.sql); !strings.HasPrefix(got, c.want) {
				t.Errorf("got %.200q, want %q", got, c.want)
			}
			if got := a.query("SELECT 1 AS one"); got != "one:  1" {
				t.Errorf("after it: %q", got)
			}
		})
	}
}
