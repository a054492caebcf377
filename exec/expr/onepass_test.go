package expr

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/types"
)

// randomPattern makes a pattern of a few letters.
func randomPattern(r *rand.Rand, depth int) string {
	if depth == 0 {
		return []string{"a", "b", "ab", "[ab]", "[^a]", ".", "é", "[^&]", "\\w", "^", "$", "&", "abc", ""}[r.IntN(14)]
	}
	x := randomPattern(r, depth-1)
	switch r.IntN(9) {
	case 0:
		return "(" + x + ")"
	case 1:
		return "(" + x + "|" + randomPattern(r, depth-1) + ")"
	case 2:
		return "(?:" + x + ")" + []string{"*", "+", "?", "{2}", "{1,2}"}[r.IntN(5)]
	case 3:
		return "(" + x + ")" + []string{"*", "+", "?"}[r.IntN(3)]
	default:
		return x + randomPattern(r, depth-1)
	}
}

// TestOnePass: the fast matcher finds what package regexp finds, with all groups.
func TestOnePass(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	fast, matches := 0, 0
	for range 6_000 {
		pat := randomPattern(r, 1+r.IntN(3))
		f := regexFlags{fold: r.IntN(4) == 0, nlStop: r.IntN(4) == 0, nlAnchor: r.IntN(8) == 0}
		re, err := compileRegex(pat, f)
		if err != nil || re.one == nil {
			continue
		}
		fast++
		for range 8 {
			var b strings.Builder
			for range r.IntN(9) {
				b.WriteString([]string{"a", "b", "c", "A", "é", "&", "\n", "É", "x", "ab"}[r.IntN(10)])
			}
			s := b.String()
			want := re.Regexp.FindStringSubmatchIndex(s)
			if got := re.FindStringSubmatchIndex(s); !slices.Equal(got, want) {
				t.Fatalf("%q %+v in %q: %v, want %v", pat, f, s, got, want)
			}
			if got := re.MatchString(s); got != (want != nil) {
				t.Fatalf("%q %+v in %q: %t", pat, f, s, got)
			}
			if want != nil {
				matches++
			}
		}
	}
	if fast < 800 || matches < 2_500 {
		t.Errorf("%d fast patterns with %d matches", fast, matches)
	}
}

// TestOnePassKinds: which patterns are matched fast, and that no text takes long.
func TestOnePassKinds(t *testing.T) {
	for pat, fast := range map[string]bool{
		"(&|^)channel_id=([^&]*)": true, "^[a-z]+[0-9]*$": true, "abc": true, "a*b": true, `^(\d+)-(\d+)$`: true,
		"(a|ab)c": true, "(a|ab)(c|bcd)": false, "a*a": false, `\yfoo`: false, "a*?b": false,
	} {
		re, err := compileRegex(pat, regexFlags{})
		if err != nil {
			t.Fatal(err)
		}
		if (re.one != nil) != fast {
			t.Errorf("%s: fast is %t", pat, re.one != nil)
		}
	}
	re, err := compileRegex("a*b", regexFlags{})
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("a", 10_000)
	if _, done := re.one.find(long, nil); done || re.MatchString(long) || !re.MatchString(long+"b") {
		t.Error("a*b in a long text of a's")
	}
}

// TestRegexGroup: a group of a constant pattern is what it is by way of an array.
func TestRegexGroup(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	rel := &catalog.Relation{Schema: "public", Name: "t", Columns: []catalog.Column{
		{Name: "s", Type: types.T(types.Text)}, {Name: "p", Type: types.T(types.Text)}, {Name: "n", Type: types.T(types.Int4)},
	}}
	fused := 0
	for _, pat := range []string{"(&|^)id=([^&]*)", "a+", "(a)|(b)", "x", "(a|ab)(c|bcd)", "(a*)(b*)$", "", "^()"} {
		for n := range int64(5) {
			in := vec.NewChunk([]types.Type{types.T(types.Text), types.T(types.Text), types.T(types.Int4)}, 0)
			for range 300 {
				var b strings.Builder
				for range r.IntN(7) {
					b.WriteString([]string{"a", "b", "ab", "&", "id=", "bcd", "é"}[r.IntN(7)])
				}
				d := types.DStr(b.String())
				if r.IntN(20) == 0 {
					d = types.Null
				}
				in.AppendRow([]types.Datum{d, types.DStr(pat), types.DInt(n)}, 1)
			}
			want, err := benchCompile(t, "(regexp_match(s, p))[n]", rel).Eval(nil, in)
			if err != nil {
				t.Fatal(err)
			}
			ev := benchCompile(t, fmt.Sprintf("(regexp_match(s, '%s'))[%d]", pat, n), rel)
			if _, ok := ev.root.(*regexGroup); ok {
				fused++
			}
			got, err := ev.Eval(nil, in)
			if err != nil {
				t.Fatal(err)
			}
			for i := range in.Len() {
				if g, w := got.Datum(i), want.Datum(i); g.Valid != w.Valid || g.S != w.S {
					t.Fatalf("%q, group %d of %s: %v, want %v", pat, n, vec.FormatRow(in, i), g, w)
				}
			}
		}
	}
	if fused != 8*5 {
		t.Errorf("%d of %d without an array", fused, 8*5)
	}
}
