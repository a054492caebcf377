package syscat

import (
	"strconv"
	"strings"

	"github.com/weirdb/weir/sql/catalog"
)

// emptyList are the relations of PostgreSQL that have no rows here, because Weir has nothing of the kind or keeps
// no account of it. One a line: schema, name, oid or "view", columns.
const emptyList = `
pg_catalog pg_available_extension_versions view name name, version text, installed bool, superuser bool, trusted bool, relocatable bool, schema name, requires name[], comment text
pg_catalog pg_available_extensions view name name, default_version text, installed_version text, comment text
pg_catalog pg_backend_memory_contexts view name text, ident text, parent text, level int4, total_bytes int8, total_nblocks int8, free_bytes int8, free_chunks int8, used_bytes int8
pg_catalog pg_conversion 2607 oid oid!, conname name!, connamespace oid!, conowner oid!, conforencoding int4!, contoencoding int4!, conproc regproc!, condefault bool!
pg_catalog pg_default_acl 826 oid oid!, defaclrole oid!, defaclnamespace oid!, defaclobjtype char!, defaclacl aclitem[]!
pg_catalog pg_event_trigger 3466 oid oid!, evtname name!, evtevent name!, evtowner oid!, evtfoid oid!, evtenabled char!, evttags text[]
pg_catalog pg_init_privs 3394 objoid oid!, classoid oid!, objsubid int4!, privtype char!, initprivs aclitem[]!
pg_catalog pg_largeobject 2613 loid oid!, pageno int4!, data bytea!
pg_catalog pg_largeobject_metadata 2995 oid oid!, lomowner oid!, lomacl aclitem[]
pg_catalog pg_parameter_acl 6243 oid oid!, parname text!, paracl aclitem[]
pg_catalog pg_partitioned_table 3350 partrelid oid!, partstrat char!, partnatts int2!, partdefid oid!, partattrs int2vector!, partclass oidvector!, partcollation oidvector!, partexprs pg_node_tree
pg_catalog pg_policies view schemaname name, tablename name, policyname name, permissive text, roles name[], cmd text, qual text, with_check text
pg_catalog pg_policy 3256 oid oid!, polname name!, polrelid oid!, polcmd char!, polpermissive bool!, polroles oid[]!, polqual pg_node_tree, polwithcheck pg_node_tree
pg_catalog pg_prepared_statements view name text, statement text, prepare_time timestamptz, parameter_types regtype[], from_sql bool, generic_plans int8, custom_plans int8
pg_catalog pg_prepared_xacts view transaction oid, gid text, prepared timestamptz, owner name, database name
pg_catalog pg_publication 6104 oid oid!, pubname name!, pubowner oid!, puballtables bool!, pubinsert bool!, pubupdate bool!, pubdelete bool!, pubtruncate bool!, pubviaroot bool!
pg_catalog pg_publication_namespace 6237 oid oid!, pnpubid oid!, pnnspid oid!
pg_catalog pg_publication_rel 6106 oid oid!, prpubid oid!, prrelid oid!, prqual pg_node_tree, prattrs int2vector
pg_catalog pg_publication_tables view pubname name, schemaname name, tablename name, attnames name[], rowfilter text
pg_catalog pg_replication_origin 6000 roident oid!, roname text!
pg_catalog pg_replication_origin_status view local_id oid, external_id text, remote_lsn text, local_lsn text
pg_catalog pg_replication_slots view slot_name name, plugin name, slot_type text, datoid oid, database name, temporary bool, active bool, active_pid int4, xmin xid, catalog_xmin xid, restart_lsn text, confirmed_flush_lsn text, wal_status text, safe_wal_size int8, two_phase bool
pg_catalog pg_rules view schemaname name, tablename name, rulename name, definition text
pg_catalog pg_seclabel 3596 objoid oid!, classoid oid!, objsubid int4!, provider text!, label text!
pg_catalog pg_seclabels view objoid oid, classoid oid, objsubid int4, objtype text, objnamespace oid, objname text, provider text, label text
pg_catalog pg_shdepend 1214 dbid oid!, classid oid!, objid oid!, objsubid int4!, refclassid oid!, refobjid oid!, deptype char!
pg_catalog pg_shmem_allocations view name text, off int8, size int8, allocated_size int8
pg_catalog pg_shseclabel 3592 objoid oid!, classoid oid!, provider text!, label text!
pg_catalog pg_stat_archiver view archived_count int8, last_archived_wal text, last_archived_time timestamptz, failed_count int8, last_failed_wal text, last_failed_time timestamptz, stats_reset timestamptz
pg_catalog pg_stat_bgwriter view checkpoints_timed int8, checkpoints_req int8, checkpoint_write_time float8, checkpoint_sync_time float8, buffers_checkpoint int8, buffers_clean int8, maxwritten_clean int8, buffers_backend int8, buffers_backend_fsync int8, buffers_alloc int8, stats_reset timestamptz
pg_catalog pg_stat_database view datid oid, datname name, numbackends int4, xact_commit int8, xact_rollback int8, blks_read int8, blks_hit int8, tup_returned int8, tup_fetched int8, tup_inserted int8, tup_updated int8, tup_deleted int8, conflicts int8, temp_files int8, temp_bytes int8, deadlocks int8, checksum_failures int8, checksum_last_failure timestamptz, blk_read_time float8, blk_write_time float8, session_time float8, active_time float8, idle_in_transaction_time float8, sessions int8, sessions_abandoned int8, sessions_fatal int8, sessions_killed int8, stats_reset timestamptz
pg_catalog pg_stat_database_conflicts view datid oid, datname name, confl_tablespace int8, confl_lock int8, confl_snapshot int8, confl_bufferpin int8, confl_deadlock int8
pg_catalog pg_stat_gssapi view pid int4, gss_authenticated bool, principal text, encrypted bool
pg_catalog pg_stat_progress_analyze view pid int4, datid oid, datname name, relid oid, phase text, sample_blks_total int8, sample_blks_scanned int8, ext_stats_total int8, ext_stats_computed int8, child_tables_total int8, child_tables_done int8, current_child_table_relid oid
pg_catalog pg_stat_progress_basebackup view pid int4, phase text, backup_total int8, backup_streamed int8, tablespaces_total int8, tablespaces_streamed int8
pg_catalog pg_stat_progress_cluster view pid int4, datid oid, datname name, relid oid, command text, phase text, cluster_index_relid oid, heap_tuples_scanned int8, heap_tuples_written int8, heap_blks_total int8, heap_blks_scanned int8, index_rebuild_count int8
pg_catalog pg_stat_progress_copy view pid int4, datid oid, datname name, relid oid, command text, type text, bytes_processed int8, bytes_total int8, tuples_processed int8, tuples_excluded int8
pg_catalog pg_stat_progress_create_index view pid int4, datid oid, datname name, relid oid, index_relid oid, command text, phase text, lockers_total int8, lockers_done int8, current_locker_pid int8, blocks_total int8, blocks_done int8, tuples_total int8, tuples_done int8, partitions_total int8, partitions_done int8
pg_catalog pg_stat_progress_vacuum view pid int4, datid oid, datname name, relid oid, phase text, heap_blks_total int8, heap_blks_scanned int8, heap_blks_vacuumed int8, index_vacuum_count int8, max_dead_tuples int8, num_dead_tuples int8
pg_catalog pg_stat_recovery_prefetch view stats_reset timestamptz, prefetch int8, hit int8, skip_init int8, skip_new int8, skip_fpw int8, skip_rep int8, wal_distance int4, block_distance int4, io_depth int4
pg_catalog pg_stat_replication view pid int4, usesysid oid, usename name, application_name text, client_addr inet, client_hostname text, client_port int4, backend_start timestamptz, backend_xmin xid, state text, sent_lsn text, write_lsn text, flush_lsn text, replay_lsn text, write_lag interval, flush_lag interval, replay_lag interval, sync_priority int4, sync_state text, reply_time timestamptz
pg_catalog pg_stat_replication_slots view slot_name text, spill_txns int8, spill_count int8, spill_bytes int8, stream_txns int8, stream_count int8, stream_bytes int8, total_txns int8, total_bytes int8, stats_reset timestamptz
pg_catalog pg_stat_slru view name text, blks_zeroed int8, blks_hit int8, blks_read int8, blks_written int8, blks_exists int8, flushes int8, truncates int8, stats_reset timestamptz
pg_catalog pg_stat_ssl view pid int4, ssl bool, version text, cipher text, bits int4, client_dn text, client_serial numeric, issuer_dn text
pg_catalog pg_stat_subscription view subid oid, subname name, pid int4, relid oid, received_lsn text, last_msg_send_time timestamptz, last_msg_receipt_time timestamptz, latest_end_lsn text, latest_end_time timestamptz
pg_catalog pg_stat_subscription_stats view subid oid, subname name, apply_error_count int8, sync_error_count int8, stats_reset timestamptz
pg_catalog pg_stat_sys_indexes view relid oid, indexrelid oid, schemaname name, relname name, indexrelname name, idx_scan int8, idx_tup_read int8, idx_tup_fetch int8
pg_catalog pg_stat_sys_tables view relid oid, schemaname name, relname name, seq_scan int8, seq_tup_read int8, idx_scan int8, idx_tup_fetch int8, n_tup_ins int8, n_tup_upd int8, n_tup_del int8, n_tup_hot_upd int8, n_live_tup int8, n_dead_tup int8, n_mod_since_analyze int8, n_ins_since_vacuum int8, last_vacuum timestamptz, last_autovacuum timestamptz, last_analyze timestamptz, last_autoanalyze timestamptz, vacuum_count int8, autovacuum_count int8, analyze_count int8, autoanalyze_count int8
pg_catalog pg_stat_user_functions view funcid oid, schemaname name, funcname name, calls int8, total_time float8, self_time float8
pg_catalog pg_stat_wal view wal_records int8, wal_fpi int8, wal_bytes numeric, wal_buffers_full int8, wal_write int8, wal_sync int8, wal_write_time float8, wal_sync_time float8, stats_reset timestamptz
pg_catalog pg_stat_wal_receiver view pid int4, status text, receive_start_lsn text, receive_start_tli int4, written_lsn text, flushed_lsn text, received_tli int4, last_msg_send_time timestamptz, last_msg_receipt_time timestamptz, latest_end_lsn text, latest_end_time timestamptz, slot_name text, sender_host text, sender_port int4, conninfo text
pg_catalog pg_stat_xact_all_tables view relid oid, schemaname name, relname name, seq_scan int8, seq_tup_read int8, idx_scan int8, idx_tup_fetch int8, n_tup_ins int8, n_tup_upd int8, n_tup_del int8, n_tup_hot_upd int8
pg_catalog pg_stat_xact_sys_tables view relid oid, schemaname name, relname name, seq_scan int8, seq_tup_read int8, idx_scan int8, idx_tup_fetch int8, n_tup_ins int8, n_tup_upd int8, n_tup_del int8, n_tup_hot_upd int8
pg_catalog pg_stat_xact_user_functions view funcid oid, schemaname name, funcname name, calls int8, total_time float8, self_time float8
pg_catalog pg_stat_xact_user_tables view relid oid, schemaname name, relname name, seq_scan int8, seq_tup_read int8, idx_scan int8, idx_tup_fetch int8, n_tup_ins int8, n_tup_upd int8, n_tup_del int8, n_tup_hot_upd int8
pg_catalog pg_statio_all_indexes view relid oid, indexrelid oid, schemaname name, relname name, indexrelname name, idx_blks_read int8, idx_blks_hit int8
pg_catalog pg_statio_all_sequences view relid oid, schemaname name, relname name, blks_read int8, blks_hit int8
pg_catalog pg_statio_all_tables view relid oid, schemaname name, relname name, heap_blks_read int8, heap_blks_hit int8, idx_blks_read int8, idx_blks_hit int8, toast_blks_read int8, toast_blks_hit int8, tidx_blks_read int8, tidx_blks_hit int8
pg_catalog pg_statio_sys_indexes view relid oid, indexrelid oid, schemaname name, relname name, indexrelname name, idx_blks_read int8, idx_blks_hit int8
pg_catalog pg_statio_sys_sequences view relid oid, schemaname name, relname name, blks_read int8, blks_hit int8
pg_catalog pg_statio_sys_tables view relid oid, schemaname name, relname name, heap_blks_read int8, heap_blks_hit int8, idx_blks_read int8, idx_blks_hit int8, toast_blks_read int8, toast_blks_hit int8, tidx_blks_read int8, tidx_blks_hit int8
pg_catalog pg_statio_user_indexes view relid oid, indexrelid oid, schemaname name, relname name, indexrelname name, idx_blks_read int8, idx_blks_hit int8
pg_catalog pg_statio_user_sequences view relid oid, schemaname name, relname name, blks_read int8, blks_hit int8
pg_catalog pg_statio_user_tables view relid oid, schemaname name, relname name, heap_blks_read int8, heap_blks_hit int8, idx_blks_read int8, idx_blks_hit int8, toast_blks_read int8, toast_blks_hit int8, tidx_blks_read int8, tidx_blks_hit int8
pg_catalog pg_statistic 2619 starelid oid!, staattnum int2!, stainherit bool!, stanullfrac float4!, stawidth int4!, stadistinct float4!, stakind1 int2!, stakind2 int2!, stakind3 int2!, stakind4 int2!, stakind5 int2!, staop1 oid!, staop2 oid!, staop3 oid!, staop4 oid!, staop5 oid!, stacoll1 oid!, stacoll2 oid!, stacoll3 oid!, stacoll4 oid!, stacoll5 oid!, stanumbers1 float4[], stanumbers2 float4[], stanumbers3 float4[], stanumbers4 float4[], stanumbers5 float4[], stavalues1 text, stavalues2 text, stavalues3 text, stavalues4 text, stavalues5 text
pg_catalog pg_statistic_ext 3381 oid oid!, stxrelid oid!, stxname name!, stxnamespace oid!, stxowner oid!, stxstattarget int4!, stxkeys int2vector!, stxkind char[]!, stxexprs pg_node_tree
pg_catalog pg_statistic_ext_data 3429 stxoid oid!, stxdinherit bool!, stxdndistinct text, stxddependencies text, stxdmcv text, stxdexpr text[]
pg_catalog pg_stats view schemaname name, tablename name, attname name, inherited bool, null_frac float4, avg_width int4, n_distinct float4, most_common_vals text, most_common_freqs float4[], histogram_bounds text, correlation float4, most_common_elems text, most_common_elem_freqs float4[], elem_count_histogram float4[]
pg_catalog pg_stats_ext view schemaname name, tablename name, statistics_schemaname name, statistics_name name, statistics_owner name, attnames name[], exprs text[], kinds char[], inherited bool, n_distinct text, dependencies text, most_common_vals text[], most_common_val_nulls bool[], most_common_freqs float8[], most_common_base_freqs float8[]
pg_catalog pg_stats_ext_exprs view schemaname name, tablename name, statistics_schemaname name, statistics_name name, statistics_owner name, expr text, inherited bool, null_frac float4, avg_width int4, n_distinct float4, most_common_vals text, most_common_freqs float4[], histogram_bounds text, correlation float4, most_common_elems text, most_common_elem_freqs float4[], elem_count_histogram float4[]
pg_catalog pg_subscription 6100 oid oid!, subdbid oid!, subskiplsn text!, subname name!, subowner oid!, subenabled bool!, subbinary bool!, substream bool!, subtwophasestate char!, subdisableonerr bool!, subconninfo text!, subslotname name, subsynccommit text!, subpublications text[]!
pg_catalog pg_subscription_rel 6102 srsubid oid!, srrelid oid!, srsubstate char!, srsublsn text
pg_catalog pg_transform 3576 oid oid!, trftype oid!, trflang oid!, trffromsql regproc!, trftosql regproc!
pg_catalog pg_trigger 2620 oid oid!, tgrelid oid!, tgparentid oid!, tgname name!, tgfoid oid!, tgtype int2!, tgenabled char!, tgisinternal bool!, tgconstrrelid oid!, tgconstrindid oid!, tgconstraint oid!, tgdeferrable bool!, tginitdeferred bool!, tgnargs int2!, tgattr int2vector!, tgargs bytea!, tgqual pg_node_tree, tgoldtable name, tgnewtable name
pg_catalog pg_ts_config 3602 oid oid!, cfgname name!, cfgnamespace oid!, cfgowner oid!, cfgparser oid!
pg_catalog pg_ts_config_map 3603 mapcfg oid!, maptokentype int4!, mapseqno int4!, mapdict oid!
pg_catalog pg_ts_dict 3600 oid oid!, dictname name!, dictnamespace oid!, dictowner oid!, dicttemplate oid!, dictinitoption text
pg_catalog pg_ts_parser 3601 oid oid!, prsname name!, prsnamespace oid!, prsstart regproc!, prstoken regproc!, prsend regproc!, prsheadline regproc!, prslextype regproc!
pg_catalog pg_ts_template 3764 oid oid!, tmplname name!, tmplnamespace oid!, tmplinit regproc!, tmpllexize regproc!
pg_catalog pg_user_mapping 1418 oid oid!, umuser oid!, umserver oid!, umoptions text[]
pg_catalog pg_user_mappings view umid oid, srvid oid, srvname name, umuser oid, usename name, umoptions text[]
information_schema _pg_foreign_data_wrappers view oid oid, fdwowner oid, fdwoptions text[], foreign_data_wrapper_catalog name, foreign_data_wrapper_name name, authorization_identifier name, foreign_data_wrapper_language varchar
information_schema _pg_foreign_servers view oid oid, srvoptions text[], foreign_server_catalog name, foreign_server_name name, foreign_data_wrapper_catalog name, foreign_data_wrapper_name name, foreign_server_type varchar, foreign_server_version varchar, authorization_identifier name
information_schema _pg_foreign_table_columns view nspname name, relname name, attname name, attfdwoptions text[]
information_schema _pg_foreign_tables view foreign_table_catalog name, foreign_table_schema name, foreign_table_name name, ftoptions text[], foreign_server_catalog name, foreign_server_name name, authorization_identifier name
information_schema _pg_user_mappings view oid oid, umoptions text[], umuser oid, authorization_identifier name, foreign_server_catalog name, foreign_server_name name, srvowner name
information_schema administrable_role_authorizations view grantee name, role_name name, is_grantable varchar
information_schema applicable_roles view grantee name, role_name name, is_grantable varchar
information_schema attributes view udt_catalog name, udt_schema name, udt_name name, attribute_name name, ordinal_position int4, attribute_default varchar, is_nullable varchar, data_type varchar, character_maximum_length int4, character_octet_length int4, character_set_catalog name, character_set_schema name, character_set_name name, collation_catalog name, collation_schema name, collation_name name, numeric_precision int4, numeric_precision_radix int4, numeric_scale int4, datetime_precision int4, interval_type varchar, interval_precision int4, attribute_udt_catalog name, attribute_udt_schema name, attribute_udt_name name, scope_catalog name, scope_schema name, scope_name name, maximum_cardinality int4, dtd_identifier name, is_derived_reference_attribute varchar
information_schema character_sets view character_set_catalog name, character_set_schema name, character_set_name name, character_repertoire name, form_of_use name, default_collate_catalog name, default_collate_schema name, default_collate_name name
information_schema check_constraint_routine_usage view constraint_catalog name, constraint_schema name, constraint_name name, specific_catalog name, specific_schema name, specific_name name
information_schema collation_character_set_applicability view collation_catalog name, collation_schema name, collation_name name, character_set_catalog name, character_set_schema name, character_set_name name
information_schema collations view collation_catalog name, collation_schema name, collation_name name, pad_attribute varchar
information_schema column_column_usage view table_catalog name, table_schema name, table_name name, column_name name, dependent_column name
information_schema column_domain_usage view domain_catalog name, domain_schema name, domain_name name, table_catalog name, table_schema name, table_name name, column_name name
information_schema column_options view table_catalog name, table_schema name, table_name name, column_name name, option_name name, option_value varchar
information_schema column_privileges view grantor name, grantee name, table_catalog name, table_schema name, table_name name, column_name name, privilege_type varchar, is_grantable varchar
information_schema column_udt_usage view udt_catalog name, udt_schema name, udt_name name, table_catalog name, table_schema name, table_name name, column_name name
information_schema data_type_privileges view object_catalog name, object_schema name, object_name name, object_type varchar, dtd_identifier name
information_schema domain_constraints view constraint_catalog name, constraint_schema name, constraint_name name, domain_catalog name, domain_schema name, domain_name name, is_deferrable varchar, initially_deferred varchar
information_schema domain_udt_usage view udt_catalog name, udt_schema name, udt_name name, domain_catalog name, domain_schema name, domain_name name
information_schema domains view domain_catalog name, domain_schema name, domain_name name, data_type varchar, character_maximum_length int4, character_octet_length int4, character_set_catalog name, character_set_schema name, character_set_name name, collation_catalog name, collation_schema name, collation_name name, numeric_precision int4, numeric_precision_radix int4, numeric_scale int4, datetime_precision int4, interval_type varchar, interval_precision int4, domain_default varchar, udt_catalog name, udt_schema name, udt_name name, scope_catalog name, scope_schema name, scope_name name, maximum_cardinality int4, dtd_identifier name
information_schema element_types view object_catalog name, object_schema name, object_name name, object_type varchar, collection_type_identifier name, data_type varchar, character_maximum_length int4, character_octet_length int4, character_set_catalog name, character_set_schema name, character_set_name name, collation_catalog name, collation_schema name, collation_name name, numeric_precision int4, numeric_precision_radix int4, numeric_scale int4, datetime_precision int4, interval_type varchar, interval_precision int4, domain_default varchar, udt_catalog name, udt_schema name, udt_name name, scope_catalog name, scope_schema name, scope_name name, maximum_cardinality int4, dtd_identifier name
information_schema foreign_data_wrapper_options view foreign_data_wrapper_catalog name, foreign_data_wrapper_name name, option_name name, option_value varchar
information_schema foreign_data_wrappers view foreign_data_wrapper_catalog name, foreign_data_wrapper_name name, authorization_identifier name, library_name varchar, foreign_data_wrapper_language varchar
information_schema foreign_server_options view foreign_server_catalog name, foreign_server_name name, option_name name, option_value varchar
information_schema foreign_servers view foreign_server_catalog name, foreign_server_name name, foreign_data_wrapper_catalog name, foreign_data_wrapper_name name, foreign_server_type varchar, foreign_server_version varchar, authorization_identifier name
information_schema foreign_table_options view foreign_table_catalog name, foreign_table_schema name, foreign_table_name name, option_name name, option_value varchar
information_schema foreign_tables view foreign_table_catalog name, foreign_table_schema name, foreign_table_name name, foreign_server_catalog name, foreign_server_name name
information_schema role_column_grants view grantor name, grantee name, table_catalog name, table_schema name, table_name name, column_name name, privilege_type varchar, is_grantable varchar
information_schema role_routine_grants view grantor name, grantee name, specific_catalog name, specific_schema name, specific_name name, routine_catalog name, routine_schema name, routine_name name, privilege_type varchar, is_grantable varchar
information_schema role_udt_grants view grantor name, grantee name, udt_catalog name, udt_schema name, udt_name name, privilege_type varchar, is_grantable varchar
information_schema role_usage_grants view grantor name, grantee name, object_catalog name, object_schema name, object_name name, object_type varchar, privilege_type varchar, is_grantable varchar
information_schema routine_column_usage view specific_catalog name, specific_schema name, specific_name name, routine_catalog name, routine_schema name, routine_name name, table_catalog name, table_schema name, table_name name, column_name name
information_schema routine_privileges view grantor name, grantee name, specific_catalog name, specific_schema name, specific_name name, routine_catalog name, routine_schema name, routine_name name, privilege_type varchar, is_grantable varchar
information_schema routine_routine_usage view specific_catalog name, specific_schema name, specific_name name, routine_catalog name, routine_schema name, routine_name name
information_schema routine_sequence_usage view specific_catalog name, specific_schema name, specific_name name, routine_catalog name, routine_schema name, routine_name name, sequence_catalog name, sequence_schema name, sequence_name name
information_schema routine_table_usage view specific_catalog name, specific_schema name, specific_name name, routine_catalog name, routine_schema name, routine_name name, table_catalog name, table_schema name, table_name name
information_schema sql_features 13391 feature_id varchar, feature_name varchar, sub_feature_id varchar, sub_feature_name varchar, is_supported varchar, is_verified_by varchar, comments varchar
information_schema sql_implementation_info 13396 implementation_info_id varchar, implementation_info_name varchar, integer_value int4, character_value varchar, comments varchar
information_schema sql_parts 13401 feature_id varchar, feature_name varchar, is_supported varchar, is_verified_by varchar, comments varchar
information_schema sql_sizing 13406 sizing_id int4, sizing_name varchar, supported_value int4, comments varchar
information_schema transforms view udt_catalog name, udt_schema name, udt_name name, specific_catalog name, specific_schema name, specific_name name, group_name name, transform_type varchar
information_schema triggered_update_columns view trigger_catalog name, trigger_schema name, trigger_name name, event_object_catalog name, event_object_schema name, event_object_table name, event_object_column name
information_schema triggers view trigger_catalog name, trigger_schema name, trigger_name name, event_manipulation varchar, event_object_catalog name, event_object_schema name, event_object_table name, action_order int4, action_condition varchar, action_statement varchar, action_orientation varchar, action_timing varchar, action_reference_old_table name, action_reference_new_table name, action_reference_old_row name, action_reference_new_row name, created timestamptz
information_schema udt_privileges view grantor name, grantee name, udt_catalog name, udt_schema name, udt_name name, privilege_type varchar, is_grantable varchar
information_schema usage_privileges view grantor name, grantee name, object_catalog name, object_schema name, object_name name, object_type varchar, privilege_type varchar, is_grantable varchar
information_schema user_defined_types view user_defined_type_catalog name, user_defined_type_schema name, user_defined_type_name name, user_defined_type_category varchar, is_instantiable varchar, is_final varchar, ordering_form varchar, ordering_category varchar, ordering_routine_catalog name, ordering_routine_schema name, ordering_routine_name name, reference_type varchar, data_type varchar, character_maximum_length int4, character_octet_length int4, character_set_catalog name, character_set_schema name, character_set_name name, collation_catalog name, collation_schema name, collation_name name, numeric_precision int4, numeric_precision_radix int4, numeric_scale int4, datetime_precision int4, interval_type varchar, interval_precision int4, source_dtd_identifier name, ref_dtd_identifier name
information_schema user_mapping_options view authorization_identifier name, foreign_server_catalog name, foreign_server_name name, option_name name, option_value varchar
information_schema user_mappings view authorization_identifier name, foreign_server_catalog name, foreign_server_name name
information_schema view_column_usage view view_catalog name, view_schema name, view_name name, table_catalog name, table_schema name, table_name name, column_name name
information_schema view_routine_usage view table_catalog name, table_schema name, table_name name, specific_catalog name, specific_schema name, specific_name name
`

func emptyRelations() []relation {
	var out []relation
	views := userTypeViews()
	for line := range strings.SplitSeq(strings.TrimSpace(emptyList), "\n") {
		f := strings.SplitN(line, " ", 4)
		d := relation{schema: f[0], name: f[1], view: f[2] == "view", cols: f[3]}
		if !d.view {
			d.oid = parseID(f[2])
		}
		d.rows = views[d.name]
		out = append(out, d)
	}
	return out
}

// parseID reads an oid of a definition.
func parseID(s string) catalog.ID {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil {
		panic("syscat: bad oid " + s)
	}
	return catalog.ID(n)
}
