package syscat

// infoRelations are information_schema.
func infoRelations() []relation {
	return []relation{
		{schema: infoSchema, name: "information_schema_catalog_name", view: true, cols: `
			catalog_name name`, rows: infoCatalogRows},
		{schema: infoSchema, name: "schemata", view: true, cols: `
			catalog_name name, schema_name name, schema_owner name, default_character_set_catalog name,
			default_character_set_schema name, default_character_set_name name, sql_path varchar`, rows: infoSchemataRows},
		{schema: infoSchema, name: "tables", view: true, cols: `
			table_catalog name, table_schema name, table_name name, table_type varchar,
			self_referencing_column_name name, reference_generation varchar, user_defined_type_catalog name,
			user_defined_type_schema name, user_defined_type_name name, is_insertable_into varchar,
			is_typed varchar, commit_action varchar`, rows: infoTablesRows},
		{schema: infoSchema, name: "columns", view: true, cols: `
			table_catalog name, table_schema name, table_name name, column_name name, ordinal_position int4,
			column_default varchar, is_nullable varchar, data_type varchar, character_maximum_length int4,
			character_octet_length int4, numeric_precision int4, numeric_precision_radix int4,
			numeric_scale int4, datetime_precision int4, interval_type varchar, interval_precision int4,
			character_set_catalog name, character_set_schema name, character_set_name name,
			collation_catalog name, collation_schema name, collation_name name, domain_catalog name,
			domain_schema name, domain_name name, udt_catalog name, udt_schema name, udt_name name,
			scope_catalog name, scope_schema name, scope_name name, maximum_cardinality int4,
			dtd_identifier name, is_self_referencing varchar, is_identity varchar, identity_generation varchar,
			identity_start varchar, identity_increment varchar, identity_maximum varchar,
			identity_minimum varchar, identity_cycle varchar, is_generated varchar,
			generation_expression varchar, is_updatable varchar`, rows: infoColumnsRows},
		{schema: infoSchema, name: "views", view: true, cols: `
			table_catalog name, table_schema name, table_name name, view_definition varchar,
			check_option varchar, is_updatable varchar, is_insertable_into varchar,
			is_trigger_updatable varchar, is_trigger_deletable varchar, is_trigger_insertable_into varchar`, rows: infoViewsRows},
		{schema: infoSchema, name: "table_constraints", view: true, cols: `
			constraint_catalog name, constraint_schema name, constraint_name name, table_catalog name,
			table_schema name, table_name name, constraint_type varchar, is_deferrable varchar,
			initially_deferred varchar, enforced varchar, nulls_distinct varchar`, rows: infoTableConstraintsRows},
		{schema: infoSchema, name: "key_column_usage", view: true, cols: `
			constraint_catalog name, constraint_schema name, constraint_name name, table_catalog name,
			table_schema name, table_name name, column_name name, ordinal_position int4,
			position_in_unique_constraint int4`, rows: infoKeyColumnRows},
		{schema: infoSchema, name: "referential_constraints", view: true, cols: `
			constraint_catalog name, constraint_schema name, constraint_name name, unique_constraint_catalog name,
			unique_constraint_schema name, unique_constraint_name name, match_option varchar, update_rule varchar,
			delete_rule varchar`, rows: infoReferentialRows},
		{schema: infoSchema, name: "constraint_column_usage", view: true, cols: `
			table_catalog name, table_schema name, table_name name, column_name name, constraint_catalog name,
			constraint_schema name, constraint_name name`, rows: infoConstraintColumnRows},
		{schema: infoSchema, name: "constraint_table_usage", view: true, cols: `
			table_catalog name, table_schema name, table_name name, constraint_catalog name,
			constraint_schema name, constraint_name name`, rows: infoConstraintTableRows},
		{schema: infoSchema, name: "check_constraints", view: true, cols: `
			constraint_catalog name, constraint_schema name, constraint_name name, check_clause varchar`, rows: infoCheckRows},
		{schema: infoSchema, name: "sequences", view: true, cols: `
			sequence_catalog name, sequence_schema name, sequence_name name, data_type varchar,
			numeric_precision int4, numeric_precision_radix int4, numeric_scale int4, start_value varchar,
			minimum_value varchar, maximum_value varchar, increment varchar, cycle_option varchar`, rows: infoSequencesRows},
		{schema: infoSchema, name: "table_privileges", view: true, cols: `
			grantor name, grantee name, table_catalog name, table_schema name, table_name name,
			privilege_type varchar, is_grantable varchar, with_hierarchy varchar`, rows: infoTablePrivilegesRows},
		{schema: infoSchema, name: "role_table_grants", view: true, cols: `
			grantor name, grantee name, table_catalog name, table_schema name, table_name name,
			privilege_type varchar, is_grantable varchar, with_hierarchy varchar`, rows: infoTablePrivilegesRows},
		{schema: infoSchema, name: "enabled_roles", view: true, cols: `
			role_name name`, rows: infoEnabledRolesRows},
		{schema: infoSchema, name: "view_table_usage", view: true, cols: `
			view_catalog name, view_schema name, view_name name, table_catalog name, table_schema name,
			table_name name`, rows: infoViewTableRows},
		{schema: infoSchema, name: "parameters", view: true, cols: `
			specific_catalog name, specific_schema name, specific_name name, ordinal_position int4, parameter_mode varchar,
			is_result varchar, as_locator varchar, parameter_name name, data_type varchar, character_maximum_length int4,
			character_octet_length int4, character_set_catalog name, character_set_schema name, character_set_name name,
			collation_catalog name, collation_schema name, collation_name name, numeric_precision int4,
			numeric_precision_radix int4, numeric_scale int4, datetime_precision int4, interval_type varchar,
			interval_precision int4, udt_catalog name, udt_schema name, udt_name name, scope_catalog name,
			scope_schema name, scope_name name, maximum_cardinality int4, dtd_identifier name, parameter_default varchar`, rows: infoParameterRows},
		{schema: infoSchema, name: "routines", view: true, cols: `
			specific_catalog name, specific_schema name, specific_name name, routine_catalog name, routine_schema name,
			routine_name name, routine_type varchar, module_catalog name, module_schema name, module_name name,
			udt_catalog name, udt_schema name, udt_name name, data_type varchar, character_maximum_length int4,
			character_octet_length int4, character_set_catalog name, character_set_schema name, character_set_name name,
			collation_catalog name, collation_schema name, collation_name name, numeric_precision int4,
			numeric_precision_radix int4, numeric_scale int4, datetime_precision int4, interval_type varchar,
			interval_precision int4, type_udt_catalog name, type_udt_schema name, type_udt_name name, scope_catalog name,
			scope_schema name, scope_name name, maximum_cardinality int4, dtd_identifier name, routine_body varchar,
			routine_definition varchar, external_name varchar, external_language varchar, parameter_style varchar,
			is_deterministic varchar, sql_data_access varchar, is_null_call varchar, sql_path varchar,
			schema_level_routine varchar, max_dynamic_result_sets int4, is_user_defined_cast varchar,
			is_implicitly_invocable varchar, security_type varchar, to_sql_specific_catalog name,
			to_sql_specific_schema name, to_sql_specific_name name, as_locator varchar, created timestamptz,
			last_altered timestamptz, new_savepoint_level varchar, is_udt_dependent varchar,
			result_cast_from_data_type varchar, result_cast_as_locator varchar, result_cast_char_max_length int4,
			result_cast_char_octet_length int4, result_cast_char_set_catalog name, result_cast_char_set_schema name,
			result_cast_char_set_name name, result_cast_collation_catalog name, result_cast_collation_schema name,
			result_cast_collation_name name, result_cast_numeric_precision int4, result_cast_numeric_precision_radix int4,
			result_cast_numeric_scale int4, result_cast_datetime_precision int4, result_cast_interval_type varchar,
			result_cast_interval_precision int4, result_cast_type_udt_catalog name, result_cast_type_udt_schema name,
			result_cast_type_udt_name name, result_cast_scope_catalog name, result_cast_scope_schema name,
			result_cast_scope_name name, result_cast_maximum_cardinality int4, result_cast_dtd_identifier name`, rows: infoRoutineRows},
	}
}
