package expr

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weirdb/weir/sql/types"
)

// naiveLike is LIKE by its definition.
func naiveLike(s, pat string) (ok, bad bool) {
	if pat == "" {
		return s == "", false
	}
	switch pat[0] {
	case '%':
		for i := 0; i <= len(s); i++ {
			if i < len(s) && !utf8.RuneStart(s[i]) {
				continue
			}
			if ok, bad := naiveLike(s[i:], pat[1:]); ok || bad {
				return ok, bad
			}
		}
		return false, false
	case '_':
		if s == "" {
			return false, false
		}
		_, n := utf8.DecodeRuneInString(s)
		return naiveLike(s[n:], pat[1:])
	case '\\':
		if s == "" {
			return false, false
		}
		if len(pat) == 1 {
			return false, true
		}
		pat = pat[1:]
	}
	if s == "" || s[0] != pat[0] {
		return false, false
	}
	return naiveLike(s[1:], pat[1:])
}

func checkLike(t *testing.T, s, pat string) {
	want, bad := naiveLike(s, pat)
	got, err := compileLike(pat, false).match(s)
	if bad != (err != nil) || !bad && got != want {
		t.Errorf("%q LIKE %q: got %v %v, want %v (error %v)", s, pat, got, err, want, bad)
	}
}

func TestLikeRandom(t *testing.T) {
	const seed = 3
	r := rand.New(rand.NewPCG(seed, 0))
	word := func(alphabet string, n int) string {
		chars := []rune(alphabet)
		var b strings.Builder
		for range r.IntN(n) {
			b.WriteRune(chars[r.IntN(len(chars))])
		}
		return b.String()
	}
	for range 200000 {
		checkLike(t, word("abé", 9), word(`abé%%__`, 7))
	}
	for range 20000 {
		checkLike(t, word(`ab%\`, 6), word(`ab%_\\`, 6))
	}
}

func FuzzLike(f *testing.F) {
	f.Add("abc", "a%c")
	f.Fuzz(func(t *testing.T, s, pat string) {
		if len(s) > 20 || len(pat) > 12 || !utf8.ValidString(s) || !utf8.ValidString(pat) {
			return
		}
		checkLike(t, s, pat)
	})
}

// Whatever the pattern, translation ends in a compiled pattern or an error with a SQLSTATE.
func FuzzRegex(f *testing.F) {
	for _, s := range []string{`a(b|c)*`, `[[:alpha:]_-]+`, `(?i)x{2,3}?`, `\mfoo\M`, `***=a.b`, `[^]a]`, `\u0041`, `(?x)a #b`, `[\w-]`, `\x`} {
		f.Add(s, "i")
	}
	f.Fuzz(func(t *testing.T, pat, flags string) {
		fl, err := parseFlags(flags, true, "f()")
		if err != nil {
			return
		}
		re, err := compileRegex(pat, fl)
		if err == nil {
			re.MatchString("foo bar")
		}
		if _, err := similarToRegex(pat, `\`); err != nil {
			_ = err.Error()
		}
	})
}

func TestRegexpTable(t *testing.T) {
	show := func(name, s, pat, flags string) string {
		rows, err := RegexpTable(name)(s, pat, flags)
		if err != nil {
			return err.Error()
		}
		var out []string
		for _, d := range rows {
			ty := types.T(types.Text)
			if name == "regexp_matches" {
				ty = types.ArrayOf(types.Text)
			}
			out = append(out, types.Format(ty, d, nil))
		}
		return strings.Join(out, " ")
	}
	for _, c := range [][5]string{
		{"regexp_matches", "foobarbequebazilbarfbonk", "(b[^b]+)(b[^b]+)", "g", "{bar,beque} {bazil,barf}"},
		{"regexp_matches", "abcabc", "b.", "", "{bc}"},
		{"regexp_matches", "abc", "x", "g", ""},
		{"regexp_split_to_table", "a, b,c", `,\s*`, "", "a b c"},
		{"regexp_split_to_table", "abc", ",", "g", `regexp_split_to_table() does not support the "global" option (SQLSTATE 22023)`},
	} {
		if got := show(c[0], c[1], c[2], c[3]); got != c[4] {
			t.Errorf("%s(%q, %q, %q) = %s, want %s", c[0], c[1], c[2], c[3], got, c[4])
		}
	}
	if RegexpTable("unnest") != nil {
		t.Error("unnest is not a function of regular expressions")
	}
}
