package fn

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// testdata/matrix.txt says what PostgreSQL 15 makes of every operator and function name with every
// combination of up to two argument types: for a name and the first type, the second types that
// resolve, with the type of the result ("!" if the call is ambiguous). With -from-pg and WEIR_PG_DSN
// set to a server's connection string the file is written anew.
var fromPG = flag.Bool("from-pg", false, "write the expected results from the PostgreSQL at WEIR_PG_DSN")

var matrixTypes = []types.Type{
	types.T(types.Unknown), types.T(types.Bool), types.T(types.Int2), types.T(types.Int4), types.T(types.Int8),
	types.T(types.Float4), types.T(types.Float8), types.T(types.Numeric), types.T(types.Text), types.T(types.Varchar),
	types.T(types.Char), types.T(types.Name), types.T(types.Bytea), types.T(types.Date), types.T(types.Time),
	types.T(types.Timestamp), types.T(types.Timestamptz), types.T(types.Interval), types.T(types.UUID),
	types.T(types.Jsonb), types.T(types.Json), types.T(types.Oid), types.T(types.Regclass),
	types.ArrayOf(types.Int4), types.ArrayOf(types.Text),
}

// resolver gives the result type of a call, "" if there is no such function and "!" if there are
// several.
type resolver func(kind Kind, name string, args ...types.Type) string

func ours(t *testing.T) resolver {
	return func(kind Kind, name string, args ...types.Type) string {
		var res Resolution
		var err error
		switch {
		case kind != Operator:
			res, err = Default().ResolveFunc(name, args, CallOptions{})
		case len(args) == 1:
			res, err = Default().ResolvePrefix(name, args[0])
		default:
			res, err = Default().ResolveOperator(name, args[0], args[1])
		}
		if err == nil {
			return idName(res.Ret)
		}
		var se *sqlerr.Error
		if !errors.As(err, &se) {
			t.Fatalf("%s%v: %v", name, args, err)
		}
		switch se.Code {
		case sqlerr.AmbiguousFunction:
			return "!"
		case sqlerr.UndefinedFunction, sqlerr.DatatypeMismatch, sqlerr.UndefinedObject:
			return ""
		}
		t.Fatalf("%s%v: %v", name, args, err)
		return ""
	}
}

func postgres(t *testing.T) resolver {
	conn, err := pgconn.Connect(context.Background(), os.Getenv("WEIR_PG_DSN"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(context.Background()); err != nil {
			t.Log(err)
		}
	})
	null := func(ty types.Type) string {
		if isUnknown(ty) {
			return "NULL"
		}
		return "NULL::" + typeName(ty)
	}
	return func(kind Kind, name string, args ...types.Type) string {
		var sql string
		switch {
		case kind != Operator:
			var list []string
			for _, a := range args {
				list = append(list, null(a))
			}
			sql = fmt.Sprintf("%q(%s)", name, strings.Join(list, ", "))
			if kind == Table {
				sql = "* FROM " + sql
			}
		case len(args) == 1:
			sql = name + " " + null(args[0])
		default:
			sql = null(args[0]) + " " + name + " " + null(args[1])
		}
		sd, err := conn.Prepare(context.Background(), "", "SELECT "+sql, nil)
		if err != nil {
			var pe *pgconn.PgError
			if errors.As(err, &pe) && pe.Code == "42725" {
				return "!"
			}
			return ""
		}
		ty, ok := types.TypeByOID(sd.Fields[0].DataTypeOID, -1)
		if !ok {
			return fmt.Sprint(sd.Fields[0].DataTypeOID)
		}
		return idName(ty)
	}
}

// matrix prints what r says of all names.
func matrix(r resolver) string {
	var b strings.Builder
	type key struct {
		kind Kind
		name string
	}
	arities := map[key][3]bool{}
	for _, f := range Default().All() {
		switch f.Kind {
		case Cast, Window:
			continue
		case Aggregate:
			if f.Direct >= 0 {
				continue
			}
		}
		// What is a keyword in Postgres, or only Weir's.
		if strings.HasPrefix(f.Name, "current_") || strings.HasPrefix(f.Name, "local") || f.Outs != nil ||
			slices.Contains([]string{"user", "session_user", "array_subscript", "array_slice", "any_value", "array_subscripts", "json_rows_agg", "min_by", "max_by", "arg_min", "arg_max", "approx_percentile", "approx_count_distinct"}, f.Name) || f.Kind == Aggregate && strings.HasSuffix(f.ID, aggregateForm) {
			continue
		}
		k := key{f.Kind, f.Name}
		a := arities[k]
		if n := len(f.Args); n == 1 || n == 2 {
			a[n] = true
		}
		arities[k] = a
	}
	keys := make([]key, 0, len(arities))
	for k := range arities {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b key) int { return strings.Compare(a.name, b.name) })
	for _, k := range keys {
		if arities[k][1] {
			fmt.Fprintf(&b, "%s:", k.name)
			for _, t := range matrixTypes {
				if res := r(k.kind, k.name, t); res != "" {
					fmt.Fprintf(&b, " %s=%s", idName(t), res)
				}
			}
			b.WriteByte('\n')
		}
		if !arities[k][2] {
			continue
		}
		for _, l := range matrixTypes {
			line := ""
			for _, t := range matrixTypes {
				if res := r(k.kind, k.name, l, t); res != "" {
					line += fmt.Sprintf(" %s=%s", idName(t), res)
				}
			}
			if line != "" {
				fmt.Fprintf(&b, "%s %s,%s\n", k.name, idName(l), line)
			}
		}
	}
	return b.String()
}

func TestResolutionMatrix(t *testing.T) {
	const file = "testdata/matrix.txt"
	if *fromPG {
		if err := os.WriteFile(file, []byte(matrix(postgres(t))), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// What is left over has reasons: overloads of types that Weir does not have (json, timetz, bit,
	// ranges), and casts to a precision that Postgres has as functions.
	const diffFile = "testdata/matrix_diff.txt"
	got := diff(strings.Split(string(want), "\n"), strings.Split(matrix(ours(t)), "\n"))
	if *fromPG {
		if err := os.WriteFile(diffFile, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	known, err := os.ReadFile(diffFile)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(known) {
		t.Errorf("differences from PostgreSQL:\n%s", diff(strings.Split(string(known), "\n"), strings.Split(got, "\n")))
	}
}

// diff lists the lines that only one of two lists has.
func diff(want, got []string) string {
	var b strings.Builder
	for _, l := range want {
		if !slices.Contains(got, l) {
			fmt.Fprintf(&b, "- %s\n", l)
		}
	}
	for _, l := range got {
		if !slices.Contains(want, l) {
			fmt.Fprintf(&b, "+ %s\n", l)
		}
	}
	return b.String()
}
