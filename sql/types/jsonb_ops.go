package types

import (
	"math"
	"strconv"
	"strings"

	"github.com/weirdb/weir/sql/sqlerr"
)

// The operators on jsonb. All take and give canonical text.

// JSONMember is a member of an object or, with an empty Key, an element of an array.
type JSONMember struct {
	// Key is the name without quotes.
	Key string
	// Value is canonical jsonb.
	Value string
}

// JSONMembers gives the members of an object or the elements of an array in order; a scalar has
// none.
func JSONMembers(s string) []JSONMember {
	var out []JSONMember
	jsonEach(s, func(k, v string) bool {
		if k != "" {
			k = jsonUnquote(k)
		}
		out = append(out, JSONMember{k, v})
		return true
	})
	return out
}

func isJSONArray(s string) bool  { return s[0] == '[' }
func isJSONObject(s string) bool { return s[0] == '{' }
func isJSONScalar(s string) bool { return s[0] != '[' && s[0] != '{' }

// JSONField gives the member of an object: jsonb -> text. ok is false if there is none.
func JSONField(s, key string) (value string, ok bool) {
	if !isJSONObject(s) {
		return "", false
	}
	plain := !strings.ContainsAny(key, "\"\\") && !hasControl(key)
	jsonEach(s, func(k, v string) bool {
		if plain && k[1:len(k)-1] == key || !plain && jsonUnquote(k) == key {
			value, ok = v, true
			return false
		}
		// Keys come in order of length.
		return !(plain && len(k)-2 > len(key) && strings.IndexByte(k, '\\') < 0)
	})
	return value, ok
}

func hasControl(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' {
			return true
		}
	}
	return false
}

// JSONElem gives an element of an array, counted from 0 or with negative numbers from the end:
// jsonb -> integer. ok is false if there is none.
func JSONElem(s string, index int64) (value string, ok bool) {
	if isJSONScalar(s) {
		// A scalar counts as the only element of an array, as in Postgres.
		return s, index == 0 || index == -1
	}
	if !isJSONArray(s) {
		return "", false
	}
	if index < 0 {
		index += int64(jsonLen(s))
	}
	n := int64(0)
	jsonEach(s, func(_, v string) bool {
		if n == index {
			value, ok = v, true
		}
		n++
		return !ok
	})
	return value, ok
}

// JSONPath follows a path of keys and indexes: jsonb #> text[].
func JSONPath(s string, path []string) (string, bool) {
	for _, p := range path {
		var ok bool
		if isJSONArray(s) {
			i, err := strconv.ParseInt(p, 10, 32)
			if err != nil {
				return "", false
			}
			s, ok = JSONElem(s, i)
		} else {
			s, ok = JSONField(s, p)
		}
		if !ok {
			return "", false
		}
	}
	return s, true
}

// JSONExists says whether key is a member of an object, a string in an array or the string
// itself: jsonb ? text.
func JSONExists(s, key string) bool {
	if isJSONObject(s) {
		_, ok := JSONField(s, key)
		return ok
	}
	quoted := string(AppendJSONString(nil, key))
	if !isJSONArray(s) {
		return s == quoted
	}
	found := false
	jsonEach(s, func(_, v string) bool {
		found = v == quoted
		return !found
	})
	return found
}

// JSONContains says whether a contains b: jsonb @> jsonb. An array also contains a scalar that is
// one of its elements.
func JSONContains(a, b string) bool {
	if isJSONObject(a) != isJSONObject(b) || isJSONScalar(a) && isJSONArray(b) {
		return false
	}
	switch {
	case isJSONScalar(a):
		return compareJSONValue(a, b) == 0
	case isJSONScalar(b):
		return jsonHasElem(a, b)
	}
	return jsonDeepContains(a, b)
}

// jsonHasElem says whether an array has an element equal to a scalar.
func jsonHasElem(a, scalar string) bool {
	found := false
	jsonEach(a, func(_, v string) bool {
		found = isJSONScalar(v) && compareJSONValue(v, scalar) == 0
		return !found
	})
	return found
}

// jsonDeepContains is containment of two objects or two arrays.
func jsonDeepContains(a, b string) bool {
	all := true
	if isJSONObject(a) {
		jsonEach(b, func(k, w string) bool {
			v, ok := JSONField(a, jsonUnquote(k))
			switch {
			case !ok || jsonRank(v) != jsonRank(w):
				all = false
			case isJSONScalar(v):
				all = compareJSONValue(v, w) == 0
			default:
				all = jsonDeepContains(v, w)
			}
			return all
		})
		return all
	}
	jsonEach(b, func(_, w string) bool {
		if isJSONScalar(w) {
			all = jsonHasElem(a, w)
			return all
		}
		all = false
		jsonEach(a, func(_, v string) bool {
			all = v[0] == w[0] && jsonDeepContains(v, w)
			return !all
		})
		return all
	})
	return all
}

// jsonPair is a member with its key in quotes.
type jsonPair struct{ key, value string }

func jsonPairs(s string) []jsonPair {
	var out []jsonPair
	jsonEach(s, func(k, v string) bool {
		out = append(out, jsonPair{k, v})
		return true
	})
	return out
}

// build puts members together again; keys may be out of order and twice, then the last counts.
func build(object bool, pairs []jsonPair) string {
	if !object {
		elems := make([]string, len(pairs))
		for i, p := range pairs {
			elems[i] = p.value
		}
		return JSONArray(elems)
	}
	out := []byte{'{'}
	members := make([]member, 0, len(pairs))
	for _, p := range pairs {
		m := member{keyAt: len(out)}
		out = append(out, p.key...)
		m.keyEnd = len(out)
		out = append(append(out, ": "...), p.value...)
		m.end = len(out)
		members = append(members, m)
	}
	return string(append(orderMembers(out, 0, members), '}'))
}

// JSONConcat gives a || b: objects are merged, b winning; anything else becomes one array.
func JSONConcat(a, b string) string {
	if isJSONObject(a) && isJSONObject(b) {
		return build(true, append(jsonPairs(a), jsonPairs(b)...))
	}
	list := func(s string) []jsonPair {
		if isJSONArray(s) {
			return jsonPairs(s)
		}
		return []jsonPair{{"", s}}
	}
	return build(false, append(list(a), list(b)...))
}

func jsonInvalid(format string, args ...any) error {
	return sqlerr.Newf(sqlerr.InvalidParameterValue, format, args...)
}

// JSONDeleteKeys removes members with one of the keys from an object, or such strings from an
// array: jsonb - text, jsonb - text[].
func JSONDeleteKeys(s string, keys ...string) (string, error) {
	if isJSONScalar(s) {
		return "", jsonInvalid("cannot delete from scalar")
	}
	pairs := jsonPairs(s)
	kept := pairs[:0]
	for _, p := range pairs {
		name := p.key
		if name == "" {
			name = p.value
		}
		drop := false
		if name[0] == '"' {
			for _, k := range keys {
				drop = drop || jsonUnquote(name) == k
			}
		}
		if !drop {
			kept = append(kept, p)
		}
	}
	return build(isJSONObject(s), kept), nil
}

// JSONDeleteIndex removes an element of an array: jsonb - integer.
func JSONDeleteIndex(s string, index int64) (string, error) {
	switch {
	case isJSONScalar(s):
		return "", jsonInvalid("cannot delete from scalar")
	case isJSONObject(s):
		return "", jsonInvalid("cannot delete from object using integer index")
	}
	pairs := jsonPairs(s)
	if index < 0 {
		index += int64(len(pairs))
	}
	if index < 0 || index >= int64(len(pairs)) {
		return s, nil
	}
	return build(false, append(pairs[:index], pairs[index+1:]...)), nil
}

// jsonOp is what happens at the end of a path.
type jsonOp uint8

const (
	jsonDelete jsonOp = iota
	jsonReplace
	jsonCreate // replace, or add where there is nothing
	jsonInsertBefore
	jsonInsertAfter
)

// JSONDeletePath removes what lies at a path: jsonb #- text[].
func JSONDeletePath(s string, path []string) (string, error) {
	if isJSONScalar(s) {
		return "", jsonInvalid("cannot delete path in scalar")
	}
	return setPath(s, path, 0, "", jsonDelete)
}

// JSONSet is jsonb_set: puts value at a path, creating the last step if create says so.
func JSONSet(s string, path []string, value string, create bool) (string, error) {
	if isJSONScalar(s) {
		return "", jsonInvalid("cannot set path in scalar")
	}
	op := jsonReplace
	if create {
		op = jsonCreate
	}
	return setPath(s, path, 0, value, op)
}

// JSONInsert is jsonb_insert: puts value before or after what lies at a path of an array, or adds
// a member.
func JSONInsert(s string, path []string, value string, after bool) (string, error) {
	if isJSONScalar(s) {
		return "", jsonInvalid("cannot set path in scalar")
	}
	op := jsonInsertBefore
	if after {
		op = jsonInsertAfter
	}
	return setPath(s, path, 0, value, op)
}

func setPath(s string, path []string, level int, value string, op jsonOp) (string, error) {
	if level >= len(path) || isJSONScalar(s) {
		return s, nil
	}
	last := level == len(path)-1
	pairs := jsonPairs(s)
	if isJSONObject(s) {
		key := string(AppendJSONString(nil, path[level]))
		for i, p := range pairs {
			if p.key != key {
				continue
			}
			switch {
			case !last:
				v, err := setPath(p.value, path, level+1, value, op)
				if err != nil {
					return "", err
				}
				pairs[i].value = v
			case op == jsonDelete:
				pairs = append(pairs[:i], pairs[i+1:]...)
			case op == jsonInsertBefore || op == jsonInsertAfter:
				return "", sqlerr.Newf(sqlerr.InvalidParameterValue, "cannot replace existing key").
					WithHint("Try using the function jsonb_set to replace key value.")
			default:
				pairs[i].value = value
			}
			return build(true, pairs), nil
		}
		if last && op >= jsonCreate {
			pairs = append(pairs, jsonPair{key, value})
		}
		return build(true, pairs), nil
	}
	idx, err := strconv.ParseInt(path[level], 10, 32)
	if err != nil {
		return "", sqlerr.Newf(sqlerr.InvalidTextRepresentation, "path element at position %d is not an integer: \"%s\"", level+1, path[level])
	}
	n := int64(len(pairs))
	if idx < 0 {
		if idx += n; idx < 0 {
			idx = math.MinInt64
		}
	}
	insert := func(at int64) {
		pairs = append(pairs, jsonPair{})
		copy(pairs[at+1:], pairs[at:])
		pairs[at] = jsonPair{"", value}
	}
	switch {
	case idx < 0 || idx >= n:
		if last && op >= jsonCreate {
			insert(min(max(idx, 0), n))
		}
	case !last:
		v, err := setPath(pairs[idx].value, path, level+1, value, op)
		if err != nil {
			return "", err
		}
		pairs[idx].value = v
	case op == jsonDelete:
		pairs = append(pairs[:idx], pairs[idx+1:]...)
	case op == jsonInsertBefore:
		insert(idx)
	case op == jsonInsertAfter:
		insert(idx + 1)
	default:
		pairs[idx].value = value
	}
	return build(false, pairs), nil
}

// JSONArrayLength is jsonb_array_length.
func JSONArrayLength(s string) (int64, error) {
	switch {
	case isJSONScalar(s):
		return 0, jsonInvalid("cannot get array length of a scalar")
	case isJSONObject(s):
		return 0, jsonInvalid("cannot get array length of a non-array")
	}
	return int64(jsonLen(s)), nil
}

// JSONStripNulls is jsonb_strip_nulls: removes members whose value is null, at any depth.
func JSONStripNulls(s string) string {
	if isJSONScalar(s) {
		return s
	}
	pairs := jsonPairs(s)
	kept := pairs[:0]
	for _, p := range pairs {
		if p.key != "" && p.value == "null" {
			continue
		}
		p.value = JSONStripNulls(p.value)
		kept = append(kept, p)
	}
	return build(isJSONObject(s), kept)
}

// JSONPretty is jsonb_pretty: a member or element a line, four blanks a level.
func JSONPretty(s string) string { return string(appendPretty(nil, s, 0)) }

func appendPretty(dst []byte, s string, depth int) []byte {
	if isJSONScalar(s) {
		return append(dst, s...)
	}
	indent := func(n int) {
		dst = append(dst, '\n')
		for range n {
			dst = append(dst, "    "...)
		}
	}
	dst = append(dst, s[0])
	first := true
	jsonEach(s, func(k, v string) bool {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		indent(depth + 1)
		if k != "" {
			dst = append(append(dst, k...), ": "...)
		}
		dst = appendPretty(dst, v, depth+1)
		return true
	})
	indent(depth)
	return append(dst, s[len(s)-1])
}

// JSONToDatum casts a scalar jsonb to bool or a number type, as Postgres's casts do.
func JSONToDatum(s string, k Kind) (Datum, error) {
	r := jsonRank(s)
	switch {
	case k == Bool && r == 3:
		return DBool(s[0] == 't'), nil
	case k.IsNumber() && r == 2:
		d := jsonNumber(s)
		switch k {
		case Numeric:
			return DDec(d), nil
		case Float8:
			f, err := d.ToFloat64()
			return DFloat(f), err
		case Float4:
			f, err := d.ToFloat32()
			return DFloat(float64(f)), err
		}
		return intDatum(d.Int64(k))
	}
	name := [...]string{"null", "string", "numeric", "boolean", "array", "object"}[r]
	return Null, jsonInvalid("cannot cast jsonb %s to type %s", name, k)
}
