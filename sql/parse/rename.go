package parse

import (
	"strings"

	"github.com/weirdb/weir/sql/parse/lex"
	"github.com/weirdb/weir/sql/sqlerr"
)

// TablePlace is a place in FROM where a relation is named with Parts parts, and what is to stand there: Name as SQL, an
// alias and the first of its columns.
type TablePlace struct {
	Pos, Parts  int
	Name, Alias string
	Columns     []string
}

// RenameTables writes a query with other names of relations, places in the order of the text. An alias that is there, and its
// columns, are replaced.
func RenameTables(text string, places []TablePlace) (string, error) {
	toks := lex.Lex(text, nil)
	var b strings.Builder
	done, i := 0, 0
	for _, p := range places {
		for i < len(toks) && toks[i].Pos < p.Pos {
			i++
		}
		if i >= len(toks) || toks[i].Pos != p.Pos {
			return "", sqlerr.Newf(sqlerr.InternalError, "no name at %d", p.Pos)
		}
		b.WriteString(text[done:p.Pos])
		only := isWord(&toks[i], "only")
		if only {
			return "", sqlerr.Newf(sqlerr.FeatureNotSupported, "ONLY")
		}
		i += 2*p.Parts - 1
		end := toks[i-1].End
		if isSelf(&toks[i], "*") {
			end = toks[i].End
			i++
		}
		if isWord(&toks[i], "for") && isWord(&toks[i+1], "system_time") {
			return "", sqlerr.Newf(sqlerr.FeatureNotSupported, "FOR SYSTEM_TIME")
		}
		as := isWord(&toks[i], "as")
		if as {
			i++
		}
		if as || isColID(&toks[i]) && QuoteIdent(toks[i].Text) == QuoteIdent(p.Alias) && toks[i].Kind != lex.EOF {
			end = toks[i].End
			i++
			if isSelf(&toks[i], "(") {
				for !isSelf(&toks[i], ")") && toks[i].Kind != lex.EOF {
					i++
				}
				end = toks[i].End
				i++
			}
		}
		b.WriteString(p.Name + " AS " + QuoteIdent(p.Alias))
		for k, c := range p.Columns {
			b.WriteString(map[bool]string{true: "(", false: ", "}[k == 0] + QuoteIdent(c))
		}
		if len(p.Columns) > 0 {
			b.WriteString(")")
		}
		done = end
	}
	return b.String() + text[done:], nil
}

// ColumnPlace is a name of a column with so many parts, and what is to stand in its place, as SQL.
type ColumnPlace struct {
	Parts int
	Name  string
}

// RenameColumns writes an expression with other names of columns, by position.
func RenameColumns(text string, places map[int]ColumnPlace) string {
	if len(places) == 0 {
		return text
	}
	toks := lex.Lex(text, nil)
	var b strings.Builder
	done := 0
	for i := range toks {
		p, ok := places[toks[i].Pos]
		if !ok || toks[i].Kind == lex.EOF {
			continue
		}
		b.WriteString(text[done:toks[i].Pos] + p.Name)
		done = toks[i+2*p.Parts-2].End
	}
	return b.String() + text[done:]
}
