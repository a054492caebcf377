package file

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weirdb/weir/connector"
	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// decodeLine decodes one line into columns.
func decodeLine(line []byte, schema []exec.Column) (c *vec.Chunk, isRow bool, err error) {
	var cols columns
	cols.init(schema)
	need := make([]int, len(schema))
	ts := make([]types.Type, len(schema))
	for i, col := range schema {
		need[i], ts[i] = i, col.Type
	}
	cols.need(need)
	d := newJSONDecoder()
	d.use(&cols)
	c = vec.NewChunk(ts, 0)
	cols.begin(c, 1)
	_, _, isRow, err = d.decode(line, true, 0)
	if isRow && err == nil {
		cols.finish(c, 1)
	}
	return c, isRow, err
}

// refusedText tells whether a line holds what encoding/json takes and PostgreSQL's text does not.
func refusedText(err error) bool {
	switch e := sqlerr.From(err); e.Code {
	case sqlerr.CharacterNotInRepertoire, sqlerr.UntranslatableCharacter, sqlerr.StatementTooComplex:
		return true
	default:
		return strings.Contains(e.Detail, "surrogates")
	}
}

// compareWithStandard checks one line against encoding/json: what is accepted, and what text columns get.
func compareWithStandard(t *testing.T, line []byte) {
	t.Helper()
	if bytes.IndexByte(line, '\n') >= 0 || len(bytes.Trim(line, " \t\r")) == 0 {
		return
	}
	text := types.T(types.Text)
	schema := []exec.Column{{Name: "a", Type: text}, {Name: "b", Type: text}, {Name: "", Type: text}, {Name: "ä", Type: text}}
	c, isRow, err := decodeLine(line, schema)
	var want map[string]json.RawMessage
	wantErr := json.Unmarshal(line, &want)
	if string(bytes.Trim(line, " \t\r")) == "null" {
		wantErr = fmt.Errorf("null is no object")
	}
	if err != nil && refusedText(err) {
		return
	}
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%q: error %v, encoding/json says %v", line, err, wantErr)
	}
	if err != nil {
		return
	}
	if !isRow {
		t.Fatalf("%q is no row", line)
	}
	for i, col := range schema {
		got := c.Cols[i].Datum(0)
		raw, ok := want[col.Name]
		if !ok || string(raw) == "null" {
			if got.Valid {
				t.Fatalf("%q: %q is %q, want NULL", line, col.Name, got.S)
			}
			continue
		}
		wantText := string(raw)
		if raw[0] == '"' {
			if err := json.Unmarshal(raw, &wantText); err != nil {
				t.Fatal(err)
			}
		}
		if !got.Valid || got.S != wantText {
			t.Fatalf("%q: %q is %q, want %q", line, col.Name, got.S, wantText)
		}
	}
}

// randomJSON writes a value, mostly valid.
func randomJSON(rng *rand.Rand, b *strings.Builder, depth int) {
	blank := func() {
		for rng.Intn(6) == 0 {
			b.WriteByte(" \t\r"[rng.Intn(3)])
		}
	}
	blank()
	defer blank()
	pick := func(s ...string) { b.WriteString(s[rng.Intn(len(s))]) }
	kind := rng.Intn(9)
	if depth > 3 {
		kind = rng.Intn(6)
	}
	switch kind {
	case 0, 1:
		b.WriteByte('"')
		for range rng.Intn(12) {
			pick("a", "b", " ", "}", ",", "[", `\n`, `\"`, `\\`, `\/`, `\u00e4`, `\ud83d\ude00`, "ä", "😀", `\uD7FF`, "x", "'")
		}
		b.WriteByte('"')
	case 2, 3:
		pick("0", "-0", "1", "-17", "3.25", "1e5", "1E-7", "-2.5e+10", "123456789012345678901234567890", "0.10")
	case 4:
		pick("true", "false", "null")
	case 5:
		// Mistakes.
		if rng.Intn(6) == 0 {
			pick("01", "-", "1.", ".5", "+1", "1e", "tru", "nul", `"`, `"\x"`, `"\u12g4"`, "", "[", "}", "{]", "'a'", "\x00", "NaN", "\"\t\"")
		} else {
			b.WriteString("null")
		}
	case 6, 7:
		randomObject(rng, b, depth+1)
	default:
		b.WriteByte('[')
		for i := range rng.Intn(4) {
			if i > 0 {
				b.WriteByte(',')
			}
			randomJSON(rng, b, depth+1)
		}
		blank()
		b.WriteByte(']')
	}
}

func randomObject(rng *rand.Rand, b *strings.Builder, depth int) {
	keys := []string{`"a"`, `"b"`, `""`, `"ä"`, `"\u0061"`, `"\u00e4"`, `"ab"`, `"A"`, `"c\"d"`}
	b.WriteByte('{')
	n := rng.Intn(5)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		if rng.Intn(5) == 0 {
			b.WriteByte(' ')
		}
		b.WriteString(keys[rng.Intn(len(keys))])
		if rng.Intn(5) == 0 {
			b.WriteByte(' ')
		}
		if rng.Intn(100) > 0 {
			b.WriteByte(':')
		}
		randomJSON(rng, b, depth)
	}
	if n == 0 && rng.Intn(3) == 0 {
		b.WriteByte(' ')
	}
	b.WriteByte('}')
}

func TestJSONEqualsStandardLibrary(t *testing.T) {
	accepted := 0
	const runs = 60_000
	for seed := range int64(runs) {
		rng := rand.New(rand.NewSource(seed))
		var b strings.Builder
		if rng.Intn(20) == 0 {
			randomJSON(rng, &b, 0)
		} else {
			randomObject(rng, &b, 0)
		}
		line := []byte(b.String())
		if rng.Intn(10) == 0 && len(line) > 0 { // break it somewhere
			i := rng.Intn(len(line))
			line[i] = `{}[]":,\0a `[rng.Intn(11)]
		}
		if json.Valid(line) {
			accepted++
		}
		compareWithStandard(t, line)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if accepted < runs/3 || accepted > runs*9/10 {
		t.Errorf("%d of %d lines are valid: the generator is one-sided", accepted, runs)
	}
}

func FuzzJSON(f *testing.F) {
	for _, s := range []string{
		`{"a":1,"b":"x\u00e4\n"}`, `{"a":[{"b":null}],"":1e-5}`, `{"ä":true}`, `{"a":"\ud800"}`, `null`, `[1]`, `{`, `{"a":"` + "\xff" + `"}`,
		`{"a":1,"a":null}`, strings.Repeat(`{"a":`, 50) + `1` + strings.Repeat(`}`, 50),
	} {
		f.Add([]byte(s))
	}
	typed := []exec.Column{
		{Name: "a", Type: types.T(types.Int4)}, {Name: "b", Type: types.T(types.Numeric)},
		{Name: "", Type: types.T(types.Timestamp)}, {Name: "ä", Type: types.T(types.Jsonb)},
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		compareWithStandard(t, line)
		// Whatever the types, a line is a row, a blank or an error of the user's.
		if bytes.IndexByte(line, '\n') < 0 {
			if _, _, err := decodeLine(line, typed); err != nil && sqlerr.From(err).Code == sqlerr.InternalError {
				t.Fatalf("%q: %v", line, err)
			}
		}
	})
}

// readWhole reads a file in every column and gives rows and the final error as text.
func readWhole(t testing.TB, cfg connector.Config, pieces, most int, restart func() bool) string {
	t.Helper()
	src, err := NewSource(cfg)
	if err != nil {
		t.Fatal(err)
	}
	src.(*source).readSize = pieces
	s := &script{src: src, cols: everyColumn(src)}
	r, err := src.Open(t.Context(), 0, nil, s.cols)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	c := schemaChunk(src)
	for {
		c.Reset()
		if restart != nil && restart() {
			off := r.Offset()
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			if r, err = src.Open(t.Context(), 0, off, s.cols); err != nil {
				t.Fatal(err)
			}
		}
		_, err := r.Next(c, most)
		b.WriteString(c.String())
		if err != nil {
			e := sqlerr.From(err)
			fmt.Fprintf(&b, "%s %s rows=%d\n", e.Code, e.Message, r.OffsetRows())
			break
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestAnyPiecesAreTheSame: how much is read at once, how many rows are asked for and restarts in
// between change nothing, for JSON and CSV, good and bad.
func TestAnyPiecesAreTheSame(t *testing.T) {
	dir := t.TempDir()
	for seed := range int64(150) {
		rng := rand.New(rand.NewSource(seed))
		var b strings.Builder
		cfg := connector.Config{
			Dir: dir, Options: []connector.Option{{Name: "path", Value: "f", IsSet: true}},
			Columns: parseColumns(t, "a text, b text, i int4"),
		}
		if rng.Intn(2) == 0 {
			cfg.Encode = "json"
			for range rng.Intn(60) {
				randomObject(rng, &b, 2)
				if rng.Intn(20) > 0 {
					b.WriteByte('\n')
				}
			}
		} else {
			cfg.Encode = "csv"
			for i := range rng.Intn(60) {
				for f := range 3 {
					if f > 0 {
						b.WriteByte(',')
					}
					if f == 2 {
						b.WriteString(strconv.Itoa(i))
						continue
					}
					b.WriteString([]string{"", "x", `"q,"`, `"a""b"`, "\"l\nm\"", "ä", strings.Repeat("long", rng.Intn(300))}[rng.Intn(7)])
				}
				b.WriteString([]string{"\n", "\n", "\r\n"}[rng.Intn(3)])
				if rng.Intn(200) == 0 {
					b.WriteString("1,\"open")
				}
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "f"), []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		want := readWhole(t, cfg, readSize, 1000, nil)
		got := readWhole(t, cfg, 1+rng.Intn(40), 1+rng.Intn(10), func() bool { return rng.Intn(5) == 0 })
		if got != want {
			t.Fatalf("seed %d, %s of\n%s\ngot\n%s\nwant\n%s", seed, cfg.Encode, b.String(), got, want)
		}
	}
}

// TestCSVRoundTrip: what is quoted by the rules comes back.
func TestCSVRoundTrip(t *testing.T) {
	dir := t.TempDir()
	for seed := range int64(100) {
		rng := rand.New(rand.NewSource(seed))
		cfg := connector.Config{
			Dir: dir, Options: []connector.Option{{Name: "path", Value: "f", IsSet: true}}, Encode: "csv",
			EncodeOptions: []connector.Option{{Name: "null", Value: "nil", IsSet: true}},
			Columns:       parseColumns(t, "a text, b text"),
		}
		want := vec.NewChunk([]types.Type{types.T(types.Text), types.T(types.Text)}, 0)
		var b strings.Builder
		for range rng.Intn(20) {
			row := make([]types.Datum, 2)
			for i := range row {
				if i > 0 {
					b.WriteByte(',')
				}
				if rng.Intn(5) == 0 {
					b.WriteString("nil")
					continue
				}
				var s string
				for range rng.Intn(6) {
					s += []string{"a", "ü", ",", "\"", "\n", "\r", "nil", " "}[rng.Intn(8)]
				}
				row[i] = types.DStr(s)
				b.WriteString(`"` + strings.ReplaceAll(s, `"`, `""`) + `"`)
			}
			want.AppendRow(row, 1)
			b.WriteByte('\n')
		}
		if err := os.WriteFile(filepath.Join(dir, "f"), []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		got := readWhole(t, cfg, 16, 3, nil)
		if w := want.String() + fmt.Sprintf("XX000 EOF rows=%d\n", want.Len()); got != w {
			t.Fatalf("seed %d: got\n%s\nwant\n%s", seed, got, w)
		}
	}
}

func FuzzCSV(f *testing.F) {
	for _, s := range []string{"a,b\n", "\"x\ny\",\r\n", "1,\"", ",\r", "\"a\"b\"c\",d\n\n", "\xff,\x00\n"} {
		f.Add([]byte(s), uint8(3))
	}
	schema := []exec.Column{{Name: "a", Type: types.T(types.Text)}, {Name: "b", Type: types.T(types.Text)}}
	f.Fuzz(func(t *testing.T, data []byte, cut uint8) {
		// The rows of all of data, and of a prefix and then the whole: the first is a part of the second.
		whole := csvRows(data, true, schema)
		part := csvRows(data[:min(int(cut), len(data))], false, schema)
		for i, row := range part {
			if i >= len(whole) || whole[i] != row {
				t.Fatalf("%q: row %d of a part is %s, of the whole %v", data, i, row, whole)
			}
		}
		for _, row := range whole {
			if !utf8.ValidString(row) {
				t.Fatalf("%q: row %q", data, row)
			}
		}
	})
}

// csvRows gives the rows of data up to the first error, which is the last of them unless it is
// errIncomplete.
func csvRows(data []byte, final bool, schema []exec.Column) []string {
	var cols columns
	cols.init(schema)
	cols.need([]int{0, 1})
	o, err := parseCSVOptions(nil)
	if err != nil {
		panic(err) // the defaults are valid
	}
	d := newCSVDecoder(o, schema, true)
	d.use(&cols)
	c := vec.NewChunk([]types.Type{schema[0].Type, schema[1].Type}, 0)
	var rows []string
	for pos := 0; pos < len(data); {
		cols.begin(c, 1)
		n, _, _, err := d.decode(data[pos:], final, 0)
		if err == errIncomplete {
			break
		}
		if err != nil {
			return append(rows, sqlerr.From(err).Message)
		}
		cols.finish(c, 1)
		rows = append(rows, vec.FormatRow(c, 0))
		pos += n
	}
	return rows
}

func benchmarkRead(b *testing.B, name string, content []byte, cfg connector.Config, cols []int) {
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), content, 0o600); err != nil {
		b.Fatal(err)
	}
	cfg.Dir, cfg.Options = dir, []connector.Option{{Name: "path", Value: "f", IsSet: true}}
	b.Run(name, func(b *testing.B) {
		src, err := NewSource(cfg)
		if err != nil {
			b.Fatal(err)
		}
		c := schemaChunk(src)
		b.SetBytes(int64(len(content)))
		b.ReportAllocs()
		for b.Loop() {
			r, err := src.Open(b.Context(), 0, nil, cols)
			if err != nil {
				b.Fatal(err)
			}
			for {
				c.Reset()
				if _, err := r.Next(c, vec.ChunkSize); err != nil {
					break
				}
			}
			if err := r.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkRead(b *testing.B) {
	rng := rand.New(rand.NewSource(1))
	var js, cs bytes.Buffer
	air := []string{"DTW", "LAS", "HNL", "SFO", "OAK", "JFK"}
	for i := range 50_000 {
		date := fmt.Sprintf("2001/01/%02d %02d:%02d", 1+rng.Intn(31), rng.Intn(24), rng.Intn(60))
		delay, dist, from, to := rng.Intn(200)-30, rng.Intn(3000), air[rng.Intn(6)], air[rng.Intn(6)]
		fmt.Fprintf(&js, `{"id":%d,"date":"%s","delay":%d,"distance":%d,"origin":"%s","destination":"%s"}`+"\n", i, date, delay, dist, from, to)
		fmt.Fprintf(&cs, "%d,%s,%d,%d,%s,%s\n", i, date, delay, dist, from, to)
	}
	cols := parseColumns(b, "id int4, date text, delay int4, distance int4, origin text, destination text")
	benchmarkRead(b, "json/all", js.Bytes(), connector.Config{Encode: "json", Columns: cols}, []int{0, 1, 2, 3, 4, 5})
	benchmarkRead(b, "json/two", js.Bytes(), connector.Config{Encode: "json", Columns: cols}, []int{2, 4})
	benchmarkRead(b, "csv/all", cs.Bytes(), connector.Config{Encode: "csv", Columns: cols}, []int{0, 1, 2, 3, 4, 5})
	benchmarkRead(b, "csv/two", cs.Bytes(), connector.Config{Encode: "csv", Columns: cols}, []int{2, 4})
}
