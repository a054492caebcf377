package types

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// typeArg gives the type of a command: the rest of its line, after tz=.
func typeArg(d *datadriven.TestData) string {
	var words []string
	for _, a := range d.CmdArgs {
		if a.Key == "tz" {
			continue
		}
		w := a.Key
		if len(a.Vals) > 0 {
			w += "=" + strings.Join(a.Vals, ",")
		}
		words = append(words, w)
	}
	return strings.ReplaceAll(strings.Join(words, " "), "_", " ")
}

// TestText runs testdata/text. Commands, each with one input per line and one output per line:
//
//	text TYPE [tz=ZONE]: read as TYPE and print
//	cast TYPE: the same with an explicit cast to TYPE and its modifier
//	assign TYPE: the same with an assignment
//	typename: print what format_type does
//
// In types, '_' stands for a blank; in inputs, \n \t \s stand for white space, \e for nothing.
func TestText(t *testing.T) {
	paths, err := filepath.Glob("testdata/text/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatal("no test files")
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			runOracleFile(t, path, evalText, askText)
		})
	}
}

func evalText(d *datadriven.TestData, line string) string {
	line = unescapeLine.Replace(line)
	if d.Cmd == "typename" {
		typ, err := testType(line)
		if err != nil {
			return errText(err)
		}
		return typ.String()
	}
	typ, err := testType(typeArg(d))
	if err != nil {
		return errText(err)
	}
	env := testEnv(argOr(d, "tz", "UTC"))
	var v Datum
	switch d.Cmd {
	case "text":
		v, err = ParseText(typ, line, env)
	case "cast":
		// Fields of an interval already count when its text is read.
		v, err = parseText(typ, line, env)
		if err == nil {
			v, err = ApplyTypmod(typ, v, true)
		}
	case "assign":
		v, err = ParseText(typ.WithoutMod(), line, env)
		if err == nil {
			v, err = ApplyTypmod(typ, v, false)
		}
	default:
		return "unknown command"
	}
	if err != nil {
		return errText(err)
	}
	return escapeNL(Format(typ, v, env))
}

func escapeNL(s string) string { return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(s) }

func askText(d *datadriven.TestData, line string) string {
	lit := quoted(unescapeLine.Replace(line))
	show := func(expr string) string {
		return `replace(replace(` + expr + `, E'\n', '\n'), E'\t', '\t')`
	}
	if d.Cmd == "typename" {
		return fmt.Sprintf("drop table if exists zz; create temp table zz (c %s); select format_type(atttypid, atttypmod) from pg_attribute where attrelid = 'zz'::regclass and attname = 'c'; drop table zz", line)
	}
	for _, w := range []string{"now", "today", "tomorrow", "yesterday"} {
		if strings.Contains(line, w) {
			return ""
		}
	}
	typ := typeArg(d)
	set := fmt.Sprintf("set timezone = '%s'; ", argOr(d, "tz", "UTC"))
	switch d.Cmd {
	case "assign":
		return set + fmt.Sprintf("drop table if exists zz; create temp table zz (c %s); insert into zz select %s::text::%s; select %s from zz", typ, lit, baseType(typ), show("format('%s', c)"))
	}
	if t, err := testType(typ); d.Cmd == "text" && err == nil && t.Mod >= 0 {
		// The input function applies the modifier as an assignment would.
		switch {
		case t.Kind == Varchar:
			return set + fmt.Sprintf("select %s", show(fmt.Sprintf("varcharin(%s::cstring, 0, %d)::text", lit, t.Mod)))
		case t.Kind == Char:
			return set + fmt.Sprintf("select %s", show(fmt.Sprintf("format('%%s', bpcharin(%s::cstring, 0, %d))", lit, t.Mod)))
		case t.Kind == Array && t.Elem == Varchar:
			return set + fmt.Sprintf("select array_in(%s::cstring, 1043, %d)::text", lit, t.Mod)
		}
	}
	if d.Cmd == "cast" && !strings.HasPrefix(typ, "interval") {
		return set + fmt.Sprintf("select %s", show(fmt.Sprintf("format('%%s', (%s::%s)::%s)", lit, baseType(typ), typ)))
	}
	return set + fmt.Sprintf("select %s", show(fmt.Sprintf("format('%%s', %s::%s)", lit, typ)))
}

// baseType is a type name without modifiers; char without one is bpchar.
func baseType(s string) string {
	if strings.HasPrefix(s, "interval") {
		return "interval"
	}
	arr := ""
	for strings.HasSuffix(s, "[]") {
		s = strings.TrimSuffix(s, "[]")
		arr += "[]"
	}
	if open := strings.IndexByte(s, '('); open >= 0 {
		s = s[:open] + s[strings.IndexByte(s, ')')+1:]
	}
	if s == "char" || s == "character" {
		s = "bpchar"
	}
	return s + arr
}
