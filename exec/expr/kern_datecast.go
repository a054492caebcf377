package expr

import (
	"time"

	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

const (
	usPerSec  = int64(1_000_000)
	usPerMin  = 60 * usPerSec
	usPerHour = 60 * usPerMin
	usPerDay  = 24 * usPerHour

	// minTimestamp is 4713-11-24 BC; endTimestamp is the first instant of the year 294277.
	minTimestamp = -211813488000000000
	endTimestamp = 9223371331200000000
	minDate      = minTimestamp / usPerDay
	// endDate is the first day of the year 5874898.
	endDate = 2145031949
)

var (
	errTimestampRange = sqlerr.Newf(sqlerr.DatetimeFieldOverflow, "timestamp out of range")
	errDateRange      = sqlerr.Newf(sqlerr.DatetimeFieldOverflow, "date out of range")
	errDateTimestamp  = sqlerr.Newf(sqlerr.DatetimeFieldOverflow, "date out of range for timestamp")
	errIntervalRange  = sqlerr.Newf(sqlerr.DatetimeFieldOverflow, "interval out of range")
)

// location is the session's time zone.
func (st *state) location() *time.Location {
	if st.env == nil || st.env.Location == nil {
		return time.UTC
	}
	return st.env.Location
}

// validTimestamp tells whether a finite timestamp is one that Postgres has.
func validTimestamp(ts int64) bool { return ts >= minTimestamp && ts < endTimestamp }

// dateToTimestamp is midnight of the day.
func dateToTimestamp(d int64) (int64, error) {
	if types.IsInfinite(d) {
		return d, nil
	}
	if d < minDate || d >= endTimestamp/usPerDay {
		return 0, errDateTimestamp
	}
	return d * usPerDay, nil
}

// timestampToDate is the day.
func timestampToDate(ts int64) int64 {
	if types.IsInfinite(ts) {
		return ts
	}
	return floorDiv64(ts, usPerDay)
}

func floorDiv64(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// clock is the time of day of a timestamp.
func clock(ts int64) int64 { return ts - floorDiv64(ts, usPerDay)*usPerDay }

// localOf is the wall clock of an instant in the session's zone.
func (st *state) localOf(ts int64) int64 {
	if types.IsInfinite(ts) {
		return ts
	}
	return types.ToLocal(ts, st.location())
}

// instantOf is the inverse of localOf.
func (st *state) instantOf(local int64) (int64, error) {
	if types.IsInfinite(local) {
		return local, nil
	}
	ts := types.FromLocal(local, st.location())
	if !validTimestamp(ts) {
		return 0, errTimestampRange
	}
	return ts, nil
}

func addDateCasts(t table) {
	t.add("cast(date as timestamp)", unaryErr(dateToTimestamp))
	t.add("cast(date as timestamptz)", unaryEnv(func(st *state, d int64) (int64, error) {
		ts, err := dateToTimestamp(d)
		if err != nil {
			return 0, err
		}
		return st.instantOf(ts)
	}))
	t.add("cast(timestamp as date)", unary(timestampToDate))
	t.add("cast(timestamptz as date)", unaryEnv(func(st *state, ts int64) (int64, error) {
		return timestampToDate(st.localOf(ts)), nil
	}))
	t.add("cast(timestamp as timestamptz)", unaryEnv((*state).instantOf))
	t.add("cast(timestamptz as timestamp)", unaryEnv(func(st *state, ts int64) (int64, error) { return st.localOf(ts), nil }))
	nullIfInfinite := func(f func(st *state, ts int64) int64) factory {
		return datums(func(x *genCall, a []types.Datum) (types.Datum, error) {
			if types.IsInfinite(a[0].I) {
				return types.Null, nil
			}
			return types.DInt(f(x.st, a[0].I)), nil
		})
	}
	t.add("cast(timestamp as time)", nullIfInfinite(func(_ *state, ts int64) int64 { return clock(ts) }))
	t.add("cast(timestamptz as time)", nullIfInfinite(func(st *state, ts int64) int64 { return clock(st.localOf(ts)) }))
	t.add("cast(time as interval)", unary(func(us int64) types.Span { return types.Span{Micros: us} }))
	t.add("cast(interval as time)", unary(func(s types.Span) int64 { return clock(s.Micros) }))
}
