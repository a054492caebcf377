package types

import (
	"strings"
	"time"
)

// DateStyle is how dates and times are written.
type DateStyle uint8

// The date styles; ISO is the default.
const (
	DateISO DateStyle = iota
	DateSQL
	DatePostgres
	DateGerman
)

// IntervalStyle is how intervals are written.
type IntervalStyle uint8

// The interval styles; that of PostgreSQL is the default.
const (
	IntervalPostgres IntervalStyle = iota
	IntervalVerbose
	IntervalSQL
	IntervalISO
)

var dateStyleNames = []string{"ISO", "SQL", "Postgres", "German"}
var dateOrderNames = []string{"MDY", "DMY", "YMD"}

// ParseDateStyle reads a value of the setting DateStyle: a style, an order or both, in any order. What it does not say is as
// in the values given. problem says why it is not valid, "" if it is.
func ParseDateStyle(v string, style DateStyle, order DateOrder) (_ DateStyle, _ DateOrder, problem string) {
	haveStyle, haveOrder := false, false
	setStyle := func(s DateStyle) bool {
		bad := haveStyle && s != style
		style, haveStyle = s, true
		return !bad
	}
	setOrder := func(o DateOrder) bool {
		bad := haveOrder && o != order
		order, haveOrder = o, true
		return !bad
	}
	for part := range strings.SplitSeq(v, ",") {
		p := strings.ToLower(strings.Trim(strings.TrimSpace(part), `"`))
		good := true
		switch {
		case p == "iso":
			good = setStyle(DateISO)
		case p == "sql":
			good = setStyle(DateSQL)
		case strings.HasPrefix(p, "postgres"):
			good = setStyle(DatePostgres)
		case p == "german":
			good = setStyle(DateGerman)
			if !haveOrder {
				order = DMY
			}
		case p == "ymd":
			good = setOrder(YMD)
		case p == "dmy", strings.HasPrefix(p, "euro"):
			good = setOrder(DMY)
		case p == "mdy", p == "us", strings.HasPrefix(p, "noneuro"):
			good = setOrder(MDY)
		case p == "default":
			if !haveStyle {
				style = DateISO
			}
			if !haveOrder {
				order = MDY
			}
		default:
			return style, order, "Unrecognized key word: \"" + p + "\"."
		}
		if !good {
			return style, order, "Conflicting \"datestyle\" specifications."
		}
	}
	return style, order, ""
}

// DateStyleText is the setting's value for a style and an order.
func DateStyleText(style DateStyle, order DateOrder) string {
	return dateStyleNames[style] + ", " + dateOrderNames[order]
}

// IntervalStyleNames are the values of the setting IntervalStyle, by style.
var IntervalStyleNames = []string{"postgres", "postgres_verbose", "sql_standard", "iso_8601"}

// appendStyled writes values whose text depends on a style; ok is false if it is the usual one.
func appendStyled(dst []byte, t Type, d Datum, env *Env) (out []byte, ok bool) {
	if env == nil {
		return dst, false
	}
	switch t.Kind {
	case Interval:
		if env.IntervalStyle == IntervalPostgres {
			return dst, false
		}
		return appendIntervalStyle(dst, d.Span, env.IntervalStyle), true
	case Date, Timestamp, Timestamptz:
	default:
		return dst, false
	}
	if env.DateStyle == DateISO || IsInfinite(d.I) {
		return dst, false
	}
	switch t.Kind {
	case Date:
		y, m, day := CivilFromDays(d.I)
		return appendEra(appendDateStyle(dst, y, m, day, env), y), true
	case Timestamp:
		return appendTimestampStyle(dst, d.I, env, nil), true
	}
	return appendTimestampStyle(dst, d.I, env, env.zone()), true
}

func appendEra(dst []byte, y int64) []byte {
	if y <= 0 {
		return append(dst, " BC"...)
	}
	return dst
}

func appendYear(dst []byte, y int64) []byte {
	if y <= 0 {
		y = 1 - y
	}
	return appendPadded(dst, y, 4)
}

// appendDateStyle appends a date alone, without its era.
func appendDateStyle(dst []byte, y, m, d int64, env *Env) []byte {
	sep, dmy := byte('/'), env.DateOrder == DMY
	switch env.DateStyle {
	case DateGerman:
		sep, dmy = '.', true
	case DatePostgres:
		sep = '-'
	}
	if dmy {
		m, d = d, m
	}
	dst = append2(append(append2(dst, m), sep), d)
	return appendYear(append(dst, sep), y)
}

// appendTimestampStyle appends a time as the clock of loc shows it; nil: without a zone.
func appendTimestampStyle(dst []byte, ts int64, env *Env, loc *time.Location) []byte {
	off, abbrev := int64(0), ""
	if loc != nil {
		off = offsetAt(ts, loc)
		abbrev = zoneAbbrev(ts, loc)
		if strings.HasPrefix(abbrev, "<") {
			abbrev, _, _ = strings.Cut(abbrev[1:], ">")
		}
	}
	days, us := splitDay(ts + off*usecPerSec)
	y, m, d := CivilFromDays(days)
	if env.DateStyle == DatePostgres {
		// 2000-01-01 was a Saturday.
		dst = append(append(dst, dayNames[((days+6)%7+7)%7][:3]...), ' ')
		if env.DateOrder == DMY {
			dst = append(append(append2(dst, d), ' '), monthNames[m-1][:3]...)
		} else {
			dst = append2(append(append(dst, monthNames[m-1][:3]...), ' '), d)
		}
		dst = appendYear(append(appendClock(append(dst, ' '), us), ' '), y)
	} else {
		dst = appendClock(append(appendDateStyle(dst, y, m, d, env), ' '), us)
	}
	if loc != nil {
		switch {
		case len(abbrev) > 2 && !strings.Contains(abbrev, "."):
			dst = append(append(dst, ' '), abbrev...)
		case env.DateStyle == DatePostgres:
			dst = appendOffset(append(dst, ' '), off)
		case abbrev != "":
			dst = appendOffset(append(dst, ' '), off) // of a zone that is a number
		default:
			dst = appendOffset(dst, off)
		}
	}
	return appendEra(dst, y)
}

// appendSeconds appends seconds and microseconds without their sign.
func appendSeconds(dst []byte, sec, us int64, pad bool) []byte {
	sec, us = int64(abs64(sec)), int64(abs64(us))
	if pad {
		dst = append2(dst, sec)
	} else {
		dst = appendInt(dst, sec)
	}
	return appendFraction(dst, us)
}

// appendIntervalStyle appends an interval in one of the styles but the usual one.
func appendIntervalStyle(dst []byte, v Span, style IntervalStyle) []byte {
	year, mon, day := int64(v.Months/12), int64(v.Months%12), int64(v.Days)
	us := v.Micros
	hour, min, sec := us/usecPerHour, us/usecPerMin%60, us/usecPerSec%60
	us %= usecPerSec
	switch style {
	case IntervalISO:
		return appendIntervalISO(dst, year, mon, day, hour, min, sec, us)
	case IntervalSQL:
		return appendIntervalSQL(dst, year, mon, day, hour, min, sec, us)
	}
	dst = append(dst, '@')
	zero, before := true, false
	part := func(n int64, unit string) {
		if n == 0 {
			return
		}
		if zero {
			before = n < 0
			n = int64(abs64(n))
		} else if before {
			n = -n
		}
		dst = append(append(appendInt(append(dst, ' '), n), ' '), unit...)
		if n != 1 {
			dst = append(dst, 's')
		}
		zero = false
	}
	part(year, "year")
	part(mon, "mon")
	part(day, "day")
	part(hour, "hour")
	part(min, "min")
	if sec != 0 || us != 0 {
		dst = append(dst, ' ')
		switch {
		case sec < 0 || us < 0:
			if zero {
				before = true
			} else if !before {
				dst = append(dst, '-')
			}
		case before:
			dst = append(dst, '-')
		}
		dst = append(appendSeconds(dst, sec, us, false), " sec"...)
		if abs64(sec) != 1 || us != 0 {
			dst = append(dst, 's')
		}
		zero = false
	}
	if zero {
		dst = append(dst, " 0"...)
	}
	if before {
		dst = append(dst, " ago"...)
	}
	return dst
}

func appendIntervalISO(dst []byte, year, mon, day, hour, min, sec, us int64) []byte {
	if year == 0 && mon == 0 && day == 0 && hour == 0 && min == 0 && sec == 0 && us == 0 {
		return append(dst, "PT0S"...)
	}
	part := func(n int64, unit byte) {
		if n != 0 {
			dst = append(appendInt(dst, n), unit)
		}
	}
	dst = append(dst, 'P')
	part(year, 'Y')
	part(mon, 'M')
	part(day, 'D')
	if hour != 0 || min != 0 || sec != 0 || us != 0 {
		dst = append(dst, 'T')
	}
	part(hour, 'H')
	part(min, 'M')
	if sec != 0 || us != 0 {
		if sec < 0 || us < 0 {
			dst = append(dst, '-')
		}
		dst = append(appendSeconds(dst, sec, us, false), 'S')
	}
	return dst
}

func appendIntervalSQL(dst []byte, year, mon, day, hour, min, sec, us int64) []byte {
	anyOf := func(f func(int64) bool, ns ...int64) bool {
		for _, n := range ns {
			if f(n) {
				return true
			}
		}
		return false
	}
	neg, pos, set := func(n int64) bool { return n < 0 }, func(n int64) bool { return n > 0 }, func(n int64) bool { return n != 0 }
	hasNeg, hasPos := anyOf(neg, year, mon, day, hour, min, sec, us), anyOf(pos, year, mon, day, hour, min, sec, us)
	hasMonths, hasTime := anyOf(set, year, mon), anyOf(set, day, hour, min, sec, us)
	sign := func(minus bool) {
		if minus {
			dst = append(dst, '-')
		} else {
			dst = append(dst, '+')
		}
	}
	num := func(n int64) { dst = appendInt(dst, int64(abs64(n))) }
	clock := func() {
		num(hour)
		dst = append2(append(dst, ':'), int64(abs64(min)))
		dst = appendSeconds(append(dst, ':'), sec, us, true)
	}
	standard := !(hasNeg && hasPos) && !(hasMonths && hasTime)
	switch {
	case !hasNeg && !hasPos:
		return append(dst, '0')
	case !standard:
		sign(year < 0 || mon < 0)
		num(year)
		dst = append(dst, '-')
		num(mon)
		dst = append(dst, ' ')
		sign(day < 0)
		num(day)
		dst = append(dst, ' ')
		sign(hour < 0 || min < 0 || sec < 0 || us < 0)
		clock()
		return dst
	}
	if hasNeg {
		dst = append(dst, '-')
	}
	switch {
	case hasMonths:
		num(year)
		dst = append(dst, '-')
		num(mon)
	case day != 0:
		num(day)
		dst = append(dst, ' ')
		clock()
	default:
		clock()
	}
	return dst
}

// negateSQL reads the sign at the beginning of an interval as the SQL standard has it: it is that of all fields, if no other
// field has one.
func negateSQL(s string, v Span) Span {
	s = strings.TrimSpace(s)
	if !strings.HasPrefix(s, "-") {
		return v
	}
	for i, f := range strings.Fields(s) {
		if i > 0 && (f[0] == '-' || f[0] == '+') {
			return v
		}
	}
	v.Months, v.Days, v.Micros = min(v.Months, -v.Months), min(v.Days, -v.Days), min(v.Micros, -v.Micros)
	return v
}

// jsonFormat is the text of a value in JSON, where dates and times are in ISO form whatever the style.
func jsonFormat(t Type, d Datum, env *Env) string {
	switch t.Kind {
	case Date, Timestamp, Timestamptz:
		if env != nil && env.DateStyle != DateISO {
			iso := *env
			iso.DateStyle = DateISO
			env = &iso
		}
	}
	return Format(t, d, env)
}
