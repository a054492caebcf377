package syscat

// classRelations describe relations, their columns and constraints.
func classRelations() []relation {
	return []relation{
		{schema: pgCatalog, name: "pg_namespace", oid: 2615, cols: `
			oid oid!, nspname name!, nspowner oid!, nspacl aclitem[]`, rows: namespaceRows},
		{schema: pgCatalog, name: "pg_class", oid: 1259, cols: `
			oid oid!, relname name!, relnamespace oid!, reltype oid!, reloftype oid!, relowner oid!, relam oid!,
			relfilenode oid!, reltablespace oid!, relpages int4!, reltuples float4!, relallvisible int4!,
			reltoastrelid oid!, relhasindex bool!, relisshared bool!, relpersistence char!, relkind char!,
			relnatts int2!, relchecks int2!, relhasrules bool!, relhastriggers bool!, relhassubclass bool!,
			relrowsecurity bool!, relforcerowsecurity bool!, relispopulated bool!, relreplident char!,
			relispartition bool!, relrewrite oid!, relfrozenxid xid!, relminmxid xid!, relacl aclitem[],
			reloptions text[], relpartbound pg_node_tree`, rows: classRows},
		{schema: pgCatalog, name: "pg_attribute", oid: 1249, cols: `
			attrelid oid!, attname name!, atttypid oid!, attstattarget int4!, attlen int2!, attnum int2!,
			attndims int4!, attcacheoff int4!, atttypmod int4!, attbyval bool!, attalign char!,
			attstorage char!, attcompression char!, attnotnull bool!, atthasdef bool!, atthasmissing bool!,
			attidentity char!, attgenerated char!, attisdropped bool!, attislocal bool!, attinhcount int4!,
			attcollation oid!, attacl aclitem[], attoptions text[], attfdwoptions text[], attmissingval anyarray`, rows: attributeRows},
		{schema: pgCatalog, name: "pg_attrdef", oid: 2604, cols: `
			oid oid!, adrelid oid!, adnum int2!, adbin pg_node_tree!`, rows: attrdefRows},
		{schema: pgCatalog, name: "pg_index", oid: 2610, cols: `
			indexrelid oid!, indrelid oid!, indnatts int2!, indnkeyatts int2!, indisunique bool!,
			indnullsnotdistinct bool!, indisprimary bool!, indisexclusion bool!, indimmediate bool!,
			indisclustered bool!, indisvalid bool!, indcheckxmin bool!, indisready bool!, indislive bool!,
			indisreplident bool!, indkey int2vector!, indcollation oidvector!, indclass oidvector!, indoption int2vector!,
			indexprs pg_node_tree, indpred pg_node_tree`, rows: indexRows},
		{schema: pgCatalog, name: "pg_constraint", oid: 2606, cols: `
			oid oid!, conname name!, connamespace oid!, contype char!, condeferrable bool!, condeferred bool!,
			convalidated bool!, conrelid oid!, contypid oid!, conindid oid!, conparentid oid!, confrelid oid!,
			confupdtype char!, confdeltype char!, confmatchtype char!, conislocal bool!, coninhcount int4!,
			connoinherit bool!, conkey int2[], confkey int2[], conpfeqop oid[], conppeqop oid[],
			conffeqop oid[], confdelsetcols int2[], conexclop oid[], conbin pg_node_tree`, rows: constraintRows},
		{schema: pgCatalog, name: "pg_sequence", oid: 2224, cols: `
			seqrelid oid!, seqtypid oid!, seqstart int8!, seqincrement int8!, seqmax int8!, seqmin int8!,
			seqcache int8!, seqcycle bool!`, rows: sequenceRows},
		{schema: pgCatalog, name: "pg_description", oid: 2609, cols: `
			objoid oid!, classoid oid!, objsubid int4!, description text!`, rows: descriptionRows},
		{schema: pgCatalog, name: "pg_depend", oid: 2608, cols: `
			classid oid!, objid oid!, objsubid int4!, refclassid oid!, refobjid oid!, refobjsubid int4!,
			deptype char!`, rows: dependRows},
		{schema: pgCatalog, name: "pg_inherits", oid: 2611, cols: `
			inhrelid oid!, inhparent oid!, inhseqno int4!, inhdetachpending bool!`},
		{schema: pgCatalog, name: "pg_am", oid: 2601, cols: `
			oid oid!, amname name!, amhandler regproc!, amtype char!`, rows: amRows},
		{schema: pgCatalog, name: "pg_rewrite", oid: 2618, cols: `
			oid oid!, rulename name!, ev_class oid!, ev_type char!, ev_enabled char!, is_instead bool!,
			ev_qual pg_node_tree!, ev_action pg_node_tree!`, rows: rewriteRows},
	}
}
