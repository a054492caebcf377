package sql

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestLocksBetweenSessions: who has rows with FOR UPDATE keeps others away, in each of the ways in which they may ask.
func TestLocksBetweenSessions(t *testing.T) {
	w := start(t, setup{parallelism: 1})
	ctx := context.Background()
	a, b := connect(t, w.url(), nil), connect(t, w.url(), nil)
	exec := func(sql string) {
		t.Helper()
		if _, err := a.Exec(ctx, sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	code := func(sql string) string {
		t.Helper()
		_, err := b.Exec(ctx, sql)
		var pg *pgconn.PgError
		if errors.As(err, &pg) {
			return pg.Code
		}
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		return ""
	}
	exec("CREATE TABLE q (id int PRIMARY KEY)")
	exec("INSERT INTO q VALUES (1), (2)")
	for how, left := range map[string]int64{
		"SELECT * FROM q WHERE id = 1 FOR UPDATE": 1, "LOCK TABLE q IN EXCLUSIVE MODE": 0, "DECLARE c CURSOR FOR SELECT * FROM q FOR UPDATE": 0,
		"SELECT * FROM (SELECT id FROM q) s WHERE id = 2 FOR UPDATE": 1, "UPDATE q SET id = 5 WHERE id = 2": 1, "DELETE FROM q": 0,
		"SELECT * FROM q ORDER BY id LIMIT 1 FOR NO KEY UPDATE": 1,
	} {
		exec("BEGIN")
		exec(how)
		if c := code("SELECT * FROM q FOR UPDATE NOWAIT"); c != "55P03" {
			t.Errorf("%s: NOWAIT gave %q", how, c)
		}
		if c := code("SET lock_timeout = '5ms'") + code("UPDATE q SET id = id") + code("SET lock_timeout = 0"); c != "55P03" {
			t.Errorf("%s: lock_timeout gave %q", how, c)
		}
		if c := code("SET statement_timeout = '5ms'") + code("DELETE FROM q") + code("SET statement_timeout = 0"); c != "57014" {
			t.Errorf("%s: statement_timeout gave %q", how, c)
		}
		var n int
		if err := b.QueryRow(ctx, "SELECT count(*) FROM q").Scan(&n); err != nil || n != 2 {
			t.Errorf("%s: a reader saw %d rows, %v", how, n, err)
		}
		tag, err := b.Exec(ctx, "SELECT * FROM q FOR UPDATE SKIP LOCKED")
		if err != nil || tag.RowsAffected() != left {
			t.Errorf("%s: SKIP LOCKED gave %v, %v", how, tag, err)
		}
		if _, err := b.Exec(ctx, "BEGIN"); err != nil {
			t.Fatal(err)
		}
		if c := code("LOCK TABLE q NOWAIT"); c != "55P03" {
			t.Errorf("%s: LOCK NOWAIT gave %q", how, c)
		}
		if _, err := b.Exec(ctx, "ROLLBACK"); err != nil {
			t.Fatal(err)
		}
		got := make(chan error, 1)
		go func() {
			_, err := b.Exec(ctx, "UPDATE q SET id = id WHERE id = 2")
			got <- err
		}()
		exec("INSERT INTO q VALUES (3)")
		exec("ROLLBACK")
		if err := <-got; err != nil {
			t.Errorf("%s: the update that waited: %v", how, err)
		}
	}
}
