package syscat

import "github.com/weirdb/weir/sql/types"

// zoneRelations are the time zones that SET TIME ZONE and AT TIME ZONE know.
func zoneRelations() []relation {
	return []relation{
		{schema: pgCatalog, name: "pg_timezone_names", view: true, cols: "name text, abbrev text, utc_offset interval, is_dst bool", rows: func(c *content) {
			c.columns("name", "abbrev", "utc_offset", "is_dst")
			for z := range types.Zones(c.env.Now) {
				c.add(z.Name, z.Abbrev, types.DSpan(z.Offset), z.DST)
			}
		}},
		{schema: pgCatalog, name: "pg_timezone_abbrevs", view: true, cols: "abbrev text, utc_offset interval, is_dst bool", rows: func(c *content) {
			c.columns("abbrev", "utc_offset", "is_dst")
			for z := range types.ZoneAbbrevs() {
				c.add(z.Abbrev, types.DSpan(z.Offset), z.DST)
			}
		}},
	}
}

func zoneNameTable(c *call) ([][]types.Datum, error) {
	var out [][]types.Datum
	for z := range types.Zones(c.Now) {
		out = append(out, []types.Datum{types.DStr(z.Name), types.DStr(z.Abbrev), types.DSpan(z.Offset), types.DBool(z.DST)})
	}
	return out, nil
}

func zoneAbbrevTable(*call) ([][]types.Datum, error) {
	var out [][]types.Datum
	for z := range types.ZoneAbbrevs() {
		out = append(out, []types.Datum{types.DStr(z.Abbrev), types.DSpan(z.Offset), types.DBool(z.DST)})
	}
	return out, nil
}
