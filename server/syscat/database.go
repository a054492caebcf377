package syscat

// databaseRelations describe what belongs to no schema: roles, databases, settings, sessions.
func databaseRelations() []relation {
	return []relation{
		{schema: pgCatalog, name: "pg_authid", oid: 1260, cols: `
			oid oid!, rolname name!, rolsuper bool!, rolinherit bool!, rolcreaterole bool!, rolcreatedb bool!,
			rolcanlogin bool!, rolreplication bool!, rolbypassrls bool!, rolconnlimit int4!, rolpassword text,
			rolvaliduntil timestamptz`, rows: authidRows},
		{schema: pgCatalog, name: "pg_roles", view: true, cols: `
			rolname name, rolsuper bool, rolinherit bool, rolcreaterole bool, rolcreatedb bool,
			rolcanlogin bool, rolreplication bool, rolconnlimit int4, rolpassword text,
			rolvaliduntil timestamptz, rolbypassrls bool, rolconfig text[], oid oid`, rows: rolesRows},
		{schema: pgCatalog, name: "pg_user", view: true, cols: `
			usename name, usesysid oid, usecreatedb bool, usesuper bool, userepl bool, usebypassrls bool,
			passwd text, valuntil timestamptz, useconfig text[]`, rows: userRows},
		{schema: pgCatalog, name: "pg_shadow", view: true, cols: `
			usename name, usesysid oid, usecreatedb bool, usesuper bool, userepl bool, usebypassrls bool,
			passwd text, valuntil timestamptz, useconfig text[]`, rows: shadowRows},
		{schema: pgCatalog, name: "pg_group", view: true, cols: `
			groname name, grosysid oid, grolist oid[]`, rows: groupRows},
		{schema: pgCatalog, name: "pg_auth_members", oid: 1261, cols: `
			roleid oid!, member oid!, grantor oid!, admin_option bool!`, rows: authMembersRows},
		{schema: pgCatalog, name: "pg_database", oid: 1262, cols: `
			oid oid!, datname name!, datdba oid!, encoding int4!, datlocprovider char!, datistemplate bool!,
			datallowconn bool!, datconnlimit int4!, datfrozenxid xid!, datminmxid xid!, dattablespace oid!,
			datcollate text!, datctype text!, daticulocale text, datcollversion text, datacl aclitem[]`, rows: databaseRows},
		{schema: pgCatalog, name: "pg_tablespace", oid: 1213, cols: `
			oid oid!, spcname name!, spcowner oid!, spcacl aclitem[], spcoptions text[]`, rows: tablespaceRows},
		{schema: pgCatalog, name: "pg_settings", view: true, cols: `
			name text, setting text, unit text, category text, short_desc text, extra_desc text, context text,
			vartype text, source text, min_val text, max_val text, enumvals text[], boot_val text,
			reset_val text, sourcefile text, sourceline int4, pending_restart bool`, rows: settingRows},
		{schema: pgCatalog, name: "pg_extension", oid: 3079, cols: `
			oid oid!, extname name!, extowner oid!, extnamespace oid!, extrelocatable bool!, extversion text!,
			extconfig oid[], extcondition text[]`},
		{schema: pgCatalog, name: "pg_stat_activity", view: true, cols: `
			datid oid, datname name, pid int4, leader_pid int4, usesysid oid, usename name,
			application_name text, client_addr inet, client_hostname text, client_port int4,
			backend_start timestamptz, xact_start timestamptz, query_start timestamptz,
			state_change timestamptz, wait_event_type text, wait_event text, state text, backend_xid xid,
			backend_xmin xid, query_id int8, query text, backend_type text`, rows: activityRows},
		{schema: pgCatalog, name: "pg_shdescription", oid: 2396, cols: `
			objoid oid!, classoid oid!, description text!`},
		{schema: pgCatalog, name: "pg_db_role_setting", oid: 2964, cols: `
			setdatabase oid!, setrole oid!, setconfig text[]`, rows: settingsOfRows},
	}
}
