package vec

import "github.com/weirdb/weir/sql/types"

func formatValue(t types.Type, d types.Datum) string { return types.Format(t, d, nil) }

func parseValue(t types.Type, s string) (types.Datum, error) { return types.ParseText(t, s, nil) }
