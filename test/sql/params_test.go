package sql

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// Parameters and results of every type go through the extended protocol, in binary where pgx has it and as text, and
// come back as they were.
func TestParameters(t *testing.T) {
	t.Parallel()
	w := start(t, setup{parallelism: 1})
	c := connect(t, w.url(), nil)
	defer closeConn(c)
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
	defer cancel()
	numeric := func(s string) pgtype.Numeric {
		var n pgtype.Numeric
		if err := n.Scan(s); err != nil {
			t.Fatal(err)
		}
		return n
	}
	day := time.Date(2024, 3, 31, 0, 0, 0, 0, time.UTC)
	for _, p := range []struct {
		typ  string
		vals []any
	}{
		{"bool", []any{true, false}},
		{"int2", []any{int16(0), int16(math.MinInt16), int16(math.MaxInt16)}},
		{"int4", []any{int32(0), int32(math.MinInt32), int32(math.MaxInt32)}},
		{"int8", []any{int64(0), int64(math.MinInt64), int64(math.MaxInt64)}},
		{"float4", []any{float32(1.5), float32(math.Inf(-1))}},
		{"float8", []any{1.5, math.Inf(1), math.Copysign(0, -1), 1e-300}},
		{"numeric", []any{numeric("0"), numeric("1.50"), numeric("-12345678901234567890.123456789"), numeric("0.00001"), numeric("NaN")}},
		{"text", []any{"", "é€", "a'b\\c\n"}},
		{"varchar(5)", []any{"", "abc"}},
		{"bytea", []any{[]byte{}, []byte{0, 255, '\\'}}},
		{"date", []any{day, time.Date(-43, 3, 15, 0, 0, 0, 0, time.UTC)}},
		{"time", []any{pgtype.Time{Microseconds: 86399999999, Valid: true}}},
		{"timestamp", []any{day.Add(90*time.Minute + time.Microsecond), time.Date(1999, 12, 31, 23, 59, 59, 999999000, time.UTC)}},
		{"timestamptz", []any{day.Add(90*time.Minute + time.Microsecond), time.Date(1999, 12, 31, 23, 59, 59, 999999000, time.UTC)}},
		{"interval", []any{pgtype.Interval{Microseconds: 1, Days: -2, Months: 3, Valid: true}}},
		{"uuid", []any{pgtype.UUID{Bytes: [16]byte{1, 2, 15: 255}, Valid: true}}},
		{"jsonb", []any{map[string]any{"a": []any{1.0, nil, "x"}}}},
		{"int4[]", []any{[]int32{}, []int32{1, -2, 3}}},
		{"text[]", []any{[]string{"a b", "", "c,\"d\""}}},
	} {
		for _, v := range p.vals {
			for _, m := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeDescribeExec} {
				if m == pgx.QueryExecModeSimpleProtocol || m == pgx.QueryExecModeExec {
					switch v.(type) {
					case map[string]any, []int32, []string:
						continue // pgx cannot tell what type that is
					}
				}
				var same, null bool
				err := c.QueryRow(ctx, fmt.Sprintf("SELECT $1::%[1]s IS NOT DISTINCT FROM $2::text::%[1]s, $3::%[1]s IS NULL", p.typ), m, v, text(t, c, p.typ, v), nil).Scan(&same, &null)
				if err != nil || !same || !null {
					t.Errorf("%s %v (%v): %v %v %v", p.typ, v, m, same, null, err)
				}
			}
		}
	}
	// The type of a parameter follows from its use.
	var n int64
	if err := c.QueryRow(ctx, "SELECT count(*) FROM generate_series(1, 10) g WHERE g > $1 LIMIT $2", 4, 5).Scan(&n); err != nil || n != 6 {
		t.Errorf("%d %v", n, err)
	}
	if _, err := c.Exec(ctx, "CREATE TABLE p (id int PRIMARY KEY, v numeric, s text)"); err != nil {
		t.Fatal(err)
	}
	batch := &pgx.Batch{}
	for i := range 100 {
		batch.Queue("INSERT INTO p VALUES ($1, $2, $3)", i, numeric("1.5"), fmt.Sprint(i))
	}
	batch.Queue("UPDATE p SET v = v + $1 WHERE id = ANY ($2)", numeric("1"), []int32{1, 2, 3})
	if err := c.SendBatch(ctx, batch).Close(); err != nil {
		t.Fatal(err)
	}
	copied, err := c.CopyFrom(ctx, pgx.Identifier{"p"}, []string{"id", "v", "s"}, pgx.CopyFromRows([][]any{{1000, numeric("2"), "x"}}))
	if err != nil && code(err) != "0A000" || err == nil && copied != 1 {
		t.Errorf("binary COPY: %d, %v", copied, err)
	}
	if err := c.QueryRow(ctx, "SELECT count(*) FROM p WHERE v = 2.5").Scan(&n); err != nil || n != 3 {
		t.Errorf("%d %v", n, err)
	}
	if _, err := c.Exec(ctx, "SELECT $1 + 1", "x"); err == nil {
		t.Error("a text is no integer")
	}
	if _, err := c.Exec(ctx, "INSERT INTO p (id) VALUES ($1)", 1); code(err) != "23505" {
		t.Error(err)
	}
}

// text is how the server writes a value.
func text(t *testing.T, c *pgx.Conn, typ string, v any) string {
	t.Helper()
	var s string
	if err := c.QueryRow(context.Background(), "SELECT ($1::"+typ+")::text", v).Scan(&s); err != nil {
		t.Errorf("%s %v: %v", typ, v, err)
	}
	return s
}

// Parameters whose values mean something with the catalog only are read so also when they begin a transaction.
func TestParametersOfCatalog(t *testing.T) {
	t.Parallel()
	w := start(t, setup{parallelism: 1})
	c := connect(t, w.url(), nil)
	defer closeConn(c)
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
	defer cancel()
	for _, q := range []string{"CREATE TYPE mood AS ENUM ('ok', 'sad')", "CREATE TYPE pair AS (a int, m mood)", "CREATE TABLE t (a int)"} {
		if _, err := c.Exec(ctx, q); err != nil {
			t.Fatal(err)
		}
	}
	for typ, want := range map[string]string{
		"mood": "sad", "mood[]": "{ok,sad}", "pair": "(1,sad)", "regclass": "t", "regtype": "mood", "regnamespace": "public",
	} {
		r := c.PgConn().ExecParams(ctx, "SELECT $1::"+typ+", pg_typeof($1)", [][]byte{[]byte(want)}, nil, nil, nil).Read()
		if r.Err != nil || len(r.Rows) != 1 || string(r.Rows[0][0]) != want || string(r.Rows[0][1]) != typ {
			t.Errorf("%s: %s %v", typ, r.Rows, r.Err)
		}
	}
}

// EXPLAIN in the extended protocol has the parameters of what it explains.
func TestParametersOfExplain(t *testing.T) {
	t.Parallel()
	w := start(t, setup{parallelism: 1})
	c := connect(t, w.url(), nil)
	defer closeConn(c)
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
	defer cancel()
	for _, q := range []string{"CREATE TYPE mood AS ENUM ('ok', 'sad')", "CREATE TABLE t (a int PRIMARY KEY, m mood)"} {
		if _, err := c.Exec(ctx, q); err != nil {
			t.Fatal(err)
		}
	}
	for _, q := range []string{
		"EXPLAIN SELECT a FROM t WHERE a = $1", "EXPLAIN ANALYZE SELECT a FROM t WHERE m = $2 AND a > $1",
		"EXPLAIN (FORMAT JSON, VERBOSE) SELECT $2::mood, $1 + 1 FROM t", "EXPLAIN INSERT INTO t VALUES ($1, $2)",
		"EXPLAIN UPDATE t SET m = $2 WHERE a = $1", "EXPLAIN DELETE FROM t WHERE a = $1",
	} {
		d, err := c.Prepare(ctx, q, q)
		if err != nil {
			t.Errorf("%s: %v", q, err)
			continue
		}
		if len(d.ParamOIDs) == 0 || d.ParamOIDs[0] != pgtype.Int4OID {
			t.Errorf("%s: parameters %v", q, d.ParamOIDs)
		}
		for range 2 {
			r := c.PgConn().ExecPrepared(ctx, d.Name, [][]byte{[]byte("1"), []byte("sad")}[:len(d.ParamOIDs)], nil, nil).Read()
			if r.Err != nil || len(r.Rows) == 0 {
				t.Errorf("%s: %s %v", q, r.Rows, r.Err)
			}
		}
	}
	if _, err := c.Prepare(ctx, "bad", "EXPLAIN SELECT a FROM t WHERE a = $1 AND nosuch"); err == nil {
		t.Error("EXPLAIN of a column that does not exist is prepared")
	}
}
