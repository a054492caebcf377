package fn

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weirdb/weir/sql/types"
)

// defs is a group of definitions of one kind.
type defs struct {
	kind Kind
	text string
}

// allDefs has every group, in the order of the manual.
var allDefs = []defs{
	{Operator, comparisonOps},
	{Operator, mathOps},
	{Operator, absOps},
	{Scalar, mathFuncs},
	{Operator, stringOps},
	{Scalar, stringFuncs},
	{Scalar, patternFuncs},
	{Scalar, formatFuncs},
	{Operator, dateOps},
	{Scalar, dateFuncs},
	{Operator, jsonOps},
	{Scalar, jsonFuncs},
	{Operator, arrayOps},
	{Scalar, arrayFuncs},
	{Scalar, enumFuncs},
	{Scalar, sessionFuncs},
	{Aggregate, aggregates},
	{Window, windowFuncs},
	{Aggregate, pickAggs},
	{Table, tableFuncs},
}

// parseDefs reads definitions, one a line:
//
//	name(type, type, ...) result flag ...
//
// Types have their pg_type names, with [] for arrays. An argument may be "variadic type", and may have a name
// and a default: "years int4 = 0". A set-returning function with several columns has the result
// (name type, ...). A line [int2 int4] f(@) @ stands for one line per type, @ replaced (@[] works
// too). Flags:
//
//	fail      a kernel may give an error for some non-NULL input
//	null      not strict: the kernel sees NULLs
//	stable, volatile
//	compat    any* types are the anycompatible family
//	nonarray  anyelement is anynonarray
//	hypothetical  hypothetical-set aggregate: direct arguments and as many ordered ones
//	direct=N  ordered-set aggregate with N direct arguments
//
// # begins a comment. A line that cannot be read is a broken invariant of this package: panic.
func parseDefs(kind Kind, text string) []*Func {
	var out []*Func
	for line := range strings.SplitSeq(text, "\n") {
		line, _, _ = strings.Cut(line, "# ")
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if !strings.HasPrefix(line, "[") {
			out = append(out, parseDef(kind, line))
			continue
		}
		set, rest, ok := strings.Cut(line[1:], "] ")
		if !ok {
			panic("fn: bad definition: " + line)
		}
		for _, t := range strings.Fields(set) {
			out = append(out, parseDef(kind, strings.ReplaceAll(rest, "@", t)))
		}
	}
	return out
}

func parseDef(kind Kind, line string) *Func {
	bad := func(what string) { panic(fmt.Sprintf("fn: %s in definition: %s", what, line)) }
	// The name of an operator cannot contain a parenthesis either.
	open := strings.IndexByte(line, '(')
	end := strings.IndexByte(line, ')')
	if open <= 0 || end < open {
		bad("no arguments")
	}
	f := &Func{Name: line[:open], Kind: kind, Strict: true, Direct: -1}
	typ := func(s string) types.Type {
		name, array := strings.CutSuffix(strings.TrimSpace(s), "[]")
		k, ok := byTypname[name]
		if !ok {
			bad("unknown type " + name)
		}
		if array {
			return types.ArrayOf(k)
		}
		return types.T(k)
	}
	var ids []string
	for arg := range strings.SplitSeq(line[open+1:end], ",") {
		arg = strings.TrimSpace(arg)
		if arg == "" {
			continue
		}
		def := NoDefault
		if a, d, ok := strings.Cut(arg, "="); ok {
			arg, def = strings.TrimSpace(a), strings.TrimSpace(d)
		}
		arg, f.Variadic = strings.CutPrefix(arg, "variadic ")
		name := ""
		if n, t, ok := strings.Cut(arg, " "); ok {
			name, arg = n, t
		}
		t := typ(arg)
		f.Args = append(f.Args, t)
		f.ArgNames = append(f.ArgNames, name)
		f.Defaults = append(f.Defaults, def)
		if f.Variadic {
			ids = append(ids, "variadic "+idName(t))
		} else {
			ids = append(ids, idName(t))
		}
	}
	if !slices.ContainsFunc(f.ArgNames, func(s string) bool { return s != "" }) {
		f.ArgNames = nil
	}
	if !slices.ContainsFunc(f.Defaults, func(s string) bool { return s != NoDefault }) {
		f.Defaults = nil
	}
	f.ID = f.Name + "(" + strings.Join(ids, ",") + ")"
	rest := strings.TrimSpace(line[end+1:])
	if strings.HasPrefix(rest, "(") {
		cols, flags, ok := strings.Cut(rest[1:], ")")
		if !ok {
			bad("no end of columns")
		}
		for col := range strings.SplitSeq(cols, ",") {
			name, t, _ := strings.Cut(strings.TrimSpace(col), " ")
			f.Outs = append(f.Outs, Out{name, typ(t)})
		}
		f.Ret, rest = types.T(types.Record), flags
		if len(f.Outs) == 1 {
			f.Ret = f.Outs[0].Type
		}
	} else {
		ret, flags, _ := strings.Cut(rest, " ")
		f.Ret, rest = typ(ret), flags
	}
	for _, flag := range strings.Fields(rest) {
		switch {
		case flag == "fail":
			f.CanFail = true
		case flag == "null":
			f.Strict = false
		case flag == "stable":
			f.Volatility = Stable
		case flag == "volatile":
			f.Volatility = Volatile
		case flag == "nonarray":
			f.NonArray = true
		case flag == "compat":
			f.Compatible = true
		case flag == "hypothetical":
			f.Direct, f.Hypothetical = 0, true
		case strings.HasPrefix(flag, "direct="):
			f.Direct = int(flag[len("direct=")] - '0')
		default:
			bad("unknown flag " + flag)
		}
	}
	if n := len(f.Args); f.Variadic && !f.Hypothetical && f.Args[n-1].Kind == types.Any {
		s := *f
		s.Variadic = false
		s.ID = f.Name + "(" + strings.Join(append(ids[:n-1:n-1], "variadic anyarray"), ",") + ")"
		s.Args = append(slices.Clone(f.Args[:n-1]), types.T(types.AnyArray))
		f.Spread = &s
	}
	return f
}
