package sql

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// TestDroppedRole: a role that is dropped while it has a session has no rights in it any more, although names that are no role are
// those of the owner of the machine.
func TestDroppedRole(t *testing.T) {
	t.Parallel()
	w := start(t, setup{parallelism: 1})
	c := connect(t, w.url(), nil)
	defer closeConn(c)
	for _, q := range []string{
		"CREATE TABLE t (id int)", "INSERT INTO t VALUES (1)", "CREATE VIEW v AS SELECT id FROM t",
		"CREATE ROLE boss SUPERUSER LOGIN", "CREATE ROLE guest LOGIN", "GRANT SELECT ON t TO guest",
	} {
		must(t, c, q)
	}
	as := func(user string) *pgx.Conn {
		return connect(t, strings.Replace(w.url(), "weir@", user+"@", 1), nil)
	}
	boss, guest := as("boss"), as("guest")
	defer closeConn(boss)
	defer closeConn(guest)
	must(t, boss, "SELECT * FROM t")
	must(t, guest, "SELECT * FROM t")
	must(t, c, "REVOKE SELECT ON t FROM guest")
	must(t, c, "DROP ROLE boss, guest")
	for _, d := range []*pgx.Conn{boss, guest} {
		must(t, d, "SELECT 1")
		for _, q := range []string{
			"SELECT * FROM t", "SELECT * FROM v", "SELECT rolpassword FROM pg_authid", "INSERT INTO t VALUES (2)", "COPY t TO STDOUT",
			"CREATE TABLE x (a int)", "CREATE OR REPLACE VIEW v AS SELECT 2 AS id", "CREATE INDEX ON t (id)", "DROP TABLE t CASCADE",
			"GRANT SELECT ON t TO PUBLIC", "CREATE ROLE y", "CREATE SCHEMA s", "SET ROLE weir",
		} {
			if _, err := d.PgConn().Exec(t.Context(), q).ReadAll(); code(err) != "42501" {
				t.Errorf("%s: %v, want 42501", q, err)
			}
		}
	}
	if got := must(t, c, "SELECT count(*) FROM t"); got != "1" {
		t.Errorf("%s rows", got)
	}
}
