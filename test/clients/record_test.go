package clients

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	recordings = flag.String("recordings", "", "folder with recordings of clients, to make testdata/replay of")
	oracle     = flag.String("oracle", "", "host:port of a PostgreSQL 15 that answers them; role postgres needs no password there")
)

// raw is a line of a recording: a distinct statement of a client in the order in which it sent them.
type raw struct {
	SQL    string    `json:"sql"`
	Proto  string    `json:"proto"`
	OIDs   []uint32  `json:"oids"`
	Params []*string `json:"params"`
	PF     []int16   `json:"pf"`
	RF     []int16   `json:"rf"`
	Cols   [][]any   `json:"cols"`
	Rows   [][]any   `json:"rows"`
	Err    string    `json:"err"`
}

// TestRecord makes testdata/replay, if it is told of what, by asking a PostgreSQL 15. Without flags it checks that the
// recordings are the files that are there.
func TestRecord(t *testing.T) {
	if *recordings == "" || *oracle == "" {
		t.Log("nothing to record: -recordings and -oracle say of what")
		return
	}
	files, err := filepath.Glob(filepath.Join(*recordings, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings in %s: %v", *recordings, err)
	}
	admin := &replayer{addr: *oracle, user: "postgres", database: "postgres"}
	defer admin.close()
	must := func(sql string) {
		t.Helper()
		o, err := admin.run(t.Context(), statement{Proto: "Q", SQL: sql})
		if err != nil || o.Error != "" {
			t.Fatalf("%s: %v %+v", sql, err, o)
		}
	}
	must("DROP DATABASE IF EXISTS weir")
	must("DO $$ BEGIN CREATE ROLE app LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
	must("ALTER ROLE app SUPERUSER")
	for _, file := range files {
		client := filepath.Base(file)
		must("DROP DATABASE IF EXISTS weir WITH (FORCE)")
		must("CREATE DATABASE weir OWNER app")
		r := &replayer{addr: *oracle, user: "app", database: "weir"}
		r.load(t)
		var out strings.Builder
		for _, s := range readRaw(t, file) {
			o, err := r.run(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			b, err := json.Marshal(recorded{s, o})
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&out, "%s\n", b)
		}
		r.close()
		if err := os.WriteFile(filepath.Join("testdata/replay", client), []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var (
	sleeps     = regexp.MustCompile(`pg_sleep\(\d+\)`)
	literalOID = regexp.MustCompile(`\b1[67]\d{3}\b`)
	castOID    = regexp.MustCompile(`(?i)^\s*SELECT '([^']+)'::pg_catalog\.(regclass|regproc|regprocedure|regtype)::pg_catalog\.oid`)
)

// readRaw reads a recording. OIDs of user objects in statements become the objects' names where the recording tells
// them.
func readRaw(t *testing.T, file string) []statement {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var lines []raw
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<24)
	names := map[string]string{}
	for sc.Scan() {
		var r raw
		if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, r)
		learn(names, r)
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	var all []statement
	for _, r := range lines {
		s := statement{SQL: r.SQL, Proto: r.Proto, OIDs: r.OIDs, Params: r.Params, ParamFormats: r.PF, ResultFormats: r.RF}
		// A cancelled sleep says nothing about the answer.
		s.SQL = sleeps.ReplaceAllString(s.SQL, "pg_sleep(0)")
		s.SQL = literalOID.ReplaceAllStringFunc(s.SQL, func(oid string) string {
			if n := names[oid]; n != "" {
				return "${" + n + "}"
			}
			return oid
		})
		if len(s.OIDs) > 0 && len(s.OIDs) != len(s.Params) {
			s.OIDs = nil
		}
		all = append(all, s)
	}
	return all
}

// learn takes names of OIDs from what a server answered.
func learn(names map[string]string, r raw) {
	col := map[string]int{}
	for i, c := range r.Cols {
		if n, ok := c[0].(string); ok {
			col[n] = i
		}
	}
	text := func(row []any, name string) string {
		i, ok := col[name]
		if !ok || i >= len(row) {
			return ""
		}
		s, _ := row[i].(string)
		return s
	}
	for _, row := range r.Rows {
		if oid := text(row, "oid"); oid != "" {
			if m := castOID.FindStringSubmatch(r.SQL); m != nil {
				names[oid] = m[2] + " " + m[1]
			} else if rel := text(row, "relname"); rel != "" {
				if ns := text(row, "nspname"); ns != "" {
					rel = ns + "." + rel
				}
				names[oid] = "regclass " + rel
			}
		}
	}
}
