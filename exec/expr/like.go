package expr

import (
	"strings"
	"unicode/utf8"

	"github.com/weirdb/weir/exec/vec"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
)

var errLikeEnd = sqlerr.Newf(sqlerr.InvalidEscapeSequence, "LIKE pattern must not end with escape character")

// likePattern is a compiled LIKE pattern: the shapes that occur most have loops of their own.
type likePattern struct {
	shape likeShape
	lit   string // for all shapes but likeGeneral
	toks  []likeTok
	bytes bool // _ is a byte (bytea), not a character
}

type likeShape uint8

const (
	likeGeneral  likeShape = iota
	likeExact              // lit
	likePrefix             // lit%
	likeSuffix             // %lit
	likeContains           // %lit%
)

// likeTok is a part of a general pattern.
type likeTok struct {
	kind likeKind
	lit  string
}

type likeKind uint8

const (
	tokLit  likeKind = iota
	tokOne           // _
	tokMany          // %
	tokBad           // an escape character at the end
)

// compileLike reads a pattern with backslash as the escape character.
func compileLike(pat string, bytes bool) *likePattern {
	p := &likePattern{bytes: bytes}
	var lit []byte
	flush := func() {
		if len(lit) > 0 {
			p.toks = append(p.toks, likeTok{tokLit, string(lit)})
			lit = lit[:0]
		}
	}
	for i := 0; i < len(pat); i++ {
		switch c := pat[i]; c {
		case '%':
			flush()
			if n := len(p.toks); n == 0 || p.toks[n-1].kind != tokMany {
				p.toks = append(p.toks, likeTok{kind: tokMany})
			}
		case '_':
			flush()
			p.toks = append(p.toks, likeTok{kind: tokOne})
		case '\\':
			if i+1 == len(pat) {
				flush()
				p.toks = append(p.toks, likeTok{kind: tokBad})
			} else {
				i++
				lit = append(lit, pat[i])
			}
		default:
			lit = append(lit, c)
		}
	}
	flush()
	p.classify()
	return p
}

func (p *likePattern) classify() {
	is := func(kinds ...likeKind) bool {
		if len(kinds) != len(p.toks) {
			return false
		}
		for i, k := range kinds {
			if p.toks[i].kind != k {
				return false
			}
			if k == tokLit {
				p.lit = p.toks[i].lit
			}
		}
		return true
	}
	switch {
	case is(), is(tokLit):
		p.shape = likeExact
	case is(tokLit, tokMany):
		p.shape = likePrefix
	case is(tokMany, tokLit):
		p.shape = likeSuffix
	case is(tokMany, tokLit, tokMany), is(tokMany):
		p.shape = likeContains
	}
}

// canFail tells whether matching can give an error.
func (p *likePattern) canFail() bool {
	n := len(p.toks)
	return n > 0 && p.toks[n-1].kind == tokBad
}

func (p *likePattern) match(s string) (bool, error) {
	switch p.shape {
	case likeExact:
		return s == p.lit, nil
	case likePrefix:
		return strings.HasPrefix(s, p.lit), nil
	case likeSuffix:
		return strings.HasSuffix(s, p.lit), nil
	case likeContains:
		return strings.Contains(s, p.lit), nil
	}
	return p.general(s)
}

// general matches token by token. After a mismatch only the last % has to be tried further: an earlier
// one gives nothing that the last does not.
func (p *likePattern) general(s string) (bool, error) {
	t, at := 0, 0
	many, from := -1, 0 // the token after the last %, and where its match begins
	for {
		ok := true
		switch {
		case t == len(p.toks):
			if at == len(s) {
				return true, nil
			}
			ok = false
		case p.toks[t].kind == tokMany:
			t++
			if t == len(p.toks) {
				return true, nil
			}
			many, from = t, at
			continue
		case at == len(s):
			// Nothing is left for the rest of the pattern, wherever the last % ends.
			return false, nil
		case p.toks[t].kind == tokBad:
			return false, errLikeEnd
		case p.toks[t].kind == tokOne:
			at += p.width(s[at:])
			t++
		default:
			lit := p.toks[t].lit
			if ok = strings.HasPrefix(s[at:], lit); ok {
				at += len(lit)
				t++
			}
		}
		if ok {
			continue
		}
		if many < 0 {
			return false, nil
		}
		if from >= len(s) {
			return false, nil
		}
		from += p.width(s[from:])
		if p.toks[many].kind == tokLit {
			i := strings.Index(s[from:], p.toks[many].lit)
			if i < 0 {
				return false, nil
			}
			from += i
		}
		t, at = many, from
	}
}

func (p *likePattern) width(s string) int {
	if p.bytes {
		return 1
	}
	_, n := utf8.DecodeRuneInString(s)
	return n
}

// likeMode says what kind of LIKE a node is.
type likeMode struct{ not, fold, bytes bool }

func (m likeMode) compile(pat string) *likePattern {
	if m.fold {
		pat = strings.ToLower(pat)
	}
	return compileLike(pat, m.bytes)
}

// likeConst is LIKE with a constant pattern.
type likeConst struct {
	callNode
	likeMode
	pat *likePattern
}

func likeFactory(m likeMode) factory {
	return func(c *compiler, call *scalar.Call, args []node) (node, error) {
		if d := args[1].info().con; d != nil && d.Valid {
			n := &likeConst{newCallNode(call, args[:1]), m, m.compile(d.S)}
			if !n.pat.canFail() {
				n.canFail, n.lazy = args[0].info().canFail, args[0].info().lazy
			}
			return n, nil
		}
		cache := newCache(func(pat string) (*likePattern, error) { return m.compile(pat), nil })
		return binaryErr(func(s, pat string) (bool, error) {
			p, err := cache.get(pat)
			if err != nil {
				return false, err
			}
			if m.fold {
				s = strings.ToLower(s)
			}
			ok, err := p.match(s)
			return ok != m.not, err
		})(c, call, args)
	}
}

func (n *likeConst) eval(st *state, sel []int32) (*vec.Vector, error) {
	if err := n.start(st, sel); err != nil {
		return nil, err
	}
	in, out, lit := n.argv[0].Str, n.out.Bool, n.pat.lit
	if sel == nil && !n.fold {
		switch n.pat.shape {
		case likeExact:
			for i, s := range in {
				out[i] = (s == lit) != n.not
			}
			return &n.out, nil
		case likePrefix:
			for i, s := range in {
				out[i] = (len(s) >= len(lit) && s[:len(lit)] == lit) != n.not
			}
			return &n.out, nil
		case likeSuffix:
			for i, s := range in {
				out[i] = strings.HasSuffix(s, lit) != n.not
			}
			return &n.out, nil
		case likeContains:
			for i, s := range in {
				out[i] = strings.Contains(s, lit) != n.not
			}
			return &n.out, nil
		}
	}
	return &n.out, st.rows(sel, func(i int) error {
		if n.out.Nulls.Get(i) {
			return nil
		}
		s := in[i]
		if n.fold {
			s = strings.ToLower(s)
		}
		ok, err := n.pat.match(s)
		if err != nil {
			return st.fail(&n.out, i, err)
		}
		out[i] = ok != n.not
		return nil
	})
}

// likeEscape rewrites a pattern with another escape character, or none, to one with backslash.
func likeEscape(pat, esc string) (string, error) {
	if esc != "" && utf8.RuneCountInString(esc) != 1 {
		return "", errEscapeString()
	}
	if esc == `\` {
		return pat, nil
	}
	var b strings.Builder
	for rest := pat; rest != ""; {
		switch {
		case esc != "" && strings.HasPrefix(rest, esc):
			b.WriteByte('\\')
			rest = rest[len(esc):]
			if rest == "" {
				continue
			}
			_, n := utf8.DecodeRuneInString(rest)
			b.WriteString(rest[:n])
			rest = rest[n:]
		case rest[0] == '\\':
			b.WriteString(`\\`)
			rest = rest[1:]
		default:
			b.WriteByte(rest[0])
			rest = rest[1:]
		}
	}
	return b.String(), nil
}

func errEscapeString() error {
	return sqlerr.Newf(sqlerr.InvalidEscapeSequence, "invalid escape string").
		WithHint("Escape string must be empty or one character.")
}

func addLikeKernels(t table) {
	for _, k := range []string{"text", "bpchar", "name"} {
		t.add("~~("+k+",text)", likeFactory(likeMode{}))
		t.add("!~~("+k+",text)", likeFactory(likeMode{not: true}))
		t.add("~~*("+k+",text)", likeFactory(likeMode{fold: true}))
		t.add("!~~*("+k+",text)", likeFactory(likeMode{not: true, fold: true}))
	}
	t.add("~~(bytea,bytea)", likeFactory(likeMode{bytes: true}))
	t.add("!~~(bytea,bytea)", likeFactory(likeMode{not: true, bytes: true}))
	t.add("like(text,text)", likeFactory(likeMode{}))
	t.add("notlike(text,text)", likeFactory(likeMode{not: true}))
	t.add("like(bytea,bytea)", likeFactory(likeMode{bytes: true}))
	t.add("notlike(bytea,bytea)", likeFactory(likeMode{not: true, bytes: true}))
	t.add("like_escape(text,text)", binaryErr(likeEscape))
	t.add("like_escape(bytea,bytea)", binaryErr(likeEscape))
}

// cache keeps what was made of the last strings. It belongs to one node.
type cache[T any] struct {
	make func(string) (T, error)
	last string
	val  T
	m    map[string]T
}

// cacheSize bounds a cache; a full one is emptied.
const cacheSize = 256

func newCache[T any](f func(string) (T, error)) *cache[T] { return &cache[T]{make: f} }

func (c *cache[T]) get(s string) (T, error) {
	if c.m != nil && s == c.last {
		return c.val, nil
	}
	v, ok := c.m[s]
	if !ok {
		var err error
		if v, err = c.make(s); err != nil {
			return v, err
		}
		if c.m == nil || len(c.m) >= cacheSize {
			c.m = map[string]T{}
		}
		c.m[s] = v
	}
	c.last, c.val = s, v
	return v, nil
}
