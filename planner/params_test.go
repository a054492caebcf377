package planner_test

import (
	"strings"
	"testing"

	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/parse"
	"github.com/weirdb/weir/sql/types"
)

func testDB(t *testing.T) *db {
	t.Helper()
	d := newDB()
	if err := d.ddl(`CREATE TABLE t (id int PRIMARY KEY, name text DEFAULT 'x', n int GENERATED ALWAYS AS IDENTITY, g int GENERATED ALWAYS AS (id + 1) STORED, CHECK (id > 0));
		CREATE TABLE u (id int, tid int)`); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestParamsArePutInLate plans once and runs with two sets of values; the kept plan does not change.
func TestParamsArePutInLate(t *testing.T) {
	d := testDB(t)
	for _, sql := range []string{
		"SELECT name || $2 FROM t WHERE id = $1 AND name <> $2",
		"SELECT t.id FROM t JOIN u ON u.tid = t.id AND u.id > $1 WHERE t.id IN ($1, 7) AND t.name = $2 ORDER BY t.name LIMIT $1",
		"SELECT id, $2 AS c FROM t WHERE id > $1 GROUP BY id UNION ALL SELECT $1, $2 || 'y'",
	} {
		st, err := parse.Parse(sql)
		if err != nil {
			t.Fatal(err)
		}
		p := d.planner()
		b, err := p.Bind(st[0].AST, nil)
		if err != nil {
			t.Fatal(err)
		}
		kept, err := p.Batch(b)
		if err != nil {
			t.Fatal(err)
		}
		before := kept.Explain()
		if !strings.Contains(before, "$1") || !strings.Contains(before, "$2") {
			t.Fatalf("the plan has no parameters:\n%s", before)
		}
		one := kept.WithParams(plan.Params{types.DInt(42), types.DStr("aaa")}).Explain()
		two := kept.WithParams(plan.Params{types.DInt(43), types.DStr("bbb")}).Explain()
		if strings.Contains(one, "$") || !strings.Contains(one, "42") || !strings.Contains(one, "'aaa'") {
			t.Errorf("parameters are left or lost:\n%s", one)
		}
		if want := strings.NewReplacer("42", "43", "aaa", "bbb").Replace(one); two != want {
			t.Errorf("second run:\n%s\nwant:\n%s", two, want)
		}
		if after := kept.Explain(); after != before {
			t.Errorf("the kept plan changed:\n%s", after)
		}
	}
}

// TestCopyIn: what the columns that COPY does not give become.
func TestCopyIn(t *testing.T) {
	d := testDB(t)
	st, err := parse.Parse("COPY t (id) FROM STDIN")
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.planner().Copy(st[0].AST.(*ast.Copy))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Cols) != 1 || c.Cols[0] != 0 || c.Defaults[0] != nil || c.Defaults[1] == nil || len(c.Auto) != 1 || c.Auto[0] != 2 ||
		len(c.Generated) != 1 || c.Generated[0].Col != 3 || len(c.Checks) != 1 {
		t.Errorf("bound COPY: %+v", c)
	}
	st, err = parse.Parse("COPY t (id, g) FROM STDIN")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.planner().Copy(st[0].AST.(*ast.Copy)); err == nil {
		t.Error("COPY into a generated column was accepted")
	}
}
