package syscat_test

import (
	"regexp"
	"strconv"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/weirdb/weir/server/syscat"
	"github.com/weirdb/weir/sql/catalog"
)

// TestQueries runs the files of testdata on the shop catalog. The commands:
//
//	query [user=name] [path=schema,...]
//	SELECT ...
//
// The result has one line of columns with their types, and one a row; ~ is NULL. In the text ${name} stands
// for the oid of a relation.
func TestQueries(t *testing.T) {
	cat := shop()
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			c := &client{cat: cat, path: []string{"public"}, user: "app"}
			for _, a := range d.CmdArgs {
				switch a.Key {
				case "user":
					c.user = a.Vals[0]
				case "path":
					c.path = a.Vals
				}
			}
			if d.Cmd != "query" {
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			r, err := c.query(c.withOIDs(t, d.Input))
			if err != nil {
				return describe(err)
			}
			return r.String()
		})
	})
}

var oidOf = regexp.MustCompile(`\$\{([^}]*)\}`)

// withOIDs replaces ${name}.
func (c *client) withOIDs(t *testing.T, sql string) string {
	return oidOf.ReplaceAllStringFunc(sql, func(s string) string {
		oid, err := c.env().ObjectOID(regclass, oidOf.FindStringSubmatch(s)[1])
		if err != nil {
			t.Fatal(err)
		}
		return strconv.FormatUint(uint64(oid), 10)
	})
}

// TestEverySystemRelation reads all system relations, whose rows must fit their columns.
func TestEverySystemRelation(t *testing.T) {
	for _, cat := range []*catalog.Catalog{catalog.New(), shop()} {
		r := syscat.WithSystem(cat)
		c := &client{cat: cat, path: []string{"public"}, user: "app"}
		for _, schema := range []string{"pg_catalog", "information_schema"} {
			names := r.RelationNames(schema)
			if len(names) < 20 {
				t.Errorf("schema %s has only %v", schema, names)
			}
			for _, n := range names {
				rel := r.Relation(schema, n)
				if rel == nil || r.RelationByID(rel.ID) != rel {
					t.Fatalf("%s is not found", n)
				}
				rows, err := syscat.Rows(c.env(), rel)
				if err != nil {
					t.Error(err)
				}
				for _, row := range rows {
					for i, col := range rel.Columns {
						if col.NotNull && !row[i].Valid {
							t.Errorf("%s.%s is NULL", n, col.Name)
						}
					}
				}
			}
		}
	}
}

// TestEveryFunctionHasAnImplementation calls all catalog functions with NULLs, zeros and strings.
func TestEveryFunctionHasAnImplementation(t *testing.T) {
	c := &client{cat: shop(), path: []string{"public"}, user: "app"}
	n := 0
	for _, f := range syscat.Registry().All() {
		if !f.Catalog {
			continue
		}
		n++
		for _, args := range argumentsFor(f) {
			if err := callFunc(c.env(), f, args); err != nil {
				t.Errorf("%s: %v", f.ID, err)
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d catalog functions", n)
	}
}
