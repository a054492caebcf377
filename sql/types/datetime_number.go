package types

import (
	"math"
	"strings"
)

// number reads one numeric part of a date; what it is depends on the parts already read.
func (d *dateTime) number(text string, have fieldSet) (fieldSet, error) {
	v, rest, ok := leadingInt(text)
	if !ok {
		if isDigits(text) {
			return 0, errDTField
		}
		return 0, errDTFormat
	}
	if v > math.MaxInt32 {
		return 0, errDTField
	}
	if rest != "" {
		if rest[0] != '.' {
			return 0, errDTFormat
		}
		if len(text)-len(rest) > 2 {
			return d.runTogether(text, have|fDate)
		}
		f, err := fractionMicros(rest)
		if err != nil {
			return 0, err
		}
		d.micros = f
	}
	if len(text) == 3 && have&fDate == fYear && v >= 1 && v <= 366 {
		d.yday = v
		return fDOY | fMonth | fDay, nil
	}
	var got fieldSet
	year := func() {
		d.year = v
		d.twoDigitYear = len(text) <= 2
		got = fYear
	}
	day := func() { d.day, got = v, fDay }
	month := func() { d.month, got = v, fMonth }
	switch have & fDate {
	case 0:
		switch {
		case len(text) >= 3 || d.order == YMD:
			year()
		case d.order == DMY:
			day()
		default:
			month()
		}
	case fYear:
		month()
	case fMonth:
		if d.textMonth && (len(text) >= 3 || d.order == YMD) {
			year()
		} else {
			day()
		}
	case fYear | fMonth:
		if d.textMonth && len(text) >= 3 && d.twoDigitYear {
			// The first number was the day after all.
			d.day, d.year, d.twoDigitYear = d.year, v, false
			got = fDay
		} else {
			day()
		}
	case fDay:
		month()
	case fMonth | fDay:
		year()
	case fDate:
		return d.runTogether(text, have)
	default:
		return 0, errDTFormat
	}
	return got, nil
}

// runTogether reads digits without separators: yyyymmdd, yymmdd, hhmmss, hhmm, with a fraction.
func (d *dateTime) runTogether(text string, have fieldSet) (fieldSet, error) {
	digits, micros := text, int64(0)
	point := strings.IndexByte(text, '.')
	if point >= 0 {
		f, err := fractionMicros(text[point:])
		if err != nil {
			return 0, err
		}
		digits, micros = text[:point], f
	}
	if !isDigits(digits) {
		return 0, errDTFormat
	}
	n := len(digits)
	if point < 0 && have&fDate != fDate && n >= 6 {
		y, _, ok := leadingInt(digits[:n-4])
		if !ok || y > math.MaxInt32 {
			return 0, errDTField
		}
		d.year = y
		d.month = two(digits[n-4:])
		d.day = two(digits[n-2:])
		d.twoDigitYear = n == 6
		return fDate, nil
	}
	if have&fTime != fTime {
		switch n {
		case 6:
			d.hour, d.min, d.sec, d.micros = two(digits), two(digits[2:]), two(digits[4:]), micros
		case 4:
			d.hour, d.min, d.sec, d.micros = two(digits), two(digits[2:]), 0, micros
		default:
			return 0, errDTFormat
		}
		// Not checked: 2460 is an hour and a minute more than a day, as in Postgres.
		return fTime, nil
	}
	return 0, errDTFormat
}

func two(s string) int64 { return int64(s[0]-'0')*10 + int64(s[1]-'0') }

// clock reads hh:mm[:ss[.f]]; mm:ss.f has no hours.
func (d *dateTime) clock(text string) error {
	h, m, s, us, err := parseClock(text, false)
	if err != nil {
		return err
	}
	d.hour, d.min, d.sec, d.micros = h, m, s, us
	return d.checkClock()
}

func (d *dateTime) checkClock() error {
	if d.hour > 24 || d.min > 59 || d.sec > 60 || d.micros > usecPerSec ||
		d.hour == 24 && (d.min > 0 || d.sec > 0 || d.micros > 0) ||
		d.hour*usecPerHour+d.min*usecPerMin+d.sec*usecPerSec+d.micros > usecPerDay {
		return errDTField
	}
	return nil
}

// parseClock reads the fields of a time of day or, if minSec, of an interval from minute to second.
func parseClock(text string, minSec bool) (h, m, s, us int64, err error) {
	bad := func(e error) (int64, int64, int64, int64, error) { return 0, 0, 0, 0, e }
	h, rest, ok := leadingInt(text)
	if !ok {
		if text != "" && isDigit(text[0]) {
			return bad(errDTField)
		}
		return bad(errDTFormat)
	}
	if rest == "" || rest[0] != ':' {
		return bad(errDTFormat)
	}
	m, rest, ok = leadingInt(rest[1:])
	if !ok {
		return bad(errDTFormat)
	}
	switch {
	case rest == "":
		if minSec {
			h, m, s = 0, h, m
		}
	case rest[0] == '.':
		if us, err = fractionMicros(rest); err != nil {
			return bad(err)
		}
		h, m, s = 0, h, m
	case rest[0] == ':':
		s, rest, ok = leadingInt(rest[1:])
		if !ok {
			return bad(errDTFormat)
		}
		if rest != "" {
			if rest[0] != '.' {
				return bad(errDTFormat)
			}
			if us, err = fractionMicros(rest); err != nil {
				return bad(err)
			}
		}
	default:
		return bad(errDTFormat)
	}
	if m > 59 || s > 60 {
		return bad(errDTField)
	}
	return h, m, s, us, nil
}

// fractionMicros reads ".ddd" as microseconds, rounded half to even as C's rint does.
func fractionMicros(s string) (int64, error) {
	if len(s) <= 7 {
		v := int64(0)
		for i := 1; i < len(s); i++ {
			if !isDigit(s[i]) {
				return 0, errDTFormat
			}
			v = v*10 + int64(s[i]-'0')
		}
		for i := len(s); i < 7; i++ {
			v *= 10
		}
		return v, nil
	}
	f, err := fraction(s)
	if err != nil {
		return 0, err
	}
	return int64(math.RoundToEven(f * usecPerSec)), nil
}

// fraction reads ".ddd" as a number below 1; a lone point is 0.
func fraction(s string) (float64, error) {
	if s == "." {
		return 0, nil
	}
	if !isDigits(s[1:]) {
		return 0, errDTFormat
	}
	f, err := parseFloat("0"+s, 64)
	if err != nil {
		return 0, nil // too small for a float64
	}
	return f, nil
}

// parseOffset reads a zone offset: +hh, +hhmm, +hh:mm, +hh:mm:ss. The result is seconds east.
func parseOffset(s string) (int64, error) {
	if s == "" || s[0] != '+' && s[0] != '-' {
		return 0, errDTFormat
	}
	h, rest, ok := leadingInt(s[1:])
	if !ok {
		return 0, errDTFormat
	}
	var m, sec int64
	switch {
	case strings.HasPrefix(rest, ":"):
		if m, rest, ok = leadingInt(rest[1:]); !ok {
			return 0, errDTFormat
		}
		if strings.HasPrefix(rest, ":") {
			if sec, rest, ok = leadingInt(rest[1:]); !ok {
				return 0, errDTFormat
			}
		}
	case rest == "" && len(s) > 3:
		h, m = h/100, h%100
	}
	if h > 15 || m > 59 || sec > 59 {
		return 0, errDTZone
	}
	if rest != "" {
		return 0, errDTFormat
	}
	off := h*3600 + m*60 + sec
	if s[0] == '-' {
		off = -off
	}
	return off, nil
}
