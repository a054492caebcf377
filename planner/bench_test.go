package planner_test

import (
	"testing"

	"github.com/weirdb/weir/planner/plan"
	"github.com/weirdb/weir/sql/parse"
	"github.com/weirdb/weir/sql/types"
)

// BenchmarkPlan parses, binds and plans statements from text.
func BenchmarkPlan(b *testing.B) {
	d := newDB()
	if err := d.ddl(`CREATE TABLE t (id int PRIMARY KEY, name text, amount int);
		CREATE TABLE u (id int, tid int, label varchar(10))`); err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct{ name, sql string }{
		{"point", "SELECT name, amount FROM t WHERE id = $1"},
		{"join", "SELECT t.name, count(*) FROM t JOIN u ON t.id = u.tid WHERE u.label = 'x' GROUP BY t.name ORDER BY 2 DESC LIMIT 10"},
		{"correlated", "SELECT name, (SELECT max(u.id) FROM u WHERE u.tid < t.id) FROM t WHERE id NOT IN (SELECT tid FROM u)"},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				st, err := parse.Parse(c.sql)
				if err != nil {
					b.Fatal(err)
				}
				p := d.planner()
				x, err := p.Bind(st[0].AST, nil)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := p.Batch(x); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkWithParams is what a kept plan of a point read costs per execution.
func BenchmarkWithParams(b *testing.B) {
	d := newDB()
	if err := d.ddl("CREATE TABLE t (id int PRIMARY KEY, name text)"); err != nil {
		b.Fatal(err)
	}
	st, err := parse.Parse("SELECT name FROM t WHERE id = $1")
	if err != nil {
		b.Fatal(err)
	}
	p := d.planner()
	x, err := p.Bind(st[0].AST, nil)
	if err != nil {
		b.Fatal(err)
	}
	kept, err := p.Batch(x)
	if err != nil || kept.Point == nil {
		b.Fatal(err)
	}
	v := plan.Params{types.DInt(5)}
	b.ReportAllocs()
	for b.Loop() {
		kept.WithParams(v)
	}
}
