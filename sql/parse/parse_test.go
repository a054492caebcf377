package parse

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/sqlerr"
)

// TestData runs the scripts of testdata. Their commands are:
//
//	parse    statements: the trees, with positions; or the error
//	expr     an expression, likewise
//	type     a type name
//	text     statements: what Deparse writes
//	tidb     an expression or query: the text that TiDB gets
//	errors   one statement a line: its error, or "ok"
//
// "tidb" shows the byte 1 as a paragraph sign.
func TestData(t *testing.T) {
	datadriven.Walk(t, "testdata/script", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "parse":
				stmts, err := Parse(d.Input)
				if err != nil {
					return caret(d.Input, err)
				}
				var b strings.Builder
				for _, s := range stmts {
					b.WriteString(dump(s.AST))
					if s.NumParams > 0 {
						fmt.Fprintf(&b, " params=%d", s.NumParams)
					}
					b.WriteString("\n")
				}
				return b.String()
			case "expr":
				e, err := ParseExpr(d.Input)
				if err != nil {
					return caret(d.Input, err)
				}
				return dump(e) + "\n"
			case "type":
				var b strings.Builder
				for line := range strings.Lines(d.Input) {
					typ, err := ParseType(line)
					if err != nil {
						fmt.Fprintf(&b, "%s\n", oneLine(err))
						continue
					}
					fmt.Fprintf(&b, "%s\n", dump(typ))
				}
				return b.String()
			case "text":
				stmts, err := Parse(d.Input)
				if err != nil {
					return caret(d.Input, err)
				}
				var b strings.Builder
				for _, s := range stmts {
					fmt.Fprintln(&b, Deparse(s.AST))
				}
				return b.String()
			case "tidb":
				p, err := newParser(d.Input)
				if err != nil {
					return oneLine(err) + "\n"
				}
				var f frag
				if p.startsQuery() || p.isSelf("(") {
					f = p.finish(p.query())
				} else {
					f = p.expr()
				}
				if p.err != nil {
					return oneLine(p.err) + "\n"
				}
				return strings.ReplaceAll(p.out.render(f), "\x01", "¶") + "\n"
			case "errors":
				var b strings.Builder
				for line := range strings.Lines(d.Input) {
					line = strings.TrimSuffix(line, "\n")
					_, err := Parse(line)
					fmt.Fprintf(&b, "%s\n", caret(line, err))
				}
				return b.String()
			}
			t.Fatalf("unknown command %q", d.Cmd)
			return ""
		})
	})
}

// oneLine prints an error with its position and hint.
func oneLine(err error) string {
	var e *sqlerr.Error
	if !errors.As(err, &e) {
		return "not a sqlerr.Error: " + err.Error()
	}
	s := fmt.Sprintf("%s %s", e.Code, e.Message)
	if e.Pos >= 0 {
		s += fmt.Sprintf(" at %d", e.Pos)
	}
	if e.Hint != "" {
		s += " HINT " + e.Hint
	}
	return s
}

// caret prints an error as psql does, with a caret under the place; "ok" for none.
func caret(text string, err error) string {
	if err == nil {
		return "ok"
	}
	var e *sqlerr.Error
	errors.As(err, &e)
	s := oneLine(err)
	if e == nil || e.Pos < 0 || e.Pos > len(text) {
		return s
	}
	start := strings.LastIndexByte(text[:e.Pos], '\n') + 1
	end := len(text)
	if i := strings.IndexByte(text[e.Pos:], '\n'); i >= 0 {
		end = e.Pos + i
	}
	return fmt.Sprintf("%s\n  %s\n  %s^", s, text[start:end], strings.Repeat(" ", len([]rune(text[start:e.Pos]))))
}

// recorded gives the statements that clients of PostgreSQL sent and that it accepted.
func recorded(t testing.TB) []string {
	b, err := os.ReadFile("testdata/recorded.sql")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n---\n")
}

// TestRecorded: every statement that a real client sent is parsed, and what Deparse writes of it is
// read back to the same tree.
func TestRecorded(t *testing.T) {
	stmts := recorded(t)
	if len(stmts) < 1000 {
		t.Fatalf("only %d recorded statements", len(stmts))
	}
	for _, text := range stmts {
		parsed, err := Parse(text)
		if err != nil {
			t.Errorf("%s\n%s", text, oneLine(err))
			continue
		}
		for _, s := range parsed {
			if err := checkRoundTrip(s.AST); err != nil {
				t.Errorf("%s\n%v", text, err)
			}
		}
	}
}

// checkRoundTrip deparses a query or data-modifying statement, parses the text and compares.
func checkRoundTrip(s ast.Statement) error {
	switch s.(type) {
	case *ast.Select, *ast.Insert, *ast.Update, *ast.Delete:
	default:
		return nil
	}
	text := Deparse(s)
	again, err := Parse(text)
	if err != nil {
		return fmt.Errorf("deparsed as %s\nwhich fails: %s", text, caret(text, err))
	}
	if len(again) != 1 {
		return fmt.Errorf("deparsed as %s, which is %d statements", text, len(again))
	}
	want, got := shape(s), shape(again[0].AST)
	if want != got {
		return fmt.Errorf("deparsed as %s\nwhich is\n%s\nnot\n%s", text, got, want)
	}
	return nil
}

// TestStatementBounds: the text of each statement is what was written, without its surroundings.
func TestStatementBounds(t *testing.T) {
	text := " ; select 1 ;-- a comment\n/* b */ insert into t values ($2, $10) /* c */ ; ;"
	stmts, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if len(stmts) != 2 {
		t.Fatalf("%d statements", len(stmts))
	}
	for i, want := range []string{"select 1", "insert into t values ($2, $10)"} {
		if stmts[i].Text != want || text[stmts[i].Start:stmts[i].End] != want {
			t.Errorf("statement %d is %q", i, stmts[i].Text)
		}
	}
	if stmts[0].NumParams != 0 || stmts[1].NumParams != 10 {
		t.Errorf("parameters: %d, %d", stmts[0].NumParams, stmts[1].NumParams)
	}
}

// TestDepth: deep nesting is an error, not an overflow of the stack, and long chains are none.
func TestDepth(t *testing.T) {
	const n = 30000
	for _, text := range []string{
		"select " + strings.Repeat("(", n) + "1" + strings.Repeat(")", n),
		"select " + strings.Repeat("-", 1) + strings.Repeat(" - ", n) + "1",
		"select " + strings.Repeat("not ", n) + "true",
		"select 1" + strings.Repeat("+1", n),
		"select " + strings.Repeat("array[", n) + strings.Repeat("]", n),
		"select " + strings.Repeat("f(", n),
		"select " + strings.Repeat("case when ", n),
		"select a" + strings.Repeat("[1]", n),
		"select 1" + strings.Repeat("::int", n),
		"select 1" + strings.Repeat(" union select 1", n),
		strings.Repeat("(", n) + "select 1" + strings.Repeat(")", n),
		"select * from " + strings.Repeat("(", n),
		"select * from a" + strings.Repeat(" cross join a", n),
		"select * from " + strings.Repeat("a join ", n),
		strings.Repeat("explain ", n) + "select 1",
		"select 1 from t group by " + strings.Repeat("grouping sets (", n),
		strings.Repeat("with a as (", n),
	} {
		_, err := Parse(text)
		var e *sqlerr.Error
		if !errors.As(err, &e) || e.Code != sqlerr.StatementTooComplex && e.Code != sqlerr.SyntaxError {
			t.Errorf("%.40s...: %v", text, err)
		}
	}
	for _, text := range []string{
		"select 1 where a = 1" + strings.Repeat(" or a = 1", n),
		"select 1 where a in (1" + strings.Repeat(", 1", n) + ")",
		"insert into t values (1)" + strings.Repeat(", (1)", n),
		"select " + strings.Repeat("(", 200) + "1" + strings.Repeat(")", 200),
		"select 1" + strings.Repeat("+1", 1000),
	} {
		if _, err := Parse(text); err != nil {
			t.Errorf("%.40s...: %v", text, err)
		}
	}
}

// TestParallel: parsers are reused, and never shared.
func TestParallel(t *testing.T) {
	stmts := recorded(t)
	for i := range 4 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			for n, s := range stmts {
				if n%4 != i {
					continue
				}
				first, err := Parse(s)
				if err != nil {
					t.Fatal(err)
				}
				if len(first) == 0 {
					continue // nothing but a semicolon
				}
				want := dump(first[0].AST)
				if _, err := Parse("select 'something else', 1 + 2 from x where y"); err != nil {
					t.Fatal(err)
				}
				if got := dump(first[0].AST); got != want {
					t.Fatalf("the tree changed after it was made:\n%s\n%s", want, got)
				}
			}
		})
	}
}

func TestQuoteIdent(t *testing.T) {
	for in, want := range map[string]string{
		"a": "a", "a1_": "a1_", "A": `"A"`, "select": `"select"`, "name": "name", "left": `"left"`, "values": `"values"`,
		"": `""`, `a"b`: `"a""b"`, "1a": `"1a"`, "ü": `"ü"`, "a b": `"a b"`,
	} {
		if got := QuoteIdent(in); got != want {
			t.Errorf("QuoteIdent(%q) = %s, want %s", in, got, want)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for _, c := range []struct{ name, text string }{
		{"insert", "insert into orders (id, customer, amount, status) values ($1, $2, $3, 'new')"},
		{"insert literals", "INSERT INTO t VALUES (1, 'abc', 2.5, now())"},
		{"point read", "select a, b, c from t where id = $1"},
		{"join", `select o.id, c.name, sum(l.price * (1 - l.discount)) as total
			from orders o join customers c on c.id = o.customer left join lines l on l.order_id = o.id
			where o.created > now() - interval '1 hour' and c.country in ('DE', 'AT') group by o.id, c.name
			having count(*) > 1 order by total desc limit 10`},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(c.text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
