package pgoracle

import (
	"errors"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/weirdb/weir/sql/ast"
	"github.com/weirdb/weir/sql/parse"
	"github.com/weirdb/weir/sql/sqlerr"
)

var (
	flagN    = flag.Int("statements", 4000, "random statements of each kind")
	flagSeed = flag.Int64("seed", 1, "seed of the random statements")
)

// compare gives an error if Weir and PostgreSQL do not agree about a text.
func compare(text string) (accepted bool, err error) {
	want, pgErr := pgTree(text)
	stmts, weirErr := parse.Parse(text)
	var we *sqlerr.Error
	if errors.As(weirErr, &we) && we.Code == sqlerr.FeatureNotSupported {
		return false, nil
	}
	switch {
	case pgErr != nil && weirErr != nil:
		return false, sameRefusal(pgErr, we)
	case pgErr != nil && strings.HasPrefix(pgErr.Error(), "multiple limit options"):
		// PostgreSQL 17 refuses more combinations than 15, whose rule Weir has.
		return false, nil
	case pgErr != nil:
		return false, fmt.Errorf("Weir accepts what PostgreSQL refuses: %w", pgErr)
	case weirErr != nil:
		return true, fmt.Errorf("Weir refuses what PostgreSQL accepts: %s at %d %s", we.Message, we.Pos, we.Detail)
	}
	var texts []string
	for _, s := range stmts {
		switch s.AST.(type) {
		case *ast.Select, *ast.Insert, *ast.Update, *ast.Delete:
			texts = append(texts, parse.Deparse(s.AST))
		default:
			return true, nil
		}
	}
	again := strings.Join(texts, ";")
	got, err := pgTree(again)
	if err != nil {
		return true, fmt.Errorf("deparsed as\n  %s\nwhich PostgreSQL refuses: %w", again, err)
	}
	if err := samePlaces(want, stmts); err != nil {
		return true, err
	}
	if w, g := compact(normalise(want)), compact(normalise(got)); w != g {
		i := 0
		for i < len(w) && i < len(g) && w[i] == g[i] {
			i++
		}
		cut := func(s string) string { return s[max(0, i-120):min(len(s), i+120)] }
		return true, fmt.Errorf("deparsed as\n  %s\nPostgreSQL's tree has\n  %s\nWeir's\n  %s", again, cut(w), cut(g))
	}
	return true, nil
}

// sameRefusal compares the places of two errors, if both are syntax errors: PostgreSQL finds other
// mistakes at other moments.
func sameRefusal(pg error, weir *sqlerr.Error) error {
	var pe *pgError
	if !errors.As(pg, &pe) || !strings.HasPrefix(pe.Message, "syntax error") || !strings.HasPrefix(weir.Message, "syntax error") {
		return nil
	}
	if pe.Message != weir.Message {
		return fmt.Errorf("PostgreSQL says %q, Weir %q at %d", pe.Message, weir.Message, weir.Pos)
	}
	return nil
}

// samePlaces compares the positions of column references, parameters, operators and constants that
// are their operands.
func samePlaces(tree any, stmts []parse.Stmt) error {
	want := places(tree, nil)
	var got []string
	for _, s := range stmts {
		got = weirPlaces(reflect.ValueOf(s.AST), got)
	}
	sort.Strings(got)
	// PostgreSQL has the value of SET (a, b) = ... once for each column.
	want, got = slices.Compact(want), slices.Compact(got)
	if !reflect.DeepEqual(want, got) {
		return fmt.Errorf("positions: PostgreSQL's are\n  %v\nWeir's\n  %v", want, got)
	}
	return nil
}

// literalPlace is constPlace for Weir's tree.
func literalPlace(e ast.Expr, list []string) []string {
	switch e.(type) {
	case *ast.IntLit, *ast.NumLit, *ast.StrLit, *ast.BitLit, *ast.BoolLit, *ast.NullLit:
		return append(list, fmt.Sprintf("A_Const@%d", e.Position()))
	}
	return list
}

// weirPlaces is places for Weir's tree.
func weirPlaces(v reflect.Value, list []string) []string {
	switch v.Kind() {
	case reflect.Interface:
		return weirPlaces(v.Elem(), list)
	case reflect.Pointer:
		if v.IsNil() {
			return list
		}
		switch e := v.Interface().(type) {
		case *ast.OnConflict:
			// A column of an index is no reference in PostgreSQL's tree.
			c := *e
			c.Columns = slices.DeleteFunc(slices.Clone(c.Columns), func(x ast.Expr) bool {
				_, ok := x.(*ast.ColumnRef)
				return ok
			})
			return weirPlaces(reflect.ValueOf(c), list)
		case *ast.ColumnRef:
			return append(list, fmt.Sprintf("ColumnRef@%d", e.Pos))
		case *ast.Param:
			return append(list, fmt.Sprintf("ParamRef@%d", e.Pos))
		case *ast.Binary:
			list = literalPlace(e.L, literalPlace(e.R, append(list, fmt.Sprintf("A_Expr@%d", e.Pos))))
		case *ast.Unary:
			list = literalPlace(e.X, append(list, fmt.Sprintf("A_Expr@%d", e.Pos)))
		case *ast.IsDistinct:
			list = append(list, fmt.Sprintf("A_Expr@%d", e.Pos))
		case *ast.Between:
			list = append(list, fmt.Sprintf("A_Expr@%d", e.Pos))
		case *ast.InList:
			list = append(list, fmt.Sprintf("A_Expr@%d", e.Pos))
		case *ast.Like:
			list = append(list, fmt.Sprintf("A_Expr@%d", e.Pos))
		case *ast.AnyAll:
			list = append(list, fmt.Sprintf("A_Expr@%d", e.Pos))
		}
		return weirPlaces(v.Elem(), list)
	case reflect.Struct:
		for i := range v.NumField() {
			list = weirPlaces(v.Field(i), list)
		}
	case reflect.Slice:
		for i := range v.Len() {
			list = weirPlaces(v.Index(i), list)
		}
	}
	return list
}

// run compares n statements and reports the shortest that differ.
func run(t *testing.T, n int, one func(g *gen) string) {
	t.Helper()
	var failures []string
	accepted := 0
	for i := range n {
		g := &gen{rnd: rand.New(rand.NewSource(*flagSeed*1_000_003 + int64(i)))}
		text := one(g)
		ok, err := compare(text)
		if ok {
			accepted++
		}
		if err != nil {
			failures = append(failures, fmt.Sprintf("%s\n%v", text, err))
		}
	}
	t.Logf("%d of %d accepted by PostgreSQL, %d differ", accepted, n, len(failures))
	if accepted < n/10 {
		t.Errorf("only %d of %d statements are valid: the generator is of no use", accepted, n)
	}
	sort.Slice(failures, func(i, j int) bool { return len(failures[i]) < len(failures[j]) })
	for i, f := range failures {
		if i == 10 {
			break
		}
		t.Errorf("-seed %d: %s", *flagSeed, f)
	}
}

func TestExpressions(t *testing.T) {
	run(t, *flagN, func(g *gen) string { return "select " + g.expr(1+g.rnd.Intn(4)) })
}

func TestFrom(t *testing.T) {
	run(t, *flagN, func(g *gen) string { return "select 1 from " + g.from(1+g.rnd.Intn(3)) })
}

func TestQueries(t *testing.T) {
	run(t, *flagN, func(g *gen) string { return g.query(1 + g.rnd.Intn(3)) })
}

func TestDML(t *testing.T) {
	run(t, *flagN, func(g *gen) string { return g.dml(g.rnd.Intn(3)) })
}

// TestRecorded compares what real clients sent.
func TestRecorded(t *testing.T) {
	b, err := os.ReadFile("../../sql/parse/testdata/recorded.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range strings.Split(strings.TrimSuffix(string(b), "\n"), "\n---\n") {
		if _, err := compare(text); err != nil {
			t.Errorf("%s\n%v", text, err)
		}
	}
}
