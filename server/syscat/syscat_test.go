package syscat

import (
	"testing"

	"github.com/weirdb/weir/sql/catalog"
)

// TestEveryRelationHasRows reads every system relation of an empty catalog.
func TestEveryRelationHasRows(t *testing.T) {
	cat := catalog.New()
	for _, d := range theSystem().list {
		rel := WithSystem(cat).Relation(d.schema, d.name)
		if rel != d.rel {
			t.Errorf("%s.%s is not found", d.schema, d.name)
			continue
		}
		rows, err := Rows(&Env{Catalog: cat, User: "u", Database: "weir"}, rel)
		if err != nil {
			t.Error(err)
		}
		if (d.rows != nil) && len(rows) == 0 {
			t.Logf("%s is empty", d.name)
		}
	}
}
