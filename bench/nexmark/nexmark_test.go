package nexmark

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weirdb/weir/sql/parse"
)

// TestQueriesParse: each file is one query, alone and behind the statements that it is made for.
func TestQueriesParse(t *testing.T) {
	names := Names()
	var want []string
	for i := range 23 {
		want = append(want, fmt.Sprintf("q%d", i))
	}
	if !slices.Equal(names, want) {
		t.Errorf("queries %v, want %v", names, want)
	}
	for _, name := range names {
		q, err := Query(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parse.ParseQuery(q); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, before := range []string{"CREATE MATERIALIZED VIEW v AS ", "EXPLAIN ", "CREATE SINK s AS "} {
			text := before + q
			if strings.HasPrefix(before, "CREATE SINK") {
				text += " WITH (connector = 'blackhole')"
			}
			if stmts, err := parse.Parse(text); err != nil || len(stmts) != 1 {
				t.Errorf("%s%s: %d statements, %v", before, name, len(stmts), err)
			}
		}
	}
	if _, err := Query("q23"); err == nil {
		t.Error("q23 is there")
	}
}

func TestSourcesParse(t *testing.T) {
	for _, options := range []string{"", "events = '1000000', seed = '1'"} {
		stmts := Sources(options)
		if len(stmts) != 3 {
			t.Fatalf("%d sources", len(stmts))
		}
		for _, s := range stmts {
			if _, err := parse.Parse(s); err != nil {
				t.Errorf("%s: %v", s, err)
			}
		}
	}
}
