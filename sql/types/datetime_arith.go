package types

import (
	"math"
	"time"

	"github.com/weirdb/weir/sql/sqlerr"
)

// addLocal adds the months and days of v to a wall clock time; a day beyond the end of the month
// becomes its last. ok is false out of range.
func addLocal(ts int64, v Span) (int64, bool) {
	days, us := splitDay(ts)
	if v.Months != 0 {
		y, m, d := CivilFromDays(days)
		m += int64(v.Months)
		y += floorDiv64(m-1, 12)
		m -= floorDiv64(m-1, 12) * 12
		days = DaysFromCivil(y, m, min(d, daysInMonth(y, m)))
		if days < minDate || days > endTimestamp/usecPerDay {
			return 0, false
		}
	}
	days += int64(v.Days)
	if days < minDate || days > endTimestamp/usecPerDay {
		return 0, false
	}
	ts = days*usecPerDay + us
	return ts, validTimestamp(ts)
}

// AddInterval adds an interval to a timestamp: months, then days, then time. Infinite timestamps
// stay as they are.
func AddInterval(ts int64, v Span) (int64, error) {
	if IsInfinite(ts) {
		return ts, nil
	}
	if v.Months != 0 || v.Days != 0 {
		var ok bool
		if ts, ok = addLocal(ts, v); !ok {
			return 0, timestampOutOfRange()
		}
	}
	ts, ok := add64(ts, v.Micros)
	if !ok || !validTimestamp(ts) {
		return 0, timestampOutOfRange()
	}
	return ts, nil
}

// AddIntervalTZ adds an interval to a timestamptz: months and days on the clock and calendar of
// loc, the time in absolute terms.
func AddIntervalTZ(ts int64, v Span, loc *time.Location) (int64, error) {
	if IsInfinite(ts) {
		return ts, nil
	}
	if v.Months != 0 || v.Days != 0 {
		// Postgres goes back to an instant between months and days, which matters when the
		// months lead into a skipped hour.
		for _, step := range [2]Span{{Months: v.Months}, {Days: v.Days}} {
			if step == (Span{}) {
				continue
			}
			local, ok := addLocal(ToLocal(ts, loc), step)
			if !ok {
				return 0, timestampOutOfRange()
			}
			if ts = FromLocal(local, loc); !validTimestamp(ts) {
				return 0, timestampOutOfRange()
			}
		}
	}
	ts, ok := add64(ts, v.Micros)
	if !ok || !validTimestamp(ts) {
		return 0, timestampOutOfRange()
	}
	return ts, nil
}

// SubTimestamps gives a - b in days and time.
func SubTimestamps(a, b int64) (Span, error) {
	if IsInfinite(a) || IsInfinite(b) {
		return Span{}, sqlerr.Newf(sqlerr.DatetimeFieldOverflow, "cannot subtract infinite timestamps")
	}
	d, ok := add64(a, -b)
	if !ok {
		return Span{}, intervalOutOfRange()
	}
	return Span{Days: int32(d / usecPerDay), Micros: d % usecPerDay}, nil
}

// AddDays gives the date n days after a date.
func AddDays(date, n int64) (int64, error) {
	if IsInfinite(date) {
		return date, nil
	}
	r, ok := add64(date, n)
	if !ok || r < minDate || r >= endDate {
		return 0, dateOutOfRange()
	}
	return r, nil
}

// SubDates gives the days from b to a.
func SubDates(a, b int64) (int64, error) {
	if IsInfinite(a) || IsInfinite(b) {
		return 0, sqlerr.Newf(sqlerr.DatetimeFieldOverflow, "cannot subtract infinite dates")
	}
	return a - b, nil
}

// AddTime adds the time part of an interval to a time of day, going round at midnight.
func AddTime(t int64, v Span) int64 {
	r := (t + v.Micros%usecPerDay) % usecPerDay
	if r < 0 {
		r += usecPerDay
	}
	return r
}

// DateToTimestamp gives the midnight at which a date starts.
func DateToTimestamp(date int64) (int64, error) {
	if IsInfinite(date) {
		return date, nil
	}
	if date >= endTimestamp/usecPerDay {
		return 0, sqlerr.Newf(sqlerr.DatetimeFieldOverflow, "date out of range for timestamp")
	}
	return date * usecPerDay, nil
}

// DateToTimestamptz gives the instant at which a date starts in loc.
func DateToTimestamptz(date int64, loc *time.Location) (int64, error) {
	ts, err := DateToTimestamp(date)
	if err != nil || IsInfinite(ts) {
		return ts, err
	}
	if ts = FromLocal(ts, loc); !validTimestamp(ts) {
		return 0, sqlerr.Newf(sqlerr.DatetimeFieldOverflow, "date out of range for timestamp")
	}
	return ts, nil
}

// TimestampToDate gives the date of a timestamp.
func TimestampToDate(ts int64) int64 {
	if IsInfinite(ts) {
		return ts
	}
	return floorDiv64(ts, usecPerDay)
}

// TimestampToTime gives the time of day of a finite timestamp.
func TimestampToTime(ts int64) int64 {
	_, us := splitDay(ts)
	return us
}

// AtZone gives the instant at which the clock of loc shows a timestamp: timestamp AT TIME ZONE.
func AtZone(ts int64, loc *time.Location) (int64, error) {
	r := FromLocal(ts, loc)
	if !IsInfinite(ts) && !validTimestamp(r) {
		return 0, timestampOutOfRange()
	}
	return r, nil
}

// InZone gives what the clock of loc shows at an instant: timestamptz AT TIME ZONE.
func InZone(ts int64, loc *time.Location) (int64, error) {
	r := ToLocal(ts, loc)
	if !IsInfinite(ts) && !validTimestamp(r) {
		return 0, timestampOutOfRange()
	}
	return r, nil
}

// ZoneFromInterval gives the zone of an interval operand of AT TIME ZONE, counted east.
func ZoneFromInterval(v Span) (*time.Location, error) {
	if v.Months != 0 || v.Days != 0 {
		return nil, sqlerr.Newf(sqlerr.InvalidParameterValue, "interval time zone \"%s\" must not include months or days", AppendInterval(nil, v))
	}
	off := v.Micros / usecPerSec
	return time.FixedZone(offsetName(off), int(off)), nil
}

// IntervalToTime gives the time of day of an interval's time part.
func IntervalToTime(v Span) int64 { return AddTime(0, v) }

// IsZero says whether all fields are zero.
func (v Span) IsZero() bool { return v == Span{} }

// Neg gives -v.
func (v Span) Neg() (Span, error) {
	if v.Months == math.MinInt32 || v.Days == math.MinInt32 || v.Micros == math.MinInt64 {
		return Span{}, intervalOutOfRange()
	}
	return Span{-v.Months, -v.Days, -v.Micros}, nil
}

// Add gives v + w, field by field.
func (v Span) Add(w Span) (Span, error) {
	m, d := int64(v.Months)+int64(w.Months), int64(v.Days)+int64(w.Days)
	us, ok := add64(v.Micros, w.Micros)
	if !ok || !fits32(m) || !fits32(d) {
		return Span{}, intervalOutOfRange()
	}
	return Span{int32(m), int32(d), us}, nil
}

// Sub gives v - w, field by field.
func (v Span) Sub(w Span) (Span, error) {
	m, d := int64(v.Months)-int64(w.Months), int64(v.Days)-int64(w.Days)
	us := v.Micros - w.Micros
	if (v.Micros^w.Micros)&(v.Micros^us) < 0 || !fits32(m) || !fits32(d) {
		return Span{}, intervalOutOfRange()
	}
	return Span{int32(m), int32(d), us}, nil
}

// Mul gives v * f; fractions of months become days of a 30th, fractions of days become time.
func (v Span) Mul(f float64) (Span, error) {
	return v.scale(float64(v.Months)*f, float64(v.Days)*f, float64(v.Micros)*f)
}

// Div gives v / f, with fractions as in Mul.
func (v Span) Div(f float64) (Span, error) {
	if f == 0 {
		return Span{}, errDivisionByZero
	}
	return v.scale(float64(v.Months)/f, float64(v.Days)/f, float64(v.Micros)/f)
}

// roundMicro rounds to a millionth, against the noise of float products.
func roundMicro(f float64) float64 { return math.RoundToEven(f*1e6) / 1e6 }

// scale makes an interval of fractional months, days and microseconds.
func (v Span) scale(months, days, micros float64) (Span, error) {
	in32 := func(f float64) bool { return f >= math.MinInt32 && f <= math.MaxInt32 }
	if !in32(months) || !in32(days) {
		return Span{}, intervalOutOfRange()
	}
	m, d := int32(months), int32(days)
	monthDays := roundMicro((months - float64(m)) * 30)
	secs := roundMicro((days - float64(d) + monthDays - math.Trunc(monthDays)) * 86400)
	total := int64(d)
	if math.Abs(secs) >= 86400 {
		over := math.Trunc(secs / 86400)
		total += int64(over)
		secs -= over * 86400
	}
	total += int64(monthDays)
	us := math.RoundToEven(micros + secs*usecPerSec)
	if !(us >= math.MinInt64 && us < -float64(math.MinInt64)) || !fits32(total) {
		return Span{}, intervalOutOfRange()
	}
	return Span{m, int32(total), int64(us)}, nil
}

// JustifyHours makes days of each 24 hours.
func (v Span) JustifyHours() (Span, error) {
	days := int64(v.Days) + v.Micros/usecPerDay
	v.Micros %= usecPerDay
	if days > 0 && v.Micros < 0 {
		v.Micros += usecPerDay
		days--
	} else if days < 0 && v.Micros > 0 {
		v.Micros -= usecPerDay
		days++
	}
	if !fits32(days) {
		return Span{}, intervalOutOfRange()
	}
	v.Days = int32(days)
	return v, nil
}

// JustifyDays makes months of each 30 days.
func (v Span) JustifyDays() (Span, error) {
	months := int64(v.Months) + int64(v.Days/30)
	v.Days %= 30
	if months > 0 && v.Days < 0 {
		v.Days += 30
		months--
	} else if months < 0 && v.Days > 0 {
		v.Days -= 30
		months++
	}
	if !fits32(months) {
		return Span{}, intervalOutOfRange()
	}
	v.Months = int32(months)
	return v, nil
}

// Justify does both of JustifyHours and JustifyDays and gives all fields one sign.
func (v Span) Justify() (Span, error) {
	days := int64(v.Days) + v.Micros/usecPerDay
	us := v.Micros % usecPerDay
	months := int64(v.Months) + days/30
	days %= 30
	if months > 0 && (days < 0 || days == 0 && us < 0) {
		days += 30
		months--
	} else if months < 0 && (days > 0 || days == 0 && us > 0) {
		days -= 30
		months++
	}
	if days > 0 && us < 0 {
		us += usecPerDay
		days--
	} else if days < 0 && us > 0 {
		us -= usecPerDay
		days++
	}
	if !fits32(months) {
		return Span{}, intervalOutOfRange()
	}
	return Span{int32(months), int32(days), us}, nil
}

// Age gives a - b in years, months, days and time, as people count them.
func Age(a, b int64) (Span, error) { return age(a, b, a < b) }

// AgeTZ is Age of two timestamptz on the calendar of loc.
func AgeTZ(a, b int64, loc *time.Location) (Span, error) {
	if IsInfinite(a) || IsInfinite(b) {
		return Span{}, timestampOutOfRange()
	}
	return age(ToLocal(a, loc), ToLocal(b, loc), a < b)
}

func age(a, b int64, neg bool) (Span, error) {
	if IsInfinite(a) || IsInfinite(b) {
		return Span{}, timestampOutOfRange()
	}
	da, ua := splitDay(a)
	db, ub := splitDay(b)
	y1, m1, d1 := CivilFromDays(da)
	y2, m2, d2 := CivilFromDays(db)
	us, days, months := ua-ub, d1-d2, (y1-y2)*12+m1-m2
	// Borrow from the next higher field until all have the sign of the difference. A borrowed
	// month has the length of the month in which the earlier of the two lies.
	by, bm := y2, m2
	if neg {
		us, days, months = -us, -days, -months
		by, bm = y1, m1
	}
	for us < 0 {
		us += usecPerDay
		days--
	}
	for days < 0 {
		days += daysInMonth(by, bm)
		months--
	}
	if neg {
		us, days, months = -us, -days, -months
	}
	return Span{int32(months), int32(days), us}, nil
}

// DateBin gives the start of the bin of the stride's width, counted from origin, in which ts lies.
func DateBin(stride Span, ts, origin int64) (int64, error) {
	if IsInfinite(ts) {
		return ts, nil
	}
	if IsInfinite(origin) {
		return 0, sqlerr.Newf(sqlerr.DatetimeFieldOverflow, "origin out of range")
	}
	if stride.Months != 0 {
		return 0, sqlerr.Newf(sqlerr.FeatureNotSupported, "timestamps cannot be binned into intervals containing months or years")
	}
	width, ok := mul64(int64(stride.Days), usecPerDay)
	if ok {
		width, ok = add64(width, stride.Micros)
	}
	if !ok {
		return 0, intervalOutOfRange()
	}
	if width <= 0 {
		return 0, sqlerr.Newf(sqlerr.DatetimeFieldOverflow, "stride must be greater than zero")
	}
	diff, ok := add64(ts, -origin)
	if !ok {
		return 0, intervalOutOfRange()
	}
	mod := diff % width
	if mod < 0 {
		mod += width
	}
	r, ok := add64(ts, -mod)
	if !ok || !validTimestamp(r) {
		return 0, timestampOutOfRange()
	}
	return r, nil
}
