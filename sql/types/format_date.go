package types

import (
	"strings"
	"time"

	"github.com/weirdb/weir/sql/sqlerr"
)

// DateFormat is a compiled template of to_char for dates and of to_date and to_timestamp.
type DateFormat struct {
	nodes []fmtNode
}

// CompileDateFormat reads a template. Every text is a template: what is no pattern is literal.
func CompileDateFormat(s string) DateFormat {
	return DateFormat{parseTemplate(s, datePatterns, true)}
}

// Empty says whether the template is the empty string, for which to_char gives NULL.
func (f DateFormat) Empty() bool { return len(f.nodes) == 0 }

// Unit gives a number of microseconds such that all timestamps of one multiple of it have one text: a day for a template of
// dates, for example; 1 if the template shows all of the timestamp.
func (f DateFormat) Unit() int64 {
	unit := int64(usecPerDay)
	for i := range f.nodes {
		n := &f.nodes[i]
		if n.kind != nodePattern {
			continue
		}
		switch n.key {
		case "A.M.", "P.M.", "AM", "PM", "HH", "HH12", "HH24":
			unit = min(unit, usecPerHour)
		case "MI":
			unit = min(unit, usecPerMin)
		case "SS", "SSSS", "SSSSS":
			unit = min(unit, usecPerSec)
		case "MS", "US", "FF1", "FF2", "FF3", "FF4", "FF5", "FF6":
			return 1
		}
	}
	return unit
}

var (
	monthNames = [12]string{"January", "February", "March", "April", "May", "June", "July", "August",
		"September", "October", "November", "December"}
	dayNames   = [7]string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}
	romanMonth = [12]string{"I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"}
)

// broken is a date and time broken into the fields that patterns print.
type broken struct {
	year, month, day, hour, min, sec, micros int64
	yday, days                               int64
	// offset and zone belong to a timestamptz only.
	offset   int64
	zone     string
	interval bool
}

// AppendTimestamp appends a finite timestamp.
func (f DateFormat) AppendTimestamp(dst []byte, ts int64) ([]byte, error) {
	b := breakDown(ts)
	return f.append(dst, &b)
}

// AppendTimestamptz appends a finite timestamptz as the clock of loc shows it.
func (f DateFormat) AppendTimestamptz(dst []byte, ts int64, loc *time.Location) ([]byte, error) {
	off := offsetAt(ts, loc)
	b := breakDown(ts + off*usecPerSec)
	b.offset, b.zone = off, zoneAbbrev(ts, loc)
	return f.append(dst, &b)
}

// AppendInterval appends an interval; patterns that need a date are errors.
func (f DateFormat) AppendInterval(dst []byte, v Span) ([]byte, error) {
	b := broken{year: int64(v.Months / 12), month: int64(v.Months % 12), day: int64(v.Days), interval: true}
	b.hour, b.min = v.Micros/usecPerHour, v.Micros/usecPerMin%60
	b.sec, b.micros = v.Micros/usecPerSec%60, v.Micros%usecPerSec
	b.yday = (b.year*12+b.month)*30 + b.day
	return f.append(dst, &b)
}

func breakDown(ts int64) broken {
	days, us := splitDay(ts)
	var b broken
	b.year, b.month, b.day = CivilFromDays(days)
	b.hour, b.min = us/usecPerHour, us/usecPerMin%60
	b.sec, b.micros = us/usecPerSec%60, us%usecPerSec
	b.days = days
	b.yday = days - DaysFromCivil(b.year, 1, 1) + 1
	return b
}

func (f DateFormat) append(dst []byte, b *broken) ([]byte, error) {
	for i := range f.nodes {
		n := &f.nodes[i]
		if n.kind != nodePattern {
			dst = append(dst, n.text...)
			continue
		}
		var err error
		if dst, err = b.appendPattern(dst, n); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

// shownYear is the year without a sign; the patterns AD and BC tell them apart.
func (b *broken) shownYear(y int64) int64 {
	if b.interval || y > 0 {
		return y
	}
	return 1 - y
}

// number appends v with zeros in front up to width (and one more for a sign) unless FM is given,
// and the ordinal ending.
func (n *fmtNode) number(dst []byte, v int64, width int) []byte {
	if n.fill {
		width = 0
	}
	start := len(dst)
	if v < 0 {
		switch n.key {
		case "DD", "DDD", "IDDD", "WW", "IW":
			width-- // the sign counts as a digit here
		}
		dst = append(dst, '-')
		dst = appendPadded(dst, -v, width)
	} else {
		dst = appendPadded(dst, v, width)
	}
	if n.th != "" {
		dst = append(dst, ordinal(string(dst[start:]), n.th)...)
	}
	return dst
}

// cased writes a name as the pattern's spelling says: NAME, name or Name.
func (n *fmtNode) cased(dst []byte, name string, width int) []byte {
	switch {
	case n.text == n.key:
		name = strings.ToUpper(name)
	case n.text[0] >= 'a':
		name = strings.ToLower(name)
	}
	dst = append(dst, name...)
	if !n.fill {
		for i := len(name); i < width; i++ {
			dst = append(dst, ' ')
		}
	}
	return dst
}

func notForInterval() error {
	return sqlerr.Newf(sqlerr.InvalidDatetimeFormat, "invalid format specification for an interval value").
		WithHint("Intervals are not tied to specific calendar dates.")
}

func (b *broken) appendPattern(dst []byte, n *fmtNode) ([]byte, error) {
	if b.interval {
		switch n.key {
		case "TZ", "TZH", "TZM", "OF", "A.D.", "B.C.", "AD", "BC", "MONTH", "MON", "DAY", "DY", "D", "ID":
			return nil, notForInterval()
		}
	}
	switch n.key {
	case "A.M.", "P.M.", "AM", "PM":
		word := "A.M."
		if b.hour%24 >= 12 {
			word = "P.M."
		}
		if len(n.key) == 2 {
			word = word[:1] + "M"
		}
		return n.cased(dst, word, 0), nil
	case "HH", "HH12":
		h := b.hour % 12
		if h == 0 {
			h = 12
		}
		return n.number(dst, h, 2), nil
	case "HH24":
		return n.number(dst, b.hour, 2), nil
	case "MI":
		return n.number(dst, b.min, 2), nil
	case "SS":
		return n.number(dst, b.sec, 2), nil
	case "MS", "US", "FF1", "FF2", "FF3", "FF4", "FF5", "FF6":
		digits := 6
		if n.key == "MS" {
			digits = 3
		} else if n.key[0] == 'F' {
			digits = int(n.key[2] - '0')
		}
		// The width holds under FM too.
		m := fmtNode{th: n.th}
		return m.number(dst, b.micros/pow10[6-digits], digits), nil
	case "SSSS", "SSSSS":
		return n.number(dst, b.hour*3600+b.min*60+b.sec, 0), nil
	case "TZ":
		if n.text == "tz" {
			return append(dst, strings.ToLower(b.zone)...), nil
		}
		return append(dst, b.zone...), nil
	case "TZH":
		return appendPadded(append(dst, signOf(b.offset)), int64(abs64(b.offset))/3600, 2), nil
	case "TZM":
		return appendPadded(dst, int64(abs64(b.offset))%3600/60, 2), nil
	case "OF":
		width := 2
		if n.fill {
			width = 0
		}
		off := int64(abs64(b.offset))
		dst = appendPadded(append(dst, signOf(b.offset)), off/3600, width)
		if off%3600 != 0 {
			dst = append2(append(dst, ':'), off%3600/60)
		}
		return dst, nil
	case "A.D.", "B.C.", "AD", "BC":
		word := "A.D."
		if b.year <= 0 {
			word = "B.C."
		}
		if len(n.key) == 2 {
			word = word[:1] + word[2:3]
		}
		return n.cased(dst, word, 0), nil
	case "MONTH":
		return n.cased(dst, monthNames[b.month-1], 9), nil
	case "MON":
		return n.cased(dst, monthNames[b.month-1][:3], 0), nil
	case "DAY":
		return n.cased(dst, dayNames[dow(b.days)], 9), nil
	case "DY":
		return n.cased(dst, dayNames[dow(b.days)][:3], 0), nil
	case "MM":
		return n.number(dst, b.month, 2), nil
	case "DD":
		return n.number(dst, b.day, 2), nil
	case "DDD":
		return n.number(dst, b.yday, 3), nil
	case "IDDD":
		iy, _ := isoWeek(b.isoDays())
		first := isoYearStart(iy)
		return n.number(dst, b.isoDays()-first+1, 3), nil
	case "D":
		return n.number(dst, dow(b.days)+1, 0), nil
	case "ID":
		return n.number(dst, isoDow(b.days), 0), nil
	case "WW":
		return n.number(dst, (b.yday-1)/7+1, 2), nil
	case "IW":
		_, w := isoWeek(b.isoDays())
		return n.number(dst, w, 2), nil
	case "W":
		return n.number(dst, (b.day-1)/7+1, 0), nil
	case "Q":
		if b.month == 0 {
			return dst, nil
		}
		return n.number(dst, (b.month-1)/3+1, 0), nil
	case "CC":
		c := b.year / 100
		if !b.interval {
			if b.year > 0 {
				c = (b.year-1)/100 + 1
			} else {
				c = b.year/100 - 1
			}
		}
		return n.number(dst, c, 2), nil
	case "RM":
		return b.appendRoman(dst, n), nil
	case "J":
		if b.interval {
			return n.number(dst, DaysFromCivil(b.year, b.month, b.day)+julianShift, 0), nil
		}
		return n.number(dst, julianDay(b.days), 0), nil
	}
	return b.appendYear(dst, n), nil
}

// isoDays is the date for ISO weeks; intervals count as dates here.
func (b *broken) isoDays() int64 {
	if b.interval {
		return DaysFromCivil(b.year, b.month, b.day)
	}
	return b.days
}

// isoYearStart gives the Monday of the first week of an ISO year.
func isoYearStart(y int64) int64 {
	jan4 := DaysFromCivil(y, 1, 4)
	return jan4 - isoDow(jan4) + 1
}

func signOf(v int64) byte {
	if v < 0 {
		return '-'
	}
	return '+'
}

// appendYear appends the patterns of years.
func (b *broken) appendYear(dst []byte, n *fmtNode) []byte {
	y := b.year
	if n.key[0] == 'I' {
		y, _ = isoWeek(b.isoDays())
	}
	y = b.shownYear(y)
	switch n.key {
	case "Y,YYY":
		start := len(dst)
		dst = appendInt(dst, y/1000)
		dst = append(dst, ',')
		if low := y % 1000; low < 0 {
			dst = appendPadded(append(dst, '-'), -low, 2)
		} else {
			dst = appendPadded(dst, low, 3)
		}
		if n.th != "" {
			dst = append(dst, ordinal(string(dst[start:]), n.th)...)
		}
		return dst
	case "YYYY", "IYYY":
		return n.number(dst, y, 4)
	case "YYY", "IYY":
		return n.number(dst, y%1000, 3)
	case "YY", "IY":
		return n.number(dst, y%100, 2)
	case "Y", "I":
		return n.number(dst, y%10, 1)
	}
	return dst // FX
}

// appendRoman appends the month in Roman numerals; months of intervals may be 0 or negative.
func (b *broken) appendRoman(dst []byte, n *fmtNode) []byte {
	if b.month == 0 && b.year == 0 {
		return dst
	}
	i := b.month - 1
	switch {
	case b.month == 0 && b.year >= 0:
		i = 11
	case b.month == 0:
		i = 0
	case b.month < 0:
		i = b.month + 12
	}
	return n.cased(dst, romanMonth[i], 4)
}
