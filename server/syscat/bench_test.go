package syscat_test

import (
	"fmt"
	"testing"

	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/types"
)

// BenchmarkManyTables reads the catalog of a database of 2000 tables with 10 columns each.
func BenchmarkManyTables(b *testing.B) {
	cat := catalog.New()
	for i := range 2000 {
		r := &catalog.Relation{
			ID: catalog.ID(17000 + i), Schema: "public", Name: fmt.Sprintf("t%d", i), Kind: catalog.Table, Owner: "app",
			Uniques: []catalog.Unique{{Name: fmt.Sprintf("t%d_pkey", i), Columns: []int{0}, Primary: true}},
		}
		for k := range 10 {
			r.Columns = append(r.Columns, catalog.Column{Name: fmt.Sprintf("c%d", k), Type: types.T(types.Int4)})
		}
		cat.Put(r)
	}
	c := &client{cat: cat, path: []string{"public"}, user: "app"}
	for _, q := range []struct{ name, sql string }{
		{"tables", "SELECT n.nspname, c.relname, pg_get_userbyid(c.relowner) FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p', '') AND pg_table_is_visible(c.oid) ORDER BY 1, 2"},
		{"constraints", "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint"},
		{"columns", "SELECT count(*) FROM information_schema.columns"},
	} {
		b.Run(q.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := c.query(q.sql); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
