package crash

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weirdb/weir/server"
)

// TestCheckAfterKill looks into the directory of a server that was killed: what its last checkpoint has is checked with the catalog of
// that checkpoint, and the log behind it may define more.
func TestCheckAfterKill(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	dir := filepath.Join(t.TempDir(), "data")
	p := startServer(t, dir)
	c, err := p.connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{
		"CREATE TABLE early (a int PRIMARY KEY, b int)", "INSERT INTO early VALUES (1, 2), (2, 2)",
		"CREATE MATERIALIZED VIEW early_sum AS SELECT b, sum(a) AS s FROM early GROUP BY b", "CHECKPOINT",
		"BEGIN", "CREATE TABLE late (a int PRIMARY KEY)", "INSERT INTO late VALUES (1)", "INSERT INTO early VALUES (3, 3)", "COMMIT",
	} {
		if _, err := c.Exec(ctx, q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	_ = c.Close(ctx)
	p.kill()
	r, err := server.Check(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Problems {
		t.Errorf("%s: %s", p.Where, p.What)
	}
	if lines := strings.Join(r.Checked, "\n"); !strings.Contains(lines, "relations in the catalog") {
		t.Errorf("the catalog was not looked at:\n%s", lines)
	}
}
