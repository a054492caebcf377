package clients

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
	"text/tabwriter"
)

var verbose = flag.Bool("differences", false, "show every difference of the replay, also those that are listed")

// recorded is a line of a file of testdata/replay: a statement, and what PostgreSQL 15 answers to it there.
type recorded struct {
	statement
	Want *outcome `json:"want"`
}

// outcome is an answer made comparable: OIDs of user objects are masked, rows without an order are sorted, and of long
// answers a checksum is left.
type outcome struct {
	ParamTypes []uint32 `json:"poids,omitempty"`
	Results    []setOf  `json:"results,omitempty"`
	Error      string   `json:"error,omitempty"`
	Message    string   `json:"message,omitempty"`
}

type setOf struct {
	Columns []column `json:"cols,omitempty"`
	Rows    []string `json:"rows,omitempty"`
	Sum     string   `json:"sum,omitempty"`
	Tag     string   `json:"tag,omitempty"`
}

// longAnswer is how many bytes of rows an outcome keeps.
const longAnswer = 2000

var (
	lastOrder = regexp.MustCompile(`(?is)\border\s+by\b[^)]*$`)
	userOID   = regexp.MustCompile(`^(1[6-9]|[2-9]\d)\d{3,}$`)
)

// outcomeOf makes an answer comparable.
func outcomeOf(s statement, a answer) *outcome {
	o := &outcome{ParamTypes: a.ParamTypes, Error: a.Error, Message: a.Message}
	for _, r := range a.Results {
		set := setOf{Columns: r.Columns, Tag: r.Tag}
		size := 0
		for _, row := range r.Rows {
			cells := make([]string, len(row))
			for i, v := range row {
				switch {
				case v == nil:
					cells[i] = "NULL"
				case i < len(r.Columns) && r.Columns[i].Type == 26 && userOID.MatchString(*v):
					cells[i] = "OID"
				default:
					cells[i] = *v
				}
			}
			line := strings.Join(cells, "|")
			size += len(line)
			set.Rows = append(set.Rows, line)
		}
		if !lastOrder.MatchString(s.SQL) {
			sort.Strings(set.Rows)
		}
		if size > longAnswer {
			sum := sha256.Sum256([]byte(strings.Join(set.Rows, "\n")))
			set.Rows, set.Sum = nil, hex.EncodeToString(sum[:8])
		}
		o.Results = append(o.Results, set)
	}
	return o
}

// compare says what kind of thing differs (error, columns, parameters, tag, rows), and how; "" if nothing.
func compare(want, got *outcome) (kind, how string) {
	if want.Error != got.Error {
		return "error", fmt.Sprintf("want %q %s, got %q %s", want.Error, want.Message, got.Error, got.Message)
	}
	if !slices.Equal(want.ParamTypes, got.ParamTypes) {
		return "parameters", fmt.Sprintf("want %v, got %v", want.ParamTypes, got.ParamTypes)
	}
	if len(want.Results) != len(got.Results) {
		return "error", fmt.Sprintf("want %d results, got %d", len(want.Results), len(got.Results))
	}
	for i, w := range want.Results {
		g := got.Results[i]
		if !slices.Equal(w.Columns, g.Columns) {
			return "columns", fmt.Sprintf("want %v, got %v", w.Columns, g.Columns)
		}
		if word(w.Tag) != word(g.Tag) {
			return "tag", fmt.Sprintf("want %s, got %s", w.Tag, g.Tag)
		}
	}
	for i, w := range want.Results {
		g := got.Results[i]
		if w.Sum != g.Sum || !slices.Equal(w.Rows, g.Rows) || w.Tag != g.Tag {
			return "rows", fmt.Sprintf("want %s %s%s\n    got  %s %s%s", w.Tag, w.Sum, only(w.Rows, g.Rows), g.Tag, g.Sum, only(g.Rows, w.Rows))
		}
	}
	return "", ""
}

func word(tag string) string {
	w, _, _ := strings.Cut(tag, " ")
	return w
}

// only gives those lines that the other side does not have, shortened.
func only(lines, others []string) string {
	left := slices.Clone(lines)
	for _, o := range others {
		if i := slices.Index(left, o); i >= 0 {
			left = slices.Delete(left, i, i+1)
		}
	}
	if len(left) > 8 {
		left = append(left[:8], "...")
	}
	s := fmt.Sprintf("%q", left)
	if len(s) > 1500 {
		s = s[:1500] + "..."
	}
	return s
}

// definition matches what may not run inside of a transaction block here: it is ended before, on either server.
var definition = regexp.MustCompile(`(?is)^\s*(create|drop|alter|comment|grant|revoke|refresh|vacuum|analyze|reindex|cluster)\b`)

// inBlock matches what is only right inside of a transaction block, and needs one here too: a recording has a BEGIN that
// was sent often only once.
var inBlock = regexp.MustCompile(`(?is)^\s*(savepoint|release|rollback to|declare|fetch|move|close|lock|set local)\b`)

// replayer sends the statements of one client over one connection.
type replayer struct {
	addr, user, database string
	w                    *wire
	// block: the open transaction block is the replayer's own.
	block bool
}

func (r *replayer) close() {
	if r.w != nil {
		r.w.close()
		r.w, r.block = nil, false
	}
}

// prepare opens or ends a transaction block where the statement needs that.
func (r *replayer) prepare(s statement) error {
	sql := ""
	in := inBlock.MatchString(s.SQL)
	switch {
	case r.w.status == 'I' && in:
		sql = "BEGIN"
	case r.w.status == 'T' && (definition.MatchString(s.SQL) || r.block && !in):
		sql = "COMMIT"
	default:
		return nil
	}
	r.block = sql == "BEGIN"
	_, err := r.w.send(statement{Proto: "Q", SQL: sql})
	return err
}

// run sends a statement. A failed transaction block is ended, and a lost connection made again, so that one statement
// that fails is one failure.
func (r *replayer) run(ctx context.Context, s statement) (*outcome, error) {
	if r.w == nil {
		w, err := dialWire(ctx, r.addr, r.user, r.database)
		if err != nil {
			return nil, err
		}
		r.w = w
	}
	if err := r.prepare(s); err != nil {
		return nil, err
	}
	a, err := r.w.send(s)
	if err != nil {
		r.close()
		return &outcome{Error: "connection", Message: err.Error()}, nil
	}
	if r.w.status == 'E' {
		if _, err := r.w.send(statement{Proto: "Q", SQL: "ROLLBACK"}); err != nil {
			r.close()
		}
	}
	return outcomeOf(s, a), nil
}

// foreignKey matches what the schema is loaded without where it is not supported.
var foreignKey = regexp.MustCompile(`REFERENCES [a-z.]+\([a-z_]+\)( ON DELETE SET NULL)?`)

// load runs the sample schema of the recordings.
func (r *replayer) load(t *testing.T) {
	t.Helper()
	b, err := os.ReadFile("testdata/schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range strings.SplitAfter(string(b), ";\n") {
		if strings.TrimSpace(sql) == "" {
			continue
		}
		o, err := r.run(t.Context(), statement{Proto: "Q", SQL: sql})
		if err != nil {
			t.Fatal(err)
		}
		if o.Error == "0A000" {
			t.Logf("schema.sql: %s %s: %.100s", o.Error, o.Message, sql)
			without := foreignKey.ReplaceAllString(sql, "")
			if without == sql {
				continue
			}
			if o, err = r.run(t.Context(), statement{Proto: "Q", SQL: without}); err != nil {
				t.Fatal(err)
			}
		}
		if o.Error != "" {
			t.Errorf("schema.sql: %s %s: %.100s", o.Error, o.Message, sql)
		}
	}
}

func readRecorded(t *testing.T, file string) []recorded {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []recorded
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		var r recorded
		if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
			t.Fatalf("%s:%d: %v", file, len(all)+1, err)
		}
		all = append(all, r)
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestReplay sends every statement of testdata/replay to Weir.
func TestReplay(t *testing.T) {
	files, err := filepath.Glob("testdata/replay/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	known := readDifferences(t)
	var table strings.Builder
	tw := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "client\tstatements\tequal\tlisted\tdifferent")
	var sum [4]int
	for _, file := range files {
		client := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		t.Run(client, func(t *testing.T) {
			r := &replayer{addr: startWeir(t), user: "weir", database: "weir"}
			defer r.close()
			if _, err := r.run(t.Context(), statement{Proto: "Q", SQL: "CREATE ROLE app LOGIN SUPERUSER"}); err != nil {
				t.Fatal(err)
			}
			r.close()
			r.user = "app"
			r.load(t)
			all := readRecorded(t, file)
			equal, listed := 0, 0
			for i, s := range all {
				got, err := r.run(t.Context(), s.statement)
				if err != nil {
					t.Fatal(err)
				}
				kind, how := compare(s.Want, got)
				d := known.find(client, kind, i+1)
				switch {
				case kind == "":
					equal++
				case d != nil:
					listed++
					if *verbose {
						t.Logf("%s:%d: %s (listed: %s): %s\n    %s", file, i+1, kind, d.reason, s.SQL, how)
					}
				default:
					t.Errorf("%s:%d: %s: %s\n    %s", file, i+1, kind, s.SQL, how)
				}
			}
			fmt.Fprintf(tw, "%s\t%d\t%d\t%d\t%d\n", client, len(all), equal, listed, len(all)-equal-listed)
			for i, n := range []int{len(all), equal, listed, len(all) - equal - listed} {
				sum[i] += n
			}
		})
	}
	fmt.Fprintf(tw, "all\t%d\t%d\t%d\t%d\n", sum[0], sum[1], sum[2], sum[3])
	if err := tw.Flush(); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", table.String())
	if len(files) > 1 && flag.Lookup("test.run").Value.String() == "" {
		known.unused(t)
	}
}
