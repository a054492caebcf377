package syscat

const catalogFuncs = `
pg_table_is_visible(oid) bool stable
`
