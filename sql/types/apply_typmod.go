package types

import (
	"strings"
	"unicode/utf8"

	"github.com/weirdb/weir/sql/sqlerr"
)

// ApplyTypmod fits a value into the modifier of its type: length of varchar and char, precision
// and scale of numeric, fractional digits of times, fields of intervals; for arrays it does so
// with each element. An explicit cast cuts text that is too long, an assignment cuts blanks only
// and else fails. NULL and types without a modifier pass unchanged.
func ApplyTypmod(t Type, d Datum, explicit bool) (Datum, error) {
	if !d.Valid || t.Mod < 0 {
		return d, nil
	}
	switch t.Kind {
	case Varchar, Char:
		s, err := fitString(t, d.S, explicit)
		if err != nil {
			return Null, err
		}
		d.S = s
	case Numeric:
		if p, s, ok := t.NumericPS(); ok {
			dec, err := d.Dec.ApplyTypmod(p, s)
			if err != nil {
				return Null, err
			}
			d.Dec = dec
		}
	case Time:
		d.I = roundMicros(d.I, t.TimePrecision())
	case Timestamp, Timestamptz:
		if !IsInfinite(d.I) {
			d.I = roundMicros(d.I, t.TimePrecision())
		}
	case Interval:
		d.Span = d.Span.fit(t)
	case Array:
		return applyElemTypmod(t, d, explicit)
	}
	return d, nil
}

// fitString cuts or pads a string to the length of varchar(n) or char(n).
func fitString(t Type, s string, explicit bool) (string, error) {
	n := t.CharLen()
	if n < 0 {
		return s, nil
	}
	if len(s) > n {
		// Only now is it worth counting characters.
		cut, ok := cutRunes(s, n)
		if ok {
			if !explicit && strings.TrimLeft(s[cut:], " ") != "" {
				return "", sqlerr.Newf(sqlerr.StringDataRightTruncation, "value too long for type %s", t)
			}
			return s[:cut], nil
		}
	}
	if t.Kind == Char {
		if have := utf8.RuneCountInString(s); have < n {
			return s + strings.Repeat(" ", n-have), nil
		}
	}
	return s, nil
}

// cutRunes gives the byte offset after n characters, and false if s has no more than n.
func cutRunes(s string, n int) (int, bool) {
	for i := range s {
		if n == 0 {
			return i, true
		}
		n--
	}
	return 0, false
}

// fit clears the fields that an interval type does not have and rounds to its precision.
func (v Span) fit(t Type) Span {
	switch t.intervalRange() {
	case intervalYear:
		v = Span{Months: v.Months / 12 * 12}
	case intervalMonth, intervalYear | intervalMonth:
		v = Span{Months: v.Months}
	case intervalDay:
		v.Micros = 0
	case intervalHour, intervalDay | intervalHour:
		v.Micros = v.Micros / usecPerHour * usecPerHour
	case intervalMinute, intervalHour | intervalMinute, intervalDay | intervalHour | intervalMinute:
		v.Micros = v.Micros / usecPerMin * usecPerMin
	}
	v.Micros = roundMicros(v.Micros, t.TimePrecision())
	return v
}

func applyElemTypmod(t Type, d Datum, explicit bool) (Datum, error) {
	a, err := DecodeArray(d.S)
	if err != nil {
		return Null, err
	}
	et := t.ElemType()
	for i, e := range a.Elems {
		if a.Elems[i], err = ApplyTypmod(et, e, explicit); err != nil {
			return Null, err
		}
	}
	return DStr(a.Encode()), nil
}
