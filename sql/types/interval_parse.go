package types

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// unit is what a number of an interval counts.
type unit uint8

const (
	unitNone unit = iota
	unitMicrosecond
	unitMillisecond
	unitSecond
	unitMinute
	unitHour
	unitDay
	unitWeek
	unitMonth
	unitQuarter
	unitYear
	unitDecade
	unitCentury
	unitMillennium
	unitTZ
	unitTZHour
	unitTZMinute
	unitEpoch
	unitDow
	unitIsoDow
	unitDoy
	unitIsoYear
	unitJulian
)

// unitNames are the unit words of intervals, extract and date_trunc. Like all words of date/time
// input they are significant to ten letters.
var unitNames = map[string]unit{
	"us": unitMicrosecond, "usec": unitMicrosecond, "usecond": unitMicrosecond, "useconds": unitMicrosecond, "usecs": unitMicrosecond, "microsecon": unitMicrosecond,
	"ms": unitMillisecond, "msec": unitMillisecond, "mseconds": unitMillisecond, "msecond": unitMillisecond, "msecs": unitMillisecond, "millisecon": unitMillisecond,
	"s": unitSecond, "sec": unitSecond, "second": unitSecond, "seconds": unitSecond, "secs": unitSecond,
	"m": unitMinute, "min": unitMinute, "mins": unitMinute, "minute": unitMinute, "minutes": unitMinute,
	"h": unitHour, "hour": unitHour, "hours": unitHour, "hr": unitHour, "hrs": unitHour,
	"d": unitDay, "day": unitDay, "days": unitDay, "w": unitWeek, "week": unitWeek, "weeks": unitWeek,
	"mon": unitMonth, "mons": unitMonth, "month": unitMonth, "months": unitMonth,
	"qtr": unitQuarter, "quarter": unitQuarter,
	"y": unitYear, "year": unitYear, "years": unitYear, "yr": unitYear, "yrs": unitYear,
	"dec": unitDecade, "decade": unitDecade, "decades": unitDecade, "decs": unitDecade,
	"c": unitCentury, "cent": unitCentury, "century": unitCentury, "centuries": unitCentury,
	"mil": unitMillennium, "mils": unitMillennium, "millennia": unitMillennium, "millennium": unitMillennium,
	"timezone": unitTZ, "timezone_h": unitTZHour, "timezone_m": unitTZMinute,
}

// extractNames are the further unit words of extract and date_trunc.
var extractNames = map[string]unit{
	"epoch": unitEpoch, "dow": unitDow, "isodow": unitIsoDow, "doy": unitDoy, "isoyear": unitIsoYear,
	"julian": unitJulian, "jd": unitJulian, "j": unitJulian,
}

// lookupUnit finds a unit word; extract says whether the words of extract count.
func lookupUnit(w string, extract bool) (unit, bool) {
	w = strings.ToLower(w)
	if len(w) > wordLen {
		w = w[:wordLen]
	}
	if u, ok := unitNames[w]; ok {
		return u, true
	}
	if extract {
		u, ok := extractNames[w]
		return u, ok
	}
	return unitNone, false
}

// intervalAcc adds up the fields of an interval, noticing overflow.
type intervalAcc struct {
	years, months, days int64 // each must fit an int32
	micros              int64
}

func fits32(v int64) bool { return v == int64(int32(v)) }

func add64(a, b int64) (int64, bool) {
	s := a + b
	return s, (a^s)&(b^s) >= 0
}

// addMicros adds val*scale and the fraction frac of scale, rounded to a microsecond.
func (a *intervalAcc) addMicros(val int64, frac float64, scale int64) bool {
	m, ok := mul64(val, scale)
	if !ok {
		return false
	}
	if a.micros, ok = add64(a.micros, m); !ok {
		return false
	}
	return a.addFracMicros(frac, scale)
}

func (a *intervalAcc) addFracMicros(frac float64, scale int64) bool {
	if frac == 0 {
		return true
	}
	f := frac * float64(scale)
	us := int64(f)
	f -= float64(us)
	if f > 0.5 {
		us++
	} else if f < -0.5 {
		us--
	}
	var ok bool
	a.micros, ok = add64(a.micros, us)
	return ok
}

// addDays adds val*scale days and the fraction frac of scale days.
func (a *intervalAcc) addDays(val int64, frac float64, scale int64) bool {
	m, ok := mul64(val, scale)
	if !ok || !fits32(m) || !fits32(a.days+m) {
		return false
	}
	a.days += m
	return a.addFracDays(frac, scale)
}

func (a *intervalAcc) addFracDays(frac float64, scale int64) bool {
	if frac == 0 {
		return true
	}
	frac *= float64(scale)
	whole := int64(frac)
	if !fits32(a.days + whole) {
		return false
	}
	a.days += whole
	return a.addFracMicros(frac-float64(whole), usecPerDay)
}

func (a *intervalAcc) addMonths(val int64, frac float64) bool {
	if !fits32(val) || !fits32(a.months+val) {
		return false
	}
	a.months += val
	return a.addFracDays(frac, 30)
}

func (a *intervalAcc) addYears(val int64, frac float64, scale int64) bool {
	m, ok := mul64(val, scale)
	if !ok || !fits32(m) || !fits32(a.years+m) {
		return false
	}
	a.years += m
	extra := int64(math.RoundToEven(frac * float64(scale) * 12))
	if !fits32(a.months + extra) {
		return false
	}
	a.months += extra
	return true
}

// add adds val + frac of a unit; it gives the fields that count as set.
func (a *intervalAcc) add(u unit, val int64, frac float64) (set uint32, ok bool) {
	set = 1 << u
	switch u {
	case unitMicrosecond:
		ok = a.addMicros(val, frac, 1)
	case unitMillisecond:
		ok = a.addMicros(val, frac, 1000)
	case unitSecond:
		ok = a.addMicros(val, frac, usecPerSec)
		if frac != 0 {
			set |= 1<<unitMillisecond | 1<<unitMicrosecond
		}
	case unitMinute:
		ok = a.addMicros(val, frac, usecPerMin)
	case unitHour:
		ok = a.addMicros(val, frac, usecPerHour)
	case unitDay:
		ok = a.addDays(val, frac, 1)
	case unitWeek:
		ok = a.addDays(val, frac, 7)
	case unitMonth:
		ok = a.addMonths(val, frac)
	case unitYear:
		ok = a.addYears(val, frac, 1)
	case unitDecade:
		ok = a.addYears(val, frac, 10)
	case unitCentury:
		ok = a.addYears(val, frac, 100)
	case unitMillennium:
		ok = a.addYears(val, frac, 1000)
	default:
		return 0, true
	}
	return set, ok
}

// span gives the sum as a Span; ok is false if it does not fit.
func (a *intervalAcc) span() (Span, bool) {
	m, ok := mul64(a.years, 12)
	if !ok || !fits32(m+a.months) || !fits32(a.days) {
		return Span{}, false
	}
	return Span{Months: int32(m + a.months), Days: int32(a.days), Micros: a.micros}, true
}

// ParseInterval reads an interval in any input form of Postgres: verbose with units, a clock time,
// SQL's year-month and day-time, ISO 8601. The type's fields say what a number without a unit is.
func ParseInterval(s string, t Type) (Span, error) {
	fields := t.intervalRange()
	var buf [maxTokens]token
	var acc intervalAcc
	toks, err := tokenize(s, buf[:])
	if err == nil {
		err = acc.read(toks, fields)
	}
	if errors.Is(err, errDTFormat) && strings.HasPrefix(s, "P") {
		acc = intervalAcc{}
		err = acc.readISO(s[1:])
	}
	if err != nil {
		if errors.Is(err, errDTField) {
			err = errDTInterval
		}
		return Span{}, dtError(err, "interval", s)
	}
	sp, ok := acc.span()
	if !ok {
		return Span{}, intervalOutOfRange()
	}
	return sp, nil
}

// read takes the tokens from the last to the first, so that a unit is known before its number.
func (a *intervalAcc) read(toks []token, fields int32) error {
	next := unitNone
	var seen uint32
	before := false
	const clockSet = 1<<unitHour | 1<<unitMinute | 1<<unitSecond | 1<<unitMillisecond | 1<<unitMicrosecond
	for i := len(toks) - 1; i >= 0; i-- {
		t := toks[i]
		var set uint32
		switch t.kind {
		case tokTime:
			if err := a.addClock(t.text, false, fields); err != nil {
				return err
			}
			set = clockSet
			next = unitDay
		case tokZone, tokDate, tokNumber:
			if t.kind == tokZone && strings.IndexByte(t.text, ':') >= 0 &&
				a.addClock(t.text[1:], t.text[0] == '-', fields) == nil {
				set = clockSet
				next = unitDay
				break
			}
			var err error
			if set, err = a.addNumber(t.text, &next, fields); err != nil {
				return err
			}
		case tokWord, tokSigned:
			u, ok := lookupUnit(t.text, false)
			switch {
			case ok:
				next = u
			case t.text == "ago":
				before = true
				next = unitEpoch // which no number can have
			default:
				return errDTFormat
			}
			continue
		}
		if set&seen != 0 {
			return errDTFormat
		}
		seen |= set
	}
	if seen == 0 {
		return errDTFormat
	}
	if before {
		if a.micros == math.MinInt64 {
			return errDTField
		}
		a.micros, a.days, a.months, a.years = -a.micros, -a.days, -a.months, -a.years
		if !fits32(a.days) || !fits32(a.months) || !fits32(a.years) {
			return errDTField
		}
	}
	return nil
}

// addClock takes a clock time, which may have more than 24 hours.
func (a *intervalAcc) addClock(text string, neg bool, fields int32) error {
	h, m, s, us, err := parseClock(text, fields == intervalMinute|intervalSecond)
	if err != nil {
		return err
	}
	hu, ok := mul64(h, usecPerHour)
	if !ok {
		return errDTField
	}
	total, ok := add64(hu, m*usecPerMin+s*usecPerSec+us)
	if !ok {
		return errDTField
	}
	if neg {
		total = -total
	}
	// It replaces what fractions of longer units have added, as in Postgres.
	a.micros = total
	return nil
}

// addNumber adds a number with the unit that was read after it.
func (a *intervalAcc) addNumber(text string, next *unit, fields int32) (uint32, error) {
	if *next == unitNone {
		switch {
		case fields == intervalYear:
			*next = unitYear
		case fields == intervalMonth || fields == intervalYear|intervalMonth:
			*next = unitMonth
		case fields == intervalDay:
			*next = unitDay
		case fields == intervalHour || fields == intervalDay|intervalHour:
			*next = unitHour
		case fields == intervalMinute || fields == intervalHour|intervalMinute ||
			fields == intervalDay|intervalHour|intervalMinute:
			*next = unitMinute
		default:
			*next = unitSecond
		}
	}
	neg := text[0] == '-'
	t := text
	if t[0] == '-' || t[0] == '+' {
		t = t[1:]
	}
	end := 0
	for end < len(t) && isDigit(t[end]) {
		end++
	}
	var val int64
	if end > 0 {
		v, err := strconv.ParseInt(text[:len(text)-len(t)+end], 10, 64)
		if err != nil {
			return 0, errDTField
		}
		val = v
	}
	rest := t[end:]
	frac := 0.0
	switch {
	case rest == "":
		if end == 0 {
			return 0, errDTFormat
		}
	case rest[0] == '-':
		// SQL's years-months.
		m, tail, ok := leadingInt(rest[1:])
		if !ok && rest != "-" || tail != "" {
			return 0, errDTFormat
		}
		if m >= 12 {
			return 0, errDTField
		}
		if neg {
			m = -m
		}
		y, ok := mul64(val, 12)
		if !ok {
			return 0, errDTField
		}
		*next = unitMonth
		val = y + m
	case rest[0] == '.':
		f, err := fraction(rest)
		if err != nil {
			return 0, err
		}
		if end == 0 && rest == "." {
			return 0, errDTFormat
		}
		frac = f
		if neg {
			frac = -f
		}
	default:
		return 0, errDTFormat
	}
	set, ok := a.add(*next, val, frac)
	if !ok {
		return 0, errDTField
	}
	if set == 0 {
		return 0, errDTFormat
	}
	if *next == unitHour {
		// "1 2:03" reads backwards: after hours come days.
		*next = unitDay
	}
	return set, nil
}

// AppendInterval appends an interval in Postgres's own style: "1 year 2 mons -3 days +04:05:06".
func AppendInterval(dst []byte, v Span) []byte {
	empty, neg := true, false
	part := func(n int32, name string) {
		if n == 0 {
			return
		}
		if !empty {
			dst = append(dst, ' ')
		}
		if neg && n > 0 {
			dst = append(dst, '+')
		}
		dst = append(append(appendInt(dst, int64(n)), ' '), name...)
		if n != 1 {
			dst = append(dst, 's')
		}
		neg = n < 0
		empty = false
	}
	part(v.Months/12, "year")
	part(v.Months%12, "mon")
	part(v.Days, "day")
	if !empty && v.Micros == 0 {
		return dst
	}
	if !empty {
		dst = append(dst, ' ')
	}
	u := abs64(v.Micros)
	if v.Micros < 0 {
		dst = append(dst, '-')
	} else if neg {
		dst = append(dst, '+')
	}
	h := u / usecPerHour
	if h < 10 {
		dst = append(dst, '0')
	}
	dst = appendUint(dst, h)
	dst = append2(append(dst, ':'), int64(u/usecPerMin%60))
	dst = append2(append(dst, ':'), int64(u/usecPerSec%60))
	return appendFraction(dst, int64(u%usecPerSec))
}
