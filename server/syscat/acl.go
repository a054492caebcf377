package syscat

import (
	"strings"

	"github.com/weirdb/weir/sql/catalog"
	"github.com/weirdb/weir/sql/sqlerr"
	"github.com/weirdb/weir/sql/types"
)

// aclLetters are the privileges by the letters of an aclitem, in PostgreSQL's order.
var aclLetters = []struct {
	letter byte
	name   string
}{
	{'a', "INSERT"}, {'r', "SELECT"}, {'w', "UPDATE"}, {'d', "DELETE"}, {'D', "TRUNCATE"}, {'x', "REFERENCES"}, {'t', "TRIGGER"},
	{'X', "EXECUTE"}, {'U', "USAGE"}, {'C', "CREATE"}, {'T', "TEMPORARY"}, {'c', "CONNECT"}, {'s', "SET"}, {'A', "ALTER SYSTEM"},
}

// defaultACLs are the privileges that an object of a kind (as acldefault names them) has until somebody changes them: the
// owner's, and behind a slash everybody's.
var defaultACLs = map[string]string{
	"r": "arwdDxt", "c": "", "s": "rwU", "d": "CTc/Tc", "f": "X/X", "l": "U/U", "L": "rw", "n": "UC", "t": "C", "F": "U", "S": "U",
	"T": "U/U", "p": "",
}

// aclDefault is acldefault(kind, owner).
func aclDefault(c *call) (types.Datum, error) {
	letters, ok := defaultACLs[c.text(0)]
	if !ok {
		return types.Null, sqlerr.Newf(sqlerr.InternalError, "unrecognized object type abbreviation: %s", c.text(0))
	}
	own, all, _ := strings.Cut(letters, "/")
	owner, ok := c.roleName(c.oid(1))
	if !ok {
		owner = "weir"
	}
	owner = quoteIdent(owner)
	var items []types.Datum
	if all != "" {
		items = append(items, types.DStr("="+all+"/"+owner))
	}
	if own != "" {
		items = append(items, types.DStr(owner+"="+own+"/"+owner))
	}
	return types.DStr(types.MakeArray(types.Aclitem, items)), nil
}

// aclExplode takes aclitems apart: a row for each privilege. A grantee 0 is everybody.
func aclExplode(c *call) ([][]types.Datum, error) {
	a, err := types.DecodeArray(c.text(0))
	if err != nil {
		return nil, err
	}
	var out [][]types.Datum
	for _, e := range a.Elems {
		if !e.Valid {
			continue
		}
		eq := strings.LastIndexByte(e.S, '=')
		slash := strings.LastIndexByte(e.S, '/')
		if eq < 0 || slash < eq {
			continue
		}
		grantee, letters, grantor := unquoted(e.S[:eq]), e.S[eq+1:slash], unquoted(e.S[slash+1:])
		to := types.DInt(0)
		if grantee != "" {
			to = oidDatum(roleID(grantee))
		}
		for _, l := range aclLetters {
			i := strings.IndexByte(letters, l.letter)
			if i < 0 {
				continue
			}
			option := i+1 < len(letters) && letters[i+1] == '*'
			out = append(out, []types.Datum{oidDatum(roleID(grantor)), to, types.DStr(l.name), types.DBool(option)})
		}
	}
	return out, nil
}

func oidDatum(id catalog.ID) types.Datum { return types.DInt(int64(id)) }

// unquoted takes the quotes off an identifier.
func unquoted(s string) string {
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		return strings.ReplaceAll(s[1:len(s)-1], `""`, `"`)
	}
	return s
}
