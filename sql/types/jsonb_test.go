package types

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"
)

// jsonOps are the operations of testdata/jsonb.txt: SQL with $1, $2, ... for the arguments, and
// Weir's answer. Paths are array literals.
var jsonOps = map[string]struct {
	sql  string
	eval func(a []string) (string, bool, error)
}{
	"field": {"$1::jsonb -> $2", func(a []string) (string, bool, error) {
		v, ok := JSONField(a[0], a[1])
		return v, ok, nil
	}},
	"field_text": {"$1::jsonb ->> $2", func(a []string) (string, bool, error) {
		v, ok := JSONField(a[0], a[1])
		if ok {
			v, ok = JSONText(v)
		}
		return v, ok, nil
	}},
	"elem": {"$1::jsonb -> $2::int", func(a []string) (string, bool, error) {
		i, err := strconv.ParseInt(a[1], 10, 32)
		v, ok := JSONElem(a[0], i)
		return v, ok, err
	}},
	"path": {"$1::jsonb #> $2::text[]", func(a []string) (string, bool, error) {
		v, ok := JSONPath(a[0], pathArg(a[1]))
		return v, ok, nil
	}},
	"exists":   {"$1::jsonb ? $2", boolOp(JSONExists)},
	"contains": {"$1::jsonb @> $2::jsonb", boolOp(func(a, b string) bool { return JSONContains(a, canon(b)) })},
	"eq":       {"$1::jsonb = $2::jsonb", boolOp(func(a, b string) bool { return CompareJSON(a, canon(b)) == 0 })},
	"cmp": {"sign(jsonb_cmp($1::jsonb, $2::jsonb))", func(a []string) (string, bool, error) {
		return strconv.Itoa(CompareJSON(a[0], canon(a[1]))), true, nil
	}},
	"concat": {"$1::jsonb || $2::jsonb", func(a []string) (string, bool, error) {
		return JSONConcat(a[0], canon(a[1])), true, nil
	}},
	"delete": {"$1::jsonb - $2::text", func(a []string) (string, bool, error) {
		v, err := JSONDeleteKeys(a[0], a[1])
		return v, true, err
	}},
	"delete_index": {"$1::jsonb - $2::int", func(a []string) (string, bool, error) {
		i, _ := strconv.ParseInt(a[1], 10, 32)
		v, err := JSONDeleteIndex(a[0], i)
		return v, true, err
	}},
	"delete_path": {"$1::jsonb #- $2::text[]", func(a []string) (string, bool, error) {
		v, err := JSONDeletePath(a[0], pathArg(a[1]))
		return v, true, err
	}},
	"set": {"jsonb_set($1::jsonb, $2::text[], $3::jsonb, $4::bool)", func(a []string) (string, bool, error) {
		v, err := JSONSet(a[0], pathArg(a[1]), canon(a[2]), a[3] == "t")
		return v, true, err
	}},
	"insert": {"jsonb_insert($1::jsonb, $2::text[], $3::jsonb, $4::bool)", func(a []string) (string, bool, error) {
		v, err := JSONInsert(a[0], pathArg(a[1]), canon(a[2]), a[3] == "t")
		return v, true, err
	}},
	"typeof": {"jsonb_typeof($1::jsonb)", func(a []string) (string, bool, error) { return JSONTypeof(a[0]), true, nil }},
	"length": {"jsonb_array_length($1::jsonb)", func(a []string) (string, bool, error) {
		n, err := JSONArrayLength(a[0])
		return strconv.FormatInt(n, 10), true, err
	}},
	"strip":        {"jsonb_strip_nulls($1::jsonb)", func(a []string) (string, bool, error) { return JSONStripNulls(a[0]), true, nil }},
	"pretty":       {`replace(jsonb_pretty($1::jsonb), E'\n', '\n')`, func(a []string) (string, bool, error) { return escapeNL(JSONPretty(a[0])), true, nil }},
	"cast_int4":    jsonCast(Int4),
	"cast_numeric": jsonCast(Numeric),
	"cast_bool":    jsonCast(Bool),
	"cast_float8":  jsonCast(Float8),
}

func jsonCast(k Kind) struct {
	sql  string
	eval func(a []string) (string, bool, error)
} {
	return struct {
		sql  string
		eval func(a []string) (string, bool, error)
	}{"($1::jsonb)::" + k.Name(), func(a []string) (string, bool, error) {
		v, err := JSONToDatum(a[0], k)
		return Format(T(k), v, nil), true, err
	}}
}

func boolOp(f func(a, b string) bool) func(a []string) (string, bool, error) {
	return func(a []string) (string, bool, error) {
		if f(a[0], a[1]) {
			return "t", true, nil
		}
		return "f", true, nil
	}
}

func canon(s string) string {
	c, err := ParseJSON(s)
	if err != nil {
		panic(err)
	}
	return c
}

func pathArg(s string) []string {
	d, err := ParseText(ArrayOf(Text), s, nil)
	if err != nil {
		panic(err)
	}
	a, err := DecodeArray(d.S)
	if err != nil {
		panic(err)
	}
	var out []string
	for _, e := range a.Elems {
		out = append(out, e.S)
	}
	return out
}

// TestJSON runs testdata/jsonb.txt: the command is the operation, its arguments are separated by
// " | ".
func TestJSON(t *testing.T) {
	runOracleFile(t, "testdata/jsonb.txt", func(d *datadriven.TestData, line string) string {
		op, ok := jsonOps[d.Cmd]
		if !ok {
			return "unknown operation"
		}
		args := splitArgs(line)
		args[0] = canon(args[0])
		v, ok, err := op.eval(args)
		switch {
		case err != nil:
			return errText(err)
		case !ok:
			return "NULL"
		}
		return v
	}, func(d *datadriven.TestData, line string) string {
		sql := jsonOps[d.Cmd].sql
		for i, a := range splitArgs(line) {
			sql = strings.ReplaceAll(sql, "$"+strconv.Itoa(i+1), quoted(a))
		}
		return "select " + sql
	})
}

// TestJSONCanonical checks that canonical text is a fixed point and means what Go's decoder reads.
func TestJSONCanonical(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := genJSON(4).Draw(rt, "json")
		again, err := ParseJSON(s)
		if err != nil || again != s {
			rt.Fatalf("%s becomes %s, %v", s, again, err)
		}
		var x any
		if err := json.Unmarshal([]byte(s), &x); err != nil {
			rt.Fatalf("%s: %v", s, err)
		}
		out, err := json.Marshal(x)
		if err != nil {
			rt.Fatal(err)
		}
		// Go's floats lose digits of long numbers only.
		if back, err := ParseJSON(string(out)); err != nil || !strings.Contains(s, "12345678901") && CompareJSON(back, s) != 0 {
			rt.Fatalf("%s and %s differ", s, out)
		}
		if !JSONContains(s, s) || CompareJSON(s, concatNothing(s)) != 0 {
			rt.Fatalf("%s does not contain itself", s)
		}
	})
}

// concatNothing concatenates a container with an empty one.
func concatNothing(s string) string {
	switch s[0] {
	case '{':
		return JSONConcat(s, "{}")
	case '[':
		return JSONConcat(s, "[]")
	}
	return s
}

func FuzzParseJSON(f *testing.F) {
	for _, s := range []string{`{"a": [1, 2.50, null]}`, `"\ud83d\ude00"`, `[1e5, -0.0, ""]`, `{"b":1,"a":2,"b":3}`, `tru`, `{"a":`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 1000 || strings.ContainsAny(s, "eE") {
			return // exponents make numbers of any length
		}
		c, err := ParseJSON(s)
		if err != nil {
			return
		}
		again, err := ParseJSON(c)
		if err != nil || again != c {
			t.Fatalf("%q becomes %q, then %q, %v", s, c, again, err)
		}
		if CompareJSON(c, again) != 0 || HashJSON(c) != HashJSON(again) {
			t.Fatalf("%q differs from itself", c)
		}
		for _, m := range JSONMembers(c) {
			_ = fmt.Sprint(m, JSONTypeof(m.Value))
		}
	})
}

// TestToJSON runs testdata/tojson.txt: "tojson TYPE" prints each line, read as TYPE, as to_jsonb
// does.
func TestToJSON(t *testing.T) {
	runOracleFile(t, "testdata/tojson.txt", func(d *datadriven.TestData, line string) string {
		env := testEnv(argOr(d, "tz", "UTC"))
		typ := mustType(t, typeArg(d))
		v, err := ParseText(typ, unescapeLine.Replace(line), env)
		if err != nil {
			return errText(err)
		}
		s, err := JSONFromDatum(typ, v, env)
		if err != nil {
			return errText(err)
		}
		if again, err := ParseJSON(s); err != nil || again != s {
			t.Errorf("%s is not canonical: %s, %v", s, again, err)
		}
		return s
	}, func(d *datadriven.TestData, line string) string {
		return fmt.Sprintf("set timezone = '%s'; select to_jsonb(%s::%s)", argOr(d, "tz", "UTC"), quoted(unescapeLine.Replace(line)), typeArg(d))
	})
}
