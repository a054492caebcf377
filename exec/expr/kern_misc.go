package expr

import (
	"context"
	"crypto/rand"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// Version is what version() reports: the release of PostgreSQL whose dialect Weir speaks comes
// first, because drivers read it.
const Version = "PostgreSQL 15.0 (Weir)"

// textOf is the text form of argument i.
func (x *genCall) textOf(i int, d types.Datum) string {
	return types.Format(x.types[i], d, x.st.tenv())
}

// castText is argument i cast to text, which for booleans is not their text form.
func (x *genCall) castText(i int, d types.Datum) string {
	if x.types[i].Kind == types.Bool {
		return strconv.FormatBool(d.Bool())
	}
	return x.textOf(i, d)
}

// concatArgs joins the arguments that are not NULL.
func concatArgs(x *genCall, a []types.Datum, from int, sep string) types.Datum {
	var b strings.Builder
	first := true
	for i, d := range a {
		if i < from || !d.Valid {
			continue
		}
		if !first {
			b.WriteString(sep)
		}
		first = false
		b.WriteString(x.textOf(i, d))
	}
	return types.DStr(b.String())
}

// quoteLiteral makes a string literal.
func quoteLiteral(s string) string {
	q := strings.ReplaceAll(s, "'", "''")
	if strings.Contains(q, `\`) {
		return `E'` + strings.ReplaceAll(q, `\`, `\\`) + "'"
	}
	return "'" + q + "'"
}

// reservedWords are the key words of Postgres that an identifier must be quoted to be: all but the
// unreserved ones.
var reservedWords = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`
all analyse analyze and any array as asc asymmetric authorization between bigint binary bit boolean
both case cast char character check coalesce collate collation column concurrently constraint create
cross current_catalog current_date current_role current_schema current_time current_timestamp
current_user dec decimal default deferrable desc distinct do else end except exists extract false
fetch float for foreign freeze from full grant greatest group grouping having ilike in initially inner
inout int integer intersect interval into is isnull join lateral leading least left like limit
localtime localtimestamp national natural nchar none normalize not notnull null nullif numeric offset
on only or order out outer overlaps overlay placing position precision primary real references
returning right row select session_user setof similar smallint some substring symmetric table
tablesample then time timestamp to trailing treat trim true union unique user using values varchar
variadic verbose when where window with xmlattributes xmlconcat xmlelement xmlexists xmlforest
xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable`) {
		m[w] = true
	}
	return m
}()

// quoteIdent quotes an identifier if it needs to be.
func quoteIdent(s string) string {
	safe := s != "" && !isDigitByte(s[0])
	for i := range len(s) {
		c := s[i]
		safe = safe && (isLower(c) || isDigitByte(c) || c == '_')
	}
	if safe && !reservedWords[s] {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

func addMiscKernels(t table) {
	t.variadic("concat", "", func(x *genCall, a []types.Datum) (types.Datum, error) {
		return concatArgs(x, a, 0, ""), nil
	})
	t.variadic("concat_ws", "text,", func(x *genCall, a []types.Datum) (types.Datum, error) {
		if !a[0].Valid {
			return types.Null, nil
		}
		return concatArgs(x, a, 1, a[0].S), nil
	})
	t.add("format(text)", datums(format))
	t.variadic("format", "text,", format)
	t.add("quote_ident(text)", unary(quoteIdent))
	t.add("quote_literal(text)", unary(quoteLiteral))
	t.add("quote_literal(anyelement)", datums(func(x *genCall, a []types.Datum) (types.Datum, error) {
		return types.DStr(quoteLiteral(x.textOf(0, a[0]))), nil
	}))
	nullable := datums(func(x *genCall, a []types.Datum) (types.Datum, error) {
		if !a[0].Valid {
			return types.DStr("NULL"), nil
		}
		return types.DStr(quoteLiteral(x.textOf(0, a[0]))), nil
	})
	t.add("quote_nullable(text)", nullable)
	t.add("quote_nullable(anyelement)", nullable)
	count := func(valid bool) func(*genCall, []types.Datum) (types.Datum, error) {
		return func(_ *genCall, a []types.Datum) (types.Datum, error) {
			n := int64(0)
			for _, d := range a {
				if d.Valid == valid {
					n++
				}
			}
			return types.DInt(n), nil
		}
	}
	t.variadic("num_nulls", "", count(false))
	t.variadic("num_nonnulls", "", count(true))
	name := func(f func(st *state) string) factory {
		return nullary(func(st *state) (string, error) { return f(st), nil })
	}
	user := name(func(st *state) string {
		if st.env == nil {
			return ""
		}
		return st.env.User
	})
	for _, n := range []string{"current_user", "current_role", "user"} {
		t.add(n+"()", user)
	}
	t.add("session_user()", name(func(st *state) string {
		switch {
		case st.env == nil:
			return ""
		case st.env.SessionUser != "":
			return st.env.SessionUser
		}
		return st.env.User
	}))
	db := name(func(st *state) string {
		if st.env == nil {
			return ""
		}
		return st.env.Database
	})
	t.add("current_database()", db)
	t.add("current_catalog()", db)
	t.add("current_schema()", datums(func(x *genCall, _ []types.Datum) (types.Datum, error) {
		if x.st.env == nil || len(x.st.env.SearchPath) == 0 {
			return types.Null, nil
		}
		return types.DStr(x.st.env.SearchPath[0]), nil
	}))
	t.add("current_schemas(bool)", datums(func(x *genCall, a []types.Datum) (types.Datum, error) {
		var names []types.Datum
		if a[0].Bool() {
			if x.st.env != nil && x.st.env.TempSchema != "" {
				names = append(names, types.DStr(x.st.env.TempSchema))
			}
			names = append(names, types.DStr("pg_catalog"))
		}
		if x.st.env != nil {
			for _, s := range x.st.env.SearchPath {
				names = append(names, types.DStr(s))
			}
		}
		return types.DStr(types.MakeArray(types.Name, names)), nil
	}))
	t.add("version()", name(func(*state) string { return Version }))
	t.add("pg_typeof(any)", datums(func(x *genCall, _ []types.Datum) (types.Datum, error) {
		return types.DInt(int64(x.types[0].OID())), nil
	}))
	t.add("gen_random_uuid()", nullary(func(*state) (string, error) {
		var b [16]byte
		if _, err := rand.Read(b[:]); err != nil {
			return "", err
		}
		b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
		return string(b[:]), nil
	}))
	t.add("pg_size_pretty(int8)", unary(func(n int64) string { return sizePretty(types.NewDecimal(n, 0)) }))
	t.add("pg_size_pretty(numeric)", unary(sizePretty))
	t.add("pg_size_bytes(text)", unaryErr(sizeBytes))
	t.add("pg_sleep(float8)", unaryEnv(func(st *state, sec float64) (string, error) { return "", sleep(st, sec) }))
	t.add("pg_sleep_for(interval)", unaryEnv(func(st *state, v types.Span) (string, error) {
		return "", sleep(st, float64(v.Months)*30*86400+float64(v.Days)*86400+float64(v.Micros)/1e6)
	}))
	t.add("pg_sleep_until(timestamptz)", unaryEnv(func(st *state, at int64) (string, error) {
		if types.IsInfinite(at) {
			return "", sleep(st, math.Inf(map[bool]int{true: 1, false: -1}[at > 0]))
		}
		return "", sleep(st, float64(at-types.FromGoTime(time.Now()))/1e6)
	}))
	t.add("pg_trigger_depth()", nullary(func(*state) (int64, error) { return 0, nil }))
	t.add("pg_jit_available()", nullary(func(*state) (bool, error) { return false, nil }))
	t.add("pg_notification_queue_usage()", nullary(func(*state) (float64, error) { return 0, nil }))
}

// sleep waits for some seconds, or until the statement is cancelled.
func sleep(st *state, sec float64) error {
	if !(sec > 0) {
		return nil
	}
	timer := time.NewTimer(time.Duration(min(sec*1e9, math.MaxInt64/2)))
	defer timer.Stop()
	var done <-chan struct{}
	if st.env != nil && st.env.Ctx != nil {
		done = st.env.Ctx.Done()
	}
	select {
	case <-timer.C:
		return nil
	case <-done:
		return context.Cause(st.env.Ctx)
	}
}

// sizeBytes reads what pg_size_pretty prints.
func sizeBytes(s string) (int64, error) {
	bad := func() (int64, error) {
		return 0, sqlerr.Newf(sqlerr.InvalidParameterValue, "invalid size: \"%s\"", s)
	}
	text := strings.TrimSpace(s)
	end := 0
	for end < len(text) && (isDigitByte(text[end]) || strings.IndexByte("+-.", text[end]) >= 0) {
		end++
	}
	if e := end; e > 0 && e < len(text) && text[e]|0x20 == 'e' {
		e++
		if e < len(text) && (text[e] == '+' || text[e] == '-') {
			e++
		}
		if e < len(text) && isDigitByte(text[e]) {
			for e < len(text) && isDigitByte(text[e]) {
				e++
			}
			end = e
		}
	}
	n, err := types.ParseDecimal(text[:end])
	if err != nil {
		return bad()
	}
	if unit := strings.ToLower(strings.TrimSpace(text[end:])); unit != "" {
		shift := map[string]int{"bytes": 0, "b": 0, "kb": 10, "mb": 20, "gb": 30, "tb": 40, "pb": 50}
		k, ok := shift[unit]
		if !ok {
			_, err := bad()
			return 0, err.(*sqlerr.Error).WithDetail("Invalid size unit: \"%s\".", strings.TrimSpace(text[end:])).
				WithHint("Valid units are \"bytes\", \"B\", \"kB\", \"MB\", \"GB\", \"TB\", and \"PB\".")
		}
		if n, err = n.Mul(types.NewDecimal(1<<k, 0)); err != nil {
			return 0, err
		}
	}
	return n.Int64(types.Int8)
}
