package types

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weirdb/weir/sql/sqlerr"
)

// parsedDate is what to_timestamp has read so far; 0 means nothing.
type parsedDate struct {
	mode           byte // 'G' for Gregorian patterns, 'I' for ISO weeks
	hh, mi, ss     int64
	ssss           int64
	ms, us         int64
	d, dd, ddd     int64
	mm, year, ww   int64
	w, cc, j       int64
	tzh, tzm       int64
	tzSign         int64
	yearDigits     int
	bc, pm, half   bool // half: the clock has 12 hours
	skipped        int  // blanks and separators beyond those of the template
	input, current string
	fixed          bool
}

func formatError(format string, args ...any) *sqlerr.Error {
	return sqlerr.Newf(sqlerr.InvalidDatetimeFormat, format, args...)
}

// scan reads input by the template.
func (f DateFormat) scan(input string) (*parsedDate, error) {
	p := &parsedDate{input: input, current: input}
	for i := range f.nodes {
		n := &f.nodes[i]
		if p.current == "" {
			break
		}
		if !p.fixed && (n.kind == nodePattern || i == 0) {
			for p.current != "" && isSpace(p.current[0]) {
				p.current = p.current[1:]
				p.skipped++
			}
		}
		if n.kind != nodePattern {
			p.literal(n)
			continue
		}
		if err := p.pattern(f.nodes, i); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// literal passes over input for a literal character of the template.
func (p *parsedDate) literal(n *fmtNode) {
	if p.current == "" {
		return
	}
	_, size := utf8.DecodeRuneInString(p.current)
	switch {
	case p.fixed:
		p.current = p.current[size:]
	case n.kind == nodeSpace || n.kind == nodeSeparator:
		p.skipped--
		if isSpace(p.current[0]) || isSeparator(p.current[0]) {
			p.current = p.current[1:]
			p.skipped++
		}
	case p.skipped > 0:
		p.skipped--
	default:
		p.current = p.current[size:]
	}
}

// dateMode says to which calendar a pattern belongs.
func dateMode(key string) byte {
	switch key {
	case "DDD", "DD", "D", "MONTH", "MON", "MM", "RM", "WW", "W", "Y,YYY", "YYYY", "YYY", "YY", "Y":
		return 'G'
	case "IDDD", "ID", "IW", "IYYY", "IYY", "IY", "I":
		return 'I'
	}
	return 0
}

// digitPattern says whether the pattern reads digits first.
func digitPattern(key string) bool {
	switch key {
	case "CC", "DDD", "DD", "D", "HH24", "HH12", "HH", "IDDD", "ID", "IW", "IYYY", "IYY", "IY", "I", "J",
		"MI", "MM", "MS", "Q", "SSSSS", "SSSS", "SS", "TZM", "US", "WW", "W", "Y,YYY", "YYYY", "YYY", "YY", "Y":
		return true
	}
	return false
}

// delimited says whether what follows pattern i in the template cannot be a digit.
func delimited(nodes []fmtNode, i int) bool {
	if nodes[i].th != "" || i+1 == len(nodes) {
		return true
	}
	n := &nodes[i+1]
	if n.kind == nodePattern {
		return !digitPattern(n.key)
	}
	return !(len(n.text) == 1 && isDigit(n.text[0]))
}

// integer reads a number of width digits, or of any length where no digit can follow, into dest,
// unless dest is nil; it gives the characters read.
func (p *parsedDate) integer(dest *int64, nodes []fmtNode, i, width int) (int, error) {
	n := &nodes[i]
	before := len(p.current)
	s := strings.TrimLeft(p.current, " \t\n\v\f\r")
	text := s[:min(width, len(s))]
	hint := "If your source string is not fixed-width, try using the \"FM\" modifier."
	var v int64
	overflow := false
	if n.fill || delimited(nodes, i) {
		var used int
		v, used, overflow = cInteger(s)
		if used == 0 {
			return 0, formatError("invalid value \"%s\" for \"%s\"", text, n.text).WithDetail("Value must be an integer.")
		}
		s = s[used:]
	} else {
		if len(s) < width {
			return 0, formatError("source string too short for \"%s\" formatting field", n.text).
				WithDetail("Field requires %d characters, but only %d remain.", width, len(s)).WithHint("%s", hint)
		}
		var used int
		v, used, overflow = cInteger(text)
		if used > 0 && used < width {
			return 0, formatError("invalid value \"%s\" for \"%s\"", text, n.text).
				WithDetail("Field requires %d characters, but only %d could be parsed.", width, used).WithHint("%s", hint)
		}
		if used == 0 {
			return 0, formatError("invalid value \"%s\" for \"%s\"", text, n.text).WithDetail("Value must be an integer.")
		}
		s = s[used:]
	}
	if overflow || !fits32(v) {
		return 0, sqlerr.Newf(sqlerr.DatetimeFieldOverflow, "value for \"%s\" in source string is out of range", n.text).
			WithDetail("Value must be in the range %d to %d.", math.MinInt32, math.MaxInt32)
	}
	p.current = s
	if dest != nil {
		if err := n.set(dest, v); err != nil {
			return 0, err
		}
	}
	return before - len(s), nil
}

// cInteger reads an integer at the start of s as C's strtol does.
func cInteger(s string) (v int64, used int, overflow bool) {
	i := 0
	for i < len(s) && isSpace(s[i]) {
		i++
	}
	start := i
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		i++
	}
	digits := i
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	if i == digits {
		return 0, 0, false
	}
	v, err := strconv.ParseInt(s[start:i], 10, 64)
	return v, i, err != nil
}

// set stores a field and rejects a second value for it.
func (n *fmtNode) set(dest *int64, v int64) error {
	if *dest != 0 && *dest != v {
		return formatError("conflicting values for \"%s\" field in formatting string", n.text).
			WithDetail("This value contradicts a previous setting for the same field type.")
	}
	*dest = v
	return nil
}

// word reads one of the words in any case and gives its index.
func (p *parsedDate) word(n *fmtNode, words []string) (int64, error) {
	for i, w := range words {
		if len(p.current) >= len(w) && strings.EqualFold(p.current[:len(w)], w) {
			p.current = p.current[len(w):]
			return int64(i), nil
		}
	}
	text := p.current
	if cut := strings.IndexAny(text, " \t\n\v\f\r"); cut >= 0 {
		text = text[:cut]
	}
	return 0, formatError("invalid value \"%s\" for \"%s\"", text, n.text).
		WithDetail("The given value did not match any of the allowed values for this field.")
}

// fullYear completes a year of less than four digits to the one nearest 2020.
func fullYear(y int64) int64 {
	switch {
	case y < 70:
		return y + 2000
	case y < 100:
		return y + 1900
	case y < 520:
		return y + 2000
	case y < 1000:
		return y + 1000
	}
	return y
}

// pattern reads input for pattern i.
func (p *parsedDate) pattern(nodes []fmtNode, i int) error {
	n := &nodes[i]
	if m := dateMode(n.key); m != 0 {
		if p.mode != 0 && p.mode != m {
			return formatError("invalid combination of date conventions").
				WithHint("Do not mix Gregorian and ISO week date conventions in a formatting template.")
		}
		p.mode = m
	}
	num := func(dest *int64, width int) error {
		_, err := p.integer(dest, nodes, i, width)
		return err
	}
	// fraction scales a fraction of a second of fewer digits than the unit has.
	fraction := func(dest *int64, width, unit int) error {
		used, err := p.integer(dest, nodes, i, width)
		if err == nil && used < unit {
			*dest *= pow10[unit-used]
		}
		return err
	}
	var err error
	switch n.key {
	case "FX":
		p.fixed = true
		return nil
	case "A.M.", "P.M.", "AM", "PM":
		words := []string{"am", "pm"}
		if len(n.key) > 2 {
			words = []string{"a.m.", "p.m."}
		}
		var v int64
		if v, err = p.word(n, words); err == nil {
			p.pm, p.half = v == 1, true
		}
		return err
	case "HH", "HH12":
		p.half = true
		err = num(&p.hh, 2)
	case "HH24":
		err = num(&p.hh, 2)
	case "MI":
		err = num(&p.mi, 2)
	case "SS":
		err = num(&p.ss, 2)
	case "MS":
		err = fraction(&p.ms, 3, 3)
	case "US":
		err = fraction(&p.us, 6, 6)
	case "FF1", "FF2", "FF3", "FF4", "FF5", "FF6":
		err = fraction(&p.us, int(n.key[2]-'0'), 6)
	case "SSSS", "SSSSS":
		err = num(&p.ssss, len(n.key))
	case "TZ", "OF":
		return sqlerr.Newf(sqlerr.FeatureNotSupported, "formatting field \"%s\" is only supported in to_char", n.text)
	case "TZH":
		p.tzSign = 1
		switch at := len(p.input) - len(p.current); {
		case p.current != "" && (p.current[0] == '+' || p.current[0] == '-' || p.current[0] == ' '):
			if p.current[0] == '-' {
				p.tzSign = -1
			}
			p.current = p.current[1:]
		case p.skipped > 0 && at > 0 && p.input[at-1] == '-':
			// The sign was taken for a separator.
			p.tzSign = -1
		}
		err = num(&p.tzh, 2)
	case "TZM":
		if p.tzSign == 0 {
			p.tzSign = 1
		}
		err = num(&p.tzm, 2)
	case "A.D.", "B.C.", "AD", "BC":
		words := []string{"ad", "bc"}
		if len(n.key) > 2 {
			words = []string{"a.d.", "b.c."}
		}
		var v int64
		if v, err = p.word(n, words); err == nil {
			p.bc = v == 1
		}
		return err
	case "MONTH", "MON":
		err = p.name(n, &p.mm, monthNames[:], n.key == "MON")
	case "DAY", "DY":
		err = p.name(n, &p.d, dayNames[:], n.key == "DY")
	case "MM":
		err = num(&p.mm, 2)
	case "DDD":
		err = num(&p.ddd, 3)
	case "IDDD":
		err = num(&p.ddd, 3)
	case "DD":
		err = num(&p.dd, 2)
	case "D":
		err = num(&p.d, 1)
	case "ID":
		if err = num(&p.d, 1); err == nil {
			// Counted from Sunday like D.
			if p.d++; p.d > 7 {
				p.d = 1
			}
		}
	case "WW", "IW":
		err = num(&p.ww, 2)
	case "Q":
		err = num(nil, 1) // which day of the quarter is meant is unknown
	case "CC":
		err = num(&p.cc, 2)
	case "Y,YYY":
		err = p.commaYear(n)
	case "YYYY", "IYYY":
		p.yearDigits = 4
		err = num(&p.year, 4)
	case "YYY", "IYY", "YY", "IY", "Y", "I":
		p.yearDigits = len(strings.TrimPrefix(n.key, "I"))
		if n.key[0] == 'I' {
			p.yearDigits = len(n.key)
		}
		var used int
		if used, err = p.integer(&p.year, nodes, i, p.yearDigits); err == nil && used < 4 {
			p.year = fullYear(p.year)
		}
	case "RM":
		var v int64
		// The longest numeral first, so that VIII is not read as V.
		words := []string{"xii", "xi", "x", "ix", "viii", "vii", "vi", "v", "iv", "iii", "ii", "i"}
		if v, err = p.word(n, words); err == nil {
			err = n.set(&p.mm, 12-v)
		}
	case "W":
		err = num(&p.w, 1)
	case "J":
		err = num(&p.j, 1)
	}
	switch n.key {
	case "MONTH", "MON", "DAY", "DY", "RM", "TZH", "TZM":
		return err // names and zones have no ordinals
	}
	if err == nil && n.th != "" {
		for k := 0; k < 2 && p.current != ""; k++ {
			_, size := utf8.DecodeRuneInString(p.current)
			p.current = p.current[size:]
		}
	}
	return err
}

// name reads the name of a month or day, full or of three letters, as a number from 1.
func (p *parsedDate) name(n *fmtNode, dest *int64, names []string, short bool) error {
	words := names
	if short {
		words = make([]string, len(names))
		for i, w := range names {
			words[i] = w[:3]
		}
	}
	v, err := p.word(n, words)
	if err != nil {
		return err
	}
	return n.set(dest, v+1)
}

// commaYear reads a year like 2,020.
func (p *parsedDate) commaYear(n *fmtNode) error {
	thousands, used, _ := cInteger(p.current)
	rest := p.current[used:]
	if used == 0 || rest == "" || rest[0] != ',' {
		return formatError("invalid input string for \"Y,YYY\"")
	}
	rest = rest[1:]
	low, used, _ := cInteger(rest[:min(3, len(rest))])
	if used == 0 {
		return formatError("invalid input string for \"Y,YYY\"")
	}
	p.current = rest[used:]
	p.yearDigits = 4
	return n.set(&p.year, thousands*1000+low)
}

// ParseTimestamptz is to_timestamp(text, text).
func (f DateFormat) ParseTimestamptz(input string, loc *time.Location) (int64, error) {
	b, p, err := f.parse(input)
	if err != nil {
		return 0, err
	}
	days := DaysFromCivil(b.year, b.month, b.day)
	if days < minDate-1 || days > endTimestamp/usecPerDay {
		return 0, timestampOutOfRange()
	}
	ts := days*usecPerDay + b.hour*usecPerHour + b.min*usecPerMin + b.sec*usecPerSec + b.micros
	if p.tzSign != 0 {
		ts -= p.tzSign * (p.tzh*3600 + p.tzm*60) * usecPerSec
	} else {
		ts = FromLocal(ts, loc)
	}
	if !validTimestamp(ts) {
		return 0, timestampOutOfRange()
	}
	return ts, nil
}

// ParseDate is to_date(text, text).
func (f DateFormat) ParseDate(input string) (int64, error) {
	b, _, err := f.parse(input)
	if err != nil {
		return 0, err
	}
	days := DaysFromCivil(b.year, b.month, b.day)
	if days < minDate || days >= endDate {
		return 0, sqlerr.Newf(sqlerr.DatetimeFieldOverflow, "date out of range: \"%s\"", input)
	}
	return days, nil
}

// parse reads input and works out the date and time that its fields say.
func (f DateFormat) parse(input string) (*broken, *parsedDate, error) {
	p, err := f.scan(input)
	if err != nil {
		return nil, nil, err
	}
	b := &broken{month: 1, day: 1}
	if p.ssss != 0 {
		b.hour, b.min, b.sec = p.ssss/3600, p.ssss%3600/60, p.ssss%60
	}
	if p.ss != 0 {
		b.sec = p.ss
	}
	if p.mi != 0 {
		b.min = p.mi
	}
	if p.hh != 0 {
		b.hour = p.hh
	}
	if p.half {
		if b.hour < 1 || b.hour > 12 {
			return nil, nil, formatError("hour \"%d\" is invalid for the 12-hour clock", b.hour).
				WithHint("Use the 24-hour clock, or give an hour between 1 and 12.")
		}
		if p.pm && b.hour < 12 {
			b.hour += 12
		} else if !p.pm && b.hour == 12 {
			b.hour = 0
		}
	}
	have := p.resolveYear(b)
	more, err := p.resolveDay(b)
	if err != nil {
		return nil, nil, err
	}
	have |= more
	b.micros = p.ms*1000 + p.us
	bad := func(e error) (*broken, *parsedDate, error) { return nil, nil, dtError(e, "timestamp", input) }
	if have&fMonth != 0 && (b.month < 1 || b.month > 12) || have&fDay != 0 && (b.day < 1 || b.day > 31) ||
		have&fDate == fDate && b.day > daysInMonth(b.year, b.month) {
		return bad(errDTField)
	}
	if b.hour < 0 || b.hour >= 24 || b.min < 0 || b.min >= 60 || b.sec < 0 || b.sec >= 60 ||
		b.micros < 0 || b.micros >= usecPerSec {
		return bad(errDTField)
	}
	if p.tzSign != 0 && (p.tzh < 0 || p.tzh > 15 || p.tzm < 0 || p.tzm >= 60) {
		return bad(errDTZone)
	}
	return b, p, nil
}

// resolveYear works out the year from year, century and era.
func (p *parsedDate) resolveYear(b *broken) fieldSet {
	cc := p.cc
	if p.bc {
		cc = -cc
	}
	switch {
	case p.year != 0 && p.cc != 0 && p.yearDigits <= 2:
		b.year = p.year % 100
		switch {
		case b.year == 0 && cc >= 0:
			b.year = cc * 100
		case b.year == 0:
			b.year = cc*100 + 1
		case cc >= 0:
			b.year += (cc - 1) * 100
		default:
			b.year = (cc+1)*100 - b.year + 1
		}
	case p.year != 0:
		b.year = p.year
		if p.bc {
			b.year = -b.year
		}
		if b.year < 0 {
			b.year++
		}
	case p.cc != 0:
		if cc >= 0 {
			b.year = (cc-1)*100 + 1
		} else {
			b.year = cc*100 + 1
		}
	default:
		return 0
	}
	return fYear
}

// resolveDay works out month and day from the several ways to give them.
func (p *parsedDate) resolveDay(b *broken) (fieldSet, error) {
	have := fieldSet(0)
	if p.j != 0 {
		b.year, b.month, b.day = CivilFromDays(p.j - julianShift)
		have |= fDate
	}
	if p.ww != 0 {
		if p.mode == 'I' {
			days := isoYearStart(b.year) + (p.ww-1)*7
			// Days are counted from Sunday = 1, ISO weeks start on Monday.
			if p.d > 1 {
				days += p.d - 2
			} else if p.d == 1 {
				days += 6
			}
			b.year, b.month, b.day = CivilFromDays(days)
			have |= fDate
		} else {
			p.ddd = (p.ww-1)*7 + 1
		}
	}
	if p.w != 0 {
		p.dd = (p.w-1)*7 + 1
	}
	if p.dd != 0 {
		b.day = p.dd
		have |= fDay
	}
	if p.mm != 0 {
		b.month = p.mm
		have |= fMonth
	}
	if p.ddd == 0 || b.month > 1 && b.day > 1 {
		return have, nil
	}
	if b.year == 0 && !p.bc {
		return 0, formatError("cannot calculate day of year without year information")
	}
	if p.mode == 'I' {
		b.year, b.month, b.day = CivilFromDays(isoYearStart(b.year) + p.ddd - 1)
		return have | fDate, nil
	}
	month, before := int64(1), int64(0)
	for month <= 12 && p.ddd > before+daysInMonth(b.year, month) {
		before += daysInMonth(b.year, month)
		month++
	}
	if b.month <= 1 {
		b.month = month
	}
	if b.day <= 1 {
		b.day = p.ddd - before
	}
	return have | fMonth | fDay, nil
}
