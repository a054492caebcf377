package op

import (
	"strings"

	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// jsonSet takes json and jsonb apart.
func jsonSet(name string) func([]types.Datum) (setIter, error) {
	asText := strings.HasSuffix(name, "_text")
	raw := strings.HasPrefix(name, "json_")
	value := func(s string) (types.Datum, error) {
		if !asText {
			return types.DStr(s), nil
		}
		t, ok, err := types.RawText(s)
		if !ok {
			return types.Null, err
		}
		return types.DStr(t), nil
	}
	array := strings.Contains(name, "_array_")
	return func(args []types.Datum) (setIter, error) {
		if anyNull(args) {
			return nil, nil
		}
		s, i := args[0].S, 0
		if err := jsonShape(name, array, types.RawTypeof(s)); err != nil {
			return nil, err
		}
		members, err := jsonMembers(s, raw)
		if err != nil {
			return nil, err
		}
		return func(vals []types.Datum) (bool, error) {
			if i >= len(members) {
				return false, nil
			}
			m := members[i]
			i++
			at := 0
			if !array {
				vals[0] = types.DStr(m.Key)
				at = 1
			}
			var err error
			if at < len(vals) {
				vals[at], err = value(m.Value)
			}
			return err == nil, err
		}, nil
	}
}

func jsonMembers(s string, raw bool) ([]types.JSONMember, error) {
	if raw {
		return types.RawMembers(s)
	}
	return types.JSONMembers(s), nil
}

// jsonShape checks that a function can take a value of the kind apart.
func jsonShape(name string, array bool, kind string) error {
	raw := strings.HasPrefix(name, "json_")
	switch {
	case array && kind != "array":
		what := "a scalar"
		if kind == "object" {
			what = "an object"
		}
		if raw {
			if kind == "object" {
				what = "a non-array"
			}
			return sqlerr.Newf(sqlerr.InvalidParameterValue, "cannot call %s on %s", name, what)
		}
		return sqlerr.Newf(sqlerr.InvalidParameterValue, "cannot extract elements from %s", what)
	case !array && kind != "object":
		what := "a non-object"
		if strings.HasSuffix(name, "object_keys") {
			if what = "a scalar"; kind == "array" {
				what = "an array"
			}
			return sqlerr.Newf(sqlerr.InvalidParameterValue, "cannot call %s on %s", name, what)
		}
		if raw {
			if kind == "array" {
				return sqlerr.Newf(sqlerr.InvalidParameterValue, "cannot deconstruct an array as an object")
			}
			return sqlerr.Newf(sqlerr.InvalidParameterValue, "cannot deconstruct a scalar")
		}
		return sqlerr.Newf(sqlerr.InvalidParameterValue, "cannot call %s on %s", name, what)
	}
	return nil
}

// jsonRecords is json_to_record and json_to_recordset and those of jsonb; the last argument has the names of the columns.
func (p *ProjectSet) jsonRecords(f SetFunc) (func([]types.Datum) (setIter, error), error) {
	name := f.Fn.Name
	raw := strings.HasPrefix(name, "json_")
	set := strings.HasSuffix(name, "set")
	return func(args []types.Datum) (setIter, error) {
		switch {
		case args[0].Valid:
		case set:
			return nil, nil
		default:
			return oneNullRow(), nil
		}
		names, err := types.DecodeArray(args[1].S)
		if err != nil {
			return nil, err
		}
		rows := []string{types.RawTrim(args[0].S)}
		if set {
			switch kind := types.RawTypeof(args[0].S); {
			case kind == "object" && raw:
				return nil, sqlerr.Newf(sqlerr.InvalidParameterValue, "cannot call %s on an object", name)
			case kind == "object":
				return nil, sqlerr.Newf(sqlerr.InvalidParameterValue, "cannot call %s on a non-array", name)
			case kind != "array" && raw:
				return nil, sqlerr.Newf(sqlerr.InvalidParameterValue, "cannot call %s on a scalar", name)
			case kind != "array":
				return nil, sqlerr.Newf(sqlerr.InvalidParameterValue, "cannot call %s on a non-array", name)
			}
			members, err := jsonMembers(args[0].S, raw)
			if err != nil {
				return nil, err
			}
			rows = rows[:0]
			for _, m := range members {
				rows = append(rows, m.Value)
			}
		}
		i := 0
		return func(vals []types.Datum) (bool, error) {
			if i >= len(rows) {
				return false, nil
			}
			row := rows[i]
			i++
			if row[0] != '{' {
				if set {
					return false, sqlerr.Newf(sqlerr.InvalidParameterValue, "argument of %s must be an array of objects", name)
				}
				what := "a scalar"
				if row[0] == '[' {
					what = "an array"
				}
				return false, sqlerr.Newf(sqlerr.InvalidParameterValue, "cannot call %s on %s", "populate_composite", what)
			}
			members, err := jsonMembers(row, raw)
			if err != nil {
				return false, err
			}
			found := make(map[string]string, len(members))
			for _, m := range members {
				found[m.Key] = m.Value
			}
			env := textEnv(p.ctx.Env)
			for k, t := range f.Types {
				if v, ok := found[names.Elems[k].S]; ok {
					if vals[k], err = types.JSONToType(t, v, names.Elems[k].S, raw, env); err != nil {
						return false, err
					}
				}
			}
			return true, nil
		}, nil
	}, nil
}

// oneNullRow is a row of NULLs.
func oneNullRow() setIter {
	done := false
	return func([]types.Datum) (bool, error) {
		was := done
		done = true
		return !was, nil
	}
}
