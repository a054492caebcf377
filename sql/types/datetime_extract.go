package types

import (
	"math"
	"time"

	"github.com/weirdb/weir/sql/sqlerr"
)

func unitNotSupported(field string, k Kind) error {
	return sqlerr.Newf(sqlerr.FeatureNotSupported, "unit \"%s\" not supported for type %s", lowerASCII(field), k)
}

func unitNotRecognized(field string, k Kind) error {
	return sqlerr.Newf(sqlerr.InvalidParameterValue, "unit \"%s\" not recognized for type %s", lowerASCII(field), k)
}

func lowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c | 0x20
		}
	}
	return string(b)
}

// Field is a unit of extract, date_part and date_trunc, looked up once for many rows.
type Field struct {
	unit unit
	name string
}

// LookupField finds a unit by name, for values of kind k (Date, Time, Timestamp, Timestamptz or
// Interval).
func LookupField(name string, k Kind) (Field, error) {
	u, ok := lookupUnit(name, true)
	if !ok {
		return Field{}, unitNotRecognized(name, k)
	}
	return Field{u, name}, nil
}

// julianDay gives the Julian day number of a date.
func julianDay(days int64) int64 { return days + julianShift }

// isoWeek gives the ISO year and week of a date.
func isoWeek(days int64) (year, week int64) {
	// The week belongs to the year in which its Thursday lies.
	thursday := days - isoDow(days) + 4
	y, _, _ := CivilFromDays(thursday)
	return y, (thursday-DaysFromCivil(y, 1, 1))/7 + 1
}

// dow gives the day of the week, Sunday being 0. 2000-01-01 was a Saturday.
func dow(days int64) int64 {
	d := (days + 6) % 7
	if d < 0 {
		d += 7
	}
	return d
}

// isoDow gives the day of the week from Monday = 1 to Sunday = 7.
func isoDow(days int64) int64 {
	if d := dow(days); d != 0 {
		return d
	}
	return 7
}

// displayYear counts years as people do, without a year 0.
func displayYear(y int64) int64 {
	if y > 0 {
		return y
	}
	return y - 1
}

func decadeOf(y int64) int64 {
	if y >= 0 {
		return y / 10
	}
	return -((8 - (y - 1)) / 10)
}

// spanOf numbers centuries (n = 100) and millennia (n = 1000).
func spanOf(y, n int64) int64 {
	if y > 0 {
		return (y + n - 1) / n
	}
	return -((n - 1 - (y - 1)) / n)
}

func decInt64(v int64) (Decimal, bool, error) { return NewDecimal(v, 0), true, nil }

// Extract gives what extract() does for a value of kind k (Date, Time, Timestamp, Timestamptz or
// Interval) with loc as the zone of a timestamptz; ok is false for NULL, which periodic fields of
// infinite values are.
func (f Field) Extract(k Kind, d Datum, loc *time.Location) (v Decimal, ok bool, err error) {
	switch k {
	case Interval:
		return f.ofInterval(d.Span)
	case Time:
		return f.ofTime(d.I)
	}
	if IsInfinite(d.I) {
		return f.ofInfinite(k, d.I)
	}
	if k == Date {
		return f.ofDate(d.I)
	}
	return f.ofTimestamp(k, d.I, loc)
}

// Part gives what date_part() does: the same as Extract, as a float8.
func (f Field) Part(k Kind, d Datum, loc *time.Location) (float64, bool, error) {
	v, ok, err := f.Extract(k, d, loc)
	if err != nil || !ok {
		return 0, false, err
	}
	return v.approx(), true, nil
}

func (f Field) ofInfinite(k Kind, v int64) (Decimal, bool, error) {
	switch f.unit {
	case unitYear, unitDecade, unitCentury, unitMillennium, unitJulian, unitIsoYear, unitEpoch:
		if v > 0 {
			return DecInf, true, nil
		}
		return DecNegInf, true, nil
	case unitDay, unitMonth, unitQuarter, unitWeek, unitDow, unitIsoDow, unitDoy:
		return Decimal{}, false, nil
	case unitMicrosecond, unitMillisecond, unitSecond, unitMinute, unitHour:
		if k != Date {
			return Decimal{}, false, nil
		}
	case unitTZ, unitTZHour, unitTZMinute:
		if k != Date {
			return Decimal{}, false, nil
		}
	}
	return Decimal{}, false, unitNotSupported(f.name, k)
}

func (f Field) ofDate(days int64) (Decimal, bool, error) {
	y, m, d := CivilFromDays(days)
	switch f.unit {
	case unitDay:
		return decInt64(d)
	case unitMonth:
		return decInt64(m)
	case unitQuarter:
		return decInt64((m-1)/3 + 1)
	case unitWeek:
		_, w := isoWeek(days)
		return decInt64(w)
	case unitYear:
		return decInt64(displayYear(y))
	case unitDecade:
		return decInt64(decadeOf(y))
	case unitCentury:
		return decInt64(spanOf(y, 100))
	case unitMillennium:
		return decInt64(spanOf(y, 1000))
	case unitJulian:
		return decInt64(julianDay(days))
	case unitIsoYear:
		iy, _ := isoWeek(days)
		return decInt64(displayYear(iy))
	case unitDow:
		return decInt64(dow(days))
	case unitIsoDow:
		return decInt64(isoDow(days))
	case unitDoy:
		return decInt64(days - DaysFromCivil(y, 1, 1) + 1)
	case unitEpoch:
		return decInt64(days*86400 + epochShift)
	}
	return Decimal{}, false, unitNotSupported(f.name, Date)
}

// ofClock gives the fields of a time of day.
func (f Field) ofClock(us int64) (Decimal, bool) {
	switch f.unit {
	case unitMicrosecond:
		return NewDecimal(us%usecPerMin, 0), true
	case unitMillisecond:
		return NewDecimal(us%usecPerMin, 3), true
	case unitSecond:
		return NewDecimal(us%usecPerMin, 6), true
	case unitMinute:
		return NewDecimal(us/usecPerMin%60, 0), true
	case unitHour:
		return NewDecimal(us/usecPerHour, 0), true
	}
	return Decimal{}, false
}

func (f Field) ofTime(us int64) (Decimal, bool, error) {
	if v, ok := f.ofClock(us); ok {
		return v, true, nil
	}
	if f.unit == unitEpoch {
		return NewDecimal(us, 6), true, nil
	}
	return Decimal{}, false, unitNotSupported(f.name, Time)
}

func (f Field) ofTimestamp(k Kind, ts int64, loc *time.Location) (Decimal, bool, error) {
	local, off := ts, int64(0)
	if k == Timestamptz {
		off = offsetAt(ts, loc)
		local += off * usecPerSec
	}
	days, us := splitDay(local)
	if v, ok := f.ofClock(us); ok {
		return v, true, nil
	}
	switch f.unit {
	case unitEpoch:
		v, ok := add64(ts, epochShift*usecPerSec)
		if !ok {
			// Beyond an int64 of microseconds: the sum in decimals.
			return NewDecimal(ts, 6).Add(NewDecimal(epochShift, 0)), true, nil
		}
		return NewDecimal(v, 6), true, nil
	case unitJulian:
		frac, err := NewDecimal(us, 0).Div(NewDecimal(usecPerDay, 0))
		return NewDecimal(julianDay(days), 0).Add(frac), true, err
	case unitTZ, unitTZHour, unitTZMinute:
		if k != Timestamptz {
			return Decimal{}, false, unitNotSupported(f.name, k)
		}
		switch f.unit {
		case unitTZ:
			return decInt64(off)
		case unitTZHour:
			return decInt64(off / 3600)
		}
		return decInt64(off % 3600 / 60)
	case unitDay, unitMonth, unitQuarter, unitWeek, unitYear, unitDecade, unitCentury, unitMillennium,
		unitIsoYear, unitDow, unitIsoDow, unitDoy:
		return f.ofDate(days)
	}
	return Decimal{}, false, unitNotSupported(f.name, k)
}

func (f Field) ofInterval(v Span) (Decimal, bool, error) {
	years, months := int64(v.Months/12), int64(v.Months%12)
	switch f.unit {
	case unitMicrosecond:
		return decInt64(v.Micros % usecPerMin)
	case unitMillisecond:
		return NewDecimal(v.Micros%usecPerMin, 3), true, nil
	case unitSecond:
		return NewDecimal(v.Micros%usecPerMin, 6), true, nil
	case unitMinute:
		return decInt64(v.Micros / usecPerMin % 60)
	case unitHour:
		return decInt64(v.Micros / usecPerHour)
	case unitDay:
		return decInt64(int64(v.Days))
	case unitMonth:
		return decInt64(months)
	case unitQuarter:
		return decInt64(months/3 + 1)
	case unitYear:
		return decInt64(years)
	case unitDecade:
		return decInt64(years / 10)
	case unitCentury:
		return decInt64(years / 100)
	case unitMillennium:
		return decInt64(years / 1000)
	case unitEpoch:
		// A year has 365.25 days here.
		secs := (1461*years + 120*months + 4*int64(v.Days)) * (86400 / 4)
		if us, ok := mul64(secs, usecPerSec); ok {
			if us, ok = add64(us, v.Micros); ok {
				return NewDecimal(us, 6), true, nil
			}
		}
		return NewDecimal(secs, 0).Add(NewDecimal(v.Micros, 6)), true, nil
	}
	return Decimal{}, false, unitNotSupported(f.name, Interval)
}

// truncLocal cuts a wall clock time to the unit; ok is false if the unit cannot be cut to.
func (f Field) truncLocal(ts int64) (int64, bool) {
	days, us := splitDay(ts)
	switch f.unit {
	case unitMicrosecond:
		return ts, true
	case unitMillisecond:
		return ts - us%1000, true
	case unitSecond:
		return ts - us%usecPerSec, true
	case unitMinute:
		return ts - us%usecPerMin, true
	case unitHour:
		return ts - us%usecPerHour, true
	case unitDay:
		return ts - us, true
	case unitWeek:
		return (days - isoDow(days) + 1) * usecPerDay, true
	}
	y, m, _ := CivilFromDays(days)
	switch f.unit {
	case unitMonth:
	case unitQuarter:
		m = (m-1)/3*3 + 1
	case unitYear:
		m = 1
	case unitDecade:
		m, y = 1, decadeOf(y)*10
	case unitCentury:
		m, y = 1, firstYear(spanOf(y, 100), 100)
	case unitMillennium:
		m, y = 1, firstYear(spanOf(y, 1000), 1000)
	default:
		return 0, false
	}
	return DaysFromCivil(y, m, 1) * usecPerDay, true
}

// cannotTrunc is the error for a unit that is no length; date_trunc does not even know the words
// that only extract has.
func (f Field) cannotTrunc(k Kind) error {
	if f.unit >= unitEpoch {
		return unitNotRecognized(f.name, k)
	}
	return unitNotSupported(f.name, k)
}

// firstYear gives the year in which a numbered century or millennium begins.
func firstYear(number, n int64) int64 {
	if number > 0 {
		return number*n - n + 1
	}
	return number*n + 1
}

// Trunc cuts a timestamp to the unit.
func (f Field) Trunc(ts int64) (int64, error) {
	if IsInfinite(ts) {
		return ts, nil
	}
	r, ok := f.truncLocal(ts)
	if !ok {
		return 0, f.cannotTrunc(Timestamp)
	}
	if !validTimestamp(r) {
		return 0, timestampOutOfRange()
	}
	return r, nil
}

// TruncTZ cuts a timestamptz to the unit on the clock of loc.
func (f Field) TruncTZ(ts int64, loc *time.Location) (int64, error) {
	if IsInfinite(ts) {
		return ts, nil
	}
	off := offsetAt(ts, loc)
	r, ok := f.truncLocal(ts + off*usecPerSec)
	if !ok {
		return 0, f.cannotTrunc(Timestamptz)
	}
	switch f.unit {
	case unitMicrosecond, unitMillisecond, unitSecond, unitMinute, unitHour:
		// The offset stays: the same hour of a repeated two.
		r -= off * usecPerSec
	default:
		r = FromLocal(r, loc)
	}
	if !validTimestamp(r) {
		return 0, timestampOutOfRange()
	}
	return r, nil
}

// TruncInterval cuts an interval to the unit.
func (f Field) TruncInterval(v Span) (Span, error) {
	years := v.Months / 12
	switch f.unit {
	case unitMicrosecond:
	case unitMillisecond:
		v.Micros -= v.Micros % 1000
	case unitSecond:
		v.Micros -= v.Micros % usecPerSec
	case unitMinute:
		v.Micros -= v.Micros % usecPerMin
	case unitHour:
		v.Micros -= v.Micros % usecPerHour
	case unitDay:
		v.Micros = 0
	case unitMonth:
		v = Span{Months: v.Months}
	case unitQuarter:
		v = Span{Months: v.Months / 3 * 3}
	case unitYear:
		v = Span{Months: years * 12}
	case unitDecade:
		v = Span{Months: years / 10 * 120}
	case unitCentury:
		v = Span{Months: years / 100 * 1200}
	case unitMillennium:
		v = Span{Months: years / 1000 * 12000}
	case unitWeek:
		return Span{}, sqlerr.Newf(sqlerr.FeatureNotSupported, "unit \"%s\" not supported for type %s", lowerASCII(f.name), Interval).
			WithDetail("Months usually have fractional weeks.")
	default:
		return Span{}, f.cannotTrunc(Interval)
	}
	return v, nil
}

// MakeDate builds a date; negative years are BC.
func MakeDate(year, month, day int64) (int64, error) {
	y := year
	if y < 0 {
		y++
	} else if y == 0 {
		return 0, badDateField(year, month, day)
	}
	if month < 1 || month > 12 || day < 1 || day > daysInMonth(y, month) {
		return 0, badDateField(year, month, day)
	}
	d := DaysFromCivil(y, month, day)
	if d < minDate || d >= endDate {
		return 0, sqlerr.Newf(sqlerr.DatetimeFieldOverflow, "date out of range: %d-%02d-%02d", y, month, day)
	}
	return d, nil
}

func badDateField(y, m, d int64) error {
	return sqlerr.Newf(sqlerr.DatetimeFieldOverflow, "date field value out of range: %d-%02d-%02d", y, m, d)
}

// MakeTime builds a time of day.
func MakeTime(hour, minute int64, sec float64) (int64, error) {
	us := math.RoundToEven(sec * usecPerSec)
	if hour < 0 || hour > 24 || minute < 0 || minute > 59 || !(us >= 0 && us <= usecPerMin) {
		return 0, badTimeField(hour, minute, sec)
	}
	t := hour*usecPerHour + minute*usecPerMin + int64(us)
	if t > usecPerDay {
		return 0, badTimeField(hour, minute, sec)
	}
	return t, nil
}

func badTimeField(h, m int64, s float64) error {
	return sqlerr.Newf(sqlerr.DatetimeFieldOverflow, "time field value out of range: %d:%02d:%02g", h, m, s)
}

// MakeTimestamp builds a timestamp.
func MakeTimestamp(year, month, day, hour, minute int64, sec float64) (int64, error) {
	outOfRange := func() error {
		return sqlerr.Newf(sqlerr.DatetimeFieldOverflow, "timestamp out of range: %d-%02d-%02d %d:%02d:%02g", year, month, day, hour, minute, sec)
	}
	d, err := MakeDate(year, month, day)
	if err != nil {
		return 0, err
	}
	t, err := MakeTime(hour, minute, sec)
	if err != nil {
		return 0, err
	}
	if d > endTimestamp/usecPerDay {
		return 0, outOfRange()
	}
	ts := d*usecPerDay + t
	if !validTimestamp(ts) {
		return 0, outOfRange()
	}
	return ts, nil
}

// MakeInterval builds an interval.
func MakeInterval(years, months, weeks, days, hours, mins int64, secs float64) (Span, error) {
	m := years*12 + months
	d := weeks*7 + days
	if !fits32(m) || !fits32(d) || math.IsNaN(secs) || math.IsInf(secs, 0) {
		return Span{}, intervalOutOfRange()
	}
	us := math.RoundToEven(secs * usecPerSec)
	if !(us >= math.MinInt64 && us < -float64(math.MinInt64)) {
		return Span{}, intervalOutOfRange()
	}
	t, ok := add64(hours*usecPerHour+mins*usecPerMin, int64(us))
	if !ok {
		return Span{}, intervalOutOfRange()
	}
	return Span{int32(m), int32(d), t}, nil
}
