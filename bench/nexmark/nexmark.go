// Package nexmark holds the queries of the Nexmark benchmark in Weir's dialect, over the sources
// person, auction and bid of connector 'nexmark'. Each file qN.sql is one query without a final
// semicolon, to be put behind CREATE MATERIALIZED VIEW v AS, CREATE SINK s AS or EXPLAIN; some need
// the statements of Setup before it. What each must answer is computed without SQL in bench/byhand.
package nexmark

import (
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

//go:embed q*.sql
var files embed.FS

// Names lists the queries in the order of their numbers.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // an embedded directory can be read
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".sql"))
	}
	number := func(name string) int {
		n, err := strconv.Atoi(name[1:])
		if err != nil {
			panic(fmt.Sprintf("query file %s.sql has no number", name))
		}
		return n
	}
	slices.SortFunc(names, func(a, b string) int { return number(a) - number(b) })
	return names
}

// Query gives the text of a query, such as "q4".
func Query(name string) (string, error) {
	b, err := files.ReadFile(name + ".sql")
	if err != nil {
		return "", fmt.Errorf("no Nexmark query %q; there are %s", name, strings.Join(Names(), ", "))
	}
	return strings.TrimSpace(string(b)), nil
}

// Sources gives the statements that create the three sources, with further options for each, such as
// "events = '1000000', seed = '1'".
func Sources(options string) []string {
	var stmts []string
	for _, table := range []string{"person", "auction", "bid"} {
		with := "connector = 'nexmark', table = '" + table + "'"
		if options != "" {
			with += ", " + options
		}
		stmts = append(stmts, "CREATE SOURCE "+table+" WITH ("+with+")")
	}
	return stmts
}

// Clock is the time at which the clock stands still for q12.
var Clock = time.Date(2026, 1, 1, 0, 0, 7, 0, time.UTC)

// Setup gives the statements, besides those of Sources, that a query needs to have been run before it: for its table, its function, or
// a clock that stands still.
func Setup(name string) []string {
	switch name {
	case "q12":
		// With the clock of the machine the answer would be another one each time.
		return []string{"SET weir.clock = '" + Clock.Format(time.RFC3339) + "'"}
	case "q13":
		return []string{
			"CREATE TABLE side_input (key bigint PRIMARY KEY, value text)",
			"INSERT INTO side_input SELECT i, i::text FROM generate_series(0, 9999) AS g (i)",
		}
	case "q14":
		return []string{
			"CREATE FUNCTION count_char(s text, c text) RETURNS bigint LANGUAGE SQL IMMUTABLE " +
				"AS $$ SELECT (length(s) - length(replace(s, c, '')))::bigint $$",
		}
	}
	return nil
}
