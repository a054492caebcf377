package types

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// dtOp is one operation of testdata/datetime: the kinds of its arguments, the SQL for it and how
// Weir computes it. In sql, $1 ... are the arguments as typed literals.
type dtOp struct {
	args []Kind
	out  Kind
	sql  string
	eval func(a []Datum, env *Env) (Datum, error)
}

func ts2(f func(a, b int64) (Span, error)) func([]Datum, *Env) (Datum, error) {
	return func(a []Datum, _ *Env) (Datum, error) {
		v, err := f(a[0].I, a[1].I)
		return DSpan(v), err
	}
}

func span2(f func(a, b Span) (Span, error)) func([]Datum, *Env) (Datum, error) {
	return func(a []Datum, _ *Env) (Datum, error) {
		v, err := f(a[0].Span, a[1].Span)
		return DSpan(v), err
	}
}

func span1(f func(a Span) (Span, error)) func([]Datum, *Env) (Datum, error) {
	return func(a []Datum, _ *Env) (Datum, error) {
		v, err := f(a[0].Span)
		return DSpan(v), err
	}
}

func extractOp(k Kind) dtOp {
	return dtOp{[]Kind{Text, k}, Numeric, "extract($1 from $2)", func(a []Datum, env *Env) (Datum, error) {
		f, err := LookupField(a[0].S, k)
		if err != nil {
			return Null, err
		}
		v, ok, err := f.Extract(k, a[1], env.zone())
		if !ok {
			return Null, err
		}
		return DDec(v), err
	}}
}

var dtOps = map[string]dtOp{
	"ts_add": {[]Kind{Timestamp, Interval}, Timestamp, "$1 + $2", func(a []Datum, _ *Env) (Datum, error) {
		return intDatum(AddInterval(a[0].I, a[1].Span))
	}},
	"tz_add": {[]Kind{Timestamptz, Interval}, Timestamptz, "$1 + $2", func(a []Datum, env *Env) (Datum, error) {
		return intDatum(AddIntervalTZ(a[0].I, a[1].Span, env.zone()))
	}},
	"ts_sub": {[]Kind{Timestamp, Timestamp}, Interval, "$1 - $2", ts2(SubTimestamps)},
	"date_add": {[]Kind{Date, Int4}, Date, "$1 + $2", func(a []Datum, _ *Env) (Datum, error) {
		return intDatum(AddDays(a[0].I, a[1].I))
	}},
	"date_sub": {[]Kind{Date, Date}, Int4, "$1 - $2", func(a []Datum, _ *Env) (Datum, error) {
		return intDatum(SubDates(a[0].I, a[1].I))
	}},
	"time_add": {[]Kind{Time, Interval}, Time, "$1 + $2", func(a []Datum, _ *Env) (Datum, error) {
		return DInt(AddTime(a[0].I, a[1].Span)), nil
	}},
	"date_ts": {[]Kind{Date}, Timestamp, "$1::timestamp", func(a []Datum, _ *Env) (Datum, error) {
		return intDatum(DateToTimestamp(a[0].I))
	}},
	"date_tz": {[]Kind{Date}, Timestamptz, "$1::timestamptz", func(a []Datum, env *Env) (Datum, error) {
		return intDatum(DateToTimestamptz(a[0].I, env.zone()))
	}},
	"ts_date": {[]Kind{Timestamp}, Date, "$1::date", func(a []Datum, _ *Env) (Datum, error) {
		return DInt(TimestampToDate(a[0].I)), nil
	}},
	"ts_time": {[]Kind{Timestamp}, Time, "$1::time", func(a []Datum, _ *Env) (Datum, error) {
		return DInt(TimestampToTime(a[0].I)), nil
	}},
	"iv_time": {[]Kind{Interval}, Time, "$1::time", func(a []Datum, _ *Env) (Datum, error) {
		return DInt(IntervalToTime(a[0].Span)), nil
	}},
	"at_zone": {[]Kind{Text, Timestamp}, Timestamptz, "$2 at time zone $1", func(a []Datum, _ *Env) (Datum, error) {
		loc, err := ZoneByName(a[0].S)
		if err != nil {
			return Null, err
		}
		return intDatum(AtZone(a[1].I, loc))
	}},
	"in_zone": {[]Kind{Text, Timestamptz}, Timestamp, "$2 at time zone $1", func(a []Datum, _ *Env) (Datum, error) {
		loc, err := ZoneByName(a[0].S)
		if err != nil {
			return Null, err
		}
		return intDatum(InZone(a[1].I, loc))
	}},
	"iv_zone": {[]Kind{Interval, Timestamptz}, Timestamp, "$2 at time zone $1", func(a []Datum, _ *Env) (Datum, error) {
		loc, err := ZoneFromInterval(a[0].Span)
		if err != nil {
			return Null, err
		}
		return intDatum(InZone(a[1].I, loc))
	}},
	"iv_add": {[]Kind{Interval, Interval}, Interval, "$1 + $2", span2(Span.Add)},
	"iv_sub": {[]Kind{Interval, Interval}, Interval, "$1 - $2", span2(Span.Sub)},
	"iv_neg": {[]Kind{Interval}, Interval, "-$1", span1(Span.Neg)},
	"iv_mul": {[]Kind{Interval, Float8}, Interval, "$1 * $2", func(a []Datum, _ *Env) (Datum, error) {
		v, err := a[0].Span.Mul(a[1].F)
		return DSpan(v), err
	}},
	"iv_div": {[]Kind{Interval, Float8}, Interval, "$1 / $2", func(a []Datum, _ *Env) (Datum, error) {
		v, err := a[0].Span.Div(a[1].F)
		return DSpan(v), err
	}},
	"iv_cmp": {[]Kind{Interval, Interval}, Int4, "interval_cmp($1, $2)", func(a []Datum, _ *Env) (Datum, error) {
		return DInt(int64(a[0].Span.Cmp(a[1].Span))), nil
	}},
	"justify_hours":    {[]Kind{Interval}, Interval, "justify_hours($1)", span1(Span.JustifyHours)},
	"justify_days":     {[]Kind{Interval}, Interval, "justify_days($1)", span1(Span.JustifyDays)},
	"justify_interval": {[]Kind{Interval}, Interval, "justify_interval($1)", span1(Span.Justify)},
	"age":              {[]Kind{Timestamp, Timestamp}, Interval, "age($1, $2)", ts2(Age)},
	"age_tz": {[]Kind{Timestamptz, Timestamptz}, Interval, "age($1, $2)", func(a []Datum, env *Env) (Datum, error) {
		v, err := AgeTZ(a[0].I, a[1].I, env.zone())
		return DSpan(v), err
	}},
	"date_bin": {[]Kind{Interval, Timestamp, Timestamp}, Timestamp, "date_bin($1, $2, $3)", func(a []Datum, _ *Env) (Datum, error) {
		return intDatum(DateBin(a[0].Span, a[1].I, a[2].I))
	}},
	"extract_date": extractOp(Date), "extract_time": extractOp(Time), "extract_ts": extractOp(Timestamp),
	"extract_tz": extractOp(Timestamptz), "extract_iv": extractOp(Interval),
	"part_ts": {[]Kind{Text, Timestamp}, Float8, "date_part($1, $2)", func(a []Datum, env *Env) (Datum, error) {
		f, err := LookupField(a[0].S, Timestamp)
		if err != nil {
			return Null, err
		}
		v, ok, err := f.Part(Timestamp, a[1], nil)
		if !ok {
			return Null, err
		}
		return DFloat(v), err
	}},
	"trunc_ts": {[]Kind{Text, Timestamp}, Timestamp, "date_trunc($1, $2)", func(a []Datum, _ *Env) (Datum, error) {
		f, err := LookupField(a[0].S, Timestamp)
		if err != nil {
			return Null, err
		}
		return intDatum(f.Trunc(a[1].I))
	}},
	"trunc_tz": {[]Kind{Text, Timestamptz}, Timestamptz, "date_trunc($1, $2)", func(a []Datum, env *Env) (Datum, error) {
		f, err := LookupField(a[0].S, Timestamptz)
		if err != nil {
			return Null, err
		}
		return intDatum(f.TruncTZ(a[1].I, env.zone()))
	}},
	"trunc_iv": {[]Kind{Text, Interval}, Interval, "date_trunc($1, $2)", func(a []Datum, _ *Env) (Datum, error) {
		f, err := LookupField(a[0].S, Interval)
		if err != nil {
			return Null, err
		}
		v, err := f.TruncInterval(a[1].Span)
		return DSpan(v), err
	}},
	"char_ts": {[]Kind{Text, Timestamp}, Text, "to_char($2, $1)", func(a []Datum, _ *Env) (Datum, error) {
		f := CompileDateFormat(a[0].S)
		if f.Empty() || IsInfinite(a[1].I) {
			return Null, nil
		}
		b, err := f.AppendTimestamp(nil, a[1].I)
		return DStr(string(b)), err
	}},
	"char_tz": {[]Kind{Text, Timestamptz}, Text, "to_char($2, $1)", func(a []Datum, env *Env) (Datum, error) {
		b, err := CompileDateFormat(a[0].S).AppendTimestamptz(nil, a[1].I, env.zone())
		return DStr(string(b)), err
	}},
	"char_iv": {[]Kind{Text, Interval}, Text, "to_char($2, $1)", func(a []Datum, _ *Env) (Datum, error) {
		b, err := CompileDateFormat(a[0].S).AppendInterval(nil, a[1].Span)
		return DStr(string(b)), err
	}},
	"to_date": {[]Kind{Text, Text}, Date, "to_date($2, $1)", func(a []Datum, _ *Env) (Datum, error) {
		return intDatum(CompileDateFormat(a[0].S).ParseDate(a[1].S))
	}},
	"to_timestamp": {[]Kind{Text, Text}, Timestamptz, "to_timestamp($2, $1)", func(a []Datum, env *Env) (Datum, error) {
		return intDatum(CompileDateFormat(a[0].S).ParseTimestamptz(a[1].S, env.zone()))
	}},
	"char_num": {[]Kind{Text, Numeric}, Text, "'[' || to_char($2, $1) || ']'", func(a []Datum, _ *Env) (Datum, error) {
		f, err := CompileNumberFormat(a[0].S)
		if err != nil {
			return Null, err
		}
		b, err := f.AppendDecimal([]byte("["), a[1].Dec)
		return DStr(string(b) + "]"), err
	}},
	"char_float": {[]Kind{Text, Float8}, Text, "'[' || to_char($2, $1) || ']'", func(a []Datum, _ *Env) (Datum, error) {
		f, err := CompileNumberFormat(a[0].S)
		if err != nil {
			return Null, err
		}
		b, err := f.AppendFloat([]byte("["), a[1].F, 64)
		return DStr(string(b) + "]"), err
	}},
	"char_float4": {[]Kind{Text, Float4}, Text, "'[' || to_char($2, $1) || ']'", func(a []Datum, _ *Env) (Datum, error) {
		f, err := CompileNumberFormat(a[0].S)
		if err != nil {
			return Null, err
		}
		b, err := f.AppendFloat([]byte("["), a[1].F, 32)
		return DStr(string(b) + "]"), err
	}},
	"to_number": {[]Kind{Text, Text}, Numeric, "to_number($2, $1)", func(a []Datum, _ *Env) (Datum, error) {
		f, err := CompileNumberFormat(a[0].S)
		if err != nil || f.Empty() {
			return Null, err
		}
		d, err := f.Parse(a[1].S)
		return DDec(d), err
	}},
	"make_date": {[]Kind{Int4, Int4, Int4}, Date, "make_date($1, $2, $3)", func(a []Datum, _ *Env) (Datum, error) {
		return intDatum(MakeDate(a[0].I, a[1].I, a[2].I))
	}},
	"make_time": {[]Kind{Int4, Int4, Float8}, Time, "make_time($1, $2, $3)", func(a []Datum, _ *Env) (Datum, error) {
		return intDatum(MakeTime(a[0].I, a[1].I, a[2].F))
	}},
	"make_timestamp": {[]Kind{Int4, Int4, Int4, Int4, Int4, Float8}, Timestamp, "make_timestamp($1, $2, $3, $4, $5, $6)", func(a []Datum, _ *Env) (Datum, error) {
		return intDatum(MakeTimestamp(a[0].I, a[1].I, a[2].I, a[3].I, a[4].I, a[5].F))
	}},
	"make_interval": {[]Kind{Int4, Int4, Int4, Int4, Int4, Int4, Float8}, Interval, "make_interval($1, $2, $3, $4, $5, $6, $7)", func(a []Datum, _ *Env) (Datum, error) {
		v, err := MakeInterval(a[0].I, a[1].I, a[2].I, a[3].I, a[4].I, a[5].I, a[6].F)
		return DSpan(v), err
	}},
}

func splitArgs(line string) []string {
	parts := strings.Split(line, " | ")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}

// TestDatetime runs testdata/datetime: the command is the operation, its arguments are separated
// by " | "; tz=ZONE sets the session's zone.
func TestDatetime(t *testing.T) {
	paths, err := filepath.Glob("testdata/datetime/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatal("no test files")
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			runOracleFile(t, path, evalDatetime, func(d *datadriven.TestData, line string) string {
				op := dtOps[d.Cmd]
				sql := op.sql
				for i, p := range splitArgs(line) {
					arg := fmt.Sprintf("%s::%s", quoted(p), op.args[i].Name())
					if strings.HasPrefix(sql, "extract") && i == 0 {
						arg = `"` + p + `"`
					}
					sql = strings.ReplaceAll(sql, "$"+strconv.Itoa(i+1), arg)
				}
				return fmt.Sprintf("set timezone = '%s'; select %s", argOr(d, "tz", "UTC"), sql)
			})
		})
	}
}

func evalDatetime(d *datadriven.TestData, line string) string {
	op, ok := dtOps[d.Cmd]
	if !ok {
		return "unknown operation"
	}
	env := testEnv(argOr(d, "tz", "UTC"))
	parts := splitArgs(line)
	args := make([]Datum, len(op.args))
	for i, k := range op.args {
		var err error
		if args[i], err = ParseText(T(k), parts[i], env); err != nil {
			return errText(err)
		}
	}
	v, err := op.eval(args, env)
	switch {
	case err != nil:
		return errText(err)
	case !v.Valid:
		return "NULL"
	}
	return Format(T(op.out), v, env)
}
