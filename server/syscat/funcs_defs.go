package syscat

// catalogFuncs are the functions that ask the catalog or the session, in the notation of package fn.
// Those that change something are volatile.
const catalogFuncs = `
# Names and visibility.
to_regclass(text) regclass stable
to_regtype(text) regtype stable
to_regproc(text) regproc stable
to_regnamespace(text) regnamespace stable
pg_table_is_visible(oid) bool stable
pg_type_is_visible(oid) bool stable
pg_function_is_visible(oid) bool stable
pg_operator_is_visible(oid) bool stable
pg_opclass_is_visible(oid) bool stable
pg_opfamily_is_visible(oid) bool stable
pg_collation_is_visible(oid) bool stable
pg_conversion_is_visible(oid) bool stable
pg_statistics_obj_is_visible(oid) bool stable
pg_ts_config_is_visible(oid) bool stable
pg_ts_dict_is_visible(oid) bool stable
pg_ts_parser_is_visible(oid) bool stable
pg_ts_template_is_visible(oid) bool stable
pg_is_other_temp_schema(oid) bool stable
pg_my_temp_schema() oid stable

# Definitions as SQL.
format_type(oid,int4) text stable null
pg_get_expr(text,oid) text stable
pg_get_expr(text,oid,bool) text stable
pg_get_viewdef(oid) text stable
pg_get_viewdef(oid,bool) text stable
pg_get_viewdef(oid,int4) text stable
pg_get_viewdef(text) text stable fail
pg_get_viewdef(text,bool) text stable fail
pg_get_indexdef(oid) text stable
pg_get_indexdef(oid,int4,bool) text stable
pg_get_constraintdef(oid) text stable
pg_get_constraintdef(oid,bool) text stable
pg_get_serial_sequence(text,text) text stable fail
pg_get_ruledef(oid) text stable
pg_get_ruledef(oid,bool) text stable
pg_get_triggerdef(oid) text stable
pg_get_triggerdef(oid,bool) text stable
pg_get_partkeydef(oid) text stable
pg_get_statisticsobjdef(oid) text stable
pg_get_statisticsobjdef_columns(oid) text stable
pg_get_function_result(oid) text stable
pg_get_function_arguments(oid) text stable
pg_get_function_identity_arguments(oid) text stable
pg_get_function_arg_default(oid,int4) text stable
pg_get_function_sqlbody(oid) text stable
pg_get_functiondef(oid) text stable

# Comments.
obj_description(oid) text stable
obj_description(oid,name) text stable
col_description(oid,int4) text stable
shobj_description(oid,name) text stable
pg_describe_object(oid,oid,int4) text stable

# Roles and privileges.
pg_get_userbyid(oid) name stable
pg_has_role(name,text) bool stable
pg_has_role(oid,text) bool stable
pg_has_role(name,name,text) bool stable
pg_has_role(name,oid,text) bool stable
[has_table_privilege has_any_column_privilege has_sequence_privilege] @(text,text) bool stable fail
[has_table_privilege has_any_column_privilege has_sequence_privilege] @(oid,text) bool stable
[has_table_privilege has_any_column_privilege has_sequence_privilege] @(name,text,text) bool stable fail
[has_table_privilege has_any_column_privilege has_sequence_privilege] @(name,oid,text) bool stable
has_column_privilege(text,text,text) bool stable fail
has_column_privilege(oid,text,text) bool stable
has_column_privilege(oid,int2,text) bool stable
has_column_privilege(name,text,text,text) bool stable fail
has_column_privilege(name,oid,int2,text) bool stable
[has_schema_privilege has_database_privilege has_type_privilege has_language_privilege] @(text,text) bool stable
has_function_privilege(text,text) bool stable fail
[has_schema_privilege has_database_privilege has_function_privilege has_type_privilege has_language_privilege] @(oid,text) bool stable
[has_schema_privilege has_database_privilege has_type_privilege has_language_privilege] @(name,text,text) bool stable
has_function_privilege(name,text,text) bool stable fail
[has_schema_privilege has_database_privilege has_function_privilege has_type_privilege has_language_privilege] @(name,oid,text) bool stable
[has_tablespace_privilege has_server_privilege has_foreign_data_wrapper_privilege] @(text,text) bool stable
[has_tablespace_privilege has_server_privilege has_foreign_data_wrapper_privilege] @(oid,text) bool stable
acldefault(char,oid) aclitem[] stable
row_security_active(oid) bool stable
row_security_active(text) bool stable

# Sequences.
nextval(regclass) int8 volatile fail
pg_sequence_last_value(regclass) int8 volatile fail
currval(regclass) int8 volatile fail
lastval() int8 volatile fail
setval(regclass,int8) int8 volatile fail
setval(regclass,int8,bool) int8 volatile fail

# Settings and the session.
current_setting(text) text stable fail
current_setting(text,bool) text stable fail
set_config(text,text,bool) text volatile fail null
weir_advance_clock(interval) timestamptz volatile fail
pg_notify(text,text) void volatile fail null
pg_backend_pid() int4 stable
pg_is_in_recovery() bool stable
pg_is_in_backup() bool stable
pg_postmaster_start_time() timestamptz stable
pg_conf_load_time() timestamptz stable
txid_current() int8 stable
txid_current_if_assigned() int8 stable
pg_client_encoding() name stable
getdatabaseencoding() name stable
pg_encoding_to_char(int4) name stable
pg_char_to_encoding(name) int4 stable
pg_encoding_max_length(int4) int4
inet_server_addr() text stable
inet_server_port() int4 stable
inet_client_addr() text stable
inet_client_port() int4 stable

# Sizes, statistics and properties.
pg_relation_size(regclass) int8 stable
pg_relation_size(regclass,text) int8 stable
pg_table_size(regclass) int8 stable
pg_indexes_size(regclass) int8 stable
pg_total_relation_size(regclass) int8 stable
pg_database_size(name) int8 stable
pg_database_size(oid) int8 stable
pg_tablespace_size(oid) int8 stable
pg_tablespace_size(name) int8 stable
pg_tablespace_location(oid) text stable
pg_relation_filenode(regclass) oid stable
pg_relation_is_publishable(regclass) bool stable
pg_relation_is_updatable(regclass,bool) int4 stable
pg_column_is_updatable(regclass,int2,bool) bool stable
pg_index_column_has_property(regclass,int4,text) bool stable
pg_indexam_has_property(oid,text) bool stable
pg_index_has_property(regclass,text) bool stable
[pg_stat_get_live_tuples pg_stat_get_dead_tuples pg_stat_get_numscans pg_stat_get_tuples_returned pg_stat_get_tuples_fetched pg_stat_get_tuples_inserted pg_stat_get_tuples_updated pg_stat_get_tuples_deleted] @(oid) int8 stable
`

// catalogTableFuncs are the set-returning ones.
const catalogTableFuncs = `
pg_partition_ancestors(regclass) regclass stable
pg_partition_tree(regclass) (relid regclass, parentrelid regclass, isleaf bool, level int4) stable
pg_options_to_table(text[]) (option_name text, option_value text) stable
pg_get_keywords() (word text, catcode char, barelabel bool, catdesc text, baredesc text) stable
pg_available_extensions() (name name, default_version text, comment text) stable
pg_listening_channels() text stable
pg_show_all_settings() (name text, setting text) stable
pg_timezone_names() (name text, abbrev text, utc_offset interval, is_dst bool) stable
pg_timezone_abbrevs() (abbrev text, utc_offset interval, is_dst bool) stable
_pg_expandarray(int2[]) (x int2, n int4)
aclexplode(aclitem[]) (grantor oid, grantee oid, privilege_type text, is_grantable bool) stable
`

// pureFuncs depend on nothing but their arguments; they are here because names are taken apart here.
const pureFuncs = `
parse_ident(text) text[] fail
parse_ident(text,bool) text[] fail
`
