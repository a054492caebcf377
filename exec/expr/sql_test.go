package expr

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/weirdb/weir/exec"
	"github.com/weirdb/weir/planner/bind"
	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/fn"
	"github.com/weirdb/weir/sql/parse"
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// The files under testdata/sql say what PostgreSQL 15 gives for expressions. With WEIR_PG_DSN set
// to the connection string of a server the test asks that instead of this package; together
// with -rewrite it so takes the expected results from PostgreSQL.

var testNow = time.Date(2024, 2, 29, 13, 14, 15, 161718000, time.UTC)

func testEnv() *exec.Env {
	return &exec.Env{Location: time.UTC, Now: testNow, User: "weir", Database: "weir", SearchPath: []string{"public"}}
}

// bindSQL makes an expression of text, over the columns of rel.
func bindSQL(text string, rel *catalog.Relation, env *exec.Env) (scalar.Expr, error) {
	e, err := parse.ParseExpr(text)
	if err != nil {
		return nil, err
	}
	b := bind.New(bind.Config{
		Catalog: catalog.New(), SearchPath: []string{"public"}, Registry: fn.Default(),
		Env: &types.Env{Now: types.FromGoTime(testNow), TimeZone: env.Location},
	}, nil)
	return b.Expr(e, rel, types.T(types.Unknown), "SELECT")
}

// evalSQL gives "type: value" or "ERROR code: message".
func evalSQL(text string, env *exec.Env, digits int) string {
	e, err := bindSQL(text, nil, env)
	if err != nil {
		return errorText(err)
	}
	d, err := FoldConst(e, env)
	if err != nil {
		return errorText(err)
	}
	t := e.Type()
	if !d.Valid {
		return t.String() + ": NULL"
	}
	return t.String() + ": " + oneLine(t, types.Format(t, d, &types.Env{TimeZone: env.Location}), digits)
}

func errorText(err error) string {
	var se *sqlerr.Error
	if errors.As(err, &se) {
		return fmt.Sprintf("ERROR %s: %s", se.Code, se.Message)
	}
	return "ERROR: " + err.Error()
}

// oneLine quotes text with line ends, and rounds floats to digits if that is not 0.
func oneLine(t types.Type, s string, digits int) string {
	if digits > 0 && t.Kind == types.Float8 {
		if f, err := strconv.ParseFloat(s, 64); err == nil {
			return strconv.FormatFloat(f, 'g', digits, 64)
		}
	}
	if strings.ContainsAny(s, "\n\r") || s == "" || s != strings.TrimSpace(s) {
		return strconv.Quote(s)
	}
	return s
}

// postgres evaluates like evalSQL, with a server.
func postgres(conn *pgconn.PgConn, text string, digits int) string {
	res, err := conn.Exec(context.Background(), "SELECT "+text).ReadAll()
	if err != nil {
		var pe *pgconn.PgError
		if errors.As(err, &pe) {
			return fmt.Sprintf("ERROR %s: %s", pe.Code, pe.Message)
		}
		return err.Error()
	}
	f := res[0].FieldDescriptions[0]
	t, ok := types.TypeByOID(f.DataTypeOID, f.TypeModifier)
	name := t.String()
	if !ok {
		name = fmt.Sprintf("type %d", f.DataTypeOID)
	}
	if res[0].Rows[0][0] == nil {
		return name + ": NULL"
	}
	return name + ": " + oneLine(t, string(res[0].Rows[0][0]), digits)
}

func pgConn(t *testing.T) *pgconn.PgConn {
	dsn := os.Getenv("WEIR_PG_DSN")
	if dsn == "" {
		return nil
	}
	conn, err := pgconn.Connect(context.Background(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(context.Background()); err != nil {
			t.Log(err)
		}
	})
	for _, s := range []string{"SET TimeZone = 'UTC'", "SET extra_float_digits = 1", "SET IntervalStyle = 'postgres'"} {
		if _, err := conn.Exec(context.Background(), s).ReadAll(); err != nil {
			t.Fatal(err)
		}
	}
	return conn
}

// TestSQL runs the files. Commands: eval evaluates each line of its input; digits=n compares floats
// to n digits, zone=name sets the time zone, local is for what PostgreSQL cannot be asked.
func TestSQL(t *testing.T) {
	conn := pgConn(t)
	datadriven.Walk(t, "testdata/sql", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var digits int
			d.MaybeScanArgs(t, "digits", &digits)
			env := testEnv()
			zone := "UTC"
			d.MaybeScanArgs(t, "zone", &zone)
			var err error
			if env.Location, err = time.LoadLocation(zone); err != nil {
				d.Fatalf(t, "%v", err)
			}
			ask := conn != nil && !d.HasArg("local")
			if ask {
				if _, err := conn.Exec(context.Background(), "SET TimeZone = '"+zone+"'").ReadAll(); err != nil {
					d.Fatalf(t, "%v", err)
				}
			}
			var out strings.Builder
			for line := range strings.SplitSeq(d.Input, "\n") {
				if ask {
					out.WriteString(postgres(conn, line, digits))
				} else {
					out.WriteString(evalSQL(line, env, digits))
				}
				out.WriteByte('\n')
			}
			return out.String()
		})
	})
}
