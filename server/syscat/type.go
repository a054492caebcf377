package syscat

// typeRelations describe types, functions, operators and casts.
func typeRelations() []relation {
	return []relation{
		{schema: pgCatalog, name: "pg_type", oid: 1247, cols: `
			oid oid!, typname name!, typnamespace oid!, typowner oid!, typlen int2!, typbyval bool!,
			typtype char!, typcategory char!, typispreferred bool!, typisdefined bool!, typdelim char!,
			typrelid oid!, typsubscript regproc!, typelem oid!, typarray oid!, typinput regproc!,
			typoutput regproc!, typreceive regproc!, typsend regproc!, typmodin regproc!, typmodout regproc!,
			typanalyze regproc!, typalign char!, typstorage char!, typnotnull bool!, typbasetype oid!,
			typtypmod int4!, typndims int4!, typcollation oid!, typdefaultbin pg_node_tree, typdefault text,
			typacl aclitem[]`, rows: typeRows},
		{schema: pgCatalog, name: "pg_range", oid: 3541, cols: `
			rngtypid oid!, rngsubtype oid!, rngmultitypid oid!, rngcollation oid!, rngsubopc oid!,
			rngcanonical regproc!, rngsubdiff regproc!`},
		{schema: pgCatalog, name: "pg_enum", oid: 3501, cols: `
			oid oid!, enumtypid oid!, enumsortorder float4!, enumlabel name!`, rows: enumRows},
		{schema: pgCatalog, name: "pg_cast", oid: 2605, cols: `
			oid oid!, castsource oid!, casttarget oid!, castfunc oid!, castcontext char!, castmethod char!`, rows: castRows},
		{schema: pgCatalog, name: "pg_collation", oid: 3456, cols: `
			oid oid!, collname name!, collnamespace oid!, collowner oid!, collprovider char!,
			collisdeterministic bool!, collencoding int4!, collcollate text, collctype text, colliculocale text,
			collversion text`, rows: collationRows},
		{schema: pgCatalog, name: "pg_operator", oid: 2617, cols: `
			oid oid!, oprname name!, oprnamespace oid!, oprowner oid!, oprkind char!, oprcanmerge bool!,
			oprcanhash bool!, oprleft oid!, oprright oid!, oprresult oid!, oprcom oid!, oprnegate oid!,
			oprcode regproc!, oprrest regproc!, oprjoin regproc!`, rows: operatorRows},
		{schema: pgCatalog, name: "pg_proc", oid: 1255, cols: `
			oid oid!, proname name!, pronamespace oid!, proowner oid!, prolang oid!, procost float4!,
			prorows float4!, provariadic oid!, prosupport regproc!, prokind char!, prosecdef bool!,
			proleakproof bool!, proisstrict bool!, proretset bool!, provolatile char!, proparallel char!,
			pronargs int2!, pronargdefaults int2!, prorettype oid!, proargtypes oidvector!, proallargtypes oid[],
			proargmodes char[], proargnames text[], proargdefaults pg_node_tree, protrftypes oid[], prosrc text!,
			probin text, prosqlbody pg_node_tree, proconfig text[], proacl aclitem[]`, rows: procRows},
		{schema: pgCatalog, name: "pg_aggregate", oid: 2600, cols: `
			aggfnoid regproc!, aggkind char!, aggnumdirectargs int2!, aggtransfn regproc!, aggfinalfn regproc!,
			aggcombinefn regproc!, aggserialfn regproc!, aggdeserialfn regproc!, aggmtransfn regproc!,
			aggminvtransfn regproc!, aggmfinalfn regproc!, aggfinalextra bool!, aggmfinalextra bool!,
			aggfinalmodify char!, aggmfinalmodify char!, aggsortop oid!, aggtranstype oid!, aggtransspace int4!,
			aggmtranstype oid!, aggmtransspace int4!, agginitval text, aggminitval text`, rows: aggregateRows},
		{schema: pgCatalog, name: "pg_language", oid: 2612, cols: `
			oid oid!, lanname name!, lanowner oid!, lanispl bool!, lanpltrusted bool!, lanplcallfoid oid!,
			laninline oid!, lanvalidator oid!, lanacl aclitem[]`, rows: languageRows},
		{schema: pgCatalog, name: "pg_opclass", oid: 2616, cols: `
			oid oid!, opcmethod oid!, opcname name!, opcnamespace oid!, opcowner oid!, opcfamily oid!,
			opcintype oid!, opcdefault bool!, opckeytype oid!`, rows: opclassRows},
		{schema: pgCatalog, name: "pg_opfamily", oid: 2753, cols: `
			oid oid!, opfmethod oid!, opfname name!, opfnamespace oid!, opfowner oid!`, rows: opfamilyRows},
		{schema: pgCatalog, name: "pg_amop", oid: 2602, cols: `
			oid oid!, amopfamily oid!, amoplefttype oid!, amoprighttype oid!, amopstrategy int2!,
			amoppurpose char!, amopopr oid!, amopmethod oid!, amopsortfamily oid!`},
		{schema: pgCatalog, name: "pg_amproc", oid: 2603, cols: `
			oid oid!, amprocfamily oid!, amproclefttype oid!, amprocrighttype oid!, amprocnum int2!,
			amproc regproc!`},
	}
}
