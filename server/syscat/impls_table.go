package syscat

import (
	"strings"
	"sync"

	"github.com/weirdb/weir/sql/parse/lex"
	"github.com/weirdb/weir/sql/types"
)

type tableImpl func(c *call) ([][]types.Datum, error)

// tableImpls are the implementations of catalogTableFuncs, by ID.
var tableImpls = sync.OnceValue(func() map[string]tableImpl {
	none := func(*call) ([][]types.Datum, error) { return nil, nil }
	return map[string]tableImpl{
		"pg_partition_ancestors(regclass)": none, // nothing is partitioned
		"pg_partition_tree(regclass)":      none,
		"pg_available_extensions()":        none,
		"aclexplode(aclitem[])":            aclExplode,
		"pg_options_to_table(text[])":      optionsToTable,
		"pg_get_keywords()":                keywordTable,
		"pg_timezone_names()":              zoneNameTable,
		"pg_timezone_abbrevs()":            zoneAbbrevTable,
		"_pg_expandarray(int2[])":          expandArray,
		"pg_listening_channels()": func(c *call) ([][]types.Datum, error) {
			if c.ListeningChannels == nil {
				return nil, nil
			}
			return c.ListeningChannels(), nil
		},
		"pg_show_all_settings()": func(c *call) ([][]types.Datum, error) {
			var out [][]types.Datum
			if c.AllSettings != nil {
				for _, s := range c.AllSettings() {
					out = append(out, []types.Datum{types.DStr(s.Name), types.DStr(s.Value)})
				}
			}
			return out, nil
		},
	}
})

// optionsToTable takes name=value texts apart.
func optionsToTable(c *call) ([][]types.Datum, error) {
	a, err := types.DecodeArray(c.text(0))
	if err != nil {
		return nil, err
	}
	var out [][]types.Datum
	for _, e := range a.Elems {
		if !e.Valid {
			continue
		}
		name, value, ok := strings.Cut(e.S, "=")
		v := types.DStr(value)
		if !ok {
			v = types.Null
		}
		out = append(out, []types.Datum{types.DStr(name), v})
	}
	return out, nil
}

// expandArray numbers the elements of an array from 1.
func expandArray(c *call) ([][]types.Datum, error) {
	a, err := types.DecodeArray(c.text(0))
	if err != nil {
		return nil, err
	}
	var out [][]types.Datum
	for i, e := range a.Elems {
		out = append(out, []types.Datum{e, types.DInt(int64(i + 1))})
	}
	return out, nil
}

// keywordTable lists the keywords with their classes.
func keywordTable(*call) ([][]types.Datum, error) {
	classes := map[lex.Category][2]string{
		lex.Unreserved: {"U", "unreserved"}, lex.ColName: {"C", "unreserved (cannot be function or type name)"},
		lex.TypeFuncName: {"T", "reserved (can be function or type name)"}, lex.Reserved: {"R", "reserved"},
	}
	var out [][]types.Datum
	for _, w := range lex.Words() {
		cat, bare := lex.Lookup(w)
		desc := "requires AS"
		if bare {
			desc = "can be bare label"
		}
		out = append(out, []types.Datum{
			types.DStr(w), types.DStr(classes[cat][0]), types.DBool(bare), types.DStr(classes[cat][1]), types.DStr(desc),
		})
	}
	return out, nil
}
