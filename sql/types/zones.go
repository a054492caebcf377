package types

import (
	"math"
	"strconv"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // zone names must resolve on machines that have no zone database

	"github.com/weirdb/weir/sql/sqlerr"
)

// zoneCache remembers the zones that LoadZone found. Reading a zone means parsing a file; the
// result is a pure function of the name, so that sharing it is invisible.
var zoneCache sync.Map // string -> *time.Location

// SessionZone gives the zone that SET TIME ZONE means and the name that SHOW prints for it: a
// number of hours east ("-3.5"), a zone name in any case, or an offset with POSIX's sign
// ("FOO5", "+02:30", both west).
func SessionZone(value string) (loc *time.Location, name string, ok bool) {
	if hours, err := strconv.ParseFloat(trimSpace(value), 64); err == nil && math.Abs(hours) < 168 {
		off := int64(hours * 3600)
		name := "<" + offsetName(off) + ">"
		if off < 0 {
			name += offsetName(-off)
		} else {
			name += "-" + offsetName(off)[1:]
		}
		return time.FixedZone(offsetName(off), int(off)), name, true
	}
	if loc, ok := namedZone(value); ok {
		return loc, loc.String(), true
	}
	loc, ok = posixZone(value)
	return loc, strings.ToUpper(value), ok
}

// LoadZone gives the time zone of a name: a zone name of the tz database in any case
// ("Europe/Vienna"), an abbreviation ("EST", "CEST"), or an offset with POSIX's sign ("+02" is
// two hours west).
func LoadZone(name string) (*time.Location, bool) {
	if loc, ok := namedZone(name); ok {
		return loc, true
	}
	if a, ok := zoneAbbrevs[strings.ToLower(name)]; ok {
		return time.FixedZone(strings.ToUpper(name), int(a.offset)), true
	}
	return posixZone(name)
}

// namedZone looks a name up in the tz database.
func namedZone(name string) (*time.Location, bool) {
	if name == "" || len(name) > 64 || strings.EqualFold(name, "local") || name[0] == '.' || name[0] == '/' {
		return nil, false
	}
	lower := strings.ToLower(name)
	if l, ok := zoneCache.Load(lower); ok {
		return l.(*time.Location), true
	}
	if lower == "utc" {
		return time.UTC, true
	}
	for _, try := range []string{name, oddZones[lower], strings.ToUpper(name), titleZone(lower), titleZone2(lower)} {
		if try == "" {
			continue
		}
		if loc, err := time.LoadLocation(try); err == nil {
			zoneCache.Store(lower, loc)
			return loc, true
		}
	}
	return nil, false
}

// oddZones are the zones whose capitals follow no rule.
var oddZones = map[string]string{
	"mexico/bajanorte": "Mexico/BajaNorte", "mexico/bajasur": "Mexico/BajaSur",
	"brazil/denoronha": "Brazil/DeNoronha", "chile/easterisland": "Chile/EasterIsland",
	"gb-eire": "GB-Eire", "america/knox_in": "America/Knox_IN",
	"america/argentina/comodrivadavia": "America/Argentina/ComodRivadavia",
}

// titleZone writes "america/new_york" as the tz database does: America/New_York.
func titleZone(s string) string {
	b := []byte(s)
	up := true
	for i, c := range b {
		if up && c >= 'a' && c <= 'z' {
			b[i] = c - 32
		}
		up = c == '/' || c == '_' || c == '-'
	}
	return strings.NewReplacer("_Of_", "_of_", "_Es_", "_es_", "Port-Au-Prince", "Port-au-Prince",
		"_Au_", "_au_", "Gmt", "GMT", "Dumontdurville", "DumontDUrville", "Mcmurdo", "McMurdo",
		"Us/", "US/").Replace(string(b))
}

// titleZone2 writes the area in capitals: US/Eastern, Etc/UTC.
func titleZone2(s string) string {
	area, city, ok := strings.Cut(s, "/")
	if !ok {
		return s
	}
	return titleZone(area) + "/" + strings.ToUpper(city)
}

// posixZone reads "EST5", "<+03>-3", "+02": a fixed offset that counts west of UTC.
func posixZone(name string) (*time.Location, bool) {
	s := name
	abbrev := ""
	switch {
	case s == "":
		return nil, false
	case s[0] == '<':
		end := strings.IndexByte(s, '>')
		if end < 0 {
			return nil, false
		}
		abbrev, s = s[1:end], s[end+1:]
	default:
		i := 0
		for i < len(s) && isAlpha(s[i]) {
			i++
		}
		abbrev, s = s[:i], s[i:]
	}
	if s == "" {
		return nil, false
	}
	neg := s[0] == '-'
	if s[0] == '-' || s[0] == '+' {
		s = s[1:]
	}
	var part [3]int64
	for n := range part {
		v, rest, ok := leadingInt(s)
		if !ok {
			return nil, false
		}
		part[n], s = v, rest
		if s == "" {
			break
		}
		if s[0] != ':' {
			return nil, false
		}
		s = s[1:]
	}
	if s != "" || part[0] > 167 || part[1] > 59 || part[2] > 59 {
		return nil, false
	}
	off := part[0]*3600 + part[1]*60 + part[2]
	if !neg {
		off = -off
	}
	if abbrev == "" {
		abbrev = offsetName(off)
	}
	return time.FixedZone(strings.ToUpper(abbrev), int(off)), true
}

// offsetName writes an offset as the abbreviation of a nameless zone: "+02", "-03:30".
func offsetName(off int64) string {
	return string(appendOffset(nil, off))
}

// appendOffset appends an offset east of UTC as Postgres prints it after a timestamptz: "+02",
// "+05:30", "-00:25:21".
func appendOffset(dst []byte, off int64) []byte {
	sign := byte('+')
	if off < 0 {
		sign, off = '-', -off
	}
	dst = append(dst, sign)
	dst = append2(dst, off/3600)
	if off%3600 != 0 {
		dst = append2(append(dst, ':'), off/60%60)
		if off%60 != 0 {
			dst = append2(append(dst, ':'), off%60)
		}
	}
	return dst
}

// ZoneByName resolves the zone operand of AT TIME ZONE and of timezone(): an abbreviation first,
// then a zone name, then a POSIX offset.
func ZoneByName(name string) (*time.Location, error) {
	if a, ok := zoneAbbrevs[strings.ToLower(name)]; ok {
		return time.FixedZone(strings.ToUpper(name), int(a.offset)), nil
	}
	if loc, ok := LoadZone(name); ok {
		return loc, nil
	}
	return nil, sqlerr.Newf(sqlerr.InvalidParameterValue, "time zone \"%s\" not recognized", name)
}

func isAlpha(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// leadingInt reads the digits at the start of s; ok is false if there are none or too many.
func leadingInt(s string) (v int64, rest string, ok bool) {
	i := 0
	for i < len(s) && isDigit(s[i]) {
		if v > (1<<62)/10 {
			return 0, s, false
		}
		v = v*10 + int64(s[i]-'0')
		i++
	}
	return v, s[i:], i > 0
}

// abbrev is a time zone abbreviation: its offset east of UTC in seconds, and whether it names
// daylight-saving time.
type abbrev struct {
	offset int64
	dst    bool
}
