package syscat

// viewRelations are the views of pg_catalog that say the same as its tables, in a form for people.
func viewRelations() []relation {
	return []relation{
		{schema: pgCatalog, name: "pg_tables", view: true, cols: `
			schemaname name, tablename name, tableowner name, tablespace name, hasindexes bool, hasrules bool,
			hastriggers bool, rowsecurity bool`, rows: tablesRows},
		{schema: pgCatalog, name: "pg_views", view: true, cols: `
			schemaname name, viewname name, viewowner name, definition text`, rows: viewsRows},
		{schema: pgCatalog, name: "pg_matviews", view: true, cols: `
			schemaname name, matviewname name, matviewowner name, tablespace name, hasindexes bool,
			ispopulated bool, definition text`, rows: matviewsRows},
		{schema: pgCatalog, name: "pg_indexes", view: true, cols: `
			schemaname name, tablename name, indexname name, tablespace name, indexdef text`, rows: indexesRows},
		{schema: pgCatalog, name: "pg_sequences", view: true, cols: `
			schemaname name, sequencename name, sequenceowner name, data_type regtype, start_value int8,
			min_value int8, max_value int8, increment_by int8, cycle bool, cache_size int8, last_value int8`, rows: sequencesRows},
		{schema: pgCatalog, name: "pg_stat_user_tables", view: true, cols: `
			relid oid, schemaname name, relname name, seq_scan int8, seq_tup_read int8, idx_scan int8,
			idx_tup_fetch int8, n_tup_ins int8, n_tup_upd int8, n_tup_del int8, n_tup_hot_upd int8,
			n_live_tup int8, n_dead_tup int8, n_mod_since_analyze int8, n_ins_since_vacuum int8,
			last_vacuum timestamptz, last_autovacuum timestamptz, last_analyze timestamptz,
			last_autoanalyze timestamptz, vacuum_count int8, autovacuum_count int8, analyze_count int8,
			autoanalyze_count int8`, rows: statTablesRows},
		{schema: pgCatalog, name: "pg_stat_all_tables", view: true, cols: `
			relid oid, schemaname name, relname name, seq_scan int8, seq_tup_read int8, idx_scan int8,
			idx_tup_fetch int8, n_tup_ins int8, n_tup_upd int8, n_tup_del int8, n_tup_hot_upd int8,
			n_live_tup int8, n_dead_tup int8, n_mod_since_analyze int8, n_ins_since_vacuum int8,
			last_vacuum timestamptz, last_autovacuum timestamptz, last_analyze timestamptz,
			last_autoanalyze timestamptz, vacuum_count int8, autovacuum_count int8, analyze_count int8,
			autoanalyze_count int8`, rows: statTablesRows},
		{schema: pgCatalog, name: "pg_stat_user_indexes", view: true, cols: `
			relid oid, indexrelid oid, schemaname name, relname name, indexrelname name, idx_scan int8,
			idx_tup_read int8, idx_tup_fetch int8`, rows: statIndexesRows},
		{schema: pgCatalog, name: "pg_stat_all_indexes", view: true, cols: `
			relid oid, indexrelid oid, schemaname name, relname name, indexrelname name, idx_scan int8,
			idx_tup_read int8, idx_tup_fetch int8`, rows: statIndexesRows},
	}
}
