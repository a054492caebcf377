package plpgsql

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/weirdb/weir/sql/sqlerr"
)

// TestParse shows trees; an error shows where it is.
func TestParse(t *testing.T) {
	datadriven.RunTest(t, "testdata/parse", func(_ *testing.T, d *datadriven.TestData) string {
		b, err := Parse(d.Input)
		if err != nil {
			e := sqlerr.From(err)
			return fmt.Sprintf("ERROR %s at %d: %s\n", e.Code, e.Pos, e.Message)
		}
		var out strings.Builder
		show(&out, reflect.ValueOf(b), 0)
		return out.String()
	})
}

// show writes what is set in a node, one field a line.
func show(b *strings.Builder, v reflect.Value, depth int) {
	pad := strings.Repeat("  ", depth)
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		show(b, v.Elem(), depth)
	case reflect.Slice:
		for i := range v.Len() {
			show(b, v.Index(i), depth)
		}
	case reflect.Struct:
		switch x := v.Interface().(type) {
		case Expr:
			fmt.Fprintf(b, "%s%q at %d, line %d\n", pad, x.Text, x.Pos, x.Line)
			return
		case Target:
			fmt.Fprintf(b, "%s%s\n", pad, strings.Join(x.Parts, "."))
			return
		}
		fmt.Fprintf(b, "%s%s\n", pad, v.Type().Name())
		for i := range v.NumField() {
			f, name := v.Field(i), v.Type().Field(i).Name
			if f.IsZero() || name == "Pos" {
				continue
			}
			switch k := f.Kind(); {
			case k == reflect.Slice || k == reflect.Struct || k == reflect.Pointer && f.Elem().Kind() != reflect.String || k == reflect.Interface:
				fmt.Fprintf(b, "%s  %s:\n", pad, name)
				show(b, f, depth+2)
			case k == reflect.Pointer:
				fmt.Fprintf(b, "%s  %s: %q\n", pad, name, f.Elem().String())
			default:
				fmt.Fprintf(b, "%s  %s: %v\n", pad, name, f.Interface())
			}
		}
	default:
		fmt.Fprintf(b, "%s%v\n", pad, v.Interface())
	}
}

func TestConditions(t *testing.T) {
	for _, c := range []struct {
		condition, code string
		want            bool
	}{
		{"others", "23505", true}, {"others", "57014", false}, {"query_canceled", "57014", true}, {"unique_violation", "23505", true},
		{"unique_violation", "23503", false}, {"integrity_constraint_violation", "23505", true}, {"=23505", "23505", true}, {"=23000", "23505", true},
		{"duplicate_object", "42710", true}, {"nosuch", "42710", false},
	} {
		if got := Matches(c.condition, c.code); got != c.want {
			t.Errorf("Matches(%s, %s) = %v", c.condition, c.code, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"BEGIN END", "DECLARE a int := 1; BEGIN IF a > 0 THEN NULL; ELSE RAISE 'x % y', a; END IF; END", "BEGIN FOR i IN 1..2 LOOP x := y[1]; END LOOP; EXCEPTION WHEN others THEN NULL; END",
		"<<l>> BEGIN SELECT 1 INTO STRICT a, b.c FROM t; EXECUTE 'x' INTO y USING 1, 2; END l", "BEGIN CASE x WHEN 1, 2 THEN NULL; ELSE END CASE; GET DIAGNOSTICS n = ROW_COUNT; END",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b, err := Parse(s)
		if err != nil {
			return
		}
		_ = Walk(b, func(e Expr, _ bool) error {
			if e.Line < 1 {
				t.Fatalf("expression %q has no line", e.Text)
			}
			return nil
		})
	})
}
