package types

import (
	"math"
	"time"

	"github.com/weirdb/weir/sql/sqlerr"
)

// Lengths in microseconds.
const (
	usecPerSec  = 1_000_000
	usecPerMin  = 60 * usecPerSec
	usecPerHour = 60 * usecPerMin
	usecPerDay  = 24 * usecPerHour
)

// The range of dates and timestamps, which is Postgres's: from the start of the Julian calendar's
// day count, 4714-11-24 BC, to the end of the year 5874897 (dates) or 294276 (timestamps).
const (
	minDate      = -2451545
	endDate      = 2145031949 // exclusive
	minTimestamp = -211813488000000000
	endTimestamp = 9223371331200000000 // exclusive
	// epochShift is the number of seconds from 1970-01-01 to 2000-01-01.
	epochShift = 946684800
	// julianShift is the Julian day number of 2000-01-01.
	julianShift = 2451545
)

// The infinite dates and timestamps.
const (
	PosInfinity = math.MaxInt64
	NegInfinity = math.MinInt64
)

// IsInfinite says whether a date or timestamp is one of the two infinities.
func IsInfinite(v int64) bool { return v == PosInfinity || v == NegInfinity }

// validTimestamp says whether v is a finite timestamp in range.
func validTimestamp(v int64) bool { return v >= minTimestamp && v < endTimestamp }

// DaysFromCivil gives the days since 2000-01-01 of a date in the proleptic Gregorian calendar;
// year 0 is 1 BC. The month may be outside 1 to 12 and the day outside the month.
func DaysFromCivil(year, month, day int64) int64 {
	m := month - 1
	year += floorDiv64(m, 12)
	m -= floorDiv64(m, 12) * 12
	// Years start in March here, so that the leap day is the last of its year.
	y := year
	if m < 2 {
		y--
		m += 12
	}
	m -= 2
	era := floorDiv64(y, 400)
	yoe := y - era*400
	doy := (153*m + 2) / 5
	doe := yoe*365 + yoe/4 - yoe/100 + doy
	return era*146097 + doe + day - 1 - 730425
}

// CivilFromDays is the inverse of DaysFromCivil.
func CivilFromDays(days int64) (year, month, day int64) {
	z := days + 730425
	era := floorDiv64(z, 146097)
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	day = doy - (153*mp+2)/5 + 1
	month = mp + 3
	year = yoe + era*400
	if month > 12 {
		month -= 12
		year++
	}
	return year, month, day
}

func floorDiv64(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// splitDay splits a timestamp into days and microseconds of the day.
func splitDay(ts int64) (days, micros int64) {
	days = floorDiv64(ts, usecPerDay)
	return days, ts - days*usecPerDay
}

func isLeap(y int64) bool { return y%4 == 0 && (y%100 != 0 || y%400 == 0) }

var monthDays = [12]int64{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

// daysInMonth gives the length of a month from 1 to 12.
func daysInMonth(y, m int64) int64 {
	if m == 2 && isLeap(y) {
		return 29
	}
	return monthDays[m-1]
}

// offsetAt gives the seconds east of UTC that loc has at a timestamp. A nil loc is UTC.
func offsetAt(ts int64, loc *time.Location) int64 {
	if loc == nil || loc == time.UTC {
		return 0
	}
	_, off := time.Unix(floorDiv64(ts, usecPerSec)+epochShift, 0).In(loc).Zone()
	return int64(off)
}

// fixedZone says whether loc has one offset for all time.
func fixedZone(loc *time.Location) bool {
	start, end := time.Unix(0, 0).In(loc).ZoneBounds()
	return start.IsZero() && end.IsZero()
}

// zoneAbbrev gives the abbreviation that loc has at a timestamp.
func zoneAbbrev(ts int64, loc *time.Location) string {
	if loc == nil || loc == time.UTC {
		return "UTC"
	}
	name, _ := time.Unix(floorDiv64(ts, usecPerSec)+epochShift, 0).In(loc).Zone()
	return name
}

// ToLocal gives the wall clock of a timestamptz in loc as a timestamp.
func ToLocal(ts int64, loc *time.Location) int64 {
	if IsInfinite(ts) {
		return ts
	}
	return ts + offsetAt(ts, loc)*usecPerSec
}

// FromLocal gives the instant at which the wall clock of loc shows local. A clock time that a
// forward transition skips counts with the offset before it, one that a backward transition
// repeats is the second of the two, as in Postgres.
func FromLocal(local int64, loc *time.Location) int64 {
	if loc == nil || loc == time.UTC || IsInfinite(local) {
		return local
	}
	return local - localOffset(floorDiv64(local, usecPerSec), loc)*usecPerSec
}

// localOffset chooses the offset for a wall clock time in seconds since 2000-01-01.
func localOffset(wall int64, loc *time.Location) int64 {
	wall += epochShift
	t := time.Unix(wall-86400, 0).In(loc)
	_, b := t.Zone()
	before := int64(b)
	_, end := t.ZoneBounds()
	if end.IsZero() {
		return before
	}
	boundary := end.Unix()
	_, a := end.Zone()
	after := int64(a)
	tb, ta := wall-before, wall-after
	switch {
	case tb < boundary && ta < boundary:
		return before
	case tb > boundary && ta >= boundary:
		return after
	case tb > ta:
		return before
	}
	return after
}

func timestampOutOfRange() *sqlerr.Error {
	return sqlerr.Newf(sqlerr.DatetimeFieldOverflow, "timestamp out of range")
}

func dateOutOfRange() *sqlerr.Error {
	return sqlerr.Newf(sqlerr.DatetimeFieldOverflow, "date out of range")
}

func intervalOutOfRange() *sqlerr.Error {
	return sqlerr.Newf(sqlerr.DatetimeFieldOverflow, "interval out of range")
}
