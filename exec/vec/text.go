package vec

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weirdb/weir/sql/types"
)

// Text form of chunks, for tests: a line a row, first the diff ("+", "-", or with a number "+3", "-2"),
// then the values separated by blanks. NULL is a null; a value that is empty, contains a blank or a
// quote, or would read as NULL is written as a Go string literal.
//
//	+ 1 a NULL
//	- 2 "two words" ""

// FormatRow gives the text form of row i without its diff.
func FormatRow(c *Chunk, i int) string {
	var b strings.Builder
	for k, v := range c.Cols {
		if k > 0 {
			b.WriteByte(' ')
		}
		if v.Len() <= i {
			b.WriteByte('?') // a column that a source was not asked for
			continue
		}
		b.WriteString(FormatDatum(v.Type, v.Datum(i)))
	}
	return b.String()
}

// FormatDatum gives the text form of one value.
func FormatDatum(t types.Type, d types.Datum) string {
	if !d.Valid {
		return "NULL"
	}
	s := formatValue(t, d)
	if s == "" || s == "NULL" || strings.ContainsAny(s, " \t\n\r\"\\") {
		return strconv.Quote(s)
	}
	return s
}

// FormatDiff gives "+", "-", "+3" and so on.
func FormatDiff(d int64) string {
	switch {
	case d == 1:
		return "+"
	case d == -1:
		return "-"
	default:
		return fmt.Sprintf("%+d", d)
	}
}

// String gives the text form of all rows.
func (c *Chunk) String() string {
	var b strings.Builder
	for i := range c.n {
		b.WriteString(FormatDiff(c.Diff(i)))
		b.WriteByte(' ')
		b.WriteString(FormatRow(c, i))
		b.WriteByte('\n')
	}
	return b.String()
}

// ParseChunk reads the text form of a chunk with columns of the given types. Empty lines and lines
// that start with # are ignored.
func ParseChunk(ts []types.Type, text string) (*Chunk, error) {
	c := NewChunk(ts, 0)
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if err := parseLine(c, ts, line); err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	return c, nil
}

func parseLine(c *Chunk, ts []types.Type, line string) error {
	head, rest, _ := strings.Cut(line, " ")
	var diff int64
	switch head {
	case "+":
		diff = 1
	case "-":
		diff = -1
	default:
		d, err := strconv.ParseInt(head, 10, 64)
		if err != nil || d == 0 || head[0] != '+' && head[0] != '-' {
			return fmt.Errorf("bad diff %q", head)
		}
		diff = d
	}
	row := make([]types.Datum, 0, len(ts))
	for {
		rest = strings.TrimLeft(rest, " \t")
		if rest == "" {
			break
		}
		if len(row) == len(ts) {
			return fmt.Errorf("more than %d values", len(ts))
		}
		word, quoted := rest, false
		if rest[0] == '"' {
			q, err := strconv.QuotedPrefix(rest)
			if err != nil {
				return fmt.Errorf("bad string at %s", rest)
			}
			rest = rest[len(q):]
			if word, err = strconv.Unquote(q); err != nil {
				return err
			}
			quoted = true
		} else {
			word, rest, _ = strings.Cut(rest, " ")
		}
		if word == "NULL" && !quoted {
			row = append(row, types.Null)
			continue
		}
		d, err := parseValue(ts[len(row)], word)
		if err != nil {
			return err
		}
		row = append(row, d)
	}
	if len(row) != len(ts) {
		return fmt.Errorf("%d values for %d columns", len(row), len(ts))
	}
	c.AppendRow(row, diff)
	return nil
}

// ParseTypes reads type names separated by blanks: the names of types.Kind in lower case, with [] for
// arrays.
func ParseTypes(s string) ([]types.Type, error) {
	var ts []types.Type
	for _, w := range strings.Fields(s) {
		elem, array := strings.CutSuffix(w, "[]")
		k, ok := kindNames[elem]
		if !ok {
			return nil, fmt.Errorf("unknown type %q", w)
		}
		if array {
			ts = append(ts, types.ArrayOf(k))
		} else {
			ts = append(ts, types.T(k))
		}
	}
	return ts, nil
}

var kindNames = map[string]types.Kind{
	"bool": types.Bool, "int2": types.Int2, "int4": types.Int4, "int8": types.Int8,
	"float4": types.Float4, "float8": types.Float8, "numeric": types.Numeric, "text": types.Text,
	"varchar": types.Varchar, "bpchar": types.Char, "bytea": types.Bytea, "date": types.Date,
	"time": types.Time, "timestamp": types.Timestamp, "timestamptz": types.Timestamptz,
	"interval": types.Interval, "uuid": types.UUID, "jsonb": types.Jsonb, "json": types.Json, "oid": types.Oid,
	"name": types.Name,
}
