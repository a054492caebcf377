package types

import (
	"math"
	"strconv"
)

// isoNumber reads the number of an ISO 8601 field.
func isoNumber(s string) (val int64, frac float64, rest string, err error) {
	i := 0
	if i < len(s) && s[i] == '-' {
		i++
	}
	digits := i
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	whole := s[:i]
	if i < len(s) && s[i] == '.' {
		i++
		for i < len(s) && isDigit(s[i]) {
			i++
		}
	}
	if i == digits || i == digits+1 && s[digits] == '.' {
		return 0, 0, s, errDTFormat
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		f, n := leadingFloat(s)
		if n == 0 {
			return 0, 0, s, errDTFormat
		}
		if math.Abs(f) >= 1e15 {
			return 0, 0, s, errDTField
		}
		w := math.Trunc(f)
		return int64(w), f - w, s[n:], nil
	}
	if len(whole) > digits {
		v, perr := strconv.ParseInt(whole, 10, 64)
		if perr != nil || v > 1e15 || v < -1e15 {
			return 0, 0, s, errDTField
		}
		val = v
	}
	if len(whole) < i {
		f, perr := fraction(s[len(whole):i])
		if perr != nil {
			return 0, 0, s, perr
		}
		if s[0] == '-' {
			f = -f
		}
		frac = f
	}
	return val, frac, s[i:], nil
}

// leadingFloat reads the longest float at the start of s and gives its length.
func leadingFloat(s string) (float64, int) {
	for n := len(s); n > 0; n-- {
		if f, err := strconv.ParseFloat(s[:n], 64); err == nil {
			return f, n
		}
	}
	return 0, 0
}

// readISO reads what follows the P of an ISO 8601 duration: fields with designators, or the
// alternative date and clock formats.
func (a *intervalAcc) readISO(s string) error {
	if s == "" {
		return errDTFormat
	}
	date, have := true, false
	for s != "" {
		if s[0] == 'T' {
			date, have = false, false
			s = s[1:]
			continue
		}
		before := s
		val, frac, rest, err := isoNumber(s)
		if err != nil {
			return err
		}
		width := len(before) - len(rest)
		if before[0] == '-' {
			width--
		}
		u := byte(0)
		if rest != "" {
			u = rest[0]
			rest = rest[1:]
		}
		ok := true
		if date {
			switch u {
			case 'Y':
				ok = a.addYears(val, frac, 1)
			case 'M':
				ok = a.addMonths(val, frac)
			case 'W':
				ok = a.addDays(val, frac, 7)
			case 'D':
				ok = a.addDays(val, frac, 1)
			case 'T', 0:
				if width == 8 && !have {
					y, m, d := val/10000, val/100%100, val%100
					if !a.addYears(y, 0, 1) || !a.addMonths(m, 0) || !a.addDays(d, frac, 1) {
						return errDTField
					}
					if u == 0 {
						return nil
					}
					date, have = false, false
					s = rest
					continue
				}
				fallthrough
			case '-':
				if have {
					return errDTFormat
				}
				if !a.addYears(val, frac, 1) {
					return errDTField
				}
				if u == 0 {
					return nil
				}
				if u == 'T' {
					date, have = false, false
					s = rest
					continue
				}
				if val, frac, rest, err = isoNumber(rest); err != nil {
					return err
				}
				if !a.addMonths(val, frac) {
					return errDTField
				}
				if rest == "" {
					return nil
				}
				if rest[0] == 'T' {
					date, have = false, false
					s = rest[1:]
					continue
				}
				if rest[0] != '-' {
					return errDTFormat
				}
				if val, frac, rest, err = isoNumber(rest[1:]); err != nil {
					return err
				}
				if !a.addDays(val, frac, 1) {
					return errDTField
				}
				if rest == "" {
					return nil
				}
				if rest[0] == 'T' {
					date, have = false, false
					s = rest[1:]
					continue
				}
				return errDTFormat
			default:
				return errDTFormat
			}
		} else {
			switch u {
			case 'H':
				ok = a.addMicros(val, frac, usecPerHour)
			case 'M':
				ok = a.addMicros(val, frac, usecPerMin)
			case 'S':
				ok = a.addMicros(val, frac, usecPerSec)
			case 0:
				if width == 6 && !have {
					h, m, sec := val/10000, val/100%100, val%100
					if !a.addMicros(h, 0, usecPerHour) || !a.addMicros(m, 0, usecPerMin) || !a.addMicros(sec, frac, usecPerSec) {
						return errDTField
					}
					return nil
				}
				fallthrough
			case ':':
				if have {
					return errDTFormat
				}
				if !a.addMicros(val, frac, usecPerHour) {
					return errDTField
				}
				if u == 0 {
					return nil
				}
				if val, frac, rest, err = isoNumber(rest); err != nil {
					return err
				}
				if !a.addMicros(val, frac, usecPerMin) {
					return errDTField
				}
				if rest == "" {
					return nil
				}
				if rest[0] != ':' {
					return errDTFormat
				}
				if val, frac, rest, err = isoNumber(rest[1:]); err != nil {
					return err
				}
				if !a.addMicros(val, frac, usecPerSec) {
					return errDTField
				}
				if rest == "" {
					return nil
				}
				return errDTFormat
			default:
				return errDTFormat
			}
		}
		if !ok {
			return errDTField
		}
		have = true
		s = rest
	}
	return nil
}
