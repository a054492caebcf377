package expr

import (
	"github.com/weirdb/weir/sql/scalar"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// orNull wraps a function whose result may be missing.
func orNull(f func(x *genCall, a []types.Datum) (string, bool, error)) factory {
	return datums(func(x *genCall, a []types.Datum) (types.Datum, error) {
		s, ok, err := f(x, a)
		if !ok || err != nil {
			return types.Null, err
		}
		return types.DStr(s), nil
	})
}

// asText turns a JSON value that was found into what the ->> operators give.
func asText(s string, ok bool) (string, bool, error) {
	if !ok {
		return "", false, nil
	}
	s, ok = types.JSONText(s)
	return s, ok, nil
}

// textArray gives the elements of a text[]; null says that one is NULL.
func textArray(s string) (elems []string, null bool, err error) {
	arr, err := types.DecodeArray(s)
	if err != nil {
		return nil, false, err
	}
	for _, d := range arr.Elems {
		if !d.Valid {
			null = true
		}
		elems = append(elems, d.S)
	}
	return elems, null, nil
}

// pathOf gives the path of a #> kernel: a text[], or the spread arguments of jsonb_extract_path.
func pathOf(x *genCall, a []types.Datum) (path []string, null bool, err error) {
	if len(a) == 2 && x.types[1].Kind == types.Array {
		return textArray(a[1].S)
	}
	for _, d := range a[1:] {
		path = append(path, d.S)
	}
	return path, false, nil
}

// jsonPathAt follows a path; a NULL in it leads nowhere.
func jsonPathAt(x *genCall, a []types.Datum) (string, bool, error) {
	path, null, err := pathOf(x, a)
	if null || err != nil {
		return "", false, err
	}
	s, ok := types.JSONPath(a[0].S, path)
	return s, ok, nil
}

func jsonPathText(x *genCall, a []types.Datum) (string, bool, error) {
	s, ok, err := jsonPathAt(x, a)
	if err != nil {
		return "", false, err
	}
	return asText(s, ok)
}

// pathArg reads a path that must not hold a NULL. In a scalar, which has no paths at all, that does
// not matter.
func pathArg(json, path string) ([]string, error) {
	arr, err := types.DecodeArray(path)
	if err != nil {
		return nil, err
	}
	scalar := json[0] != '{' && json[0] != '['
	var elems []string
	for i, d := range arr.Elems {
		if !d.Valid && !scalar {
			return nil, sqlerr.Newf(sqlerr.NullValueNotAllowed, "path element at position %d is null", i+1)
		}
		elems = append(elems, d.S)
	}
	return elems, nil
}

// existsAny and existsAll are ?| and ?&, which skip NULLs.
func existsKeys(all bool) factory {
	return binaryErr(func(s, keys string) (bool, error) {
		arr, err := types.DecodeArray(keys)
		if err != nil {
			return false, err
		}
		for _, k := range arr.Elems {
			if k.Valid && types.JSONExists(s, k.S) != all {
				return !all, nil
			}
		}
		return all, nil
	})
}

// jsonOf converts an argument to JSON.
func jsonOf(x *genCall, i int, d types.Datum) (string, error) {
	return types.JSONFromDatum(x.types[i], d, x.st.tenv())
}

func buildArray(x *genCall, a []types.Datum) (types.Datum, error) {
	elems := make([]string, len(a))
	for i, d := range a {
		var err error
		if elems[i], err = jsonOf(x, i, d); err != nil {
			return types.Null, err
		}
	}
	return types.DStr(types.JSONArray(elems)), nil
}

func buildObject(x *genCall, a []types.Datum) (types.Datum, error) {
	if len(a)%2 != 0 {
		return types.Null, sqlerr.Newf(sqlerr.InvalidParameterValue, "argument list must have even number of elements").
			WithHint("The arguments of %s must consist of alternating keys and values.", x.fn.Name+"()")
	}
	pairs := make([]string, len(a))
	for i := 0; i < len(a); i += 2 {
		if !a[i].Valid {
			return types.Null, sqlerr.Newf(sqlerr.InvalidParameterValue, "argument %d: key must not be null", i+1)
		}
		switch k := x.types[i].Kind; {
		case k == types.Array, k.IsRow(), k == types.Jsonb, k == types.Json:
			return types.Null, sqlerr.Newf(sqlerr.InvalidParameterValue, "key value must be scalar, not array, composite, or json")
		}
		key, err := jsonOf(x, i, a[i])
		if err != nil {
			return types.Null, err
		}
		pairs[i], _ = types.JSONText(key)
		if pairs[i+1], err = jsonOf(x, i+1, a[i+1]); err != nil {
			return types.Null, err
		}
	}
	return types.DStr(types.JSONObject(pairs)), nil
}

// jsonValue is a string of a text[] as JSON, null for NULL.
func jsonValue(d types.Datum) string {
	if !d.Valid {
		return "null"
	}
	return string(types.AppendJSONString(nil, d.S))
}

func jsonObject1(objectOf func(keys, vals []types.Datum) (types.Datum, error)) func(_ *genCall, a []types.Datum) (types.Datum, error) {
	return func(_ *genCall, a []types.Datum) (types.Datum, error) { return jsonObjectOf1(a, objectOf) }
}

func jsonObject2(objectOf func(keys, vals []types.Datum) (types.Datum, error)) func(_ *genCall, a []types.Datum) (types.Datum, error) {
	return func(_ *genCall, a []types.Datum) (types.Datum, error) { return jsonObjectOf2(a, objectOf) }
}

func jsonObjectOf1(a []types.Datum, objectOf func(keys, vals []types.Datum) (types.Datum, error)) (types.Datum, error) {
	arr, err := types.DecodeArray(a[0].S)
	if err != nil {
		return types.Null, err
	}
	switch {
	case len(arr.Dims) == 1 && len(arr.Elems)%2 != 0:
		return types.Null, sqlerr.Newf(sqlerr.ArraySubscriptError, "array must have even number of elements")
	case len(arr.Dims) == 2 && arr.Dims[1].Len != 2:
		return types.Null, sqlerr.Newf(sqlerr.ArraySubscriptError, "array must have two columns")
	case len(arr.Dims) > 2:
		return types.Null, sqlerr.Newf(sqlerr.ArraySubscriptError, "wrong number of array subscripts")
	}
	var keys, vals []types.Datum
	for i := 0; i < len(arr.Elems); i += 2 {
		keys, vals = append(keys, arr.Elems[i]), append(vals, arr.Elems[i+1])
	}
	return objectOf(keys, vals)
}

func jsonObjectOf2(a []types.Datum, objectOf func(keys, vals []types.Datum) (types.Datum, error)) (types.Datum, error) {
	keys, err := types.DecodeArray(a[0].S)
	if err != nil {
		return types.Null, err
	}
	vals, err := types.DecodeArray(a[1].S)
	if err != nil {
		return types.Null, err
	}
	switch {
	case len(keys.Dims) > 1 || len(keys.Dims) != len(vals.Dims):
		return types.Null, sqlerr.Newf(sqlerr.ArraySubscriptError, "wrong number of array subscripts")
	case len(keys.Elems) != len(vals.Elems):
		return types.Null, sqlerr.Newf(sqlerr.ArraySubscriptError, "mismatched array dimensions")
	}
	return objectOf(keys.Elems, vals.Elems)
}

func objectOf(keys, vals []types.Datum) (types.Datum, error) {
	pairs := make([]string, 0, 2*len(keys))
	for i, k := range keys {
		if !k.Valid {
			return types.Null, sqlerr.Newf(sqlerr.NullValueNotAllowed, "null value not allowed for object key")
		}
		pairs = append(pairs, k.S, jsonValue(vals[i]))
	}
	return types.DStr(types.JSONObject(pairs)), nil
}

func addJSONKernels(t table) {
	t.add("->(jsonb,text)", orNull(func(_ *genCall, a []types.Datum) (string, bool, error) {
		s, ok := types.JSONField(a[0].S, a[1].S)
		return s, ok, nil
	}))
	t.add("->(jsonb,int4)", orNull(func(_ *genCall, a []types.Datum) (string, bool, error) {
		s, ok := types.JSONElem(a[0].S, a[1].I)
		return s, ok, nil
	}))
	t.add("->>(jsonb,text)", orNull(func(_ *genCall, a []types.Datum) (string, bool, error) {
		return asText(types.JSONField(a[0].S, a[1].S))
	}))
	t.add("->>(jsonb,int4)", orNull(func(_ *genCall, a []types.Datum) (string, bool, error) {
		return asText(types.JSONElem(a[0].S, a[1].I))
	}))
	t.add("#>(jsonb,text[])", orNull(jsonPathAt))
	t.add("#>>(jsonb,text[])", orNull(jsonPathText))
	t.add("jsonb_extract_path(jsonb,variadic text[])", orNull(jsonPathAt))
	t.add("jsonb_extract_path_text(jsonb,variadic text[])", orNull(jsonPathText))
	t.add("@>(jsonb,jsonb)", binary(types.JSONContains))
	t.add("<@(jsonb,jsonb)", binary(func(a, b string) bool { return types.JSONContains(b, a) }))
	t.add("?(jsonb,text)", binary(types.JSONExists))
	t.add("?|(jsonb,text[])", existsKeys(false))
	t.add("?&(jsonb,text[])", existsKeys(true))
	t.add("||(jsonb,jsonb)", binary(types.JSONConcat))
	t.add("-(jsonb,text)", binaryErr(func(s, key string) (string, error) { return types.JSONDeleteKeys(s, key) }))
	t.add("-(jsonb,int4)", binaryErr(types.JSONDeleteIndex))
	t.add("-(jsonb,text[])", binaryErr(func(s, keys string) (string, error) {
		arr, err := types.DecodeArray(keys)
		if err != nil {
			return "", err
		}
		var ks []string
		for _, d := range arr.Elems {
			if d.Valid {
				ks = append(ks, d.S)
			}
		}
		return types.JSONDeleteKeys(s, ks...)
	}))
	t.add("#-(jsonb,text[])", binaryErr(func(s, p string) (string, error) {
		if s == "[]" || s == "{}" {
			return s, nil
		}
		path, err := pathArg(s, p)
		if err != nil {
			return "", err
		}
		return types.JSONDeletePath(s, path)
	}))
	change := func(f func(s string, path []string, v string, flag bool) (string, error)) factory {
		return datums(func(x *genCall, a []types.Datum) (types.Datum, error) {
			if s := a[0].S; (s == "[]" || s == "{}") && !a[3].Bool() && x.fn.Name == "jsonb_set" {
				return a[0], nil
			}
			path, err := pathArg(a[0].S, a[1].S)
			if err != nil {
				return types.Null, err
			}
			s, err := f(a[0].S, path, a[2].S, a[3].Bool())
			return types.DStr(s), err
		})
	}
	t.add("jsonb_set(jsonb,text[],jsonb,bool)", change(types.JSONSet))
	t.add("jsonb_insert(jsonb,text[],jsonb,bool)", change(types.JSONInsert))
	t.add("jsonb_pretty(jsonb)", unary(types.JSONPretty))
	t.add("jsonb_strip_nulls(jsonb)", unary(types.JSONStripNulls))
	t.add("jsonb_typeof(jsonb)", unary(types.JSONTypeof))
	t.add("jsonb_array_length(jsonb)", unaryErr(types.JSONArrayLength))
	t.add("to_jsonb(anyelement)", datums(func(x *genCall, a []types.Datum) (types.Datum, error) {
		s, err := jsonOf(x, 0, a[0])
		return types.DStr(s), err
	}))
	t.add("jsonb_build_array()", datums(buildArray))
	t.variadic("jsonb_build_array", "", buildArray)
	t.add("jsonb_build_object()", datums(buildObject))
	t.variadic("jsonb_build_object", "", buildObject)
	t.add("jsonb_object(text[])", datums(jsonObject1(objectOf)))
	t.add("jsonb_object(text[],text[])", datums(jsonObject2(objectOf)))
	for _, k := range []types.Kind{
		types.Bool, types.Int2, types.Int4, types.Int8, types.Float4, types.Float8, types.Numeric,
	} {
		t.add("cast(jsonb as "+k.Name()+")", func(c *compiler, call *scalar.Call, args []node) (node, error) {
			return datums(func(_ *genCall, a []types.Datum) (types.Datum, error) {
				return types.JSONToDatum(a[0].S, k)
			})(c, call, args)
		})
	}
}
