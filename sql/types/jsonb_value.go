package types

import (
	"bytes"
	"strings"
)

// compareJSONKeys orders two quoted keys as jsonb stores them: shorter first, then bytewise.
func compareJSONKeys(a, b []byte) int {
	if bytes.IndexByte(a, '\\') >= 0 || bytes.IndexByte(b, '\\') >= 0 {
		a, b = []byte(jsonUnquote(string(a))), []byte(jsonUnquote(string(b)))
	}
	if len(a) != len(b) {
		return cmpInt(int64(len(a)), int64(len(b)))
	}
	return bytes.Compare(a, b)
}

// jsonUnquote gives the characters of a canonical JSON string.
func jsonUnquote(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s[1 : len(s)-1]
	}
	b, err := unescapeJSON(nil, s[1:len(s)-1])
	if err != nil {
		// Cannot happen: canonical text has valid escapes only.
		return s
	}
	return string(b)
}

// jsonSkip gives the offset after the value that starts at i in canonical text.
func jsonSkip(s string, i int) int {
	switch s[i] {
	case '"':
		for i++; i < len(s); i++ {
			if s[i] == '\\' {
				i++
			} else if s[i] == '"' {
				return i + 1
			}
		}
		return i
	case '{', '[':
		depth := 0
		for i < len(s) {
			switch s[i] {
			case '"':
				i = jsonSkip(s, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				depth--
				if depth == 0 {
					return i + 1
				}
			}
			i++
		}
		return i
	}
	for i < len(s) && s[i] != ',' && s[i] != '}' && s[i] != ']' {
		i++
	}
	return i
}

// jsonEach calls f with the key (quoted, empty in arrays) and value of each member of an object
// or element of an array until f gives false. Scalars have no members.
func jsonEach(s string, f func(key, value string) bool) {
	if len(s) <= 2 || s[0] != '{' && s[0] != '[' {
		return
	}
	for i := 1; i < len(s); {
		key := ""
		if s[0] == '{' {
			end := jsonSkip(s, i)
			key = s[i:end]
			i = end + 2
		}
		end := jsonSkip(s, i)
		if !f(key, s[i:end]) {
			return
		}
		i = end + 2
	}
}

// jsonLen is the number of members or elements.
func jsonLen(s string) int {
	n := 0
	jsonEach(s, func(_, _ string) bool { n++; return true })
	return n
}

// JSONTypeof gives what jsonb_typeof does: object, array, string, number, boolean or null.
func JSONTypeof(s string) string {
	switch s[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

// jsonRank orders the types of JSON values.
func jsonRank(s string) int {
	switch s[0] {
	case 'n':
		return 0
	case '"':
		return 1
	case 't', 'f':
		return 3
	case '[':
		return 4
	case '{':
		return 5
	}
	return 2
}

// CompareJSON orders canonical jsonb values as Postgres does: null, strings, numbers, booleans,
// arrays, objects; containers by size first. An empty array at the top comes before scalars.
func CompareJSON(a, b string) int {
	if a == b {
		return 0
	}
	ra, rb := jsonRank(a), jsonRank(b)
	if ra < 4 && rb == 4 && b == "[]" {
		return 1
	}
	if rb < 4 && ra == 4 && a == "[]" {
		return -1
	}
	return compareJSONValue(a, b)
}

func compareJSONValue(a, b string) int {
	ra, rb := jsonRank(a), jsonRank(b)
	if ra != rb {
		return cmpInt(int64(ra), int64(rb))
	}
	switch ra {
	case 1:
		return strings.Compare(jsonUnquote(a), jsonUnquote(b))
	case 2:
		return jsonNumber(a).Cmp(jsonNumber(b))
	case 3:
		return cmpInt(int64(a[0]), int64(b[0])) // false, true
	case 4, 5:
		if c := cmpInt(int64(jsonLen(a)), int64(jsonLen(b))); c != 0 {
			return c
		}
		var keys, vals []string
		jsonEach(b, func(k, v string) bool {
			keys, vals = append(keys, k), append(vals, v)
			return true
		})
		i, c := 0, 0
		jsonEach(a, func(k, v string) bool {
			if k != keys[i] {
				c = strings.Compare(jsonUnquote(k), jsonUnquote(keys[i]))
			} else {
				c = compareJSONValue(v, vals[i])
			}
			i++
			return c == 0
		})
		return c
	}
	return 0
}

// jsonNumber reads a number of canonical text.
func jsonNumber(s string) Decimal {
	d, err := ParseDecimal(s)
	if err != nil {
		// Cannot happen: canonical numbers are numerics.
		return DecNaN
	}
	return d
}

// HashJSON hashes a canonical jsonb value so that values that compare equal hash equal.
func HashJSON(s string) uint64 {
	switch jsonRank(s) {
	case 2:
		return mix(jsonNumber(s).Hash(), 2)
	case 4, 5:
		h := uint64(s[0])
		jsonEach(s, func(k, v string) bool {
			h = mix(h, HashString(k))
			h = mix(h, HashJSON(v))
			return true
		})
		return h
	}
	return mix(HashString(s), 1)
}

// JSONText gives what ->> gives for a value: the characters of a string, the text of anything
// else; ok is false for null, which becomes NULL.
func JSONText(s string) (string, bool) {
	switch s[0] {
	case '"':
		return jsonUnquote(s), true
	case 'n':
		return "", false
	}
	return s, true
}

// JSONNumber gives the value of a JSON number; ok is false for any other type.
func JSONNumber(s string) (Decimal, bool) {
	if jsonRank(s) != 2 {
		return Decimal{}, false
	}
	return jsonNumber(s), true
}
