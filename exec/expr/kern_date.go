package expr

import (
	"math"
	"strings"
	"time"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// location is the session's time zone.
func (st *state) location() *time.Location {
	if st.env == nil || st.env.Location == nil {
		return time.UTC
	}
	return st.env.Location
}

// now is the statement's time as a timestamptz.
func (st *state) now() int64 {
	if st.env == nil {
		return 0
	}
	return types.FromGoTime(st.env.Now)
}

// today is midnight of the current day in the session's zone, as a timestamp.
func (st *state) today() int64 {
	return types.TimestampToDate(types.ToLocal(st.now(), st.location())) * usPerDay
}

const usPerDay = 24 * 3600 * int64(1_000_000)

// flip exchanges the arguments of a binary function.
func flip[A, B, R any](f func(A, B) (R, error)) func(B, A) (R, error) {
	return func(b B, a A) (R, error) { return f(a, b) }
}

// fieldNode is extract, date_part or date_trunc: a function of a value and a field, whose name is
// nearly always constant.
type fieldNode[R value] struct {
	callNode
	kind  types.Kind
	field *types.Field // of a constant name
	// infinite values pass whatever the field is.
	infinite bool
	cache    *cache[types.Field]
	f        func(st *state, f types.Field, d types.Datum) (r R, ok bool, err error)
}

func fieldFactory[R value](f func(kind types.Kind) func(st *state, f types.Field, d types.Datum) (R, bool, error)) factory {
	return func(_ *compiler, call *scalar.Call, args []node) (node, error) {
		kind := call.Fn.Args[1].Kind
		n := &fieldNode[R]{callNode: newCallNode(call, args), kind: kind, f: f(kind)}
		n.infinite = call.Fn.Name == "date_trunc" && kind != types.Interval
		n.cache = newCache(func(name string) (types.Field, error) { return types.LookupField(name, kind) })
		if d := args[0].info().con; d != nil && d.Valid {
			// An unknown name is an error for rows only, there may be none.
			if f, err := types.LookupField(d.S, kind); err == nil {
				n.field = &f
			}
		}
		return n, nil
	}
}

func (n *fieldNode[R]) eval(st *state, sel []int32) (*vec.Vector, error) {
	if err := n.start(st, sel); err != nil {
		return nil, err
	}
	out := values[R](&n.out)
	v := n.argv[1]
	return &n.out, st.rows(sel, func(i int) error {
		if n.out.Nulls.Get(i) {
			return nil
		}
		// Infinity is its own trunc whatever the field.
		if n.infinite && types.IsInfinite(v.Int[i]) {
			*any(&out[i]).(*int64) = v.Int[i]
			return nil
		}
		var f types.Field
		if n.field != nil {
			f = *n.field
		} else {
			var err error
			if f, err = n.cache.get(n.argv[0].Str[i]); err != nil {
				return st.fail(&n.out, i, err)
			}
		}
		var d types.Datum
		if n.kind == types.Interval {
			d = types.DSpan(v.Span[i])
		} else {
			d = types.DInt(v.Int[i])
		}
		r, ok, err := n.f(st, f, d)
		switch {
		case err != nil:
			return st.fail(&n.out, i, err)
		case !ok:
			n.out.Nulls.Set(i)
		default:
			out[i] = r
		}
		return nil
	})
}

// zoneCache finds time zones by name.
func zoneCache() *cache[*time.Location] { return newCache(types.ZoneByName) }

// withZones makes a factory whose kernel gets a cache of zones of its own.
func withZones(f func(zones *cache[*time.Location]) factory) factory {
	return func(c *compiler, call *scalar.Call, args []node) (node, error) {
		return f(zoneCache())(c, call, args)
	}
}

// current wraps a function of the environment.
func current(f func(st *state) int64) factory {
	return nullary(func(st *state) (int64, error) { return f(st), nil })
}

// precise rounds a current time to the digits that its argument says.
func precise(k types.Kind, f func(st *state) int64) factory {
	return unaryEnv(func(st *state, n int64) (int64, error) {
		if n < 0 {
			return 0, sqlerr.Newf(sqlerr.InvalidParameterValue, "%s(%d) precision must not be negative", strings.ToUpper(k.Name()), n)
		}
		d, err := types.ApplyTypmod(types.Type{Kind: k, Mod: int32(min(n, types.MaxTimePrecision))}, types.DInt(f(st)), true)
		return d.I, err
	})
}

func localNow(st *state) int64 { return types.ToLocal(st.now(), st.location()) }

func addDateKernels(t table) {
	t.add("+(date,int4)", binaryErr(types.AddDays))
	t.add("+(int4,date)", binaryErr(flip(types.AddDays)))
	t.add("-(date,int4)", binaryErr(func(d, n int64) (int64, error) { return types.AddDays(d, -n) }))
	t.add("-(date,date)", binaryErr(types.SubDates))
	dateTime := func(d, us int64) (int64, error) {
		ts, err := types.DateToTimestamp(d)
		if err != nil || types.IsInfinite(ts) {
			return ts, err
		}
		return types.AddInterval(ts, types.Span{Micros: us})
	}
	t.add("+(date,time)", binaryErr(dateTime))
	t.add("+(time,date)", binaryErr(flip(dateTime)))
	t.add("timestamp(date,time)", binaryErr(dateTime))
	t.add("timestamptz(date,time)", binaryEnv(func(st *state, d, us int64) (int64, error) {
		ts, err := dateTime(d, us)
		if err != nil {
			return 0, err
		}
		return types.AtZone(ts, st.location())
	}))
	dateSpan := func(d int64, v types.Span) (int64, error) {
		ts, err := types.DateToTimestamp(d)
		if err != nil {
			return 0, err
		}
		return types.AddInterval(ts, v)
	}
	minus := func(f func(int64, types.Span) (int64, error)) func(int64, types.Span) (int64, error) {
		return func(a int64, v types.Span) (int64, error) {
			n, err := v.Neg()
			if err != nil {
				return 0, err
			}
			return f(a, n)
		}
	}
	t.add("+(date,interval)", binaryErr(dateSpan))
	t.add("+(interval,date)", binaryErr(flip(dateSpan)))
	t.add("-(date,interval)", binaryErr(minus(dateSpan)))
	t.add("+(timestamp,interval)", binaryErr(types.AddInterval))
	t.add("+(interval,timestamp)", binaryErr(flip(types.AddInterval)))
	t.add("-(timestamp,interval)", binaryErr(minus(types.AddInterval)))
	t.add("-(timestamp,timestamp)", binaryErr(types.SubTimestamps))
	t.add("-(timestamptz,timestamptz)", binaryErr(types.SubTimestamps))
	t.add("+(timestamptz,interval)", binaryEnv(func(st *state, ts int64, v types.Span) (int64, error) {
		return types.AddIntervalTZ(ts, v, st.location())
	}))
	t.add("+(interval,timestamptz)", binaryEnv(func(st *state, v types.Span, ts int64) (int64, error) {
		return types.AddIntervalTZ(ts, v, st.location())
	}))
	t.add("-(timestamptz,interval)", binaryEnv(func(st *state, ts int64, v types.Span) (int64, error) {
		n, err := v.Neg()
		if err != nil {
			return 0, err
		}
		return types.AddIntervalTZ(ts, n, st.location())
	}))
	t.add("+(time,interval)", binary(types.AddTime))
	t.add("+(interval,time)", binary(func(v types.Span, us int64) int64 { return types.AddTime(us, v) }))
	t.add("-(time,interval)", binaryErr(minus(func(us int64, v types.Span) (int64, error) { return types.AddTime(us, v), nil })))
	t.add("-(time,time)", binary(func(a, b int64) types.Span { return types.Span{Micros: a - b} }))
	t.add("+(interval,interval)", binaryErr(types.Span.Add))
	t.add("-(interval,interval)", binaryErr(types.Span.Sub))
	t.add("-(interval)", unaryErr(types.Span.Neg))
	t.add("*(interval,float8)", binaryErr(types.Span.Mul))
	t.add("*(float8,interval)", binaryErr(flip(types.Span.Mul)))
	t.add("/(interval,float8)", binaryErr(types.Span.Div))
	t.add("justify_days(interval)", unaryErr(types.Span.JustifyDays))
	t.add("justify_hours(interval)", unaryErr(types.Span.JustifyHours))
	t.add("justify_interval(interval)", unaryErr(types.Span.Justify))
	finite := unary(func(ts int64) bool { return !types.IsInfinite(ts) })
	for _, k := range []string{"date", "timestamp", "timestamptz"} {
		t.add("isfinite("+k+")", finite)
	}
	t.add("isfinite(interval)", unary(func(types.Span) bool { return true }))
	t.add("date_bin(interval,timestamp,timestamp)", ternaryErr(types.DateBin))
	t.add("date_bin(interval,timestamptz,timestamptz)", ternaryErr(types.DateBin))
	addFieldKernels(t)
	addNowKernels(t)
	addMakeKernels(t)
	addOverlaps(t)
	addDateCasts(t)
}

func addFieldKernels(t table) {
	extract := fieldFactory(func(k types.Kind) func(*state, types.Field, types.Datum) (types.Decimal, bool, error) {
		return func(st *state, f types.Field, d types.Datum) (types.Decimal, bool, error) {
			return f.Extract(k, d, st.location())
		}
	})
	part := fieldFactory(func(k types.Kind) func(*state, types.Field, types.Datum) (float64, bool, error) {
		return func(st *state, f types.Field, d types.Datum) (float64, bool, error) {
			return f.Part(k, d, st.location())
		}
	})
	for _, k := range []string{"date", "time", "timestamp", "timestamptz", "interval"} {
		t.add("extract(text,"+k+")", extract)
		t.add("date_part(text,"+k+")", part)
	}
	t.add("date_trunc(text,timestamp)", fieldFactory(func(types.Kind) func(*state, types.Field, types.Datum) (int64, bool, error) {
		return func(_ *state, f types.Field, d types.Datum) (int64, bool, error) {
			ts, err := f.Trunc(d.I)
			return ts, true, err
		}
	}))
	t.add("date_trunc(text,timestamptz)", fieldFactory(func(types.Kind) func(*state, types.Field, types.Datum) (int64, bool, error) {
		return func(st *state, f types.Field, d types.Datum) (int64, bool, error) {
			ts, err := f.TruncTZ(d.I, st.location())
			return ts, true, err
		}
	}))
	t.add("date_trunc(text,interval)", fieldFactory(func(types.Kind) func(*state, types.Field, types.Datum) (types.Span, bool, error) {
		return func(_ *state, f types.Field, d types.Datum) (types.Span, bool, error) {
			v, err := f.TruncInterval(d.Span)
			return v, true, err
		}
	}))
	t.add("date_trunc(text,timestamptz,text)", withZones(func(zones *cache[*time.Location]) factory {
		return ternaryErr(func(name string, ts int64, zone string) (int64, error) {
			if types.IsInfinite(ts) {
				return ts, nil
			}
			f, err := types.LookupField(name, types.Timestamptz)
			if err != nil {
				return 0, err
			}
			loc, err := zones.get(zone)
			if err != nil {
				return 0, err
			}
			return f.TruncTZ(ts, loc)
		})
	}))
	t.add("timezone(text,timestamp)", withZones(func(zones *cache[*time.Location]) factory {
		return binaryErr(func(zone string, ts int64) (int64, error) {
			if types.IsInfinite(ts) {
				return ts, nil
			}
			loc, err := zones.get(zone)
			if err != nil {
				return 0, err
			}
			return types.AtZone(ts, loc)
		})
	}))
	t.add("timezone(text,timestamptz)", withZones(func(zones *cache[*time.Location]) factory {
		return binaryErr(func(zone string, ts int64) (int64, error) {
			if types.IsInfinite(ts) {
				return ts, nil
			}
			loc, err := zones.get(zone)
			if err != nil {
				return 0, err
			}
			return types.InZone(ts, loc)
		})
	}))
	t.add("timezone(interval,timestamp)", binaryErr(func(zone types.Span, ts int64) (int64, error) {
		if types.IsInfinite(ts) {
			return ts, nil
		}
		loc, err := types.ZoneFromInterval(zone)
		if err != nil {
			return 0, err
		}
		return types.AtZone(ts, loc)
	}))
	t.add("timezone(interval,timestamptz)", binaryErr(func(zone types.Span, ts int64) (int64, error) {
		if types.IsInfinite(ts) {
			return ts, nil
		}
		loc, err := types.ZoneFromInterval(zone)
		if err != nil {
			return 0, err
		}
		return types.InZone(ts, loc)
	}))
}

func addNowKernels(t table) {
	for _, name := range []string{"now()", "transaction_timestamp()", "statement_timestamp()", "current_timestamp()", "proctime()"} {
		t.add(name, current((*state).now))
	}
	t.add("clock_timestamp()", current(func(*state) int64 { return types.FromGoTime(time.Now()) }))
	t.add("timeofday()", nullary(func(st *state) (string, error) {
		return time.Now().In(st.location()).Format("Mon Jan 02 15:04:05.000000 2006 MST"), nil
	}))
	t.add("current_timestamp(int4)", precise(types.Timestamptz, (*state).now))
	t.add("localtimestamp()", current(localNow))
	t.add("localtimestamp(int4)", precise(types.Timestamp, localNow))
	t.add("localtime()", current(func(st *state) int64 { return types.TimestampToTime(localNow(st)) }))
	t.add("localtime(int4)", precise(types.Time, func(st *state) int64 { return types.TimestampToTime(localNow(st)) }))
	t.add("current_date()", current(func(st *state) int64 { return types.TimestampToDate(localNow(st)) }))
	t.add("age(timestamp,timestamp)", binaryErr(types.Age))
	t.add("age(timestamptz,timestamptz)", binaryEnv(func(st *state, a, b int64) (types.Span, error) {
		return types.AgeTZ(a, b, st.location())
	}))
	t.add("age(timestamp)", unaryEnv(func(st *state, ts int64) (types.Span, error) { return types.Age(st.today(), ts) }))
	t.add("age(timestamptz)", unaryEnv(func(st *state, ts int64) (types.Span, error) {
		today, err := types.AtZone(st.today(), st.location())
		if err != nil {
			return types.Span{}, err
		}
		return types.AgeTZ(today, ts, st.location())
	}))
}

func addMakeKernels(t table) {
	t.add("make_date(int4,int4,int4)", ternaryErr(types.MakeDate))
	t.add("make_time(int4,int4,float8)", ternaryErr(types.MakeTime))
	stamp := func(a []types.Datum) (int64, error) {
		return types.MakeTimestamp(a[0].I, a[1].I, a[2].I, a[3].I, a[4].I, a[5].F)
	}
	t.add("make_timestamp(int4,int4,int4,int4,int4,float8)", datums(func(_ *genCall, a []types.Datum) (types.Datum, error) {
		ts, err := stamp(a)
		return types.DInt(ts), err
	}))
	t.add("make_timestamptz(int4,int4,int4,int4,int4,float8)", datums(func(x *genCall, a []types.Datum) (types.Datum, error) {
		ts, err := stamp(a)
		if err != nil {
			return types.Null, err
		}
		ts, err = types.AtZone(ts, x.st.location())
		return types.DInt(ts), err
	}))
	t.add("make_timestamptz(int4,int4,int4,int4,int4,float8,text)", withZones(func(zones *cache[*time.Location]) factory {
		return datums(func(_ *genCall, a []types.Datum) (types.Datum, error) {
			ts, err := stamp(a)
			if err != nil {
				return types.Null, err
			}
			loc, err := zones.get(a[6].S)
			if err != nil {
				return types.Null, err
			}
			ts, err = types.AtZone(ts, loc)
			return types.DInt(ts), err
		})
	}))
	t.add("make_interval(int4,int4,int4,int4,int4,int4,float8)", datums(func(_ *genCall, a []types.Datum) (types.Datum, error) {
		v, err := types.MakeInterval(a[0].I, a[1].I, a[2].I, a[3].I, a[4].I, a[5].I, a[6].F)
		return types.DSpan(v), err
	}))
	t.add("to_timestamp(float8)", unaryErr(timestampOfEpoch))
}

func addDateCasts(t table) {
	t.add("cast(date as timestamp)", unaryErr(types.DateToTimestamp))
	t.add("cast(date as timestamptz)", unaryEnv(func(st *state, d int64) (int64, error) {
		return types.DateToTimestamptz(d, st.location())
	}))
	t.add("cast(timestamp as date)", unary(types.TimestampToDate))
	t.add("cast(timestamptz as date)", unaryEnv(func(st *state, ts int64) (int64, error) {
		return types.TimestampToDate(types.ToLocal(ts, st.location())), nil
	}))
	t.add("cast(timestamp as timestamptz)", unaryEnv(func(st *state, ts int64) (int64, error) { return types.AtZone(ts, st.location()) }))
	t.add("cast(timestamptz as timestamp)", unaryEnv(func(st *state, ts int64) (int64, error) { return types.InZone(ts, st.location()) }))
	nullIfInfinite := func(f func(st *state, ts int64) int64) factory {
		return datums(func(x *genCall, a []types.Datum) (types.Datum, error) {
			if types.IsInfinite(a[0].I) {
				return types.Null, nil
			}
			return types.DInt(f(x.st, a[0].I)), nil
		})
	}
	t.add("cast(timestamp as time)", nullIfInfinite(func(_ *state, ts int64) int64 { return types.TimestampToTime(ts) }))
	t.add("cast(timestamptz as time)", nullIfInfinite(func(st *state, ts int64) int64 {
		return types.TimestampToTime(types.ToLocal(ts, st.location()))
	}))
	t.add("cast(time as interval)", unary(func(us int64) types.Span { return types.Span{Micros: us} }))
	t.add("cast(interval as time)", unary(types.IntervalToTime))
	// Dates are compared with timestamps as midnights. A date beyond the timestamps is above all
	// of them, like infinity.
	midnight := func(d int64) int64 {
		ts, err := types.DateToTimestamp(d)
		if err != nil {
			return types.PosInfinity - 1
		}
		return ts
	}
	zoned := func(st *state, local int64) int64 {
		if types.IsInfinite(local) || local == types.PosInfinity-1 {
			return local
		}
		return types.FromLocal(local, st.location())
	}
	same := func(_ *state, ts int64) int64 { return ts }
	day := func(_ *state, d int64) int64 { return midnight(d) }
	zonedDay := func(st *state, d int64) int64 { return zoned(st, midnight(d)) }
	for _, o := range cmpOps {
		mixed := func(l, r types.Kind, f, g func(*state, int64) int64) {
			t.add(o.name+"("+l.Name()+","+r.Name()+")", binaryEnv(func(st *state, a, b int64) (bool, error) {
				return holds[o.op][cmpInt(f(st, a), g(st, b))+1], nil
			}))
		}
		mixed(types.Date, types.Timestamp, day, same)
		mixed(types.Timestamp, types.Date, same, day)
		mixed(types.Date, types.Timestamptz, zonedDay, same)
		mixed(types.Timestamptz, types.Date, same, zonedDay)
		mixed(types.Timestamp, types.Timestamptz, zoned, same)
		mixed(types.Timestamptz, types.Timestamp, same, zoned)
	}
}

func cmpInt(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// timestampOfEpoch converts seconds since 1970.
func timestampOfEpoch(f float64) (int64, error) {
	const epoch = 946684800
	outOfRange := func() error {
		return sqlerr.Newf(sqlerr.DatetimeFieldOverflow, "timestamp out of range: \"%s\"", types.Format(types.T(types.Float8), types.DFloat(f), nil))
	}
	switch {
	case f != f:
		return 0, sqlerr.Newf(sqlerr.DatetimeFieldOverflow, "timestamp cannot be NaN")
	case math.IsInf(f, 1):
		return types.PosInfinity, nil
	case math.IsInf(f, -1):
		return types.NegInfinity, nil
	}
	const lo, hi = -210866803200, 9224318016000
	if f < lo || f >= hi {
		return 0, outOfRange()
	}
	return int64(math.RoundToEven((f - epoch) * 1e6)), nil
}

// addOverlaps: (a, b) OVERLAPS (c, d). An end may be an interval from the start, and bounds may be
// NULL: the result is known if what is not NULL decides.
func addOverlaps(t table) {
	for _, k := range []types.Kind{types.Time, types.Timestamp, types.Timestamptz} {
		end := func(x *genCall, start, e types.Datum, i int) (types.Datum, error) {
			if x.types[i].Kind != types.Interval || !e.Valid {
				return e, nil
			}
			if !start.Valid {
				return types.Null, nil
			}
			var ts int64
			var err error
			switch k {
			case types.Time:
				ts = types.AddTime(start.I, e.Span)
			case types.Timestamp:
				ts, err = types.AddInterval(start.I, e.Span)
			default:
				ts, err = types.AddIntervalTZ(start.I, e.Span, x.st.location())
			}
			return types.DInt(ts), err
		}
		f := datums(func(x *genCall, a []types.Datum) (types.Datum, error) {
			e1, err := end(x, a[0], a[1], 1)
			if err != nil {
				return types.Null, err
			}
			e2, err := end(x, a[2], a[3], 3)
			if err != nil {
				return types.Null, err
			}
			return overlaps(a[0], e1, a[2], e2), nil
		})
		n := k.Name()
		for _, e1 := range []string{n, "interval"} {
			for _, e2 := range []string{n, "interval"} {
				t.add("overlaps("+n+","+e1+","+n+","+e2+")", f)
			}
		}
	}
}

// overlaps follows the SQL standard's definition, as Postgres does, with three-valued logic.
func overlaps(s1, e1, s2, e2 types.Datum) types.Datum {
	// Order each period; one NULL bound becomes the end.
	order := func(s, e types.Datum) (types.Datum, types.Datum, bool) {
		switch {
		case !s.Valid && !e.Valid:
			return s, e, false
		case !s.Valid:
			return e, s, true
		case e.Valid && s.I > e.I:
			return e, s, true
		}
		return s, e, true
	}
	var ok bool
	if s1, e1, ok = order(s1, e1); !ok {
		return types.Null
	}
	if s2, e2, ok = order(s2, e2); !ok {
		return types.Null
	}
	switch {
	case s1.I > s2.I:
		if !e2.Valid {
			return types.Null
		}
		if s1.I < e2.I {
			return types.DBool(true)
		}
		if !e1.Valid {
			return types.Null
		}
		return types.DBool(false)
	case s1.I < s2.I:
		if !e1.Valid {
			return types.Null
		}
		if s2.I < e1.I {
			return types.DBool(true)
		}
		if !e2.Valid {
			return types.Null
		}
		return types.DBool(false)
	}
	if !e1.Valid || !e2.Valid {
		return types.Null
	}
	return types.DBool(true)
}
