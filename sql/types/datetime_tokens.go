package types

import (
	"errors"
	"strings"
)

// Date, time and interval input cuts the text into tokens first; what a token is depends only on
// its characters, what it means on the tokens before it. The grammar is Postgres's.

// tokenKind is the shape of a token.
type tokenKind uint8

const (
	tokNumber tokenKind = iota // digits, with at most one point
	tokWord                    // letters, in lower case
	tokDate                    // digits or letters joined by '-', '/' or '.'; also zone names
	tokTime                    // digits with ':'
	tokZone                    // a sign and digits, maybe with ':' '.' '-'
	tokSigned                  // a sign and letters: "-infinity"
)

type token struct {
	kind tokenKind
	text string
}

// maxTokens bounds the number of tokens, as in Postgres.
const maxTokens = 25

// The ways in which date, time and interval input can be wrong. They become user errors where
// the whole text and the type are known.
var (
	errDTFormat   = errors.New("bad format")
	errDTField    = errors.New("field out of range")
	errDTMonthDay = errors.New("month or day out of range")
	errDTInterval = errors.New("interval field out of range")
	errDTZone     = errors.New("zone displacement out of range")
)

// tokenize cuts date/time input into tokens. Punctuation other than the separators is skipped.
func tokenize(s string, buf []token) ([]token, error) {
	toks := buf[:0]
	i := 0
	take := func(accept func(byte) bool) string {
		j := i
		for i < len(s) && accept(s[i]) {
			i++
		}
		return s[j:i]
	}
	alnum := func(c byte) bool { return isDigit(c) || isAlpha(c) }
	for i < len(s) {
		start := i
		var kind tokenKind
		text := ""
		switch c := s[i]; {
		case isSpace(c):
			i++
			continue
		case isDigit(c) || c == '.' && i+1 < len(s) && isDigit(s[i+1]):
			kind = tokNumber
			if c == '.' {
				i++
				take(isDigit)
				break
			}
			take(isDigit)
			if i >= len(s) {
				break
			}
			switch d := s[i]; d {
			case ':':
				kind = tokTime
				take(func(c byte) bool { return isDigit(c) || c == ':' || c == '.' })
			case '-', '/', '.':
				i++
				if i < len(s) && isDigit(s[i]) {
					if d != '.' {
						kind = tokDate
					}
					take(isDigit)
					// A third field must have the same separator as the second.
					if i < len(s) && s[i] == d {
						kind = tokDate
						take(func(c byte) bool { return isDigit(c) || c == d })
					}
				} else {
					kind = tokDate
					take(func(c byte) bool { return alnum(c) || c == d })
				}
				text = strings.ToLower(s[start:i])
			}
		case c == '.':
			// A lone point counts as the number zero does; the readers of numbers reject it.
			kind = tokNumber
			i++
		case isAlpha(c) || c >= 0x80:
			kind = tokWord
			take(func(c byte) bool { return isAlpha(c) || c >= 0x80 })
			if i < len(s) {
				// A word that knows no separators ends here; others may be dates with month
				// names, or zone names.
				joined := s[i] == '-' || s[i] == '/' || s[i] == '.'
				if !joined && (s[i] == '+' || isDigit(s[i])) {
					_, known := dateWords[strings.ToLower(s[start:i])]
					joined = !known
				}
				if joined {
					kind = tokDate
					take(func(c byte) bool {
						return alnum(c) || c == '+' || c == '-' || c == '/' || c == '_' || c == '.' || c == ':'
					})
				}
			}
			text = strings.ToLower(s[start:i])
		case c == '+' || c == '-':
			i++
			take(isSpace)
			if i >= len(s) {
				return nil, errDTFormat
			}
			j := i
			switch {
			case isDigit(s[i]):
				kind = tokZone
				take(func(c byte) bool { return isDigit(c) || c == ':' || c == '.' || c == '-' })
			case isAlpha(s[i]):
				kind = tokSigned
				take(isAlpha)
			default:
				return nil, errDTFormat
			}
			if j == start+1 {
				text = strings.ToLower(s[start:i])
			} else {
				text = string(c) + strings.ToLower(s[j:i])
			}
		case c > ' ' && c < 0x7f:
			i++
			continue
		default:
			return nil, errDTFormat
		}
		if text == "" {
			text = s[start:i]
		}
		if len(toks) >= maxTokens {
			return nil, errDTFormat
		}
		toks = append(toks, token{kind, text})
	}
	return toks, nil
}

// wordKind is what a known word of date/time input does.
type wordKind uint8

const (
	wordIgnore   wordKind = iota // "on", "at", "d"
	wordMonth                    // value is the month
	wordDow                      // a day of the week, which is not checked
	wordMeridiem                 // value 0 for am, 1 for pm
	wordEra                      // value 0 for ad, 1 for bc
	wordZone                     // value is the offset in seconds
	wordDSTZone                  // the same, daylight-saving
	wordDST                      // "dst" after a zone: an hour more
	wordNow
	wordToday
	wordYesterday
	wordTomorrow
	wordEpoch
	wordPosInf
	wordNegInf
	wordZulu    // "allballs": midnight UTC
	wordISOTime // "t" before a time, "y" "m" "d" "h" "mm" "s" before numbers
	wordJulian  // "j" before a Julian day
	wordUnit
)

type dateWord struct {
	kind  wordKind
	value int64
}

// dateWords are the words of date/time input except zone abbreviations. Words are significant to
// their first ten letters.
var dateWords = map[string]dateWord{
	"-infinity": {wordNegInf, 0}, "ad": {wordEra, 0}, "bc": {wordEra, 1}, "allballs": {wordZulu, 0},
	"am": {wordMeridiem, 0}, "pm": {wordMeridiem, 1}, "at": {wordIgnore, 0}, "on": {wordIgnore, 0},
	"d": {wordUnit, 'd'}, "m": {wordUnit, 'm'}, "y": {wordUnit, 'y'}, "h": {wordUnit, 'h'},
	"mm": {wordUnit, 'n'}, "s": {wordUnit, 's'}, "jd": {wordJulian, 0}, "j": {wordJulian, 0},
	"julian": {wordJulian, 0}, "t": {wordISOTime, 0}, "dst": {wordDST, 3600},
	"dow": {wordUnit, 0}, "doy": {wordUnit, 0}, "isodow": {wordUnit, 0}, "isoyear": {wordUnit, 0},
	"epoch": {wordEpoch, 0}, "infinity": {wordPosInf, 0},
	"now": {wordNow, 0}, "today": {wordToday, 0}, "tomorrow": {wordTomorrow, 0}, "yesterday": {wordYesterday, 0},
	"jan": {wordMonth, 1}, "january": {wordMonth, 1}, "feb": {wordMonth, 2}, "february": {wordMonth, 2},
	"mar": {wordMonth, 3}, "march": {wordMonth, 3}, "apr": {wordMonth, 4}, "april": {wordMonth, 4},
	"may": {wordMonth, 5}, "jun": {wordMonth, 6}, "june": {wordMonth, 6}, "jul": {wordMonth, 7}, "july": {wordMonth, 7},
	"aug": {wordMonth, 8}, "august": {wordMonth, 8}, "sep": {wordMonth, 9}, "sept": {wordMonth, 9}, "september": {wordMonth, 9},
	"oct": {wordMonth, 10}, "october": {wordMonth, 10}, "nov": {wordMonth, 11}, "november": {wordMonth, 11},
	"dec": {wordMonth, 12}, "december": {wordMonth, 12},
	"sun": {wordDow, 0}, "sunday": {wordDow, 0}, "mon": {wordDow, 1}, "monday": {wordDow, 1},
	"tue": {wordDow, 2}, "tues": {wordDow, 2}, "tuesday": {wordDow, 2}, "wed": {wordDow, 3}, "weds": {wordDow, 3}, "wednesday": {wordDow, 3},
	"thu": {wordDow, 4}, "thur": {wordDow, 4}, "thurs": {wordDow, 4}, "thursday": {wordDow, 4},
	"fri": {wordDow, 5}, "friday": {wordDow, 5}, "sat": {wordDow, 6}, "saturday": {wordDow, 6},
}

// wordLen is the number of significant letters of a word.
const wordLen = 10

// lookupWord finds what a word means; zone abbreviations come first, as in Postgres.
func lookupWord(w string) (dateWord, bool) {
	if len(w) > wordLen {
		w = w[:wordLen]
	}
	if a, ok := zoneAbbrevs[w]; ok {
		if a.dst {
			return dateWord{wordDSTZone, a.offset}, true
		}
		return dateWord{wordZone, a.offset}, true
	}
	d, ok := dateWords[w]
	return d, ok
}
