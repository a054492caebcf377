package pg

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/weirdb/weir/server"
	"github.com/weirdb/weir/server/engine"
	"github.com/weirdb/weir/sql/types"
)

var (
	usePostgres = flag.Bool("postgres", false, "start a PostgreSQL and ask it")
	showWeir    = flag.Bool("differences", false, "print differences in the form of testdata/differences")
)

const timeout = 60 * time.Second

// asker answers the lines of a file.
type asker struct {
	t    *testing.T
	conn *pgconn.PgConn
}

func connect(t *testing.T, url string) *asker {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	conn, err := pgconn.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		if err := conn.Close(ctx); err != nil {
			t.Log(err)
		}
	})
	a := &asker{t, conn}
	for _, s := range []string{"SET TimeZone = 'America/New_York'", "SET DateStyle = 'ISO, MDY'"} {
		if got := a.query(s); strings.HasPrefix(got, "ERROR") {
			t.Fatal(got)
		}
	}
	return a
}

func (a *asker) run(sql string) ([]*pgconn.Result, string) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	res, err := a.conn.Exec(ctx, sql).ReadAll()
	if err == nil {
		return res, ""
	}
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		return nil, fmt.Sprintf("ERROR %s: %s", pe.Code, oneLine(pe.Message))
	}
	a.t.Fatalf("%s: %v", sql, err)
	return nil, ""
}

// expr gives "type: value".
func (a *asker) expr(line string) string {
	res, fail := a.run("SELECT " + line)
	if fail != "" {
		return fail
	}
	if len(res) == 0 || len(res[0].FieldDescriptions) == 0 {
		return "nothing"
	}
	f := res[0].FieldDescriptions[0]
	name := fmt.Sprintf("type %d", f.DataTypeOID)
	if t, ok := types.TypeByOID(f.DataTypeOID, f.TypeModifier); ok {
		name = t.String()
	}
	var vals []string
	for _, row := range res[0].Rows {
		vals = append(vals, value(row[0]))
	}
	return name + ": " + strings.Join(vals, " / ")
}

// query gives the names of the columns and the rows, in one line.
func (a *asker) query(line string) string {
	res, fail := a.run(line)
	if fail != "" {
		return fail
	}
	var parts []string
	for _, r := range res {
		if len(r.FieldDescriptions) == 0 {
			parts = append(parts, r.CommandTag.String())
			continue
		}
		var names []string
		for _, f := range r.FieldDescriptions {
			names = append(names, f.Name)
		}
		parts = append(parts, strings.Join(names, "|")+":")
		for _, row := range r.Rows {
			var vals []string
			for _, v := range row {
				vals = append(vals, value(v))
			}
			parts = append(parts, strings.Join(vals, "|"))
		}
	}
	return strings.Join(parts, "  ")
}

func value(v []byte) string {
	if v == nil {
		return "NULL"
	}
	s := string(v)
	if s == "" || s != strings.TrimSpace(s) || strings.ContainsAny(s, "\n\r") {
		return strconv.Quote(s)
	}
	return s
}

func oneLine(s string) string { return strings.ReplaceAll(s, "\n", " ") }

// differences has the answers of Weir that are not PostgreSQL's, by line.
func differences(t *testing.T) map[string]string {
	b, err := os.ReadFile("testdata/differences")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.SplitSeq(string(b), "\n") {
		if strings.HasPrefix(line, "#") || line == "" {
			continue
		}
		q, answer, ok := strings.Cut(line, "  =>  ")
		if !ok {
			t.Fatalf("testdata/differences: %q", line)
		}
		out[q] = answer
	}
	return out
}

func files(t *testing.T) []string {
	t.Helper()
	fs, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(fs) == 0 {
		t.Fatalf("no files: %v", err)
	}
	return fs
}

// answer runs one directive.
func (a *asker) answer(t *testing.T, d *datadriven.TestData, known func(line, got, want string) string) string {
	want := strings.Split(strings.TrimSuffix(d.Expected, "\n"), "\n")
	var out []string
	for line := range strings.SplitSeq(d.Input, "\n") {
		var got string
		switch d.Cmd {
		case "expr":
			got = a.expr(line)
		case "query":
			got = a.query(line)
		default:
			d.Fatalf(t, "no directive %s", d.Cmd)
		}
		var old string
		if at := len(out); at < len(want) {
			old = want[at]
		}
		out = append(out, known(line, got, old))
	}
	return strings.Join(out, "\n") + "\n"
}

// startWeir starts a Weir in this process and gives its URL. It ends with the test.
func startWeir(t *testing.T) string {
	t.Helper()
	srv, err := server.Open(server.Config{
		DataDir: "/data", Listen: "127.0.0.1:0", HTTP: "off", Parallelism: 1,
		BarrierInterval: 20 * time.Millisecond, CheckpointInterval: time.Hour, ShutdownGrace: 30 * time.Second,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Tune: func(c *engine.Config) {
			c.Storage.CacheBytes, c.Storage.MemTableBytes, c.Storage.FS = 4<<20, 1<<20, vfs.NewMem()
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- srv.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("shutdown: %v", err)
		}
	})
	return "postgres://weir@" + srv.Addr().String() + "/weir?sslmode=disable"
}

// TestFiles compares Weir with the files.
func TestFiles(t *testing.T) {
	known := differences(t)
	used := map[string]bool{}
	url := startWeir(t)
	for _, f := range files(t) {
		t.Run(filepath.Base(f), func(t *testing.T) {
			a := connect(t, url)
			schema := "s_" + strings.TrimSuffix(filepath.Base(f), ".txt")
			a.query("CREATE SCHEMA " + schema)
			a.query("SET search_path = " + schema)
			datadriven.RunTest(t, f, func(t *testing.T, d *datadriven.TestData) string {
				return a.answer(t, d, func(line, got, want string) string {
					if *showWeir && got != want {
						fmt.Printf("%s  =>  %s\n", line, got)
						return want
					}
					if got == known[line] {
						used[line] = true
						return want
					}
					return got
				})
			})
		})
	}
	for line := range known {
		if !used[line] && !t.Failed() {
			t.Errorf("testdata/differences: no difference in %s", line)
		}
	}
}

// TestPostgres compares PostgreSQL with the files.
func TestPostgres(t *testing.T) {
	if !*usePostgres {
		t.Log("without -postgres only Weir is asked")
		return
	}
	url := startPostgres(t)
	for _, f := range files(t) {
		t.Run(filepath.Base(f), func(t *testing.T) {
			a := connect(t, url)
			schema := "s_" + strings.TrimSuffix(filepath.Base(f), ".txt")
			a.query("CREATE SCHEMA " + schema)
			a.query("SET search_path = " + schema)
			datadriven.RunTest(t, f, func(t *testing.T, d *datadriven.TestData) string {
				return a.answer(t, d, func(_, got, _ string) string { return got })
			})
		})
	}
}
