// Package nexmark holds the queries of the Nexmark benchmark in Weir's dialect, over the sources
// person, auction and bid of connector 'nexmark'. Each file qN.sql is one query without a final
// semicolon, to be put behind CREATE MATERIALIZED VIEW v AS, CREATE SINK s AS or EXPLAIN. What each
// must answer is computed without SQL in bench/byhand.
package nexmark

import (
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
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
