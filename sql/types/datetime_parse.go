package types

import (
	"math"
	"strings"
	"time"
)

// fieldSet says which parts of a date and time have been read.
type fieldSet uint16

const (
	fYear fieldSet = 1 << iota
	fMonth
	fDay
	fDOY
	fHour
	fMinute
	fSecond
	fZone
	fDST
	fDow
	fEra
	fMeridiem
	fUnits

	fDate = fYear | fMonth | fDay
	fTime = fHour | fMinute | fSecond
)

// special says that input was a word instead of a date.
type special uint8

const (
	isNormal special = iota
	isEpoch
	isPosInf
	isNegInf
)

// DateOrder says how an ambiguous date like 01/02/03 is read.
type DateOrder uint8

// The date orders; MDY is the default.
const (
	MDY DateOrder = iota
	DMY
	YMD
)

// dateTime is what date/time input said.
type dateTime struct {
	special                special
	have                   fieldSet
	year, month, day       int64
	yday                   int64
	hour, min, sec, micros int64
	// offset is seconds east of UTC, valid if have holds fZone and zone is nil.
	offset int64
	// zone is a named zone; the offset follows from the date.
	zone *time.Location
	// dstShift is added to the offset of a zone followed by the word "dst".
	twoDigitYear, bc, textMonth, julian, pm, am bool
	order                                       DateOrder
}

// prefix is a letter that says what the next number is.
type prefix uint8

const (
	noPrefix prefix = iota
	timePrefix
	julianPrefix
)

// dateTimeMode says which parts are required.
type dateTimeMode uint8

const (
	modeTimestamp dateTimeMode = iota // a date; the time defaults to midnight
	modeTime                          // a time; a date is allowed and ignored
)

// parseDateTime reads date/time input in any form that Postgres takes.
func parseDateTime(s string, env *Env, mode dateTimeMode) (dateTime, error) {
	var buf [maxTokens]token
	d := dateTime{order: env.order()}
	toks, err := tokenize(s, buf[:])
	if err != nil {
		return d, err
	}
	pre := noPrefix
	for i := range toks {
		got, err := d.token(toks, i, &pre, env, mode)
		if err != nil {
			return d, err
		}
		if got&d.have != 0 {
			return d, errDTFormat
		}
		d.have |= got
	}
	if pre != noPrefix {
		return d, errDTFormat
	}
	if len(toks) == 0 {
		return d, errDTFormat
	}
	if d.special != isNormal {
		if d.have&^fZone != fDate|fTime && d.special != isEpoch || mode == modeTime {
			return d, errDTFormat
		}
		return d, nil
	}
	if err := d.validate(); err != nil {
		return d, err
	}
	if mode == modeTime {
		if err := d.checkClock(); err != nil {
			return d, err
		}
	}
	// "dst" shifts an offset; a named zone knows its own daylight-saving time.
	if d.have&(fDST|fZone) == fDST || d.zone != nil && d.have&fDST != 0 {
		return d, errDTFormat
	}
	if mode == modeTime {
		if d.have&fTime != fTime || d.zone != nil && d.have&fDate != fDate && !fixedZone(d.zone) {
			return d, errDTFormat
		}
		return d, nil
	}
	if d.have&fDate != fDate {
		return d, errDTFormat
	}
	return d, nil
}

// token reads token i and gives the fields that it set.
func (d *dateTime) token(toks []token, i int, pre *prefix, env *Env, mode dateTimeMode) (fieldSet, error) {
	t := toks[i]
	switch t.kind {
	case tokDate:
		dateFirst := i == 0 && len(toks) >= 2 && (toks[len(toks)-1].kind == tokDate || toks[1].kind == tokTime)
		return d.dateToken(t.text, pre, mode == modeTime && !dateFirst)
	case tokTime:
		if *pre == julianPrefix {
			return 0, errDTFormat
		}
		*pre = noPrefix
		if err := d.clock(t.text); err != nil {
			return 0, err
		}
		return fTime, nil
	case tokZone:
		off, err := parseOffset(t.text)
		if err != nil {
			return 0, err
		}
		d.offset = off
		return fZone, nil
	case tokNumber:
		if mode == modeTime && *pre == noPrefix {
			// A number is a time run together; only 2001.360 may be a date.
			if i == 0 && len(toks) >= 2 && toks[len(toks)-1].kind == tokDate && strings.IndexByte(t.text, '.') >= 0 {
				return d.date(t.text)
			}
			return d.runTogether(t.text, d.have|fDate)
		}
		return d.numberToken(t.text, pre)
	}
	return d.wordToken(toks, i, pre, env, mode)
}

// dateToken reads a date, or where noDate says so or there is one already, a time with a zone or
// a zone name.
func (d *dateTime) dateToken(text string, pre *prefix, noDate bool) (fieldSet, error) {
	switch {
	case *pre == julianPrefix:
		// A Julian day with a zone attached: J2451187-8
		*pre = noPrefix
		n, rest, ok := leadingInt(text)
		if !ok {
			return 0, errDTFormat
		}
		if n > math.MaxInt32 {
			return 0, errDTField
		}
		off, err := parseOffset(rest)
		if err != nil {
			return 0, err
		}
		d.setJulian(n)
		d.offset = off
		d.hour, d.min, d.sec, d.micros = 0, 0, 0, 0
		return fDate | fTime | fZone, nil
	case *pre != noPrefix || d.have&(fMonth|fDay) == fMonth|fDay || noDate:
		if isDigit(text[0]) || *pre != noPrefix {
			// A time run together, with a zone: T040506-08
			*pre = noPrefix
			if d.have&fTime == fTime {
				return 0, errDTFormat
			}
			cut := strings.IndexByte(text, '-')
			if cut < 0 {
				return 0, errDTFormat
			}
			off, err := parseOffset(text[cut:])
			if err != nil {
				return 0, err
			}
			got, err := d.runTogether(text[:cut], d.have)
			if err != nil {
				return 0, err
			}
			d.offset = off
			return got | fZone, nil
		}
		loc, ok := namedZone(text)
		if !ok {
			if loc, ok = posixZone(text); !ok {
				return 0, zoneUnknown(text)
			}
		}
		d.zone = loc
		return fZone, nil
	}
	return d.date(text)
}

// date reads a date whose parts are joined by separators.
func (d *dateTime) date(text string) (fieldSet, error) {
	var parts []string
	var text0 bool
	for i := 0; i < len(text); {
		c := text[i]
		j := i
		switch {
		case isDigit(c):
			for i < len(text) && isDigit(text[i]) {
				i++
			}
		case isAlpha(c):
			for i < len(text) && isAlpha(text[i]) {
				i++
			}
		default:
			i++
			continue
		}
		parts = append(parts, text[j:i])
		if len(parts) > maxTokens {
			return 0, errDTFormat
		}
	}
	got := fieldSet(0)
	for i, p := range parts {
		if !isAlpha(p[0]) {
			continue
		}
		w, ok := lookupWord(p)
		switch {
		case ok && w.kind == wordIgnore:
		case ok && w.kind == wordMonth && got&fMonth == 0:
			d.month = w.value
			got |= fMonth
			text0 = true
		default:
			return 0, errDTFormat
		}
		parts[i] = ""
	}
	textMonth := d.textMonth
	d.textMonth = text0
	for _, p := range parts {
		if p == "" {
			continue
		}
		m, err := d.number(p, d.have|got)
		if err != nil {
			return 0, err
		}
		if m&(d.have|got) != 0 {
			return 0, errDTFormat
		}
		got |= m
	}
	d.textMonth = textMonth || text0
	if (d.have|got)&^(fDOY|fZone) != fDate {
		return 0, errDTFormat
	}
	return got, nil
}

func (d *dateTime) numberToken(text string, pre *prefix) (fieldSet, error) {
	switch *pre {
	case julianPrefix:
		*pre = noPrefix
		n, rest, ok := leadingInt(text)
		if !ok {
			return 0, errDTFormat
		}
		if n > math.MaxInt32 {
			return 0, errDTField
		}
		d.setJulian(n)
		if rest == "" {
			return fDate, nil
		}
		if rest[0] != '.' {
			return 0, errDTFormat
		}
		f, err := fraction(rest)
		if err != nil {
			return 0, err
		}
		us := int64(f * usecPerDay)
		d.hour, d.min = us/usecPerHour, us/usecPerMin%60
		d.sec, d.micros = us/usecPerSec%60, us%usecPerSec
		return fDate | fTime, nil
	case timePrefix:
		*pre = noPrefix
		got, err := d.runTogether(text, d.have|fDate)
		if err == nil && got != fTime {
			return 0, errDTFormat
		}
		return got, err
	}
	point := strings.IndexByte(text, '.')
	switch {
	case point >= 0 && d.have&fDate == 0:
		return d.date(text)
	case point > 2:
		return d.runTogether(text, d.have)
	case len(text) >= 6 && (d.have&fDate == 0 || d.have&fTime == 0):
		return d.runTogether(text, d.have)
	}
	return d.number(text, d.have)
}

func (d *dateTime) setJulian(n int64) {
	d.year, d.month, d.day = CivilFromDays(n - julianShift)
	d.julian = true
}

func (d *dateTime) wordToken(toks []token, i int, pre *prefix, env *Env, mode dateTimeMode) (fieldSet, error) {
	t := toks[i].text
	w, ok := lookupWord(t)
	if !ok {
		loc, found := namedZone(t)
		if !found {
			return 0, errDTFormat
		}
		d.zone = loc
		return fZone, nil
	}
	if mode == modeTime {
		switch w.kind {
		case wordMonth, wordDow, wordToday, wordTomorrow, wordYesterday:
			return 0, errDTFormat
		}
	}
	switch w.kind {
	case wordIgnore:
		return 0, nil
	case wordMonth:
		// "1 Jan 2020": the number that looked like a month is the day.
		if d.have&fMonth != 0 && !d.textMonth && d.have&fDay == 0 && d.month >= 1 && d.month <= 31 {
			d.day, d.month = d.month, w.value
			d.textMonth = true
			return fDay, nil
		}
		d.textMonth = true
		d.month = w.value
		return fMonth, nil
	case wordDow:
		return fDow, nil
	case wordMeridiem:
		d.pm, d.am = w.value == 1, w.value == 0
		return fMeridiem, nil
	case wordEra:
		d.bc = w.value == 1
		return fEra, nil
	case wordZone:
		d.offset = w.value
		return fZone, nil
	case wordDSTZone:
		d.offset = w.value
		return fZone, nil
	case wordDST:
		d.offset += w.value
		return fDST, nil
	case wordPosInf:
		d.special = isPosInf
		return fDate | fTime | fZone, nil
	case wordNegInf:
		d.special = isNegInf
		return fDate | fTime | fZone, nil
	case wordEpoch:
		d.special = isEpoch
		return fDate | fTime | fZone, nil
	case wordZulu:
		d.hour, d.min, d.sec, d.micros, d.offset = 0, 0, 0, 0, 0
		return fTime | fZone, nil
	case wordNow, wordToday, wordYesterday, wordTomorrow:
		return d.relative(w.kind, env), nil
	case wordJulian:
		*pre = julianPrefix
		return 0, d.checkPrefix(toks, i)
	case wordISOTime:
		if d.have&fDate != fDate && mode != modeTime {
			return 0, errDTFormat
		}
		*pre = timePrefix
		return 0, d.checkPrefix(toks, i)
	}
	return 0, errDTFormat
}

// checkPrefix makes sure that a number follows the letter at i.
func (d *dateTime) checkPrefix(toks []token, i int) error {
	if i+1 >= len(toks) {
		return errDTFormat
	}
	switch toks[i+1].kind {
	case tokNumber, tokTime, tokDate:
		return nil
	}
	return errDTFormat
}

// relative fills in the date (and for now the time) of env's present.
func (d *dateTime) relative(k wordKind, env *Env) fieldSet {
	loc := env.zone()
	local := ToLocal(env.now(), loc)
	days, micros := splitDay(local)
	switch k {
	case wordYesterday:
		days--
	case wordTomorrow:
		days++
	}
	d.year, d.month, d.day = CivilFromDays(days)
	d.julian = true // astronomical year, already valid
	if k != wordNow {
		return fDate
	}
	d.hour, d.min = micros/usecPerHour, micros/usecPerMin%60
	d.sec, d.micros = micros/usecPerSec%60, micros%usecPerSec
	d.offset = offsetAt(env.now(), loc)
	return fDate | fTime | fZone
}

// validate checks the ranges of the date fields and brings the year to astronomical counting.
func (d *dateTime) validate() error {
	if d.have&fYear != 0 && !d.julian {
		switch {
		case d.bc:
			if d.year <= 0 {
				return errDTField
			}
			d.year = 1 - d.year
		case d.twoDigitYear:
			if d.year < 70 {
				d.year += 2000
			} else if d.year < 100 {
				d.year += 1900
			}
		case d.year <= 0:
			return errDTField
		}
	}
	if d.have&fDOY != 0 {
		d.year, d.month, d.day = CivilFromDays(DaysFromCivil(d.year, 1, 1) + d.yday - 1)
	}
	if d.have&fMonth != 0 && (d.month < 1 || d.month > 12) {
		return errDTMonthDay
	}
	if d.have&fDay != 0 && (d.day < 1 || d.day > 31) {
		return errDTMonthDay
	}
	if d.have&fDate == fDate && d.day > daysInMonth(d.year, d.month) {
		return errDTField
	}
	if d.have&fMeridiem != 0 {
		if d.hour > 12 {
			return errDTField
		}
		if d.am && d.hour == 12 {
			d.hour = 0
		} else if d.pm && d.hour != 12 {
			d.hour += 12
		}
	}
	return nil
}

// clockMicros gives the time of day.
func (d *dateTime) clockMicros() int64 {
	return d.hour*usecPerHour + d.min*usecPerMin + d.sec*usecPerSec + d.micros
}

// days gives the date as days since 2000-01-01, and false if it is out of range.
func (d *dateTime) days() (int64, bool) {
	n := DaysFromCivil(d.year, d.month, d.day)
	return n, n >= minDate && n < endDate
}
