package fn

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// parseTypes reads types separated by semicolons, as SQL spells them; "unknown" is a literal's.
func parseTypes(t *testing.T, s string) []types.Type {
	var ts []types.Type
	for f := range strings.SplitSeq(s, ";") {
		f = strings.TrimSpace(f)
		if f == "" {
			continue
		}
		name, mods := f, []string(nil)
		if i := strings.IndexByte(f, '('); i >= 0 {
			end := strings.IndexByte(f, ')')
			mods = strings.Split(f[i+1:end], ",")
			name = f[:i] + f[end+1:]
		}
		ty, err := types.FromName(name, mods, "", 0)
		if err != nil {
			t.Fatal(err)
		}
		ts = append(ts, ty)
	}
	return ts
}

func show(res Resolution, err error) string {
	if err != nil {
		var e *sqlerr.Error
		if !errors.As(err, &e) {
			return err.Error()
		}
		s := fmt.Sprintf("ERROR %s: %s", e.Code, e.Message)
		if e.Detail != "" {
			s += "\n  DETAIL: " + e.Detail
		}
		if e.Hint != "" {
			s += "\n  HINT: " + e.Hint
		}
		return s
	}
	var args []string
	for _, a := range res.Args {
		args = append(args, a.String())
	}
	s := fmt.Sprintf("(%s) %s", strings.Join(args, "; "), res.Ret)
	if res.CastTo {
		return "cast " + s
	}
	s = res.Fn.ID + " " + s
	if res.Order != nil {
		s += fmt.Sprint(" order ", res.Order)
	}
	return s
}

// TestResolve runs testdata/resolve: a call a line, "name: type; type", with "name:*" for f(*),
// "variadic" before the last type, "arg => type" for named notation; operators likewise, with one
// type for prefix ones. cast lines are "from; to" with the context as argument; common lines are
// types with the construct as argument.
func TestResolve(t *testing.T) {
	r := Default()
	datadriven.RunTest(t, "testdata/resolve", func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		for line := range strings.SplitSeq(d.Input, "\n") {
			name, rest, _ := strings.Cut(line, ":")
			switch d.Cmd {
			case "func":
				if n, ok := strings.CutSuffix(line, ":*"); ok {
					fmt.Fprintln(&out, show(r.ResolveFunc(n, nil, CallOptions{Star: true})))
					continue
				}
				opt := CallOptions{Variadic: strings.Contains(rest, "variadic ")}
				rest = strings.ReplaceAll(rest, "variadic ", "")
				if strings.Contains(rest, "=>") {
					var ts []string
					for f := range strings.SplitSeq(rest, ";") {
						n, ty, ok := strings.Cut(f, "=>")
						if !ok {
							n, ty = "", f
						}
						opt.ArgNames = append(opt.ArgNames, strings.TrimSpace(n))
						ts = append(ts, ty)
					}
					rest = strings.Join(ts, ";")
				}
				fmt.Fprintln(&out, show(r.ResolveFunc(name, parseTypes(t, rest), opt)))
			case "op":
				ts := parseTypes(t, rest)
				if len(ts) == 1 {
					fmt.Fprintln(&out, show(r.ResolvePrefix(name, ts[0])))
				} else {
					fmt.Fprintln(&out, show(r.ResolveOperator(name, ts[0], ts[1])))
				}
			case "cast":
				ctx := map[string]CastContext{"implicit": Implicit, "assignment": Assignment, "explicit": Explicit}[d.CmdArgs[0].Key]
				ts := parseTypes(t, line)
				steps, err := r.ResolveCast(ts[0], ts[1], ctx)
				if err != nil {
					fmt.Fprintln(&out, show(Resolution{}, err))
					continue
				}
				s := "steps:"
				for _, st := range steps {
					s += fmt.Sprintf(" %s -> %s", st.Fn.ID, st.To)
				}
				fmt.Fprintln(&out, s)
			case "common":
				ty, i, err := r.CommonType(d.CmdArgs[0].Key, parseTypes(t, line))
				if err != nil {
					fmt.Fprintf(&out, "%s (at %d)\n", show(Resolution{}, err), i)
				} else {
					fmt.Fprintln(&out, ty)
				}
			default:
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
		}
		return out.String()
	})
}

func TestExtend(t *testing.T) {
	fs := Define(Scalar, "format_type(oid, int4) text stable null")
	r, err := Default().Extend(fs...)
	if err != nil {
		t.Fatal(err)
	}
	res, err := r.ResolveFunc("format_type", []types.Type{types.T(types.Oid), types.T(types.Unknown)}, CallOptions{})
	if err != nil || res.Fn != fs[0] {
		t.Fatalf("%v %v", res, err)
	}
	if Default().HasName("format_type") {
		t.Error("the default registry changed")
	}
	if _, err := r.Extend(fs...); err == nil {
		t.Error("a second function of the same ID was accepted")
	}
}

// Every definition is self-consistent: defaults parse, and every type of the cast matrix has its
// functions.
func TestDefinitions(t *testing.T) {
	for _, f := range Default().All() {
		for i, d := range f.Defaults {
			if d == NoDefault {
				continue
			}
			if _, err := types.ParseText(f.Args[i], d, nil); err != nil {
				t.Errorf("%s: default of argument %d: %v", f.ID, i, err)
			}
		}
		if f.Variadic {
			if k := f.Args[len(f.Args)-1].Kind; k != types.Any && k != types.Array && k != types.AnyArray {
				t.Errorf("%s: variadic argument is no array", f.ID)
			}
		}
	}
}
