package lex

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

var kindNames = [...]string{
	EOF: "EOF", Ident: "Ident", Keyword: "Keyword", String: "String", Bit: "Bit", Hex: "Hex", Int: "Int", Num: "Num",
	Param: "Param", Self: "Self", Op: "Op", Err: "Err",
}

// TestLex prints one line for each token: its bounds, kind and text.
func TestLex(t *testing.T) {
	datadriven.RunTest(t, "testdata/lex", func(t *testing.T, d *datadriven.TestData) string {
		var b strings.Builder
		for _, tok := range Lex(d.Input, nil) {
			switch tok.Kind {
			case EOF:
				fmt.Fprintf(&b, "%d EOF\n", tok.Pos)
			case Err:
				fmt.Fprintf(&b, "%d Err %s", tok.Pos, tok.Err.Message)
				if tok.Err.Pos != tok.Pos {
					fmt.Fprintf(&b, " at %d", tok.Err.Pos)
				}
				fmt.Fprintln(&b)
			default:
				fmt.Fprintf(&b, "%d-%d %s %q\n", tok.Pos, tok.End, kindNames[tok.Kind], tok.Text)
			}
		}
		return b.String()
	})
}

// TestLongNames: names are cut to 63 bytes, never inside of a character.
func TestLongNames(t *testing.T) {
	long := strings.Repeat("a", 70)
	for in, want := range map[string]int{
		long: 63, `"` + long + `"`: 63, strings.Repeat("ü", 40): 62, strings.Repeat("a", 62) + "ü": 62, "a" + strings.Repeat("ü", 31): 63,
	} {
		if got := Lex(in, nil)[0].Text; len(got) != want {
			t.Errorf("%s: %d bytes, want %d", in, len(got), want)
		}
	}
}

// TestKeywords: the list has all classes and no word twice.
func TestKeywords(t *testing.T) {
	count := map[Category]int{}
	for w, k := range keywords {
		if w != k.word || w != lower(w) {
			t.Errorf("%q", w)
		}
		count[k.cat]++
	}
	// The numbers of PostgreSQL 15's pg_get_keywords().
	want := map[Category]int{Unreserved: 309, ColName: 51, TypeFuncName: 23, Reserved: 77}
	for c, n := range want {
		if count[c] != n {
			t.Errorf("class %d has %d words, not %d", c, count[c], n)
		}
	}
}

func BenchmarkLex(b *testing.B) {
	text := "insert into orders (id, customer, amount, status) values ($1, $2, $3, 'new')"
	var buf []Token
	b.ReportAllocs()
	for b.Loop() {
		buf = Lex(text, buf[:0])
	}
}
