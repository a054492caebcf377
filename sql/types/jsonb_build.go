package types

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weirdb/weir/sql/sqlerr"
)

// JSONFromDatum converts a SQL value as to_jsonb does: NULL to null, numbers and booleans to
// themselves, jsonb unchanged, arrays and records to arrays and objects, all else to a string.
func JSONFromDatum(t Type, d Datum, env *Env) (string, error) {
	b, err := appendJSONDatum(nil, t, d, env)
	return string(b), err
}

func appendJSONDatum(dst []byte, t Type, d Datum, env *Env) ([]byte, error) {
	if !d.Valid {
		return append(dst, "null"...), nil
	}
	switch t.Kind {
	case Bool:
		return strconv.AppendBool(dst, d.I != 0), nil
	case Int2, Int4, Int8:
		return appendInt(dst, d.I), nil
	case Float4, Float8, Numeric:
		text := jsonFormat(t, d, env)
		num, err := ParseDecimal(text)
		if err != nil || !num.IsFinite() {
			return AppendJSONString(dst, text), nil
		}
		return num.AppendText(dst), nil
	case Jsonb:
		return append(dst, d.S...), nil
	case Json:
		s, err := ParseJSON(d.S)
		return append(dst, s...), err
	case Timestamp, Timestamptz:
		text := jsonFormat(t, d, env)
		if !IsInfinite(d.I) {
			// JSON dates are ISO 8601 proper: a T, and minutes in every offset.
			text = strings.Replace(text, " ", "T", 1)
			if t.Kind == Timestamptz {
				body, bc := strings.CutSuffix(text, " BC")
				if c := body[len(body)-3]; c == '+' || c == '-' {
					body += ":00"
				}
				if bc {
					body += " BC"
				}
				text = body
			}
		}
		return AppendJSONString(dst, text), nil
	case Array:
		return appendJSONArray(dst, d.S, env)
	case Record:
		ts, vs, err := DecodeRecord(d.S)
		if err != nil {
			return nil, err
		}
		var pairs []string
		for i := range ts {
			v, err := JSONFromDatum(ts[i], vs[i], env)
			if err != nil {
				return nil, err
			}
			pairs = append(pairs, fmt.Sprintf("f%d", i+1), v)
		}
		return append(dst, JSONObject(pairs)...), nil
	}
	if t.Kind.IsComposite() {
		return appendJSONRow(dst, t, d, env)
	}
	return AppendJSONString(dst, jsonFormat(t, d, env)), nil
}

// appendJSONRow appends a value of a composite type, an object with the names of its attributes.
func appendJSONRow(dst []byte, t Type, d Datum, env *Env) ([]byte, error) {
	ts, vs, err := DecodeRecord(d.S)
	if err != nil {
		return nil, err
	}
	names := env.fieldNames(t.Kind, len(ts))
	var pairs []string
	for i := range ts {
		v, err := JSONFromDatum(ts[i], vs[i], env)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, names[i], v)
	}
	return append(dst, JSONObject(pairs)...), nil
}

// JSONObject builds an object from keys (plain) and values (canonical) in turn.
func JSONObject(pairs []string) string {
	out := []byte{'{'}
	members := make([]member, 0, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		if i > 0 {
			out = append(out, ", "...)
		}
		m := member{keyAt: len(out)}
		out = AppendJSONString(out, pairs[i])
		m.keyEnd = len(out)
		out = append(append(out, ": "...), pairs[i+1]...)
		m.end = len(out)
		members = append(members, m)
	}
	return string(append(orderMembers(out, 0, members), '}'))
}

// JSONArray builds an array from canonical values.
func JSONArray(elems []string) string { return "[" + strings.Join(elems, ", ") + "]" }

// JSONKey gives the text of a value as the key of an object in jsonb_object_agg.
func JSONKey(t Type, d Datum, env *Env) (string, error) {
	switch {
	case !d.Valid:
		return "", sqlerr.Newf(sqlerr.InvalidParameterValue, "field name must not be null")
	case t.Kind == Array || t.Kind == Record || t.Kind == Jsonb || t.Kind == Json:
		return "", sqlerr.Newf(sqlerr.InvalidParameterValue, "key value must be scalar, not array, composite, or json")
	case t.Kind == Bool:
		if d.Bool() {
			return "true", nil
		}
		return "false", nil
	}
	s, err := JSONFromDatum(t, d, env)
	if err == nil && s[0] == '"' {
		s = jsonUnquote(s)
	}
	return s, err
}
