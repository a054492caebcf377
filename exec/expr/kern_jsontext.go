package expr

import (
	"strings"

	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// The kernels of json, which keeps its text, and of jsonpath.

func rawAsText(s string, ok bool, err error) (string, bool, error) {
	if !ok || err != nil {
		return "", false, err
	}
	return types.RawText(s)
}

func rawPathAt(x *genCall, a []types.Datum) (string, bool, error) {
	path, null, err := pathOf(x, a)
	if null || err != nil {
		return "", false, err
	}
	return types.RawPath(a[0].S, path)
}

// jsonText appends an argument as json.
func jsonText(dst []byte, x *genCall, i int, d types.Datum) ([]byte, error) {
	return types.AppendJSONText(dst, x.types[i], d, false, x.st.tenv())
}

func buildJSONArray(x *genCall, a []types.Datum) (types.Datum, error) {
	out := []byte{'['}
	for i, d := range a {
		if i > 0 {
			out = append(out, ", "...)
		}
		var err error
		if out, err = jsonText(out, x, i, d); err != nil {
			return types.Null, err
		}
	}
	return types.DStr(string(append(out, ']'))), nil
}

func buildJSONObject(x *genCall, a []types.Datum) (types.Datum, error) {
	if len(a)%2 != 0 {
		return types.Null, sqlerr.Newf(sqlerr.InvalidParameterValue, "argument list must have even number of elements").
			WithHint("The arguments of %s must consist of alternating keys and values.", "json_build_object()")
	}
	out := []byte{'{'}
	for i := 0; i < len(a); i += 2 {
		if i > 0 {
			out = append(out, ", "...)
		}
		if !a[i].Valid {
			return types.Null, sqlerr.Newf(sqlerr.InvalidParameterValue, "argument %d cannot be null", i+1).
				WithHint("Object keys should be text.")
		}
		key, err := types.JSONKey(x.types[i], a[i], x.st.tenv())
		if err != nil {
			return types.Null, err
		}
		out = append(types.AppendJSONString(out, key), " : "...)
		if out, err = jsonText(out, x, i+1, a[i+1]); err != nil {
			return types.Null, err
		}
	}
	return types.DStr(string(append(out, '}'))), nil
}

// jsonPairs is json_object of keys and values.
func jsonPairs(keys, vals []types.Datum) (types.Datum, error) {
	out := []byte{'{'}
	for i, k := range keys {
		if !k.Valid {
			return types.Null, sqlerr.Newf(sqlerr.NullValueNotAllowed, "null value not allowed for object key")
		}
		if i > 0 {
			out = append(out, ", "...)
		}
		out = append(types.AppendJSONString(out, k.S), " : "...)
		out = append(out, jsonValue(vals[i])...)
	}
	return types.DStr(string(append(out, '}'))), nil
}

// namedRow is a row of a relation with the names of its columns, the first argument. A row without any value
// is that of an outer join without a match: NULL.
func namedRow(from int, make func(x *genCall, names []string, ts []types.Type, vs []types.Datum, flag types.Datum) (string, error)) func(x *genCall, a []types.Datum) (types.Datum, error) {
	return func(x *genCall, a []types.Datum) (types.Datum, error) {
		null := true
		for _, d := range a[from:] {
			null = null && !d.Valid
		}
		if null {
			return types.Null, nil
		}
		names, _, err := textArray(a[0].S)
		if err != nil {
			return types.Null, err
		}
		s, err := make(x, names, x.types[from:], a[from:], a[1])
		return types.DStr(s), err
	}
}

// pathCache parses paths for one node.
func pathCache() func(text string) (*types.JSONPathExpr, error) {
	return newCache(types.ParseJSONPath).get
}

// pathRun is how a path of a call is run: with vars and silent, if they are given.
func pathRun(match func(pattern, flags string) (func(string) bool, error), a []types.Datum) *types.PathRun {
	run := &types.PathRun{Silent: true, Match: match}
	if len(a) == 4 {
		run.Vars, run.Silent = a[2].S, a[3].Bool()
	}
	return run
}

func pathMatcher() func(pattern, flags string) (func(string) bool, error) {
	get := regexCache(false, "")
	return func(pattern, flags string) (func(string) bool, error) {
		re, err := get(pattern, flags)
		if err != nil {
			return nil, err
		}
		return re.MatchString, nil
	}
}

// PathTable gives the items of jsonb_path_query for its arguments. The result keeps a cache and must be used by
// one goroutine at a time.
func PathTable() func(a []types.Datum) ([]types.Datum, error) {
	get, match := pathCache(), pathMatcher()
	return func(a []types.Datum) ([]types.Datum, error) {
		p, err := get(a[1].S)
		if err != nil {
			return nil, err
		}
		items, ok, err := p.Query(a[0].S, pathRun(match, a))
		if !ok || err != nil {
			return nil, err
		}
		out := make([]types.Datum, len(items))
		for i, s := range items {
			out[i] = types.DStr(s)
		}
		return out, nil
	}
}

// pathFunc makes a kernel that runs a path.
func pathFunc(f func(p *types.JSONPathExpr, json string, run *types.PathRun) (types.Datum, error)) factory {
	return func(c *compiler, call *scalar.Call, args []node) (node, error) {
		get, match := pathCache(), pathMatcher()
		return datums(func(_ *genCall, a []types.Datum) (types.Datum, error) {
			p, err := get(a[1].S)
			if err != nil {
				return types.Null, err
			}
			return f(p, a[0].S, pathRun(match, a))
		})(c, call, args)
	}
}

func boolOrNull(b, valid bool, err error) (types.Datum, error) {
	if !valid || err != nil {
		return types.Null, err
	}
	return types.DBool(b), nil
}

func addJSONPathKernels(t table) {
	exists := pathFunc(func(p *types.JSONPathExpr, json string, run *types.PathRun) (types.Datum, error) {
		return boolOrNull(p.Exists(json, run))
	})
	match := pathFunc(func(p *types.JSONPathExpr, json string, run *types.PathRun) (types.Datum, error) {
		return boolOrNull(p.Match(json, run))
	})
	array := pathFunc(func(p *types.JSONPathExpr, json string, run *types.PathRun) (types.Datum, error) {
		items, _, err := p.Query(json, run)
		return types.DStr(types.JSONArray(items)), err
	})
	first := pathFunc(func(p *types.JSONPathExpr, json string, run *types.PathRun) (types.Datum, error) {
		items, _, err := p.Query(json, run)
		if len(items) == 0 || err != nil {
			return types.Null, err
		}
		return types.DStr(items[0]), nil
	})
	t.add("@?(jsonb,jsonpath)", exists)
	t.add("@@(jsonb,jsonpath)", match)
	for name, f := range map[string]factory{"exists": exists, "match": match, "query_array": array, "query_first": first} {
		t.add("jsonb_path_"+name+"(jsonb,jsonpath,jsonb,bool)", f)
		t.add("jsonb_path_"+name+"_tz(jsonb,jsonpath,jsonb,bool)", f)
	}
}

func addJSONTextKernels(t table) {
	t.add("->(json,text)", orNull(func(_ *genCall, a []types.Datum) (string, bool, error) {
		return types.RawField(a[0].S, a[1].S)
	}))
	t.add("->(json,int4)", orNull(func(_ *genCall, a []types.Datum) (string, bool, error) {
		s, ok := types.RawElem(a[0].S, a[1].I)
		return s, ok, nil
	}))
	t.add("->>(json,text)", orNull(func(_ *genCall, a []types.Datum) (string, bool, error) {
		return rawAsText(types.RawField(a[0].S, a[1].S))
	}))
	t.add("->>(json,int4)", orNull(func(_ *genCall, a []types.Datum) (string, bool, error) {
		s, ok := types.RawElem(a[0].S, a[1].I)
		return rawAsText(s, ok, nil)
	}))
	pathText := func(x *genCall, a []types.Datum) (string, bool, error) { return rawAsText(rawPathAt(x, a)) }
	t.add("#>(json,text[])", orNull(rawPathAt))
	t.add("#>>(json,text[])", orNull(pathText))
	t.add("json_extract_path(json,variadic text[])", orNull(rawPathAt))
	t.add("json_extract_path_text(json,variadic text[])", orNull(pathText))
	t.add("json_array_length(json)", unaryErr(types.RawLength))
	t.add("json_strip_nulls(json)", unaryErr(types.RawStripNulls))
	t.add("json_typeof(json)", unary(types.RawTypeof))
	toJSON := datums(func(x *genCall, a []types.Datum) (types.Datum, error) {
		out, err := types.AppendJSONText(nil, x.types[0], a[0], len(a) > 1 && a[1].Bool(), x.st.tenv())
		return types.DStr(string(out)), err
	})
	for _, id := range []string{
		"to_json(anyelement)", "array_to_json(anyarray)", "array_to_json(anyarray,bool)", "row_to_json(record)", "row_to_json(record,bool)",
	} {
		t.add(id, toJSON)
	}
	t.add("json_build_array()", datums(buildJSONArray))
	t.variadic("json_build_array", "", buildJSONArray)
	t.add("json_build_object()", datums(buildJSONObject))
	t.variadic("json_build_object", "", buildJSONObject)
	t.add("json_object(text[])", datums(jsonObject1(jsonPairs)))
	t.add("json_object(text[],text[])", datums(jsonObject2(jsonPairs)))
	t.variadic("json_named_row", "text[],bool,", namedRow(2,
		func(x *genCall, names []string, ts []types.Type, vs []types.Datum, pretty types.Datum) (string, error) {
			out, err := types.AppendJSONRow(nil, names, ts, vs, pretty.Bool(), x.st.tenv())
			return string(out), err
		}))
	t.variadic("jsonb_named_row", "text[],", namedRow(1,
		func(x *genCall, names []string, ts []types.Type, vs []types.Datum, _ types.Datum) (string, error) {
			var pairs []string
			for i, n := range names {
				v, err := types.JSONFromDatum(ts[i], vs[i], x.st.tenv())
				if err != nil {
					return "", err
				}
				pairs = append(pairs, n, v)
			}
			return types.JSONObject(pairs), nil
		}))
	t.add("cast(json as jsonb)", unaryErr(types.ParseJSON))
	t.add("cast(jsonb as json)", unary(strings.Clone))
	t.add("jsonb_set_lax(jsonb,text[],jsonb,bool,text)", datums(setLax))
}

// setLax is jsonb_set that says what a NULL as the new value means.
func setLax(_ *genCall, a []types.Datum) (types.Datum, error) {
	if !a[0].Valid || !a[1].Valid || !a[3].Valid {
		return types.Null, nil
	}
	if !a[4].Valid {
		return types.Null, sqlerr.Newf(sqlerr.InvalidParameterValue, "null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", or \"raise_exception\"")
	}
	json, value := a[0].S, a[2].S
	if !a[2].Valid {
		switch a[4].S {
		case "raise_exception":
			return types.Null, sqlerr.Newf(sqlerr.NullValueNotAllowed, "JSON value must not be null").
				WithDetail("Exception was raised because null_value_treatment is \"raise_exception\".").
				WithHint("To avoid, either change the null_value_treatment argument or ensure that an SQL NULL is not passed.")
		case "use_json_null":
			value = "null"
		case "return_target":
			return a[0], nil
		case "delete_key":
		default:
			return types.Null, sqlerr.Newf(sqlerr.InvalidParameterValue, "null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", or \"raise_exception\"")
		}
	}
	if (json == "[]" || json == "{}") && !a[3].Bool() {
		return a[0], nil
	}
	path, err := pathArg(json, a[1].S)
	if err != nil {
		return types.Null, err
	}
	if !a[2].Valid && a[4].S == "delete_key" {
		json, err = types.JSONDeletePath(json, path)
	} else {
		json, err = types.JSONSet(json, path, value, a[3].Bool())
	}
	return types.DStr(json), err
}
