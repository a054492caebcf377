package sql

import (
	"context"
	"fmt"
	"math/big"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/exec/flow"
	"github.com/weirdb/weir/exec/vec"
)

// watcher looks at what operators emit, until the first restart: no row may be there less than zero times at the end of an
// epoch. It is for graphs with one actor in each fragment: with several, a row may come from one and be taken back by another.
type watcher struct {
	fail    func(format string, args ...any)
	stopped atomic.Bool
	// told: one report is enough.
	told sync.Once
}

// stop ends it.
func (w *watcher) stop() {
	if w != nil {
		w.stopped.Store(true)
	}
}

func (w *watcher) watch(job string, _ flow.ActorID, operator string) flow.Watcher {
	if w.stopped.Load() {
		return nil
	}
	return &watched{w: w, name: job + ": " + operator, count: map[string]int64{}, text: map[string]string{}, below: map[string]bool{}}
}

// watched counts the rows that one operator has emitted.
type watched struct {
	w     *watcher
	name  string
	keys  []vec.SortKey
	buf   []byte
	count map[string]int64
	// below are the rows that are there less than zero times, text what they look like.
	below map[string]bool
	text  map[string]string
}

func (w *watched) Chunk(c *vec.Chunk) {
	for i := len(w.keys); i < len(c.Cols); i++ {
		w.keys = append(w.keys, vec.SortKey{Col: i})
	}
	for i := range c.Len() {
		w.buf = vec.EncodeKey(w.buf[:0], c.Cols, i, w.keys)
		n := w.count[string(w.buf)] + c.Diff(i)
		switch {
		case n == 0:
			delete(w.count, string(w.buf))
			delete(w.below, string(w.buf))
			continue
		case n < 0:
			w.below[string(w.buf)] = true
			w.text[string(w.buf)] = vec.FormatRow(c, i)
		default:
			delete(w.below, string(w.buf))
		}
		w.count[string(w.buf)] = n
	}
}

func (w *watched) Barrier(b exec.Barrier) {
	if w.w.stopped.Load() {
		return
	}
	for k := range w.below {
		w.w.told.Do(func() { w.w.fail("epoch %d: %s: the row %s is there %d times", b.Epoch, w.name, w.text[k], w.count[k]) })
	}
}

// rows reads a query, each row normalised to one string, sorted.
func rows(c *pgx.Conn, q string) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
	defer cancel()
	res, err := c.PgConn().Exec(ctx, q).ReadAll()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, row := range res[0].Rows {
		vals := make([]string, len(row))
		for i, v := range row {
			vals[i] = normal(res[0].FieldDescriptions[i].DataTypeOID, v)
		}
		out = append(out, strings.Join(vals, "|"))
	}
	sort.Strings(out)
	return out, nil
}

// intervalOID is the type interval.
const intervalOID = 1186

var (
	negativeZero = regexp.MustCompile(`-0\b`)
	intervalPart = regexp.MustCompile(`(-?\d+) (year|mon|day)s?`)
	intervalTime = regexp.MustCompile(`([-+]?)(\d+):(\d+):(\d+(?:\.\d+)?)`)
	// zeros are those behind the point of a number in an array or in jsonb.
	zeros = regexp.MustCompile(`(\d\.\d*?)0+\b`)
)

// normal gives equal values one text: which of several equal values stands for a group is nobody's
// business.
func normal(oid uint32, v []byte) string {
	if v == nil {
		return "NULL"
	}
	s := string(v)
	switch typeName(oid) {
	case "numeric":
		if r, ok := new(big.Rat).SetString(s); ok {
			return r.RatString()
		}
	case "float8", "float4":
		if s == "-0" {
			return "0"
		}
	case "interval":
		total := 0.0
		for _, m := range intervalPart.FindAllStringSubmatch(s, -1) {
			n, _ := strconv.ParseFloat(m[1], 64)
			total += n * map[string]float64{"year": 360 * 86400, "mon": 30 * 86400, "day": 86400}[m[2]]
		}
		if m := intervalTime.FindStringSubmatch(s); m != nil {
			h, _ := strconv.ParseFloat(m[2], 64)
			mi, _ := strconv.ParseFloat(m[3], 64)
			sec, _ := strconv.ParseFloat(m[4], 64)
			d := h*3600 + mi*60 + sec
			if m[1] == "-" {
				d = -d
			}
			total += d
		}
		return fmt.Sprint(total)
	case "jsonb", "_numeric", "_jsonb", "_float8", "_float4":
		s = zeros.ReplaceAllStringFunc(s, func(n string) string { return strings.TrimSuffix(strings.TrimRight(n, "0"), ".") })
		return negativeZero.ReplaceAllString(s, "0")
	case "_interval":
		parts := strings.Split(strings.Trim(s, "{}"), ",")
		for i, p := range parts {
			parts[i] = normal(intervalOID, []byte(strings.Trim(p, `"`)))
		}
		return strings.Join(parts, ",")
	}
	if s == "" {
		return "''"
	}
	return s
}

// difference lists rows of which two sorted lists do not have the same number.
func difference(a, b []string) string {
	var out strings.Builder
	n := 0
	put := func(sign, s string) {
		if n++; n <= 12 {
			out.WriteString(sign + " " + s + "\n")
		}
	}
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0] < b[0]:
			put("-", a[0])
			a = a[1:]
		case len(a) == 0 || b[0] < a[0]:
			put("+", b[0])
			b = b[1:]
		default:
			a, b = a[1:], b[1:]
		}
	}
	return out.String()
}
