package parse

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/weirdb/weir/sql/parse/lex"
)

// pinned is what Pin writes.
var pinned = regexp.MustCompile(`^'[0-9]+'::regclass`)

// Pin writes an expression or query so that names of relations in strings mean what they mean now: at has the positions of
// string literals that were read as regclass, and the oids that they mean.
func Pin(text string, at map[int]uint32) string {
	if len(at) == 0 {
		return text
	}
	var b strings.Builder
	done := 0
	for _, t := range lex.Lex(text, nil) {
		oid, ok := at[t.Pos]
		if !ok || t.Kind != lex.String || pinned.MatchString(text[t.Pos:]) {
			continue
		}
		b.WriteString(text[done:t.Pos])
		b.WriteString("'" + strconv.FormatUint(uint64(oid), 10) + "'::regclass")
		done = t.End
	}
	return b.String() + text[done:]
}

// Unpin is the other way round: it writes the names of relations in the place of their oids. name gives the name of an oid as
// SQL; false: there is none.
func Unpin(text string, name func(oid uint32) (string, bool)) string {
	if !strings.Contains(text, "'::regclass") {
		return text
	}
	toks := lex.Lex(text, nil)
	var b strings.Builder
	done := 0
	for i, t := range toks {
		if t.Kind != lex.String || i+2 >= len(toks) || toks[i+1].Text != "::" || toks[i+2].Text != "regclass" {
			continue
		}
		oid, err := strconv.ParseUint(t.Text, 10, 32)
		if err != nil {
			continue
		}
		if n, ok := name(uint32(oid)); ok {
			b.WriteString(text[done:t.Pos])
			b.WriteString("'" + strings.ReplaceAll(n, "'", "''") + "'")
			if done = t.End; i+4 < len(toks) && toks[i+3].Text == "::" && toks[i+4].Text == "regclass" {
				done = toks[i+2].End // it was a regclass before
			}
		}
	}
	return b.String() + text[done:]
}
