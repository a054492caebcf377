package expr

import (
	"strings"
	"unicode/utf8"

	"github.com/weirdb/weir/sql/sqlerr"
)

// similarToRegex translates a SIMILAR TO pattern; esc is the escape character, "" for none.
func similarToRegex(pat, esc string) (string, error) {
	if esc != "" && utf8.RuneCountInString(esc) != 1 {
		return "", errEscapeString()
	}
	var b strings.Builder
	b.WriteString("^(?:")
	inSet, after, parts := false, 0, 0
	for rest := pat; rest != ""; {
		_, n := utf8.DecodeRuneInString(rest)
		c := rest[:n]
		rest = rest[n:]
		switch {
		case esc != "" && c == esc:
			if rest == "" {
				continue
			}
			_, n := utf8.DecodeRuneInString(rest)
			c = rest[:n]
			rest = rest[n:]
			if c == `"` && !inSet {
				// An escaped quote separates the part that SUBSTRING wants.
				switch parts {
				case 0:
					b.WriteString("){1,1}?(")
				case 1:
					b.WriteString("){1,1}(?:")
				default:
					return "", sqlerr.Newf(sqlerr.InvalidUseOfEscapeCharacter,
						"SQL regular expression may not contain more than two escape-double-quote separators")
				}
				parts++
				continue
			}
			b.WriteByte('\\')
			b.WriteString(c)
		case inSet:
			if c == `\` {
				b.WriteByte('\\')
			}
			b.WriteString(c)
			if c == "]" && after > 1 {
				inSet = false
			}
			if c != "^" || after != 1 {
				after = 2
			}
		case c == "[":
			b.WriteString(c)
			inSet, after = true, 1
		case c == "%":
			b.WriteString(".*")
		case c == "_":
			b.WriteString(".")
		case c == "(":
			b.WriteString("(?:")
		case c == `\` || c == "." || c == "^" || c == "$":
			b.WriteByte('\\')
			b.WriteString(c)
		default:
			b.WriteString(c)
		}
	}
	b.WriteString(")$")
	return b.String(), nil
}
