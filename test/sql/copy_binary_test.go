package sql

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// pgx's CopyFrom sends binary data; what COPY sends in binary, it takes again, for every type.
func TestCopyBinary(t *testing.T) {
	t.Parallel()
	w := start(t, setup{parallelism: 1})
	c := connect(t, w.url(), nil)
	defer closeConn(c)
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
	defer cancel()
	exec := func(sql string) {
		t.Helper()
		if _, err := c.Exec(ctx, sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	exec("CREATE TABLE t (id int PRIMARY KEY, s text, at timestamptz, n numeric(10,2), a int[])")
	exec("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n, sum(n) AS total, max(at) AS at FROM t")
	const rows = 10_000
	at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	n, err := c.CopyFrom(ctx, pgx.Identifier{"t"}, []string{"id", "s", "at", "n", "a"}, pgx.CopyFromSlice(rows, func(i int) ([]any, error) {
		return []any{i, fmt.Sprint("row ", i), at.Add(time.Duration(i) * time.Second), fmt.Sprintf("%d.25", i), []int32{int32(i), -1}}, nil
	}))
	if err != nil || n != rows {
		t.Fatal(n, err)
	}
	var ok bool
	if err := c.QueryRow(ctx, `SELECT v.n = $1 AND total = 49997500 AND v.at = '2024-01-01 02:46:39+00' AND (SELECT s || a::text FROM t WHERE id = 77) = 'row 77{77,-1}' FROM v`,
		rows).Scan(&ok); err != nil || !ok {
		t.Fatal(ok, err)
	}

	values := map[string]string{
		"bool": "true", "int2": "-5", "int4": "6", "int8": "-7", "float4": "1.5", "float8": "'-infinity'", "numeric": "'12345678901234567890.000100'",
		"text": "'é'", "varchar(3)": "'abc'", "char(5)": "'ab'", "bytea": `'\x00ff'`, "date": "'2024-02-29'", "time": "'23:59:59.999999'",
		"timestamp": "'1999-12-31 23:59:59.5'", "timestamptz": "'2024-03-31 01:00:00+02'", "interval": "'1 mon -2 days 00:00:01'",
		"uuid": "'00000000-0000-0000-0000-0000000000ff'", "jsonb": `'{"a": [1.0, null]}'`, "json": `'{"b" :1}'`, "int4[]": "'[2:3]={7,NULL}'", "text[]": "'{{a,b},{\"\",d}}'",
		"numeric[]": "'{1.0,NaN}'", "timestamptz[]": "'{2024-03-31 01:00:00+02}'", "name": "'n'", "oid": "4000000000",
	}
	for typ, v := range values {
		exec(fmt.Sprintf("CREATE TABLE x (v %s); INSERT INTO x VALUES (%s), (NULL); CREATE TABLE y (v %s)", typ, v, typ))
		var data bytes.Buffer
		if _, err := c.PgConn().CopyTo(ctx, &data, "COPY x TO STDOUT (FORMAT binary)"); err != nil {
			t.Fatalf("%s: %v", typ, err)
		}
		if _, err := c.PgConn().CopyFrom(ctx, &data, "COPY y FROM STDIN (FORMAT binary)"); err != nil {
			t.Fatalf("%s: %v", typ, err)
		}
		var x, y string
		const all = "SELECT string_agg(coalesce(v::text, 'NULL'), ',' ORDER BY v::text) FROM "
		if err := c.QueryRow(ctx, all+"x").Scan(&x); err != nil {
			t.Fatal(err)
		}
		if err := c.QueryRow(ctx, all+"y").Scan(&y); err != nil || x != y {
			t.Errorf("%s: %q became %q (%v)", typ, x, y, err)
		}
		exec("DROP TABLE x, y")
	}
}
