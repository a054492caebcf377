package types

import (
	"errors"
	"math"
	"time"

	"github.com/weirdb/weir/sql/sqlerr"
)

// invalidZoneDisplacement is SQLSTATE 22009.
const invalidZoneDisplacement sqlerr.Code = "22009"

func zoneUnknown(name string) *sqlerr.Error {
	return sqlerr.Newf(sqlerr.InvalidParameterValue, "time zone \"%s\" not recognized", name)
}

// dtError makes the user's error of a date/time input error.
func dtError(err error, typeName, s string) error {
	var se *sqlerr.Error
	switch {
	case errors.As(err, &se):
		return se
	case errors.Is(err, errDTField):
		return sqlerr.Newf(sqlerr.DatetimeFieldOverflow, "date/time field value out of range: \"%s\"", s)
	case errors.Is(err, errDTMonthDay):
		return sqlerr.Newf(sqlerr.DatetimeFieldOverflow, "date/time field value out of range: \"%s\"", s).
			WithHint("Perhaps you need a different \"datestyle\" setting.")
	case errors.Is(err, errDTInterval):
		return sqlerr.Newf(sqlerr.IntervalFieldOverflow, "interval field value out of range: \"%s\"", s)
	case errors.Is(err, errDTZone):
		return sqlerr.Newf(invalidZoneDisplacement, "time zone displacement out of range: \"%s\"", s)
	}
	return sqlerr.Newf(sqlerr.InvalidDatetimeFormat, "invalid input syntax for type %s: \"%s\"", typeName, s)
}

// isoDate reads yyyy-mm-dd at the start of s; ok is false if it is not there or not valid.
func isoDate(s string) (days int64, ok bool) {
	if len(s) < 10 || s[4] != '-' || s[7] != '-' {
		return 0, false
	}
	var v [8]int64
	for i, p := range [8]int{0, 1, 2, 3, 5, 6, 8, 9} {
		c := s[p] - '0'
		if c > 9 {
			return 0, false
		}
		v[i] = int64(c)
	}
	y := v[0]*1000 + v[1]*100 + v[2]*10 + v[3]
	m, d := v[4]*10+v[5], v[6]*10+v[7]
	if y == 0 || m < 1 || m > 12 || d < 1 || d > daysInMonth(y, m) {
		return 0, false
	}
	return DaysFromCivil(y, m, d), true
}

// isoClock reads hh:mm:ss[.ffffff] at the start of s and gives the rest.
func isoClock(s string) (micros int64, rest string, ok bool) {
	if len(s) < 8 || s[2] != ':' || s[5] != ':' {
		return 0, s, false
	}
	var v [6]int64
	for i, p := range [6]int{0, 1, 3, 4, 6, 7} {
		c := s[p] - '0'
		if c > 9 {
			return 0, s, false
		}
		v[i] = int64(c)
	}
	h, m, sec := v[0]*10+v[1], v[2]*10+v[3], v[4]*10+v[5]
	if h > 23 || m > 59 || sec > 59 {
		return 0, s, false
	}
	us := (h*60+m)*usecPerMin + sec*usecPerSec
	s = s[8:]
	if s == "" || s[0] != '.' {
		return us, s, true
	}
	f, scale, i := int64(0), int64(usecPerSec), 1
	for ; i < len(s) && isDigit(s[i]); i++ {
		if scale == 1 {
			return 0, s, false
		}
		scale /= 10
		f += int64(s[i]-'0') * scale
	}
	return us + f, s[i:], true
}

// isoTimestamp reads yyyy-mm-dd hh:mm:ss[.ffffff] at the start of s and gives the rest.
func isoTimestamp(s string) (ts int64, rest string, ok bool) {
	days, ok := isoDate(s)
	if !ok {
		return 0, s, false
	}
	if len(s) == 10 {
		return days * usecPerDay, "", true
	}
	if s[10] != ' ' && s[10] != 'T' {
		return 0, s, false
	}
	us, rest, ok := isoClock(s[11:])
	return days*usecPerDay + us, rest, ok
}

// isoOffset reads the whole of s as an offset: Z, +hh, +hh:mm.
func isoOffset(s string) (off int64, ok bool) {
	switch len(s) {
	case 1:
		return 0, s[0] == 'Z' || s[0] == 'z'
	case 3, 6:
	default:
		return 0, false
	}
	if s[0] != '+' && s[0] != '-' || !isDigit(s[1]) || !isDigit(s[2]) {
		return 0, false
	}
	off = two(s[1:]) * 3600
	if len(s) == 6 {
		if s[3] != ':' || !isDigit(s[4]) || !isDigit(s[5]) || s[4] > '5' {
			return 0, false
		}
		off += two(s[4:]) * 60
	}
	if s[0] == '-' {
		off = -off
	}
	return off, off > -16*3600 && off < 16*3600
}

// ParseDate reads a date as days since 2000-01-01.
func ParseDate(s string, env *Env) (int64, error) {
	if len(s) == 10 {
		if days, ok := isoDate(s); ok {
			return days, nil
		}
	}
	d, err := parseDateTime(s, env, modeTimestamp)
	if err != nil {
		return 0, dtError(err, "date", s)
	}
	switch d.special {
	case isPosInf:
		return PosInfinity, nil
	case isNegInf:
		return NegInfinity, nil
	case isEpoch:
		return -epochShift / 86400, nil
	}
	days, ok := d.days()
	if !ok {
		return 0, sqlerr.Newf(sqlerr.DatetimeFieldOverflow, "date out of range: \"%s\"", s)
	}
	return days, nil
}

// ParseTime reads a time of day as microseconds since midnight. A date and a zone are allowed
// and ignored, as in Postgres.
func ParseTime(s string, env *Env) (int64, error) {
	if us, rest, ok := isoClock(s); ok && rest == "" {
		return us, nil
	}
	d, err := parseDateTime(s, env, modeTime)
	if err != nil {
		return 0, dtError(err, "time", s)
	}
	return d.clockMicros(), nil
}

// ParseTimestamp reads a timestamp without time zone; a zone in the text is ignored.
func ParseTimestamp(s string, env *Env) (int64, error) {
	if ts, rest, ok := isoTimestamp(s); ok && rest == "" {
		return ts, nil
	}
	d, err := parseDateTime(s, env, modeTimestamp)
	if err != nil {
		return 0, dtError(err, "timestamp", s)
	}
	return d.timestamp(s)
}

// timestamp gives the wall clock time that was read.
func (d *dateTime) timestamp(s string) (int64, error) {
	switch d.special {
	case isPosInf:
		return PosInfinity, nil
	case isNegInf:
		return NegInfinity, nil
	case isEpoch:
		return -epochShift * usecPerSec, nil
	}
	days, ok := d.days()
	// The limit in days is one beyond the last day; it also keeps the product in range.
	if ok && days <= endTimestamp/usecPerDay {
		if ts := days*usecPerDay + d.clockMicros(); validTimestamp(ts) {
			return ts, nil
		}
	}
	return 0, sqlerr.Newf(sqlerr.DatetimeFieldOverflow, "timestamp out of range: \"%s\"", s)
}

// ParseTimestamptz reads a timestamp with time zone; without a zone in the text the zone is
// env's.
func ParseTimestamptz(s string, env *Env) (int64, error) {
	if ts, rest, ok := isoTimestamp(s); ok {
		if rest == "" {
			return FromLocal(ts, env.zone()), nil
		}
		if off, ok := isoOffset(rest); ok {
			return ts - off*usecPerSec, nil
		}
	}
	d, err := parseDateTime(s, env, modeTimestamp)
	if err != nil {
		return 0, dtError(err, "timestamp with time zone", s)
	}
	if d.special != isNormal {
		return d.timestamp(s)
	}
	// A zone west of Greenwich shows the first instant on the day before the first.
	days, _ := d.days()
	if days < minDate-1 || days > endTimestamp/usecPerDay {
		return 0, sqlerr.Newf(sqlerr.DatetimeFieldOverflow, "timestamp out of range: \"%s\"", s)
	}
	local := days*usecPerDay + d.clockMicros()
	var ts int64
	switch {
	case d.zone != nil:
		ts = FromLocal(local, d.zone)
	case d.have&fZone != 0:
		ts = local - d.offset*usecPerSec
	default:
		ts = FromLocal(local, env.zone())
	}
	if !validTimestamp(ts) {
		return 0, sqlerr.Newf(sqlerr.DatetimeFieldOverflow, "timestamp out of range: \"%s\"", s)
	}
	return ts, nil
}

// append2 appends v with at least two digits.
func append2(dst []byte, v int64) []byte {
	if v < 100 {
		return append(dst, byte('0'+v/10), byte('0'+v%10))
	}
	return appendInt(dst, v)
}

func appendInt(dst []byte, v int64) []byte {
	if v < 0 {
		return appendUint(append(dst, '-'), -uint64(v))
	}
	return appendUint(dst, uint64(v))
}

func appendUint(dst []byte, u uint64) []byte {
	var buf [20]byte
	i := len(buf)
	for {
		i--
		buf[i] = byte('0' + u%10)
		u /= 10
		if u == 0 {
			return append(dst, buf[i:]...)
		}
	}
}

func appendPadded(dst []byte, v int64, width int) []byte {
	start := len(dst)
	dst = appendInt(dst, v)
	for n := len(dst) - start; n < width; n++ {
		dst = append(dst, 0)
		copy(dst[start+1:], dst[start:])
		dst[start] = '0'
	}
	return dst
}

// appendCivil appends yyyy-mm-dd; the caller adds BC for years before 1.
func appendCivil(dst []byte, y, m, d int64) []byte {
	if y <= 0 {
		y = 1 - y
	}
	if y < 10000 {
		dst = append2(append2(dst, y/100), y%100)
	} else {
		dst = appendInt(dst, y)
	}
	dst = append2(append(dst, '-'), m)
	return append2(append(dst, '-'), d)
}

// appendClock appends hh:mm:ss[.ffffff].
func appendClock(dst []byte, us int64) []byte {
	dst = append2(dst, us/usecPerHour)
	dst = append2(append(dst, ':'), us/usecPerMin%60)
	dst = append2(append(dst, ':'), us/usecPerSec%60)
	return appendFraction(dst, us%usecPerSec)
}

// appendFraction appends microseconds as .ffffff without trailing zeros.
func appendFraction(dst []byte, f int64) []byte {
	if f == 0 {
		return dst
	}
	dst = append(dst, '.')
	for scale := int64(usecPerSec / 10); f > 0; scale /= 10 {
		dst = append(dst, byte('0'+f/scale))
		f %= scale
	}
	return dst
}

func appendInfinity(dst []byte, v int64) []byte {
	if v == NegInfinity {
		dst = append(dst, '-')
	}
	return append(dst, "infinity"...)
}

// AppendDate appends a date in ISO form.
func AppendDate(dst []byte, days int64) []byte {
	if IsInfinite(days) {
		return appendInfinity(dst, days)
	}
	y, m, d := CivilFromDays(days)
	dst = appendCivil(dst, y, m, d)
	if y <= 0 {
		dst = append(dst, " BC"...)
	}
	return dst
}

// AppendTime appends a time of day.
func AppendTime(dst []byte, us int64) []byte { return appendClock(dst, us) }

// AppendTimestamp appends a timestamp in ISO form.
func AppendTimestamp(dst []byte, ts int64) []byte {
	if IsInfinite(ts) {
		return appendInfinity(dst, ts)
	}
	days, us := splitDay(ts)
	y, m, d := CivilFromDays(days)
	dst = appendClock(append(appendCivil(dst, y, m, d), ' '), us)
	if y <= 0 {
		dst = append(dst, " BC"...)
	}
	return dst
}

// AppendTimestamptz appends a timestamp in ISO form as the clock of loc shows it, with the offset.
func AppendTimestamptz(dst []byte, ts int64, loc *time.Location) []byte {
	if IsInfinite(ts) {
		return appendInfinity(dst, ts)
	}
	off := offsetAt(ts, loc)
	days, us := splitDay(ts + off*usecPerSec)
	y, m, d := CivilFromDays(days)
	dst = appendClock(append(appendCivil(dst, y, m, d), ' '), us)
	dst = appendOffset(dst, off)
	if y <= 0 {
		dst = append(dst, " BC"...)
	}
	return dst
}

// ToGoTime converts a finite timestamptz.
func ToGoTime(ts int64) time.Time {
	return time.Unix(floorDiv64(ts, usecPerSec)+epochShift, ((ts%usecPerSec)+usecPerSec)%usecPerSec*1000).UTC()
}

// FromGoTime converts to a timestamptz, rounding down to microseconds.
func FromGoTime(t time.Time) int64 {
	return (t.Unix()-epochShift)*usecPerSec + int64(t.Nanosecond()/1000)
}

// roundMicros rounds a count of microseconds to a precision of digits, half away from zero.
func roundMicros(v int64, precision int) int64 {
	if precision < 0 || precision >= MaxTimePrecision {
		return v
	}
	unit := pow10[MaxTimePrecision-precision]
	half := unit / 2
	if v >= 0 {
		if v > math.MaxInt64-half {
			return v
		}
		return (v + half) / unit * unit
	}
	if v < math.MinInt64+half {
		return v
	}
	return -((-v + half) / unit * unit)
}
