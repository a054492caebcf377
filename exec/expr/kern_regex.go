package expr

import (
	"strings"
	"unicode/utf8"

	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// regexKey joins flags and pattern for the cache of a node; flags have no NUL.
func regexKey(flags, pat string) string {
	if flags == "" {
		return pat
	}
	return flags + "\x00" + pat
}

// regexCache compiles patterns for one node. global: the g flag is allowed; name is for its error.
func regexCache(global bool, name string) func(pat, flags string) (*regex, error) {
	c := newCache(func(key string) (*regex, error) {
		flags, pat, ok := strings.Cut(key, "\x00")
		if !ok {
			flags, pat = "", key
		}
		f, err := parseFlags(flags, global, name)
		if err != nil {
			return nil, err
		}
		return compileRegex(pat, f)
	})
	return func(pat, flags string) (*regex, error) { return c.get(regexKey(flags, pat)) }
}

// matchFactory is ~ and its kin.
func matchFactory(not, fold bool) factory {
	return func(c *compiler, call *scalar.Call, args []node) (node, error) {
		flags := ""
		if fold {
			flags = "i"
		}
		get := regexCache(false, "")
		n, err := binaryErr(func(s, pat string) (bool, error) {
			re, err := get(pat, flags)
			if err != nil {
				return false, err
			}
			return re.MatchString(s) != not, nil
		})(c, call, args)
		if d := args[1].info().con; err == nil && d != nil && d.Valid {
			if _, err := get(d.S, flags); err == nil {
				n.info().canFail, n.info().lazy = args[0].info().canFail, true
			}
		}
		return n, err
	}
}

// regexFunc makes a kernel that has a cache of patterns.
func regexFunc(global bool, name string, f func(get func(pat, flags string) (*regex, error), a []types.Datum) (types.Datum, error)) factory {
	return func(c *compiler, call *scalar.Call, args []node) (node, error) {
		get := regexCache(global, name+"()")
		return datums(func(_ *genCall, a []types.Datum) (types.Datum, error) { return f(get, a) })(c, call, args)
	}
}

// textAt gives argument i as text, or "" if there are not so many.
func textAt(a []types.Datum, i int) string {
	if i < len(a) {
		return a[i].S
	}
	return ""
}

// intAt gives argument i, or def.
func intAt(a []types.Datum, i int, def int64) int64 {
	if i < len(a) {
		return a[i].I
	}
	return def
}

func badParameter(name string, v int64) error {
	return sqlerr.Newf(sqlerr.InvalidParameterValue, "invalid value for parameter \"%s\": %d", name, v)
}

// allMatches lists the matches of s from byte offset from on, at most limit if that is not
// negative: after an empty match the search goes on a character later.
func allMatches(re *regex, s string, from, limit int) [][]int {
	var out [][]int
	if re.context && from <= len(s) {
		// Package regexp cannot start in the middle with the text before in view, but lists all
		// matches; of these it leaves out only empty ones that touch the match before.
		for _, m := range re.FindAllStringSubmatchIndex(s, -1) {
			if m[0] >= from && (limit < 0 || len(out) < limit) {
				out = append(out, m)
			}
		}
		return out
	}
	for at := from; at <= len(s) && (limit < 0 || len(out) < limit); {
		m := re.FindStringSubmatchIndex(s[at:])
		if m == nil {
			break
		}
		for i := range m {
			if m[i] >= 0 {
				m[i] += at
			}
		}
		out = append(out, m)
		switch {
		case m[1] > m[0]:
			at = m[1]
		case m[1] >= len(s):
			at = len(s) + 1
		default:
			_, n := utf8.DecodeRuneInString(s[m[1]:])
			at = m[1] + n
		}
	}
	return out
}

func groupText(s string, m []int, g int) types.Datum {
	if m[2*g] < 0 {
		return types.Null
	}
	return types.DStr(s[m[2*g]:m[2*g+1]])
}

// matchArray is what regexp_match gives: the groups, or the whole match if there are none.
func matchArray(s string, m []int) types.Datum {
	var elems []types.Datum
	if len(m) == 2 {
		elems = append(elems, groupText(s, m, 0))
	}
	for g := 1; g < len(m)/2; g++ {
		elems = append(elems, groupText(s, m, g))
	}
	return types.DStr(types.MakeArray(types.Text, elems))
}

// replaceRegex replaces every match from byte offset from on.
func replaceRegex(re *regex, s, repl string, from int) string {
	var b strings.Builder
	at := 0
	for _, m := range allMatches(re, s, from, -1) {
		b.WriteString(s[at:m[0]])
		expandReplacement(&b, repl, s, m)
		at = m[1]
	}
	b.WriteString(s[at:])
	return b.String()
}

// expandReplacement resolves \1 to \9, \& and \\; any other backslash stands for itself.
func expandReplacement(b *strings.Builder, repl, s string, m []int) {
	for i := 0; i < len(repl); i++ {
		c := repl[i]
		if c != '\\' || i+1 == len(repl) {
			b.WriteByte(c)
			continue
		}
		g := -1
		switch d := repl[i+1]; {
		case d == '&':
			g = 0
		case d >= '1' && d <= '9':
			g = int(d - '0')
		case d == '\\':
			b.WriteByte('\\')
			i++
			continue
		default:
			b.WriteByte('\\')
			continue
		}
		i++
		if g < len(m)/2 && m[2*g] >= 0 {
			b.WriteString(s[m[2*g]:m[2*g+1]])
		}
	}
}

// splitRegex splits as regexp_split_to_array does: empty matches at the ends and next to another
// match do not count.
func splitRegex(re *regex, s string) []types.Datum {
	var out []types.Datum
	at := 0
	for _, m := range allMatches(re, s, 0, -1) {
		if m[0] == m[1] && (m[0] == at && at == 0 || m[0] >= len(s) || m[0] == at) {
			continue
		}
		out = append(out, types.DStr(s[at:m[0]]))
		at = m[1]
	}
	return append(out, types.DStr(s[at:]))
}

func addRegexKernels(t table) {
	for _, k := range []string{"text", "bpchar", "name"} {
		t.add("~("+k+",text)", matchFactory(false, false))
		t.add("!~("+k+",text)", matchFactory(true, false))
		t.add("~*("+k+",text)", matchFactory(false, true))
		t.add("!~*("+k+",text)", matchFactory(true, true))
	}
	text := func(name string, n int, kinds ...string) string {
		return name + "(" + strings.Join(append([]string{"text", "text"}, kinds...)[:n], ",") + ")"
	}
	like := regexFunc(false, "regexp_like", func(get func(string, string) (*regex, error), a []types.Datum) (types.Datum, error) {
		re, err := get(a[1].S, textAt(a, 2))
		if err != nil {
			return types.Null, err
		}
		return types.DBool(re.MatchString(a[0].S)), nil
	})
	t.add("regexp_like(text,text)", like)
	t.add("regexp_like(text,text,text)", like)
	match := regexFunc(false, "regexp_match", func(get func(string, string) (*regex, error), a []types.Datum) (types.Datum, error) {
		re, err := get(a[1].S, textAt(a, 2))
		if err != nil {
			return types.Null, err
		}
		m := re.FindStringSubmatchIndex(a[0].S)
		if m == nil {
			return types.Null, nil
		}
		return matchArray(a[0].S, m), nil
	})
	t.add("regexp_match(text,text)", match)
	t.add("regexp_match(text,text,text)", match)
	split := regexFunc(false, "regexp_split_to_array", func(get func(string, string) (*regex, error), a []types.Datum) (types.Datum, error) {
		re, err := get(a[1].S, textAt(a, 2))
		if err != nil {
			return types.Null, err
		}
		return types.DStr(types.MakeArray(types.Text, splitRegex(re, a[0].S))), nil
	})
	t.add("regexp_split_to_array(text,text)", split)
	t.add("regexp_split_to_array(text,text,text)", split)
	count := regexFunc(false, "regexp_count", func(get func(string, string) (*regex, error), a []types.Datum) (types.Datum, error) {
		start := intAt(a, 2, 1)
		if start <= 0 {
			return types.Null, badParameter("start", start)
		}
		re, err := get(a[1].S, textAt(a, 3))
		if err != nil {
			return types.Null, err
		}
		return types.DInt(int64(len(allMatches(re, a[0].S, startOffset(a[0].S, start), -1)))), nil
	})
	for n := 2; n <= 4; n++ {
		t.add(text("regexp_count", n, "int4", "text"), count)
	}
	instr := regexFunc(false, "regexp_instr", func(get func(string, string) (*regex, error), a []types.Datum) (types.Datum, error) {
		m, err := nthMatch(get, a, textAt(a, 5), intAt(a, 6, 0), func() error {
			if o := intAt(a, 4, 0); o != 0 && o != 1 {
				return badParameter("endoption", o)
			}
			return nil
		})
		if m == nil || err != nil {
			return types.DInt(0), err
		}
		g := groupOf(m, intAt(a, 6, 0))
		if g >= len(m)/2 || m[2*g] < 0 {
			return types.DInt(0), nil
		}
		return types.DInt(runes(a[0].S[:m[2*g+int(intAt(a, 4, 0))]]) + 1), nil
	})
	for n := 2; n <= 7; n++ {
		t.add(text("regexp_instr", n, "int4", "int4", "int4", "text", "int4"), instr)
	}
	sub := regexFunc(false, "regexp_substr", func(get func(string, string) (*regex, error), a []types.Datum) (types.Datum, error) {
		m, err := nthMatch(get, a, textAt(a, 4), intAt(a, 5, 0), func() error { return nil })
		if m == nil || err != nil {
			return types.Null, err
		}
		g := groupOf(m, intAt(a, 5, 0))
		if g >= len(m)/2 {
			return types.Null, nil
		}
		return groupText(a[0].S, m, g), nil
	})
	for n := 2; n <= 6; n++ {
		t.add(text("regexp_substr", n, "int4", "int4", "text", "int4"), sub)
	}
	t.add("substring(text,text)", regexFunc(false, "substring", func(get func(string, string) (*regex, error), a []types.Datum) (types.Datum, error) {
		return substringRegex(get, a[0].S, a[1].S)
	}))
	t.add("substring(text,text,text)", regexFunc(false, "substring", func(get func(string, string) (*regex, error), a []types.Datum) (types.Datum, error) {
		pat, err := similarToRegex(a[1].S, a[2].S)
		if err != nil {
			return types.Null, err
		}
		return substringRegex(get, a[0].S, pat)
	}))
	addReplaceKernels(t)
	t.add("similar_to_escape(text)", unaryErr(func(pat string) (string, error) { return similarToRegex(pat, `\`) }))
	t.add("similar_to_escape(text,text)", binaryErr(similarToRegex))
	t.add("similar_escape(text,text)", datums(func(_ *genCall, a []types.Datum) (types.Datum, error) {
		if !a[0].Valid {
			return types.Null, nil
		}
		esc := `\`
		if a[1].Valid {
			esc = a[1].S
		}
		s, err := similarToRegex(a[0].S, esc)
		return types.DStr(s), err
	}))
}

func substringRegex(get func(string, string) (*regex, error), s, pat string) (types.Datum, error) {
	re, err := get(pat, "")
	if err != nil {
		return types.Null, err
	}
	m := re.FindStringSubmatchIndex(s)
	if m == nil {
		return types.Null, nil
	}
	if len(m) > 2 {
		return groupText(s, m, 1), nil
	}
	return groupText(s, m, 0), nil
}

// startOffset is the byte offset of character start (from 1), past the end if there is none.
func startOffset(s string, start int64) int {
	if start-1 > runes(s) {
		return len(s) + 1
	}
	return charOffset(s, start-1)
}

// nthMatch is the match that regexp_instr and regexp_substr mean by their arguments (string,
// pattern, start, N), nil if there is none.
func nthMatch(get func(string, string) (*regex, error), a []types.Datum, flags string, group int64, check func() error) ([]int, error) {
	start, nth := intAt(a, 2, 1), intAt(a, 3, 1)
	if start <= 0 {
		return nil, badParameter("start", start)
	}
	if nth <= 0 {
		return nil, badParameter("n", nth)
	}
	if err := check(); err != nil {
		return nil, err
	}
	if group < 0 {
		return nil, badParameter("subexpr", group)
	}
	re, err := get(a[1].S, flags)
	if err != nil {
		return nil, err
	}
	ms := allMatches(re, a[0].S, startOffset(a[0].S, start), int(nth))
	if int64(len(ms)) < nth {
		return nil, nil
	}
	return ms[nth-1], nil
}

// groupOf is the group that the argument subexpr means: in a pattern without groups, 1 is the whole.
func groupOf(m []int, subexpr int64) int {
	if len(m) == 2 && subexpr == 1 {
		return 0
	}
	return int(subexpr)
}

func addReplaceKernels(t table) {
	flagged := regexFunc(true, "regexp_replace", func(get func(string, string) (*regex, error), a []types.Datum) (types.Datum, error) {
		flags := textAt(a, 3)
		if flags != "" && isDigitByte(flags[0]) {
			return types.Null, sqlerr.Newf(sqlerr.InvalidParameterValue, "invalid regular expression option: \"%s\"", firstChar(flags)).
				WithHint("If you meant to use regexp_replace() with a start parameter, cast the fourth argument to integer explicitly.")
		}
		re, err := get(a[1].S, flags)
		if err != nil {
			return types.Null, err
		}
		if re.global {
			return types.DStr(replaceRegex(re, a[0].S, a[2].S, 0)), nil
		}
		return types.DStr(replaceNth(re, a[0].S, a[2].S, 0, 1)), nil
	})
	t.add("regexp_replace(text,text,text)", flagged)
	t.add("regexp_replace(text,text,text,text)", flagged)
	numbered := regexFunc(true, "regexp_replace", func(get func(string, string) (*regex, error), a []types.Datum) (types.Datum, error) {
		start, nth := intAt(a, 3, 1), intAt(a, 4, 1)
		if start <= 0 {
			return types.Null, badParameter("start", start)
		}
		if nth < 0 {
			return types.Null, badParameter("n", nth)
		}
		re, err := get(a[1].S, textAt(a, 5))
		if err != nil {
			return types.Null, err
		}
		if len(a) < 5 && re.global {
			nth = 0
		}
		from := startOffset(a[0].S, start)
		if nth == 0 {
			return types.DStr(replaceRegex(re, a[0].S, a[2].S, from)), nil
		}
		return types.DStr(replaceNth(re, a[0].S, a[2].S, from, nth)), nil
	})
	t.add("regexp_replace(text,text,text,int4)", numbered)
	t.add("regexp_replace(text,text,text,int4,int4)", numbered)
	t.add("regexp_replace(text,text,text,int4,int4,text)", numbered)
}

// replaceNth replaces the nth match only.
func replaceNth(re *regex, s, repl string, from int, nth int64) string {
	ms := allMatches(re, s, from, int(nth))
	if int64(len(ms)) < nth {
		return s
	}
	m := ms[nth-1]
	var b strings.Builder
	b.WriteString(s[:m[0]])
	expandReplacement(&b, repl, s, m)
	b.WriteString(s[m[1]:])
	return b.String()
}
