package pgoracle

import (
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"github.com/pganalyze/pg_query_go/v6/parser"
)

// pgError is PostgreSQL's refusal: its message and the byte offset of its place.
type pgError struct {
	Message string
	Pos     int
}

func (e *pgError) Error() string { return fmt.Sprintf("%s at %d", e.Message, e.Pos) }

// pgTree gives PostgreSQL's tree of a text as decoded JSON, or a *pgError.
func pgTree(text string) (any, error) {
	s, err := pgquery.ParseToJSON(text)
	if err != nil {
		var pe *parser.Error
		if errors.As(err, &pe) {
			return nil, &pgError{Message: pe.Message, Pos: pe.Cursorpos - 1}
		}
		return nil, err
	}
	var tree any
	if err := json.Unmarshal([]byte(s), &tree); err != nil {
		return nil, err
	}
	return tree, nil
}

// normalise removes from a tree what Weir's tree does not keep because it means nothing:
//
//   - positions;
//   - whether a function or type was named by a keyword, in which case PostgreSQL puts pg_catalog
//     before its name: EXTRACT(...), int;
//   - the sizes of arrays in type names; ASC; BETWEEN in frames;
//   - the details of FOR UPDATE, and LIMIT ALL;
//   - whether fields are taken one by one: ((a).b).c and (a).b.c.
func normalise(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			switch k {
			case "location", "stmt_location", "stmt_len", "funcformat", "lockingClause", "version":
				delete(v, k)
				continue
			case "funcname", "names", "collname":
				if list, ok := x.([]any); ok && len(list) == 2 && isName(list[0], "pg_catalog") {
					x = list[1:]
				}
			case "arrayBounds":
				x = len(x.([]any))
			case "frameOptions":
				// Whether BETWEEN was written.
				x = float64(int(x.(float64)) &^ 0x10)
			case "sortby_dir":
				if x == "SORTBY_ASC" {
					x = "SORTBY_DEFAULT"
				}
			case "limitCount":
				if isNullConst(x) {
					delete(v, k)
					continue
				}
			case "limitOffset":
				if isNullConst(x) {
					delete(v, k)
					continue
				}
			}
			v[k] = normalise(x)
		}
		flattenIndirection(v)
		if v["limitCount"] == nil && v["limitOption"] != nil {
			v["limitOption"] = "LIMIT_OPTION_DEFAULT"
		}
		return v
	case []any:
		for i := range v {
			v[i] = normalise(v[i])
		}
		return v
	}
	return v
}

func isName(v any, name string) bool {
	m, _ := v.(map[string]any)
	s, _ := m["String"].(map[string]any)
	return s["sval"] == name
}

func isNullConst(v any) bool {
	m, _ := v.(map[string]any)
	c, _ := m["A_Const"].(map[string]any)
	return c["isnull"] == true
}

// flattenIndirection joins an indirection to one that it is taken from, except where a subscript
// meets a subscript: (a[1])[2] is not a[1][2].
func flattenIndirection(v map[string]any) {
	ind, ok := v["A_Indirection"].(map[string]any)
	if !ok {
		return
	}
	arg, _ := ind["arg"].(map[string]any)
	inner, ok := arg["A_Indirection"].(map[string]any)
	if !ok {
		return
	}
	outer, list := ind["indirection"].([]any), inner["indirection"].([]any)
	first, _ := outer[0].(map[string]any)
	last, _ := list[len(list)-1].(map[string]any)
	if first["A_Indices"] != nil && last["A_Indices"] != nil {
		return
	}
	ind["indirection"] = append(append([]any{}, list...), outer...)
	ind["arg"] = inner["arg"]
}

// compact prints a tree for comparison.
func compact(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// constPlace adds the position of a constant that is an operand.
func constPlace(v any, list []string) []string {
	m, _ := v.(map[string]any)
	if c, ok := m["A_Const"].(map[string]any); ok {
		loc, _ := c["location"].(float64)
		list = append(list, fmt.Sprintf("A_Const@%d", int(loc)))
	}
	return list
}

// places lists "kind@position" of the nodes whose positions Weir's tree has too, sorted.
func places(v any, list []string) []string {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			switch k {
			case "ColumnRef", "ParamRef", "A_Expr":
				m := x.(map[string]any)
				loc, _ := m["location"].(float64)
				if m["kind"] == "AEXPR_OP" {
					list = constPlace(m["lexpr"], constPlace(m["rexpr"], list))
				}
				if kind, _ := m["kind"].(string); kind != "AEXPR_NULLIF" && !strings.Contains(fmt.Sprint(m["fields"]), "A_Star") {
					list = append(list, fmt.Sprintf("%s@%d", k, int(loc)))
				}
			}
			list = places(x, list)
		}
	case []any:
		for _, x := range v {
			list = places(x, list)
		}
	}
	sort.Strings(list)
	return list
}
