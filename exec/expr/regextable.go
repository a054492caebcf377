package expr

import "github.com/weirdb/weir/sql/types"

// RegexpTable gives the rows of a set-returning function by its name: "regexp_matches" (a text[] a match) or
// "regexp_split_to_table" (a text a piece), nil for any other. flags is "" if the call has none. The
// result keeps a cache of patterns and must be used by one goroutine at a time.
func RegexpTable(name string) func(s, pat, flags string) ([]types.Datum, error) {
	switch name {
	case "regexp_matches":
		get := regexCache(true, "regexp_matches()")
		return func(s, pat, flags string) ([]types.Datum, error) {
			re, err := get(pat, flags)
			if err != nil {
				return nil, err
			}
			limit := 1
			if re.global {
				limit = -1
			}
			var rows []types.Datum
			for _, m := range allMatches(re, s, 0, limit) {
				rows = append(rows, matchArray(s, m))
			}
			return rows, nil
		}
	case "regexp_split_to_table":
		get := regexCache(false, "regexp_split_to_table()")
		return func(s, pat, flags string) ([]types.Datum, error) {
			re, err := get(pat, flags)
			if err != nil {
				return nil, err
			}
			return splitRegex(re, s), nil
		}
	}
	return nil
}
