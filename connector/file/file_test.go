package file

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"go.uber.org/goleak"

	"github.com/weirdb/weir/connector"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// describe prints an error as psql would, without the directory of the test.
func describe(err error, dir string) string {
	e := sqlerr.From(err)
	out := fmt.Sprintf("ERROR %s: %s\n", e.Code, e.Message)
	if e.Detail != "" {
		out += "DETAIL: " + e.Detail + "\n"
	}
	if e.Hint != "" {
		out += "HINT: " + e.Hint + "\n"
	}
	return strings.ReplaceAll(out, dir+"/", "")
}

// parseColumns reads "name type, name type".
func parseColumns(t testing.TB, s string) []exec.Column {
	t.Helper()
	var cols []exec.Column
	for _, def := range strings.Split(s, ",") {
		name, typ, ok := strings.Cut(strings.TrimSpace(def), " ")
		if !ok {
			t.Fatalf("bad column %q", def)
		}
		base, args, _ := strings.Cut(strings.TrimSuffix(typ, ")"), "(")
		var mods []string
		if args != "" {
			mods = strings.Split(args, ";")
		}
		ty, err := types.FromName(base, mods, "", 0)
		if err != nil {
			t.Fatal(err)
		}
		cols = append(cols, exec.Column{Name: name, Type: ty})
	}
	return cols
}

func schemaChunk(src exec.Source) *vec.Chunk {
	var ts []types.Type
	for _, c := range src.Columns() {
		ts = append(ts, c.Type)
	}
	return vec.NewChunk(ts, 0)
}

func everyColumn(src exec.Source) []int {
	cols := make([]int, len(src.Columns()))
	for i := range cols {
		cols[i] = i
	}
	return cols
}

// unescape makes the text after a command file content: %0A and the like are bytes.
func unescape(t testing.TB, s string) string {
	t.Helper()
	out, err := url.PathUnescape(s)
	if err != nil {
		t.Fatalf("bad content %q: %v", s, err)
	}
	return out
}

// script is one test file: a directory and at most one open source and reader.
type script struct {
	t      *testing.T
	dir    string
	src    exec.Source
	r      exec.Reader
	offset []byte
	cols   []int
}

func (s *script) closeReader() {
	if s.r != nil {
		if err := s.r.Close(); err != nil {
			s.t.Fatal(err)
		}
		s.r = nil
	}
}

// run executes one command; see the head of testdata/follow for what there is.
func (s *script) run(d *datadriven.TestData) string {
	t := s.t
	path := func() string {
		var name string
		d.ScanArgs(t, "file", &name)
		return filepath.Join(s.dir, name)
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	switch d.Cmd {
	case "write": // makes a new file, replacing one of that name by rename
		check(os.WriteFile(path()+".new", []byte(unescape(t, d.Input)), 0o600))
		check(os.Rename(path()+".new", path()))
	case "append":
		f, err := os.OpenFile(path(), os.O_APPEND|os.O_WRONLY, 0)
		check(err)
		_, err = f.WriteString(unescape(t, d.Input))
		check(err)
		check(f.Close())
	case "overwrite": // changes the content in place, from the start
		f, err := os.OpenFile(path(), os.O_WRONLY, 0)
		check(err)
		_, err = f.WriteString(unescape(t, d.Input))
		check(err)
		check(f.Close())
	case "truncate":
		var size int64
		d.ScanArgs(t, "size", &size)
		check(os.Truncate(path(), size))
	case "remove":
		check(os.Remove(path()))
	case "source":
		s.closeReader()
		s.offset, s.cols = nil, nil
		cfg := connector.Config{Dir: s.dir, Format: "plain", Restored: d.HasArg("restored")}
		for _, line := range strings.Split(d.Input, "\n") {
			word, rest, _ := strings.Cut(line, " ")
			name, value, set := strings.Cut(rest, "=")
			opt := connector.Option{Name: name, Value: strings.ReplaceAll(value, `\t`, "\t"), IsSet: set}
			switch word {
			case "columns":
				cfg.Columns = parseColumns(t, rest)
			case "with":
				cfg.Options = append(cfg.Options, opt)
			case "encode":
				cfg.Encode = rest
			case "format":
				cfg.Format = rest
			case "option":
				cfg.EncodeOptions = append(cfg.EncodeOptions, opt)
			default:
				t.Fatalf("unknown word %q", word)
			}
		}
		src, err := NewSource(cfg)
		if err != nil {
			return describe(err, s.dir)
		}
		s.src = src
		s.cols = everyColumn(src)
	case "open", "reopen", "restart":
		off := s.offset
		if d.Cmd == "open" {
			off = nil
		}
		s.closeReader()
		r, err := s.src.Open(context.Background(), 0, off, s.cols)
		if err != nil {
			return describe(err, s.dir)
		}
		s.r = r
	case "columns":
		s.cols = nil
		for _, a := range d.CmdArgs {
			n, err := strconv.Atoi(a.Key)
			check(err)
			s.cols = append(s.cols, n)
		}
		if s.r != nil {
			s.r.SetColumns(s.cols)
		}
	case "wait":
		<-s.r.Ready()
	case "next":
		most := 100
		d.MaybeScanArgs(t, "most", &most)
		return s.next(most)
	case "all":
		out := ""
		for {
			part := s.next(100)
			out += part
			if !strings.HasPrefix(part, "+") {
				return out
			}
		}
	case "close":
		s.closeReader()
	default:
		t.Fatalf("unknown command %s", d.Cmd)
	}
	return ""
}

func (s *script) next(most int) string {
	c := schemaChunk(s.src)
	n, err := s.r.Next(c, most)
	if n != c.Len() {
		s.t.Fatalf("%d rows, %d in the chunk", n, c.Len())
	}
	for _, col := range s.cols {
		if got := c.Cols[col].Len(); got != n {
			s.t.Fatalf("column %d has %d values of %d", col, got, n)
		}
	}
	s.offset = s.r.Offset()
	switch err {
	case nil:
		return c.String()
	case io.EOF:
		return fmt.Sprintf("end after %d rows\n", s.r.OffsetRows())
	case exec.ErrNoData:
		return fmt.Sprintf("no data after %d rows\n", s.r.OffsetRows())
	}
	return describe(err, s.dir)
}

// TestData runs the scripts in testdata.
func TestData(t *testing.T) {
	for _, name := range []string{"json", "csv", "follow", "options"} {
		t.Run(name, func(t *testing.T) {
			s := &script{t: t, dir: t.TempDir()}
			datadriven.RunTest(t, filepath.Join("testdata", name), func(t *testing.T, d *datadriven.TestData) string {
				s.t = t
				return s.run(d)
			})
			s.closeReader()
		})
	}
}

// TestExampleData: the files of the walk-through are what it says they are.
func TestExampleData(t *testing.T) {
	for _, f := range []struct {
		cfg  connector.Config
		path string
		rows int64
		last string
	}{
		{
			connector.Config{Encode: "json", Columns: parseColumns(t, "id int4, date text, delay int4, distance int4, origin text, destination text")},
			"flights.jsonl", 20_000, `20000 "2001/03/31 22:27" -9 83 CLT GSO`,
		},
		{
			connector.Config{
				Encode: "csv", EncodeOptions: []connector.Option{{Name: "header"}},
				Columns: parseColumns(t, "iata text, name text, city text, state text, country text, latitude float8, longitude float8"),
			},
			"airports.csv", 3376, `ZZV "Zanesville Municipal" Zanesville OH USA 39.94445833 -81.89210528`,
		},
	} {
		f.cfg.Dir, f.cfg.Options = "../../examples", []connector.Option{{Name: "path", Value: f.path, IsSet: true}}
		src, err := NewSource(f.cfg)
		if err != nil {
			t.Fatal(err)
		}
		r, err := src.Open(t.Context(), 0, nil, everyColumn(src))
		if err != nil {
			t.Fatal(err)
		}
		c := schemaChunk(src)
		last := ""
		for {
			c.Reset()
			// No further: who follows the walk-through appends to its file.
			n, err := r.Next(c, int(min(f.rows-r.OffsetRows(), vec.ChunkSize)))
			if err != nil {
				t.Fatal(err)
			}
			if last = vec.FormatRow(c, n-1); r.OffsetRows() == f.rows {
				break
			}
		}
		if last != f.last {
			t.Errorf("%s: %d rows, the last is %s", f.path, r.OffsetRows(), last)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
