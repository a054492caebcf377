package sql

import (
	"bytes"
	"strings"
	"testing"
)

// TestLoginSettings: what ALTER ROLE and ALTER DATABASE set, a new session begins with, and RESET goes back to.
func TestLoginSettings(t *testing.T) {
	t.Parallel()
	w := start(t, setup{parallelism: 1})
	c := connect(t, w.url(), nil)
	defer closeConn(c)
	for _, q := range []string{
		"CREATE ROLE u LOGIN", "ALTER ROLE ALL SET datestyle = 'SQL'", "ALTER ROLE ALL SET work_mem = '1MB'", "ALTER DATABASE weir SET work_mem = '2MB'",
		"ALTER ROLE u SET work_mem = '3MB'", "ALTER ROLE u SET intervalstyle = iso_8601", "ALTER ROLE u IN DATABASE weir SET intervalstyle = sql_standard",
	} {
		must(t, c, q)
	}
	u := connect(t, strings.Replace(w.url(), "weir@", "u@", 1), nil)
	defer closeConn(u)
	for q, want := range map[string]string{"SHOW datestyle": "SQL, MDY", "SHOW work_mem": "3MB", "SHOW intervalstyle": "sql_standard"} {
		if got := must(t, u, q); got != want {
			t.Errorf("%s: %s, want %s", q, got, want)
		}
	}
	must(t, u, "SET work_mem = '9MB'")
	must(t, u, "RESET work_mem")
	if got := must(t, u, "SHOW work_mem"); got != "3MB" {
		t.Errorf("after RESET: %s", got)
	}
	must(t, u, "ALTER ROLE u SET work_mem = '4MB'")
	if _, err := u.PgConn().Exec(t.Context(), "ALTER ROLE weir SET work_mem = '4MB'").ReadAll(); code(err) != "42501" {
		t.Errorf("a user changes the settings of a superuser: %v", err)
	}
	other := connect(t, w.url(), nil)
	defer closeConn(other)
	if got := must(t, other, "SHOW work_mem"); got != "2MB" {
		t.Errorf("the database's: %s", got)
	}
}

// TestClientEncoding: texts go both ways in the client's encoding, in queries, parameters and COPY.
func TestClientEncoding(t *testing.T) {
	t.Parallel()
	w := start(t, setup{parallelism: 1})
	c := connect(t, w.url(), nil)
	defer closeConn(c)
	must(t, c, "CREATE TABLE e (t text)")
	must(t, c, "SET client_encoding = 'LATIN1'")
	ctx, pc := t.Context(), c.PgConn()
	if _, err := pc.Exec(ctx, "INSERT INTO e VALUES ('caf\xe9')").ReadAll(); err != nil {
		t.Fatal(err)
	}
	if r := pc.ExecParams(ctx, "INSERT INTO e VALUES ($1)", [][]byte{[]byte("\xfcber")}, nil, []int16{0}, nil).Read(); r.Err != nil {
		t.Fatal(r.Err)
	}
	if r := pc.ExecParams(ctx, "INSERT INTO e VALUES ($1)", [][]byte{[]byte("\xdf")}, []uint32{25}, []int16{1}, nil).Read(); r.Err != nil {
		t.Fatal(r.Err)
	}
	// Enough that a character is at every place in a buffer.
	data := bytes.Repeat([]byte("\xe4\xf6\xfc\n"), 20000)
	if tag, err := pc.CopyFrom(ctx, bytes.NewReader(data), "COPY e FROM STDIN"); err != nil || tag.RowsAffected() != 20000 {
		t.Fatal(tag, err)
	}
	for _, format := range []int16{0, 1} {
		r := pc.ExecParams(ctx, "SELECT t, octet_length(t) FROM e WHERE t < 'd'", nil, nil, nil, []int16{format}).Read()
		if r.Err != nil || len(r.Rows) != 1 || string(r.Rows[0][0]) != "caf\xe9" {
			t.Fatalf("format %d: %q %v", format, r.Rows, r.Err)
		}
	}
	var out bytes.Buffer
	if _, err := pc.CopyTo(ctx, &out, "COPY (SELECT * FROM e WHERE t LIKE '\xe4%') TO STDOUT"); err != nil || !bytes.Equal(out.Bytes(), data) {
		t.Fatalf("COPY gives other bytes: %v", err)
	}
	must(t, c, "SET client_encoding = 'UTF8'")
	if got := must(t, c, "SELECT string_agg(DISTINCT t, ',' ORDER BY t) FROM e"); got != "café,ß,äöü,über" {
		t.Errorf("the server has %s", got)
	}
	must(t, c, "INSERT INTO e VALUES ('€')")
	must(t, c, "SET client_encoding = 'LATIN1'")
	if _, err := pc.Exec(ctx, "SELECT t FROM e ORDER BY t DESC").ReadAll(); code(err) != "22P05" {
		t.Errorf("a character that LATIN1 lacks: %v", err)
	}
	if got := must(t, c, "SELECT 1"); got != "1" {
		t.Error("the session does not go on")
	}
}
