package file

import (
	"context"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirdb/weir/connector"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

func sinkConfig(path, encode string, options ...connector.Option) connector.Config {
	return connector.Config{
		Options:    append([]connector.Option{{Name: "path", Value: path, IsSet: true}}, options...),
		Columns:    []exec.Column{{Name: "id", Type: types.T(types.Int8)}, {Name: "note", Type: types.T(types.Text)}},
		Format:     "plain",
		Encode:     encode,
		AppendOnly: true,
	}
}

func option(name, value string) connector.Option {
	return connector.Option{Name: name, Value: value, IsSet: true}
}

func openSink(t *testing.T, cfg connector.Config) *sinkWriter {
	t.Helper()
	s, err := NewSink(cfg)
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Open(context.Background(), cfg.Columns)
	if err != nil {
		t.Fatal(err)
	}
	return w.(*sinkWriter)
}

// sinkRows makes a chunk of "diff id note" lines; note NULL is none.
func sinkRows(lines ...string) *vec.Chunk {
	c := vec.NewChunk([]types.Type{types.T(types.Int8), types.T(types.Text)}, len(lines))
	for _, l := range lines {
		f := strings.SplitN(l, " ", 3)
		var diff, id int64
		fmt.Sscan(f[0], &diff)
		fmt.Sscan(f[1], &id)
		note := types.Null
		if f[2] != "NULL" {
			note = types.Datum{Valid: true, S: f[2]}
		}
		c.AppendRow([]types.Datum{{Valid: true, I: id}, note}, diff)
	}
	return c
}

// TestSinkEncodings: what the lines look like.
func TestSinkEncodings(t *testing.T) {
	in := []string{"1 1 plain", "2 2 twice", "1 3 NULL", `1 4 a "quoted", thing`}
	for name, c := range map[string]struct {
		cfg  connector.Config
		in   []string
		want string
	}{
		"json": {sinkConfig("", "json"), in, `{"id":1,"note":"plain"}
{"id":2,"note":"twice"}
{"id":2,"note":"twice"}
{"id":3,"note":null}
{"id":4,"note":"a \"quoted\", thing"}
`},
		"json changes": {
			sinkConfig("", "json", option("type", "changes")), []string{"1 1 a", "-1 1 a"},
			`{"op":"insert","id":1,"note":"a"}` + "\n" + `{"op":"delete","id":1,"note":"a"}` + "\n",
		},
		"csv": {sinkConfig("", "csv"), in, "1,plain\n2,twice\n2,twice\n3,\n4,\"a \"\"quoted\"\", thing\"\n"},
		"csv changes": {
			sinkConfig("", "csv", option("type", "changes"), option("op_column", "what")), []string{"1 1 a", "-1 1 a"},
			"insert,1,a\ndelete,1,a\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "out")
			c.cfg.Options[0].Value = path
			if c.cfg.Encode == "csv" && strings.Contains(name, "changes") {
				c.cfg.EncodeOptions = []connector.Option{option("header", "true")}
				c.want = "what,id,note\n" + c.want
			}
			w := openSink(t, c.cfg)
			if err := w.Recover(nil); err != nil {
				t.Fatal(err)
			}
			if err := w.Write(sinkRows(c.in...)); err != nil {
				t.Fatal(err)
			}
			h, err := w.Prepare()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(path); err == nil {
				t.Fatal("the file is there before the commit")
			}
			for range 2 {
				if err := w.Commit(h); err != nil {
					t.Fatal(err)
				}
			}
			got, err := os.ReadFile(path)
			if err != nil || string(got) != c.want {
				t.Errorf("%v\n%swant\n%s", err, got, c.want)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestSinkErrors: what CREATE SINK refuses, and deletions in an append-only file.
func TestSinkErrors(t *testing.T) {
	dir := t.TempDir()
	full := filepath.Join(dir, "full")
	if err := os.WriteFile(full, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	changing := sinkConfig(filepath.Join(dir, "a"), "json")
	changing.AppendOnly = false
	taken := sinkConfig(dir+"/x/../c", "json")
	taken.Others = [][]connector.Option{{option("connector", "blackhole")}, {option("connector", "file"), option("path", dir+"/c")}}
	if err := os.Mkdir(dir+"/x", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir+"/data/log", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir+"/data/log", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	reserved := func(path string) connector.Config {
		c := sinkConfig(dir+path, "json")
		c.Reserved = dir + "/data"
		return c
	}
	if _, err := NewSink(reserved("/data.jsonl")); err != nil {
		t.Errorf("beside the data directory: %v", err)
	}
	for name, c := range map[string]struct {
		cfg  connector.Config
		code sqlerr.Code
	}{
		"the server's":     {reserved("/x/../data/log/a"), sqlerr.InvalidParameterValue},
		"by a link":        {reserved("/link/a"), sqlerr.InvalidParameterValue},
		"another sink's":   {taken, sqlerr.ObjectInUse},
		"exists":           {sinkConfig(full, "json"), sqlerr.DuplicateFile},
		"a directory":      {sinkConfig(dir, "json"), sqlerr.DuplicateFile},
		"no directory":     {sinkConfig(dir+"/no/such", "json"), sqlerr.UndefinedFile},
		"rows that change": {changing, sqlerr.InvalidParameterValue},
		"type":             {sinkConfig(dir+"/a", "json", option("type", "upsert")), sqlerr.InvalidParameterValue},
		"encoding":         {sinkConfig(dir+"/a", "avro"), sqlerr.FeatureNotSupported},
		"no encoding":      {sinkConfig(dir+"/a", ""), sqlerr.SyntaxError},
		"column":           {sinkConfig(dir+"/a", "json", option("type", "changes"), option("op_column", "id")), sqlerr.DuplicateColumn},
	} {
		if _, err := NewSink(c.cfg); err == nil || sqlerr.From(err).Code != c.code {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
	w := openSink(t, sinkConfig(filepath.Join(dir, "b"), "json"))
	if err := w.Write(sinkRows("-1 1 a")); err == nil {
		t.Error("a deletion is taken")
	}
}

// TestSinkEachRowOnce runs checkpoints with crashes at random places: the writer is given up, and the next one
// begins with the handles of the last checkpoint that was saved; the rows after it come again. In the end each
// row is in the file once and in order, and the file has never had a row of a checkpoint that was not saved.
func TestSinkEachRowOnce(t *testing.T) {
	for seed := range int64(40) {
		rng := rand.New(rand.NewSource(seed))
		path := filepath.Join(t.TempDir(), "out")
		cfg := sinkConfig(path, "json")
		cfg.Restored = true
		type checkpoint struct {
			handles [][]byte
			rows    int
		}
		var saved checkpoint
		lines := func(n int) string {
			var b strings.Builder
			for i := range n {
				fmt.Fprintf(&b, "{\"id\":%d,\"note\":\"n\"}\n", i)
			}
			return b.String()
		}
		for crash := 0; crash < 15; crash++ {
			w := openSink(t, cfg)
			if err := w.Recover(saved.handles); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if got, _ := os.ReadFile(path); string(got) != lines(saved.rows) {
				t.Fatalf("seed %d, crash %d: after a recovery the file has %q, %d rows were saved", seed, crash, got, saved.rows)
			}
			n, handles := saved.rows, append([][]byte(nil), saved.handles...)
			committed := len(handles)
			var inFlight []checkpoint
			for rng.Intn(6) > 0 {
				for range rng.Intn(4) {
					if err := w.Write(sinkRows(fmt.Sprintf("1 %d n", n))); err != nil {
						t.Fatal(err)
					}
					n++
				}
				h, err := w.Prepare()
				if err != nil {
					t.Fatal(err)
				}
				if h != nil {
					handles = append(handles, h)
				}
				inFlight = append(inFlight, checkpoint{append([][]byte(nil), handles...), n})
				if rng.Intn(3) == 0 {
					continue // the next checkpoint before this one is saved
				}
				saved, inFlight = inFlight[len(inFlight)-1], nil
				if rng.Intn(3) == 0 {
					break // a crash before the commit
				}
				for ; committed < len(handles); committed++ {
					if rng.Intn(4) == 0 {
						break
					}
					if err := w.Commit(handles[committed]); err != nil {
						t.Fatal(err)
					}
				}
				if committed < len(handles) {
					break // or amid the commits
				}
			}
			if rng.Intn(2) == 0 && w.size == 0 { // rows that no checkpoint has
				if err := w.Write(sinkRows("1 999 lost")); err != nil {
					t.Fatal(err)
				}
				if err := w.flush(); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
		}
		w := openSink(t, cfg)
		if err := w.Recover(saved.handles); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(path); string(got) != lines(saved.rows) {
			t.Fatalf("seed %d: %q, %d rows were saved", seed, got, saved.rows)
		}
		left, err := filepath.Glob(path + pendingInfix + "*")
		if err != nil || len(left) > 0 {
			t.Fatalf("seed %d: %v is left", seed, left)
		}
	}
}
