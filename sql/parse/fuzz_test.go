package parse

import (
	"errors"
	"strings"
	"testing"

	"github.com/weirdb/weir/sql/parse/lex"
	"github.com/weirdb/weir/sql/sqlerr"
)

// seeds adds statements of every kind; the rest is found by mutation.
func seeds(f *testing.F) {
	for i, s := range recorded(f) {
		if i%8 == 0 && len(s) < 600 {
			f.Add(s)
		}
	}
	for _, s := range []string{
		"select a + b * c ^ d from t where not x is null and (y, z) in (select 1, 2) or a like b escape c",
		"select sum(a) filter (where b) over (partition by c order by d rows between 1 preceding and e following exclude ties)",
		"select * from a left join (b cross join c) as j using (x), lateral f(1) with ordinality as g (h, i)",
		"select a from t group by rollup (a, (b, c)), grouping sets ((), d) having e window w as (order by f)",
		"with recursive a (b) as (values (1) union all select b from a) insert into t select * from a on conflict (c) do update set (d, e) = (1, default) returning *",
		"update t set a = 1 from u where b; delete from t using u returning a",
		"(select 1 union select 2 order by 1) intersect table t limit 1",
		"create materialized view v as select 1 emit on window close",
		"create table t (a int default 1 not null, watermark for a as a - interval '1' day) with (a = b)",
		"select E'\\x41', U&'\\0041', B'1', $a$b$a$, 1.5e3, $1, \"q\"\"r\", array[[1], [2]][1:2]",
	} {
		f.Add(s)
	}
}

// FuzzParse: no text may panic or give an internal error; a position is inside of the text; what is
// accepted can be deparsed and read back to the same tree.
func FuzzParse(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		stmts, err := Parse(text)
		if err != nil {
			checkError(t, text, err)
			return
		}
		for _, s := range stmts {
			if text[s.Start:s.End] != s.Text || strings.TrimSpace(s.Text) != s.Text {
				t.Errorf("bounds %d..%d of %q", s.Start, s.End, s.Text)
			}
			if err := checkRoundTrip(s.AST); err != nil {
				t.Error(err)
			}
		}
	})
}

// FuzzParseExpr is FuzzParse for expressions.
func FuzzParseExpr(f *testing.F) {
	for _, s := range []string{"a + 1", "f(x) over ()", "case when a then b end", "(select 1)", "a[1].b::int", "(a).b[1][2]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := ParseExpr(text)
		if err != nil {
			checkError(t, text, err)
			return
		}
		again := DeparseExpr(e)
		e2, err := ParseExpr(again)
		if err != nil {
			t.Fatalf("deparsed as %s\nwhich fails: %s", again, caret(again, err))
		}
		if want, got := shape(e), shape(e2); want != got {
			t.Fatalf("deparsed as %s\nwhich is\n%s\nnot\n%s", again, got, want)
		}
	})
}

// FuzzLex: tokens are in order and inside of the text.
func FuzzLex(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		toks := lex.Lex(text, nil)
		end := 0
		for _, tok := range toks {
			if tok.Pos < end || tok.End < tok.Pos || tok.End > len(text) {
				t.Fatalf("token %d..%d behind %d of %d", tok.Pos, tok.End, end, len(text))
			}
			end = tok.End
		}
		if toks[len(toks)-1].Kind != lex.EOF {
			t.Fatal("no EOF")
		}
	})
}

func checkError(t *testing.T, text string, err error) {
	var e *sqlerr.Error
	if !errors.As(err, &e) {
		t.Fatalf("%T: %v", err, err)
	}
	if e.Code == sqlerr.InternalError {
		t.Fatalf("internal error: %s (%s)", e.Message, e.Detail)
	}
	if e.Pos < sqlerr.NoPos || e.Pos > len(text) {
		t.Fatalf("position %d of %d", e.Pos, len(text))
	}
}
