select 1
---
select * from orders where id=$1
---
select id from orders where status = any($1::text[]) and created_at > $2
---
insert into customers(id,name) values ($1,$2)
---
select 1; select 2
---
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
---
COMMIT;
---
BEGIN;
---
SAVEPOINT __asyncpg_savepoint_5__;
---
RELEASE SAVEPOINT __asyncpg_savepoint_5__;
---
select * from orders order by id
---
select * from orders
---
MOVE FORWARD 10 __asyncpg_portal_9__
---
SELECT "id", "name" FROM "customers" LIMIT 1
---
COPY "customers"("id", "name") FROM STDIN (FORMAT binary)
---
COPY "customers"("id", "name") FROM STDIN (FORMAT 'csv')
---
select id,name from customers where id > $1
---
SELECT quote_literal($1::"pg_catalog"."int4"::text)
---
COPY (select id,name from customers where id > '3000') TO STDOUT (FORMAT 'csv')
---
COPY "customers"("id") TO STDOUT
---
select id, status, $1::mood as m from orders limit 1
---
WITH RECURSIVE typeinfo_tree( oid, ns, name, kind, basetype, elemtype, elemdelim, range_subtype, attrtypoids,
attrnames, depth) AS ( SELECT ti.oid, ti.ns, ti.name, ti.kind, ti.basetype, ti.elemtype, ti.elemdelim,
ti.range_subtype, ti.attrtypoids, ti.attrnames, 0 FROM ( SELECT t.oid AS oid, ns.nspname AS ns,
t.typname AS name, t.typtype AS kind, (CASE WHEN t.typtype = 'd' THEN (WITH RECURSIVE typebases(oid,
depth) AS ( SELECT t2.typbasetype AS oid, 0 AS depth FROM pg_type t2 WHERE t2.oid = t.oid UNION ALL SELECT
t2.typbasetype AS oid, tb.depth + 1 AS depth FROM pg_type t2, typebases tb WHERE tb.oid = t2.oid AND
t2.typbasetype != 0 ) SELECT oid FROM typebases ORDER BY depth DESC LIMIT 1) ELSE NULL END) AS basetype, t.typelem
AS elemtype, elem_t.typdelim AS elemdelim, COALESCE( range_t.rngsubtype, multirange_t.rngsubtype) AS
range_subtype, (CASE WHEN t.typtype = 'c' THEN (SELECT array_agg(ia.atttypid ORDER BY ia.attnum) FROM
pg_attribute ia INNER JOIN pg_class c ON (ia.attrelid = c.oid) WHERE ia.attnum > 0 AND NOT ia.attisdropped
AND c.reltype = t.oid) ELSE NULL END) AS attrtypoids, (CASE WHEN t.typtype = 'c' THEN (SELECT array_agg(ia.attname::text
ORDER BY ia.attnum) FROM pg_attribute ia INNER JOIN pg_class c ON (ia.attrelid = c.oid) WHERE ia.attnum
> 0 AND NOT ia.attisdropped AND c.reltype = t.oid) ELSE NULL END) AS attrnames FROM pg_catalog.pg_type
AS t INNER JOIN pg_catalog.pg_namespace ns ON ( ns.oid = t.typnamespace) LEFT JOIN pg_type elem_t ON ( t.typlen
= -1 AND t.typelem != 0 AND t.typelem = elem_t.oid ) LEFT JOIN pg_range range_t ON ( t.oid = range_t.rngtypid
) LEFT JOIN pg_range multirange_t ON ( t.oid = multirange_t.rngmultitypid ) ) AS ti WHERE ti.oid = any($1::oid[])
UNION ALL SELECT ti.oid, ti.ns, ti.name, ti.kind, ti.basetype, ti.elemtype, ti.elemdelim,
ti.range_subtype, ti.attrtypoids, ti.attrnames, tt.depth + 1 FROM ( SELECT t.oid AS oid, ns.nspname
AS ns, t.typname AS name, t.typtype AS kind, (CASE WHEN t.typtype = 'd' THEN (WITH RECURSIVE typebases(oid,
depth) AS ( SELECT t2.typbasetype AS oid, 0 AS depth FROM pg_type t2 WHERE t2.oid = t.oid UNION ALL SELECT
t2.typbasetype AS oid, tb.depth + 1 AS depth FROM pg_type t2, typebases tb WHERE tb.oid = t2.oid AND
t2.typbasetype != 0 ) SELECT oid FROM typebases ORDER BY depth DESC LIMIT 1) ELSE NULL END) AS basetype, t.typelem
AS elemtype, elem_t.typdelim AS elemdelim, COALESCE( range_t.rngsubtype, multirange_t.rngsubtype) AS
range_subtype, (CASE WHEN t.typtype = 'c' THEN (SELECT array_agg(ia.atttypid ORDER BY ia.attnum) FROM
pg_attribute ia INNER JOIN pg_class c ON (ia.attrelid = c.oid) WHERE ia.attnum > 0 AND NOT ia.attisdropped
AND c.reltype = t.oid) ELSE NULL END) AS attrtypoids, (CASE WHEN t.typtype = 'c' THEN (SELECT array_agg(ia.attname::text
ORDER BY ia.attnum) FROM pg_attribute ia INNER JOIN pg_class c ON (ia.attrelid = c.oid) WHERE ia.attnum
> 0 AND NOT ia.attisdropped AND c.reltype = t.oid) ELSE NULL END) AS attrnames FROM pg_catalog.pg_type
AS t INNER JOIN pg_catalog.pg_namespace ns ON ( ns.oid = t.typnamespace) LEFT JOIN pg_type elem_t ON ( t.typlen
= -1 AND t.typelem != 0 AND t.typelem = elem_t.oid ) LEFT JOIN pg_range range_t ON ( t.oid = range_t.rngtypid
) LEFT JOIN pg_range multirange_t ON ( t.oid = multirange_t.rngmultitypid ) ) ti, typeinfo_tree tt WHERE (tt.elemtype
IS NOT NULL AND ti.oid = tt.elemtype) OR (tt.attrtypoids IS NOT NULL AND ti.oid = any(tt.attrtypoids))
OR (tt.range_subtype IS NOT NULL AND ti.oid = tt.range_subtype) OR (tt.basetype IS NOT NULL AND ti.oid
= tt.basetype) ) SELECT DISTINCT *, basetype::regtype::text AS basetype_name, elemtype::regtype::text
AS elemtype_name, range_subtype::regtype::text AS range_subtype_name FROM typeinfo_tree ORDER BY depth DESC
---
EXPLAIN (FORMAT JSON, VERBOSE) select id, status, $1::mood as m from orders limit 1
---
select c from customers c limit 1
---
select array['ok'::mood], int4range(1,3), '{}'::jsonb
---
SELECT t.oid, t.typelem AS elemtype, t.typtype AS kind FROM pg_catalog.pg_type AS t WHERE t.oid = $1
---
select '{}'::jsonb
---
select * from nosuch
---
LISTEN "ch"
---
notify ch, 'x'
---
select pg_sleep(10)
---
SELECT pg_advisory_unlock_all(); CLOSE ALL; UNLISTEN *; RESET ALL;
---
select $1::int
---
show statement_timeout
---
show search_path
---
show work_mem
---
show client_encoding
---
show timezone
---
show datestyle
---
show application_name
---
SET extra_float_digits = 3
---
SET application_name = 'dbeaver'
---
SELECT current_database()
---
SELECT db.oid, db.* FROM pg_catalog.pg_database db WHERE datallowconn AND NOT datistemplate ORDER BY db.datname
---
SELECT db.oid, db.* FROM pg_catalog.pg_database db WHERE datname = current_database()
---
SELECT version()
---
SELECT current_schema(), session_user
---
SHOW search_path
---
SET search_path = public, "$user"
---
SELECT n.oid, n.*, d.description FROM pg_catalog.pg_namespace n LEFT OUTER JOIN pg_catalog.pg_description
d ON d.objoid = n.oid AND d.objsubid = 0 AND d.classoid = 'pg_namespace'::regclass ORDER BY nspname
---
SELECT t.oid, t.*, c.relkind, format_type(nullif(t.typbasetype, 0), t.typtypmod) AS base_type_name,
d.description FROM pg_catalog.pg_type t LEFT OUTER JOIN pg_catalog.pg_type et ON et.oid = t.typelem LEFT
OUTER JOIN pg_catalog.pg_class c ON c.oid = t.typrelid LEFT OUTER JOIN pg_catalog.pg_description d ON t.oid
= d.objoid WHERE t.typname IS NOT NULL AND (c.relkind IS NULL OR c.relkind = 'c') AND (et.typcategory
IS NULL OR et.typcategory <> 'C')
---
SELECT * FROM pg_catalog.pg_settings WHERE name = 'standard_conforming_strings'
---
SELECT * FROM pg_catalog.pg_settings
---
SELECT * FROM pg_catalog.pg_enum
---
SELECT a.oid, a.*, pd.description FROM pg_catalog.pg_roles a LEFT JOIN pg_catalog.pg_shdescription
pd ON a.oid = pd.objoid ORDER BY a.rolname
---
SELECT am.oid, am.* FROM pg_catalog.pg_am am ORDER BY am.oid
---
SELECT c.contoencoding AS encid, pg_catalog.pg_encoding_to_char(c.contoencoding) AS encname FROM pg_catalog.pg_conversion
c GROUP BY 1 ORDER BY 2
---
SELECT c.oid, c.* FROM pg_catalog.pg_collation c ORDER BY c.oid
---
SELECT l.oid, l.* FROM pg_catalog.pg_language l ORDER BY l.oid
---
SELECT l.oid, l.*, p.pronamespace AS handler_schema_id FROM pg_catalog.pg_foreign_data_wrapper l LEFT
OUTER JOIN pg_catalog.pg_proc p ON p.oid = l.fdwhandler ORDER BY l.fdwname
---
SELECT l.oid, l.* FROM pg_catalog.pg_foreign_server l ORDER BY l.srvname
---
SELECT t.oid, t.*, pg_tablespace_location(t.oid) loc FROM pg_catalog.pg_tablespace t ORDER BY t.oid
---
SELECT name, default_version, installed_version, comment FROM pg_catalog.pg_available_extensions ORDER BY
name
---
SELECT pet.*, d.description FROM pg_catalog.pg_event_trigger pet LEFT OUTER JOIN pg_catalog.pg_description
d ON pet."oid" = d.objoid
---
SELECT description FROM pg_shdescription JOIN pg_database ON objoid = pg_database.oid WHERE datname = current_database()
---
SELECT db.datname, pg_database_size(db.oid) FROM pg_catalog.pg_database db
---
SELECT c.oid, c.*, d.description, pg_catalog.pg_get_expr(c.relpartbound, c.oid) AS partition_expr,
pg_catalog.pg_get_partkeydef(c.oid) AS partition_key FROM pg_catalog.pg_class c LEFT OUTER JOIN pg_catalog.pg_description
d ON d.objoid = c.oid AND d.objsubid = 0 AND d.classoid = 'pg_class'::regclass WHERE c.relnamespace
= 2200 AND c.relkind NOT IN ('i', 'I', 'c')
---
SELECT c.relname, a.*, pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) AS def_value, dsc.description,
dep.objid FROM pg_catalog.pg_attribute a INNER JOIN pg_catalog.pg_class c ON a.attrelid = c.oid LEFT
OUTER JOIN pg_catalog.pg_attrdef ad ON a.attrelid = ad.adrelid AND a.attnum = ad.adnum LEFT OUTER JOIN
pg_catalog.pg_description dsc ON c.oid = dsc.objoid AND a.attnum = dsc.objsubid LEFT OUTER JOIN pg_depend
dep ON dep.refobjid = a.attrelid AND dep.deptype = 'i' AND dep.refobjsubid = a.attnum AND dep.classid
= dep.refclassid WHERE NOT a.attisdropped AND c.relkind NOT IN ('i', 'I', 'c') AND c.oid = 'orders'::regclass
ORDER BY a.attnum
---
SELECT c.oid, c.*, t.relname AS tabrelname, rt.relnamespace AS refnamespace, d.description, CASE
WHEN c.contype = 'c' THEN "substring"(pg_get_constraintdef(c.oid), 7) ELSE NULL END consrc_copy FROM
pg_catalog.pg_constraint c INNER JOIN pg_catalog.pg_class t ON t.oid = c.conrelid LEFT OUTER JOIN pg_catalog.pg_class
rt ON rt.oid = c.confrelid LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid
= 0 AND d.classoid = 'pg_constraint'::regclass WHERE t.relnamespace = 2200 ORDER BY c.oid
---
SELECT i.*, i.indkey AS keys, c.relname, c.relnamespace, c.relam, c.reltablespace, tc.relname
AS tabrelname, dsc.description, pg_catalog.pg_get_expr(i.indpred, i.indrelid) AS pred_expr, pg_catalog.pg_get_expr(i.indexprs,
i.indrelid, true) AS expr, pg_catalog.pg_relation_size(i.indexrelid) AS index_rel_size, pg_catalog.pg_stat_get_numscans(i.indexrelid)
AS index_num_scans FROM pg_catalog.pg_index i INNER JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
INNER JOIN pg_catalog.pg_class tc ON tc.oid = i.indrelid LEFT OUTER JOIN pg_catalog.pg_description dsc
ON i.indexrelid = dsc.objoid WHERE i.indrelid = 'orders'::regclass ORDER BY c.relname
---
SELECT pg_catalog.pg_get_indexdef('orders_pkey'::regclass)
---
SELECT p.oid AS poid, p.*, pg_catalog.pg_get_expr(p.proargdefaults, 0) AS arg_defaults, d.description
FROM pg_catalog.pg_proc p LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = p.oid WHERE p.pronamespace
= 2200 ORDER BY p.proname
---
SELECT pg_get_functiondef('add_tax'::regproc)
---
SELECT pg_get_viewdef('order_summary'::regclass, true)
---
SELECT x.oid, x.*, p.pronamespace AS func_schema_id, d.description FROM pg_catalog.pg_trigger x LEFT
OUTER JOIN pg_catalog.pg_proc p ON p.oid = x.tgfoid LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid
= x.oid AND d.objsubid = 0 WHERE x.tgrelid = 'orders'::regclass
---
SELECT r.oid, r.*, pg_get_ruledef(r.oid) AS definition FROM pg_rewrite r WHERE r.ev_class = 'orders'::regclass
AND r.rulename <> '_RETURN'::name
---
SELECT i.*, c.relnamespace FROM pg_catalog.pg_inherits i, pg_catalog.pg_class c WHERE i.inhparent =
'orders'::regclass AND c.oid = i.inhrelid
---
SELECT c.oid, pg_catalog.pg_total_relation_size(c.oid) AS total_rel_size, pg_catalog.pg_relation_size(c.oid)
AS rel_size FROM pg_class c WHERE c.relnamespace = 2200
---
SELECT * FROM pg_catalog.pg_sequences WHERE schemaname = 'public' AND sequencename = 'order_no_seq'
---
SELECT * FROM public.order_no_seq
---
SELECT * FROM pg_catalog.pg_policies WHERE schemaname = 'public' AND tablename = 'orders'
---
SELECT DISTINCT connamespace FROM pg_catalog.pg_constraint WHERE confrelid = 'orders'::regclass
---
SELECT p.oid AS proc_oid, p.proname AS proc_name, a.* FROM pg_catalog.pg_aggregate a, pg_catalog.pg_proc
p WHERE p.oid = a.aggfnoid AND p.pronamespace = 2200 ORDER BY p.proname
---
SELECT e.oid, cfg.tbls, e.* FROM pg_catalog.pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
LEFT JOIN (SELECT array_agg(ns.nspname || '.' || cls.relname) tbls, oid_ext FROM (SELECT unnest(e1.extconfig)
oid, e1.oid oid_ext FROM pg_catalog.pg_extension e1) c JOIN pg_class cls ON cls.oid = c.oid JOIN pg_namespace
ns ON ns.oid = cls.relnamespace GROUP BY oid_ext) cfg ON cfg.oid_ext = e.oid WHERE e.extnamespace =
11 ORDER BY e.oid
---
SELECT * FROM pg_default_acl WHERE defaclnamespace = 2200
---
SELECT * FROM information_schema.table_privileges WHERE table_catalog = current_database() AND grantee = 'app'
---
SELECT sa.* FROM pg_catalog.pg_stat_activity sa
---
SELECT coalesce(db.datname, '') AS datname, coalesce(lock.locktype, '') AS locktype, coalesce(lock.relation::regclass::varchar,
'') AS relation, coalesce(lock.mode, '') AS mode, coalesce(lock.transactionid::varchar, '') AS
tid, lock.page, lock.tuple, lock.pid, lock.granted FROM pg_catalog.pg_locks lock LEFT JOIN pg_catalog.pg_database
db ON db.oid = lock.database
---
SELECT x.oid, x.relname, x.relkind FROM pg_catalog.pg_class x WHERE x.relkind IN ('r', 'v', 'm')
AND x.relname ILIKE '%ord%' ORDER BY relname LIMIT 100
---
SELECT count(*) FROM public.orders
---
SELECT x.* FROM public.orders x
---
EXPLAIN (FORMAT XML) SELECT * FROM public.orders
---
SELECT c.relname, CASE WHEN c.relispartition THEN 'p' WHEN c.relkind IN ('m', 'v') THEN 'v' ELSE 't'
END FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind
IN ('f', 'm', 'p', 'r', 'v') AND n.nspname NOT IN ('pg_catalog', 'pg_toast') AND pg_catalog.pg_table_is_visible(c.oid)
---
SELECT a1.attname, c2.relname, a2.attname FROM pg_constraint con LEFT JOIN pg_class c1 ON con.conrelid
= c1.oid LEFT JOIN pg_class c2 ON con.confrelid = c2.oid LEFT JOIN pg_attribute a1 ON c1.oid = a1.attrelid
AND a1.attnum = con.conkey[1] LEFT JOIN pg_attribute a2 ON c2.oid = a2.attrelid AND a2.attnum = con.confkey[1]
WHERE c1.relname = 'orders' AND con.contype = 'f' AND c1.relnamespace = c2.relnamespace AND pg_catalog.pg_table_is_visible(c1.oid)
---
SELECT c.conname, array( SELECT attname FROM unnest(c.conkey) WITH ORDINALITY cols(colid, arridx)
JOIN pg_attribute AS ca ON cols.colid = ca.attnum WHERE ca.attrelid = c.conrelid ORDER BY cols.arridx
), c.contype, (SELECT fkc.relname || '.' || fka.attname FROM pg_attribute AS fka JOIN pg_class AS fkc
ON fka.attrelid = fkc.oid WHERE fka.attrelid = c.confrelid AND fka.attnum = c.confkey[1]), cl.reloptions
FROM pg_constraint AS c JOIN pg_class AS cl ON c.conrelid = cl.oid WHERE cl.relname = 'orders' AND pg_catalog.pg_table_is_visible(cl.oid)
---
SELECT indexname, array_agg(attname ORDER BY arridx), indisunique, indisprimary, array_agg(ordering ORDER
BY arridx), amname, exprdef, s2.attoptions FROM ( SELECT c2.relname as indexname, idx.*, attr.attname,
am.amname, CASE WHEN idx.indexprs IS NOT NULL THEN pg_get_indexdef(idx.indexrelid) END AS exprdef, CASE
am.amname WHEN 'btree' THEN CASE (option & 1) WHEN 1 THEN 'DESC' ELSE 'ASC' END END as ordering, c2.reloptions
as attoptions FROM ( SELECT * FROM pg_index i, unnest(i.indkey, i.indoption) WITH ORDINALITY koi(key,
option, arridx) ) idx LEFT JOIN pg_class c ON idx.indrelid = c.oid LEFT JOIN pg_class c2 ON idx.indexrelid
= c2.oid LEFT JOIN pg_am am ON c2.relam = am.oid LEFT JOIN pg_attribute attr ON attr.attrelid = c.oid
AND attr.attnum = idx.key WHERE c.relname = 'orders' AND pg_catalog.pg_table_is_visible(c.oid) ) s2
GROUP BY indexname, indisunique, indisprimary, amname, exprdef, attoptions;
---
SELECT a.attname AS column_name, NOT (a.attnotnull OR (t.typtype = 'd' AND t.typnotnull)) AS is_nullable,
pg_get_expr(ad.adbin, ad.adrelid) AS column_default, CASE WHEN collname = 'default' THEN NULL ELSE collname
END AS collation FROM pg_attribute a LEFT JOIN pg_attrdef ad ON a.attrelid = ad.adrelid AND a.attnum = ad.adnum
LEFT JOIN pg_collation co ON a.attcollation = co.oid JOIN pg_type t ON a.atttypid = t.oid JOIN pg_class
c ON a.attrelid = c.oid JOIN pg_namespace n ON c.relnamespace = n.oid WHERE c.relkind IN ('f', 'm',
'p', 'r', 'v') AND c.relname = 'orders' AND n.nspname NOT IN ('pg_catalog', 'pg_toast') AND pg_catalog.pg_table_is_visible(c.oid)
---
SELECT * FROM "orders" LIMIT 1
---
SELECT * FROM "customers" LIMIT 1
---
SELECT * FROM "daily_revenue" LIMIT 1
---
BEGIN
---
CREATE TABLE "django_migrations" ("id" bigserial NOT NULL PRIMARY KEY, "app" varchar(255) NOT NULL, "name"
varchar(255) NOT NULL, "applied" timestamp with time zone NOT NULL)
---
COMMIT
---
CREATE TABLE "django_content_type" ("id" serial NOT NULL PRIMARY KEY, "name" varchar(100) NOT NULL, "app_label"
varchar(100) NOT NULL, "model" varchar(100) NOT NULL)
---
ALTER TABLE "django_content_type" ADD CONSTRAINT "django_content_type_app_label_model_76bd3d3b_uniq" UNIQUE ("app_label",
"model")
---
INSERT INTO "django_migrations" ("app", "name", "applied") VALUES ('contenttypes', '0001_initial', '2026-11-30T04:19:03.329739+00:00'::timestamptz)
RETURNING "django_migrations"."id"
---
ALTER TABLE "django_content_type" ALTER COLUMN "name" DROP NOT NULL
---
ALTER TABLE "django_content_type" DROP COLUMN "name" CASCADE
---
CREATE TABLE "auth_permission" ("id" serial NOT NULL PRIMARY KEY, "name" varchar(50) NOT NULL, "content_type_id"
integer NOT NULL, "codename" varchar(100) NOT NULL)
---
CREATE TABLE "auth_group" ("id" serial NOT NULL PRIMARY KEY, "name" varchar(80) NOT NULL UNIQUE)
---
CREATE TABLE "auth_group_permissions" ("id" bigserial NOT NULL PRIMARY KEY, "group_id" integer NOT NULL, "permission_id"
integer NOT NULL)
---
CREATE TABLE "auth_user" ("id" serial NOT NULL PRIMARY KEY, "password" varchar(128) NOT NULL, "last_login"
timestamp with time zone NOT NULL, "is_superuser" boolean NOT NULL, "username" varchar(30) NOT NULL UNIQUE,
"first_name" varchar(30) NOT NULL, "last_name" varchar(30) NOT NULL, "email" varchar(75) NOT NULL,
"is_staff" boolean NOT NULL, "is_active" boolean NOT NULL, "date_joined" timestamp with time zone NOT NULL)
---
CREATE TABLE "auth_user_groups" ("id" bigserial NOT NULL PRIMARY KEY, "user_id" integer NOT NULL, "group_id"
integer NOT NULL)
---
CREATE TABLE "auth_user_user_permissions" ("id" bigserial NOT NULL PRIMARY KEY, "user_id" integer NOT NULL,
"permission_id" integer NOT NULL)
---
ALTER TABLE "auth_permission" ADD CONSTRAINT "auth_permission_content_type_id_codename_01ab375a_uniq" UNIQUE ("content_type_id",
"codename")
---
ALTER TABLE "auth_permission" ADD CONSTRAINT "auth_permission_content_type_id_2f476e4b_fk_django_co" FOREIGN KEY
("content_type_id") REFERENCES "django_content_type" ("id") DEFERRABLE INITIALLY DEFERRED
---
CREATE INDEX "auth_permission_content_type_id_2f476e4b" ON "auth_permission" ("content_type_id")
---
CREATE INDEX "auth_group_name_a6ea08ec_like" ON "auth_group" ("name" varchar_pattern_ops)
---
ALTER TABLE "auth_group_permissions" ADD CONSTRAINT "auth_group_permissions_group_id_permission_id_0cd325b0_uniq"
UNIQUE ("group_id", "permission_id")
---
ALTER TABLE "auth_group_permissions" ADD CONSTRAINT "auth_group_permissions_group_id_b120cbf9_fk_auth_group_id"
FOREIGN KEY ("group_id") REFERENCES "auth_group" ("id") DEFERRABLE INITIALLY DEFERRED
---
ALTER TABLE "auth_group_permissions" ADD CONSTRAINT "auth_group_permissio_permission_id_84c5c92e_fk_auth_perm"
FOREIGN KEY ("permission_id") REFERENCES "auth_permission" ("id") DEFERRABLE INITIALLY DEFERRED
---
CREATE INDEX "auth_group_permissions_group_id_b120cbf9" ON "auth_group_permissions" ("group_id")
---
CREATE INDEX "auth_group_permissions_permission_id_84c5c92e" ON "auth_group_permissions" ("permission_id")
---
CREATE INDEX "auth_user_username_6821ab7c_like" ON "auth_user" ("username" varchar_pattern_ops)
---
ALTER TABLE "auth_user_groups" ADD CONSTRAINT "auth_user_groups_user_id_group_id_94350c0c_uniq" UNIQUE ("user_id",
"group_id")
---
ALTER TABLE "auth_user_groups" ADD CONSTRAINT "auth_user_groups_user_id_6a12ed8b_fk_auth_user_id" FOREIGN KEY ("user_id")
REFERENCES "auth_user" ("id") DEFERRABLE INITIALLY DEFERRED
---
ALTER TABLE "auth_user_groups" ADD CONSTRAINT "auth_user_groups_group_id_97559544_fk_auth_group_id" FOREIGN KEY
("group_id") REFERENCES "auth_group" ("id") DEFERRABLE INITIALLY DEFERRED
---
CREATE INDEX "auth_user_groups_user_id_6a12ed8b" ON "auth_user_groups" ("user_id")
---
CREATE INDEX "auth_user_groups_group_id_97559544" ON "auth_user_groups" ("group_id")
---
ALTER TABLE "auth_user_user_permissions" ADD CONSTRAINT "auth_user_user_permissions_user_id_permission_id_14a6b632_uniq"
UNIQUE ("user_id", "permission_id")
---
ALTER TABLE "auth_user_user_permissions" ADD CONSTRAINT "auth_user_user_permissions_user_id_a95ead1b_fk_auth_user_id"
FOREIGN KEY ("user_id") REFERENCES "auth_user" ("id") DEFERRABLE INITIALLY DEFERRED
---
ALTER TABLE "auth_user_user_permissions" ADD CONSTRAINT "auth_user_user_permi_permission_id_1fbb5f2c_fk_auth_perm"
FOREIGN KEY ("permission_id") REFERENCES "auth_permission" ("id") DEFERRABLE INITIALLY DEFERRED
---
CREATE INDEX "auth_user_user_permissions_user_id_a95ead1b" ON "auth_user_user_permissions" ("user_id")
---
CREATE INDEX "auth_user_user_permissions_permission_id_1fbb5f2c" ON "auth_user_user_permissions" ("permission_id")
---
ALTER TABLE "auth_permission" ALTER COLUMN "name" TYPE varchar(255)
---
ALTER TABLE "auth_user" ALTER COLUMN "email" TYPE varchar(254)
---
ALTER TABLE "auth_user" ALTER COLUMN "last_login" DROP NOT NULL
---
ALTER TABLE "auth_user" ALTER COLUMN "username" TYPE varchar(150)
---
ALTER TABLE "auth_user" ALTER COLUMN "last_name" TYPE varchar(150)
---
ALTER TABLE "auth_group" ALTER COLUMN "name" TYPE varchar(150)
---
ALTER TABLE "auth_user" ALTER COLUMN "first_name" TYPE varchar(150)
---
CREATE TABLE "django_session" ("session_key" varchar(40) NOT NULL PRIMARY KEY, "session_data" text NOT NULL,
"expire_date" timestamp with time zone NOT NULL)
---
CREATE INDEX "django_session_session_key_c0390e0f_like" ON "django_session" ("session_key" varchar_pattern_ops)
---
CREATE INDEX "django_session_expire_date_a5c62663" ON "django_session" ("expire_date")
---
SELECT "django_migrations"."id", "django_migrations"."app", "django_migrations"."name", "django_migrations"."applied"
FROM "django_migrations"
---
SELECT "django_content_type"."id", "django_content_type"."app_label", "django_content_type"."model" FROM
"django_content_type" WHERE "django_content_type"."app_label" = 'contenttypes'
---
INSERT INTO "django_content_type" ("app_label", "model") VALUES ('contenttypes', 'contenttype') RETURNING
"django_content_type"."id"
---
SELECT "django_content_type"."id", "django_content_type"."app_label", "django_content_type"."model" FROM
"django_content_type" WHERE ("django_content_type"."app_label" = 'contenttypes' AND "django_content_type"."model"
= 'contenttype') LIMIT 21
---
SELECT "auth_permission"."content_type_id", "auth_permission"."codename" FROM "auth_permission" INNER JOIN
"django_content_type" ON ("auth_permission"."content_type_id" = "django_content_type"."id") WHERE "auth_permission"."content_type_id"
IN (1) ORDER BY "django_content_type"."app_label" ASC, "django_content_type"."model" ASC, "auth_permission"."codename"
ASC
---
INSERT INTO "auth_permission" ("name", "content_type_id", "codename") VALUES ('Can add content type', 1,
'add_contenttype'), ('Can change content type', 1, 'change_contenttype'), ('Can delete content type',
1, 'delete_contenttype'), ('Can view content type', 1, 'view_contenttype') RETURNING "auth_permission"."id"
---
INSERT INTO "auth_user" ("password", "last_login", "is_superuser", "username", "first_name", "last_name",
"email", "is_staff", "is_active", "date_joined") VALUES ('pbkdf2_sha256$260000$fiUdoHVGWC1FIBSJMRcFqN$NPd65bKrEhJpJEuvZ4Dlz/l54rhidveoAd981GN7wIs=',
NULL, false, 'a', '', '', 'a@b.c', false, true, '2026-11-30T04:19:03.452170+00:00'::timestamptz) RETURNING
"auth_user"."id"
---
SELECT "auth_user"."id", "auth_user"."password", "auth_user"."last_login", "auth_user"."is_superuser",
"auth_user"."username", "auth_user"."first_name", "auth_user"."last_name", "auth_user"."email", "auth_user"."is_staff",
"auth_user"."is_active", "auth_user"."date_joined" FROM "auth_user" LEFT OUTER JOIN "auth_user_groups" ON
("auth_user"."id" = "auth_user_groups"."user_id") WHERE ("auth_user_groups"."group_id" IS NULL AND UPPER("auth_user"."username"::text)
LIKE UPPER('%A%')) ORDER BY "auth_user"."id" DESC LIMIT 5
---
SELECT "auth_user"."id", "auth_user"."password", "auth_user"."last_login", "auth_user"."is_superuser",
"auth_user"."username", "auth_user"."first_name", "auth_user"."last_name", "auth_user"."email", "auth_user"."is_staff",
"auth_user"."is_active", "auth_user"."date_joined" FROM "auth_user" WHERE "auth_user"."username" = 'a' LIMIT
21 FOR UPDATE
---
UPDATE "auth_user" SET "password" = 'pbkdf2_sha256$260000$fiUdoHVGWC1FIBSJMRcFqN$NPd65bKrEhJpJEuvZ4Dlz/l54rhidveoAd981GN7wIs=',
"last_login" = NULL, "is_superuser" = false, "username" = 'a', "first_name" = 'z', "last_name" = '', "email"
= 'a@b.c', "is_staff" = false, "is_active" = true, "date_joined" = '2026-11-30T04:19:03.452170+00:00'::timestamptz
WHERE "auth_user"."id" = 1
---
SELECT "auth_user"."id", "auth_user"."password", "auth_user"."last_login", "auth_user"."is_superuser",
"auth_user"."username", "auth_user"."first_name", "auth_user"."last_name", "auth_user"."email", "auth_user"."is_staff",
"auth_user"."is_active", "auth_user"."date_joined" FROM "auth_user" WHERE "auth_user"."id" = 1 LIMIT 21
FOR UPDATE
---
SAVEPOINT "s139940871028800_x1"
---
SELECT COUNT(*) AS "__count" FROM "auth_user"
---
RELEASE SAVEPOINT "s139940871028800_x1"
---
DECLARE "_django_curs_139940871028800_sync_1" NO SCROLL CURSOR WITH HOLD FOR SELECT "auth_user"."id", "auth_user"."password",
"auth_user"."last_login", "auth_user"."is_superuser", "auth_user"."username", "auth_user"."first_name",
"auth_user"."last_name", "auth_user"."email", "auth_user"."is_staff", "auth_user"."is_active", "auth_user"."date_joined"
FROM "auth_user"
---
FETCH FORWARD 2 FROM "_django_curs_139940871028800_sync_1"
---
CLOSE "_django_curs_139940871028800_sync_1"
---
SELECT COUNT(*) FROM (SELECT DISTINCT DATE_TRUNC('month', "auth_user"."date_joined" AT TIME ZONE 'America/Chicago')
AS "datefield" FROM "auth_user" WHERE ("auth_user"."date_joined" BETWEEN '2024-01-01T00:00:00-06:00'::timestamptz
AND '2024-12-31T23:59:59.999999-06:00'::timestamptz AND "auth_user"."date_joined" IS NOT NULL)) subquery
---
SELECT s.relname as sequence_name, col.attname FROM pg_class s JOIN pg_namespace sn ON sn.oid = s.relnamespace
JOIN pg_depend d ON d.refobjid = s.oid AND d.refclassid = 'pg_class'::regclass JOIN pg_attrdef ad ON ad.oid
= d.objid AND d.classid = 'pg_attrdef'::regclass JOIN pg_attribute col ON col.attrelid = ad.adrelid AND
col.attnum = ad.adnum JOIN pg_class tbl ON tbl.oid = ad.adrelid WHERE s.relkind = 'S' AND d.deptype
in ('a', 'n') AND pg_catalog.pg_table_is_visible(tbl.oid) AND tbl.relname = 'auth_user'
---
TRUNCATE "auth_user", "auth_permission", "auth_user_groups", "django_session", "auth_group_permissions", "django_content_type",
"auth_group", "auth_user_user_permissions" RESTART IDENTITY;
---
DELETE FROM "django_migrations" WHERE ("django_migrations"."app" = 'auth' AND "django_migrations"."name" =
'0012_alter_user_first_name_max_length')
---
ALTER TABLE "auth_user" ALTER COLUMN "last_login" SET DEFAULT '2026-11-30T04:19:03.594445+00:00'::timestamptz
---
UPDATE "auth_user" SET "last_login" = '2026-11-30T04:19:03.594428+00:00'::timestamptz WHERE "last_login" IS NULL
---
ALTER TABLE "auth_user" ALTER COLUMN "last_login" SET NOT NULL
---
ALTER TABLE "auth_user" ALTER COLUMN "last_login" DROP DEFAULT
---
DROP TABLE "auth_user_groups" CASCADE
---
DROP TABLE "auth_user_user_permissions" CASCADE
---
DROP TABLE "auth_user" CASCADE
---
DROP TABLE "auth_group_permissions" CASCADE
---
DROP TABLE "auth_group" CASCADE
---
DROP TABLE "auth_permission" CASCADE
---
select "id", "customer_id", "amount", "status", "meta", "created_at" from "orders" where "orders"."id" =
$1
---
begin
---
update "orders" set "status" = $1 where "orders"."id" = $2 returning "id", "customer_id", "amount", "status",
"meta", "created_at"
---
savepoint sp1
---
release savepoint sp1
---
commit
---
insert into "orders" ("id", "customer_id", "amount", "status", "meta", "created_at") values ($1, $2,
default, default, $3, $4) on conflict do nothing
---
delete from "orders" where "orders"."id" = $1
---
select b.oid, b.typarray from pg_catalog.pg_type a left join pg_catalog.pg_type b on b.oid = a.typelem
where a.typcategory = 'A' group by b.oid, b.typarray order by b.oid
---
savepoint "s0"
---
SELECT n.nspname AS table_schema, c.relname AS table_name, CASE WHEN c.relkind = 'r' THEN 'table' WHEN
c.relkind = 'v' THEN 'view' WHEN c.relkind = 'm' THEN 'materialized_view' END AS type, c.relrowsecurity
AS rls_enabled FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE
c.relkind IN ('r', 'v', 'm') AND n.nspname = 'public';
---
select s.nspname as table_schema from pg_catalog.pg_namespace s join pg_catalog.pg_user u on u.usesysid
= s.nspowner where nspname not in ('information_schema', 'pg_catalog', 'public') and nspname not like 'pg_toast%'
and nspname not like 'pg_temp_%' order by table_schema;
---
select schemaname, sequencename, start_value, min_value, max_value, increment_by, cycle, cache_size from
pg_sequences as seq WHERE schemaname = 'public';
---
select n.nspname as enum_schema, t.typname as enum_name, e.enumlabel as enum_value, e.enumsortorder
as sort_order from pg_type t join pg_enum e on t.oid = e.enumtypid join pg_catalog.pg_namespace n ON n.oid
= t.typnamespace WHERE n.nspname = 'public' order by enum_schema, enum_name, sort_order;
---
SELECT rolname, rolinherit, rolcreatedb, rolcreaterole FROM pg_roles;
---
SELECT schemaname, tablename, policyname as name, permissive as "as", roles as to, cmd as for, qual as using,
with_check as "withCheck" FROM pg_policies WHERE schemaname = 'public';
---
SELECT a.attrelid::regclass::text AS table_name, a.attname AS column_name, CASE WHEN NOT a.attisdropped
THEN CASE WHEN a.attnotnull THEN 'NO' ELSE 'YES' END ELSE NULL END AS is_nullable, a.attndims AS array_dimensions,
CASE WHEN a.atttypid = ANY ('{int,int8,int2}'::regtype[]) AND EXISTS ( SELECT FROM pg_attrdef ad WHERE
ad.adrelid = a.attrelid AND ad.adnum = a.attnum AND pg_get_expr(ad.adbin, ad.adrelid) = 'nextval('''
|| pg_get_serial_sequence(a.attrelid::regclass::text, a.attname)::regclass || '''::regclass)' ) THEN
CASE a.atttypid WHEN 'int'::regtype THEN 'serial' WHEN 'int8'::regtype THEN 'bigserial' WHEN 'int2'::regtype
THEN 'smallserial' END ELSE format_type(a.atttypid, a.atttypmod) END AS data_type, pg_get_serial_sequence('"public"."customers"',
a.attname)::regclass AS seq_name, c.column_default, c.data_type AS additional_dt, c.udt_name AS enum_name,
c.is_generated, c.generation_expression, c.is_identity, c.identity_generation, c.identity_start,
c.identity_increment, c.identity_maximum, c.identity_minimum, c.identity_cycle, enum_ns.nspname AS
type_schema FROM pg_attribute a JOIN pg_class cls ON cls.oid = a.attrelid JOIN pg_namespace ns ON ns.oid
= cls.relnamespace LEFT JOIN information_schema.columns c ON c.column_name = a.attname AND c.table_schema
= ns.nspname AND c.table_name = cls.relname LEFT JOIN pg_type enum_t ON enum_t.oid = a.atttypid LEFT
JOIN pg_namespace enum_ns ON enum_ns.oid = enum_t.typnamespace WHERE a.attnum > 0 AND NOT a.attisdropped
AND cls.relkind IN ('r', 'v', 'm') AND ns.nspname = 'public' AND cls.relname = 'customers' ORDER BY a.attnum;
---
SELECT c.column_name, c.data_type, constraint_type, constraint_name, constraint_schema FROM information_schema.table_constraints
tc JOIN information_schema.constraint_column_usage AS ccu USING (constraint_schema, constraint_name) JOIN
information_schema.columns AS c ON c.table_schema = tc.constraint_schema AND tc.table_name = c.table_name
AND ccu.column_name = c.column_name WHERE tc.table_name = 'customers' and constraint_schema = 'public';
---
SELECT tc.constraint_name, tc.constraint_type, pg_get_constraintdef(con.oid) AS constraint_definition
FROM information_schema.table_constraints AS tc JOIN pg_constraint AS con ON tc.constraint_name = con.conname
AND con.conrelid = ( SELECT oid FROM pg_class WHERE relname = tc.table_name AND relnamespace = ( SELECT oid
FROM pg_namespace WHERE nspname = tc.constraint_schema ) ) WHERE tc.table_name = 'customers' AND tc.constraint_schema
= 'public' AND tc.constraint_type = 'CHECK' AND con.contype = 'c';
---
SELECT con.contype AS constraint_type, nsp.nspname AS constraint_schema, con.conname AS constraint_name,
rel.relname AS table_name, att.attname AS column_name, fnsp.nspname AS foreign_table_schema, frel.relname
AS foreign_table_name, fatt.attname AS foreign_column_name, CASE con.confupdtype WHEN 'a' THEN 'NO ACTION'
WHEN 'r' THEN 'RESTRICT' WHEN 'n' THEN 'SET NULL' WHEN 'c' THEN 'CASCADE' WHEN 'd' THEN 'SET DEFAULT' END AS update_rule,
CASE con.confdeltype WHEN 'a' THEN 'NO ACTION' WHEN 'r' THEN 'RESTRICT' WHEN 'n' THEN 'SET NULL' WHEN 'c' THEN
'CASCADE' WHEN 'd' THEN 'SET DEFAULT' END AS delete_rule FROM pg_catalog.pg_constraint con JOIN pg_catalog.pg_class
rel ON rel.oid = con.conrelid JOIN pg_catalog.pg_namespace nsp ON nsp.oid = con.connamespace LEFT JOIN
pg_catalog.pg_attribute att ON att.attnum = ANY (con.conkey) AND att.attrelid = con.conrelid LEFT JOIN
pg_catalog.pg_class frel ON frel.oid = con.confrelid LEFT JOIN pg_catalog.pg_namespace fnsp ON fnsp.oid
= frel.relnamespace LEFT JOIN pg_catalog.pg_attribute fatt ON fatt.attnum = ANY (con.confkey) AND fatt.attrelid
= con.confrelid WHERE nsp.nspname = 'public' AND rel.relname = 'customers' AND con.contype IN ('f');
---
SELECT DISTINCT ON (t.relname, ic.relname, k.i) t.relname as table_name, ic.relname AS indexname,
k.i AS index_order, i.indisunique as is_unique, am.amname as method, ic.reloptions as with, coalesce(a.attname,
pg_get_indexdef(i.indexrelid, k.i, false)) AS column_name, CASE WHEN pg_get_expr(i.indexprs, i.indrelid)
IS NOT NULL THEN 1 ELSE 0 END AS is_expression, i.indoption[k.i-1] & 1 = 1 AS descending, i.indoption[k.i-1]
& 2 = 2 AS nulls_first, pg_get_expr( i.indpred, i.indrelid ) as where, opc.opcname FROM pg_class t LEFT
JOIN pg_index i ON t.oid = i.indrelid LEFT JOIN pg_class ic ON ic.oid = i.indexrelid CROSS JOIN LATERAL
(SELECT unnest(i.indkey), generate_subscripts(i.indkey, 1) + 1) AS k(attnum, i) LEFT JOIN pg_attribute
AS a ON i.indrelid = a.attrelid AND k.attnum = a.attnum JOIN pg_namespace c on c.oid = t.relnamespace
LEFT JOIN pg_am AS am ON ic.relam = am.oid JOIN pg_opclass opc ON opc.oid = ANY(i.indclass) WHERE c.nspname
= 'public' AND t.relname = 'customers';
---
SELECT idx.indexrelname AS index_name, idx.relname AS table_name, schemaname, CASE WHEN con.conname IS
NOT NULL THEN 1 ELSE 0 END AS generated_by_constraint FROM pg_stat_user_indexes idx LEFT JOIN pg_constraint con
ON con.conindid = idx.indexrelid WHERE idx.relname = 'customers' and schemaname = 'public' group by index_name,
table_name,schemaname, generated_by_constraint;
---
SELECT c.relname AS view_name, n.nspname AS schema_name, pg_get_viewdef(c.oid, true) AS definition,
ts.spcname AS tablespace_name, c.reloptions AS options, pg_tablespace_location(ts.oid) AS location FROM
pg_class c JOIN pg_namespace n ON c.relnamespace = n.oid LEFT JOIN pg_tablespace ts ON c.reltablespace =
ts.oid WHERE (c.relkind = 'm' OR c.relkind = 'v') AND n.nspname = 'public' AND c.relname = 'order_summary';
---
SELECT count(*) FROM information_schema.tables WHERE table_schema = CURRENT_SCHEMA() AND table_name = $1
AND table_type = $2
---
CREATE TABLE "g_users" ("id" bigserial,"name" varchar(100),"email" text,"age" bigint DEFAULT 18,"created_at"
timestamptz,"updated_at" timestamptz,"deleted_at" timestamptz,PRIMARY KEY ("id"),CONSTRAINT "chk_g_users_age"
CHECK (age > 0))
---
CREATE INDEX IF NOT EXISTS "idx_g_users_deleted_at" ON "g_users" ("deleted_at")
---
CREATE UNIQUE INDEX IF NOT EXISTS "idx_g_users_email" ON "g_users" ("email")
---
CREATE INDEX IF NOT EXISTS "idx_g_users_name" ON "g_users" ("name")
---
CREATE TABLE "g_pets" ("id" bigserial,"g_user_id" bigint,"name" text,"extra" jsonb DEFAULT '{}',PRIMARY
KEY ("id"),CONSTRAINT "fk_g_users_pets" FOREIGN KEY ("g_user_id") REFERENCES "g_users"("id"))
---
SELECT CURRENT_DATABASE()
---
SELECT c.column_name, c.is_nullable = 'YES', c.udt_name, c.character_maximum_length, c.numeric_precision,
c.numeric_precision_radix, c.numeric_scale, c.datetime_precision, 8 * typlen, c.column_default, pd.description,
c.identity_increment FROM information_schema.columns AS c JOIN pg_type AS pgt ON c.udt_name = pgt.typname
LEFT JOIN pg_catalog.pg_description as pd ON pd.objsubid = c.ordinal_position AND pd.objoid = (SELECT
oid FROM pg_catalog.pg_class WHERE relname = c.table_name AND relnamespace = (SELECT oid FROM pg_catalog.pg_namespace
WHERE nspname = c.table_schema)) where table_catalog = $1 AND table_schema = CURRENT_SCHEMA() AND table_name
= $2
---
SELECT * FROM "g_users" LIMIT '1'
---
SELECT constraint_name FROM information_schema.table_constraints tc JOIN information_schema.constraint_column_usage
AS ccu USING (constraint_schema, constraint_catalog, table_name, constraint_name) JOIN information_schema.columns
AS c ON c.table_schema = tc.constraint_schema AND tc.table_name = c.table_name AND ccu.column_name =
c.column_name WHERE constraint_type IN ('PRIMARY KEY', 'UNIQUE') AND c.table_catalog = $1 AND c.table_schema
= CURRENT_SCHEMA() AND c.table_name = $2 AND constraint_type = $3
---
SELECT c.column_name, constraint_name, constraint_type FROM information_schema.table_constraints tc JOIN
information_schema.constraint_column_usage AS ccu USING (constraint_schema, constraint_catalog, table_name,
constraint_name) JOIN information_schema.columns AS c ON c.table_schema = tc.constraint_schema AND tc.table_name
= c.table_name AND ccu.column_name = c.column_name WHERE constraint_type IN ('PRIMARY KEY', 'UNIQUE')
AND c.table_catalog = $1 AND c.table_schema = CURRENT_SCHEMA() AND c.table_name = $2
---
SELECT a.attname as column_name, format_type(a.atttypid, a.atttypmod) AS data_type FROM pg_attribute
a JOIN pg_class b ON a.attrelid = b.oid AND relnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE
nspname = CURRENT_SCHEMA()) WHERE a.attnum > 0 AND NOT a.attisdropped AND b.relname = $1
---
SELECT description FROM pg_catalog.pg_description WHERE objsubid = (SELECT ordinal_position FROM information_schema.columns
WHERE table_schema = CURRENT_SCHEMA() AND table_name = $1 AND column_name = $2) AND objoid = (SELECT oid FROM
pg_catalog.pg_class WHERE relname = $3 AND relnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname
= CURRENT_SCHEMA()))
---
SELECT count(*) FROM INFORMATION_SCHEMA.table_constraints WHERE table_schema = CURRENT_SCHEMA() AND table_name
= $1 AND constraint_name = $2
---
SELECT count(*) FROM pg_indexes WHERE tablename = $1 AND indexname = $2 AND schemaname = CURRENT_SCHEMA()
---
SELECT * FROM "g_pets" LIMIT '1'
---
INSERT INTO "g_users" ("name","email","age","created_at","updated_at","deleted_at") VALUES ($1,$2,$3,$4,$5,$6)
RETURNING "id"
---
INSERT INTO "g_pets" ("g_user_id","name","extra") VALUES ($1,$2,$3) ON CONFLICT ("id") DO UPDATE
SET "g_user_id"="excluded"."g_user_id" RETURNING "id"
---
SELECT * FROM "g_users" WHERE "g_users"."id" = $1 AND "g_users"."deleted_at" IS NULL ORDER BY "g_users"."id"
LIMIT $2
---
SELECT * FROM "g_pets" WHERE "g_pets"."g_user_id" = $1
---
SELECT * FROM "g_users" WHERE (name = $1 AND age > $2) AND "g_users"."deleted_at" IS NULL
---
UPDATE "g_users" SET "age"=$1,"updated_at"=$2 WHERE "g_users"."deleted_at" IS NULL AND "id" = $3
---
INSERT INTO "g_pets" ("g_user_id","name","extra","id") VALUES ($1,$2,$3,$4) ON CONFLICT ("id")
DO UPDATE SET "g_user_id"="excluded"."g_user_id" RETURNING "id"
---
INSERT INTO "g_users" ("name","email","age","created_at","updated_at","deleted_at","id") VALUES ($1,$2,$3,$4,$5,$6,$7)
ON CONFLICT ("id") DO UPDATE SET "name"="excluded"."name" RETURNING "id"
---
SAVEPOINT sp1
---
ROLLBACK TO SAVEPOINT sp1
---
SELECT * FROM "g_users" WHERE "g_users"."id" = $1 AND "g_users"."deleted_at" IS NULL AND "g_users"."id" =
$2 ORDER BY "g_users"."id" LIMIT $3 FOR UPDATE
---
SELECT count(*) FROM "g_users" WHERE "g_users"."deleted_at" IS NULL
---
UPDATE "g_users" SET "deleted_at"=$1 WHERE "g_users"."id" = $2 AND "g_users"."deleted_at" IS NULL
---
SELECT count(*) FROM INFORMATION_SCHEMA.columns WHERE table_schema = CURRENT_SCHEMA() AND table_name = $1
AND column_name = $2
---
SELECT * FROM "orders" LIMIT '1'
---
SELECT ct.relname AS table_name, ci.relname AS index_name, i.indisunique AS non_unique, i.indisprimary
AS primary, a.attname AS column_name FROM pg_index i LEFT JOIN pg_class ct ON ct.oid = i.indrelid LEFT JOIN
pg_class ci ON ci.oid = i.indexrelid LEFT JOIN pg_attribute a ON a.attrelid = ct.oid LEFT JOIN pg_constraint
con ON con.conindid = i.indexrelid WHERE a.attnum = ANY(i.indkey) AND con.oid IS NULL AND ct.relkind
= 'r' AND ct.relname = $1 AND ct.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = CURRENT_SCHEMA())
---
SELECT table_name FROM information_schema.tables WHERE table_schema = CURRENT_SCHEMA() AND table_type = $1
---
DROP TABLE IF EXISTS "g_users" CASCADE
---
DROP TABLE IF EXISTS "g_pets" CASCADE
---
;
---
SELECT current_setting('server_version_num')::int/100 AS version;
---
SELECT extversion FROM pg_extension WHERE extname = 'timescaledb';
---
SELECT schema_name AS "name" FROM information_schema.schemata WHERE schema_name NOT IN ('information_schema',
'pg_catalog', 'pg_toast') ORDER BY schema_name;
---
SELECT CASE WHEN quote_ident(table_schema) IN (SELECT CASE WHEN trim(s[i]) = '"$user"' THEN user ELSE
trim(s[i]) END FROM generate_series(array_lower(string_to_array(current_setting('search_path'),
','), 1), array_upper(string_to_array(current_setting('search_path'), ','), 1)) AS i, string_to_array(current_setting('search_path'),
',') s) THEN quote_ident(table_name) ELSE quote_ident(table_schema) || '.' || quote_ident(table_name)
END AS "table" FROM information_schema.tables WHERE quote_ident(table_schema) NOT IN ('information_schema',
'pg_catalog') ORDER BY 1;
---
SELECT quote_ident(table_name) AS "table" FROM information_schema.tables WHERE quote_ident(table_schema)
= 'public' ORDER BY 1;
---
SELECT quote_ident(column_name) AS "column", data_type AS "type" FROM information_schema.columns WHERE CASE
WHEN array_length(parse_ident('public.orders'), 1) = 2 THEN quote_ident(table_schema) = (parse_ident('public.orders'))[1]
AND quote_ident(table_name) = (parse_ident('public.orders'))[2] ELSE quote_ident(table_name) = 'orders'
END;
---
SELECT created_at AS "time", amount, status AS metric FROM orders WHERE created_at BETWEEN '2024-01-01T00:00:00Z'
AND '2024-01-09T00:00:00.123456789Z' ORDER BY 1 LIMIT 50;
---
SELECT floor(extract(epoch from created_at)/3600)*3600 AS "time", status AS metric, avg(amount)
AS value FROM orders WHERE created_at BETWEEN '2024-01-01T00:00:00Z' AND '2024-01-03T00:00:00Z' GROUP BY 1, 2
ORDER BY 1, 2;
---
SELECT extract(epoch from created_at) AS "time", count(*) FROM orders WHERE extract(epoch from created_at)
>= 1704067200 AND extract(epoch from created_at) <= 1704153600 GROUP BY 1;
---
SELECT DISTINCT status AS "__text", status AS "__value" FROM orders WHERE status ~* '.*' LIMIT 100;
---
SET application_name = 'PostgreSQL JDBC Driver'
---
select string_agg(word, ',') from pg_catalog.pg_get_keywords() where word <> ALL ('{a,abs,absolute,action,ada,add,admin,after,all,allocate,alter,always,and,any,are,array,as,asc,asensitive,assertion,assignment,asymmetric,at,atomic,attribute,attributes,authorization,avg,before,begin,bernoulli,between,bigint,binary,blob,boolean,both,breadth,by,c,call,called,cardinality,cascade,cascaded,case,cast,catalog,catalog_name,ceil,ceiling,chain,char,char_length,character,character_length,character_set_catalog,character_set_name,character_set_schema,characteristics,characters,check,checked,class_origin,clob,close,coalesce,cobol,code_units,collate,collation,collation_catalog,collation_name,collation_schema,collect,column,column_name,command_function,command_function_code,commit,committed,condition,condition_number,connect,connection_name,constraint,constraint_catalog,constraint_name,constraint_schema,constraints,constructors,contains,continue,convert,corr,corresponding,count,covar_pop,covar_samp,create,cross,cube,cume_dist,current,current_collation,current_date,current_default_transform_group,current_path,current_role,current_time,current_timestamp,current_transform_group_for_type,current_user,cursor,cursor_name,cycle,data,date,datetime_interval_code,datetime_interval_precision,day,deallocate,dec,decimal,declare,default,defaults,deferrable,deferred,defined,definer,degree,delete,dense_rank,depth,deref,derived,desc,describe,descriptor,deterministic,diagnostics,disconnect,dispatch,distinct,domain,double,drop,dynamic,dynamic_function,dynamic_function_code,each,element,else,end,end-exec,equals,escape,every,except,exception,exclude,excluding,exec,execute,exists,exp,external,extract,false,fetch,filter,final,first,float,floor,following,for,foreign,fortran,found,free,from,full,function,fusion,g,general,get,global,go,goto,grant,granted,group,grouping,having,hierarchy,hold,hour,identity,immediate,implementation,in,including,increment,indicator,initially,inner,inout,input,insensitive,insert,instance,instantiable,int,integer,intersect,intersection,interval,into,invoker,is,isolation,join,k,key,key_member,key_type,language,large,last,lateral,leading,left,length,level,like,ln,local,localtime,localtimestamp,locator,lower,m,map,match,matched,max,maxvalue,member,merge,message_length,message_octet_length,message_text,method,min,minute,minvalue,mod,modifies,module,month,more,multiset,mumps,name,names,national,natural,nchar,nclob,nesting,new,next,no,none,normalize,normalized,not,"null",nullable,nullif,nulls,number,numeric,object,octet_length,octets,of,old,on,only,open,option,options,or,order,ordering,ordinality,others,out,outer,output,over,overlaps,overlay,overriding,pad,parameter,parameter_mode,parameter_name,parameter_ordinal_position,parameter_specific_catalog,parameter_specific_name,parameter_specific_schema,partial,partition,pascal,path,percent_rank,percentile_cont,percentile_disc,placing,pli,position,power,preceding,precision,prepare,preserve,primary,prior,privileges,procedure,public,range,rank,read,reads,real,recursive,ref,references,referencing,regr_avgx,regr_avgy,regr_count,regr_intercept,regr_r2,regr_slope,regr_sxx,regr_sxy,regr_syy,relative,release,repeatable,restart,result,return,returned_cardinality,returned_length,returned_octet_length,returned_sqlstate,returns,revoke,right,role,rollback,rollup,routine,routine_catalog,routine_name,routine_schema,row,row_count,row_number,rows,savepoint,scale,schema,schema_name,scope_catalog,scope_name,scope_schema,scroll,search,second,section,security,select,self,sensitive,sequence,serializable,server_name,session,session_user,set,sets,similar,simple,size,smallint,some,source,space,specific,specific_name,specifictype,sql,sqlexception,sqlstate,sqlwarning,sqrt,start,state,statement,static,stddev_pop,stddev_samp,structure,style,subclass_origin,submultiset,substring,sum,symmetric,system,system_user,table,table_name,tablesample,temporary,then,ties,time,timestamp,timezone_hour,timezone_minute,to,top_level_count,trailing,transaction,transaction_active,transactions_committed,transactions_rolled_back,transform,transforms,translate,translation,treat,trigger,trigger_catalog,trigger_name,trigger_schema,trim,true,type,uescape,unbounded,uncommitted,under,union,unique,unknown,unnamed,unnest,update,upper,usage,user,user_defined_type_catalog,user_defined_type_code,user_defined_type_name,user_defined_type_schema,using,value,values,var_pop,var_samp,varchar,varying,view,when,whenever,where,width_bucket,window,with,within,without,work,write,year,zone}'::text[])
---
SELECT t.typlen FROM pg_catalog.pg_type t, pg_catalog.pg_namespace n WHERE t.typnamespace=n.oid AND
t.typname='name' AND n.nspname='pg_catalog'
---
SELECT nspname AS TABLE_SCHEM, NULL AS TABLE_CATALOG FROM pg_catalog.pg_namespace WHERE nspname <> 'pg_toast'
AND (nspname !~ '^pg_temp_' OR nspname = (pg_catalog.current_schemas(true))[1]) AND (nspname !~ '^pg_toast_temp_'
OR nspname = replace((pg_catalog.current_schemas(true))[1], 'pg_temp_', 'pg_toast_temp_')) ORDER
BY TABLE_SCHEM
---
SELECT c.oid, a.attnum, a.attname, c.relname, n.nspname, a.attnotnull OR (t.typtype = 'd' AND
t.typnotnull), a.attidentity != '' OR pg_catalog.pg_get_expr(d.adbin, d.adrelid) LIKE '%nextval(%'
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON (c.relnamespace = n.oid) JOIN pg_catalog.pg_attribute
a ON (c.oid = a.attrelid) JOIN pg_catalog.pg_type t ON (a.atttypid = t.oid) LEFT JOIN pg_catalog.pg_attrdef
d ON (d.adrelid = a.attrelid AND d.adnum = a.attnum) JOIN (SELECT 2615 AS oid , 2 AS attnum) vals ON
(c.oid = vals.oid AND a.attnum = vals.attnum)
---
SELECT nspname AS TABLE_SCHEM, NULL AS TABLE_CATALOG FROM pg_catalog.pg_namespace WHERE nspname <> 'pg_toast'
AND (nspname !~ '^pg_temp_' OR nspname = (pg_catalog.current_schemas(true))[1]) AND (nspname !~ '^pg_toast_temp_'
OR nspname = replace((pg_catalog.current_schemas(true))[1], 'pg_temp_', 'pg_toast_temp_')) AND
nspname LIKE 'pub%' ORDER BY TABLE_SCHEM
---
SELECT NULL AS TABLE_CAT, n.nspname AS TABLE_SCHEM, c.relname AS TABLE_NAME, CASE n.nspname ~ '^pg_' OR
n.nspname = 'information_schema' WHEN true THEN CASE WHEN n.nspname = 'pg_catalog' OR n.nspname = 'information_schema'
THEN CASE c.relkind WHEN 'r' THEN 'SYSTEM TABLE' WHEN 'v' THEN 'SYSTEM VIEW' WHEN 'i' THEN 'SYSTEM INDEX' ELSE
NULL END WHEN n.nspname = 'pg_toast' THEN CASE c.relkind WHEN 'r' THEN 'SYSTEM TOAST TABLE' WHEN 'i' THEN 'SYSTEM TOAST INDEX'
ELSE NULL END ELSE CASE c.relkind WHEN 'r' THEN 'TEMPORARY TABLE' WHEN 'p' THEN 'TEMPORARY TABLE' WHEN 'i' THEN
'TEMPORARY INDEX' WHEN 'S' THEN 'TEMPORARY SEQUENCE' WHEN 'v' THEN 'TEMPORARY VIEW' ELSE NULL END END WHEN false
THEN CASE c.relkind WHEN 'r' THEN 'TABLE' WHEN 'p' THEN 'PARTITIONED TABLE' WHEN 'i' THEN 'INDEX' WHEN 'P' then
'PARTITIONED INDEX' WHEN 'S' THEN 'SEQUENCE' WHEN 'v' THEN 'VIEW' WHEN 'c' THEN 'TYPE' WHEN 'f' THEN 'FOREIGN TABLE'
WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE NULL END ELSE NULL END AS TABLE_TYPE, d.description AS REMARKS, '' as
TYPE_CAT, '' as TYPE_SCHEM, '' as TYPE_NAME, '' AS SELF_REFERENCING_COL_NAME, '' AS REF_GENERATION FROM pg_catalog.pg_namespace
n, pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_description d ON (c.oid = d.objoid AND d.objsubid
= 0 and d.classoid = 'pg_class'::regclass) WHERE c.relnamespace = n.oid AND n.nspname LIKE 'public'
AND c.relname LIKE '%' AND (false OR ( c.relkind = 'r' AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
) OR ( c.relkind = 'v' AND n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' ) OR ( c.relkind
= 'm' ) OR ( c.relkind = 'p' AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' ) OR ( c.relkind
= 'f' ) ) ORDER BY TABLE_TYPE,TABLE_SCHEM,TABLE_NAME
---
SELECT c.oid, a.attnum, a.attname, c.relname, n.nspname, a.attnotnull OR (t.typtype = 'd' AND
t.typnotnull), a.attidentity != '' OR pg_catalog.pg_get_expr(d.adbin, d.adrelid) LIKE '%nextval(%'
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON (c.relnamespace = n.oid) JOIN pg_catalog.pg_attribute
a ON (c.oid = a.attrelid) JOIN pg_catalog.pg_type t ON (a.atttypid = t.oid) LEFT JOIN pg_catalog.pg_attrdef
d ON (d.adrelid = a.attrelid AND d.adnum = a.attnum) JOIN (SELECT 1259 AS oid , 2 AS attnum UNION ALL
SELECT 2609, 4) vals ON (c.oid = vals.oid AND a.attnum = vals.attnum)
---
SELECT NULL AS TABLE_CAT, n.nspname AS TABLE_SCHEM, c.relname AS TABLE_NAME, CASE n.nspname ~ '^pg_' OR
n.nspname = 'information_schema' WHEN true THEN CASE WHEN n.nspname = 'pg_catalog' OR n.nspname = 'information_schema'
THEN CASE c.relkind WHEN 'r' THEN 'SYSTEM TABLE' WHEN 'v' THEN 'SYSTEM VIEW' WHEN 'i' THEN 'SYSTEM INDEX' ELSE
NULL END WHEN n.nspname = 'pg_toast' THEN CASE c.relkind WHEN 'r' THEN 'SYSTEM TOAST TABLE' WHEN 'i' THEN 'SYSTEM TOAST INDEX'
ELSE NULL END ELSE CASE c.relkind WHEN 'r' THEN 'TEMPORARY TABLE' WHEN 'p' THEN 'TEMPORARY TABLE' WHEN 'i' THEN
'TEMPORARY INDEX' WHEN 'S' THEN 'TEMPORARY SEQUENCE' WHEN 'v' THEN 'TEMPORARY VIEW' ELSE NULL END END WHEN false
THEN CASE c.relkind WHEN 'r' THEN 'TABLE' WHEN 'p' THEN 'PARTITIONED TABLE' WHEN 'i' THEN 'INDEX' WHEN 'P' then
'PARTITIONED INDEX' WHEN 'S' THEN 'SEQUENCE' WHEN 'v' THEN 'VIEW' WHEN 'c' THEN 'TYPE' WHEN 'f' THEN 'FOREIGN TABLE'
WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE NULL END ELSE NULL END AS TABLE_TYPE, d.description AS REMARKS, '' as
TYPE_CAT, '' as TYPE_SCHEM, '' as TYPE_NAME, '' AS SELF_REFERENCING_COL_NAME, '' AS REF_GENERATION FROM pg_catalog.pg_namespace
n, pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_description d ON (c.oid = d.objoid AND d.objsubid
= 0 and d.classoid = 'pg_class'::regclass) WHERE c.relnamespace = n.oid AND c.relname LIKE '%' ORDER
BY TABLE_TYPE,TABLE_SCHEM,TABLE_NAME
---
SELECT * FROM (SELECT n.nspname,c.relname,a.attname,a.atttypid,a.attnotnull OR (t.typtype
= 'd' AND t.typnotnull) AS attnotnull,a.atttypmod,a.attlen,t.typtypmod,row_number() OVER (PARTITION
BY a.attrelid ORDER BY a.attnum) AS attnum, nullif(a.attidentity, '') as attidentity,nullif(a.attgenerated,
'') as attgenerated,pg_catalog.pg_get_expr(def.adbin, def.adrelid) AS adsrc,dsc.description,t.typbasetype,t.typtype
FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_class c ON (c.relnamespace = n.oid) JOIN pg_catalog.pg_attribute
a ON (a.attrelid=c.oid) JOIN pg_catalog.pg_type t ON (a.atttypid = t.oid) LEFT JOIN pg_catalog.pg_attrdef
def ON (a.attrelid=def.adrelid AND a.attnum = def.adnum) LEFT JOIN pg_catalog.pg_description dsc
ON (c.oid=dsc.objoid AND a.attnum = dsc.objsubid) LEFT JOIN pg_catalog.pg_class dc ON (dc.oid=dsc.classoid
AND dc.relname='pg_class') LEFT JOIN pg_catalog.pg_namespace dn ON (dc.relnamespace=dn.oid AND dn.nspname='pg_catalog')
WHERE c.relkind in ('r','p','v','f','m') and a.attnum > 0 AND NOT a.attisdropped AND n.nspname
LIKE 'public' AND c.relname LIKE '%') c WHERE true AND attname LIKE '%' ORDER BY nspname,c.relname,attnum
---
SELECT typinput='pg_catalog.array_in'::regproc as is_array, typtype, typname, pg_type.oid FROM pg_catalog.pg_type
LEFT JOIN (select ns.oid as nspoid, ns.nspname, r.r from pg_namespace as ns join ( select s.r, (current_schemas(false))[s.r]
as nspname from generate_series(1, array_upper(current_schemas(false), 1)) as s(r) ) as r using (
nspname ) ) as sp ON sp.nspoid = typnamespace WHERE pg_type.oid = $1 ORDER BY sp.r, pg_type.oid DESC
---
SELECT n.nspname = ANY(current_schemas(true)), n.nspname, t.typname FROM pg_catalog.pg_type t JOIN
pg_catalog.pg_namespace n ON t.typnamespace = n.oid WHERE t.oid = $1
---
SELECT result.TABLE_CAT, result.TABLE_SCHEM, result.TABLE_NAME, result.COLUMN_NAME, result.KEY_SEQ,
result.PK_NAME FROM (SELECT NULL AS TABLE_CAT, n.nspname AS TABLE_SCHEM, ct.relname AS TABLE_NAME, a.attname
AS COLUMN_NAME, (information_schema._pg_expandarray(i.indkey)).n AS KEY_SEQ, ci.relname AS PK_NAME,
information_schema._pg_expandarray(i.indkey) AS KEYS, a.attnum AS A_ATTNUM FROM pg_catalog.pg_class
ct JOIN pg_catalog.pg_attribute a ON (ct.oid = a.attrelid) JOIN pg_catalog.pg_namespace n ON (ct.relnamespace
= n.oid) JOIN pg_catalog.pg_index i ON ( a.attrelid = i.indrelid) JOIN pg_catalog.pg_class ci ON (ci.oid
= i.indexrelid) WHERE true AND n.nspname = 'public' AND ct.relname = 'orders' AND i.indisprimary ) result
where result.A_ATTNUM = (result.KEYS).x ORDER BY result.table_name, result.pk_name, result.key_seq
---
SELECT tmp.TABLE_CAT, tmp.TABLE_SCHEM, tmp.TABLE_NAME, tmp.NON_UNIQUE, tmp.INDEX_QUALIFIER, tmp.INDEX_NAME,
tmp.TYPE, tmp.ORDINAL_POSITION, trim(both '"' from pg_catalog.pg_get_indexdef(tmp.CI_OID, tmp.ORDINAL_POSITION,
false)) AS COLUMN_NAME, CASE tmp.AM_NAME WHEN 'btree' THEN CASE tmp.I_INDOPTION[tmp.ORDINAL_POSITION
- 1] & 1::smallint WHEN 1 THEN 'D' ELSE 'A' END ELSE NULL END AS ASC_OR_DESC, tmp.CARDINALITY, tmp.PAGES,
tmp.FILTER_CONDITION FROM (SELECT NULL AS TABLE_CAT, n.nspname AS TABLE_SCHEM, ct.relname AS TABLE_NAME,
NOT i.indisunique AS NON_UNIQUE, NULL AS INDEX_QUALIFIER, ci.relname AS INDEX_NAME, CASE i.indisclustered
WHEN true THEN 1 ELSE CASE am.amname WHEN 'hash' THEN 2 ELSE 3 END END AS TYPE, (information_schema._pg_expandarray(i.indkey)).n
AS ORDINAL_POSITION, ci.reltuples AS CARDINALITY, ci.relpages AS PAGES, pg_catalog.pg_get_expr(i.indpred,
i.indrelid) AS FILTER_CONDITION, ci.oid AS CI_OID, i.indoption AS I_INDOPTION, am.amname AS AM_NAME
FROM pg_catalog.pg_class ct JOIN pg_catalog.pg_namespace n ON (ct.relnamespace = n.oid) JOIN pg_catalog.pg_index
i ON (ct.oid = i.indrelid) JOIN pg_catalog.pg_class ci ON (ci.oid = i.indexrelid) JOIN pg_catalog.pg_am
am ON (ci.relam = am.oid) WHERE true AND n.nspname = 'public' AND ct.relname = 'orders') AS tmp ORDER
BY NON_UNIQUE, TYPE, INDEX_NAME, ORDINAL_POSITION
---
SELECT setting FROM pg_catalog.pg_settings WHERE name='max_index_keys'
---
SELECT NULL::text AS PKTABLE_CAT, pkn.nspname AS PKTABLE_SCHEM, pkc.relname AS PKTABLE_NAME, pka.attname
AS PKCOLUMN_NAME, NULL::text AS FKTABLE_CAT, fkn.nspname AS FKTABLE_SCHEM, fkc.relname AS FKTABLE_NAME,
fka.attname AS FKCOLUMN_NAME, pos.n AS KEY_SEQ, CASE con.confupdtype WHEN 'c' THEN 0 WHEN 'n' THEN 2 WHEN
'd' THEN 4 WHEN 'r' THEN 1 WHEN 'p' THEN 1 WHEN 'a' THEN 3 ELSE NULL END AS UPDATE_RULE, CASE con.confdeltype
WHEN 'c' THEN 0 WHEN 'n' THEN 2 WHEN 'd' THEN 4 WHEN 'r' THEN 1 WHEN 'p' THEN 1 WHEN 'a' THEN 3 ELSE NULL END AS
DELETE_RULE, con.conname AS FK_NAME, pkic.relname AS PK_NAME, CASE WHEN con.condeferrable AND con.condeferred
THEN 5 WHEN con.condeferrable THEN 6 ELSE 7 END AS DEFERRABILITY FROM pg_catalog.pg_namespace pkn, pg_catalog.pg_class
pkc, pg_catalog.pg_attribute pka, pg_catalog.pg_namespace fkn, pg_catalog.pg_class fkc, pg_catalog.pg_attribute
fka, pg_catalog.pg_constraint con, pg_catalog.generate_series(1, 32) pos(n), pg_catalog.pg_class
pkic WHERE pkn.oid = pkc.relnamespace AND pkc.oid = pka.attrelid AND pka.attnum = con.confkey[pos.n]
AND con.confrelid = pkc.oid AND fkn.oid = fkc.relnamespace AND fkc.oid = fka.attrelid AND fka.attnum
= con.conkey[pos.n] AND con.conrelid = fkc.oid AND con.contype = 'f' AND (pkic.relkind = 'i' OR
pkic.relkind = 'I') AND pkic.oid = con.conindid AND fkn.nspname = 'public' AND fkc.relname = 'orders'
ORDER BY pkn.nspname,pkc.relname, con.conname,pos.n
---
SELECT NULL::text AS PKTABLE_CAT, pkn.nspname AS PKTABLE_SCHEM, pkc.relname AS PKTABLE_NAME, pka.attname
AS PKCOLUMN_NAME, NULL::text AS FKTABLE_CAT, fkn.nspname AS FKTABLE_SCHEM, fkc.relname AS FKTABLE_NAME,
fka.attname AS FKCOLUMN_NAME, pos.n AS KEY_SEQ, CASE con.confupdtype WHEN 'c' THEN 0 WHEN 'n' THEN 2 WHEN
'd' THEN 4 WHEN 'r' THEN 1 WHEN 'p' THEN 1 WHEN 'a' THEN 3 ELSE NULL END AS UPDATE_RULE, CASE con.confdeltype
WHEN 'c' THEN 0 WHEN 'n' THEN 2 WHEN 'd' THEN 4 WHEN 'r' THEN 1 WHEN 'p' THEN 1 WHEN 'a' THEN 3 ELSE NULL END AS
DELETE_RULE, con.conname AS FK_NAME, pkic.relname AS PK_NAME, CASE WHEN con.condeferrable AND con.condeferred
THEN 5 WHEN con.condeferrable THEN 6 ELSE 7 END AS DEFERRABILITY FROM pg_catalog.pg_namespace pkn, pg_catalog.pg_class
pkc, pg_catalog.pg_attribute pka, pg_catalog.pg_namespace fkn, pg_catalog.pg_class fkc, pg_catalog.pg_attribute
fka, pg_catalog.pg_constraint con, pg_catalog.generate_series(1, 32) pos(n), pg_catalog.pg_class
pkic WHERE pkn.oid = pkc.relnamespace AND pkc.oid = pka.attrelid AND pka.attnum = con.confkey[pos.n]
AND con.confrelid = pkc.oid AND fkn.oid = fkc.relnamespace AND fkc.oid = fka.attrelid AND fka.attnum
= con.conkey[pos.n] AND con.conrelid = fkc.oid AND con.contype = 'f' AND (pkic.relkind = 'i' OR
pkic.relkind = 'I') AND pkic.oid = con.conindid AND pkn.nspname = 'public' AND pkc.relname = 'customers'
ORDER BY fkn.nspname,fkc.relname,con.conname,pos.n
---
SELECT NULL::text AS PKTABLE_CAT, pkn.nspname AS PKTABLE_SCHEM, pkc.relname AS PKTABLE_NAME, pka.attname
AS PKCOLUMN_NAME, NULL::text AS FKTABLE_CAT, fkn.nspname AS FKTABLE_SCHEM, fkc.relname AS FKTABLE_NAME,
fka.attname AS FKCOLUMN_NAME, pos.n AS KEY_SEQ, CASE con.confupdtype WHEN 'c' THEN 0 WHEN 'n' THEN 2 WHEN
'd' THEN 4 WHEN 'r' THEN 1 WHEN 'p' THEN 1 WHEN 'a' THEN 3 ELSE NULL END AS UPDATE_RULE, CASE con.confdeltype
WHEN 'c' THEN 0 WHEN 'n' THEN 2 WHEN 'd' THEN 4 WHEN 'r' THEN 1 WHEN 'p' THEN 1 WHEN 'a' THEN 3 ELSE NULL END AS
DELETE_RULE, con.conname AS FK_NAME, pkic.relname AS PK_NAME, CASE WHEN con.condeferrable AND con.condeferred
THEN 5 WHEN con.condeferrable THEN 6 ELSE 7 END AS DEFERRABILITY FROM pg_catalog.pg_namespace pkn, pg_catalog.pg_class
pkc, pg_catalog.pg_attribute pka, pg_catalog.pg_namespace fkn, pg_catalog.pg_class fkc, pg_catalog.pg_attribute
fka, pg_catalog.pg_constraint con, pg_catalog.generate_series(1, 32) pos(n), pg_catalog.pg_class
pkic WHERE pkn.oid = pkc.relnamespace AND pkc.oid = pka.attrelid AND pka.attnum = con.confkey[pos.n]
AND con.confrelid = pkc.oid AND fkn.oid = fkc.relnamespace AND fkc.oid = fka.attrelid AND fka.attnum
= con.conkey[pos.n] AND con.conrelid = fkc.oid AND con.contype = 'f' AND (pkic.relkind = 'i' OR
pkic.relkind = 'I') AND pkic.oid = con.conindid AND pkn.nspname = 'public' AND fkn.nspname = 'public'
AND pkc.relname = 'customers' AND fkc.relname = 'orders' ORDER BY fkn.nspname,fkc.relname,con.conname,pos.n
---
SELECT t.typname,t.oid FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON (t.typnamespace
= n.oid) WHERE n.nspname != 'pg_toast' AND (t.typrelid = 0 OR (SELECT c.relkind = 'c' FROM pg_catalog.pg_class
c WHERE c.oid = t.typrelid))
---
SELECT typinput='pg_catalog.array_in'::regproc as is_array, typtype, typname, pg_type.oid FROM pg_catalog.pg_type
LEFT JOIN (select ns.oid as nspoid, ns.nspname, r.r from pg_namespace as ns join ( select s.r, (current_schemas(false))[s.r]
as nspname from generate_series(1, array_upper(current_schemas(false), 1)) as s(r) ) as r using (
nspname ) ) as sp ON sp.nspoid = typnamespace ORDER BY sp.r, pg_type.oid DESC
---
SELECT NULL AS PROCEDURE_CAT, n.nspname AS PROCEDURE_SCHEM, p.proname AS PROCEDURE_NAME, NULL, NULL, NULL,
d.description AS REMARKS, 2 AS PROCEDURE_TYPE, p.proname || '_' || p.oid AS SPECIFIC_NAME FROM pg_catalog.pg_namespace
n, pg_catalog.pg_proc p LEFT JOIN pg_catalog.pg_description d ON (p.oid=d.objoid) LEFT JOIN pg_catalog.pg_class
c ON (d.classoid=c.oid AND c.relname='pg_proc') LEFT JOIN pg_catalog.pg_namespace pn ON (c.relnamespace=pn.oid
AND pn.nspname='pg_catalog') WHERE p.pronamespace=n.oid AND p.prokind='p' AND n.nspname LIKE 'public'
AND p.proname LIKE '%' ORDER BY PROCEDURE_SCHEM, PROCEDURE_NAME, p.oid::text
---
SELECT current_database() AS FUNCTION_CAT, n.nspname AS FUNCTION_SCHEM, p.proname AS FUNCTION_NAME, d.description
AS REMARKS, CASE WHEN (format_type(p.prorettype, null) = 'unknown') THEN 0 WHEN (substring(pg_get_function_result(p.oid)
from 0 for 6) = 'TABLE') OR (substring(pg_get_function_result(p.oid) from 0 for 6) = 'SETOF') THEN
2 ELSE 1 END AS FUNCTION_TYPE, p.proname || '_' || p.oid AS SPECIFIC_NAME FROM pg_catalog.pg_proc p INNER
JOIN pg_catalog.pg_namespace n ON p.pronamespace=n.oid LEFT JOIN pg_catalog.pg_description d ON p.oid=d.objoid
WHERE true AND p.prokind='f' AND n.nspname LIKE 'public' AND p.proname LIKE '%' ORDER BY FUNCTION_SCHEM,
FUNCTION_NAME, p.oid::text
---
SELECT n.nspname,p.proname,p.prorettype,p.proargtypes, t.typtype,t.typrelid, p.proargnames,
p.proargmodes, p.proallargtypes, p.oid FROM pg_catalog.pg_proc p, pg_catalog.pg_namespace n, pg_catalog.pg_type
t WHERE p.pronamespace=n.oid AND p.prorettype=t.oid AND n.nspname LIKE 'public' AND p.proname LIKE
'%' ORDER BY n.nspname, p.proname, p.oid::text
---
SELECT n.nspname,c.relname,r.rolname,c.relacl FROM pg_catalog.pg_namespace n, pg_catalog.pg_class
c, pg_catalog.pg_roles r WHERE c.relnamespace = n.oid AND c.relowner = r.oid AND c.relkind IN ('r','p','v','m','f')
AND n.nspname LIKE 'public' AND c.relname LIKE 'orders' ORDER BY nspname, relname
---
SELECT n.nspname,c.relname,r.rolname,c.relacl, a.attacl, a.attname FROM pg_catalog.pg_namespace
n, pg_catalog.pg_class c, pg_catalog.pg_roles r, pg_catalog.pg_attribute a WHERE c.relnamespace = n.oid
AND c.relowner = r.oid AND c.oid = a.attrelid AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
AND n.nspname = 'public' AND c.relname = 'orders' AND a.attname LIKE '%' ORDER BY attname
---
SELECT a.attname, a.atttypid, atttypmod FROM pg_catalog.pg_class ct JOIN pg_catalog.pg_attribute a ON
(ct.oid = a.attrelid) JOIN pg_catalog.pg_namespace n ON (ct.relnamespace = n.oid) JOIN (SELECT i.indexrelid,
i.indrelid, i.indisprimary, information_schema._pg_expandarray(i.indkey) AS keys FROM pg_catalog.pg_index
i) i ON (a.attnum = (i.keys).x AND a.attrelid = i.indrelid) WHERE true AND n.nspname = 'public'
AND ct.relname = 'orders' AND i.indisprimary ORDER BY a.attnum
---
select null as type_cat, n.nspname as type_schem, t.typname as type_name, null as class_name, CASE WHEN
t.typtype='c' then 2002 else 2001 end as data_type, pg_catalog.obj_description(t.oid, 'pg_type') as
remarks, CASE WHEN t.typtype = 'd' then (select CASE when base_type.oid = 13312 then 2002 when base_type.oid
= 4096 then 1111 when base_type.oid = 4097 then 2003 when base_type.oid = 12290 then 2003 when base_type.oid
= 12291 then 2002 when base_type.oid = 1027 then 2003 when base_type.oid = 1028 then 2003 when base_type.oid
= 13316 then 2003 when base_type.oid = 13317 then 2002 when base_type.oid = 12294 then 2003 when base_type.oid
= 6150 then 2003 when base_type.oid = 12295 then 2002 when base_type.oid = 6151 then 2003 when base_type.oid
= 16392 then 2003 when base_type.oid = 6152 then 2003 when base_type.oid = 16393 then 2002 when base_type.oid
= 13321 then 2003 when base_type.oid = 6153 then 2003 when base_type.oid = 1033 then 1111 when base_type.oid
= 13322 then 2002 when base_type.oid = 12298 then 2003 when base_type.oid = 1034 then 2003 when base_type.oid
= 12299 then 2002 when base_type.oid = 6155 then 2003 when base_type.oid = 6157 then 2003 when base_type.oid
= 13326 then 2003 when base_type.oid = 13327 then 2002 when base_type.oid = 12303 then 2003 when base_type.oid
= 16 then -7 when base_type.oid = 12304 then 2002 when base_type.oid = 1040 then 2003 when base_type.oid
= 17 then -2 when base_type.oid = 1041 then 2003 when base_type.oid = 18 then 1 when base_type.oid = 1042
then 1 when base_type.oid = 16402 then 2003 when base_type.oid = 13330 then 2003 when base_type.oid = 1043
then 12 when base_type.oid = 19 then 12 when base_type.oid = 16403 then 2002 when base_type.oid = 13331 then
2002 when base_type.oid = 20 then -5 when base_type.oid = 12308 then 2003 when base_type.oid = 21 then 5
when base_type.oid = 12309 then 2002 when base_type.oid = 22 then 1111 when base_type.oid = 23 then 4 when
base_type.oid = 13335 then 2003 when base_type.oid = 13336 then 2002 when base_type.oid = 24 then 1111 when
base_type.oid = 25 then 12 when base_type.oid = 12313 then 2003 when base_type.oid = 26 then -5 when base_type.oid
= 12314 then 2002 when base_type.oid = 27 then 1111 when base_type.oid = 13340 then 2003 when base_type.oid
= 28 then 1111 when base_type.oid = 13341 then 2002 when base_type.oid = 29 then 1111 when base_type.oid
= 12318 then 2003 when base_type.oid = 30 then 1111 when base_type.oid = 12319 then 2002 when base_type.oid
= 32 then 1111 when base_type.oid = 13345 then 2003 when base_type.oid = 13346 then 2002 when base_type.oid
= 12323 then 2003 when base_type.oid = 16420 then 2003 when base_type.oid = 12324 then 2002 when base_type.oid
= 16421 then 2002 when base_type.oid = 13349 then 2003 when base_type.oid = 13350 then 2002 when base_type.oid
= 12328 then 2003 when base_type.oid = 16425 then 2003 when base_type.oid = 12329 then 2002 when base_type.oid
= 16426 then 2002 when base_type.oid = 13354 then 2003 when base_type.oid = 13355 then 2002 when base_type.oid
= 3115 then 1111 when base_type.oid = 12333 then 2003 when base_type.oid = 12334 then 2002 when base_type.oid
= 13359 then 2003 when base_type.oid = 13360 then 2002 when base_type.oid = 16433 then 2003 when base_type.oid
= 12337 then 2003 when base_type.oid = 16434 then 2002 when base_type.oid = 12338 then 2002 when base_type.oid
= 13363 then 2003 when base_type.oid = 13364 then 2002 when base_type.oid = 13368 then 2003 when base_type.oid
= 13369 then 2002 when base_type.oid = 1082 then 91 when base_type.oid = 1083 then 92 when base_type.oid
= 13373 then 2003 when base_type.oid = 16446 then 2003 when base_type.oid = 13374 then 2002 when base_type.oid
= 16447 then 2002 when base_type.oid = 16450 then 2003 when base_type.oid = 13378 then 2003 when base_type.oid
= 16451 then 12 when base_type.oid = 13379 then 2002 when base_type.oid = 13383 then 2003 when base_type.oid
= 71 then 2002 when base_type.oid = 13384 then 2002 when base_type.oid = 13387 then 2003 when base_type.oid
= 75 then 2002 when base_type.oid = 13388 then 2002 when base_type.oid = 13392 then 2003 when base_type.oid
= 13393 then 2002 when base_type.oid = 81 then 2002 when base_type.oid = 83 then 2002 when base_type.oid
= 13397 then 2003 when base_type.oid = 13398 then 2002 when base_type.oid = 1114 then 93 when base_type.oid
= 13402 then 2003 when base_type.oid = 1115 then 2003 when base_type.oid = 13403 then 2002 when base_type.oid
= 13407 then 2003 when base_type.oid = 4191 then 1111 when base_type.oid = 13408 then 2002 when base_type.oid
= 4192 then 2003 when base_type.oid = 13412 then 2003 when base_type.oid = 13413 then 2002 when base_type.oid
= 13417 then 2003 when base_type.oid = 13418 then 2002 when base_type.oid = 13422 then 2003 when base_type.oid
= 13423 then 2002 when base_type.oid = 114 then 1111 when base_type.oid = 13426 then 2003 when base_type.oid
= 13427 then 2002 when base_type.oid = 13431 then 2003 when base_type.oid = 13432 then 2002 when base_type.oid
= 13436 then 2003 when base_type.oid = 13437 then 2002 when base_type.oid = 13441 then 2003 when base_type.oid
= 13442 then 2002 when base_type.oid = 13446 then 2003 when base_type.oid = 13447 then 2002 when base_type.oid
= 13451 then 2003 when base_type.oid = 13452 then 2002 when base_type.oid = 142 then 2009 when base_type.oid
= 143 then 2003 when base_type.oid = 13455 then 2003 when base_type.oid = 13456 then 2002 when base_type.oid
= 13460 then 2003 when base_type.oid = 3220 then 1111 when base_type.oid = 13461 then 2002 when base_type.oid
= 3221 then 2003 when base_type.oid = 13464 then 2003 when base_type.oid = 2201 then 2003 when base_type.oid
= 13465 then 2002 when base_type.oid = 2202 then 1111 when base_type.oid = 2203 then 1111 when base_type.oid
= 2204 then 1111 when base_type.oid = 13469 then 2003 when base_type.oid = 2205 then 1111 when base_type.oid
= 1182 then 2003 when base_type.oid = 13470 then 2002 when base_type.oid = 2206 then 1111 when base_type.oid
= 1183 then 2003 when base_type.oid = 2207 then 2003 when base_type.oid = 1184 then 93 when base_type.oid
= 2208 then 2003 when base_type.oid = 1185 then 2003 when base_type.oid = 2209 then 2003 when base_type.oid
= 13474 then 2003 when base_type.oid = 2210 then 2003 when base_type.oid = 1186 then 1111 when base_type.oid
= 13475 then 2002 when base_type.oid = 2211 then 2003 when base_type.oid = 1187 then 2003 when base_type.oid
= 13479 then 2003 when base_type.oid = 13480 then 2002 when base_type.oid = 13484 then 2003 when base_type.oid
= 13485 then 2002 when base_type.oid = 13489 then 2003 when base_type.oid = 13490 then 2002 when base_type.oid
= 13494 then 2003 when base_type.oid = 13495 then 2002 when base_type.oid = 13499 then 2003 when base_type.oid
= 13500 then 2002 when base_type.oid = 13504 then 2003 when base_type.oid = 13505 then 2002 when base_type.oid
= 194 then 1111 when base_type.oid = 13508 then 2003 when base_type.oid = 13509 then 2002 when base_type.oid
= 199 then 2003 when base_type.oid = 13512 then 2003 when base_type.oid = 13513 then 2002 when base_type.oid
= 2249 then 1111 when base_type.oid = 13516 then 2003 when base_type.oid = 13517 then 2002 when base_type.oid
= 1231 then 2003 when base_type.oid = 13520 then 2003 when base_type.oid = 13521 then 2002 when base_type.oid
= 210 then 2003 when base_type.oid = 13525 then 2003 when base_type.oid = 13526 then 2002 when base_type.oid
= 13529 then 2003 when base_type.oid = 13530 then 2002 when base_type.oid = 13533 then 2003 when base_type.oid
= 13534 then 2002 when base_type.oid = 1248 then 2002 when base_type.oid = 13538 then 2003 when base_type.oid
= 13539 then 2002 when base_type.oid = 2275 then 1111 when base_type.oid = 2276 then 1111 when base_type.oid
= 2277 then 1111 when base_type.oid = 13542 then 2003 when base_type.oid = 2278 then 1111 when base_type.oid
= 13543 then 2002 when base_type.oid = 2279 then 1111 when base_type.oid = 2280 then 1111 when base_type.oid
= 2281 then 1111 when base_type.oid = 13546 then 2003 when base_type.oid = 13547 then 2002 when base_type.oid
= 2283 then 1111 when base_type.oid = 3310 then 1111 when base_type.oid = 13551 then 2003 when base_type.oid
= 2287 then 2003 when base_type.oid = 1263 then 2003 when base_type.oid = 13552 then 2002 when base_type.oid
= 1266 then 92 when base_type.oid = 13556 then 2003 when base_type.oid = 13557 then 2002 when base_type.oid
= 1270 then 2003 when base_type.oid = 269 then 1111 when base_type.oid = 270 then 2003 when base_type.oid
= 271 then 2003 when base_type.oid = 272 then 2003 when base_type.oid = 273 then 2003 when base_type.oid
= 3361 then 1111 when base_type.oid = 325 then 1111 when base_type.oid = 3402 then 1111 when base_type.oid
= 4451 then 1111 when base_type.oid = 3500 then 1111 when base_type.oid = 4532 then 1111 when base_type.oid
= 4533 then 1111 when base_type.oid = 4534 then 1111 when base_type.oid = 4535 then 1111 when base_type.oid
= 4536 then 1111 when base_type.oid = 4537 then 1111 when base_type.oid = 4538 then 1111 when base_type.oid
= 4600 then 1111 when base_type.oid = 4601 then 1111 when base_type.oid = 1560 then -7 when base_type.oid
= 1561 then 2003 when base_type.oid = 1562 then 1111 when base_type.oid = 1563 then 2003 when base_type.oid
= 3614 then 1111 when base_type.oid = 3615 then 1111 when base_type.oid = 3642 then 1111 when base_type.oid
= 3643 then 2003 when base_type.oid = 3644 then 2003 when base_type.oid = 3645 then 2003 when base_type.oid
= 600 then 1111 when base_type.oid = 601 then 1111 when base_type.oid = 602 then 1111 when base_type.oid
= 603 then 1111 when base_type.oid = 604 then 1111 when base_type.oid = 628 then 1111 when base_type.oid
= 629 then 2003 when base_type.oid = 650 then 1111 when base_type.oid = 651 then 2003 when base_type.oid
= 3734 then 1111 when base_type.oid = 3735 then 2003 when base_type.oid = 1700 then 2 when base_type.oid
= 3769 then 1111 when base_type.oid = 3770 then 2003 when base_type.oid = 700 then 7 when base_type.oid =
701 then 8 when base_type.oid = 705 then 1111 when base_type.oid = 718 then 1111 when base_type.oid = 719
then 2003 when base_type.oid = 2776 then 1111 when base_type.oid = 3802 then 1111 when base_type.oid = 3807
then 2003 when base_type.oid = 12001 then 2003 when base_type.oid = 12002 then 2002 when base_type.oid =
12006 then 2003 when base_type.oid = 12007 then 2002 when base_type.oid = 12011 then 2003 when base_type.oid
= 12012 then 2002 when base_type.oid = 12015 then 2003 when base_type.oid = 12016 then 2002 when base_type.oid
= 12019 then 2003 when base_type.oid = 12020 then 2002 when base_type.oid = 3831 then 1111 when base_type.oid
= 12024 then 2003 when base_type.oid = 12025 then 2002 when base_type.oid = 12029 then 2003 when base_type.oid
= 1790 then 2012 when base_type.oid = 12030 then 2002 when base_type.oid = 3838 then 1111 when base_type.oid
= 12034 then 2003 when base_type.oid = 12035 then 2002 when base_type.oid = 774 then 1111 when base_type.oid
= 12039 then 2003 when base_type.oid = 775 then 2003 when base_type.oid = 12040 then 2002 when base_type.oid
= 12044 then 2003 when base_type.oid = 12045 then 2002 when base_type.oid = 10000 then 2003 when base_type.oid
= 12049 then 2003 when base_type.oid = 10001 then 2002 when base_type.oid = 12050 then 2002 when base_type.oid
= 10002 then 2003 when base_type.oid = 10003 then 2002 when base_type.oid = 10004 then 2003 when base_type.oid
= 10005 then 2002 when base_type.oid = 790 then 8 when base_type.oid = 12054 then 2003 when base_type.oid
= 10006 then 2003 when base_type.oid = 791 then 2003 when base_type.oid = 12055 then 2002 when base_type.oid
= 10007 then 2002 when base_type.oid = 10008 then 2003 when base_type.oid = 10009 then 2002 when base_type.oid
= 10010 then 2003 when base_type.oid = 2842 then 2002 when base_type.oid = 12059 then 2003 when base_type.oid
= 10011 then 2002 when base_type.oid = 2843 then 2002 when base_type.oid = 12060 then 2002 when base_type.oid
= 10012 then 2003 when base_type.oid = 10013 then 2002 when base_type.oid = 10014 then 2003 when base_type.oid
= 10015 then 2002 when base_type.oid = 12064 then 2003 when base_type.oid = 10016 then 2003 when base_type.oid
= 12065 then 2002 when base_type.oid = 10017 then 2002 when base_type.oid = 10018 then 2003 when base_type.oid
= 10019 then 2002 when base_type.oid = 10020 then 2003 when base_type.oid = 12069 then 2003 when base_type.oid
= 10021 then 2002 when base_type.oid = 12070 then 2002 when base_type.oid = 10022 then 2003 when base_type.oid
= 10023 then 2002 when base_type.oid = 10024 then 2003 when base_type.oid = 10025 then 2002 when base_type.oid
= 12074 then 2003 when base_type.oid = 10026 then 2003 when base_type.oid = 12075 then 2002 when base_type.oid
= 10027 then 2002 when base_type.oid = 10028 then 2003 when base_type.oid = 10029 then 2002 when base_type.oid
= 12078 then 2003 when base_type.oid = 10030 then 2003 when base_type.oid = 12079 then 2002 when base_type.oid
= 10031 then 2002 when base_type.oid = 10032 then 2003 when base_type.oid = 10033 then 2002 when base_type.oid
= 12082 then 2003 when base_type.oid = 10034 then 2003 when base_type.oid = 12083 then 2002 when base_type.oid
= 10035 then 2002 when base_type.oid = 10036 then 2003 when base_type.oid = 10037 then 2002 when base_type.oid
= 12086 then 2003 when base_type.oid = 10038 then 2003 when base_type.oid = 12087 then 2002 when base_type.oid
= 10039 then 2002 when base_type.oid = 10040 then 2003 when base_type.oid = 10041 then 2002 when base_type.oid
= 10042 then 2003 when base_type.oid = 12091 then 2003 when base_type.oid = 10043 then 2002 when base_type.oid
= 12092 then 2002 when base_type.oid = 10044 then 2003 when base_type.oid = 10045 then 2002 when base_type.oid
= 829 then 1111 when base_type.oid = 10046 then 2003 when base_type.oid = 10047 then 2002 when base_type.oid
= 12096 then 2003 when base_type.oid = 10048 then 2003 when base_type.oid = 3904 then 1111 when base_type.oid
= 12097 then 2002 when base_type.oid = 10049 then 2002 when base_type.oid = 3905 then 2003 when base_type.oid
= 10050 then 2003 when base_type.oid = 3906 then 1111 when base_type.oid = 10051 then 2002 when base_type.oid
= 3907 then 2003 when base_type.oid = 12100 then 2003 when base_type.oid = 10052 then 2003 when base_type.oid
= 3908 then 1111 when base_type.oid = 12101 then 2002 when base_type.oid = 10053 then 2003 when base_type.oid
= 3909 then 2003 when base_type.oid = 10054 then 2002 when base_type.oid = 3910 then 1111 when base_type.oid
= 10055 then 2003 when base_type.oid = 3911 then 2003 when base_type.oid = 10056 then 2002 when base_type.oid
= 3912 then 1111 when base_type.oid = 12105 then 2003 when base_type.oid = 10057 then 2003 when base_type.oid
= 3913 then 2003 when base_type.oid = 12106 then 2002 when base_type.oid = 10058 then 2003 when base_type.oid
= 10059 then 2003 when base_type.oid = 10060 then 2002 when base_type.oid = 10061 then 2003 when base_type.oid
= 10062 then 2002 when base_type.oid = 12111 then 2003 when base_type.oid = 10063 then 2003 when base_type.oid
= 12112 then 2002 when base_type.oid = 10064 then 2002 when base_type.oid = 10065 then 2003 when base_type.oid
= 10066 then 2002 when base_type.oid = 12115 then 2003 when base_type.oid = 10067 then 2003 when base_type.oid
= 12116 then 2002 when base_type.oid = 10068 then 2002 when base_type.oid = 10069 then 2003 when base_type.oid
= 10070 then 2002 when base_type.oid = 3926 then 1111 when base_type.oid = 12119 then 2003 when base_type.oid
= 10071 then 2003 when base_type.oid = 3927 then 2003 when base_type.oid = 12120 then 2002 when base_type.oid
= 10072 then 2002 when base_type.oid = 10073 then 2003 when base_type.oid = 10074 then 2002 when base_type.oid
= 12123 then 2003 when base_type.oid = 10075 then 2003 when base_type.oid = 12124 then 2002 when base_type.oid
= 10076 then 2002 when base_type.oid = 10077 then 2003 when base_type.oid = 10078 then 2002 when base_type.oid
= 12127 then 2003 when base_type.oid = 10079 then 2003 when base_type.oid = 12128 then 2002 when base_type.oid
= 10080 then 2002 when base_type.oid = 10081 then 2003 when base_type.oid = 10082 then 2002 when base_type.oid
= 12131 then 2003 when base_type.oid = 10083 then 2003 when base_type.oid = 12132 then 2002 when base_type.oid
= 10084 then 2002 when base_type.oid = 10085 then 2003 when base_type.oid = 869 then 1111 when base_type.oid
= 10086 then 2002 when base_type.oid = 12135 then 2003 when base_type.oid = 10087 then 2003 when base_type.oid
= 12136 then 2002 when base_type.oid = 10088 then 2002 when base_type.oid = 10089 then 2003 when base_type.oid
= 10090 then 2002 when base_type.oid = 12139 then 2003 when base_type.oid = 10091 then 2003 when base_type.oid
= 12140 then 2002 when base_type.oid = 10092 then 2002 when base_type.oid = 10093 then 2003 when base_type.oid
= 10094 then 2003 when base_type.oid = 12143 then 2003 when base_type.oid = 10095 then 2002 when base_type.oid
= 12144 then 2002 when base_type.oid = 10096 then 2003 when base_type.oid = 10097 then 2002 when base_type.oid
= 10098 then 2003 when base_type.oid = 10099 then 2002 when base_type.oid = 12148 then 2003 when base_type.oid
= 10100 then 2003 when base_type.oid = 12149 then 2002 when base_type.oid = 10101 then 2002 when base_type.oid
= 10102 then 2003 when base_type.oid = 10103 then 2002 when base_type.oid = 10104 then 2003 when base_type.oid
= 12153 then 2003 when base_type.oid = 10105 then 2002 when base_type.oid = 12154 then 2002 when base_type.oid
= 10106 then 2003 when base_type.oid = 10107 then 2002 when base_type.oid = 10108 then 2003 when base_type.oid
= 10109 then 2002 when base_type.oid = 12158 then 2003 when base_type.oid = 10110 then 2003 when base_type.oid
= 12159 then 2002 when base_type.oid = 10111 then 2002 when base_type.oid = 10112 then 2003 when base_type.oid
= 10113 then 2003 when base_type.oid = 12162 then 2003 when base_type.oid = 10114 then 2002 when base_type.oid
= 12163 then 2002 when base_type.oid = 2949 then 2003 when base_type.oid = 2950 then 1111 when base_type.oid
= 2951 then 2003 when base_type.oid = 12167 then 2003 when base_type.oid = 12168 then 2002 when base_type.oid
= 12171 then 2003 when base_type.oid = 12172 then 2002 when base_type.oid = 12176 then 2003 when base_type.oid
= 12177 then 2002 when base_type.oid = 12180 then 2003 when base_type.oid = 12181 then 2002 when base_type.oid
= 12184 then 2003 when base_type.oid = 12185 then 2002 when base_type.oid = 5017 then 1111 when base_type.oid
= 2970 then 1111 when base_type.oid = 12189 then 2003 when base_type.oid = 12190 then 2002 when base_type.oid
= 12193 then 2003 when base_type.oid = 12194 then 2002 when base_type.oid = 13220 then 2003 when base_type.oid
= 13221 then 2001 when base_type.oid = 12197 then 2003 when base_type.oid = 12198 then 2002 when base_type.oid
= 13223 then 2003 when base_type.oid = 13224 then 2001 when base_type.oid = 13225 then 2003 when base_type.oid
= 13226 then 2001 when base_type.oid = 12202 then 2003 when base_type.oid = 12203 then 2002 when base_type.oid
= 13228 then 2003 when base_type.oid = 13229 then 2002 when base_type.oid = 12206 then 2003 when base_type.oid
= 5038 then 1111 when base_type.oid = 13231 then 2003 when base_type.oid = 12207 then 2002 when base_type.oid
= 5039 then 2003 when base_type.oid = 13232 then 2001 when base_type.oid = 13233 then 2003 when base_type.oid
= 13234 then 2001 when base_type.oid = 12210 then 2003 when base_type.oid = 12211 then 2002 when base_type.oid
= 13237 then 2003 when base_type.oid = 13238 then 2002 when base_type.oid = 12215 then 2003 when base_type.oid
= 12216 then 2002 when base_type.oid = 13242 then 2003 when base_type.oid = 13243 then 2002 when base_type.oid
= 12219 then 2003 when base_type.oid = 12220 then 2002 when base_type.oid = 13246 then 2003 when base_type.oid
= 13247 then 2002 when base_type.oid = 12223 then 2003 when base_type.oid = 12224 then 2002 when base_type.oid
= 13251 then 2003 when base_type.oid = 13252 then 2002 when base_type.oid = 12228 then 2003 when base_type.oid
= 12229 then 2002 when base_type.oid = 13256 then 2003 when base_type.oid = 13257 then 2002 when base_type.oid
= 12233 then 2003 when base_type.oid = 12234 then 2002 when base_type.oid = 13261 then 2003 when base_type.oid
= 12237 then 2003 when base_type.oid = 5069 then 1111 when base_type.oid = 13262 then 2002 when base_type.oid
= 12238 then 2002 when base_type.oid = 12241 then 2003 when base_type.oid = 13266 then 2003 when base_type.oid
= 12242 then 2002 when base_type.oid = 13267 then 2002 when base_type.oid = 12245 then 2003 when base_type.oid
= 6101 then 2002 when base_type.oid = 5077 then 1111 when base_type.oid = 12246 then 2002 when base_type.oid
= 5078 then 1111 when base_type.oid = 13271 then 2003 when base_type.oid = 5079 then 1111 when base_type.oid
= 13272 then 2002 when base_type.oid = 5080 then 1111 when base_type.oid = 12250 then 2003 when base_type.oid
= 12251 then 2002 when base_type.oid = 13276 then 2003 when base_type.oid = 13277 then 2002 when base_type.oid
= 12254 then 2003 when base_type.oid = 12255 then 2002 when base_type.oid = 13281 then 2003 when base_type.oid
= 13282 then 2002 when base_type.oid = 12258 then 2003 when base_type.oid = 4066 then 2002 when base_type.oid
= 12259 then 2002 when base_type.oid = 13286 then 2003 when base_type.oid = 13287 then 2002 when base_type.oid
= 12263 then 2003 when base_type.oid = 1000 then 2003 when base_type.oid = 12264 then 2002 when base_type.oid
= 4072 then 1111 when base_type.oid = 1001 then 2003 when base_type.oid = 4073 then 2003 when base_type.oid
= 1002 then 2003 when base_type.oid = 1003 then 2003 when base_type.oid = 13291 then 2003 when base_type.oid
= 12267 then 2003 when base_type.oid = 13292 then 2002 when base_type.oid = 12268 then 2002 when base_type.oid
= 1005 then 2003 when base_type.oid = 1006 then 2003 when base_type.oid = 1007 then 2003 when base_type.oid
= 13296 then 2003 when base_type.oid = 12272 then 2003 when base_type.oid = 1008 then 2003 when base_type.oid
= 1009 then 2003 when base_type.oid = 13297 then 2002 when base_type.oid = 12273 then 2002 when base_type.oid
= 1010 then 2003 when base_type.oid = 1011 then 2003 when base_type.oid = 12276 then 2003 when base_type.oid
= 1012 then 2003 when base_type.oid = 13301 then 2003 when base_type.oid = 12277 then 2002 when base_type.oid
= 1013 then 2003 when base_type.oid = 1014 then 2003 when base_type.oid = 13302 then 2002 when base_type.oid
= 1015 then 2003 when base_type.oid = 1016 then 2003 when base_type.oid = 1017 then 2003 when base_type.oid
= 12281 then 2003 when base_type.oid = 4089 then 1111 when base_type.oid = 13306 then 2003 when base_type.oid
= 12282 then 2002 when base_type.oid = 4090 then 2003 when base_type.oid = 1018 then 2003 when base_type.oid
= 13307 then 2002 when base_type.oid = 1019 then 2003 when base_type.oid = 1020 then 2003 when base_type.oid
= 1021 then 2003 when base_type.oid = 1022 then 2003 when base_type.oid = 12286 then 2003 when base_type.oid
= 13311 then 2003 when base_type.oid = 12287 then 2002 else 1111 end from pg_type base_type where base_type.oid=t.typbasetype)
else null end as base_type from pg_catalog.pg_type t, pg_catalog.pg_namespace n where t.typnamespace = n.oid
and n.nspname != 'pg_catalog' and n.nspname != 'pg_toast' and t.typtype IN ('c','d') and t.typname
like '%' and n.nspname like 'public' order by data_type, type_schem, type_name
---
select current_schema()
---
SET SESSION search_path TO 'public'
---
SHOW TRANSACTION ISOLATION LEVEL
---
select * from orders where id = $1 and status <> $2 and created_at > $3
---
SELECT c.oid, a.attnum, a.attname, c.relname, n.nspname, a.attnotnull OR (t.typtype = 'd' AND
t.typnotnull), a.attidentity != '' OR pg_catalog.pg_get_expr(d.adbin, d.adrelid) LIKE '%nextval(%'
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON (c.relnamespace = n.oid) JOIN pg_catalog.pg_attribute
a ON (c.oid = a.attrelid) JOIN pg_catalog.pg_type t ON (a.atttypid = t.oid) LEFT JOIN pg_catalog.pg_attrdef
d ON (d.adrelid = a.attrelid AND d.adnum = a.attnum) JOIN (SELECT 16401 AS oid , 1 AS attnum UNION ALL
SELECT 16401, 2 UNION ALL SELECT 16401, 3 UNION ALL SELECT 16401, 4 UNION ALL SELECT 16401, 5 UNION ALL SELECT
16401, 6 UNION ALL SELECT 16401, 7) vals ON (c.oid = vals.oid AND a.attnum = vals.attnum)
---
select $1::int4, $2::int8, $3::float8, $4::numeric, $5::bool, $6::date, $7::timestamptz, $8::uuid,
$9::bytea, $10::text[], $11::jsonb
---
insert into customers(id,name) values ($1,$2),($3,$4),($5,$6),($7,$8),($9,$10),($11,$12),($13,$14),($15,$16),($17,$18),($19,$20),($21,$22),($23,$24),($25,$26),($27,$28),($29,$30),($31,$32),($33,$34),($35,$36),($37,$38),($39,$40),($41,$42),($43,$44),($45,$46),($47,$48),($49,$50),($51,$52),($53,$54),($55,$56),($57,$58),($59,$60),($61,$62),($63,$64)
---
update customers set name=$1 where id=$2
---
SAVEPOINT "a"
---
ROLLBACK TO SAVEPOINT "a"
---
RELEASE SAVEPOINT "a"
---
ROLLBACK
---
update orders set status='new' where id=-1
---
insert into sales.regions(code,title) values ($1,$2) RETURNING *
---
SELECT c.oid, a.attnum, a.attname, c.relname, n.nspname, a.attnotnull OR (t.typtype = 'd' AND
t.typnotnull), a.attidentity != '' OR pg_catalog.pg_get_expr(d.adbin, d.adrelid) LIKE '%nextval(%'
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON (c.relnamespace = n.oid) JOIN pg_catalog.pg_attribute
a ON (c.oid = a.attrelid) JOIN pg_catalog.pg_type t ON (a.atttypid = t.oid) LEFT JOIN pg_catalog.pg_attrdef
d ON (d.adrelid = a.attrelid AND d.adnum = a.attnum) JOIN (SELECT 16432 AS oid , 1 AS attnum UNION ALL
SELECT 16432, 2 UNION ALL SELECT 16432, 3 UNION ALL SELECT 16432, 4) vals ON (c.oid = vals.oid AND a.attnum
= vals.attnum)
---
select id,name from customers where id=1
---
SELECT result.TABLE_CAT, result.TABLE_SCHEM, result.TABLE_NAME, result.COLUMN_NAME, result.KEY_SEQ,
result.PK_NAME, result.IS_NOT_NULL FROM (SELECT NULL AS TABLE_CAT, n.nspname AS TABLE_SCHEM, ct.relname
AS TABLE_NAME, a.attname AS COLUMN_NAME, (information_schema._pg_expandarray(i.indkey)).n AS KEY_SEQ,
ci.relname AS PK_NAME, information_schema._pg_expandarray(i.indkey) AS KEYS, a.attnum AS A_ATTNUM,
a.attnotnull AS IS_NOT_NULL FROM pg_catalog.pg_class ct JOIN pg_catalog.pg_attribute a ON (ct.oid = a.attrelid)
JOIN pg_catalog.pg_namespace n ON (ct.relnamespace = n.oid) JOIN pg_catalog.pg_index i ON ( a.attrelid
= i.indrelid) JOIN pg_catalog.pg_class ci ON (ci.oid = i.indexrelid) WHERE (i.indisprimary OR ( i.indisunique
AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL )) AND ct.relname = 'customers' ) result
where result.A_ATTNUM = (result.KEYS).x ORDER BY result.table_name, result.pk_name, result.key_seq
---
UPDATE customers SET "name" = $1 WHERE "id" = $2
---
select "id", "name" from customers where "id" = $1
---
select * from add_tax($1,$2, $3) as result
---
select now(), DATE '2024-01-01', TIMESTAMP '2024-01-01 00:00:00', ('a'||'b')
---
copy customers(id,name) from stdin csv
---
copy (select id from customers limit 2) to stdout
---
listen ch
---
select 'ok'::mood, c, int4range(1,2), '1 day'::interval, null::point from customers c limit 1
---
SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE
---
select count(*) from orders where id > ('5'::int4)
---
select count(*) from orders where id > $1
---
show transaction_read_only
---
SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY
---
SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE
---
BEGIN READ ONLY
---
SAVEPOINT PGJDBC_AUTOSAVE
---
select version();
---
set search_path to "public","sales"
---
select 1+1 as r
---
drop table if exists "kt"
---
create table "kt" ("id" serial primary key, "name" varchar(255) not null, "j" jsonb, "e" text check ("e"
in ('a', 'b')), "created_at" timestamptz not null default CURRENT_TIMESTAMP, "updated_at" timestamptz not
null default CURRENT_TIMESTAMP, "d" decimal(10, 2), "arr" text[])
---
create index "kt_name_index" on "kt" ("name")
---
select * from information_schema.tables where table_name = $1 and table_schema = current_schema()
---
select * from information_schema.columns where table_name = $1 and column_name = $2 and table_schema = current_schema()
---
select * from information_schema.columns where table_name = $1 and table_catalog = current_database() and table_schema
= current_schema()
---
insert into "kt" ("j", "name") values ($1, $2), (DEFAULT, $3) returning "id"
---
update "kt" set "name" = $1 where "name" = $2
---
insert into "kt" ("id", "name") values ($1, $2) on conflict ("id") do update set "id" = excluded."id",
"name" = excluded."name"
---
select "orders"."id", "name" from "orders" inner join "customers" on "customers"."id" = "orders"."customer_id"
limit $1 offset $2
---
select count(*) as "n" from "kt" limit $1
---
select * from "kt" for update
---
SAVEPOINT trx3;
---
delete from "kt"
---
RELEASE SAVEPOINT trx3;
---
BEGIN TRANSACTION ISOLATION LEVEL repeatable read;
---
select * from "kt"
---
alter table "kt" add column "extra" varchar(255)
---
alter table "kt" drop column "d"
---
alter table "kt" rename "extra" to "extra2"
---
select "id" from "orders"
---
create table "knex_migrations" ("id" serial primary key, "name" varchar(255), "batch" integer, "migration_time"
timestamptz)
---
create table "knex_migrations_lock" ("index" serial primary key, "is_locked" integer)
---
select * from "knex_migrations_lock"
---
insert into "knex_migrations_lock" ("is_locked") values ($1)
---
select "name" from "knex_migrations" order by "id" asc
---
update "knex_migrations_lock" set "is_locked" = $1 where "is_locked" = $2
---
select max("batch") as "max_batch" from "knex_migrations"
---
create table "km" ("id" serial primary key)
---
insert into "knex_migrations" ("batch", "migration_time", "name") values ($1, $2, $3)
---
update "knex_migrations_lock" set "is_locked" = $1
---
select * from "knex_migrations" where "batch" = (select max("batch") from "knex_migrations") order by "id"
desc
---
drop table "km"
---
delete from "knex_migrations" where "name" = $1
---
drop table "kt"
---
select "nspname" from "pg_catalog"."pg_namespace"
---
select "a"."attname" as "column", "a"."attnotnull" as "not_null", "a"."atthasdef" as "has_default", "c"."relname"
as "table", "c"."relkind" as "table_type", "ns"."nspname" as "schema", "typ"."typname" as "type", "dtns"."nspname"
as "type_schema", col_description(a.attrelid, a.attnum) as "column_description", pg_get_serial_sequence(quote_ident(ns.nspname)
|| '.' || quote_ident(c.relname), a.attname) as "auto_incrementing" from "pg_catalog"."pg_attribute"
as "a" inner join "pg_catalog"."pg_class" as "c" on "a"."attrelid" = "c"."oid" inner join "pg_catalog"."pg_namespace"
as "ns" on "c"."relnamespace" = "ns"."oid" inner join "pg_catalog"."pg_type" as "typ" on "a"."atttypid"
= "typ"."oid" inner join "pg_catalog"."pg_namespace" as "dtns" on "typ"."typnamespace" = "dtns"."oid" where
"c"."relkind" in ($1, $2, $3) and "ns"."nspname" !~ $4 and "ns"."nspname" != $5 and "ns"."nspname"
!= $6 and has_schema_privilege(ns.nspname, 'USAGE') and "a"."attnum" >= $7 and "a"."attisdropped" !=
$8 and "c"."relname" != $9 and "c"."relname" != $10 order by "ns"."nspname", "c"."relname", "a"."attnum"
---
select * from "orders" where "id" = $1
---
insert into "customers" ("id", "name") values ($1, $2) returning *
---
start transaction isolation level repeatable read
---
select "id" from "orders" limit $1
---
select "a"."attname" as "column", "a"."attnotnull" as "not_null", "a"."atthasdef" as "has_default", "c"."relname"
as "table", "c"."relkind" as "table_type", "ns"."nspname" as "schema", "typ"."typname" as "type", "dtns"."nspname"
as "type_schema", col_description(a.attrelid, a.attnum) as "column_description", pg_get_serial_sequence(quote_ident(ns.nspname)
|| '.' || quote_ident(c.relname), a.attname) as "auto_incrementing" from "pg_catalog"."pg_attribute"
as "a" inner join "pg_catalog"."pg_class" as "c" on "a"."attrelid" = "c"."oid" inner join "pg_catalog"."pg_namespace"
as "ns" on "c"."relnamespace" = "ns"."oid" inner join "pg_catalog"."pg_type" as "typ" on "a"."atttypid"
= "typ"."oid" inner join "pg_catalog"."pg_namespace" as "dtns" on "typ"."typnamespace" = "dtns"."oid" where
"c"."relkind" in ($1, $2, $3) and "ns"."nspname" !~ $4 and "ns"."nspname" != $5 and "ns"."nspname"
!= $6 and has_schema_privilege(ns.nspname, 'USAGE') and "a"."attnum" >= $7 and "a"."attisdropped" !=
$8 order by "ns"."nspname", "c"."relname", "a"."attnum"
---
create table if not exists "kysely_migration" ("name" varchar(255) not null primary key, "timestamp" varchar(255)
not null)
---
create table if not exists "kysely_migration_lock" ("id" varchar(255) not null primary key, "is_locked" integer
default 0 not null)
---
select "id" from "kysely_migration_lock" where "id" = $1
---
insert into "kysely_migration_lock" ("id", "is_locked") values ($1, $2)
---
with set_timeout as ( select set_config('lock_timeout', '3600000', true) as config_val ) select pg_advisory_lock(3853314791062309107)
from set_timeout
---
select "name", "timestamp" from "kysely_migration"
---
create table "kym" ("id" serial primary key)
---
insert into "kysely_migration" ("name", "timestamp") values ($1, $2)
---
select pg_advisory_unlock(3853314791062309107)
---
select count(*) from orders
---
select status,tags,created_at from orders where id=$1
---
insert into customers(id,name,active,avatar) values ($1,$2,$3,$4) on conflict (id) do update
set name=excluded.name
---
select id from orders where status=any($1) limit $2
---
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY
---
BEGIN READ WRITE
---
COPY "customers" ("id", "name") FROM STDIN
---
create temp table a1(x int); insert into a1 values (1); select * from a1
---
UNLISTEN *
---
select * from orders limit 1
---
SELECT pg_catalog.set_config('search_path', '', false);
---
RESET search_path;
---
WITH listed_tables (table_oid, column_list) AS ( VALUES ('orders'::pg_catalog.regclass, NULL::pg_catalog.text)
) SELECT c.relname, ns.nspname, listed_tables.column_list FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace
ns ON c.relnamespace OPERATOR(pg_catalog.=) ns.oid LEFT JOIN pg_catalog.pg_class t ON c.reltoastrelid
OPERATOR(pg_catalog.=) t.oid JOIN listed_tables ON listed_tables.table_oid OPERATOR(pg_catalog.=)
c.oid WHERE c.relpersistence OPERATOR(pg_catalog.!=) 't' ORDER BY c.relpages DESC;
---
VACUUM (ANALYZE) public.orders;
---
SELECT c.relname, ns.nspname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace ns ON c.relnamespace
OPERATOR(pg_catalog.=) ns.oid LEFT JOIN pg_catalog.pg_class t ON c.reltoastrelid OPERATOR(pg_catalog.=)
t.oid WHERE c.relpersistence OPERATOR(pg_catalog.!=) 't' AND c.relkind OPERATOR(pg_catalog.=) ANY
(array['r', 'm']) ORDER BY c.relpages DESC;
---
ANALYZE pg_catalog.pg_proc;
---
ANALYZE pg_catalog.pg_attribute;
---
ANALYZE pg_catalog.pg_description;
---
ANALYZE pg_catalog.pg_statistic;
---
ANALYZE pg_catalog.pg_type;
---
ANALYZE pg_catalog.pg_collation;
---
ANALYZE pg_catalog.pg_operator;
---
ANALYZE pg_catalog.pg_rewrite;
---
ANALYZE pg_catalog.pg_depend;
---
ANALYZE pg_catalog.pg_class;
---
ANALYZE public.orders;
---
ANALYZE information_schema.sql_features;
---
ANALYZE pg_catalog.pg_amop;
---
ANALYZE pg_catalog.pg_amproc;
---
ANALYZE pg_catalog.pg_index;
---
ANALYZE pg_catalog.pg_constraint;
---
ANALYZE pg_catalog.pg_init_privs;
---
ANALYZE pg_catalog.pg_opclass;
---
ANALYZE pg_catalog.pg_ts_config_map;
---
ANALYZE pg_catalog.pg_aggregate;
---
ANALYZE pg_catalog.pg_cast;
---
ANALYZE pg_catalog.pg_opfamily;
---
ANALYZE pg_catalog.pg_conversion;
---
ANALYZE pg_catalog.pg_auth_members;
---
ANALYZE pg_catalog.pg_shdescription;
---
ANALYZE pg_catalog.pg_ts_config;
---
ANALYZE pg_catalog.pg_ts_dict;
---
ANALYZE pg_catalog.pg_ts_parser;
---
ANALYZE pg_catalog.pg_ts_template;
---
ANALYZE pg_catalog.pg_extension;
---
ANALYZE pg_catalog.pg_authid;
---
ANALYZE pg_catalog.pg_am;
---
ANALYZE pg_catalog.pg_range;
---
ANALYZE pg_catalog.pg_language;
---
ANALYZE public.daily_revenue;
---
ANALYZE information_schema.sql_implementation_info;
---
ANALYZE information_schema.sql_parts;
---
ANALYZE information_schema.sql_sizing;
---
ANALYZE pg_catalog.pg_namespace;
---
ANALYZE pg_catalog.pg_database;
---
ANALYZE pg_catalog.pg_tablespace;
---
ANALYZE pg_catalog.pg_sequence;
---
ANALYZE sales.regions;
---
ANALYZE pg_catalog.pg_foreign_table;
---
ANALYZE pg_catalog.pg_statistic_ext_data;
---
ANALYZE pg_catalog.pg_user_mapping;
---
ANALYZE pg_catalog.pg_subscription;
---
ANALYZE pg_catalog.pg_attrdef;
---
ANALYZE pg_catalog.pg_inherits;
---
ANALYZE pg_catalog.pg_largeobject_metadata;
---
ANALYZE pg_catalog.pg_statistic_ext;
---
ANALYZE pg_catalog.pg_trigger;
---
ANALYZE pg_catalog.pg_event_trigger;
---
ANALYZE pg_catalog.pg_enum;
---
ANALYZE pg_catalog.pg_db_role_setting;
---
ANALYZE pg_catalog.pg_shdepend;
---
ANALYZE pg_catalog.pg_foreign_data_wrapper;
---
ANALYZE pg_catalog.pg_foreign_server;
---
ANALYZE pg_catalog.pg_policy;
---
ANALYZE pg_catalog.pg_replication_origin;
---
ANALYZE pg_catalog.pg_default_acl;
---
ANALYZE pg_catalog.pg_seclabel;
---
ANALYZE pg_catalog.pg_shseclabel;
---
ANALYZE pg_catalog.pg_parameter_acl;
---
ANALYZE pg_catalog.pg_partitioned_table;
---
ANALYZE pg_catalog.pg_transform;
---
ANALYZE public.customers;
---
ANALYZE pg_catalog.pg_publication;
---
ANALYZE pg_catalog.pg_publication_namespace;
---
ANALYZE pg_catalog.pg_publication_rel;
---
ANALYZE pg_catalog.pg_subscription_rel;
---
ANALYZE pg_catalog.pg_largeobject;
---
SELECT c.relname, ns.nspname FROM pg_catalog.pg_class c, pg_catalog.pg_namespace ns WHERE c.relnamespace
OPERATOR(pg_catalog.=) ns.oid AND c.oid OPERATOR(pg_catalog.=) 'orders'::pg_catalog.regclass;
---
REINDEX TABLE public.orders;
---
CREATE DATABASE compat_tmpdb;
---
DROP DATABASE compat_tmpdb;
---
SELECT oid, rolname, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolconnlimit, rolpassword,
rolvaliduntil, rolreplication, rolbypassrls, pg_catalog.shobj_description(oid, 'pg_authid') as rolcomment,
rolname = current_user AS is_current_user FROM pg_roles WHERE rolname !~ '^pg_' ORDER BY 2
---
SELECT provider, label FROM pg_catalog.pg_shseclabel WHERE classoid = 'pg_catalog.pg_authid'::pg_catalog.regclass
AND objoid = '16388'
---
SELECT unnest(setconfig) FROM pg_db_role_setting WHERE setdatabase = 0 AND setrole = (SELECT oid FROM pg_roles
WHERE rolname = 'app')
---
SELECT ur.rolname AS role, um.rolname AS member, a.admin_option, ug.rolname AS grantor, a.roleid
AS roleid, a.member AS memberid FROM pg_auth_members a LEFT JOIN pg_roles ur on ur.oid = a.roleid LEFT JOIN
pg_roles um on um.oid = a.member LEFT JOIN pg_roles ug on ug.oid = a.grantor WHERE NOT (ur.rolname ~
'^pg_' AND um.rolname ~ '^pg_')ORDER BY 1,2,3
---
SELECT parname, pg_catalog.pg_get_userbyid(10) AS parowner, paracl, pg_catalog.acldefault('p', 10)
AS acldefault FROM pg_catalog.pg_parameter_acl ORDER BY 1
---
SELECT oid, spcname, pg_catalog.pg_get_userbyid(spcowner) AS spcowner, pg_catalog.pg_tablespace_location(oid),
spcacl, acldefault('t', spcowner) AS acldefault, array_to_string(spcoptions, ', '),pg_catalog.shobj_description(oid,
'pg_tablespace') FROM pg_catalog.pg_tablespace WHERE spcname !~ '^pg_' ORDER BY 1
---
SET application_name = 'metabase'
---
SELECT 1
---
SHOW timezone
---
SET SESSION TIMEZONE TO 'UTC'
---
SELECT nspname, typname FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE t.oid IN (SELECT
DISTINCT enumtypid FROM pg_enum e)
---
SELECT n.nspname AS schema, c.relname AS name, CASE c.relkind WHEN 'r' THEN 'TABLE' WHEN 'p' THEN 'PARTITIONED TABLE'
WHEN 'v' THEN 'VIEW' WHEN 'f' THEN 'FOREIGN TABLE' WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE NULL END AS type, d.description,
stat.n_live_tup AS estimated_row_count FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON c.relnamespace
= n.oid LEFT JOIN pg_catalog.pg_description d ON c.oid = d.objoid AND d.objsubid = 0 AND d.classoid
= 'pg_class'::regclass LEFT JOIN pg_stat_user_tables stat ON n.nspname = stat.schemaname AND c.relname
= stat.relname WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' AND c.relkind IN ('r',
'p', 'v', 'f', 'm') AND n.nspname IN ('public', 'sales') ORDER BY type, schema, name
---
SELECT c.column_name AS name, CASE WHEN c.udt_schema IN ('public', 'pg_catalog') THEN format('%s', c.udt_name)
ELSE format('"%s"."%s"', c.udt_schema, c.udt_name) END AS "database-type", c.ordinal_position - 1 AS
"database-position", c.table_schema AS "table-schema", c.table_name AS "table-name", pk.column_name IS
NOT NULL AS "pk?", col_description(CAST(CAST(format('%I.%I', CAST(c.table_schema AS text), CAST(c.table_name
AS text)) AS regclass) AS oid), c.ordinal_position) AS "field-comment", ((column_default IS NULL) OR
(lower(column_default) = 'null')) AND (is_nullable = 'NO') AND NOT (((column_default IS NOT NULL) AND
(column_default LIKE '%nextval(%')) OR (is_identity <> 'NO')) AS "database-required" FROM information_schema.columns
c LEFT JOIN (SELECT tc.table_schema, tc.table_name, kc.column_name FROM information_schema.table_constraints
tc JOIN information_schema.key_column_usage kc ON tc.constraint_name = kc.constraint_name AND tc.table_schema
= kc.table_schema AND tc.table_name = kc.table_name WHERE tc.constraint_type = 'PRIMARY KEY') pk ON c.table_schema
= pk.table_schema AND c.table_name = pk.table_name AND c.column_name = pk.column_name WHERE c.table_schema
!~ '^information_schema|catalog_history|pg_' AND c.table_schema IN ('public', 'sales') UNION ALL SELECT pa.attname,
CASE WHEN ptn.nspname IN ('public', 'pg_catalog') THEN format('%s', pt.typname) ELSE format('"%s"."%s"',
ptn.nspname, pt.typname) END, pa.attnum - 1, pn.nspname, pc.relname, false, NULL, false FROM
pg_catalog.pg_class pc JOIN pg_catalog.pg_namespace pn ON pn.oid = pc.relnamespace JOIN pg_catalog.pg_attribute
pa ON pa.attrelid = pc.oid JOIN pg_catalog.pg_type pt ON pt.oid = pa.atttypid JOIN pg_catalog.pg_namespace
ptn ON ptn.oid = pt.typnamespace WHERE pc.relkind = 'm' AND pa.attnum >= 1 AND pn.nspname IN ('public',
'sales') ORDER BY "table-schema", "table-name", "database-position"
---
SELECT fk_ns.nspname AS "fk-table-schema", fk_table.relname, fk_column.attname, pk_ns.nspname, pk_table.relname,
pk_column.attname FROM pg_constraint c JOIN pg_class fk_table ON c.conrelid = fk_table.oid JOIN pg_namespace
fk_ns ON c.connamespace = fk_ns.oid JOIN pg_attribute fk_column ON c.conrelid = fk_column.attrelid JOIN
pg_class pk_table ON c.confrelid = pk_table.oid JOIN pg_namespace pk_ns ON pk_table.relnamespace = pk_ns.oid
JOIN pg_attribute pk_column ON c.confrelid = pk_column.attrelid WHERE fk_ns.nspname !~ '^information_schema|catalog_history|pg_'
AND c.contype = 'f'::char AND fk_column.attnum = ANY (c.conkey) AND pk_column.attnum = ANY (c.confkey)
ORDER BY 1, 2
---
SELECT tmp."table-schema", tmp."table-name", trim(BOTH '"' FROM pg_catalog.pg_get_indexdef(tmp.ci_oid,
tmp.pos, false)) AS "field-name" FROM (SELECT n.nspname AS "table-schema", ct.relname AS "table-name",
ci.oid AS ci_oid, (information_schema._pg_expandarray(i.indkey)).n AS pos FROM pg_catalog.pg_class
ct JOIN pg_catalog.pg_namespace n ON ct.relnamespace = n.oid JOIN pg_catalog.pg_index i ON ct.oid = i.indrelid
JOIN pg_catalog.pg_class ci ON ci.oid = i.indexrelid WHERE pg_catalog.pg_get_expr(i.indpred, i.indrelid)
IS NULL AND n.nspname !~ '^information_schema|catalog_history|pg_') tmp WHERE tmp.pos = 1
---
WITH table_privileges AS (SELECT NULL AS role, t.schemaname AS schema, t.objectname AS "table", pg_catalog.has_any_column_privilege(current_user,
'"' || t.schemaname || '"."' || t.objectname || '"', 'update') AS update, pg_catalog.has_any_column_privilege(current_user,
'"' || t.schemaname || '"."' || t.objectname || '"', 'select') AS select, pg_catalog.has_any_column_privilege(current_user,
'"' || t.schemaname || '"."' || t.objectname || '"', 'insert') AS insert, pg_catalog.has_table_privilege(current_user,
'"' || t.schemaname || '"."' || t.objectname || '"', 'delete') AS delete FROM (SELECT schemaname, tablename
AS objectname FROM pg_catalog.pg_tables UNION SELECT schemaname, viewname FROM pg_catalog.pg_views UNION SELECT
schemaname, matviewname FROM pg_catalog.pg_matviews) t WHERE t.schemaname !~ '^pg_' AND t.schemaname <>
'information_schema' AND pg_catalog.has_schema_privilege(current_user, t.schemaname, 'USAGE')) SELECT
t.* FROM table_privileges t WHERE t.select OR t.update OR t.insert OR t.delete
---
SELECT TRUE AS "_" FROM "public"."orders" WHERE 1 <> 1 LIMIT 0
---
SELECT "public"."orders"."id" AS "id", "public"."orders"."status" AS "status", "public"."orders"."created_at"
AS "created_at" FROM "public"."orders" LIMIT 2000
---
SELECT substring("public"."orders"."status", 1, 1234) AS "substring1", "public"."orders"."id" AS
"id" FROM "public"."orders" LIMIT 10000
---
SELECT DATE_TRUNC('month', "public"."orders"."created_at") AS "created_at", COUNT(*) AS "count", SUM("public"."orders"."amount")
AS "sum" FROM "public"."orders" WHERE "public"."orders"."created_at" >= timestamp with time zone '2024-01-01 00:00:00.000Z'
AND "public"."orders"."created_at" < (DATE_TRUNC('month', NOW()) + INTERVAL '1 month') GROUP BY DATE_TRUNC('month',
"public"."orders"."created_at") ORDER BY DATE_TRUNC('month', "public"."orders"."created_at") ASC
---
SELECT CAST("source"."created_at" AS date) AS "d", count(distinct "source"."customer_id") AS "c", PERCENTILE_CONT(0.5)
within group (order by "source"."amount") AS "median", STDDEV_POP("source"."amount"), CAST(extract(dow
from "source"."created_at") AS integer) + 1 FROM (SELECT * FROM "public"."orders") AS "source" GROUP BY
1, 5 ORDER BY 1 LIMIT 5
---
SELECT FLOOR(("public"."orders"."amount" - 0.0) / 12.5) * 12.5 + 0.0 AS "amount", COUNT(*) FROM "public"."orders"
GROUP BY 1 ORDER BY 1
---
select now() as now
---
select id,status from orders where id=$1
---
insert into customers(id,name,active,born,avatar) values($1,$2,$3,$4,$5) returning *
---
select $1::jsonb as j, $2::text[] as a
---
select 1 as a; select 2 as b
---
select $1::int4 as a, 2.5::float8 as b
---
select * from orders where id > $1 order by id
---
select id from orders order by id
---
copy customers(id,name) from stdin
---
copy (select id,name from customers limit 2) to stdout
---
insert into orders(id,customer_id) values ($1,$2)
---
SAVEPOINT s
---
ROLLBACK TO SAVEPOINT s
---
do $$ begin raise notice 'hi'; end $$
---
LISTEN ch
---
NOTIFY ch, 'x'
---
select pg_backend_pid(), $1::int
---
SET DateStyle = 'ISO';SET extra_float_digits = 2;show transaction_isolation
---
select oid, typbasetype from pg_type where typname = 'lo'
---
select * from orders where id < 3
---
DEALLOCATE "_PLAN0x558c0182b990"
---
select relname, nspname, relkind from pg_catalog.pg_class c, pg_catalog.pg_namespace n where relkind in
('r', 'v', 'm', 'f', 'p') and nspname not in ('pg_catalog', 'information_schema', 'pg_toast', 'pg_temp_1')
and n.oid = relnamespace order by nspname, relname
---
select n.nspname, c.relname, a.attname, a.atttypid, t.typname, a.attnum, a.attlen, a.atttypmod,
a.attnotnull, c.relhasrules, c.relkind, c.oid, pg_get_expr(d.adbin, d.adrelid), case t.typtype
when 'd' then t.typbasetype else 0 end, t.typtypmod, 0, attidentity, c.relhassubclass from (((pg_catalog.pg_class
c inner join pg_catalog.pg_namespace n on n.oid = c.relnamespace and c.relname like 'orders' and n.nspname
like 'public') inner join pg_catalog.pg_attribute a on (not a.attisdropped) and a.attnum > 0 and a.attrelid
= c.oid) inner join pg_catalog.pg_type t on t.oid = a.atttypid) left outer join pg_attrdef d on a.atthasdef
and d.adrelid = a.attrelid and d.adnum = a.attnum order by n.nspname, c.relname, attnum
---
DEALLOCATE "_PLAN0x558c0182e190"
---
select relname, nspname, relkind from pg_catalog.pg_class c, pg_catalog.pg_namespace n where relkind in
('r', 'v', 'm', 'f', 'p') and nspname like 'public' and relname like '%' and nspname not in ('pg_catalog',
'information_schema', 'pg_toast', 'pg_temp_1') and n.oid = relnamespace order by nspname, relname
---
select NULL, nspname, NULL from pg_catalog.pg_namespace n where true and nspname not in ('pg_catalog', 'information_schema',
'pg_toast', 'pg_temp_1') order by nspname
---
select NULL, NULL, NULL
---
select n.nspname, c.relname, a.attname, a.atttypid, t.typname, a.attnum, a.attlen, a.atttypmod,
a.attnotnull, c.relhasrules, c.relkind, c.oid, pg_get_expr(d.adbin, d.adrelid), case t.typtype
when 'd' then t.typbasetype else 0 end, t.typtypmod, 0, attidentity, c.relhassubclass from (((pg_catalog.pg_class
c inner join pg_catalog.pg_namespace n on n.oid = c.relnamespace and c.relname like 'orders' and n.nspname
like 'public') inner join pg_catalog.pg_attribute a on (not a.attisdropped) and a.attnum > 0 and a.attname
like '%' and a.attrelid = c.oid) inner join pg_catalog.pg_type t on t.oid = a.atttypid) left outer
join pg_attrdef d on a.atthasdef and d.adrelid = a.attrelid and d.adnum = a.attnum order by n.nspname,
c.relname, attnum
---
select ta.attname, ia.attnum, ic.relname, n.nspname, tc.relname from pg_catalog.pg_attribute ta,
pg_catalog.pg_attribute ia, pg_catalog.pg_class tc, pg_catalog.pg_index i, pg_catalog.pg_namespace n,
pg_catalog.pg_class ic where tc.relname = 'orders' AND n.nspname = 'public' AND tc.oid = i.indrelid AND
n.oid = tc.relnamespace AND i.indisprimary = 't' AND ia.attrelid = i.indexrelid AND ta.attrelid = i.indrelid
AND ta.attnum = i.indkey[ia.attnum-1] AND (NOT ta.attisdropped) AND (NOT ia.attisdropped) AND
ic.oid = i.indexrelid order by ia.attnum
---
select 'appdb'::name as "PKTABLE_CAT", n2.nspname as "PKTABLE_SCHEM", c2.relname as "PKTABLE_NAME", a2.attname
as "PKCOLUMN_NAME", 'appdb'::name as "FKTABLE_CAT", n1.nspname as "FKTABLE_SCHEM", c1.relname as "FKTABLE_NAME",
a1.attname as "FKCOLUMN_NAME", i::int2 as "KEY_SEQ", case ref.confupdtype when 'c' then 0::int2 when
'n' then 2::int2 when 'd' then 4::int2 when 'r' then 1::int2 else 3::int2 end as "UPDATE_RULE", case ref.confdeltype
when 'c' then 0::int2 when 'n' then 2::int2 when 'd' then 4::int2 when 'r' then 1::int2 else 3::int2
end as "DELETE_RULE", ref.conname as "FK_NAME", cn.conname as "PK_NAME", case when ref.condeferrable then
case when ref.condeferred then 5::int2 else 6::int2 end else 7::int2 end as "DEFERRABILITY" from (((((((
(select cn.oid, conrelid, conkey, confrelid, confkey, generate_series(array_lower(conkey, 1), array_upper(conkey,
1)) as i, confupdtype, confdeltype, conname, condeferrable, condeferred from pg_catalog.pg_constraint
cn, pg_catalog.pg_class c, pg_catalog.pg_namespace n where contype = 'f' and conrelid = c.oid and relname
= 'orders' and n.oid = c.relnamespace and n.nspname = 'public' ) ref inner join pg_catalog.pg_class c1
on c1.oid = ref.conrelid) inner join pg_catalog.pg_namespace n1 on n1.oid = c1.relnamespace) inner
join pg_catalog.pg_attribute a1 on a1.attrelid = c1.oid and a1.attnum = conkey[i]) inner join pg_catalog.pg_class
c2 on c2.oid = ref.confrelid) inner join pg_catalog.pg_namespace n2 on n2.oid = c2.relnamespace) inner
join pg_catalog.pg_attribute a2 on a2.attrelid = c2.oid and a2.attnum = confkey[i]) left outer join
pg_catalog.pg_constraint cn on cn.conrelid = ref.confrelid and cn.contype = 'p') order by ref.oid,
ref.i
---
show max_identifier_length
---
select n.nspname, c.relname, a.attname, a.atttypid, t.typname, a.attnum, a.attlen, a.atttypmod,
a.attnotnull, c.relhasrules, c.relkind, c.oid, pg_get_expr(d.adbin, d.adrelid), case t.typtype
when 'd' then t.typbasetype else 0 end, t.typtypmod, 0, attidentity, c.relhassubclass from (((pg_catalog.pg_class
c inner join pg_catalog.pg_namespace n on n.oid = c.relnamespace and c.oid = 2615) inner join pg_catalog.pg_attribute
a on (not a.attisdropped) and a.attnum > 0 and a.attrelid = c.oid) inner join pg_catalog.pg_type t
on t.oid = a.atttypid) left outer join pg_attrdef d on a.atthasdef and d.adrelid = a.attrelid and d.adnum
= a.attnum order by n.nspname, c.relname, attnum
---
select 'appdb'::name as "PKTABLE_CAT", n2.nspname as "PKTABLE_SCHEM", c2.relname as "PKTABLE_NAME", a2.attname
as "PKCOLUMN_NAME", 'appdb'::name as "FKTABLE_CAT", n1.nspname as "FKTABLE_SCHEM", c1.relname as "FKTABLE_NAME",
a1.attname as "FKCOLUMN_NAME", i::int2 as "KEY_SEQ", case ref.confupdtype when 'c' then 0::int2 when
'n' then 2::int2 when 'd' then 4::int2 when 'r' then 1::int2 else 3::int2 end as "UPDATE_RULE", case ref.confdeltype
when 'c' then 0::int2 when 'n' then 2::int2 when 'd' then 4::int2 when 'r' then 1::int2 else 3::int2
end as "DELETE_RULE", ref.conname as "FK_NAME", cn.conname as "PK_NAME", case when ref.condeferrable then
case when ref.condeferred then 5::int2 else 6::int2 end else 7::int2 end as "DEFERRABILITY" from (((((((
(select cn.oid, conrelid, conkey, confrelid, confkey, generate_series(array_lower(conkey, 1), array_upper(conkey,
1)) as i, confupdtype, confdeltype, conname, condeferrable, condeferred from pg_catalog.pg_constraint
cn, pg_catalog.pg_class c, pg_catalog.pg_namespace n where contype = 'f' and confrelid = c.oid and relname
= 'customers' and n.oid = c.relnamespace and n.nspname = 'public' ) ref inner join pg_catalog.pg_class
c1 on c1.oid = ref.conrelid) inner join pg_catalog.pg_namespace n1 on n1.oid = c1.relnamespace) inner
join pg_catalog.pg_attribute a1 on a1.attrelid = c1.oid and a1.attnum = conkey[i]) inner join pg_catalog.pg_class
c2 on c2.oid = ref.confrelid) inner join pg_catalog.pg_namespace n2 on n2.oid = c2.relnamespace) inner
join pg_catalog.pg_attribute a2 on a2.attrelid = c2.oid and a2.attnum = confkey[i]) left outer join
pg_catalog.pg_constraint cn on cn.conrelid = ref.confrelid and cn.contype = 'p') order by ref.oid,
ref.i
---
select n.nspname, c.relname, a.attname, a.atttypid, t.typname, a.attnum, a.attlen, a.atttypmod,
a.attnotnull, c.relhasrules, c.relkind, c.oid, pg_get_expr(d.adbin, d.adrelid), case t.typtype
when 'd' then t.typbasetype else 0 end, t.typtypmod, 0, attidentity, c.relhassubclass from (((pg_catalog.pg_class
c inner join pg_catalog.pg_namespace n on n.oid = c.relnamespace and c.relname = 'orders' and n.nspname
= 'public') inner join pg_catalog.pg_attribute a on (not a.attisdropped) and a.attnum > 0 and a.attrelid
= c.oid) inner join pg_catalog.pg_type t on t.oid = a.atttypid) left outer join pg_attrdef d on a.atthasdef
and d.adrelid = a.attrelid and d.adnum = a.attnum order by n.nspname, c.relname, attnum
---
select c.relname, i.indkey, i.indisunique, i.indisclustered, a.amname, c.relhasrules, n.nspname,
c.oid, 0, i.indoption from pg_catalog.pg_index i, pg_catalog.pg_class c, pg_catalog.pg_class d,
pg_catalog.pg_am a, pg_catalog.pg_namespace n where d.relname = 'orders' and n.nspname = 'public' and
n.oid = d.relnamespace and d.oid = i.indrelid and i.indexrelid = c.oid and c.relam = a.oid order
by i.indisprimary desc, i.indisunique, n.nspname, c.relname
---
select c.relhasrules, c.relkind, 0 as relhasoids from pg_catalog.pg_namespace u, pg_catalog.pg_class
c where u.oid = c.relnamespace and c.relname = 'orders' and u.nspname = 'public'
---
select ''::varchar as PROCEDURE_CAT, nspname as PROCEDURE_SCHEM, proname as PROCEDURE_NAME, ''::varchar
as NUM_INPUT_PARAMS, ''::varchar as NUM_OUTPUT_PARAMS, ''::varchar as NUM_RESULT_SETS, ''::varchar as
REMARKS, case when prorettype = 0 then 1::int2 else 2::int2 end as PROCEDURE_TYPE from pg_catalog.pg_namespace,
pg_catalog.pg_proc where pg_proc.pronamespace = pg_namespace.oid and nspname like 'public' and proname like
'%'
---
select proname, proretset, prorettype, pronargs, proargtypes, nspname, p.oid, atttypid, attname, proargnames,
proargmodes, proallargtypes from ((pg_catalog.pg_namespace n inner join pg_catalog.pg_proc p on p.pronamespace
= n.oid) inner join pg_type t on t.oid = p.prorettype) left outer join pg_attribute a on a.attrelid =
t.typrelid and attnum > 0 and not attisdropped where has_function_privilege(p.oid, 'EXECUTE') and nspname
like 'public' and proname like 'add_tax' order by nspname, proname, p.oid, attnum
---
select relname, usename, relacl, nspname from pg_catalog.pg_namespace, pg_catalog.pg_class , pg_catalog.pg_user
where nspname like 'public' and relname like 'orders' and pg_namespace.oid = relnamespace and relkind in ('r',
'v', 'm', 'f', 'p') and pg_user.usesysid = relowner
---
select usename, usesysid, usesuper from pg_user
---
select * from orders where id = $1
---
DEALLOCATE "_PLAN0x55c40aa0a730"
---
BEGIN;select * from orders
---
SAVEPOINT _EXEC_SVP_0x55c40a9b6990;update orders set status='new' where id=1
---
BEGIN;declare "SQL_CUR0x561f81aef990" cursor with hold for select * from orders where id < 3;fetch 100 in "SQL_CUR0x561f81aef990"
---
close "SQL_CUR0x561f81aef990";commit
---
BEGIN;declare "SQL_CUR0x561f81ae71e0" cursor with hold for select count(*) from orders;fetch 100 in "SQL_CUR0x561f81ae71e0"
---
close "SQL_CUR0x561f81ae71e0";commit
---
BEGIN;declare "SQL_CUR0x55d16d7e1730" cursor with hold for select * from orders where id = 5;fetch 100 in "SQL_CUR0x55d16d7e1730"
---
close "SQL_CUR0x55d16d7e1730";commit
---
BEGIN;declare "SQL_CUR0x55d16d7e1730" cursor with hold for select * from orders;fetch 100 in "SQL_CUR0x55d16d7e1730"
---
SAVEPOINT _EXEC_SVP_0x55d16d78d990;fetch 100 in "SQL_CUR0x55d16d7e1730"
---
fetch 100 in "SQL_CUR0x55d16d7e1730"
---
close "SQL_CUR0x55d16d7e1730"
---
update orders set status='new' where id=1
---
SELECT t.oid, typarray FROM pg_type t JOIN pg_namespace ns ON typnamespace = ns.oid WHERE typname = 'hstore';
---
select pg_catalog.version()
---
show transaction isolation level
---
show standard_conforming_strings
---
select relname from pg_class c join pg_namespace n on n.oid=c.relnamespace where pg_catalog.pg_table_is_visible(c.oid)
and relname='orders'
---
SELECT c.oid FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE (pg_catalog.pg_table_is_visible(c.oid)) AND c.relname = 'orders' AND c.relkind in ('r', 'v',
'm', 'f', 'p')
---
SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), ( SELECT pg_catalog.pg_get_expr(d.adbin,
d.adrelid) FROM pg_catalog.pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef
) AS DEFAULT, a.attnotnull, a.attrelid as table_oid, pgd.description as comment, a.attgenerated as
generated, (SELECT json_build_object( 'always', a.attidentity = 'a', 'start', s.seqstart, 'increment',
s.seqincrement, 'minvalue', s.seqmin, 'maxvalue', s.seqmax, 'cache', s.seqcache, 'cycle', s.seqcycle)
FROM pg_catalog.pg_sequence s JOIN pg_catalog.pg_class c on s.seqrelid = c."oid" WHERE c.relkind = 'S'
AND a.attidentity != '' AND s.seqrelid = pg_catalog.pg_get_serial_sequence( a.attrelid::regclass::text,
a.attname )::regclass::oid ) as identity_options FROM pg_catalog.pg_attribute a LEFT JOIN pg_catalog.pg_description
pgd ON ( pgd.objoid = a.attrelid AND pgd.objsubid = a.attnum) WHERE a.attrelid = 16401 AND a.attnum
> 0 AND NOT a.attisdropped ORDER BY a.attnum
---
SELECT t.typname as "name", pg_catalog.format_type(t.typbasetype, t.typtypmod) as "attype", not t.typnotnull
as "nullable", t.typdefault as "default", pg_catalog.pg_type_is_visible(t.oid) as "visible", n.nspname
as "schema" FROM pg_catalog.pg_type t LEFT JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace WHERE
t.typtype = 'd'
---
SELECT t.typname as "name", pg_catalog.pg_type_is_visible(t.oid) as "visible", n.nspname as "schema",
e.enumlabel as "label" FROM pg_catalog.pg_type t LEFT JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
LEFT JOIN pg_catalog.pg_enum e ON t.oid = e.enumtypid WHERE t.typtype = 'e' ORDER BY "schema", "name",
e.oid
---
SELECT a.attname FROM pg_attribute a JOIN ( SELECT unnest(ix.indkey) attnum, generate_subscripts(ix.indkey,
1) ord FROM pg_index ix WHERE ix.indrelid = 16401 AND ix.indisprimary ) k ON a.attnum=k.attnum WHERE
a.attrelid = 16401 ORDER BY k.ord
---
SELECT conname FROM pg_catalog.pg_constraint r WHERE r.conrelid = 16401 AND r.contype = 'p' ORDER BY 1
---
SELECT r.conname, pg_catalog.pg_get_constraintdef(r.oid, true) as condef, n.nspname as conschema
FROM pg_catalog.pg_constraint r, pg_namespace n, pg_class c WHERE r.conrelid = 16401 AND r.contype = 'f'
AND c.oid = confrelid AND n.oid = c.relnamespace ORDER BY 1
---
SELECT i.relname as relname, ix.indisunique, ix.indexprs, a.attname, a.attnum, c.conrelid, ix.indkey::varchar,
ix.indoption::varchar, i.reloptions, am.amname, pg_get_expr(ix.indpred, ix.indrelid), ix.indnkeyatts
as indnkeyatts FROM pg_class t join pg_index ix on t.oid = ix.indrelid join pg_class i on i.oid = ix.indexrelid
left outer join pg_attribute a on t.oid = a.attrelid and a.attnum = ANY(ix.indkey) left outer join pg_constraint
c on (ix.indrelid = c.conrelid and ix.indexrelid = c.conindid and c.contype in ('p', 'u', 'x'))
left outer join pg_am am on i.relam = am.oid WHERE t.relkind IN ('r', 'v', 'f', 'm', 'p') and t.oid
= 16391 and ix.indisprimary = 'f' ORDER BY t.relname, i.relname
---
SELECT cons.conname as name, cons.conkey as key, a.attnum as col_num, a.attname as col_name FROM pg_catalog.pg_constraint
cons join pg_attribute a on cons.conrelid = a.attrelid AND a.attnum = ANY(cons.conkey) WHERE cons.conrelid
= 16391 AND cons.contype = 'u'
---
SELECT cons.conname as name, pg_get_constraintdef(cons.oid) as src FROM pg_catalog.pg_constraint cons
WHERE cons.conrelid = 16391 AND cons.contype = 'c'
---
SELECT pgd.description as table_comment FROM pg_catalog.pg_description pgd WHERE pgd.objsubid = 0 AND pgd.objoid
= 16391
---
SELECT orders.id, orders.customer_id, orders.amount, orders.status, orders.tags, orders.meta,
orders.created_at FROM orders
---
select * from customers
---
DECLARE "c_7f50e8efff90_1" CURSOR WITHOUT HOLD FOR select * from orders
---
FETCH FORWARD 1 FROM "c_7f50e8efff90_1"
---
CLOSE "c_7f50e8efff90_1"
---
CREATE TABLE pd_t ( a BIGINT, b TEXT, c TIMESTAMP WITHOUT TIME ZONE )
---
INSERT INTO pd_t (a, b, c) VALUES (1, 'x', '2024-01-01T00:00:00'::timestamp),(2, 'y', '2024-01-02T00:00:00'::timestamp)
---
drop table pd_t
---
SHOW data_directory_mode
---
SHOW wal_segment_size
---
create publication compat_pub for table orders
---
update orders set status='rl' where id=1
---
drop publication compat_pub
---
SELECT pg_catalog.pg_is_in_recovery()
---
SET DATESTYLE = ISO
---
SET INTERVALSTYLE = POSTGRES
---
SET extra_float_digits TO 3
---
SET synchronize_seqscans TO off
---
SET statement_timeout = 0
---
SET lock_timeout = 0
---
SET idle_in_transaction_session_timeout = 0
---
SET row_security = off
---
SELECT set_config(name, 'view, foreign-table', false) FROM pg_settings WHERE name = 'restrict_nonsystem_relation_kind'
---
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY
---
SELECT oid, rolname FROM pg_catalog.pg_roles ORDER BY 1
---
SELECT x.tableoid, x.oid, x.extname, n.nspname, x.extrelocatable, x.extversion, x.extconfig,
x.extcondition FROM pg_extension x JOIN pg_namespace n ON n.oid = x.extnamespace
---
SELECT classid, objid, refobjid FROM pg_depend WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
ORDER BY 3
---
SELECT n.tableoid, n.oid, n.nspname, n.nspowner, n.nspacl, acldefault('n', n.nspowner) AS
acldefault FROM pg_namespace n
---
SELECT c.tableoid, c.oid, c.relname, c.relnamespace, c.relkind, c.reltype, c.relowner, c.relchecks,
c.relhasindex, c.relhasrules, c.relpages, c.relhastriggers, c.relpersistence, c.reloftype, c.relacl,
acldefault(CASE WHEN c.relkind = 'S' THEN 's'::"char" ELSE 'r'::"char" END, c.relowner) AS acldefault,
CASE WHEN c.relkind = 'f' THEN (SELECT ftserver FROM pg_catalog.pg_foreign_table WHERE ftrelid = c.oid)
ELSE 0 END AS foreignserver, c.relfrozenxid, tc.relfrozenxid AS tfrozenxid, tc.oid AS toid, tc.relpages
AS toastpages, tc.reloptions AS toast_reloptions, d.refobjid AS owning_tab, d.refobjsubid AS owning_col,
tsp.spcname AS reltablespace, false AS relhasoids, c.relispopulated, c.relreplident, c.relrowsecurity,
c.relforcerowsecurity, c.relminmxid, tc.relminmxid AS tminmxid, array_remove(array_remove(c.reloptions,'check_option=local'),'check_option=cascaded')
AS reloptions, CASE WHEN 'check_option=local' = ANY (c.reloptions) THEN 'LOCAL'::text WHEN 'check_option=cascaded'
= ANY (c.reloptions) THEN 'CASCADED'::text ELSE NULL END AS checkoption, am.amname, (d.deptype = 'i')
IS TRUE AS is_identity_sequence, c.relispartition AS ispartition FROM pg_class c LEFT JOIN pg_depend d ON (c.relkind
= 'S' AND d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.objsubid = 0 AND d.refclassid
= 'pg_class'::regclass AND d.deptype IN ('a', 'i')) LEFT JOIN pg_tablespace tsp ON (tsp.oid = c.reltablespace)
LEFT JOIN pg_am am ON (c.relam = am.oid) LEFT JOIN pg_class tc ON (c.reltoastrelid = tc.oid AND tc.relkind
= 't' AND c.relkind <> 'p') WHERE c.relkind IN ('r', 'S', 'v', 'c', 'm', 'f', 'p') ORDER BY c.oid
---
LOCK TABLE public.customers IN ACCESS SHARE MODE
---
LOCK TABLE public.orders IN ACCESS SHARE MODE
---
LOCK TABLE sales.regions IN ACCESS SHARE MODE
---
SELECT p.tableoid, p.oid, p.proname, p.prolang, p.pronargs, p.proargtypes, p.prorettype, p.proacl,
acldefault('f', p.proowner) AS acldefault, p.pronamespace, p.proowner FROM pg_proc p LEFT JOIN pg_init_privs
pip ON (p.oid = pip.objoid AND pip.classoid = 'pg_proc'::regclass AND pip.objsubid = 0) WHERE p.prokind
<> 'a' AND NOT EXISTS (SELECT 1 FROM pg_depend WHERE classid = 'pg_proc'::regclass AND objid = p.oid AND deptype
= 'i') AND ( pronamespace != (SELECT oid FROM pg_namespace WHERE nspname = 'pg_catalog') OR EXISTS (SELECT
1 FROM pg_cast WHERE pg_cast.oid > 16383 AND p.oid = pg_cast.castfunc) OR EXISTS (SELECT 1 FROM pg_transform
WHERE pg_transform.oid > 16383 AND (p.oid = pg_transform.trffromsql OR p.oid = pg_transform.trftosql))
OR p.proacl IS DISTINCT FROM pip.initprivs)
---
SELECT tableoid, oid, typname, typnamespace, typacl, acldefault('T', typowner) AS acldefault, typowner,
typelem, typrelid, CASE WHEN typrelid = 0 THEN ' '::"char" ELSE (SELECT relkind FROM pg_class WHERE oid =
typrelid) END AS typrelkind, typtype, typisdefined, typname[0] = '_' AND typelem != 0 AND (SELECT typarray
FROM pg_type te WHERE oid = pg_type.typelem) = oid AS isarray FROM pg_type
---
SELECT tableoid, oid, lanname, lanpltrusted, lanplcallfoid, laninline, lanvalidator, lanacl, acldefault('l',
lanowner) AS acldefault, lanowner FROM pg_language WHERE lanispl ORDER BY oid
---
SELECT p.tableoid, p.oid, p.proname AS aggname, p.pronamespace AS aggnamespace, p.pronargs, p.proargtypes,
p.proowner, p.proacl AS aggacl, acldefault('f', p.proowner) AS acldefault FROM pg_proc p LEFT JOIN
pg_init_privs pip ON (p.oid = pip.objoid AND pip.classoid = 'pg_proc'::regclass AND pip.objsubid = 0)
WHERE p.prokind = 'a' AND (p.pronamespace != (SELECT oid FROM pg_namespace WHERE nspname = 'pg_catalog')
OR p.proacl IS DISTINCT FROM pip.initprivs)
---
SELECT tableoid, oid, oprname, oprnamespace, oprowner, oprkind, oprleft, oprright, oprcode::oid AS oprcode
FROM pg_operator
---
SELECT tableoid, oid, amname, amtype, amhandler::pg_catalog.regproc AS amhandler FROM pg_am
---
SELECT tableoid, oid, opcmethod, opcname, opcnamespace, opcowner FROM pg_opclass
---
SELECT tableoid, oid, opfmethod, opfname, opfnamespace, opfowner FROM pg_opfamily
---
SELECT tableoid, oid, prsname, prsnamespace, prsstart::oid, prstoken::oid, prsend::oid, prsheadline::oid,
prslextype::oid FROM pg_ts_parser
---
SELECT tableoid, oid, tmplname, tmplnamespace, tmplinit::oid, tmpllexize::oid FROM pg_ts_template
---
SELECT tableoid, oid, dictname, dictnamespace, dictowner, dicttemplate, dictinitoption FROM pg_ts_dict
---
SELECT tableoid, oid, cfgname, cfgnamespace, cfgowner, cfgparser FROM pg_ts_config
---
SELECT tableoid, oid, fdwname, fdwowner, fdwhandler::pg_catalog.regproc, fdwvalidator::pg_catalog.regproc,
fdwacl, acldefault('F', fdwowner) AS acldefault, array_to_string(ARRAY(SELECT quote_ident(option_name)
|| ' ' || quote_literal(option_value) FROM pg_options_to_table(fdwoptions) ORDER BY option_name), E',
    ')
AS fdwoptions FROM pg_foreign_data_wrapper
---
SELECT tableoid, oid, srvname, srvowner, srvfdw, srvtype, srvversion, srvacl, acldefault('S', srvowner)
AS acldefault, array_to_string(ARRAY(SELECT quote_ident(option_name) || ' ' || quote_literal(option_value)
FROM pg_options_to_table(srvoptions) ORDER BY option_name), E',
    ') AS srvoptions FROM pg_foreign_server
---
SELECT oid, tableoid, defaclrole, defaclnamespace, defaclobjtype, defaclacl, CASE WHEN defaclnamespace =
0 THEN acldefault(CASE WHEN defaclobjtype = 'S' THEN 's'::"char" ELSE defaclobjtype END, defaclrole) ELSE
'{}' END AS acldefault FROM pg_default_acl
---
SELECT tableoid, oid, collname, collnamespace, collowner, collencoding FROM pg_collation
---
SELECT tableoid, oid, conname, connamespace, conowner FROM pg_conversion
---
SELECT tableoid, oid, castsource, casttarget, castfunc, castcontext, castmethod FROM pg_cast c WHERE NOT
EXISTS ( SELECT 1 FROM pg_range r WHERE c.castsource = r.rngtypid AND c.casttarget = r.rngmultitypid )
ORDER BY 3,4
---
SELECT tableoid, oid, trftype, trflang, trffromsql::oid, trftosql::oid FROM pg_transform ORDER BY 3,4
---
SELECT inhrelid, inhparent FROM pg_inherits
---
SELECT e.tableoid, e.oid, evtname, evtenabled, evtevent, evtowner, array_to_string(array(select quote_literal(x)
from unnest(evttags) as t(x)), ', ') as evttags, e.evtfoid::regproc as evtfname FROM pg_event_trigger
e ORDER BY e.oid
---
SELECT conrelid, confrelid FROM pg_constraint JOIN pg_depend ON (objid = confrelid) WHERE contype = 'f' AND
refclassid = 'pg_extension'::regclass AND classid = 'pg_class'::regclass;
---
SELECT a.attrelid, a.attnum, a.attname, a.atttypmod, a.attstattarget, a.attstorage, t.typstorage,
a.attnotnull, a.atthasdef, a.attisdropped, a.attlen, a.attalign, a.attislocal, pg_catalog.format_type(t.oid,
a.atttypmod) AS atttypname, array_to_string(a.attoptions, ', ') AS attoptions, CASE WHEN a.attcollation
<> t.typcollation THEN a.attcollation ELSE 0 END AS attcollation, pg_catalog.array_to_string(ARRAY(SELECT
pg_catalog.quote_ident(option_name) || ' ' || pg_catalog.quote_literal(option_value) FROM pg_catalog.pg_options_to_table(attfdwoptions)
ORDER BY option_name), E',
    ') AS attfdwoptions, a.attcompression AS attcompression, a.attidentity,
CASE WHEN a.atthasmissing AND NOT a.attisdropped THEN a.attmissingval ELSE null END AS attmissingval, a.attgenerated
FROM unnest('{16391,16401,16419,16424,16432,16445}'::pg_catalog.oid[]) AS src(tbloid) JOIN pg_catalog.pg_attribute
a ON (src.tbloid = a.attrelid) LEFT JOIN pg_catalog.pg_type t ON (a.atttypid = t.oid) WHERE a.attnum
> 0::pg_catalog.int2 ORDER BY a.attrelid, a.attnum
---
SELECT a.tableoid, a.oid, adrelid, adnum, pg_catalog.pg_get_expr(adbin, adrelid) AS adsrc FROM unnest('{16391,16401,16432}'::pg_catalog.oid[])
AS src(tbloid) JOIN pg_catalog.pg_attrdef a ON (src.tbloid = a.adrelid) ORDER BY a.adrelid, a.adnum
---
SELECT c.tableoid, c.oid, conrelid, conname, pg_catalog.pg_get_constraintdef(c.oid) AS consrc,
conislocal, convalidated FROM unnest('{16401}'::pg_catalog.oid[]) AS src(tbloid) JOIN pg_catalog.pg_constraint
c ON (src.tbloid = c.conrelid) WHERE contype = 'c' ORDER BY c.conrelid, c.conname
---
SELECT t.tableoid, t.oid, i.indrelid, t.relname AS indexname, pg_catalog.pg_get_indexdef(i.indexrelid)
AS indexdef, i.indkey, i.indisclustered, c.contype, c.conname, c.condeferrable, c.condeferred,
c.tableoid AS contableoid, c.oid AS conoid, pg_catalog.pg_get_constraintdef(c.oid, false) AS condef,
(SELECT spcname FROM pg_catalog.pg_tablespace s WHERE s.oid = t.reltablespace) AS tablespace, t.reloptions
AS indreloptions, i.indisreplident, inh.inhparent AS parentidx, i.indnkeyatts AS indnkeyatts, i.indnatts
AS indnatts, (SELECT pg_catalog.array_agg(attnum ORDER BY attnum) FROM pg_catalog.pg_attribute WHERE attrelid
= i.indexrelid AND attstattarget >= 0) AS indstatcols, (SELECT pg_catalog.array_agg(attstattarget ORDER
BY attnum) FROM pg_catalog.pg_attribute WHERE attrelid = i.indexrelid AND attstattarget >= 0) AS indstatvals,
i.indnullsnotdistinct FROM unnest('{16391,16401,16424,16432}'::pg_catalog.oid[]) AS src(tbloid) JOIN
pg_catalog.pg_index i ON (src.tbloid = i.indrelid) JOIN pg_catalog.pg_class t ON (t.oid = i.indexrelid)
JOIN pg_catalog.pg_class t2 ON (t2.oid = i.indrelid) LEFT JOIN pg_catalog.pg_constraint c ON (i.indrelid
= c.conrelid AND i.indexrelid = c.conindid AND c.contype IN ('p','u','x')) LEFT JOIN pg_catalog.pg_inherits
inh ON (inh.inhrelid = indexrelid) WHERE (i.indisvalid OR t2.relkind = 'p') AND i.indisready ORDER
BY i.indrelid, indexname
---
SELECT tableoid, oid, stxname, stxnamespace, stxowner, stxrelid, stxstattarget FROM pg_catalog.pg_statistic_ext
---
SELECT c.tableoid, c.oid, conrelid, conname, confrelid, conindid, pg_catalog.pg_get_constraintdef(c.oid)
AS condef FROM unnest('{16391,16401,16432}'::pg_catalog.oid[]) AS src(tbloid) JOIN pg_catalog.pg_constraint
c ON (src.tbloid = c.conrelid) WHERE contype = 'f' AND conparentid = 0 ORDER BY conrelid, conname
---
SELECT t.tgrelid, t.tgname, t.tgfoid::pg_catalog.regproc AS tgfname, pg_catalog.pg_get_triggerdef(t.oid,
false) AS tgdef, t.tgenabled, t.tableoid, t.oid, t.tgparentid <> 0 AS tgispartition FROM unnest('{16391,16401,16432}'::pg_catalog.oid[])
AS src(tbloid) JOIN pg_catalog.pg_trigger t ON (src.tbloid = t.tgrelid) LEFT JOIN pg_catalog.pg_trigger
u ON (u.oid = t.tgparentid) WHERE ((NOT t.tgisinternal AND t.tgparentid = 0) OR t.tgenabled != u.tgenabled)
ORDER BY t.tgrelid, t.tgname
---
SELECT tableoid, oid, rulename, ev_class AS ruletable, ev_type, is_instead, ev_enabled FROM pg_rewrite ORDER
BY oid
---
SELECT pol.oid, pol.tableoid, pol.polrelid, pol.polname, pol.polcmd, pol.polpermissive, CASE
WHEN pol.polroles = '{0}' THEN NULL ELSE pg_catalog.array_to_string(ARRAY(SELECT pg_catalog.quote_ident(rolname)
from pg_catalog.pg_roles WHERE oid = ANY(pol.polroles)), ', ') END AS polroles, pg_catalog.pg_get_expr(pol.polqual,
pol.polrelid) AS polqual, pg_catalog.pg_get_expr(pol.polwithcheck, pol.polrelid) AS polwithcheck
FROM unnest('{16391,16401,16432}'::pg_catalog.oid[]) AS src(tbloid) JOIN pg_catalog.pg_policy pol
ON (src.tbloid = pol.polrelid)
---
SELECT p.tableoid, p.oid, p.pubname, p.pubowner, p.puballtables, p.pubinsert, p.pubupdate,
p.pubdelete, p.pubtruncate, p.pubviaroot FROM pg_publication p
---
SELECT tableoid, oid, prpubid, prrelid, pg_catalog.pg_get_expr(prqual, prrelid) AS prrelqual, (CASE
WHEN pr.prattrs IS NOT NULL THEN (SELECT array_agg(attname) FROM pg_catalog.generate_series(0, pg_catalog.array_upper(pr.prattrs::pg_catalog.int2[],
1)) s, pg_catalog.pg_attribute WHERE attrelid = pr.prrelid AND attnum = prattrs[s]) ELSE NULL END)
prattrs FROM pg_catalog.pg_publication_rel pr
---
SELECT tableoid, oid, pnpubid, pnnspid FROM pg_catalog.pg_publication_namespace
---
SELECT count(*) FROM pg_subscription WHERE subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())
---
SELECT classid, objid, refclassid, refobjid, deptype FROM pg_depend WHERE deptype != 'p' AND deptype != 'e'
UNION ALL SELECT 'pg_opfamily'::regclass AS classid, amopfamily AS objid, refclassid, refobjid, deptype FROM
pg_depend d, pg_amop o WHERE deptype NOT IN ('p', 'e', 'i') AND classid = 'pg_amop'::regclass AND objid
= o.oid AND NOT (refclassid = 'pg_opfamily'::regclass AND amopfamily = refobjid) UNION ALL SELECT 'pg_opfamily'::regclass
AS classid, amprocfamily AS objid, refclassid, refobjid, deptype FROM pg_depend d, pg_amproc p WHERE deptype
NOT IN ('p', 'e', 'i') AND classid = 'pg_amproc'::regclass AND objid = p.oid AND NOT (refclassid = 'pg_opfamily'::regclass
AND amprocfamily = refobjid) ORDER BY 1,2
---
SELECT DISTINCT attrelid FROM pg_attribute WHERE attacl IS NOT NULL
---
SELECT objoid, classoid, objsubid, privtype, initprivs FROM pg_init_privs
---
SELECT description, classoid, objoid, objsubid FROM pg_catalog.pg_description ORDER BY classoid, objoid,
objsubid
---
SELECT label, provider, classoid, objoid, objsubid FROM pg_catalog.pg_seclabels ORDER BY classoid, objoid,
objsubid
---
SELECT pg_catalog.current_schemas(false)
---
PREPARE dumpEnumType(pg_catalog.oid) AS SELECT oid, enumlabel FROM pg_catalog.pg_enum WHERE enumtypid =
$1 ORDER BY enumsortorder
---
EXECUTE dumpEnumType('16451')
---
PREPARE dumpFunc(pg_catalog.oid) AS SELECT proretset, prosrc, probin, provolatile, proisstrict, prosecdef,
lanname, proconfig, procost, prorows, pg_catalog.pg_get_function_arguments(p.oid) AS funcargs, pg_catalog.pg_get_function_identity_arguments(p.oid)
AS funciargs, pg_catalog.pg_get_function_result(p.oid) AS funcresult, proleakproof, array_to_string(protrftypes,
' ') AS protrftypes, proparallel, prokind, prosupport, pg_get_function_sqlbody(p.oid) AS prosqlbody FROM
pg_catalog.pg_proc p, pg_catalog.pg_language l WHERE p.oid = $1 AND l.oid = p.prolang
---
EXECUTE dumpFunc('16457')
---
SELECT pg_catalog.format_type('1700'::pg_catalog.oid, NULL)
---
PREPARE getColumnACLs(pg_catalog.oid) AS SELECT at.attname, at.attacl, '{}' AS acldefault, pip.privtype,
pip.initprivs FROM pg_catalog.pg_attribute at LEFT JOIN pg_catalog.pg_init_privs pip ON (at.attrelid =
pip.objoid AND pip.classoid = 'pg_catalog.pg_class'::pg_catalog.regclass AND at.attnum = pip.objsubid)
WHERE at.attrelid = $1 AND NOT at.attisdropped AND (at.attacl IS NOT NULL OR pip.initprivs IS NOT NULL)
ORDER BY at.attnum
---
EXECUTE getColumnACLs('6100')
---
SELECT pg_catalog.pg_get_viewdef('16424'::pg_catalog.oid) AS viewdef
---
SELECT format_type(seqtypid, NULL), seqstart, seqincrement, seqmax, seqmin, seqcache, seqcycle FROM pg_catalog.pg_sequence
WHERE seqrelid = '16449'::oid
---
RESET search_path
---
SELECT c.oid FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=)
c.relnamespace WHERE c.relkind OPERATOR(pg_catalog.=) ANY (array['r', 'S', 'v', 'm', 'f', 'p'])
AND c.relname OPERATOR(pg_catalog.~) '^(orders)$' COLLATE pg_catalog.default AND pg_catalog.pg_table_is_visible(c.oid)
---
SELECT partrelid FROM pg_partitioned_table WHERE (SELECT c.oid FROM pg_opclass c JOIN pg_am a ON c.opcmethod
= a.oid WHERE opcname = 'enum_ops' AND opcnamespace = 'pg_catalog'::regnamespace AND amname = 'hash') = ANY(partclass)
---
WITH RECURSIVE w AS ( SELECT d1.objid, d2.refobjid, c2.relkind AS refrelkind FROM pg_depend d1 JOIN pg_class
c1 ON c1.oid = d1.objid AND c1.relkind = 'm' JOIN pg_rewrite r1 ON r1.ev_class = d1.objid JOIN pg_depend
d2 ON d2.classid = 'pg_rewrite'::regclass AND d2.objid = r1.oid AND d2.refobjid <> d1.objid JOIN pg_class
c2 ON c2.oid = d2.refobjid AND c2.relkind IN ('m','v') WHERE d1.classid = 'pg_class'::regclass UNION
SELECT w.objid, d3.refobjid, c3.relkind FROM w JOIN pg_rewrite r3 ON r3.ev_class = w.refobjid JOIN
pg_depend d3 ON d3.classid = 'pg_rewrite'::regclass AND d3.objid = r3.oid AND d3.refobjid <> w.refobjid
JOIN pg_class c3 ON c3.oid = d3.refobjid AND c3.relkind IN ('m','v') ) SELECT 'pg_class'::regclass::oid
AS classid, objid, refobjid FROM w WHERE refrelkind = 'm'
---
COPY public.orders (id, customer_id, amount, status, tags, meta, created_at) TO stdout;
---
DECLARE _pg_dump_cursor CURSOR FOR SELECT id, name, email, active, score, born, uid, avatar FROM ONLY public.customers
---
FETCH 100 FROM _pg_dump_cursor
---
CLOSE _pg_dump_cursor
---
SELECT oid, lomowner, lomacl, acldefault('L', lomowner) AS acldefault FROM pg_largeobject_metadata
---
SELECT tableoid, oid, datname, datdba, pg_encoding_to_char(encoding) AS encoding, datcollate, datctype,
datfrozenxid, datacl, acldefault('d', datdba) AS acldefault, datistemplate, datconnlimit, datminmxid,
datlocprovider, daticulocale, datcollversion, (SELECT spcname FROM pg_tablespace t WHERE t.oid = dattablespace)
AS tablespace, shobj_description(oid, 'pg_database') AS description FROM pg_database WHERE datname = current_database()
---
SELECT provider, label FROM pg_catalog.pg_shseclabel WHERE classoid = 'pg_catalog.pg_database'::pg_catalog.regclass
AND objoid = '16501'
---
SELECT unnest(setconfig) FROM pg_db_role_setting WHERE setrole = 0 AND setdatabase = '16501'::oid
---
SELECT rolname, unnest(setconfig) FROM pg_db_role_setting s, pg_roles r WHERE setrole = r.oid AND setdatabase
= '16501'::oid
---
SELECT last_value, is_called FROM public.order_no_seq
---
SELECT last_value, is_called FROM sales.regions_region_id_seq
---
COPY public.customers (id, name, email, active, score, born, uid, avatar) TO stdout;
---
COPY sales.regions (region_id, code, title, parent_id) TO stdout;
---
drop table if exists pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers
---
create table pgbench_history(tid int,bid int,aid int,delta int,mtime timestamp,filler char(22))
---
create table pgbench_tellers(tid int not null,bid int,tbalance int,filler char(84)) with (fillfactor=100)
---
create table pgbench_accounts(aid int not null,bid int,abalance int,filler char(84)) with (fillfactor=100)
---
create table pgbench_branches(bid int not null,bbalance int,filler char(88)) with (fillfactor=100)
---
truncate table pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers
---
insert into pgbench_branches(bid,bbalance) values(1,0)
---
insert into pgbench_tellers(tid,bid,tbalance) values (1,1,0)
---
copy pgbench_accounts from stdin with (freeze on)
---
vacuum analyze pgbench_branches
---
vacuum analyze pgbench_tellers
---
vacuum analyze pgbench_accounts
---
vacuum analyze pgbench_history
---
alter table pgbench_branches add primary key (bid)
---
alter table pgbench_tellers add primary key (tid)
---
alter table pgbench_accounts add primary key (aid)
---
select count(*) from pgbench_branches
---
select o.n, p.partstrat, pg_catalog.count(i.inhparent) from pg_catalog.pg_class as c join pg_catalog.pg_namespace
as n on (n.oid = c.relnamespace) cross join lateral (select pg_catalog.array_position(pg_catalog.current_schemas(true),
n.nspname)) as o(n) left join pg_catalog.pg_partitioned_table as p on (p.partrelid = c.oid) left
join pg_catalog.pg_inherits as i on (c.oid = i.inhparent) where c.relname = 'pgbench_accounts' and o.n
is not null group by 1, 2 order by 1 asc limit 1
---
SELECT abalance FROM pgbench_accounts WHERE aid = 7168;
---
UPDATE pgbench_accounts SET abalance = abalance + 3023 WHERE aid = 39932;
---
UPDATE pgbench_tellers SET tbalance = tbalance + 3023 WHERE tid = 6;
---
UPDATE pgbench_branches SET bbalance = bbalance + 3023 WHERE bid = 1;
---
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (6, 1, 39932, 3023, CURRENT_TIMESTAMP);
---
END;
---
UPDATE pgbench_accounts SET abalance = abalance + -4151 WHERE aid = 64939;
---
UPDATE pgbench_tellers SET tbalance = tbalance + -4151 WHERE tid = 9;
---
UPDATE pgbench_branches SET bbalance = bbalance + -4151 WHERE bid = 1;
---
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (9, 1, 64939, -4151, CURRENT_TIMESTAMP);
---
SELECT abalance FROM pgbench_accounts WHERE aid = $1;
---
UPDATE pgbench_accounts SET abalance = abalance + $1 WHERE aid = $2;
---
UPDATE pgbench_tellers SET tbalance = tbalance + $1 WHERE tid = $2;
---
UPDATE pgbench_branches SET bbalance = bbalance + $1 WHERE bid = $2;
---
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES ($1, $2, $3, $4, CURRENT_TIMESTAMP);
---
vacuum pgbench_branches
---
vacuum pgbench_tellers
---
truncate pgbench_history
---
select abalance from pgbench_accounts where aid = $1;
---
select 1;
---
insert into pgbench_branches(bid,bbalance) select bid, 0 from generate_series(1, 1) as bid
---
insert into pgbench_tellers(tid,bid,tbalance) select tid, (tid - 1) / 10 + 1, 0 from generate_series(1,
10) as tid
---
insert into pgbench_accounts(aid,bid,abalance,filler) select aid, (aid - 1) / 100000 + 1, 0, '' from
generate_series(1, 100000) as aid
---
alter table pgbench_tellers add constraint pgbench_tellers_bid_fkey foreign key (bid) references pgbench_branches
---
alter table pgbench_accounts add constraint pgbench_accounts_bid_fkey foreign key (bid) references pgbench_branches
---
alter table pgbench_history add constraint pgbench_history_bid_fkey foreign key (bid) references pgbench_branches
---
alter table pgbench_history add constraint pgbench_history_tid_fkey foreign key (tid) references pgbench_tellers
---
alter table pgbench_history add constraint pgbench_history_aid_fkey foreign key (aid) references pgbench_accounts
---
select 42 as answer
---
SELECT d.datname as "Name", pg_catalog.pg_get_userbyid(d.datdba) as "Owner", pg_catalog.pg_encoding_to_char(d.encoding)
as "Encoding", d.datcollate as "Collate", d.datctype as "Ctype", pg_catalog.array_to_string(d.datacl,
E'
') AS "Access privileges" FROM pg_catalog.pg_database d ORDER BY 1
---
SELECT n.nspname as "Schema", c.relname as "Name", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view'
WHEN 'p' THEN 'partitioned table' WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence'
WHEN 's' THEN 'special' WHEN 'f' THEN 'foreign table' END as "Type", pg_catalog.pg_get_userbyid(c.relowner)
as "Owner" FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE
c.relkind = ANY($1) AND n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' AND n.nspname
!~ '^pg_toast' AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 1, 2
---
SELECT n.nspname as "Schema", c.relname as "Name", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view'
WHEN 'p' THEN 'partitioned table' WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence'
WHEN 's' THEN 'special' WHEN 'f' THEN 'foreign table' END as "Type", pg_catalog.pg_get_userbyid(c.relowner)
as "Owner" ,pg_catalog.pg_size_pretty(pg_catalog.pg_table_size(c.oid)) as "Size", pg_catalog.obj_description(c.oid,
'pg_class') as "Description" FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = ANY($1) AND n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' AND n.nspname
!~ '^pg_toast' AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 1, 2
---
SELECT c.oid, n.nspname, c.relname FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON
n.oid = c.relnamespace WHERE pg_catalog.pg_table_is_visible(c.oid) AND c.relname OPERATOR(pg_catalog.~)
$1 ORDER BY 2,3
---
SELECT c.relchecks, c.relkind, c.relhasindex, c.relhasrules, c.relhastriggers, false as relhasoids,
'', c.reltablespace, CASE WHEN c.reloftype = 0 THEN '' ELSE c.reloftype::pg_catalog.regtype::pg_catalog.text
END, c.relpersistence, c.relispartition FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_class tc ON
(c.reltoastrelid = tc.oid) WHERE c.oid = '16401'
---
SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod) , (SELECT substring(pg_catalog.pg_get_expr(d.adbin,
d.adrelid, true) for 128) FROM pg_catalog.pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum =
a.attnum AND a.atthasdef) , a.attnotnull, (SELECT c.collname FROM pg_catalog.pg_collation c, pg_catalog.pg_type
t WHERE c.oid = a.attcollation AND t.oid = a.atttypid AND a.attcollation <> t.typcollation) AS attcollation,
a.attidentity, a.attgenerated, NULL AS indexdef, NULL AS attfdwoptions FROM pg_catalog.pg_attribute a
WHERE a.attrelid = '16401' AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum;
---
SELECT c2.relname, i.indisprimary, i.indisunique, i.indisclustered, i.indisvalid, pg_catalog.pg_get_indexdef(i.indexrelid,
0, true), pg_catalog.pg_get_constraintdef(con.oid, true), contype, condeferrable, condeferred, c2.reltablespace
FROM pg_catalog.pg_class c, pg_catalog.pg_class c2, pg_catalog.pg_index i LEFT JOIN pg_catalog.pg_constraint
con ON conrelid = i.indrelid AND conindid = i.indexrelid AND contype IN ('p','u','x') WHERE c.oid =
'16401' AND c.oid = i.indrelid AND i.indexrelid = c2.oid ORDER BY i.indisprimary DESC, i.indisunique
DESC, c2.relname;
---
SELECT r.conname, pg_catalog.pg_get_constraintdef(r.oid, true) FROM pg_catalog.pg_constraint r WHERE
r.conrelid = '16401' AND r.contype = 'c' ORDER BY 1;
---
SELECT conname, pg_catalog.pg_get_constraintdef(r.oid, true) as condef FROM pg_catalog.pg_constraint
r WHERE r.conrelid = '16401' AND r.contype = 'f' ORDER BY 1;
---
SELECT conrelid::pg_catalog.regclass, conname, pg_catalog.pg_get_constraintdef(c.oid, true) as condef
FROM pg_catalog.pg_constraint c WHERE c.confrelid = '16401' AND c.contype = 'f' ORDER BY 1;
---
SELECT t.tgname, pg_catalog.pg_get_triggerdef(t.oid, true), t.tgenabled FROM pg_catalog.pg_trigger
t WHERE t.tgrelid = '16401' AND NOT t.tgisinternal ORDER BY 1
---
SELECT c.oid::pg_catalog.regclass FROM pg_catalog.pg_class c, pg_catalog.pg_inherits i WHERE c.oid
= i.inhparent AND i.inhrelid = '16401' ORDER BY inhseqno
---
SELECT c.oid::pg_catalog.regclass FROM pg_catalog.pg_class c, pg_catalog.pg_inherits i WHERE c.oid
= i.inhrelid AND i.inhparent = '16401' ORDER BY c.oid::pg_catalog.regclass::pg_catalog.text;
---
SELECT c.relchecks, c.relkind, c.relhasindex, c.relhasrules, c.relhastriggers, false as relhasoids,
pg_catalog.array_to_string(c.reloptions || array(select 'toast.' || x from pg_catalog.unnest(tc.reloptions)
x), ', '), c.reltablespace, CASE WHEN c.reloftype = 0 THEN '' ELSE c.reloftype::pg_catalog.regtype::pg_catalog.text
END, c.relpersistence, c.relispartition FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_class tc ON
(c.reltoastrelid = tc.oid) WHERE c.oid = '16401'
---
SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod) , (SELECT substring(pg_catalog.pg_get_expr(d.adbin,
d.adrelid, true) for 128) FROM pg_catalog.pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum =
a.attnum AND a.atthasdef) , a.attnotnull, (SELECT c.collname FROM pg_catalog.pg_collation c, pg_catalog.pg_type
t WHERE c.oid = a.attcollation AND t.oid = a.atttypid AND a.attcollation <> t.typcollation) AS attcollation,
a.attidentity, a.attgenerated, NULL AS indexdef, NULL AS attfdwoptions, a.attstorage, CASE WHEN a.attstattarget=-1
THEN NULL ELSE a.attstattarget END AS attstattarget, pg_catalog.col_description(a.attrelid, a.attnum)
FROM pg_catalog.pg_attribute a WHERE a.attrelid = '16401' AND a.attnum > 0 AND NOT a.attisdropped ORDER
BY a.attnum;
---
SELECT n.nspname AS "Name", pg_catalog.pg_get_userbyid(n.nspowner) AS "Owner" FROM pg_catalog.pg_namespace
n WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' ORDER BY 1
---
SELECT r.rolname, r.rolsuper, r.rolinherit, r.rolcreaterole, r.rolcreatedb, r.rolcanlogin, r.rolconnlimit,
r.rolvaliduntil, ARRAY(SELECT b.rolname FROM pg_catalog.pg_auth_members m JOIN pg_catalog.pg_roles b
ON (m.roleid = b.oid) WHERE m.member = r.oid) as memberof, r.rolreplication FROM pg_catalog.pg_roles
r ORDER BY 1
---
SELECT n.nspname as "Schema", p.proname as "Name", pg_catalog.pg_get_function_result(p.oid) as "Result data type",
pg_catalog.pg_get_function_arguments(p.oid) as "Argument data types", CASE WHEN p.prokind = 'a' THEN
'agg' WHEN p.prokind = 'w' THEN 'window' WHEN p.prorettype = 'pg_catalog.trigger'::pg_catalog.regtype THEN
'trigger' ELSE 'normal' END as "Type" FROM pg_catalog.pg_proc p LEFT JOIN pg_catalog.pg_namespace n ON n.oid
= p.pronamespace WHERE pg_catalog.pg_function_is_visible(p.oid) AND n.nspname <> 'pg_catalog' AND n.nspname
<> 'information_schema' ORDER BY 1, 2, 4
---
SELECT n.nspname as "Schema", pg_catalog.format_type(t.oid, NULL) AS "Name", pg_catalog.obj_description(t.oid,
'pg_type') as "Description" FROM pg_catalog.pg_type t LEFT JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
WHERE (t.typrelid = 0 OR ( SELECT c.relkind = 'c' FROM pg_catalog.pg_class c WHERE c.oid = t.typrelid))
AND NOT EXISTS( SELECT 1 FROM pg_catalog.pg_type el WHERE el.oid = t.typelem AND el.typarray = t.oid)
AND pg_catalog.pg_type_is_visible(t.oid) AND n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema'
ORDER BY 1, 2
---
SELECT e.extname AS "Name", e.extversion AS "Version", n.nspname AS "Schema", c.description AS "Description"
FROM pg_catalog.pg_extension e LEFT JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace LEFT JOIN
pg_catalog.pg_description c ON c.objoid = e.oid AND c.classoid = 'pg_catalog.pg_extension'::pg_catalog.regclass
ORDER BY 1, 2
---
SELECT EXISTS(SELECT * FROM pg_proc WHERE proname = 'pg_tablespace_location')
---
SELECT n.spcname AS "Name", pg_catalog.pg_get_userbyid(n.spcowner) AS "Owner", pg_catalog.pg_tablespace_location(n.oid)
AS "Location" FROM pg_catalog.pg_tablespace n ORDER BY 1
---
SELECT n.nspname as "Schema", c.relname as "Name", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view'
WHEN 'm' THEN 'materialized view' WHEN 'S' THEN 'sequence' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table'
END as "Type", pg_catalog.array_to_string(c.relacl, E'
') AS "Access privileges", pg_catalog.array_to_string(ARRAY(
SELECT attname || E':
  ' || pg_catalog.array_to_string(attacl, E'
  ') FROM pg_catalog.pg_attribute a
WHERE attrelid = c.oid AND NOT attisdropped AND attacl IS NOT NULL ), E'
') AS "Column privileges", pg_catalog.array_to_string(ARRAY(
SELECT polname || CASE WHEN NOT polpermissive THEN E' (RESTRICTIVE)' ELSE '' END || CASE WHEN polcmd != '*' THEN
E' (' || polcmd || E'):' ELSE E':' END || CASE WHEN polqual IS NOT NULL THEN E'
  (u): ' || pg_catalog.pg_get_expr(polqual,
polrelid) ELSE E'' END || CASE WHEN polwithcheck IS NOT NULL THEN E'
  (c): ' || pg_catalog.pg_get_expr(polwithcheck,
polrelid) ELSE E'' END || CASE WHEN polroles <> '{0}' THEN E'
  to: ' || pg_catalog.array_to_string( ARRAY(
SELECT rolname FROM pg_catalog.pg_roles WHERE oid = ANY (polroles) ORDER BY 1 ), E', ') ELSE E'' END FROM
pg_catalog.pg_policy pol WHERE polrelid = c.oid), E'
') AS "Policies" FROM pg_catalog.pg_class c LEFT
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r','v','m','S','f','p')
AND pg_catalog.pg_table_is_visible(c.oid) AND n.nspname !~ '^pg_' ORDER BY 1, 2
---
SELECT n.nspname AS "Schema", t.typname AS "Name", pg_catalog.format_type(t.typbasetype, t.typtypmod)
AS "Type", pg_catalog.ltrim((COALESCE((SELECT (' collate ' || c.collname) FROM pg_catalog.pg_collation
AS c, pg_catalog.pg_type AS bt WHERE c.oid = t.typcollation AND bt.oid = t.typbasetype AND t.typcollation
<> bt.typcollation) , '') || CASE WHEN t.typnotnull THEN ' not null' ELSE '' END) || CASE WHEN t.typdefault
IS NOT NULL THEN(' default ' || t.typdefault) ELSE '' END) AS "Modifier", pg_catalog.array_to_string(ARRAY(
SELECT pg_catalog.pg_get_constraintdef(r.oid, TRUE) FROM pg_catalog.pg_constraint AS r WHERE t.oid
= r.contypid), ' ') AS "Check" FROM pg_catalog.pg_type AS t LEFT JOIN pg_catalog.pg_namespace AS n ON
n.oid = t.typnamespace WHERE t.typtype = 'd' AND (n.nspname <> 'pg_catalog') AND (n.nspname <> 'information_schema')
AND pg_catalog.pg_type_is_visible(t.oid) ORDER BY 1, 2
---
SELECT $1::pg_catalog.regproc::pg_catalog.oid
---
SELECT pg_catalog.pg_get_functiondef($1) as source
---
select * from orders where id = 1
---
create temp table pgcli_t(a int)
---
SELECT * FROM unnest(current_schemas(true))
---
SELECT nspname FROM pg_catalog.pg_namespace ORDER BY 1
---
SELECT n.nspname schema_name, c.relname table_name FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace
n ON n.oid = c.relnamespace WHERE c.relkind = ANY($1) ORDER BY 1,2;
---
SELECT nsp.nspname schema_name, cls.relname table_name, att.attname column_name, att.atttypid::regtype::text
type_name, att.atthasdef AS has_default, pg_catalog.pg_get_expr(def.adbin, def.adrelid, true) as
default FROM pg_catalog.pg_attribute att INNER JOIN pg_catalog.pg_class cls ON att.attrelid = cls.oid INNER
JOIN pg_catalog.pg_namespace nsp ON cls.relnamespace = nsp.oid LEFT OUTER JOIN pg_attrdef def ON def.adrelid
= att.attrelid AND def.adnum = att.attnum WHERE cls.relkind = ANY($1) AND NOT att.attisdropped AND
att.attnum > 0 ORDER BY 1, 2, att.attnum
---
SELECT s_p.nspname AS parentschema, t_p.relname AS parenttable, unnest(( select array_agg(attname ORDER
BY i) from (select unnest(confkey) as attnum, generate_subscripts(confkey, 1) as i) x JOIN pg_catalog.pg_attribute
c USING(attnum) WHERE c.attrelid = fk.confrelid )) AS parentcolumn, s_c.nspname AS childschema, t_c.relname
AS childtable, unnest(( select array_agg(attname ORDER BY i) from (select unnest(conkey) as attnum,
generate_subscripts(conkey, 1) as i) x JOIN pg_catalog.pg_attribute c USING(attnum) WHERE c.attrelid
= fk.conrelid )) AS childcolumn FROM pg_catalog.pg_constraint fk JOIN pg_catalog.pg_class t_p ON t_p.oid
= fk.confrelid JOIN pg_catalog.pg_namespace s_p ON s_p.oid = t_p.relnamespace JOIN pg_catalog.pg_class
t_c ON t_c.oid = fk.conrelid JOIN pg_catalog.pg_namespace s_c ON s_c.oid = t_c.relnamespace WHERE fk.contype
= 'f';
---
SELECT n.nspname schema_name, t.typname type_name FROM pg_catalog.pg_type t INNER JOIN pg_catalog.pg_namespace
n ON n.oid = t.typnamespace WHERE ( t.typrelid = 0 OR ( SELECT c.relkind = 'c' FROM pg_catalog.pg_class
c WHERE c.oid = t.typrelid ) ) AND NOT EXISTS( SELECT 1 FROM pg_catalog.pg_type el WHERE el.oid = t.typelem
AND el.typarray = t.oid ) AND n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' ORDER BY
1, 2;
---
SELECT d.datname FROM pg_catalog.pg_database d ORDER BY 1
---
SELECT n.nspname schema_name, p.proname func_name, p.proargnames, COALESCE(proallargtypes::regtype[],
proargtypes::regtype[])::text[], p.proargmodes, prorettype::regtype::text return_type, p.prokind
= 'a' is_aggregate, p.prokind = 'w' is_window, p.proretset is_set_returning, d.deptype = 'e' is_extension,
pg_get_expr(proargdefaults, 0) AS arg_defaults FROM pg_catalog.pg_proc p INNER JOIN pg_catalog.pg_namespace
n ON n.oid = p.pronamespace LEFT JOIN pg_depend d ON d.objid = p.oid and d.deptype = 'e' WHERE p.prorettype::regtype
!= 'trigger'::regtype ORDER BY 1, 2
---
select id,status,tags,meta,created_at,amount from orders where id=$1
---
insert into customers(id,name,email,score,born) values ($1,$2,$3,$4,$5)
---
select * from nosuch where id=$1
---
select $1::text
---
select id from orders where status = any($1) and created_at > $2 limit 3
---
select id,status,tags,meta,created_at,amount from orders where id= '7'
---
insert into customers(id,name,email,score,born) values ( '5005' , 'pgx' , 'p5@x' , '1.5' , '2026-11-30 04:16:00.747901Z'
)
---
select * from nosuch where id= '1'
---
select null ::text
---
select id from orders where status = any( '{new,paid}' ) and created_at > '1970-01-01 00:00:00Z' limit 3
---
update orders set status='paid' where id=$1
---
select count(*) from orders where customer_id=$1
---
begin isolation level repeatable read read only
---
savepoint sp_1
---
insert into customers(id,name) values (1,'dup')
---
rollback to savepoint sp_1
---
declare cur cursor for select * from orders
---
fetch 10 from cur
---
rollback
---
select "id", "customer_id", "amount", "status", "tags", "meta", "created_at" from "orders"
---
copy "orders" ( "id", "customer_id", "amount", "status", "tags", "meta", "created_at" ) from stdin binary;
---
select "id", "name", "score" from "customers"
---
copy "customers" ( "id", "name", "score" ) from stdin binary;
---
select $1::text::regtype::oid;
---
select typtype::text, typbasetype from pg_type where oid=$1
---
select $1::mood
---
WITH RECURSIVE selected_classes(oid,reltype) AS ( SELECT pg_class.oid, pg_class.reltype FROM pg_catalog.pg_class
LEFT JOIN pg_catalog.pg_namespace n ON n.oid = pg_class.relnamespace WHERE pg_catalog.pg_table_is_visible(pg_class.oid)
AND relname = ANY($1::text[]) UNION ALL SELECT pg_class.oid, pg_class.reltype FROM pg_class INNER JOIN
pg_namespace ON (pg_class.relnamespace = pg_namespace.oid) WHERE nspname || '.' || relname = ANY($1::text[])
), selected_types(oid) AS ( SELECT reltype AS oid FROM selected_classes UNION ALL SELECT pg_type.oid FROM
pg_type LEFT OUTER JOIN pg_namespace ON (pg_type.typnamespace = pg_namespace.oid) WHERE typname = ANY($1::text[])
OR nspname || '.' || typname = ANY($1::text[]) ), pc(parent, child) AS ( SELECT parent.oid, parent.typelem
FROM pg_type parent WHERE parent.typtype = 'b' AND parent.typelem != 0 AND parent.typcategory = 'A' UNION
ALL SELECT parent.oid, parent.typbasetype FROM pg_type parent WHERE parent.typtypmod = -1 AND parent.typbasetype
!= 0 UNION ALL SELECT pg_type.oid, atttypid FROM pg_attribute INNER JOIN pg_class ON (pg_class.oid = pg_attribute.attrelid)
INNER JOIN pg_type ON (pg_type.oid = pg_class.reltype) WHERE NOT attisdropped AND attnum > 0 ), relationships(parent,
child, depth) AS ( SELECT DISTINCT 0::OID, selected_types.oid, 0 FROM selected_types UNION ALL SELECT pg_type.oid
AS parent, pg_attribute.atttypid AS child, 1 FROM selected_classes c inner join pg_type ON (c.reltype =
pg_type.oid) inner join pg_attribute on (c.oid = pg_attribute.attrelid) UNION SELECT pc.parent, pc.child,
relationships.depth + 1 FROM pc INNER JOIN relationships ON (pc.parent = relationships.child) ), composite
AS ( SELECT pg_type.oid, ARRAY_AGG(attname ORDER BY attnum) AS attnames, ARRAY_AGG(atttypid ORDER BY ATTNUM)
AS atttypids FROM pg_attribute INNER JOIN pg_class ON (pg_class.oid = pg_attribute.attrelid) INNER JOIN pg_type
ON (pg_type.oid = pg_class.reltype) WHERE NOT attisdropped AND attnum > 0 GROUP BY pg_type.oid ) SELECT
typname, pg_namespace.nspname, typtype, typbasetype, typelem, typdelim, pg_type.oid, COALESCE(multirange.rngtypid,
0) AS rngtypid, COALESCE(pg_range.rngsubtype, 0) AS rngsubtype, attnames, atttypids FROM relationships
INNER JOIN pg_type ON (pg_type.oid = relationships.child) LEFT OUTER JOIN pg_range ON (pg_type.oid = pg_range.rngtypid)
LEFT OUTER JOIN pg_range multirange ON (pg_type.oid = multirange.rngmultitypid) LEFT OUTER JOIN composite
USING (oid) LEFT OUTER JOIN pg_namespace ON (pg_type.typnamespace = pg_namespace.oid) WHERE NOT (typtype
= 'b' AND NOT (typelem != 0 AND typcategory = 'A')) GROUP BY typname, pg_namespace.nspname, typtype, typbasetype,
typelem, typdelim, pg_type.oid, pg_range.rngsubtype, multirange.rngtypid, attnames, atttypids ORDER
BY MAX(depth) desc, typname;
---
listen chan1
---
select pg_notify($1,$2)
---
select $1::int + 1
---
deallocate all
---
select count(*) from orders where id>$1
---
select 1 as x
---
select * from orders where status = $1 and id in ($2,$3,$4)
---
select * from orders where id = any($1)
---
insert into customers ("id","name")values($1,$2),($3,$4) returning *
---
insert into orders(id,customer_id,meta,tags,created_at) values ($1, $2, $3, $4, $5)
---
select id from orders limit 5
---
select id, amount from orders where id=$1
---
begin read only isolation level serializable
---
select 3
---
select pg_notify($1, $2)
---
select pg_sleep(5)
---
listen "pjch"
---
unlisten "pjch"
---
SELECT c.relname, NULL::pg_catalog.text FROM pg_catalog.pg_class c WHERE c.relkind IN ('r', 'S',
'v', 'm', 'f', 'p') AND (c.relname) LIKE 'or%' AND pg_catalog.pg_table_is_visible(c.oid) AND c.relnamespace
<> (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = 'pg_catalog') UNION ALL SELECT NULL::pg_catalog.text,
n.nspname FROM pg_catalog.pg_namespace n WHERE n.nspname LIKE 'or%' AND n.nspname NOT LIKE E'pg\\_%' LIMIT
1000
---
SELECT c.relname, n.nspname FROM pg_catalog.pg_class c, pg_catalog.pg_namespace n WHERE c.relnamespace
= n.oid AND c.relkind IN ('r', 'S', 'v', 'm', 'f', 'p') AND (c.relname) LIKE '%' AND n.nspname
= 'sales' LIMIT 1000
---
SELECT a.attname, NULL::pg_catalog.text FROM pg_catalog.pg_attribute a, pg_catalog.pg_class c WHERE
c.oid = a.attrelid and a.attnum > 0 and not a.attisdropped AND (a.attname) LIKE '%' AND c.relname
= 'orders' AND pg_catalog.pg_table_is_visible(c.oid) LIMIT 1000
---
SELECT c.relname, NULL::pg_catalog.text FROM pg_catalog.pg_class c WHERE (c.relname) LIKE 'or%' AND
pg_catalog.pg_table_is_visible(c.oid) AND c.relnamespace <> (SELECT oid FROM pg_catalog.pg_namespace
WHERE nspname = 'pg_catalog') UNION ALL SELECT NULL::pg_catalog.text, n.nspname FROM pg_catalog.pg_namespace
n WHERE n.nspname LIKE 'or%' AND n.nspname NOT LIKE E'pg\\_%' LIMIT 1000
---
SELECT c.relname, n.nspname FROM pg_catalog.pg_class c, pg_catalog.pg_namespace n WHERE c.relnamespace
= n.oid AND (c.relname) LIKE '%' AND n.nspname = 'sales' LIMIT 1000
---
SELECT t.typname, NULL::pg_catalog.text FROM pg_catalog.pg_type t WHERE (t.typrelid = 0 OR (SELECT
c.relkind = 'c' FROM pg_catalog.pg_class c WHERE c.oid = t.typrelid)) AND t.typname !~ '^_' AND (t.typname)
LIKE '%' AND pg_catalog.pg_type_is_visible(t.oid) UNION ALL SELECT NULL::pg_catalog.text, n.nspname
FROM pg_catalog.pg_namespace n WHERE n.nspname LIKE '%' AND n.nspname NOT LIKE E'pg\\_%' LIMIT 1000
---
SELECT nspname FROM pg_catalog.pg_namespace WHERE nspname LIKE '%' LIMIT 1000
---
SELECT rolname FROM pg_catalog.pg_roles WHERE rolname LIKE '%' LIMIT 1000
---
SELECT datname FROM pg_catalog.pg_database WHERE datname LIKE '%' LIMIT 1000
---
SELECT spcname FROM pg_catalog.pg_tablespace WHERE spcname LIKE '%' LIMIT 1000
---
SELECT extname FROM pg_catalog.pg_extension WHERE extname LIKE '%' LIMIT 1000
---
SELECT p.proname, NULL::pg_catalog.text FROM pg_catalog.pg_proc p WHERE (p.proname) LIKE 'ad%' AND
pg_catalog.pg_function_is_visible(p.oid) UNION ALL SELECT NULL::pg_catalog.text, n.nspname FROM pg_catalog.pg_namespace
n WHERE n.nspname LIKE 'ad%' AND n.nspname NOT LIKE E'pg\\_%' LIMIT 1000
---
SELECT pg_catalog.lower(name) FROM pg_catalog.pg_settings WHERE context IN ('user', 'superuser') AND
pg_catalog.lower(name) LIKE pg_catalog.lower('ti%') LIMIT 1000
---
SELECT pg_catalog.quote_literal(name) AS name FROM pg_catalog.pg_timezone_names() WHERE pg_catalog.lower(name)
LIKE pg_catalog.lower('%') LIMIT 1000
---
SELECT name FROM pg_catalog.pg_prepared_statements WHERE name LIKE '%' LIMIT 1000
---
SELECT DISTINCT pg_catalog.pg_encoding_to_char(conforencoding) FROM pg_catalog.pg_conversion WHERE pg_catalog.pg_encoding_to_char(conforencoding)
LIKE pg_catalog.upper('%') LIMIT 1000
---
SELECT pg_catalog.quote_literal(enumlabel), NULL::pg_catalog.text FROM pg_catalog.pg_enum e, pg_catalog.pg_type
t WHERE t.oid = e.enumtypid AND (pg_catalog.quote_literal(enumlabel)) LIKE '%' AND t.typname = 'mood'
AND pg_catalog.pg_type_is_visible(t.oid) LIMIT 1000
---
SELECT e.enumlabel, NULL::pg_catalog.text FROM pg_catalog.pg_enum e, pg_catalog.pg_type t WHERE t.oid
= e.enumtypid AND (e.enumlabel) LIKE '%' AND t.typname = 'mood' AND pg_catalog.pg_type_is_visible(t.oid)
LIMIT 1000
---
SELECT name FROM pg_catalog.pg_available_extensions WHERE name LIKE '%' AND installed_version IS NULL LIMIT 1000
---
SELECT p.proname, NULL::pg_catalog.text FROM pg_catalog.pg_proc p WHERE p.prokind = 'p' AND (p.proname)
LIKE '%' AND pg_catalog.pg_function_is_visible(p.oid) UNION ALL SELECT NULL::pg_catalog.text, n.nspname
FROM pg_catalog.pg_namespace n WHERE n.nspname LIKE '%' AND n.nspname NOT LIKE E'pg\\_%' LIMIT 1000
---
SELECT name FROM pg_catalog.pg_cursors WHERE name LIKE '%' LIMIT 1000
---
SELECT tgname FROM pg_catalog.pg_trigger WHERE tgname LIKE '%' AND NOT tgisinternal LIMIT 1000
---
select pg_sleep(30);
---
select 42 as still_alive;
---
SELECT 'add_tax'::pg_catalog.regproc::pg_catalog.oid
---
SELECT pg_catalog.pg_get_functiondef(16457)
---
SELECT 'order_summary'::pg_catalog.regclass::pg_catalog.oid
---
SELECT nspname, relname, relkind, pg_catalog.pg_get_viewdef(c.oid, true), pg_catalog.array_remove(pg_catalog.array_remove(c.reloptions,'check_option=local'),'check_option=cascaded')
AS reloptions, CASE WHEN 'check_option=local' = ANY (c.reloptions) THEN 'LOCAL'::text WHEN 'check_option=cascaded'
= ANY (c.reloptions) THEN 'CASCADED'::text ELSE NULL END AS checkoption FROM pg_catalog.pg_class c LEFT
JOIN pg_catalog.pg_namespace n ON c.relnamespace = n.oid WHERE c.oid = 16419
---
SELECT CURRENT_USER
---
show password_encryption
---
ALTER USER app PASSWORD 'SCRAM-SHA-256$4096:ERcfeUDQKCfGR6WsvQXgxQ==$d5ZYaB3o7aHXUauLNIM5FaDV2ChiBbNr6dfl66GvrJU=:rxW8e3qWKbpPWqx/6EcKukt0vtGb6NDZ4VQ9FWZkdc4='
---
select version()
---
SELECT d.datname as "Name", pg_catalog.pg_get_userbyid(d.datdba) as "Owner", pg_catalog.pg_encoding_to_char(d.encoding)
as "Encoding", d.datcollate as "Collate", d.datctype as "Ctype", d.daticulocale as "ICU Locale", CASE
d.datlocprovider WHEN 'c' THEN 'libc' WHEN 'i' THEN 'icu' END AS "Locale Provider", pg_catalog.array_to_string(d.datacl,
E'\n') AS "Access privileges" FROM pg_catalog.pg_database d ORDER BY 1;
---
SELECT d.datname as "Name", pg_catalog.pg_get_userbyid(d.datdba) as "Owner", pg_catalog.pg_encoding_to_char(d.encoding)
as "Encoding", d.datcollate as "Collate", d.datctype as "Ctype", d.daticulocale as "ICU Locale", CASE
d.datlocprovider WHEN 'c' THEN 'libc' WHEN 'i' THEN 'icu' END AS "Locale Provider", pg_catalog.array_to_string(d.datacl,
E'\n') AS "Access privileges", CASE WHEN pg_catalog.has_database_privilege(d.datname, 'CONNECT') OR pg_catalog.pg_has_role('pg_read_all_stats',
'USAGE') THEN pg_catalog.pg_size_pretty(pg_catalog.pg_database_size(d.datname)) ELSE 'No Access' END
as "Size", t.spcname as "Tablespace", pg_catalog.shobj_description(d.oid, 'pg_database') as "Description"
FROM pg_catalog.pg_database d JOIN pg_catalog.pg_tablespace t on d.dattablespace = t.oid ORDER BY 1;
---
SELECT n.nspname AS "Name", pg_catalog.pg_get_userbyid(n.nspowner) AS "Owner" FROM pg_catalog.pg_namespace
n WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' ORDER BY 1;
---
SELECT n.nspname AS "Name", pg_catalog.pg_get_userbyid(n.nspowner) AS "Owner", pg_catalog.array_to_string(n.nspacl,
E'\n') AS "Access privileges", pg_catalog.obj_description(n.oid, 'pg_namespace') AS "Description" FROM
pg_catalog.pg_namespace n WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' ORDER BY 1;
---
SELECT n.nspname as "Schema", c.relname as "Name", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view'
WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN
'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type", pg_catalog.pg_get_userbyid(c.relowner)
as "Owner" FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace LEFT
JOIN pg_catalog.pg_am am ON am.oid = c.relam WHERE c.relkind IN ('r','p','') AND n.nspname <> 'pg_catalog'
AND n.nspname !~ '^pg_toast' AND n.nspname <> 'information_schema' AND pg_catalog.pg_table_is_visible(c.oid)
ORDER BY 1,2;
---
SELECT n.nspname as "Schema", c.relname as "Name", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view'
WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN
'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type", pg_catalog.pg_get_userbyid(c.relowner)
as "Owner", CASE c.relpersistence WHEN 'p' THEN 'permanent' WHEN 't' THEN 'temporary' WHEN 'u' THEN 'unlogged'
END as "Persistence", am.amname as "Access method", pg_catalog.pg_size_pretty(pg_catalog.pg_table_size(c.oid))
as "Size", pg_catalog.obj_description(c.oid, 'pg_class') as "Description" FROM pg_catalog.pg_class c
LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_catalog.pg_am am ON am.oid
= c.relam WHERE c.relkind IN ('r','p','') AND n.nspname <> 'pg_catalog' AND n.nspname !~ '^pg_toast'
AND n.nspname <> 'information_schema' AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 1,2;
---
SELECT n.nspname as "Schema", c.relname as "Name", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view'
WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN
'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type", pg_catalog.pg_get_userbyid(c.relowner)
as "Owner" FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace LEFT
JOIN pg_catalog.pg_am am ON am.oid = c.relam WHERE c.relkind IN ('r','p','t','s','') AND c.relname
OPERATOR(pg_catalog.~) '^(.*orders.*)$' COLLATE pg_catalog.default ORDER BY 1,2;
---
SELECT n.nspname as "Schema", c.relname as "Name", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view'
WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN
'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type", pg_catalog.pg_get_userbyid(c.relowner)
as "Owner" FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace LEFT
JOIN pg_catalog.pg_am am ON am.oid = c.relam WHERE c.relkind IN ('r','p','t','s','') AND n.nspname
OPERATOR(pg_catalog.~) '^(sales)$' COLLATE pg_catalog.default ORDER BY 1,2;
---
SELECT n.nspname as "Schema", c.relname as "Name", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view'
WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN
'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type", pg_catalog.pg_get_userbyid(c.relowner)
as "Owner" FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE
c.relkind IN ('v','') AND n.nspname <> 'pg_catalog' AND n.nspname !~ '^pg_toast' AND n.nspname <> 'information_schema'
AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 1,2;
---
SELECT n.nspname as "Schema", c.relname as "Name", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view'
WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN
'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type", pg_catalog.pg_get_userbyid(c.relowner)
as "Owner", CASE c.relpersistence WHEN 'p' THEN 'permanent' WHEN 't' THEN 'temporary' WHEN 'u' THEN 'unlogged'
END as "Persistence", pg_catalog.pg_size_pretty(pg_catalog.pg_table_size(c.oid)) as "Size", pg_catalog.obj_description(c.oid,
'pg_class') as "Description" FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('v','') AND n.nspname <> 'pg_catalog' AND n.nspname !~ '^pg_toast' AND n.nspname
<> 'information_schema' AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 1,2;
---
SELECT n.nspname as "Schema", c.relname as "Name", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view'
WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN
'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type", pg_catalog.pg_get_userbyid(c.relowner)
as "Owner" FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace LEFT
JOIN pg_catalog.pg_am am ON am.oid = c.relam WHERE c.relkind IN ('m','') AND n.nspname <> 'pg_catalog'
AND n.nspname !~ '^pg_toast' AND n.nspname <> 'information_schema' AND pg_catalog.pg_table_is_visible(c.oid)
ORDER BY 1,2;
---
SELECT n.nspname as "Schema", c.relname as "Name", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view'
WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN
'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type", pg_catalog.pg_get_userbyid(c.relowner)
as "Owner", CASE c.relpersistence WHEN 'p' THEN 'permanent' WHEN 't' THEN 'temporary' WHEN 'u' THEN 'unlogged'
END as "Persistence", am.amname as "Access method", pg_catalog.pg_size_pretty(pg_catalog.pg_table_size(c.oid))
as "Size", pg_catalog.obj_description(c.oid, 'pg_class') as "Description" FROM pg_catalog.pg_class c
LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_catalog.pg_am am ON am.oid
= c.relam WHERE c.relkind IN ('m','') AND n.nspname <> 'pg_catalog' AND n.nspname !~ '^pg_toast' AND
n.nspname <> 'information_schema' AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 1,2;
---
SELECT n.nspname as "Schema", c.relname as "Name", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view'
WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN
'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type", pg_catalog.pg_get_userbyid(c.relowner)
as "Owner", c2.relname as "Table" FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid
= c.relnamespace LEFT JOIN pg_catalog.pg_am am ON am.oid = c.relam LEFT JOIN pg_catalog.pg_index i ON
i.indexrelid = c.oid LEFT JOIN pg_catalog.pg_class c2 ON i.indrelid = c2.oid WHERE c.relkind IN ('i','I','')
AND n.nspname <> 'pg_catalog' AND n.nspname !~ '^pg_toast' AND n.nspname <> 'information_schema' AND pg_catalog.pg_table_is_visible(c.oid)
ORDER BY 1,2;
---
SELECT n.nspname as "Schema", c.relname as "Name", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view'
WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN
'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type", pg_catalog.pg_get_userbyid(c.relowner)
as "Owner", c2.relname as "Table", CASE c.relpersistence WHEN 'p' THEN 'permanent' WHEN 't' THEN 'temporary'
WHEN 'u' THEN 'unlogged' END as "Persistence", am.amname as "Access method", pg_catalog.pg_size_pretty(pg_catalog.pg_table_size(c.oid))
as "Size", pg_catalog.obj_description(c.oid, 'pg_class') as "Description" FROM pg_catalog.pg_class c
LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_catalog.pg_am am ON am.oid
= c.relam LEFT JOIN pg_catalog.pg_index i ON i.indexrelid = c.oid LEFT JOIN pg_catalog.pg_class c2 ON
i.indrelid = c2.oid WHERE c.relkind IN ('i','I','') AND n.nspname <> 'pg_catalog' AND n.nspname
!~ '^pg_toast' AND n.nspname <> 'information_schema' AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY
1,2;
---
SELECT n.nspname as "Schema", c.relname as "Name", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view'
WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN
'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type", pg_catalog.pg_get_userbyid(c.relowner)
as "Owner" FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE
c.relkind IN ('S','') AND n.nspname <> 'pg_catalog' AND n.nspname !~ '^pg_toast' AND n.nspname <> 'information_schema'
AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 1,2;
---
SELECT n.nspname as "Schema", c.relname as "Name", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view'
WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN
'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type", pg_catalog.pg_get_userbyid(c.relowner)
as "Owner", CASE c.relpersistence WHEN 'p' THEN 'permanent' WHEN 't' THEN 'temporary' WHEN 'u' THEN 'unlogged'
END as "Persistence", pg_catalog.pg_size_pretty(pg_catalog.pg_table_size(c.oid)) as "Size", pg_catalog.obj_description(c.oid,
'pg_class') as "Description" FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('S','') AND n.nspname <> 'pg_catalog' AND n.nspname !~ '^pg_toast' AND n.nspname
<> 'information_schema' AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 1,2;
---
SELECT n.nspname as "Schema", c.relname as "Name", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view'
WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN
'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type", pg_catalog.pg_get_userbyid(c.relowner)
as "Owner" FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace LEFT
JOIN pg_catalog.pg_am am ON am.oid = c.relam WHERE c.relkind IN ('r','p','v','m','S','f','')
AND n.nspname <> 'pg_catalog' AND n.nspname !~ '^pg_toast' AND n.nspname <> 'information_schema' AND pg_catalog.pg_table_is_visible(c.oid)
ORDER BY 1,2;
---
SELECT n.nspname as "Schema", c.relname as "Name", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view'
WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN
'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type", pg_catalog.pg_get_userbyid(c.relowner)
as "Owner", CASE c.relpersistence WHEN 'p' THEN 'permanent' WHEN 't' THEN 'temporary' WHEN 'u' THEN 'unlogged'
END as "Persistence", am.amname as "Access method", pg_catalog.pg_size_pretty(pg_catalog.pg_table_size(c.oid))
as "Size", pg_catalog.obj_description(c.oid, 'pg_class') as "Description" FROM pg_catalog.pg_class c
LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_catalog.pg_am am ON am.oid
= c.relam WHERE c.relkind IN ('r','p','v','m','S','f','') AND n.nspname <> 'pg_catalog' AND
n.nspname !~ '^pg_toast' AND n.nspname <> 'information_schema' AND pg_catalog.pg_table_is_visible(c.oid)
ORDER BY 1,2;
---
SELECT c.oid, n.nspname, c.relname FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON
n.oid = c.relnamespace WHERE c.relname OPERATOR(pg_catalog.~) '^(orders)$' COLLATE pg_catalog.default
AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 2, 3;
---
SELECT c.relchecks, c.relkind, c.relhasindex, c.relhasrules, c.relhastriggers, c.relrowsecurity,
c.relforcerowsecurity, false AS relhasoids, c.relispartition, '', c.reltablespace, CASE WHEN c.reloftype
= 0 THEN '' ELSE c.reloftype::pg_catalog.regtype::pg_catalog.text END, c.relpersistence, c.relreplident,
am.amname FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_class tc ON (c.reltoastrelid = tc.oid)
LEFT JOIN pg_catalog.pg_am am ON (c.relam = am.oid) WHERE c.oid = '16401';
---
SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), (SELECT pg_catalog.pg_get_expr(d.adbin,
d.adrelid, true) FROM pg_catalog.pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum
AND a.atthasdef), a.attnotnull, (SELECT c.collname FROM pg_catalog.pg_collation c, pg_catalog.pg_type
t WHERE c.oid = a.attcollation AND t.oid = a.atttypid AND a.attcollation <> t.typcollation) AS attcollation,
a.attidentity, a.attgenerated FROM pg_catalog.pg_attribute a WHERE a.attrelid = '16401' AND a.attnum
> 0 AND NOT a.attisdropped ORDER BY a.attnum;
---
SELECT c2.relname, i.indisprimary, i.indisunique, i.indisclustered, i.indisvalid, pg_catalog.pg_get_indexdef(i.indexrelid,
0, true), pg_catalog.pg_get_constraintdef(con.oid, true), contype, condeferrable, condeferred, i.indisreplident,
c2.reltablespace FROM pg_catalog.pg_class c, pg_catalog.pg_class c2, pg_catalog.pg_index i LEFT JOIN
pg_catalog.pg_constraint con ON (conrelid = i.indrelid AND conindid = i.indexrelid AND contype IN ('p','u','x'))
WHERE c.oid = '16401' AND c.oid = i.indrelid AND i.indexrelid = c2.oid ORDER BY i.indisprimary DESC,
c2.relname;
---
SELECT true as sametable, conname, pg_catalog.pg_get_constraintdef(r.oid, true) as condef, conrelid::pg_catalog.regclass
AS ontable FROM pg_catalog.pg_constraint r WHERE r.conrelid = '16401' AND r.contype = 'f' AND conparentid
= 0 ORDER BY conname
---
SELECT conname, conrelid::pg_catalog.regclass AS ontable, pg_catalog.pg_get_constraintdef(oid, true)
AS condef FROM pg_catalog.pg_constraint c WHERE confrelid IN (SELECT pg_catalog.pg_partition_ancestors('16401')
UNION ALL VALUES ('16401'::pg_catalog.regclass)) AND contype = 'f' AND conparentid = 0 ORDER BY conname;
---
SELECT pol.polname, pol.polpermissive, CASE WHEN pol.polroles = '{0}' THEN NULL ELSE pg_catalog.array_to_string(array(select
rolname from pg_catalog.pg_roles where oid = any (pol.polroles) order by 1),',') END, pg_catalog.pg_get_expr(pol.polqual,
pol.polrelid), pg_catalog.pg_get_expr(pol.polwithcheck, pol.polrelid), CASE pol.polcmd WHEN 'r'
THEN 'SELECT' WHEN 'a' THEN 'INSERT' WHEN 'w' THEN 'UPDATE' WHEN 'd' THEN 'DELETE' END AS cmd FROM pg_catalog.pg_policy
pol WHERE pol.polrelid = '16401' ORDER BY 1;
---
SELECT oid, stxrelid::pg_catalog.regclass, stxnamespace::pg_catalog.regnamespace::pg_catalog.text
AS nsp, stxname, pg_catalog.pg_get_statisticsobjdef_columns(oid) AS columns, 'd' = any(stxkind) AS ndist_enabled,
'f' = any(stxkind) AS deps_enabled, 'm' = any(stxkind) AS mcv_enabled, stxstattarget FROM pg_catalog.pg_statistic_ext
WHERE stxrelid = '16401' ORDER BY nsp, stxname;
---
SELECT pubname , NULL , NULL FROM pg_catalog.pg_publication p JOIN pg_catalog.pg_publication_namespace pn ON
p.oid = pn.pnpubid JOIN pg_catalog.pg_class pc ON pc.relnamespace = pn.pnnspid WHERE pc.oid ='16401'
and pg_catalog.pg_relation_is_publishable('16401') UNION SELECT pubname , pg_get_expr(pr.prqual, c.oid)
, (CASE WHEN pr.prattrs IS NOT NULL THEN (SELECT string_agg(attname, ', ') FROM pg_catalog.generate_series(0,
pg_catalog.array_upper(pr.prattrs::pg_catalog.int2[], 1)) s, pg_catalog.pg_attribute WHERE attrelid
= pr.prrelid AND attnum = prattrs[s]) ELSE NULL END) FROM pg_catalog.pg_publication p JOIN pg_catalog.pg_publication_rel
pr ON p.oid = pr.prpubid JOIN pg_catalog.pg_class c ON c.oid = pr.prrelid WHERE pr.prrelid = '16401'
UNION SELECT pubname , NULL , NULL FROM pg_catalog.pg_publication p WHERE p.puballtables AND pg_catalog.pg_relation_is_publishable('16401')
ORDER BY 1;
---
SELECT t.tgname, pg_catalog.pg_get_triggerdef(t.oid, true), t.tgenabled, t.tgisinternal, CASE
WHEN t.tgparentid != 0 THEN (SELECT u.tgrelid::pg_catalog.regclass FROM pg_catalog.pg_trigger AS u,
pg_catalog.pg_partition_ancestors(t.tgrelid) WITH ORDINALITY AS a(relid, depth) WHERE u.tgname = t.tgname
AND u.tgrelid = a.relid AND u.tgparentid = 0 ORDER BY a.depth LIMIT 1) END AS parent FROM pg_catalog.pg_trigger
t WHERE t.tgrelid = '16401' AND (NOT t.tgisinternal OR (t.tgisinternal AND t.tgenabled = 'D')) ORDER
BY 1;
---
SELECT c.oid::pg_catalog.regclass FROM pg_catalog.pg_class c, pg_catalog.pg_inherits i WHERE c.oid
= i.inhparent AND i.inhrelid = '16401' AND c.relkind != 'p' AND c.relkind != 'I' ORDER BY inhseqno;
---
SELECT c.oid::pg_catalog.regclass, c.relkind, inhdetachpending, pg_catalog.pg_get_expr(c.relpartbound,
c.oid) FROM pg_catalog.pg_class c, pg_catalog.pg_inherits i WHERE c.oid = i.inhrelid AND i.inhparent
= '16401' ORDER BY pg_catalog.pg_get_expr(c.relpartbound, c.oid) = 'DEFAULT', c.oid::pg_catalog.regclass::pg_catalog.text;
---
SELECT c.oid, n.nspname, c.relname FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON
n.oid = c.relnamespace WHERE c.relname OPERATOR(pg_catalog.~) '^(customers)$' COLLATE pg_catalog.default
AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 2, 3;
---
SELECT c.relchecks, c.relkind, c.relhasindex, c.relhasrules, c.relhastriggers, c.relrowsecurity,
c.relforcerowsecurity, false AS relhasoids, c.relispartition, '', c.reltablespace, CASE WHEN c.reloftype
= 0 THEN '' ELSE c.reloftype::pg_catalog.regtype::pg_catalog.text END, c.relpersistence, c.relreplident,
am.amname FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_class tc ON (c.reltoastrelid = tc.oid)
LEFT JOIN pg_catalog.pg_am am ON (c.relam = am.oid) WHERE c.oid = '16391';
---
SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), (SELECT pg_catalog.pg_get_expr(d.adbin,
d.adrelid, true) FROM pg_catalog.pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum
AND a.atthasdef), a.attnotnull, (SELECT c.collname FROM pg_catalog.pg_collation c, pg_catalog.pg_type
t WHERE c.oid = a.attcollation AND t.oid = a.atttypid AND a.attcollation <> t.typcollation) AS attcollation,
a.attidentity, a.attgenerated FROM pg_catalog.pg_attribute a WHERE a.attrelid = '16391' AND a.attnum
> 0 AND NOT a.attisdropped ORDER BY a.attnum;
---
SELECT c2.relname, i.indisprimary, i.indisunique, i.indisclustered, i.indisvalid, pg_catalog.pg_get_indexdef(i.indexrelid,
0, true), pg_catalog.pg_get_constraintdef(con.oid, true), contype, condeferrable, condeferred, i.indisreplident,
c2.reltablespace FROM pg_catalog.pg_class c, pg_catalog.pg_class c2, pg_catalog.pg_index i LEFT JOIN
pg_catalog.pg_constraint con ON (conrelid = i.indrelid AND conindid = i.indexrelid AND contype IN ('p','u','x'))
WHERE c.oid = '16391' AND c.oid = i.indrelid AND i.indexrelid = c2.oid ORDER BY i.indisprimary DESC,
c2.relname;
---
SELECT true as sametable, conname, pg_catalog.pg_get_constraintdef(r.oid, true) as condef, conrelid::pg_catalog.regclass
AS ontable FROM pg_catalog.pg_constraint r WHERE r.conrelid = '16391' AND r.contype = 'f' AND conparentid
= 0 ORDER BY conname
---
SELECT conname, conrelid::pg_catalog.regclass AS ontable, pg_catalog.pg_get_constraintdef(oid, true)
AS condef FROM pg_catalog.pg_constraint c WHERE confrelid IN (SELECT pg_catalog.pg_partition_ancestors('16391')
UNION ALL VALUES ('16391'::pg_catalog.regclass)) AND contype = 'f' AND conparentid = 0 ORDER BY conname;
---
SELECT pol.polname, pol.polpermissive, CASE WHEN pol.polroles = '{0}' THEN NULL ELSE pg_catalog.array_to_string(array(select
rolname from pg_catalog.pg_roles where oid = any (pol.polroles) order by 1),',') END, pg_catalog.pg_get_expr(pol.polqual,
pol.polrelid), pg_catalog.pg_get_expr(pol.polwithcheck, pol.polrelid), CASE pol.polcmd WHEN 'r'
THEN 'SELECT' WHEN 'a' THEN 'INSERT' WHEN 'w' THEN 'UPDATE' WHEN 'd' THEN 'DELETE' END AS cmd FROM pg_catalog.pg_policy
pol WHERE pol.polrelid = '16391' ORDER BY 1;
---
SELECT oid, stxrelid::pg_catalog.regclass, stxnamespace::pg_catalog.regnamespace::pg_catalog.text
AS nsp, stxname, pg_catalog.pg_get_statisticsobjdef_columns(oid) AS columns, 'd' = any(stxkind) AS ndist_enabled,
'f' = any(stxkind) AS deps_enabled, 'm' = any(stxkind) AS mcv_enabled, stxstattarget FROM pg_catalog.pg_statistic_ext
WHERE stxrelid = '16391' ORDER BY nsp, stxname;
---
SELECT pubname , NULL , NULL FROM pg_catalog.pg_publication p JOIN pg_catalog.pg_publication_namespace pn ON
p.oid = pn.pnpubid JOIN pg_catalog.pg_class pc ON pc.relnamespace = pn.pnnspid WHERE pc.oid ='16391'
and pg_catalog.pg_relation_is_publishable('16391') UNION SELECT pubname , pg_get_expr(pr.prqual, c.oid)
, (CASE WHEN pr.prattrs IS NOT NULL THEN (SELECT string_agg(attname, ', ') FROM pg_catalog.generate_series(0,
pg_catalog.array_upper(pr.prattrs::pg_catalog.int2[], 1)) s, pg_catalog.pg_attribute WHERE attrelid
= pr.prrelid AND attnum = prattrs[s]) ELSE NULL END) FROM pg_catalog.pg_publication p JOIN pg_catalog.pg_publication_rel
pr ON p.oid = pr.prpubid JOIN pg_catalog.pg_class c ON c.oid = pr.prrelid WHERE pr.prrelid = '16391'
UNION SELECT pubname , NULL , NULL FROM pg_catalog.pg_publication p WHERE p.puballtables AND pg_catalog.pg_relation_is_publishable('16391')
ORDER BY 1;
---
SELECT t.tgname, pg_catalog.pg_get_triggerdef(t.oid, true), t.tgenabled, t.tgisinternal, CASE
WHEN t.tgparentid != 0 THEN (SELECT u.tgrelid::pg_catalog.regclass FROM pg_catalog.pg_trigger AS u,
pg_catalog.pg_partition_ancestors(t.tgrelid) WITH ORDINALITY AS a(relid, depth) WHERE u.tgname = t.tgname
AND u.tgrelid = a.relid AND u.tgparentid = 0 ORDER BY a.depth LIMIT 1) END AS parent FROM pg_catalog.pg_trigger
t WHERE t.tgrelid = '16391' AND (NOT t.tgisinternal OR (t.tgisinternal AND t.tgenabled = 'D')) ORDER
BY 1;
---
SELECT c.oid::pg_catalog.regclass FROM pg_catalog.pg_class c, pg_catalog.pg_inherits i WHERE c.oid
= i.inhparent AND i.inhrelid = '16391' AND c.relkind != 'p' AND c.relkind != 'I' ORDER BY inhseqno;
---
SELECT c.oid::pg_catalog.regclass, c.relkind, inhdetachpending, pg_catalog.pg_get_expr(c.relpartbound,
c.oid) FROM pg_catalog.pg_class c, pg_catalog.pg_inherits i WHERE c.oid = i.inhrelid AND i.inhparent
= '16391' ORDER BY pg_catalog.pg_get_expr(c.relpartbound, c.oid) = 'DEFAULT', c.oid::pg_catalog.regclass::pg_catalog.text;
---
SELECT c.oid, n.nspname, c.relname FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON
n.oid = c.relnamespace WHERE c.relname OPERATOR(pg_catalog.~) '^(order_summary)$' COLLATE pg_catalog.default
AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 2, 3;
---
SELECT c.relchecks, c.relkind, c.relhasindex, c.relhasrules, c.relhastriggers, c.relrowsecurity,
c.relforcerowsecurity, false AS relhasoids, c.relispartition, '', c.reltablespace, CASE WHEN c.reloftype
= 0 THEN '' ELSE c.reloftype::pg_catalog.regtype::pg_catalog.text END, c.relpersistence, c.relreplident,
am.amname FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_class tc ON (c.reltoastrelid = tc.oid)
LEFT JOIN pg_catalog.pg_am am ON (c.relam = am.oid) WHERE c.oid = '16419';
---
SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), (SELECT pg_catalog.pg_get_expr(d.adbin,
d.adrelid, true) FROM pg_catalog.pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum
AND a.atthasdef), a.attnotnull, (SELECT c.collname FROM pg_catalog.pg_collation c, pg_catalog.pg_type
t WHERE c.oid = a.attcollation AND t.oid = a.atttypid AND a.attcollation <> t.typcollation) AS attcollation,
a.attidentity, a.attgenerated FROM pg_catalog.pg_attribute a WHERE a.attrelid = '16419' AND a.attnum
> 0 AND NOT a.attisdropped ORDER BY a.attnum;
---
SELECT c.oid, n.nspname, c.relname FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON
n.oid = c.relnamespace WHERE c.relname OPERATOR(pg_catalog.~) '^(daily_revenue)$' COLLATE pg_catalog.default
AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 2, 3;
---
SELECT c.relchecks, c.relkind, c.relhasindex, c.relhasrules, c.relhastriggers, c.relrowsecurity,
c.relforcerowsecurity, false AS relhasoids, c.relispartition, '', c.reltablespace, CASE WHEN c.reloftype
= 0 THEN '' ELSE c.reloftype::pg_catalog.regtype::pg_catalog.text END, c.relpersistence, c.relreplident,
am.amname FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_class tc ON (c.reltoastrelid = tc.oid)
LEFT JOIN pg_catalog.pg_am am ON (c.relam = am.oid) WHERE c.oid = '16424';
---
SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), (SELECT pg_catalog.pg_get_expr(d.adbin,
d.adrelid, true) FROM pg_catalog.pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum
AND a.atthasdef), a.attnotnull, (SELECT c.collname FROM pg_catalog.pg_collation c, pg_catalog.pg_type
t WHERE c.oid = a.attcollation AND t.oid = a.atttypid AND a.attcollation <> t.typcollation) AS attcollation,
a.attidentity, a.attgenerated FROM pg_catalog.pg_attribute a WHERE a.attrelid = '16424' AND a.attnum
> 0 AND NOT a.attisdropped ORDER BY a.attnum;
---
SELECT c2.relname, i.indisprimary, i.indisunique, i.indisclustered, i.indisvalid, pg_catalog.pg_get_indexdef(i.indexrelid,
0, true), pg_catalog.pg_get_constraintdef(con.oid, true), contype, condeferrable, condeferred, i.indisreplident,
c2.reltablespace FROM pg_catalog.pg_class c, pg_catalog.pg_class c2, pg_catalog.pg_index i LEFT JOIN
pg_catalog.pg_constraint con ON (conrelid = i.indrelid AND conindid = i.indexrelid AND contype IN ('p','u','x'))
WHERE c.oid = '16424' AND c.oid = i.indrelid AND i.indexrelid = c2.oid ORDER BY i.indisprimary DESC,
c2.relname;
---
SELECT pol.polname, pol.polpermissive, CASE WHEN pol.polroles = '{0}' THEN NULL ELSE pg_catalog.array_to_string(array(select
rolname from pg_catalog.pg_roles where oid = any (pol.polroles) order by 1),',') END, pg_catalog.pg_get_expr(pol.polqual,
pol.polrelid), pg_catalog.pg_get_expr(pol.polwithcheck, pol.polrelid), CASE pol.polcmd WHEN 'r'
THEN 'SELECT' WHEN 'a' THEN 'INSERT' WHEN 'w' THEN 'UPDATE' WHEN 'd' THEN 'DELETE' END AS cmd FROM pg_catalog.pg_policy
pol WHERE pol.polrelid = '16424' ORDER BY 1;
---
SELECT oid, stxrelid::pg_catalog.regclass, stxnamespace::pg_catalog.regnamespace::pg_catalog.text
AS nsp, stxname, pg_catalog.pg_get_statisticsobjdef_columns(oid) AS columns, 'd' = any(stxkind) AS ndist_enabled,
'f' = any(stxkind) AS deps_enabled, 'm' = any(stxkind) AS mcv_enabled, stxstattarget FROM pg_catalog.pg_statistic_ext
WHERE stxrelid = '16424' ORDER BY nsp, stxname;
---
SELECT pubname , NULL , NULL FROM pg_catalog.pg_publication p JOIN pg_catalog.pg_publication_namespace pn ON
p.oid = pn.pnpubid JOIN pg_catalog.pg_class pc ON pc.relnamespace = pn.pnnspid WHERE pc.oid ='16424'
and pg_catalog.pg_relation_is_publishable('16424') UNION SELECT pubname , pg_get_expr(pr.prqual, c.oid)
, (CASE WHEN pr.prattrs IS NOT NULL THEN (SELECT string_agg(attname, ', ') FROM pg_catalog.generate_series(0,
pg_catalog.array_upper(pr.prattrs::pg_catalog.int2[], 1)) s, pg_catalog.pg_attribute WHERE attrelid
= pr.prrelid AND attnum = prattrs[s]) ELSE NULL END) FROM pg_catalog.pg_publication p JOIN pg_catalog.pg_publication_rel
pr ON p.oid = pr.prpubid JOIN pg_catalog.pg_class c ON c.oid = pr.prrelid WHERE pr.prrelid = '16424'
UNION SELECT pubname , NULL , NULL FROM pg_catalog.pg_publication p WHERE p.puballtables AND pg_catalog.pg_relation_is_publishable('16424')
ORDER BY 1;
---
SELECT c.oid::pg_catalog.regclass FROM pg_catalog.pg_class c, pg_catalog.pg_inherits i WHERE c.oid
= i.inhparent AND i.inhrelid = '16424' AND c.relkind != 'p' AND c.relkind != 'I' ORDER BY inhseqno;
---
SELECT c.oid::pg_catalog.regclass, c.relkind, inhdetachpending, pg_catalog.pg_get_expr(c.relpartbound,
c.oid) FROM pg_catalog.pg_class c, pg_catalog.pg_inherits i WHERE c.oid = i.inhrelid AND i.inhparent
= '16424' ORDER BY pg_catalog.pg_get_expr(c.relpartbound, c.oid) = 'DEFAULT', c.oid::pg_catalog.regclass::pg_catalog.text;
---
SELECT c.oid, n.nspname, c.relname FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON
n.oid = c.relnamespace WHERE c.relname OPERATOR(pg_catalog.~) '^(orders_pkey)$' COLLATE pg_catalog.default
AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 2, 3;
---
SELECT c.relchecks, c.relkind, c.relhasindex, c.relhasrules, c.relhastriggers, c.relrowsecurity,
c.relforcerowsecurity, false AS relhasoids, c.relispartition, '', c.reltablespace, CASE WHEN c.reloftype
= 0 THEN '' ELSE c.reloftype::pg_catalog.regtype::pg_catalog.text END, c.relpersistence, c.relreplident,
am.amname FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_class tc ON (c.reltoastrelid = tc.oid)
LEFT JOIN pg_catalog.pg_am am ON (c.relam = am.oid) WHERE c.oid = '16410';
---
SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), CASE WHEN a.attnum <= (SELECT
i.indnkeyatts FROM pg_catalog.pg_index i WHERE i.indexrelid = '16410') THEN 'yes' ELSE 'no' END AS is_key,
pg_catalog.pg_get_indexdef(a.attrelid, a.attnum, TRUE) AS indexdef FROM pg_catalog.pg_attribute a
WHERE a.attrelid = '16410' AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum;
---
SELECT i.indisunique, i.indisprimary, i.indisclustered, i.indisvalid, (NOT i.indimmediate) AND
EXISTS (SELECT 1 FROM pg_catalog.pg_constraint WHERE conrelid = i.indrelid AND conindid = i.indexrelid AND
contype IN ('p','u','x') AND condeferrable) AS condeferrable, (NOT i.indimmediate) AND EXISTS (SELECT
1 FROM pg_catalog.pg_constraint WHERE conrelid = i.indrelid AND conindid = i.indexrelid AND contype IN ('p','u','x')
AND condeferred) AS condeferred, i.indisreplident, i.indnullsnotdistinct, a.amname, c2.relname, pg_catalog.pg_get_expr(i.indpred,
i.indrelid, true) FROM pg_catalog.pg_index i, pg_catalog.pg_class c, pg_catalog.pg_class c2, pg_catalog.pg_am
a WHERE i.indexrelid = c.oid AND c.oid = '16410' AND c.relam = a.oid AND i.indrelid = c2.oid;
---
SELECT c.oid, n.nspname, c.relname FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON
n.oid = c.relnamespace WHERE c.relname OPERATOR(pg_catalog.~) '^(orders_status_created_idx)$' COLLATE
pg_catalog.default AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 2, 3;
---
SELECT c.relchecks, c.relkind, c.relhasindex, c.relhasrules, c.relhastriggers, c.relrowsecurity,
c.relforcerowsecurity, false AS relhasoids, c.relispartition, '', c.reltablespace, CASE WHEN c.reloftype
= 0 THEN '' ELSE c.reloftype::pg_catalog.regtype::pg_catalog.text END, c.relpersistence, c.relreplident,
am.amname FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_class tc ON (c.reltoastrelid = tc.oid)
LEFT JOIN pg_catalog.pg_am am ON (c.relam = am.oid) WHERE c.oid = '16418';
---
SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), CASE WHEN a.attnum <= (SELECT
i.indnkeyatts FROM pg_catalog.pg_index i WHERE i.indexrelid = '16418') THEN 'yes' ELSE 'no' END AS is_key,
pg_catalog.pg_get_indexdef(a.attrelid, a.attnum, TRUE) AS indexdef FROM pg_catalog.pg_attribute a
WHERE a.attrelid = '16418' AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum;
---
SELECT i.indisunique, i.indisprimary, i.indisclustered, i.indisvalid, (NOT i.indimmediate) AND
EXISTS (SELECT 1 FROM pg_catalog.pg_constraint WHERE conrelid = i.indrelid AND conindid = i.indexrelid AND
contype IN ('p','u','x') AND condeferrable) AS condeferrable, (NOT i.indimmediate) AND EXISTS (SELECT
1 FROM pg_catalog.pg_constraint WHERE conrelid = i.indrelid AND conindid = i.indexrelid AND contype IN ('p','u','x')
AND condeferred) AS condeferred, i.indisreplident, i.indnullsnotdistinct, a.amname, c2.relname, pg_catalog.pg_get_expr(i.indpred,
i.indrelid, true) FROM pg_catalog.pg_index i, pg_catalog.pg_class c, pg_catalog.pg_class c2, pg_catalog.pg_am
a WHERE i.indexrelid = c.oid AND c.oid = '16418' AND c.relam = a.oid AND i.indrelid = c2.oid;
---
SELECT c.oid, n.nspname, c.relname FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON
n.oid = c.relnamespace WHERE c.relname OPERATOR(pg_catalog.~) '^(order_no_seq)$' COLLATE pg_catalog.default
AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 2, 3;
---
SELECT c.relchecks, c.relkind, c.relhasindex, c.relhasrules, c.relhastriggers, c.relrowsecurity,
c.relforcerowsecurity, false AS relhasoids, c.relispartition, '', c.reltablespace, CASE WHEN c.reloftype
= 0 THEN '' ELSE c.reloftype::pg_catalog.regtype::pg_catalog.text END, c.relpersistence, c.relreplident,
am.amname FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_class tc ON (c.reltoastrelid = tc.oid)
LEFT JOIN pg_catalog.pg_am am ON (c.relam = am.oid) WHERE c.oid = '16449';
---
SELECT pg_catalog.format_type(seqtypid, NULL) AS "Type", seqstart AS "Start", seqmin AS "Minimum", seqmax
AS "Maximum", seqincrement AS "Increment", CASE WHEN seqcycle THEN 'yes' ELSE 'no' END AS "Cycles?", seqcache
AS "Cache" FROM pg_catalog.pg_sequence WHERE seqrelid = '16449';
---
SELECT pg_catalog.quote_ident(nspname) || '.' || pg_catalog.quote_ident(relname) || '.' || pg_catalog.quote_ident(attname),
d.deptype FROM pg_catalog.pg_class c INNER JOIN pg_catalog.pg_depend d ON c.oid=d.refobjid INNER JOIN
pg_catalog.pg_namespace n ON n.oid=c.relnamespace INNER JOIN pg_catalog.pg_attribute a ON ( a.attrelid=c.oid
AND a.attnum=d.refobjsubid) WHERE d.classid='pg_catalog.pg_class'::pg_catalog.regclass AND d.refclassid='pg_catalog.pg_class'::pg_catalog.regclass
AND d.objid='16449' AND d.deptype IN ('a', 'i')
---
SELECT c.oid, n.nspname, c.relname FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON
n.oid = c.relnamespace WHERE c.relname OPERATOR(pg_catalog.~) '^(regions)$' COLLATE pg_catalog.default
AND n.nspname OPERATOR(pg_catalog.~) '^(sales)$' COLLATE pg_catalog.default ORDER BY 2, 3;
---
SELECT c.relchecks, c.relkind, c.relhasindex, c.relhasrules, c.relhastriggers, c.relrowsecurity,
c.relforcerowsecurity, false AS relhasoids, c.relispartition, '', c.reltablespace, CASE WHEN c.reloftype
= 0 THEN '' ELSE c.reloftype::pg_catalog.regtype::pg_catalog.text END, c.relpersistence, c.relreplident,
am.amname FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_class tc ON (c.reltoastrelid = tc.oid)
LEFT JOIN pg_catalog.pg_am am ON (c.relam = am.oid) WHERE c.oid = '16432';
---
SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), (SELECT pg_catalog.pg_get_expr(d.adbin,
d.adrelid, true) FROM pg_catalog.pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum
AND a.atthasdef), a.attnotnull, (SELECT c.collname FROM pg_catalog.pg_collation c, pg_catalog.pg_type
t WHERE c.oid = a.attcollation AND t.oid = a.atttypid AND a.attcollation <> t.typcollation) AS attcollation,
a.attidentity, a.attgenerated FROM pg_catalog.pg_attribute a WHERE a.attrelid = '16432' AND a.attnum
> 0 AND NOT a.attisdropped ORDER BY a.attnum;
---
SELECT c2.relname, i.indisprimary, i.indisunique, i.indisclustered, i.indisvalid, pg_catalog.pg_get_indexdef(i.indexrelid,
0, true), pg_catalog.pg_get_constraintdef(con.oid, true), contype, condeferrable, condeferred, i.indisreplident,
c2.reltablespace FROM pg_catalog.pg_class c, pg_catalog.pg_class c2, pg_catalog.pg_index i LEFT JOIN
pg_catalog.pg_constraint con ON (conrelid = i.indrelid AND conindid = i.indexrelid AND contype IN ('p','u','x'))
WHERE c.oid = '16432' AND c.oid = i.indrelid AND i.indexrelid = c2.oid ORDER BY i.indisprimary DESC,
c2.relname;
---
SELECT true as sametable, conname, pg_catalog.pg_get_constraintdef(r.oid, true) as condef, conrelid::pg_catalog.regclass
AS ontable FROM pg_catalog.pg_constraint r WHERE r.conrelid = '16432' AND r.contype = 'f' AND conparentid
= 0 ORDER BY conname
---
SELECT conname, conrelid::pg_catalog.regclass AS ontable, pg_catalog.pg_get_constraintdef(oid, true)
AS condef FROM pg_catalog.pg_constraint c WHERE confrelid IN (SELECT pg_catalog.pg_partition_ancestors('16432')
UNION ALL VALUES ('16432'::pg_catalog.regclass)) AND contype = 'f' AND conparentid = 0 ORDER BY conname;
---
SELECT pol.polname, pol.polpermissive, CASE WHEN pol.polroles = '{0}' THEN NULL ELSE pg_catalog.array_to_string(array(select
rolname from pg_catalog.pg_roles where oid = any (pol.polroles) order by 1),',') END, pg_catalog.pg_get_expr(pol.polqual,
pol.polrelid), pg_catalog.pg_get_expr(pol.polwithcheck, pol.polrelid), CASE pol.polcmd WHEN 'r'
THEN 'SELECT' WHEN 'a' THEN 'INSERT' WHEN 'w' THEN 'UPDATE' WHEN 'd' THEN 'DELETE' END AS cmd FROM pg_catalog.pg_policy
pol WHERE pol.polrelid = '16432' ORDER BY 1;
---
SELECT oid, stxrelid::pg_catalog.regclass, stxnamespace::pg_catalog.regnamespace::pg_catalog.text
AS nsp, stxname, pg_catalog.pg_get_statisticsobjdef_columns(oid) AS columns, 'd' = any(stxkind) AS ndist_enabled,
'f' = any(stxkind) AS deps_enabled, 'm' = any(stxkind) AS mcv_enabled, stxstattarget FROM pg_catalog.pg_statistic_ext
WHERE stxrelid = '16432' ORDER BY nsp, stxname;
---
SELECT pubname , NULL , NULL FROM pg_catalog.pg_publication p JOIN pg_catalog.pg_publication_namespace pn ON
p.oid = pn.pnpubid JOIN pg_catalog.pg_class pc ON pc.relnamespace = pn.pnnspid WHERE pc.oid ='16432'
and pg_catalog.pg_relation_is_publishable('16432') UNION SELECT pubname , pg_get_expr(pr.prqual, c.oid)
, (CASE WHEN pr.prattrs IS NOT NULL THEN (SELECT string_agg(attname, ', ') FROM pg_catalog.generate_series(0,
pg_catalog.array_upper(pr.prattrs::pg_catalog.int2[], 1)) s, pg_catalog.pg_attribute WHERE attrelid
= pr.prrelid AND attnum = prattrs[s]) ELSE NULL END) FROM pg_catalog.pg_publication p JOIN pg_catalog.pg_publication_rel
pr ON p.oid = pr.prpubid JOIN pg_catalog.pg_class c ON c.oid = pr.prrelid WHERE pr.prrelid = '16432'
UNION SELECT pubname , NULL , NULL FROM pg_catalog.pg_publication p WHERE p.puballtables AND pg_catalog.pg_relation_is_publishable('16432')
ORDER BY 1;
---
SELECT t.tgname, pg_catalog.pg_get_triggerdef(t.oid, true), t.tgenabled, t.tgisinternal, CASE
WHEN t.tgparentid != 0 THEN (SELECT u.tgrelid::pg_catalog.regclass FROM pg_catalog.pg_trigger AS u,
pg_catalog.pg_partition_ancestors(t.tgrelid) WITH ORDINALITY AS a(relid, depth) WHERE u.tgname = t.tgname
AND u.tgrelid = a.relid AND u.tgparentid = 0 ORDER BY a.depth LIMIT 1) END AS parent FROM pg_catalog.pg_trigger
t WHERE t.tgrelid = '16432' AND (NOT t.tgisinternal OR (t.tgisinternal AND t.tgenabled = 'D')) ORDER
BY 1;
---
SELECT c.oid::pg_catalog.regclass FROM pg_catalog.pg_class c, pg_catalog.pg_inherits i WHERE c.oid
= i.inhparent AND i.inhrelid = '16432' AND c.relkind != 'p' AND c.relkind != 'I' ORDER BY inhseqno;
---
SELECT c.oid::pg_catalog.regclass, c.relkind, inhdetachpending, pg_catalog.pg_get_expr(c.relpartbound,
c.oid) FROM pg_catalog.pg_class c, pg_catalog.pg_inherits i WHERE c.oid = i.inhrelid AND i.inhparent
= '16432' ORDER BY pg_catalog.pg_get_expr(c.relpartbound, c.oid) = 'DEFAULT', c.oid::pg_catalog.regclass::pg_catalog.text;
---
SELECT c.oid, n.nspname, c.relname FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON
n.oid = c.relnamespace WHERE n.nspname OPERATOR(pg_catalog.~) '^(sales)$' COLLATE pg_catalog.default
ORDER BY 2, 3;
---
SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), CASE WHEN a.attnum <= (SELECT
i.indnkeyatts FROM pg_catalog.pg_index i WHERE i.indexrelid = '16438') THEN 'yes' ELSE 'no' END AS is_key,
pg_catalog.pg_get_indexdef(a.attrelid, a.attnum, TRUE) AS indexdef FROM pg_catalog.pg_attribute a
WHERE a.attrelid = '16438' AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum;
---
SELECT i.indisunique, i.indisprimary, i.indisclustered, i.indisvalid, (NOT i.indimmediate) AND
EXISTS (SELECT 1 FROM pg_catalog.pg_constraint WHERE conrelid = i.indrelid AND conindid = i.indexrelid AND
contype IN ('p','u','x') AND condeferrable) AS condeferrable, (NOT i.indimmediate) AND EXISTS (SELECT
1 FROM pg_catalog.pg_constraint WHERE conrelid = i.indrelid AND conindid = i.indexrelid AND contype IN ('p','u','x')
AND condeferred) AS condeferred, i.indisreplident, i.indnullsnotdistinct, a.amname, c2.relname, pg_catalog.pg_get_expr(i.indpred,
i.indrelid, true) FROM pg_catalog.pg_index i, pg_catalog.pg_class c, pg_catalog.pg_class c2, pg_catalog.pg_am
a WHERE i.indexrelid = c.oid AND c.oid = '16438' AND c.relam = a.oid AND i.indrelid = c2.oid;
---
SELECT pg_catalog.format_type(seqtypid, NULL) AS "Type", seqstart AS "Start", seqmin AS "Minimum", seqmax
AS "Maximum", seqincrement AS "Increment", CASE WHEN seqcycle THEN 'yes' ELSE 'no' END AS "Cycles?", seqcache
AS "Cache" FROM pg_catalog.pg_sequence WHERE seqrelid = '16431';
---
SELECT pg_catalog.quote_ident(nspname) || '.' || pg_catalog.quote_ident(relname) || '.' || pg_catalog.quote_ident(attname),
d.deptype FROM pg_catalog.pg_class c INNER JOIN pg_catalog.pg_depend d ON c.oid=d.refobjid INNER JOIN
pg_catalog.pg_namespace n ON n.oid=c.relnamespace INNER JOIN pg_catalog.pg_attribute a ON ( a.attrelid=c.oid
AND a.attnum=d.refobjsubid) WHERE d.classid='pg_catalog.pg_class'::pg_catalog.regclass AND d.refclassid='pg_catalog.pg_class'::pg_catalog.regclass
AND d.objid='16431' AND d.deptype IN ('a', 'i')
---
SELECT c.oid, n.nspname, c.relname FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON
n.oid = c.relnamespace WHERE c.relname OPERATOR(pg_catalog.~) '^(nosuch)$' COLLATE pg_catalog.default
AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 2, 3;
---
SELECT c.relchecks, c.relkind, c.relhasindex, c.relhasrules, c.relhastriggers, c.relrowsecurity,
c.relforcerowsecurity, false AS relhasoids, c.relispartition, pg_catalog.array_to_string(c.reloptions
|| array(select 'toast.' || x from pg_catalog.unnest(tc.reloptions) x), ', ') , c.reltablespace,
CASE WHEN c.reloftype = 0 THEN '' ELSE c.reloftype::pg_catalog.regtype::pg_catalog.text END, c.relpersistence,
c.relreplident, am.amname FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_class tc ON (c.reltoastrelid
= tc.oid) LEFT JOIN pg_catalog.pg_am am ON (c.relam = am.oid) WHERE c.oid = '16401';
---
SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), (SELECT pg_catalog.pg_get_expr(d.adbin,
d.adrelid, true) FROM pg_catalog.pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum
AND a.atthasdef), a.attnotnull, (SELECT c.collname FROM pg_catalog.pg_collation c, pg_catalog.pg_type
t WHERE c.oid = a.attcollation AND t.oid = a.atttypid AND a.attcollation <> t.typcollation) AS attcollation,
a.attidentity, a.attgenerated, a.attstorage, a.attcompression AS attcompression, CASE WHEN a.attstattarget=-1
THEN NULL ELSE a.attstattarget END AS attstattarget, pg_catalog.col_description(a.attrelid, a.attnum)
FROM pg_catalog.pg_attribute a WHERE a.attrelid = '16401' AND a.attnum > 0 AND NOT a.attisdropped ORDER
BY a.attnum;
---
SELECT c.relchecks, c.relkind, c.relhasindex, c.relhasrules, c.relhastriggers, c.relrowsecurity,
c.relforcerowsecurity, false AS relhasoids, c.relispartition, pg_catalog.array_to_string(c.reloptions
|| array(select 'toast.' || x from pg_catalog.unnest(tc.reloptions) x), ', ') , c.reltablespace,
CASE WHEN c.reloftype = 0 THEN '' ELSE c.reloftype::pg_catalog.regtype::pg_catalog.text END, c.relpersistence,
c.relreplident, am.amname FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_class tc ON (c.reltoastrelid
= tc.oid) LEFT JOIN pg_catalog.pg_am am ON (c.relam = am.oid) WHERE c.oid = '16391';
---
SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), (SELECT pg_catalog.pg_get_expr(d.adbin,
d.adrelid, true) FROM pg_catalog.pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum
AND a.atthasdef), a.attnotnull, (SELECT c.collname FROM pg_catalog.pg_collation c, pg_catalog.pg_type
t WHERE c.oid = a.attcollation AND t.oid = a.atttypid AND a.attcollation <> t.typcollation) AS attcollation,
a.attidentity, a.attgenerated, a.attstorage, a.attcompression AS attcompression, CASE WHEN a.attstattarget=-1
THEN NULL ELSE a.attstattarget END AS attstattarget, pg_catalog.col_description(a.attrelid, a.attnum)
FROM pg_catalog.pg_attribute a WHERE a.attrelid = '16391' AND a.attnum > 0 AND NOT a.attisdropped ORDER
BY a.attnum;
---
SELECT c.relchecks, c.relkind, c.relhasindex, c.relhasrules, c.relhastriggers, c.relrowsecurity,
c.relforcerowsecurity, false AS relhasoids, c.relispartition, pg_catalog.array_to_string(c.reloptions
|| array(select 'toast.' || x from pg_catalog.unnest(tc.reloptions) x), ', ') , c.reltablespace,
CASE WHEN c.reloftype = 0 THEN '' ELSE c.reloftype::pg_catalog.regtype::pg_catalog.text END, c.relpersistence,
c.relreplident, am.amname FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_class tc ON (c.reltoastrelid
= tc.oid) LEFT JOIN pg_catalog.pg_am am ON (c.relam = am.oid) WHERE c.oid = '16419';
---
SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), (SELECT pg_catalog.pg_get_expr(d.adbin,
d.adrelid, true) FROM pg_catalog.pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum
AND a.atthasdef), a.attnotnull, (SELECT c.collname FROM pg_catalog.pg_collation c, pg_catalog.pg_type
t WHERE c.oid = a.attcollation AND t.oid = a.atttypid AND a.attcollation <> t.typcollation) AS attcollation,
a.attidentity, a.attgenerated, a.attstorage, pg_catalog.col_description(a.attrelid, a.attnum)
FROM pg_catalog.pg_attribute a WHERE a.attrelid = '16419' AND a.attnum > 0 AND NOT a.attisdropped ORDER
BY a.attnum;
---
SELECT pg_catalog.pg_get_viewdef('16419'::pg_catalog.oid, true);
---
SELECT r.rulename, trim(trailing ';' from pg_catalog.pg_get_ruledef(r.oid, true)) FROM pg_catalog.pg_rewrite
r WHERE r.ev_class = '16419' AND r.rulename != '_RETURN' ORDER BY 1;
---
SELECT c.relchecks, c.relkind, c.relhasindex, c.relhasrules, c.relhastriggers, c.relrowsecurity,
c.relforcerowsecurity, false AS relhasoids, c.relispartition, pg_catalog.array_to_string(c.reloptions
|| array(select 'toast.' || x from pg_catalog.unnest(tc.reloptions) x), ', ') , c.reltablespace,
CASE WHEN c.reloftype = 0 THEN '' ELSE c.reloftype::pg_catalog.regtype::pg_catalog.text END, c.relpersistence,
c.relreplident, am.amname FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_class tc ON (c.reltoastrelid
= tc.oid) LEFT JOIN pg_catalog.pg_am am ON (c.relam = am.oid) WHERE c.oid = '16424';
---
SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), (SELECT pg_catalog.pg_get_expr(d.adbin,
d.adrelid, true) FROM pg_catalog.pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum
AND a.atthasdef), a.attnotnull, (SELECT c.collname FROM pg_catalog.pg_collation c, pg_catalog.pg_type
t WHERE c.oid = a.attcollation AND t.oid = a.atttypid AND a.attcollation <> t.typcollation) AS attcollation,
a.attidentity, a.attgenerated, a.attstorage, a.attcompression AS attcompression, CASE WHEN a.attstattarget=-1
THEN NULL ELSE a.attstattarget END AS attstattarget, pg_catalog.col_description(a.attrelid, a.attnum)
FROM pg_catalog.pg_attribute a WHERE a.attrelid = '16424' AND a.attnum > 0 AND NOT a.attisdropped ORDER
BY a.attnum;
---
SELECT pg_catalog.pg_get_viewdef('16424'::pg_catalog.oid, true);
---
SELECT r.rulename, trim(trailing ';' from pg_catalog.pg_get_ruledef(r.oid, true)) FROM pg_catalog.pg_rewrite
r WHERE r.ev_class = '16424' AND r.rulename != '_RETURN' ORDER BY 1;
---
SELECT c.relchecks, c.relkind, c.relhasindex, c.relhasrules, c.relhastriggers, c.relrowsecurity,
c.relforcerowsecurity, false AS relhasoids, c.relispartition, pg_catalog.array_to_string(c.reloptions
|| array(select 'toast.' || x from pg_catalog.unnest(tc.reloptions) x), ', ') , c.reltablespace,
CASE WHEN c.reloftype = 0 THEN '' ELSE c.reloftype::pg_catalog.regtype::pg_catalog.text END, c.relpersistence,
c.relreplident, am.amname FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_class tc ON (c.reltoastrelid
= tc.oid) LEFT JOIN pg_catalog.pg_am am ON (c.relam = am.oid) WHERE c.oid = '16432';
---
SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), (SELECT pg_catalog.pg_get_expr(d.adbin,
d.adrelid, true) FROM pg_catalog.pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum
AND a.atthasdef), a.attnotnull, (SELECT c.collname FROM pg_catalog.pg_collation c, pg_catalog.pg_type
t WHERE c.oid = a.attcollation AND t.oid = a.atttypid AND a.attcollation <> t.typcollation) AS attcollation,
a.attidentity, a.attgenerated, a.attstorage, a.attcompression AS attcompression, CASE WHEN a.attstattarget=-1
THEN NULL ELSE a.attstattarget END AS attstattarget, pg_catalog.col_description(a.attrelid, a.attnum)
FROM pg_catalog.pg_attribute a WHERE a.attrelid = '16432' AND a.attnum > 0 AND NOT a.attisdropped ORDER
BY a.attnum;
---
SELECT c.oid, n.nspname, c.relname FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON
n.oid = c.relnamespace WHERE c.relname OPERATOR(pg_catalog.~) '^(pg_class)$' COLLATE pg_catalog.default
AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 2, 3;
---
SELECT c.relchecks, c.relkind, c.relhasindex, c.relhasrules, c.relhastriggers, c.relrowsecurity,
c.relforcerowsecurity, false AS relhasoids, c.relispartition, pg_catalog.array_to_string(c.reloptions
|| array(select 'toast.' || x from pg_catalog.unnest(tc.reloptions) x), ', ') , c.reltablespace,
CASE WHEN c.reloftype = 0 THEN '' ELSE c.reloftype::pg_catalog.regtype::pg_catalog.text END, c.relpersistence,
c.relreplident, am.amname FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_class tc ON (c.reltoastrelid
= tc.oid) LEFT JOIN pg_catalog.pg_am am ON (c.relam = am.oid) WHERE c.oid = '1259';
---
SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), (SELECT pg_catalog.pg_get_expr(d.adbin,
d.adrelid, true) FROM pg_catalog.pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum
AND a.atthasdef), a.attnotnull, (SELECT c.collname FROM pg_catalog.pg_collation c, pg_catalog.pg_type
t WHERE c.oid = a.attcollation AND t.oid = a.atttypid AND a.attcollation <> t.typcollation) AS attcollation,
a.attidentity, a.attgenerated, a.attstorage, a.attcompression AS attcompression, CASE WHEN a.attstattarget=-1
THEN NULL ELSE a.attstattarget END AS attstattarget, pg_catalog.col_description(a.attrelid, a.attnum)
FROM pg_catalog.pg_attribute a WHERE a.attrelid = '1259' AND a.attnum > 0 AND NOT a.attisdropped ORDER
BY a.attnum;
---
SELECT c2.relname, i.indisprimary, i.indisunique, i.indisclustered, i.indisvalid, pg_catalog.pg_get_indexdef(i.indexrelid,
0, true), pg_catalog.pg_get_constraintdef(con.oid, true), contype, condeferrable, condeferred, i.indisreplident,
c2.reltablespace FROM pg_catalog.pg_class c, pg_catalog.pg_class c2, pg_catalog.pg_index i LEFT JOIN
pg_catalog.pg_constraint con ON (conrelid = i.indrelid AND conindid = i.indexrelid AND contype IN ('p','u','x'))
WHERE c.oid = '1259' AND c.oid = i.indrelid AND i.indexrelid = c2.oid ORDER BY i.indisprimary DESC,
c2.relname;
---
SELECT pol.polname, pol.polpermissive, CASE WHEN pol.polroles = '{0}' THEN NULL ELSE pg_catalog.array_to_string(array(select
rolname from pg_catalog.pg_roles where oid = any (pol.polroles) order by 1),',') END, pg_catalog.pg_get_expr(pol.polqual,
pol.polrelid), pg_catalog.pg_get_expr(pol.polwithcheck, pol.polrelid), CASE pol.polcmd WHEN 'r'
THEN 'SELECT' WHEN 'a' THEN 'INSERT' WHEN 'w' THEN 'UPDATE' WHEN 'd' THEN 'DELETE' END AS cmd FROM pg_catalog.pg_policy
pol WHERE pol.polrelid = '1259' ORDER BY 1;
---
SELECT oid, stxrelid::pg_catalog.regclass, stxnamespace::pg_catalog.regnamespace::pg_catalog.text
AS nsp, stxname, pg_catalog.pg_get_statisticsobjdef_columns(oid) AS columns, 'd' = any(stxkind) AS ndist_enabled,
'f' = any(stxkind) AS deps_enabled, 'm' = any(stxkind) AS mcv_enabled, stxstattarget FROM pg_catalog.pg_statistic_ext
WHERE stxrelid = '1259' ORDER BY nsp, stxname;
---
SELECT pubname , NULL , NULL FROM pg_catalog.pg_publication p JOIN pg_catalog.pg_publication_namespace pn ON
p.oid = pn.pnpubid JOIN pg_catalog.pg_class pc ON pc.relnamespace = pn.pnnspid WHERE pc.oid ='1259'
and pg_catalog.pg_relation_is_publishable('1259') UNION SELECT pubname , pg_get_expr(pr.prqual, c.oid)
, (CASE WHEN pr.prattrs IS NOT NULL THEN (SELECT string_agg(attname, ', ') FROM pg_catalog.generate_series(0,
pg_catalog.array_upper(pr.prattrs::pg_catalog.int2[], 1)) s, pg_catalog.pg_attribute WHERE attrelid
= pr.prrelid AND attnum = prattrs[s]) ELSE NULL END) FROM pg_catalog.pg_publication p JOIN pg_catalog.pg_publication_rel
pr ON p.oid = pr.prpubid JOIN pg_catalog.pg_class c ON c.oid = pr.prrelid WHERE pr.prrelid = '1259'
UNION SELECT pubname , NULL , NULL FROM pg_catalog.pg_publication p WHERE p.puballtables AND pg_catalog.pg_relation_is_publishable('1259')
ORDER BY 1;
---
SELECT c.oid::pg_catalog.regclass FROM pg_catalog.pg_class c, pg_catalog.pg_inherits i WHERE c.oid
= i.inhparent AND i.inhrelid = '1259' AND c.relkind != 'p' AND c.relkind != 'I' ORDER BY inhseqno;
---
SELECT c.oid::pg_catalog.regclass, c.relkind, inhdetachpending, pg_catalog.pg_get_expr(c.relpartbound,
c.oid) FROM pg_catalog.pg_class c, pg_catalog.pg_inherits i WHERE c.oid = i.inhrelid AND i.inhparent
= '1259' ORDER BY pg_catalog.pg_get_expr(c.relpartbound, c.oid) = 'DEFAULT', c.oid::pg_catalog.regclass::pg_catalog.text;
---
SELECT n.nspname as "Schema", p.proname as "Name", pg_catalog.pg_get_function_result(p.oid) as "Result data type",
pg_catalog.pg_get_function_arguments(p.oid) as "Argument data types", CASE p.prokind WHEN 'a' THEN 'agg'
WHEN 'w' THEN 'window' WHEN 'p' THEN 'proc' ELSE 'func' END as "Type" FROM pg_catalog.pg_proc p LEFT JOIN pg_catalog.pg_namespace
n ON n.oid = p.pronamespace WHERE pg_catalog.pg_function_is_visible(p.oid) AND n.nspname <> 'pg_catalog'
AND n.nspname <> 'information_schema' ORDER BY 1, 2, 4;
---
SELECT n.nspname as "Schema", p.proname as "Name", pg_catalog.pg_get_function_result(p.oid) as "Result data type",
pg_catalog.pg_get_function_arguments(p.oid) as "Argument data types", CASE p.prokind WHEN 'a' THEN 'agg'
WHEN 'w' THEN 'window' WHEN 'p' THEN 'proc' ELSE 'func' END as "Type", CASE WHEN p.provolatile = 'i' THEN 'immutable'
WHEN p.provolatile = 's' THEN 'stable' WHEN p.provolatile = 'v' THEN 'volatile' END as "Volatility", CASE
WHEN p.proparallel = 'r' THEN 'restricted' WHEN p.proparallel = 's' THEN 'safe' WHEN p.proparallel = 'u'
THEN 'unsafe' END as "Parallel", pg_catalog.pg_get_userbyid(p.proowner) as "Owner", CASE WHEN prosecdef
THEN 'definer' ELSE 'invoker' END AS "Security", pg_catalog.array_to_string(p.proacl, E'\n') AS "Access privileges",
l.lanname as "Language", COALESCE(pg_catalog.pg_get_function_sqlbody(p.oid), p.prosrc) as "Source code",
pg_catalog.obj_description(p.oid, 'pg_proc') as "Description" FROM pg_catalog.pg_proc p LEFT JOIN pg_catalog.pg_namespace
n ON n.oid = p.pronamespace LEFT JOIN pg_catalog.pg_language l ON l.oid = p.prolang WHERE p.proname
OPERATOR(pg_catalog.~) '^(add_tax)$' COLLATE pg_catalog.default AND pg_catalog.pg_function_is_visible(p.oid)
ORDER BY 1, 2, 4;
---
SELECT n.nspname as "Schema", pg_catalog.format_type(t.oid, NULL) AS "Name", pg_catalog.obj_description(t.oid,
'pg_type') as "Description" FROM pg_catalog.pg_type t LEFT JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
WHERE (t.typrelid = 0 OR (SELECT c.relkind = 'c' FROM pg_catalog.pg_class c WHERE c.oid = t.typrelid))
AND NOT EXISTS(SELECT 1 FROM pg_catalog.pg_type el WHERE el.oid = t.typelem AND el.typarray = t.oid)
AND n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' AND pg_catalog.pg_type_is_visible(t.oid)
ORDER BY 1, 2;
---
SELECT n.nspname as "Schema", pg_catalog.format_type(t.oid, NULL) AS "Name", t.typname AS "Internal name",
CASE WHEN t.typrelid != 0 THEN CAST('tuple' AS pg_catalog.text) WHEN t.typlen < 0 THEN CAST('var' AS
pg_catalog.text) ELSE CAST(t.typlen AS pg_catalog.text) END AS "Size", pg_catalog.array_to_string(
ARRAY( SELECT e.enumlabel FROM pg_catalog.pg_enum e WHERE e.enumtypid = t.oid ORDER BY e.enumsortorder
), E'\n' ) AS "Elements", pg_catalog.pg_get_userbyid(t.typowner) AS "Owner", pg_catalog.array_to_string(t.typacl,
E'\n') AS "Access privileges", pg_catalog.obj_description(t.oid, 'pg_type') as "Description" FROM pg_catalog.pg_type
t LEFT JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace WHERE (t.typrelid = 0 OR (SELECT c.relkind
= 'c' FROM pg_catalog.pg_class c WHERE c.oid = t.typrelid)) AND NOT EXISTS(SELECT 1 FROM pg_catalog.pg_type
el WHERE el.oid = t.typelem AND el.typarray = t.oid) AND n.nspname <> 'pg_catalog' AND n.nspname <>
'information_schema' AND pg_catalog.pg_type_is_visible(t.oid) ORDER BY 1, 2;
---
SELECT n.nspname as "Schema", pg_catalog.format_type(t.oid, NULL) AS "Name", t.typname AS "Internal name",
CASE WHEN t.typrelid != 0 THEN CAST('tuple' AS pg_catalog.text) WHEN t.typlen < 0 THEN CAST('var' AS
pg_catalog.text) ELSE CAST(t.typlen AS pg_catalog.text) END AS "Size", pg_catalog.array_to_string(
ARRAY( SELECT e.enumlabel FROM pg_catalog.pg_enum e WHERE e.enumtypid = t.oid ORDER BY e.enumsortorder
), E'\n' ) AS "Elements", pg_catalog.pg_get_userbyid(t.typowner) AS "Owner", pg_catalog.array_to_string(t.typacl,
E'\n') AS "Access privileges", pg_catalog.obj_description(t.oid, 'pg_type') as "Description" FROM pg_catalog.pg_type
t LEFT JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace WHERE (t.typrelid = 0 OR (SELECT c.relkind
= 'c' FROM pg_catalog.pg_class c WHERE c.oid = t.typrelid)) AND NOT EXISTS(SELECT 1 FROM pg_catalog.pg_type
el WHERE el.oid = t.typelem AND el.typarray = t.oid) AND (t.typname OPERATOR(pg_catalog.~) '^(mood)$'
COLLATE pg_catalog.default OR pg_catalog.format_type(t.oid, NULL) OPERATOR(pg_catalog.~) '^(mood)$'
COLLATE pg_catalog.default) AND pg_catalog.pg_type_is_visible(t.oid) ORDER BY 1, 2;
---
SELECT r.rolname, r.rolsuper, r.rolinherit, r.rolcreaterole, r.rolcreatedb, r.rolcanlogin, r.rolconnlimit,
r.rolvaliduntil, ARRAY(SELECT b.rolname FROM pg_catalog.pg_auth_members m JOIN pg_catalog.pg_roles b
ON (m.roleid = b.oid) WHERE m.member = r.oid) as memberof , r.rolreplication , r.rolbypassrls FROM
pg_catalog.pg_roles r WHERE r.rolname !~ '^pg_' ORDER BY 1;
---
SELECT r.rolname, r.rolsuper, r.rolinherit, r.rolcreaterole, r.rolcreatedb, r.rolcanlogin, r.rolconnlimit,
r.rolvaliduntil, ARRAY(SELECT b.rolname FROM pg_catalog.pg_auth_members m JOIN pg_catalog.pg_roles b
ON (m.roleid = b.oid) WHERE m.member = r.oid) as memberof , pg_catalog.shobj_description(r.oid,
'pg_authid') AS description , r.rolreplication , r.rolbypassrls FROM pg_catalog.pg_roles r WHERE r.rolname
!~ '^pg_' ORDER BY 1;
---
SELECT n.nspname as "Schema", c.relname as "Name", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view'
WHEN 'm' THEN 'materialized view' WHEN 'S' THEN 'sequence' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table'
END as "Type", pg_catalog.array_to_string(c.relacl, E'\n') AS "Access privileges", pg_catalog.array_to_string(ARRAY(
SELECT attname || E':\n  ' || pg_catalog.array_to_string(attacl, E'\n  ') FROM pg_catalog.pg_attribute
a WHERE attrelid = c.oid AND NOT attisdropped AND attacl IS NOT NULL ), E'\n') AS "Column privileges", pg_catalog.array_to_string(ARRAY(
SELECT polname || CASE WHEN NOT polpermissive THEN E' (RESTRICTIVE)' ELSE '' END || CASE WHEN polcmd != '*' THEN
E' (' || polcmd::pg_catalog.text || E'):' ELSE E':' END || CASE WHEN polqual IS NOT NULL THEN E'\n  (u): '
|| pg_catalog.pg_get_expr(polqual, polrelid) ELSE E'' END || CASE WHEN polwithcheck IS NOT NULL THEN E'\n  (c): '
|| pg_catalog.pg_get_expr(polwithcheck, polrelid) ELSE E'' END || CASE WHEN polroles <> '{0}' THEN E'\n  to: '
|| pg_catalog.array_to_string( ARRAY( SELECT rolname FROM pg_catalog.pg_roles WHERE oid = ANY (polroles)
ORDER BY 1 ), E', ') ELSE E'' END FROM pg_catalog.pg_policy pol WHERE polrelid = c.oid), E'\n') AS "Policies"
FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind
IN ('r','v','m','S','f','p') AND n.nspname !~ '^pg_' AND pg_catalog.pg_table_is_visible(c.oid)
ORDER BY 1, 2;
---
SELECT n.nspname as "Schema", c.relname as "Name", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view'
WHEN 'm' THEN 'materialized view' WHEN 'S' THEN 'sequence' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table'
END as "Type", pg_catalog.array_to_string(c.relacl, E'\n') AS "Access privileges", pg_catalog.array_to_string(ARRAY(
SELECT attname || E':\n  ' || pg_catalog.array_to_string(attacl, E'\n  ') FROM pg_catalog.pg_attribute
a WHERE attrelid = c.oid AND NOT attisdropped AND attacl IS NOT NULL ), E'\n') AS "Column privileges", pg_catalog.array_to_string(ARRAY(
SELECT polname || CASE WHEN NOT polpermissive THEN E' (RESTRICTIVE)' ELSE '' END || CASE WHEN polcmd != '*' THEN
E' (' || polcmd::pg_catalog.text || E'):' ELSE E':' END || CASE WHEN polqual IS NOT NULL THEN E'\n  (u): '
|| pg_catalog.pg_get_expr(polqual, polrelid) ELSE E'' END || CASE WHEN polwithcheck IS NOT NULL THEN E'\n  (c): '
|| pg_catalog.pg_get_expr(polwithcheck, polrelid) ELSE E'' END || CASE WHEN polroles <> '{0}' THEN E'\n  to: '
|| pg_catalog.array_to_string( ARRAY( SELECT rolname FROM pg_catalog.pg_roles WHERE oid = ANY (polroles)
ORDER BY 1 ), E', ') ELSE E'' END FROM pg_catalog.pg_policy pol WHERE polrelid = c.oid), E'\n') AS "Policies"
FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind
IN ('r','v','m','S','f','p') AND c.relname OPERATOR(pg_catalog.~) '^(orders)$' COLLATE pg_catalog.default
AND n.nspname !~ '^pg_' AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 1, 2;
---
SELECT spcname AS "Name", pg_catalog.pg_get_userbyid(spcowner) AS "Owner", pg_catalog.pg_tablespace_location(oid)
AS "Location" FROM pg_catalog.pg_tablespace ORDER BY 1;
---
SELECT spcname AS "Name", pg_catalog.pg_get_userbyid(spcowner) AS "Owner", pg_catalog.pg_tablespace_location(oid)
AS "Location", pg_catalog.array_to_string(spcacl, E'\n') AS "Access privileges", spcoptions AS "Options",
pg_catalog.pg_size_pretty(pg_catalog.pg_tablespace_size(oid)) AS "Size", pg_catalog.shobj_description(oid,
'pg_tablespace') AS "Description" FROM pg_catalog.pg_tablespace ORDER BY 1;
---
SELECT e.extname AS "Name", e.extversion AS "Version", n.nspname AS "Schema", c.description AS "Description"
FROM pg_catalog.pg_extension e LEFT JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace LEFT JOIN
pg_catalog.pg_description c ON c.objoid = e.oid AND c.classoid = 'pg_catalog.pg_extension'::pg_catalog.regclass
ORDER BY 1;
---
SELECT e.extname, e.oid FROM pg_catalog.pg_extension e ORDER BY 1;
---
SELECT pg_catalog.pg_describe_object(classid, objid, 0) AS "Object description" FROM pg_catalog.pg_depend
WHERE refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass AND refobjid = '13559' AND deptype = 'e'
ORDER BY 1;
---
SELECT n.nspname as "Schema", t.typname as "Name", pg_catalog.format_type(t.typbasetype, t.typtypmod)
as "Type", (SELECT c.collname FROM pg_catalog.pg_collation c, pg_catalog.pg_type bt WHERE c.oid = t.typcollation
AND bt.oid = t.typbasetype AND t.typcollation <> bt.typcollation) as "Collation", CASE WHEN t.typnotnull
THEN 'not null' END as "Nullable", t.typdefault as "Default", pg_catalog.array_to_string(ARRAY( SELECT
pg_catalog.pg_get_constraintdef(r.oid, true) FROM pg_catalog.pg_constraint r WHERE t.oid = r.contypid
), ' ') as "Check" FROM pg_catalog.pg_type t LEFT JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
WHERE t.typtype = 'd' AND n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' AND pg_catalog.pg_type_is_visible(t.oid)
ORDER BY 1, 2;
---
SELECT pg_catalog.format_type(castsource, NULL) AS "Source type", pg_catalog.format_type(casttarget,
NULL) AS "Target type", CASE WHEN c.castmethod = 'b' THEN '(binary coercible)' WHEN c.castmethod = 'i' THEN
'(with inout)' ELSE p.proname END AS "Function", CASE WHEN c.castcontext = 'e' THEN 'no' WHEN c.castcontext
= 'a' THEN 'in assignment' ELSE 'yes' END AS "Implicit?" FROM pg_catalog.pg_cast c LEFT JOIN pg_catalog.pg_proc
p ON c.castfunc = p.oid LEFT JOIN pg_catalog.pg_type ts ON c.castsource = ts.oid LEFT JOIN pg_catalog.pg_namespace
ns ON ns.oid = ts.typnamespace LEFT JOIN pg_catalog.pg_type tt ON c.casttarget = tt.oid LEFT JOIN pg_catalog.pg_namespace
nt ON nt.oid = tt.typnamespace WHERE ( (true AND (ts.typname OPERATOR(pg_catalog.~) '^(text)$' COLLATE
pg_catalog.default OR pg_catalog.format_type(ts.oid, NULL) OPERATOR(pg_catalog.~) '^(text)$' COLLATE
pg_catalog.default) AND pg_catalog.pg_type_is_visible(ts.oid) ) OR (true AND (tt.typname OPERATOR(pg_catalog.~)
'^(text)$' COLLATE pg_catalog.default OR pg_catalog.format_type(tt.oid, NULL) OPERATOR(pg_catalog.~)
'^(text)$' COLLATE pg_catalog.default) AND pg_catalog.pg_type_is_visible(tt.oid) ) ) ORDER BY 1, 2;
---
SELECT n.nspname as "Schema", o.oprname AS "Name", CASE WHEN o.oprkind='l' THEN NULL ELSE pg_catalog.format_type(o.oprleft,
NULL) END AS "Left arg type", CASE WHEN o.oprkind='r' THEN NULL ELSE pg_catalog.format_type(o.oprright,
NULL) END AS "Right arg type", pg_catalog.format_type(o.oprresult, NULL) AS "Result type", coalesce(pg_catalog.obj_description(o.oid,
'pg_operator'), pg_catalog.obj_description(o.oprcode, 'pg_proc')) AS "Description" FROM pg_catalog.pg_operator
o LEFT JOIN pg_catalog.pg_namespace n ON n.oid = o.oprnamespace WHERE o.oprname OPERATOR(pg_catalog.~)
'^(~~)$' COLLATE pg_catalog.default AND pg_catalog.pg_operator_is_visible(o.oid) ORDER BY 1, 2, 3,
4;
---
SELECT n.nspname as "Schema", p.proname AS "Name", pg_catalog.format_type(p.prorettype, NULL) AS
"Result data type", CASE WHEN p.pronargs = 0 THEN CAST('*' AS pg_catalog.text) ELSE pg_catalog.pg_get_function_arguments(p.oid)
END AS "Argument data types", pg_catalog.obj_description(p.oid, 'pg_proc') as "Description" FROM pg_catalog.pg_proc
p LEFT JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace WHERE p.prokind = 'a' AND p.proname OPERATOR(pg_catalog.~)
'^(count)$' COLLATE pg_catalog.default AND pg_catalog.pg_function_is_visible(p.oid) ORDER BY 1, 2, 4;
---
SELECT DISTINCT tt.nspname AS "Schema", tt.name AS "Name", tt.object AS "Object", d.description AS "Description"
FROM ( SELECT pgc.oid as oid, pgc.tableoid AS tableoid, n.nspname as nspname, CAST(pgc.conname AS
pg_catalog.text) as name, CAST('table constraint' AS pg_catalog.text) as object FROM pg_catalog.pg_constraint
pgc JOIN pg_catalog.pg_class c ON c.oid = pgc.conrelid LEFT JOIN pg_catalog.pg_namespace n ON n.oid =
c.relnamespace WHERE n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' AND pg_catalog.pg_table_is_visible(c.oid)
UNION ALL SELECT pgc.oid as oid, pgc.tableoid AS tableoid, n.nspname as nspname, CAST(pgc.conname
AS pg_catalog.text) as name, CAST('domain constraint' AS pg_catalog.text) as object FROM pg_catalog.pg_constraint
pgc JOIN pg_catalog.pg_type t ON t.oid = pgc.contypid LEFT JOIN pg_catalog.pg_namespace n ON n.oid =
t.typnamespace WHERE n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' AND pg_catalog.pg_type_is_visible(t.oid)
UNION ALL SELECT o.oid as oid, o.tableoid as tableoid, n.nspname as nspname, CAST(o.opcname AS pg_catalog.text)
as name, CAST('operator class' AS pg_catalog.text) as object FROM pg_catalog.pg_opclass o JOIN pg_catalog.pg_am
am ON o.opcmethod = am.oid JOIN pg_catalog.pg_namespace n ON n.oid = o.opcnamespace AND n.nspname <>
'pg_catalog' AND n.nspname <> 'information_schema' AND pg_catalog.pg_opclass_is_visible(o.oid) UNION ALL
SELECT opf.oid as oid, opf.tableoid as tableoid, n.nspname as nspname, CAST(opf.opfname AS pg_catalog.text)
AS name, CAST('operator family' AS pg_catalog.text) as object FROM pg_catalog.pg_opfamily opf JOIN pg_catalog.pg_am
am ON opf.opfmethod = am.oid JOIN pg_catalog.pg_namespace n ON opf.opfnamespace = n.oid AND n.nspname
<> 'pg_catalog' AND n.nspname <> 'information_schema' AND pg_catalog.pg_opfamily_is_visible(opf.oid) UNION
ALL SELECT r.oid as oid, r.tableoid as tableoid, n.nspname as nspname, CAST(r.rulename AS pg_catalog.text)
as name, CAST('rule' AS pg_catalog.text) as object FROM pg_catalog.pg_rewrite r JOIN pg_catalog.pg_class
c ON c.oid = r.ev_class LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE r.rulename
!= '_RETURN' AND n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' AND pg_catalog.pg_table_is_visible(c.oid)
UNION ALL SELECT t.oid as oid, t.tableoid as tableoid, n.nspname as nspname, CAST(t.tgname AS pg_catalog.text)
as name, CAST('trigger' AS pg_catalog.text) as object FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_class
c ON c.oid = t.tgrelid LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname
<> 'pg_catalog' AND n.nspname <> 'information_schema' AND pg_catalog.pg_table_is_visible(c.oid) ) AS tt
JOIN pg_catalog.pg_description d ON (tt.oid = d.objoid AND tt.tableoid = d.classoid AND d.objsubid
= 0) ORDER BY 1, 2, 3;
---
SELECT n.nspname as "Schema", c.relname as "Name", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view'
WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN
'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type", pg_catalog.pg_get_userbyid(c.relowner)
as "Owner" FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE
c.relkind IN ('f','') AND n.nspname <> 'pg_catalog' AND n.nspname !~ '^pg_toast' AND n.nspname <> 'information_schema'
AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 1,2;
---
SELECT n.nspname as "Schema", c.cfgname as "Name", pg_catalog.obj_description(c.oid, 'pg_ts_config')
as "Description" FROM pg_catalog.pg_ts_config c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.cfgnamespace
WHERE pg_catalog.pg_ts_config_is_visible(c.oid) ORDER BY 1, 2;
---
SELECT n.nspname as "Schema", d.dictname as "Name", pg_catalog.obj_description(d.oid, 'pg_ts_dict')
as "Description" FROM pg_catalog.pg_ts_dict d LEFT JOIN pg_catalog.pg_namespace n ON n.oid = d.dictnamespace
WHERE pg_catalog.pg_ts_dict_is_visible(d.oid) ORDER BY 1, 2;
---
SELECT n.nspname as "Schema", p.prsname as "Name", pg_catalog.obj_description(p.oid, 'pg_ts_parser')
as "Description" FROM pg_catalog.pg_ts_parser p LEFT JOIN pg_catalog.pg_namespace n ON n.oid = p.prsnamespace
WHERE pg_catalog.pg_ts_parser_is_visible(p.oid) ORDER BY 1, 2;
---
SELECT n.nspname AS "Schema", t.tmplname AS "Name", pg_catalog.obj_description(t.oid, 'pg_ts_template')
AS "Description" FROM pg_catalog.pg_ts_template t LEFT JOIN pg_catalog.pg_namespace n ON n.oid = t.tmplnamespace
WHERE pg_catalog.pg_ts_template_is_visible(t.oid) ORDER BY 1, 2;
---
SELECT l.lanname AS "Name", pg_catalog.pg_get_userbyid(l.lanowner) as "Owner", l.lanpltrusted AS "Trusted",
d.description AS "Description" FROM pg_catalog.pg_language l LEFT JOIN pg_catalog.pg_description d ON d.classoid
= l.tableoid AND d.objoid = l.oid AND d.objsubid = 0 WHERE l.lanplcallfoid != 0 ORDER BY 1;
---
SELECT n.nspname AS "Schema", c.collname AS "Name", c.collcollate AS "Collate", c.collctype AS "Ctype",
c.colliculocale AS "ICU Locale", CASE c.collprovider WHEN 'd' THEN 'default' WHEN 'c' THEN 'libc' WHEN 'i'
THEN 'icu' END AS "Provider", CASE WHEN c.collisdeterministic THEN 'yes' ELSE 'no' END AS "Deterministic?" FROM
pg_catalog.pg_collation c, pg_catalog.pg_namespace n WHERE n.oid = c.collnamespace AND n.nspname <>
'pg_catalog' AND n.nspname <> 'information_schema' AND c.collencoding IN (-1, pg_catalog.pg_char_to_encoding(pg_catalog.getdatabaseencoding()))
AND pg_catalog.pg_collation_is_visible(c.oid) ORDER BY 1, 2;
---
SELECT n.nspname AS "Schema", c.conname AS "Name", pg_catalog.pg_encoding_to_char(c.conforencoding)
AS "Source", pg_catalog.pg_encoding_to_char(c.contoencoding) AS "Destination", CASE WHEN c.condefault
THEN 'yes' ELSE 'no' END AS "Default?" FROM pg_catalog.pg_conversion c JOIN pg_catalog.pg_namespace n ON n.oid
= c.connamespace WHERE true AND n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' AND pg_catalog.pg_conversion_is_visible(c.oid)
ORDER BY 1, 2;
---
SELECT s.name AS "Parameter", pg_catalog.current_setting(s.name) AS "Value" FROM pg_catalog.pg_settings
s WHERE pg_catalog.lower(s.name) OPERATOR(pg_catalog.~) '^(work_mem)$' COLLATE pg_catalog.default
ORDER BY 1;
---
SELECT pg_catalog.pg_get_userbyid(d.defaclrole) AS "Owner", n.nspname AS "Schema", CASE d.defaclobjtype
WHEN 'r' THEN 'table' WHEN 'S' THEN 'sequence' WHEN 'f' THEN 'function' WHEN 'T' THEN 'type' WHEN 'n' THEN 'schema'
END AS "Type", pg_catalog.array_to_string(d.defaclacl, E'\n') AS "Access privileges" FROM pg_catalog.pg_default_acl
d LEFT JOIN pg_catalog.pg_namespace n ON n.oid = d.defaclnamespace ORDER BY 1, 2, 3;
---
SELECT rolname AS "Role", datname AS "Database", pg_catalog.array_to_string(setconfig, E'\n') AS "Settings"
FROM pg_catalog.pg_db_role_setting s LEFT JOIN pg_catalog.pg_database d ON d.oid = setdatabase LEFT JOIN
pg_catalog.pg_roles r ON r.oid = setrole ORDER BY 1, 2;
---
SELECT pubname AS "Name", pg_catalog.pg_get_userbyid(pubowner) AS "Owner", puballtables AS "All tables",
pubinsert AS "Inserts", pubupdate AS "Updates", pubdelete AS "Deletes", pubtruncate AS "Truncates", pubviaroot
AS "Via root" FROM pg_catalog.pg_publication ORDER BY 1;
---
SELECT subname AS "Name" , pg_catalog.pg_get_userbyid(subowner) AS "Owner" , subenabled AS "Enabled" , subpublications
AS "Publication" FROM pg_catalog.pg_subscription WHERE subdbid = (SELECT oid FROM pg_catalog.pg_database WHERE
datname = pg_catalog.current_database())ORDER BY 1;
---
SELECT n.nspname AS "Schema", c.relname AS "Table", s.srvname AS "Server" FROM pg_catalog.pg_foreign_table
ft INNER JOIN pg_catalog.pg_class c ON c.oid = ft.ftrelid INNER JOIN pg_catalog.pg_namespace n ON n.oid
= c.relnamespace INNER JOIN pg_catalog.pg_foreign_server s ON s.oid = ft.ftserver WHERE pg_catalog.pg_table_is_visible(c.oid)
ORDER BY 1, 2;
---
SELECT s.srvname AS "Name", pg_catalog.pg_get_userbyid(s.srvowner) AS "Owner", f.fdwname AS "Foreign-data wrapper"
FROM pg_catalog.pg_foreign_server s JOIN pg_catalog.pg_foreign_data_wrapper f ON f.oid=s.srvfdw ORDER
BY 1;
---
SELECT fdw.fdwname AS "Name", pg_catalog.pg_get_userbyid(fdw.fdwowner) AS "Owner", fdw.fdwhandler::pg_catalog.regproc
AS "Handler", fdw.fdwvalidator::pg_catalog.regproc AS "Validator" FROM pg_catalog.pg_foreign_data_wrapper
fdw ORDER BY 1;
---
SELECT um.srvname AS "Server", um.usename AS "User name" FROM pg_catalog.pg_user_mappings um ORDER BY 1,
2;
---
SELECT evtname as "Name", evtevent as "Event", pg_catalog.pg_get_userbyid(e.evtowner) as "Owner", case
evtenabled when 'O' then 'enabled' when 'R' then 'replica' when 'A' then 'always' when 'D' then 'disabled' end
as "Enabled", e.evtfoid::pg_catalog.regproc as "Function", pg_catalog.array_to_string(array(select
x from pg_catalog.unnest(evttags) as t(x)), ', ') as "Tags" FROM pg_catalog.pg_event_trigger e ORDER
BY 1
---
SELECT es.stxnamespace::pg_catalog.regnamespace::pg_catalog.text AS "Schema", es.stxname AS "Name",
pg_catalog.format('%s FROM %s', pg_catalog.pg_get_statisticsobjdef_columns(es.oid), es.stxrelid::pg_catalog.regclass)
AS "Definition", CASE WHEN 'd' = any(es.stxkind) THEN 'defined' END AS "Ndistinct", CASE WHEN 'f' = any(es.stxkind)
THEN 'defined' END AS "Dependencies", CASE WHEN 'm' = any(es.stxkind) THEN 'defined' END AS "MCV" FROM pg_catalog.pg_statistic_ext
es WHERE pg_catalog.pg_statistics_obj_is_visible(es.oid) ORDER BY 1, 2;
---
SELECT amname AS "Name", CASE amtype WHEN 'i' THEN 'Index' WHEN 't' THEN 'Table' END AS "Type" FROM pg_catalog.pg_am
ORDER BY 1;
---
SELECT am.amname AS "AM", pg_catalog.format_type(c.opcintype, NULL) AS "Input type", CASE WHEN c.opckeytype
<> 0 AND c.opckeytype <> c.opcintype THEN pg_catalog.format_type(c.opckeytype, NULL) ELSE NULL END
AS "Storage type", CASE WHEN pg_catalog.pg_opclass_is_visible(c.oid) THEN pg_catalog.format('%I',
c.opcname) ELSE pg_catalog.format('%I.%I', n.nspname, c.opcname) END AS "Operator class", (CASE
WHEN c.opcdefault THEN 'yes' ELSE 'no' END) AS "Default?" FROM pg_catalog.pg_opclass c LEFT JOIN pg_catalog.pg_am
am on am.oid = c.opcmethod LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.opcnamespace LEFT JOIN pg_catalog.pg_type
t ON t.oid = c.opcintype LEFT JOIN pg_catalog.pg_namespace tn ON tn.oid = t.typnamespace WHERE am.amname
OPERATOR(pg_catalog.~) '^(btree)$' COLLATE pg_catalog.default ORDER BY 1, 2, 4;
---
SELECT n.nspname as "Schema", c.relname as "Name", pg_catalog.pg_get_userbyid(c.relowner) as "Owner",
CASE c.relkind WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type", c2.oid::pg_catalog.regclass
as "Table" FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace LEFT
JOIN pg_catalog.pg_index i ON i.indexrelid = c.oid LEFT JOIN pg_catalog.pg_class c2 ON i.indrelid = c2.oid
WHERE c.relkind IN ('p','I','') AND NOT c.relispartition AND n.nspname <> 'pg_catalog' AND n.nspname
!~ '^pg_toast' AND n.nspname <> 'information_schema' AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY
"Schema", "Type" DESC, "Name";
---
SELECT n.nspname as "Schema", c.relname as "Name", pg_catalog.pg_get_userbyid(c.relowner) as "Owner"
FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind
IN ('p','') AND NOT c.relispartition AND n.nspname <> 'pg_catalog' AND n.nspname !~ '^pg_toast' AND n.nspname
<> 'information_schema' AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY "Schema", "Name";
---
SELECT oid as "ID", pg_catalog.pg_get_userbyid(lomowner) as "Owner", pg_catalog.obj_description(oid,
'pg_largeobject') as "Description" FROM pg_catalog.pg_largeobject_metadata ORDER BY oid
---
SELECT n.nspname as "Schema", c.relname as "Name", CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view'
WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN
'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type", pg_catalog.pg_get_userbyid(c.relowner)
as "Owner" FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace LEFT
JOIN pg_catalog.pg_am am ON am.oid = c.relam WHERE c.relkind IN ('r','p','t','s','') AND c.relname
OPERATOR(pg_catalog.~) '^(nosuch)$' COLLATE pg_catalog.default AND pg_catalog.pg_table_is_visible(c.oid)
ORDER BY 1,2;
---
select * from orders order by id limit 3;
---
select * from orders order by id limit 1
---
SELECT name AS "Column", pg_catalog.format_type(tp, tpm) AS "Type" FROM (VALUES ('id', '20'::pg_catalog.oid,
-1),('customer_id', '23'::pg_catalog.oid, -1),('amount', '1700'::pg_catalog.oid, 786438),('status',
'25'::pg_catalog.oid, -1),('tags', '1009'::pg_catalog.oid, -1),('meta', '3802'::pg_catalog.oid,
-1),('created_at', '1184'::pg_catalog.oid, -1)) s(name, tp, tpm)
---
select 1 as a, 'x'::text as b, now() as c, null::jsonb as d, 1.5 as e
---
SELECT name AS "Column", pg_catalog.format_type(tp, tpm) AS "Type" FROM (VALUES ('a', '23'::pg_catalog.oid,
-1),('b', '25'::pg_catalog.oid, -1),('c', '1184'::pg_catalog.oid, -1),('d', '3802'::pg_catalog.oid,
-1),('e', '1700'::pg_catalog.oid, -1)) s(name, tp, tpm)
---
select status, tags[1], count(*) from orders group by 1,2
---
select 'select 1 as gexec'
---
select 1 as gexec
---
select id as myid from orders where id=7
---
COPY ( select id,status from orders order by id limit 2 ) TO STDOUT csv header
---
COPY ( select id,status from orders order by id limit 2 ) TO STDOUT
---
copy (select id,tags,meta from orders order by id limit 2) to stdout;
---
copy (select id,tags,meta from orders order by id limit 2) to stdout (format csv, header, force_quote
*);
---
show server_encoding;
---
table daily_revenue limit 2;
---
select nosuch from orders;
---
select 1/0;
---
select 'abc'::int;
---
select * from nosuch;
---
explain select * from orders where id = 1;
---
values (1,'a'),(2,'b');
---
select count(*) from orders;
---
DECLARE _psql_cursor NO SCROLL CURSOR FOR select * from orders order by id;
---
FETCH FORWARD 100 FROM _psql_cursor
---
CLOSE _psql_cursor
---
insert into customers(id,name) values (1000,'x');
---
commit;
---
begin;
---
SAVEPOINT pg_psql_temporary_savepoint
---
RELEASE pg_psql_temporary_savepoint
---
ROLLBACK TO pg_psql_temporary_savepoint
---
copy customers(id,name,email) from stdin;
---
copy customers(id,name,email) from stdin with (format csv);
---
COPY ( select id,name from customers where id>2000 ) TO STDOUT csv header
---
COPY customers ( id,name ) TO STDOUT binary
---
create temp table t2(id int, name text);
---
COPY t2 FROM STDIN binary
---
select count(*) from t2;
---
select 1 as one ; select 2 as two ; select 3 as three;
---
savepoint a;
---
rollback to savepoint a;
---
release savepoint a;
---
end;
---
prepare p1(int) as select * from orders where id=$1;
---
execute p1(3);
---
deallocate p1;
---
set client_encoding to 'LATIN1';
---
set client_encoding to 'UTF8'
---
set application_name = 'my app';
---
set search_path to sales, public;
---
show search_path;
---
select current_schema(), current_schemas(true), current_user, session_user, current_database();
---
reset all;
---
do $$ begin raise notice 'hello %', 1; end $$;
---
drop table if exists not_there;
---
listen ch1;
---
notify ch1, 'payload';
---
unlisten *;
---
create table zz(a int);
---
alter table zz add column b text default 'q';
---
comment on table zz is 'zz';
---
create index on zz(a);
---
insert into zz values (1,'x'),(2,'y') returning *;
---
update zz set b='n' where a=1;
---
delete from zz;
---
truncate zz;
---
drop table zz;
---
refresh materialized view daily_revenue;
---
refresh materialized view concurrently daily_revenue;
---
begin isolation level repeatable read read only;
---
show transaction_isolation;
---
declare c cursor for select 1;
---
declare c cursor with hold for select * from orders order by id;
---
fetch 2 from c;
---
fetch forward 2 in c;
---
move 5 in c;
---
fetch next from c;
---
close c;
---
select * from customers where id=1;
---
select null;
---
select * from orders where id = 3 and tags @> ARRAY['x']
---
insert into customers(id,name) values (6000,'a')
---
update customers set name='q' where id=6000;update customers set name='r' where id=6001
---
DECLARE "named" NO SCROLL CURSOR WITHOUT HOLD FOR select * from orders order by id
---
FETCH FORWARD 100 FROM "named"
---
CLOSE "named"
---
DECLARE "named2" CURSOR WITH HOLD FOR select 1
---
FETCH FORWARD 1 FROM "named2"
---
CLOSE "named2"
---
COPY "customers"("id","name") FROM stdin WITH DELIMITER AS '	' NULL AS '\N'
---
COPY "customers"("id","name") TO stdout WITH DELIMITER AS '	' NULL AS '\N'
---
SELECT t.oid, typarray, attname, atttypid FROM pg_type t JOIN pg_namespace ns ON typnamespace = ns.oid JOIN
pg_attribute a ON attrelid = typrelid WHERE typname = 'customers' AND nspname = 'public' AND attnum > 0 AND NOT
attisdropped ORDER BY attnum;
---
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE
---
SET client_encoding TO 'LATIN1'
---
SELECT * FROM add_tax(10,0.1)
---
select 1 as a
---
SET default_transaction_isolation TO DEFAULT
---
SET default_transaction_read_only TO DEFAULT
---
SET default_transaction_deferrable TO DEFAULT
---
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE DEFERRABLE
---
notify ch, 'hi'
---
select * from orders where id = $1 and status = $2
---
select $1::int, $2::text
---
insert into customers(id,name) values ($1,$2) returning id
---
SAVEPOINT "_pg3_2"
---
RELEASE "_pg3_2"
---
select 2
---
DECLARE "srv" CURSOR FOR select * from orders order by id
---
FETCH FORWARD 100 FROM "srv"
---
CLOSE "srv"
---
DECLARE "srv2" SCROLL CURSOR FOR select id from orders order by id
---
MOVE 10 FROM "srv2"
---
FETCH FORWARD 1 FROM "srv2"
---
CLOSE "srv2"
---
copy customers(id,name) from stdin (format binary)
---
copy (select id,name from customers limit 3) to stdout (format binary)
---
copy (select id,name from customers limit 3) to stdout
---
insert into orders(id,customer_id,meta,tags) values ($1,$2,$3,$4)
---
SELECT typname AS name, oid, typarray AS array_oid, oid::regtype::text AS regtype, typdelim AS delimiter
FROM pg_type t WHERE t.oid = $1::regtype ORDER BY t.oid
---
DEALLOCATE ALL
---
SELECT name, oid, array_oid, array_agg(label) AS labels FROM ( SELECT t.typname AS name, t.oid AS oid,
t.typarray AS array_oid, e.enumlabel AS label FROM pg_type t LEFT JOIN pg_enum e ON e.enumtypid = t.oid
WHERE t.oid = $1::regtype ORDER BY e.enumsortorder ) x GROUP BY name, oid, array_oid
---
SELECT t.typname AS name, t.oid AS oid, t.typarray AS array_oid, t.oid::regtype::text AS regtype,
coalesce(a.fnames, '{}') AS field_names, coalesce(a.ftypes, '{}') AS field_types FROM pg_type t LEFT
JOIN ( SELECT attrelid, array_agg(attname) AS fnames, array_agg(atttypid) AS ftypes FROM ( SELECT a.attrelid,
a.attname, a.atttypid FROM pg_attribute a JOIN pg_type t ON t.typrelid = a.attrelid WHERE t.oid = $1::regtype
AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum ) x GROUP BY attrelid ) a ON a.attrelid = t.typrelid
WHERE t.oid = $1::regtype
---
select id from orders where id < $1
---
select 1, 'a'
---
SET client_min_messages TO warning;SET TIME ZONE INTERVAL '+00:00' HOUR TO MINUTE;
---
WITH ranges AS ( SELECT pg_range.rngtypid, pg_type.typname AS rngtypname, pg_type.typarray AS rngtyparray,
pg_range.rngsubtype FROM pg_range LEFT OUTER JOIN pg_type ON pg_type.oid = pg_range.rngtypid)SELECT pg_type.typname,
pg_type.typtype, pg_type.oid, pg_type.typarray, ranges.rngtypname, ranges.rngtypid, ranges.rngtyparray
FROM pg_type LEFT OUTER JOIN ranges ON pg_type.oid = ranges.rngsubtype WHERE (pg_type.typtype IN('b',
'e'));
---
SELECT 1+1 AS result
---
DROP TABLE IF EXISTS "SPosts" CASCADE;
---
DROP TABLE IF EXISTS "SUsers" CASCADE;
---
DROP TYPE IF EXISTS "public"."enum_SUsers_role";
---
SELECT DISTINCT tc.constraint_name as constraint_name, tc.constraint_schema as constraint_schema, tc.constraint_catalog
as constraint_catalog, tc.table_name as table_name,tc.table_schema as table_schema,tc.table_catalog
as table_catalog,tc.initially_deferred as initially_deferred,tc.is_deferrable as is_deferrable,kcu.column_name
as column_name,ccu.table_schema AS referenced_table_schema,ccu.table_catalog AS referenced_table_catalog,ccu.table_name
AS referenced_table_name,ccu.column_name AS referenced_column_name FROM information_schema.table_constraints
AS tc JOIN information_schema.key_column_usage AS kcu ON tc.constraint_name = kcu.constraint_name JOIN information_schema.constraint_column_usage
AS ccu ON ccu.constraint_name = tc.constraint_name WHERE constraint_type = 'FOREIGN KEY' AND tc.table_name
= 'SUsers' AND tc.table_catalog = 'appdb'
---
SELECT t.typname enum_name, array_agg(e.enumlabel ORDER BY enumsortorder) enum_value FROM pg_type t JOIN
pg_enum e ON t.oid = e.enumtypid JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace WHERE n.nspname
= 'public' AND t.typname='enum_SUsers_role' GROUP BY 1
---
DROP TYPE IF EXISTS "public"."enum_SUsers_role"; DO 'BEGIN CREATE TYPE "public"."enum_SUsers_role" AS ENUM(''a'', ''b''); EXCEPTION WHEN duplicate_object THEN null; END';
---
CREATE TABLE IF NOT EXISTS "SUsers" ("id" SERIAL , "name" VARCHAR(255) UNIQUE, "role" "public"."enum_SUsers_role",
"data" JSONB, "tags" VARCHAR(255)[], "n" DECIMAL(10,2), "createdAt" TIMESTAMP WITH TIME ZONE NOT NULL,
"updatedAt" TIMESTAMP WITH TIME ZONE NOT NULL, PRIMARY KEY ("id"));
---
SELECT i.relname AS name, ix.indisprimary AS primary, ix.indisunique AS unique, ix.indkey AS indkey,
array_agg(a.attnum) as column_indexes, array_agg(a.attname) AS column_names, pg_get_indexdef(ix.indexrelid)
AS definition FROM pg_class t, pg_class i, pg_index ix, pg_attribute a WHERE t.oid = ix.indrelid AND i.oid
= ix.indexrelid AND a.attrelid = t.oid AND t.relkind = 'r' and t.relname = 'SUsers' GROUP BY i.relname,
ix.indexrelid, ix.indisprimary, ix.indisunique, ix.indkey ORDER BY i.relname;
---
CREATE INDEX "s_users_role" ON "SUsers" ("role")
---
CREATE TABLE IF NOT EXISTS "SPosts" ("id" SERIAL , "t" TEXT, "createdAt" TIMESTAMP WITH TIME ZONE NOT NULL,
"updatedAt" TIMESTAMP WITH TIME ZONE NOT NULL, "SUserId" INTEGER REFERENCES "SUsers" ("id") ON DELETE SET NULL
ON UPDATE CASCADE, PRIMARY KEY ("id"));
---
SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' AND table_name = 'SUsers'
---
SELECT pk.constraint_type as "Constraint",c.column_name as "Field", c.column_default as "Default",c.is_nullable
as "Null", (CASE WHEN c.udt_name = 'hstore' THEN c.udt_name ELSE c.data_type END) || (CASE WHEN c.character_maximum_length
IS NOT NULL THEN '(' || c.character_maximum_length || ')' ELSE '' END) as "Type", (SELECT array_agg(e.enumlabel)
FROM pg_catalog.pg_type t JOIN pg_catalog.pg_enum e ON t.oid=e.enumtypid WHERE t.typname=c.udt_name)
AS "special", (SELECT pgd.description FROM pg_catalog.pg_statio_all_tables AS st INNER JOIN pg_catalog.pg_description
pgd on (pgd.objoid=st.relid) WHERE c.ordinal_position=pgd.objsubid AND c.table_name=st.relname)
AS "Comment" FROM information_schema.columns c LEFT JOIN (SELECT tc.table_schema, tc.table_name, cu.column_name,
tc.constraint_type FROM information_schema.TABLE_CONSTRAINTS tc JOIN information_schema.KEY_COLUMN_USAGE
cu ON tc.table_schema=cu.table_schema and tc.table_name=cu.table_name and tc.constraint_name=cu.constraint_name
and tc.constraint_type='PRIMARY KEY') pk ON pk.table_schema=c.table_schema AND pk.table_name=c.table_name
AND pk.column_name=c.column_name WHERE c.table_name = 'SUsers' AND c.table_schema = 'public'
---
ALTER TABLE "SUsers" ALTER COLUMN "name" DROP NOT NULL;ALTER TABLE "SUsers" ALTER COLUMN "name" DROP DEFAULT;ALTER
TABLE "SUsers" ADD UNIQUE ("name");ALTER TABLE "SUsers" ALTER COLUMN "name" TYPE VARCHAR(255) ;
---
ALTER TABLE "SUsers" ALTER COLUMN "role" DROP NOT NULL;ALTER TABLE "SUsers" ALTER COLUMN "role" DROP DEFAULT;DO
'BEGIN CREATE TYPE "public"."enum_SUsers_role" AS ENUM(''a'', ''b''); EXCEPTION WHEN duplicate_object THEN null; END';ALTER
TABLE "SUsers" ALTER COLUMN "role" TYPE "public"."enum_SUsers_role" USING ("role"::"public"."enum_SUsers_role");
---
ALTER TABLE "SUsers" ALTER COLUMN "data" DROP NOT NULL;ALTER TABLE "SUsers" ALTER COLUMN "data" DROP DEFAULT;ALTER
TABLE "SUsers" ALTER COLUMN "data" TYPE JSONB;
---
ALTER TABLE "SUsers" ALTER COLUMN "tags" DROP NOT NULL;ALTER TABLE "SUsers" ALTER COLUMN "tags" DROP DEFAULT;ALTER
TABLE "SUsers" ALTER COLUMN "tags" TYPE VARCHAR(255)[];
---
ALTER TABLE "SUsers" ALTER COLUMN "n" DROP NOT NULL;ALTER TABLE "SUsers" ALTER COLUMN "n" DROP DEFAULT;ALTER
TABLE "SUsers" ALTER COLUMN "n" TYPE DECIMAL(10,2);
---
ALTER TABLE "SUsers" ALTER COLUMN "createdAt" SET NOT NULL;ALTER TABLE "SUsers" ALTER COLUMN "createdAt" DROP
DEFAULT;ALTER TABLE "SUsers" ALTER COLUMN "createdAt" TYPE TIMESTAMP WITH TIME ZONE;
---
ALTER TABLE "SUsers" ALTER COLUMN "updatedAt" SET NOT NULL;ALTER TABLE "SUsers" ALTER COLUMN "updatedAt" DROP
DEFAULT;ALTER TABLE "SUsers" ALTER COLUMN "updatedAt" TYPE TIMESTAMP WITH TIME ZONE;
---
ALTER TABLE "SPosts" ALTER COLUMN "t" DROP NOT NULL;ALTER TABLE "SPosts" ALTER COLUMN "t" DROP DEFAULT;ALTER
TABLE "SPosts" ALTER COLUMN "t" TYPE TEXT;
---
ALTER TABLE "SPosts" ALTER COLUMN "createdAt" SET NOT NULL;ALTER TABLE "SPosts" ALTER COLUMN "createdAt" DROP
DEFAULT;ALTER TABLE "SPosts" ALTER COLUMN "createdAt" TYPE TIMESTAMP WITH TIME ZONE;
---
ALTER TABLE "SPosts" ALTER COLUMN "updatedAt" SET NOT NULL;ALTER TABLE "SPosts" ALTER COLUMN "updatedAt" DROP
DEFAULT;ALTER TABLE "SPosts" ALTER COLUMN "updatedAt" TYPE TIMESTAMP WITH TIME ZONE;
---
ALTER TABLE "SPosts" DROP CONSTRAINT "SPosts_SUserId_fkey"
---
ALTER TABLE "SPosts" ADD FOREIGN KEY ("SUserId") REFERENCES "SUsers" ("id") ON DELETE SET NULL ON UPDATE CASCADE;
---
INSERT INTO "SUsers" ("id","name","role","data","tags","n","createdAt","updatedAt") VALUES (DEFAULT,$1,$2,$3,$4,$5,$6,$7)
RETURNING "id","name","role","data","tags","n","createdAt","updatedAt";
---
INSERT INTO "SUsers" ("id","name","createdAt","updatedAt") VALUES (DEFAULT,'b','2026-11-30 04:18:55.427 +00:00','2026-11-30 04:18:55.427 +00:00'),(DEFAULT,'c','2026-11-30 04:18:55.427 +00:00','2026-11-30 04:18:55.427 +00:00')
RETURNING "id","name","role","data","tags","n","createdAt","updatedAt";
---
SELECT "SUser".*, "SPosts"."id" AS "SPosts.id", "SPosts"."t" AS "SPosts.t", "SPosts"."createdAt" AS
"SPosts.createdAt", "SPosts"."updatedAt" AS "SPosts.updatedAt", "SPosts"."SUserId" AS "SPosts.SUserId" FROM
(SELECT "SUser"."id", "SUser"."name", "SUser"."role", "SUser"."data", "SUser"."tags", "SUser"."n",
"SUser"."createdAt", "SUser"."updatedAt" FROM "SUsers" AS "SUser" WHERE "SUser"."name" LIKE '%a%' LIMIT
5) AS "SUser" LEFT OUTER JOIN "SPosts" AS "SPosts" ON "SUser"."id" = "SPosts"."SUserId";
---
UPDATE "SUsers" SET "name"=$1,"updatedAt"=$2 WHERE "id" = $3
---
INSERT INTO "SUsers" ("id","name","createdAt","updatedAt") VALUES ($1,$2,$3,$4) ON CONFLICT ("id")
DO UPDATE SET "id"=EXCLUDED."id","name"=EXCLUDED."name","updatedAt"=EXCLUDED."updatedAt" RETURNING
"id","name","role","data","tags","n","createdAt","updatedAt";
---
START TRANSACTION;
---
SELECT "id", "name", "role", "data", "tags", "n", "createdAt", "updatedAt" FROM "SUsers" AS "SUser" WHERE
"SUser"."name" = 'q';
---
CREATE OR REPLACE FUNCTION pg_temp.testfunc(OUT response "SUsers", OUT sequelize_caught_exception text) RETURNS
RECORD AS $func_a1c90411600d45e2a67b831fccbb545c$ BEGIN INSERT INTO "SUsers" ("id","name","createdAt","updatedAt") VALUES (DEFAULT,'q','2026-11-30 04:18:55.439 +00:00','2026-11-30 04:18:55.439 +00:00') RETURNING * INTO response; EXCEPTION WHEN unique_violation THEN GET STACKED DIAGNOSTICS sequelize_caught_exception = PG_EXCEPTION_DETAIL; END $func_a1c90411600d45e2a67b831fccbb545c$
LANGUAGE plpgsql; SELECT (testfunc.response)."id", (testfunc.response)."name", (testfunc.response)."role",
(testfunc.response)."data", (testfunc.response)."tags", (testfunc.response)."n", (testfunc.response)."createdAt",
(testfunc.response)."updatedAt", testfunc.sequelize_caught_exception FROM pg_temp.testfunc(); DROP
FUNCTION IF EXISTS pg_temp.testfunc();
---
SELECT count(*) AS "count" FROM "SUsers" AS "SUser";
---
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;
---
SELECT "id", "name", "role", "data", "tags", "n", "createdAt", "updatedAt" FROM "SUsers" AS "SUser" FOR
UPDATE;
---
SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' AND table_type LIKE '%TABLE' AND
table_name != 'spatial_ref_sys';
---
SELECT schema_name FROM information_schema.schemata WHERE schema_name <> 'information_schema' AND schema_name
!= 'public' AND schema_name !~ E'^pg_';
---
SHOW SERVER_VERSION
---
SELECT constraint_catalog AS "constraintCatalog", constraint_schema AS "constraintSchema", constraint_name AS
"constraintName", table_catalog AS "tableCatalog", table_schema AS "tableSchema", table_name AS "tableName",
constraint_type AS "constraintType", is_deferrable AS "isDeferrable", initially_deferred AS "initiallyDeferred"
from INFORMATION_SCHEMA.table_constraints WHERE table_name='orders';
---
select * from orders where id = 3
---
DROP TABLE IF EXISTS "SPosts";
---
DROP TABLE IF EXISTS "SUsers";
---
SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'public'
AND c.relkind in ('r', 'p')
---
SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'public'
AND c.relkind IN ('v', 'm')
---
SELECT c.oid FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE (n.nspname = 'public') AND c.relname = 'customers' AND c.relkind in ('r', 'v', 'm', 'f', 'p')
---
SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), ( SELECT pg_catalog.pg_get_expr(d.adbin,
d.adrelid) FROM pg_catalog.pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef
) AS DEFAULT, a.attnotnull, a.attrelid as table_oid, pgd.description as comment, a.attgenerated as
generated, (SELECT json_build_object( 'always', a.attidentity = 'a', 'start', s.seqstart, 'increment',
s.seqincrement, 'minvalue', s.seqmin, 'maxvalue', s.seqmax, 'cache', s.seqcache, 'cycle', s.seqcycle)
FROM pg_catalog.pg_sequence s JOIN pg_catalog.pg_class c on s.seqrelid = c."oid" WHERE c.relkind = 'S'
AND a.attidentity != '' AND s.seqrelid = pg_catalog.pg_get_serial_sequence( a.attrelid::regclass::text,
a.attname )::regclass::oid ) as identity_options FROM pg_catalog.pg_attribute a LEFT JOIN pg_catalog.pg_description
pgd ON ( pgd.objoid = a.attrelid AND pgd.objsubid = a.attnum) WHERE a.attrelid = 16391 AND a.attnum
> 0 AND NOT a.attisdropped ORDER BY a.attnum
---
SELECT a.attname FROM pg_attribute a JOIN ( SELECT unnest(ix.indkey) attnum, generate_subscripts(ix.indkey,
1) ord FROM pg_index ix WHERE ix.indrelid = 16391 AND ix.indisprimary ) k ON a.attnum=k.attnum WHERE
a.attrelid = 16391 ORDER BY k.ord
---
SELECT conname FROM pg_catalog.pg_constraint r WHERE r.conrelid = 16391 AND r.contype = 'p' ORDER BY 1
---
SELECT r.conname, pg_catalog.pg_get_constraintdef(r.oid, true) as condef, n.nspname as conschema
FROM pg_catalog.pg_constraint r, pg_namespace n, pg_class c WHERE r.conrelid = 16391 AND r.contype = 'f'
AND c.oid = confrelid AND n.oid = c.relnamespace ORDER BY 1
---
SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg_%' ORDER BY nspname
---
SELECT relname FROM pg_class c join pg_namespace n on n.oid=c.relnamespace where relkind='S' and n.nspname='public'
---
SELECT t.typname as "name", pg_catalog.pg_type_is_visible(t.oid) as "visible", n.nspname as "schema",
e.enumlabel as "label" FROM pg_catalog.pg_type t LEFT JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
LEFT JOIN pg_catalog.pg_enum e ON t.oid = e.enumtypid WHERE t.typtype = 'e' AND n.nspname = 'public'
ORDER BY "schema", "name", e.oid
---
SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'public'
AND c.relkind = 'f'
---
SELECT pg_get_viewdef(c.oid) view_def FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE
n.nspname = 'public' AND c.relname = 'order_summary' AND c.relkind IN ('v', 'm')
---
SELECT EXISTS ( SELECT * FROM pg_catalog.pg_type t WHERE t.typname = 'sa_e' AND pg_type_is_visible(t.oid)
)
---
CREATE TYPE sa_e AS ENUM ('a', 'b')
---
CREATE TABLE sa_u ( id SERIAL NOT NULL, name VARCHAR(50), j JSONB, t TEXT[], e sa_e, d NUMERIC(10,
2), ts TIMESTAMP WITH TIME ZONE DEFAULT now(), PRIMARY KEY (id) )
---
CREATE INDEX ix_sa_u_name ON sa_u (name)
---
INSERT INTO sa_u (name, j, t, e, d) VALUES ('a', '{"a": 1}', ARRAY['x']::TEXT[], 'a', NULL)
RETURNING sa_u.id
---
INSERT INTO sa_u (name, t, e, d) VALUES ('b', NULL::TEXT[], NULL, NULL) RETURNING sa_u.id
---
SELECT sa_u.id AS sa_u_id, sa_u.name AS sa_u_name, sa_u.j AS sa_u_j, sa_u.t AS sa_u_t, sa_u.e AS
sa_u_e, sa_u.d AS sa_u_d, sa_u.ts AS sa_u_ts FROM sa_u WHERE sa_u.name = 'a' AND sa_u.t @> ARRAY['x']::TEXT[]
---
SELECT sa_u.id AS sa_u_id, sa_u.name AS sa_u_name, sa_u.j AS sa_u_j, sa_u.t AS sa_u_t, sa_u.e AS
sa_u_e, sa_u.d AS sa_u_d, sa_u.ts AS sa_u_ts FROM sa_u LIMIT 1 FOR UPDATE
---
UPDATE sa_u SET name='z' WHERE sa_u.id = 1
---
INSERT INTO sa_u (id, name) VALUES (1, 'q') ON CONFLICT (id) DO UPDATE SET name = 'q'
---
DELETE FROM sa_u WHERE sa_u.id = 1
---
DECLARE "c_7fbcb93c5c90_1" CURSOR WITHOUT HOLD FOR select * from orders
---
FETCH FORWARD 1 FROM "c_7fbcb93c5c90_1"
---
CLOSE "c_7fbcb93c5c90_1"
---
BEGIN ISOLATION LEVEL REPEATABLE READ
---
BEGIN ISOLATION LEVEL READ COMMITTED
---
DROP TABLE sa_u
---
DROP TYPE sa_e
---
insert into customers(id,name) values (6500,'a');insert into customers(id,name) values (6501,'b')
---
SELECT id, customer_id, amount, status FROM orders WHERE id = $1 LIMIT 1
---
SELECT id, customer_id, amount, status FROM orders WHERE ($1::text IS NULL OR status = $1) ORDER BY id LIMIT
$2 OFFSET $3
---
INSERT INTO orders (id, customer_id, amount, status) VALUES ($1, $2, $3, $4) RETURNING id, customer_id,
amount, status, tags, meta, created_at
---
select id,name from customers order by id limit 2
---
SELECT version(), current_setting('server_version_num') :: int8 AS version_number, ( SELECT COUNT(*)
AS active_connections FROM pg_stat_activity ) AS active_connections, current_setting('max_connections') ::
int8 AS max_connections
---
select n.oid::int8 as id, n.nspname as name, u.rolname as owner from pg_namespace n, pg_roles u where
n.nspowner = u.oid and n.nspname NOT IN ('information_schema','pg_catalog','pg_toast') and not pg_catalog.starts_with(n.nspname,
'pg_') and ( pg_has_role(n.nspowner, 'USAGE') or has_schema_privilege(n.oid, 'CREATE, USAGE') ) and
not pg_catalog.starts_with(n.nspname, 'pg_temp_') and not pg_catalog.starts_with(n.nspname, 'pg_toast_temp_')
---
with tables as ( SELECT c.oid :: int8 AS id, nc.nspname AS schema, c.relname AS name, c.relrowsecurity
AS rls_enabled, c.relforcerowsecurity AS rls_forced, CASE WHEN c.relreplident = 'd' THEN 'DEFAULT' WHEN c.relreplident
= 'i' THEN 'INDEX' WHEN c.relreplident = 'f' THEN 'FULL' ELSE 'NOTHING' END AS replica_identity, pg_total_relation_size(format('%I.%I',
nc.nspname, c.relname)) :: int8 AS bytes, pg_size_pretty( pg_total_relation_size(format('%I.%I',
nc.nspname, c.relname)) ) AS size, pg_stat_get_live_tuples(c.oid) AS live_rows_estimate, pg_stat_get_dead_tuples(c.oid)
AS dead_rows_estimate, obj_description(c.oid) AS comment, coalesce(pk.primary_keys, '[]') as primary_keys,
coalesce( jsonb_agg(relationships) filter (where relationships is not null), '[]' ) as relationships FROM
pg_namespace nc JOIN pg_class c ON nc.oid = c.relnamespace left join ( select c.oid::int8 as table_id,
jsonb_agg( jsonb_build_object( 'table_id', c.oid::int8, 'schema', n.nspname, 'table_name', c.relname,
'name', a.attname ) order by array_position(i.indkey, a.attnum) ) as primary_keys from pg_index i join
pg_class c on i.indrelid = c.oid join pg_namespace n on c.relnamespace = n.oid join pg_attribute a on a.attrelid
= c.oid and a.attnum = any(i.indkey) where n.nspname NOT IN ('information_schema','pg_catalog','pg_toast')
AND i.indisprimary group by c.oid ) as pk on pk.table_id = c.oid left join ( select c.oid :: int8 as
id, c.conname as constraint_name, nsa.nspname as source_schema, csa.relname as source_table_name, sa.attname
as source_column_name, nta.nspname as target_table_schema, cta.relname as target_table_name, ta.attname
as target_column_name from pg_constraint c join ( pg_attribute sa join pg_class csa on sa.attrelid = csa.oid
join pg_namespace nsa on csa.relnamespace = nsa.oid ) on sa.attrelid = c.conrelid and sa.attnum = any
(c.conkey) join ( pg_attribute ta join pg_class cta on ta.attrelid = cta.oid join pg_namespace nta on cta.relnamespace
= nta.oid ) on ta.attrelid = c.confrelid and ta.attnum = any (c.confkey) where nsa.nspname NOT IN
('information_schema','pg_catalog','pg_toast') OR nta.nspname NOT IN ('information_schema','pg_catalog','pg_toast')
AND c.contype = 'f' ) as relationships on (relationships.source_schema = nc.nspname and relationships.source_table_name
= c.relname) or (relationships.target_table_schema = nc.nspname and relationships.target_table_name =
c.relname) WHERE nc.nspname NOT IN ('information_schema','pg_catalog','pg_toast') AND c.relkind IN
('r', 'p') AND NOT pg_is_other_temp_schema(nc.oid) AND ( pg_has_role(c.relowner, 'USAGE') OR has_table_privilege(
c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER' ) OR has_any_column_privilege(c.oid,
'SELECT, INSERT, UPDATE, REFERENCES') ) group by c.oid, c.relname, c.relrowsecurity, c.relforcerowsecurity,
c.relreplident, nc.nspname, pk.primary_keys ) , columns as ( SELECT c.oid :: int8 AS table_id, nc.nspname
AS schema, c.relname AS table, (c.oid || '.' || a.attnum) AS id, a.attnum AS ordinal_position, a.attname
AS name, CASE WHEN a.atthasdef THEN pg_get_expr(ad.adbin, ad.adrelid) ELSE NULL END AS default_value,
CASE WHEN t.typtype = 'd' THEN CASE WHEN bt.typelem <> 0 :: oid AND bt.typlen = -1 THEN 'ARRAY' WHEN nbt.nspname
= 'pg_catalog' THEN format_type(t.typbasetype, NULL) ELSE 'USER-DEFINED' END ELSE CASE WHEN t.typelem <>
0 :: oid AND t.typlen = -1 THEN 'ARRAY' WHEN nt.nspname = 'pg_catalog' THEN format_type(a.atttypid, NULL)
ELSE 'USER-DEFINED' END END AS data_type, COALESCE(bt.typname, t.typname) AS format, a.attidentity
IN ('a', 'd') AS is_identity, CASE a.attidentity WHEN 'a' THEN 'ALWAYS' WHEN 'd' THEN 'BY DEFAULT' ELSE NULL
END AS identity_generation, a.attgenerated IN ('s') AS is_generated, NOT ( a.attnotnull OR t.typtype
= 'd' AND t.typnotnull ) AS is_nullable, ( c.relkind IN ('r', 'p') OR c.relkind IN ('v', 'f') AND
pg_column_is_updatable(c.oid, a.attnum, FALSE) ) AS is_updatable, uniques.table_id IS NOT NULL AS is_unique,
check_constraints.definition AS "check", array_to_json( array( SELECT enumlabel FROM pg_catalog.pg_enum
enums WHERE enums.enumtypid = coalesce(bt.oid, t.oid) OR enums.enumtypid = coalesce(bt.typelem,
t.typelem) ORDER BY enums.enumsortorder ) ) AS enums, col_description(c.oid, a.attnum) AS comment
FROM pg_attribute a LEFT JOIN pg_attrdef ad ON a.attrelid = ad.adrelid AND a.attnum = ad.adnum JOIN ( pg_class
c JOIN pg_namespace nc ON c.relnamespace = nc.oid ) ON a.attrelid = c.oid JOIN ( pg_type t JOIN pg_namespace
nt ON t.typnamespace = nt.oid ) ON a.atttypid = t.oid LEFT JOIN ( pg_type bt JOIN pg_namespace nbt ON bt.typnamespace
= nbt.oid ) ON t.typtype = 'd' AND t.typbasetype = bt.oid LEFT JOIN ( SELECT DISTINCT ON (table_id, ordinal_position)
conrelid AS table_id, conkey[1] AS ordinal_position FROM pg_catalog.pg_constraint WHERE contype = 'u' AND
cardinality(conkey) = 1 ) AS uniques ON uniques.table_id = c.oid AND uniques.ordinal_position = a.attnum
LEFT JOIN ( SELECT DISTINCT ON (table_id, ordinal_position) conrelid AS table_id, conkey[1] AS ordinal_position,
substring( pg_get_constraintdef(pg_constraint.oid, true), 8, length(pg_get_constraintdef(pg_constraint.oid,
true)) - 8 ) AS "definition" FROM pg_constraint WHERE contype = 'c' AND cardinality(conkey) = 1 ORDER BY table_id,
ordinal_position, oid asc ) AS check_constraints ON check_constraints.table_id = c.oid AND check_constraints.ordinal_position
= a.attnum WHERE nc.nspname NOT IN ('information_schema','pg_catalog','pg_toast') AND NOT pg_is_other_temp_schema(nc.oid)
AND a.attnum > 0 AND NOT a.attisdropped AND (c.relkind IN ('r', 'v', 'm', 'f', 'p')) AND ( pg_has_role(c.relowner,
'USAGE') OR has_column_privilege( c.oid, a.attnum, 'SELECT, INSERT, UPDATE, REFERENCES' ) ) ) select *
, COALESCE( ( SELECT array_agg(row_to_json(columns)) FILTER (WHERE columns.table_id = tables.id) FROM
columns ), '{}' ) AS columns from tables
---
SELECT c.oid :: int8 AS table_id, nc.nspname AS schema, c.relname AS table, (c.oid || '.' || a.attnum)
AS id, a.attnum AS ordinal_position, a.attname AS name, CASE WHEN a.atthasdef THEN pg_get_expr(ad.adbin,
ad.adrelid) ELSE NULL END AS default_value, CASE WHEN t.typtype = 'd' THEN CASE WHEN bt.typelem <> 0 ::
oid AND bt.typlen = -1 THEN 'ARRAY' WHEN nbt.nspname = 'pg_catalog' THEN format_type(t.typbasetype, NULL)
ELSE 'USER-DEFINED' END ELSE CASE WHEN t.typelem <> 0 :: oid AND t.typlen = -1 THEN 'ARRAY' WHEN nt.nspname
= 'pg_catalog' THEN format_type(a.atttypid, NULL) ELSE 'USER-DEFINED' END END AS data_type, COALESCE(bt.typname,
t.typname) AS format, a.attidentity IN ('a', 'd') AS is_identity, CASE a.attidentity WHEN 'a' THEN
'ALWAYS' WHEN 'd' THEN 'BY DEFAULT' ELSE NULL END AS identity_generation, a.attgenerated IN ('s') AS is_generated,
NOT ( a.attnotnull OR t.typtype = 'd' AND t.typnotnull ) AS is_nullable, ( c.relkind IN ('r', 'p')
OR c.relkind IN ('v', 'f') AND pg_column_is_updatable(c.oid, a.attnum, FALSE) ) AS is_updatable,
uniques.table_id IS NOT NULL AS is_unique, check_constraints.definition AS "check", array_to_json( array(
SELECT enumlabel FROM pg_catalog.pg_enum enums WHERE enums.enumtypid = coalesce(bt.oid, t.oid) OR enums.enumtypid
= coalesce(bt.typelem, t.typelem) ORDER BY enums.enumsortorder ) ) AS enums, col_description(c.oid,
a.attnum) AS comment FROM pg_attribute a LEFT JOIN pg_attrdef ad ON a.attrelid = ad.adrelid AND a.attnum
= ad.adnum JOIN ( pg_class c JOIN pg_namespace nc ON c.relnamespace = nc.oid ) ON a.attrelid = c.oid
JOIN ( pg_type t JOIN pg_namespace nt ON t.typnamespace = nt.oid ) ON a.atttypid = t.oid LEFT JOIN ( pg_type
bt JOIN pg_namespace nbt ON bt.typnamespace = nbt.oid ) ON t.typtype = 'd' AND t.typbasetype = bt.oid
LEFT JOIN ( SELECT DISTINCT ON (table_id, ordinal_position) conrelid AS table_id, conkey[1] AS ordinal_position
FROM pg_catalog.pg_constraint WHERE contype = 'u' AND cardinality(conkey) = 1 ) AS uniques ON uniques.table_id
= c.oid AND uniques.ordinal_position = a.attnum LEFT JOIN ( SELECT DISTINCT ON (table_id, ordinal_position)
conrelid AS table_id, conkey[1] AS ordinal_position, substring( pg_get_constraintdef(pg_constraint.oid,
true), 8, length(pg_get_constraintdef(pg_constraint.oid, true)) - 8 ) AS "definition" FROM pg_constraint
WHERE contype = 'c' AND cardinality(conkey) = 1 ORDER BY table_id, ordinal_position, oid asc ) AS check_constraints
ON check_constraints.table_id = c.oid AND check_constraints.ordinal_position = a.attnum WHERE nc.nspname
NOT IN ('information_schema','pg_catalog','pg_toast') AND NOT pg_is_other_temp_schema(nc.oid) AND a.attnum
> 0 AND NOT a.attisdropped AND (c.relkind IN ('r', 'v', 'm', 'f', 'p')) AND ( pg_has_role(c.relowner,
'USAGE') OR has_column_privilege( c.oid, a.attnum, 'SELECT, INSERT, UPDATE, REFERENCES' ) )
---
with views as ( SELECT c.oid :: int8 AS id, n.nspname AS schema, c.relname AS name, (pg_relation_is_updatable(c.oid,
false) & 20) = 20 AS is_updatable, obj_description(c.oid) AS comment FROM pg_class c JOIN pg_namespace
n ON n.oid = c.relnamespace WHERE n.nspname NOT IN ('information_schema','pg_catalog','pg_toast') AND
c.relkind = 'v' ) , columns as ( SELECT c.oid :: int8 AS table_id, nc.nspname AS schema, c.relname AS
table, (c.oid || '.' || a.attnum) AS id, a.attnum AS ordinal_position, a.attname AS name, CASE WHEN
a.atthasdef THEN pg_get_expr(ad.adbin, ad.adrelid) ELSE NULL END AS default_value, CASE WHEN t.typtype
= 'd' THEN CASE WHEN bt.typelem <> 0 :: oid AND bt.typlen = -1 THEN 'ARRAY' WHEN nbt.nspname = 'pg_catalog'
THEN format_type(t.typbasetype, NULL) ELSE 'USER-DEFINED' END ELSE CASE WHEN t.typelem <> 0 :: oid AND
t.typlen = -1 THEN 'ARRAY' WHEN nt.nspname = 'pg_catalog' THEN format_type(a.atttypid, NULL) ELSE 'USER-DEFINED'
END END AS data_type, COALESCE(bt.typname, t.typname) AS format, a.attidentity IN ('a', 'd') AS
is_identity, CASE a.attidentity WHEN 'a' THEN 'ALWAYS' WHEN 'd' THEN 'BY DEFAULT' ELSE NULL END AS identity_generation,
a.attgenerated IN ('s') AS is_generated, NOT ( a.attnotnull OR t.typtype = 'd' AND t.typnotnull ) AS
is_nullable, ( c.relkind IN ('r', 'p') OR c.relkind IN ('v', 'f') AND pg_column_is_updatable(c.oid,
a.attnum, FALSE) ) AS is_updatable, uniques.table_id IS NOT NULL AS is_unique, check_constraints.definition
AS "check", array_to_json( array( SELECT enumlabel FROM pg_catalog.pg_enum enums WHERE enums.enumtypid =
coalesce(bt.oid, t.oid) OR enums.enumtypid = coalesce(bt.typelem, t.typelem) ORDER BY enums.enumsortorder
) ) AS enums, col_description(c.oid, a.attnum) AS comment FROM pg_attribute a LEFT JOIN pg_attrdef ad
ON a.attrelid = ad.adrelid AND a.attnum = ad.adnum JOIN ( pg_class c JOIN pg_namespace nc ON c.relnamespace
= nc.oid ) ON a.attrelid = c.oid JOIN ( pg_type t JOIN pg_namespace nt ON t.typnamespace = nt.oid ) ON
a.atttypid = t.oid LEFT JOIN ( pg_type bt JOIN pg_namespace nbt ON bt.typnamespace = nbt.oid ) ON t.typtype
= 'd' AND t.typbasetype = bt.oid LEFT JOIN ( SELECT DISTINCT ON (table_id, ordinal_position) conrelid AS
table_id, conkey[1] AS ordinal_position FROM pg_catalog.pg_constraint WHERE contype = 'u' AND cardinality(conkey)
= 1 ) AS uniques ON uniques.table_id = c.oid AND uniques.ordinal_position = a.attnum LEFT JOIN ( SELECT
DISTINCT ON (table_id, ordinal_position) conrelid AS table_id, conkey[1] AS ordinal_position, substring(
pg_get_constraintdef(pg_constraint.oid, true), 8, length(pg_get_constraintdef(pg_constraint.oid,
true)) - 8 ) AS "definition" FROM pg_constraint WHERE contype = 'c' AND cardinality(conkey) = 1 ORDER BY table_id,
ordinal_position, oid asc ) AS check_constraints ON check_constraints.table_id = c.oid AND check_constraints.ordinal_position
= a.attnum WHERE nc.nspname NOT IN ('information_schema','pg_catalog','pg_toast') AND NOT pg_is_other_temp_schema(nc.oid)
AND a.attnum > 0 AND NOT a.attisdropped AND (c.relkind IN ('r', 'v', 'm', 'f', 'p')) AND ( pg_has_role(c.relowner,
'USAGE') OR has_column_privilege( c.oid, a.attnum, 'SELECT, INSERT, UPDATE, REFERENCES' ) ) ) select *
, COALESCE( ( SELECT array_agg(row_to_json(columns)) FILTER (WHERE columns.table_id = views.id) FROM
columns ), '{}' ) AS columns from views
---
with materialized_views as ( select c.oid::int8 as id, n.nspname as schema, c.relname as name, c.relispopulated
as is_populated, obj_description(c.oid) as comment from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind = 'm' ) select * from materialized_views
---
with foreign_tables as ( SELECT c.oid :: int8 AS id, n.nspname AS schema, c.relname AS name, obj_description(c.oid)
AS comment FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'f' ) , columns
as ( SELECT c.oid :: int8 AS table_id, nc.nspname AS schema, c.relname AS table, (c.oid || '.' || a.attnum)
AS id, a.attnum AS ordinal_position, a.attname AS name, CASE WHEN a.atthasdef THEN pg_get_expr(ad.adbin,
ad.adrelid) ELSE NULL END AS default_value, CASE WHEN t.typtype = 'd' THEN CASE WHEN bt.typelem <> 0 ::
oid AND bt.typlen = -1 THEN 'ARRAY' WHEN nbt.nspname = 'pg_catalog' THEN format_type(t.typbasetype, NULL)
ELSE 'USER-DEFINED' END ELSE CASE WHEN t.typelem <> 0 :: oid AND t.typlen = -1 THEN 'ARRAY' WHEN nt.nspname
= 'pg_catalog' THEN format_type(a.atttypid, NULL) ELSE 'USER-DEFINED' END END AS data_type, COALESCE(bt.typname,
t.typname) AS format, a.attidentity IN ('a', 'd') AS is_identity, CASE a.attidentity WHEN 'a' THEN
'ALWAYS' WHEN 'd' THEN 'BY DEFAULT' ELSE NULL END AS identity_generation, a.attgenerated IN ('s') AS is_generated,
NOT ( a.attnotnull OR t.typtype = 'd' AND t.typnotnull ) AS is_nullable, ( c.relkind IN ('r', 'p')
OR c.relkind IN ('v', 'f') AND pg_column_is_updatable(c.oid, a.attnum, FALSE) ) AS is_updatable,
uniques.table_id IS NOT NULL AS is_unique, check_constraints.definition AS "check", array_to_json( array(
SELECT enumlabel FROM pg_catalog.pg_enum enums WHERE enums.enumtypid = coalesce(bt.oid, t.oid) OR enums.enumtypid
= coalesce(bt.typelem, t.typelem) ORDER BY enums.enumsortorder ) ) AS enums, col_description(c.oid,
a.attnum) AS comment FROM pg_attribute a LEFT JOIN pg_attrdef ad ON a.attrelid = ad.adrelid AND a.attnum
= ad.adnum JOIN ( pg_class c JOIN pg_namespace nc ON c.relnamespace = nc.oid ) ON a.attrelid = c.oid
JOIN ( pg_type t JOIN pg_namespace nt ON t.typnamespace = nt.oid ) ON a.atttypid = t.oid LEFT JOIN ( pg_type
bt JOIN pg_namespace nbt ON bt.typnamespace = nbt.oid ) ON t.typtype = 'd' AND t.typbasetype = bt.oid
LEFT JOIN ( SELECT DISTINCT ON (table_id, ordinal_position) conrelid AS table_id, conkey[1] AS ordinal_position
FROM pg_catalog.pg_constraint WHERE contype = 'u' AND cardinality(conkey) = 1 ) AS uniques ON uniques.table_id
= c.oid AND uniques.ordinal_position = a.attnum LEFT JOIN ( SELECT DISTINCT ON (table_id, ordinal_position)
conrelid AS table_id, conkey[1] AS ordinal_position, substring( pg_get_constraintdef(pg_constraint.oid,
true), 8, length(pg_get_constraintdef(pg_constraint.oid, true)) - 8 ) AS "definition" FROM pg_constraint
WHERE contype = 'c' AND cardinality(conkey) = 1 ORDER BY table_id, ordinal_position, oid asc ) AS check_constraints
ON check_constraints.table_id = c.oid AND check_constraints.ordinal_position = a.attnum WHERE NOT pg_is_other_temp_schema(nc.oid)
AND a.attnum > 0 AND NOT a.attisdropped AND (c.relkind IN ('r', 'v', 'm', 'f', 'p')) AND ( pg_has_role(c.relowner,
'USAGE') OR has_column_privilege( c.oid, a.attnum, 'SELECT, INSERT, UPDATE, REFERENCES' ) ) ) select *
, COALESCE( ( SELECT array_agg(row_to_json(columns)) FILTER (WHERE columns.table_id = foreign_tables.id)
FROM columns ), '{}' ) AS columns from foreign_tables
---
with functions as ( select p.*, coalesce( p.proargmodes, array_fill('i'::text, array[cardinality(coalesce(p.proallargtypes,
p.proargtypes))]) ) as arg_modes, coalesce( p.proargnames, array_fill(''::text, array[cardinality(coalesce(p.proallargtypes,
p.proargtypes))]) ) as arg_names, coalesce(p.proallargtypes, p.proargtypes) as arg_types, array_cat(
array_fill(false, array[pronargs - pronargdefaults]), array_fill(true, array[pronargdefaults]))
as arg_has_defaults from pg_proc as p join pg_namespace n on p.pronamespace = n.oid where n.nspname NOT IN
('information_schema','pg_catalog','pg_toast') AND p.prokind = 'f' ) select f.oid::int8 as id, n.nspname
as schema, f.proname as name, l.lanname as language, case when l.lanname = 'internal' then '' else f.prosrc
end as definition, case when l.lanname = 'internal' then f.prosrc else pg_get_functiondef(f.oid) end
as complete_statement, coalesce(f_args.args, '[]') as args, pg_get_function_arguments(f.oid) as argument_types,
pg_get_function_identity_arguments(f.oid) as identity_argument_types, f.prorettype::int8 as return_type_id,
pg_get_function_result(f.oid) as return_type, nullif(rt.typrelid::int8, 0) as return_type_relation_id,
f.proretset as is_set_returning_function, case when f.proretset then nullif(f.prorows, 0) else null
end as prorows, case when f.provolatile = 'i' then 'IMMUTABLE' when f.provolatile = 's' then 'STABLE' when
f.provolatile = 'v' then 'VOLATILE' end as behavior, f.prosecdef as security_definer, f_config.config_params
as config_params from functions f left join pg_namespace n on f.pronamespace = n.oid left join pg_language
l on f.prolang = l.oid left join pg_type rt on rt.oid = f.prorettype left join ( select oid, jsonb_object_agg(param,
value) filter (where param is not null) as config_params from ( select oid, (string_to_array(unnest(proconfig),
'='))[1] as param, (string_to_array(unnest(proconfig), '='))[2] as value from functions ) as
t group by oid ) f_config on f_config.oid = f.oid left join ( select oid, jsonb_agg(jsonb_build_object(
'mode', t2.mode, 'name', name, 'type_id', type_id, 'has_default', has_default )) as args from ( select
oid, unnest(arg_modes) as mode, unnest(arg_names) as name, unnest(arg_types)::int8 as type_id, unnest(arg_has_defaults)
as has_default from functions ) as t1, lateral ( select case when t1.mode = 'i' then 'in' when t1.mode = 'o'
then 'out' when t1.mode = 'b' then 'inout' when t1.mode = 'v' then 'variadic' else 'table' end as mode ) as
t2 group by t1.oid ) f_args on f_args.oid = f.oid
---
SELECT idx.indexrelid::int8 AS id, idx.indrelid::int8 AS table_id, n.nspname AS schema, idx.indnatts
AS number_of_attributes, idx.indnkeyatts AS number_of_key_attributes, idx.indisunique AS is_unique, idx.indisprimary
AS is_primary, idx.indisexclusion AS is_exclusion, idx.indimmediate AS is_immediate, idx.indisclustered
AS is_clustered, idx.indisvalid AS is_valid, idx.indcheckxmin AS check_xmin, idx.indisready AS is_ready,
idx.indislive AS is_live, idx.indisreplident AS is_replica_identity, idx.indkey::smallint[] AS key_attributes,
idx.indcollation::integer[] AS collation, idx.indclass::integer[] AS class, idx.indoption::smallint[]
AS options, idx.indpred AS index_predicate, obj_description(idx.indexrelid, 'pg_class') AS comment,
ix.indexdef as index_definition, am.amname AS access_method, jsonb_agg( jsonb_build_object( 'attribute_number',
a.attnum, 'attribute_name', a.attname, 'data_type', format_type(a.atttypid, a.atttypmod) ) ORDER
BY a.attnum ) AS index_attributes FROM pg_index idx JOIN pg_class c ON c.oid = idx.indexrelid JOIN pg_namespace
n ON c.relnamespace = n.oid JOIN pg_am am ON c.relam = am.oid JOIN pg_attribute a ON a.attrelid = c.oid
AND a.attnum = ANY(idx.indkey) JOIN pg_indexes ix ON c.relname = ix.indexname WHERE n.nspname NOT
IN ('information_schema','pg_catalog','pg_toast') GROUP BY idx.indexrelid, idx.indrelid, n.nspname,
idx.indnatts, idx.indnkeyatts, idx.indisunique, idx.indisprimary, idx.indisexclusion, idx.indimmediate,
idx.indisclustered, idx.indisvalid, idx.indcheckxmin, idx.indisready, idx.indislive, idx.indisreplident,
idx.indkey, idx.indcollation, idx.indclass, idx.indoption, idx.indexprs, idx.indpred, ix.indexdef,
am.amname
---
select t.oid::int8 as id, t.typname as name, n.nspname as schema, format_type (t.oid, null) as
format, coalesce(t_enums.enums, '[]') as enums, coalesce(t_attributes.attributes, '[]') as attributes,
obj_description (t.oid, 'pg_type') as comment, nullif(t.typrelid::int8, 0) as type_relation_id from
pg_type t left join pg_namespace n on n.oid = t.typnamespace left join ( select enumtypid, jsonb_agg(enumlabel
order by enumsortorder) as enums from pg_enum group by enumtypid ) as t_enums on t_enums.enumtypid = t.oid
left join ( select oid, jsonb_agg( jsonb_build_object('name', a.attname, 'type_id', a.atttypid::int8)
order by a.attnum asc ) as attributes from pg_class c join pg_attribute a on a.attrelid = c.oid where c.relkind
= 'c' and not a.attisdropped group by c.oid ) as t_attributes on t_attributes.oid = t.typrelid where (
t.typrelid = 0 or ( select c.relkind = 'c' from pg_class c where c.oid = t.typrelid ) ) and not exists
( select from pg_type el where el.oid = t.typelem and el.typarray = t.oid ) and n.nspname NOT IN ('information_schema','pg_catalog','pg_toast')
---
SELECT e.name, n.nspname AS schema, e.default_version, x.extversion AS installed_version, e.comment
FROM pg_available_extensions() e(name, default_version, comment) LEFT JOIN pg_extension x ON e.name =
x.extname LEFT JOIN pg_namespace n ON x.extnamespace = n.oid WHERE true
---
SELECT pol.oid :: int8 AS id, n.nspname AS schema, c.relname AS table, c.oid :: int8 AS table_id, pol.polname
AS name, CASE WHEN pol.polpermissive THEN 'PERMISSIVE' :: text ELSE 'RESTRICTIVE' :: text END AS action, CASE
WHEN pol.polroles = '{0}' :: oid [] THEN array_to_json( string_to_array('public' :: text, '' :: text) ::
name [] ) ELSE array_to_json( ARRAY( SELECT pg_roles.rolname FROM pg_roles WHERE pg_roles.oid = ANY (pol.polroles)
ORDER BY pg_roles.rolname ) ) END AS roles, CASE pol.polcmd WHEN 'r' :: "char" THEN 'SELECT' :: text WHEN
'a' :: "char" THEN 'INSERT' :: text WHEN 'w' :: "char" THEN 'UPDATE' :: text WHEN 'd' :: "char" THEN 'DELETE' ::
text WHEN '*' :: "char" THEN 'ALL' :: text ELSE NULL :: text END AS command, pg_get_expr(pol.polqual, pol.polrelid)
AS definition, pg_get_expr(pol.polwithcheck, pol.polrelid) AS check FROM pg_policy pol JOIN pg_class c
ON c.oid = pol.polrelid LEFT JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname NOT IN ('information_schema','pg_catalog','pg_toast')
---
SELECT p.oid :: int8 AS id, p.pubname AS name, p.pubowner::regrole::text AS owner, p.pubinsert AS
publish_insert, p.pubupdate AS publish_update, p.pubdelete AS publish_delete, p.pubtruncate AS publish_truncate,
CASE WHEN p.puballtables THEN NULL ELSE pr.tables END AS tables FROM pg_catalog.pg_publication AS p LEFT
JOIN LATERAL ( SELECT COALESCE( array_agg( json_build_object( 'id', c.oid :: int8, 'name', c.relname,
'schema', nc.nspname ) ), '{}' ) AS tables FROM pg_catalog.pg_publication_rel AS pr JOIN pg_class AS c ON
pr.prrelid = c.oid join pg_namespace as nc on c.relnamespace = nc.oid WHERE pr.prpubid = p.oid ) AS
pr ON 1 = 1 WHERE true
---
SELECT oid :: int8 AS id, rolname AS name, rolsuper AS is_superuser, rolcreatedb AS can_create_db, rolcreaterole
AS can_create_role, rolinherit AS inherit_role, rolcanlogin AS can_login, rolreplication AS is_replication_role,
rolbypassrls AS can_bypass_rls, ( SELECT COUNT(*) FROM pg_stat_activity WHERE pg_roles.rolname = pg_stat_activity.usename
) AS active_connections, CASE WHEN rolconnlimit = -1 THEN current_setting('max_connections') :: int8 ELSE
rolconnlimit END AS connection_limit, rolpassword AS password, rolvaliduntil AS valid_until, rolconfig AS config
FROM pg_roles WHERE true AND NOT pg_catalog.starts_with(rolname, 'pg_')
---
SELECT pg_t.oid AS id, pg_t.tgrelid AS table_id, CASE WHEN pg_t.tgenabled = 'D' THEN 'DISABLED' WHEN pg_t.tgenabled
= 'O' THEN 'ORIGIN' WHEN pg_t.tgenabled = 'R' THEN 'REPLICA' WHEN pg_t.tgenabled = 'A' THEN 'ALWAYS' END AS
enabled_mode, ( STRING_TO_ARRAY( ENCODE(pg_t.tgargs, 'escape'), '\000' ) )[:pg_t.tgnargs] AS function_args,
is_t.trigger_name AS name, is_t.event_object_table AS table, is_t.event_object_schema AS schema, is_t.action_condition
AS condition, is_t.action_orientation AS orientation, is_t.action_timing AS activation, ARRAY_AGG(is_t.event_manipulation)::text[]
AS events, pg_p.proname AS function_name, pg_n.nspname AS function_schema FROM pg_trigger AS pg_t JOIN pg_class
AS pg_c ON pg_t.tgrelid = pg_c.oid JOIN pg_namespace AS table_ns ON pg_c.relnamespace = table_ns.oid JOIN
information_schema.triggers AS is_t ON is_t.trigger_name = pg_t.tgname AND pg_c.relname = is_t.event_object_table
AND pg_c.relnamespace = (quote_ident(is_t.event_object_schema))::regnamespace JOIN pg_proc AS pg_p ON
pg_t.tgfoid = pg_p.oid JOIN pg_namespace AS pg_n ON pg_p.pronamespace = pg_n.oid WHERE table_ns.nspname
NOT IN ('information_schema','pg_catalog','pg_toast') GROUP BY pg_t.oid, pg_t.tgrelid, pg_t.tgenabled,
pg_t.tgargs, pg_t.tgnargs, is_t.trigger_name, is_t.event_object_table, is_t.event_object_schema,
is_t.action_condition, is_t.action_orientation, is_t.action_timing, pg_p.proname, pg_n.nspname
---
SELECT name, setting, category, TRIM(split_part(category, '/', 1)) AS group, TRIM(split_part(category,
'/', 2)) AS subgroup, unit, short_desc, extra_desc, context, vartype, source, min_val, max_val, enumvals,
boot_val, reset_val, sourcefile, sourceline, pending_restart FROM pg_settings ORDER BY category, name
---
WITH pks_uniques_cols AS ( SELECT connamespace, conrelid, jsonb_agg(column_info.cols) as cols FROM pg_constraint
JOIN lateral ( SELECT array_agg(cols.attname order by cols.attnum) as cols FROM ( select unnest(conkey)
as col) _ JOIN pg_attribute cols on cols.attrelid = conrelid and cols.attnum = col ) column_info ON TRUE WHERE
contype IN ('p', 'u') and connamespace::regnamespace::text <> 'pg_catalog' and connamespace::regnamespace::text
NOT IN ('information_schema','pg_catalog','pg_toast') GROUP BY connamespace, conrelid ) SELECT traint.conname
AS foreign_key_name, ns1.nspname AS schema, tab.relname AS relation, column_info.cols AS columns, ns2.nspname
AS referenced_schema, other.relname AS referenced_relation, column_info.refs AS referenced_columns, (column_info.cols
IN (SELECT * FROM jsonb_array_elements(pks_uqs.cols))) AS is_one_to_one FROM pg_constraint traint JOIN
LATERAL ( SELECT jsonb_agg(cols.attname order by ord) AS cols, jsonb_agg(refs.attname order by ord)
AS refs FROM unnest(traint.conkey, traint.confkey) WITH ORDINALITY AS _(col, ref, ord) JOIN pg_attribute
cols ON cols.attrelid = traint.conrelid AND cols.attnum = col JOIN pg_attribute refs ON refs.attrelid =
traint.confrelid AND refs.attnum = ref WHERE traint.connamespace::regnamespace::text NOT IN ('information_schema','pg_catalog','pg_toast')
) AS column_info ON TRUE JOIN pg_namespace ns1 ON ns1.oid = traint.connamespace JOIN pg_class tab ON tab.oid
= traint.conrelid JOIN pg_class other ON other.oid = traint.confrelid JOIN pg_namespace ns2 ON ns2.oid
= other.relnamespace LEFT JOIN pks_uniques_cols pks_uqs ON pks_uqs.connamespace = traint.connamespace AND
pks_uqs.conrelid = traint.conrelid WHERE traint.contype = 'f' AND traint.conparentid = 0 and ns1.nspname
NOT IN ('information_schema','pg_catalog','pg_toast')
---
with recursive pks_fks as ( select contype::text as contype, conname, array_length(conkey, 1) as ncol,
conrelid as resorigtbl, col as resorigcol, ord from pg_constraint left join lateral unnest(conkey) with ordinality
as _(col, ord) on true where contype IN ('p', 'f') union select concat(contype, '_ref') as contype,
conname, array_length(confkey, 1) as ncol, confrelid, col, ord from pg_constraint left join lateral unnest(confkey)
with ordinality as _(col, ord) on true where contype='f' and connamespace::regnamespace::text NOT IN
('information_schema','pg_catalog','pg_toast') ), views as ( select c.oid as view_id, n.nspname as
view_schema, c.relname as view_name, r.ev_action as view_definition from pg_class c join pg_namespace n on
n.oid = c.relnamespace join pg_rewrite r on r.ev_class = c.oid where c.relkind in ('v', 'm') and n.nspname
NOT IN ('information_schema','pg_catalog','pg_toast') ), transform_json as ( select view_id, view_schema,
view_name, replace( replace( replace( replace( replace( replace( replace( regexp_replace( replace( replace(
replace( replace( replace( replace( replace( replace( replace( replace( replace( view_definition::text,
'<>' , '()' ), ',' , '' ), E'\\{' , '' ), E'\\}' , '' ), ' :targetList ' , ',"targetList":' ), ' :resno '
, ',"resno":' ), ' :resorigtbl ' , ',"resorigtbl":' ), ' :resorigcol ' , ',"resorigcol":' ), '{' , '{ :' ),
'((' , '{((' ), '({' , '{({' ), ' :[^}{,]+' , ',"":' , 'g' ), ',"":}' , '}' ), ',"":,' , ',' ), '{(' , '('
), '{,' , '{' ), '(' , '[' ), ')' , ']' ), ' ' , ',' )::json as view_definition from views ), target_entries
as( select view_id, view_schema, view_name, json_array_elements(view_definition->0->'targetList') as
entry from transform_json ), results as( select view_id, view_schema, view_name, (entry->>'resno')::int
as view_column, (entry->>'resorigtbl')::oid as resorigtbl, (entry->>'resorigcol')::int as resorigcol
from target_entries ), recursion(view_id, view_schema, view_name, view_column, resorigtbl, resorigcol,
is_cycle, path) as( select r.*, false, ARRAY[resorigtbl] from results r where view_schema NOT IN ('information_schema','pg_catalog','pg_toast')
union all select view.view_id, view.view_schema, view.view_name, view.view_column, tab.resorigtbl,
tab.resorigcol, tab.resorigtbl = ANY(path), path || tab.resorigtbl from recursion view join results
tab on view.resorigtbl=tab.view_id and view.resorigcol=tab.view_column where not is_cycle ), repeated_references
as( select view_id, view_schema, view_name, resorigtbl, resorigcol, array_agg(attname) as view_columns
from recursion join pg_attribute vcol on vcol.attrelid = view_id and vcol.attnum = view_column group by view_id,
view_schema, view_name, resorigtbl, resorigcol ) select sch.nspname as table_schema, tbl.relname as table_name,
rep.view_schema, rep.view_name, pks_fks.conname as constraint_name, pks_fks.contype as constraint_type,
jsonb_agg( jsonb_build_object('table_column', col.attname, 'view_columns', view_columns) order by pks_fks.ord
) as column_dependencies from repeated_references rep join pks_fks using (resorigtbl, resorigcol) join pg_class
tbl on tbl.oid = rep.resorigtbl join pg_attribute col on col.attrelid = tbl.oid and col.attnum = rep.resorigcol
join pg_namespace sch on sch.oid = tbl.relnamespace group by sch.nspname, tbl.relname, rep.view_schema,
rep.view_name, pks_fks.conname, pks_fks.contype, pks_fks.ncol having ncol = array_length(array_agg(row(col.attname,
view_columns) order by pks_fks.ord), 1)
---
select c.oid as relation_id, nc.nspname as schema, c.relname as name, case when c.relkind = 'r' then
'table' when c.relkind = 'v' then 'view' when c.relkind = 'm' then 'materialized_view' when c.relkind = 'f'
then 'foreign_table' when c.relkind = 'p' then 'partitioned_table' end as kind, coalesce( jsonb_agg( jsonb_build_object(
'grantor', grantor.rolname, 'grantee', grantee.rolname, 'privilege_type', _priv.privilege_type, 'is_grantable',
_priv.is_grantable ) ) filter (where _priv is not null), '[]' ) as privileges from pg_class c join pg_namespace
as nc on nc.oid = c.relnamespace left join lateral ( select grantor, grantee, privilege_type, is_grantable
from aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) ) as _priv on true left join pg_roles
as grantor on grantor.oid = _priv.grantor left join ( select pg_roles.oid, pg_roles.rolname from pg_roles
union all select (0)::oid as oid, 'PUBLIC' ) as grantee (oid, rolname) on grantee.oid = _priv.grantee
where c.relkind in ('r', 'v', 'm', 'f', 'p') and nc.nspname NOT IN ('information_schema','pg_catalog','pg_toast')
and not pg_is_other_temp_schema(c.relnamespace) and ( pg_has_role(c.relowner, 'USAGE') or has_table_privilege(
c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER, MAINTAIN' ) or has_any_column_privilege(c.oid,
'SELECT, INSERT, UPDATE, REFERENCES') ) group by c.oid, nc.nspname, c.relname, c.relkind
---
select (x.attrelid || '.' || x.attnum) as column_id, nc.nspname as relation_schema, x.relname as relation_name,
x.attname as column_name, coalesce( jsonb_agg( jsonb_build_object( 'grantor', u_grantor.rolname, 'grantee',
grantee.rolname, 'privilege_type', x.prtype, 'is_grantable', x.grantable ) ), '[]' ) as privileges from
(select pr_c.grantor, pr_c.grantee, a.attrelid, a.attnum, a.attname, pr_c.relname, pr_c.relnamespace,
pr_c.prtype, pr_c.grantable, pr_c.relowner from (select pg_class.oid, pg_class.relname, pg_class.relnamespace,
pg_class.relowner, (aclexplode(coalesce(pg_class.relacl, acldefault('r', pg_class.relowner)))).grantor
as grantor, (aclexplode(coalesce(pg_class.relacl, acldefault('r', pg_class.relowner)))).grantee
as grantee, (aclexplode(coalesce(pg_class.relacl, acldefault('r', pg_class.relowner)))).privilege_type
as privilege_type, (aclexplode(coalesce(pg_class.relacl, acldefault('r', pg_class.relowner)))).is_grantable
as is_grantable from pg_class where (pg_class.relkind = any (array['r', 'v', 'm', 'f', 'p'])) ) pr_c(oid,
relname, relnamespace, relowner, grantor, grantee, prtype, grantable), pg_attribute a where ((a.attrelid
= pr_c.oid) and (a.attnum > 0) and (not a.attisdropped)) union select pr_a.grantor, pr_a.grantee,
pr_a.attrelid, pr_a.attnum, pr_a.attname, c.relname, c.relnamespace, pr_a.prtype, pr_a.grantable,
c.relowner from (select a.attrelid, a.attnum, a.attname, (aclexplode(coalesce(a.attacl, acldefault('c',
cc.relowner)))).grantor as grantor, (aclexplode(coalesce(a.attacl, acldefault('c', cc.relowner)))).grantee
as grantee, (aclexplode(coalesce(a.attacl, acldefault('c', cc.relowner)))).privilege_type as
privilege_type, (aclexplode(coalesce(a.attacl, acldefault('c', cc.relowner)))).is_grantable
as is_grantable from (pg_attribute a join pg_class cc on ((a.attrelid = cc.oid))) where ((a.attnum
> 0) and (not a.attisdropped))) pr_a(attrelid, attnum, attname, grantor, grantee, prtype, grantable),
pg_class c where ((pr_a.attrelid = c.oid) and (c.relkind = any (ARRAY['r', 'v', 'm', 'f', 'p']))))
x, pg_namespace nc, pg_authid u_grantor, (select pg_authid.oid, pg_authid.rolname from pg_authid union
all select (0)::oid as oid, 'PUBLIC') grantee(oid, rolname) where ((x.relnamespace = nc.oid) and
nc.nspname NOT IN ('information_schema','pg_catalog','pg_toast') and (x.grantee = grantee.oid) and
(x.grantor = u_grantor.oid) and (x.prtype = any (ARRAY['INSERT', 'SELECT', 'UPDATE', 'REFERENCES']))
and (pg_has_role(u_grantor.oid, 'USAGE') or pg_has_role(grantee.oid, 'USAGE') or (grantee.rolname
= 'PUBLIC'))) group by column_id, nc.nspname, x.relname, x.attname
---
SELECT * FROM current_schema()
---
START TRANSACTION
---
SELECT * FROM current_database()
---
SELECT "table_schema", "table_name", obj_description((quote_ident("table_schema") || '.' || quote_ident("table_name"))::regclass,
'pg_class') AS table_comment FROM "information_schema"."tables" WHERE ("table_schema" = 'public' AND "table_name"
= 'tusers') OR ("table_schema" = 'public' AND "table_name" = 'torders')
---
SELECT * FROM "information_schema"."tables" WHERE "table_schema" = $1 AND "table_name" = $2
---
SELECT "n"."nspname", "t"."typname" FROM "pg_type" "t" INNER JOIN "pg_namespace" "n" ON "n"."oid" = "t"."typnamespace"
WHERE "n"."nspname" = 'public' AND "t"."typname" = 'tusers_role_enum'
---
CREATE TYPE "public"."tusers_role_enum" AS ENUM('a', 'b')
---
CREATE TABLE "tusers" ("id" SERIAL NOT NULL, "name" character varying(100) NOT NULL, "role" "public"."tusers_role_enum"
NOT NULL DEFAULT 'a', "tags" text array, "data" jsonb, "createdAt" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT
now(), CONSTRAINT "PK_24dd9909624fe3fe4493c465640" PRIMARY KEY ("id"))
---
CREATE UNIQUE INDEX "IDX_b50a6df41c25603936e4ce152f" ON "tusers" ("name")
---
CREATE TABLE "torders" ("id" uuid NOT NULL DEFAULT gen_random_uuid(), "amount" numeric(10,2) NOT NULL,
"userId" integer, CONSTRAINT "PK_76201e0ff479a7a1f1ac445355b" PRIMARY KEY ("id"))
---
ALTER TABLE "torders" ADD CONSTRAINT "FK_ec1a21f72cb7c8946bf408bd524" FOREIGN KEY ("userId") REFERENCES "tusers"("id")
ON DELETE NO ACTION ON UPDATE NO ACTION
---
SELECT TRUE FROM information_schema.columns WHERE table_name = 'pg_class' and column_name = 'relispartition'
---
SELECT columns.*, pg_catalog.col_description((quote_ident(table_catalog) || '.' || quote_ident(table_schema)
|| '.' || quote_ident(table_name))::regclass::oid, ordinal_position) AS description, ('"' || "udt_schema"
|| '"."' || "udt_name" || '"')::"regtype"::text AS "regtype", pg_catalog.format_type("col_attr"."atttypid",
"col_attr"."atttypmod") AS "format_type" FROM "information_schema"."columns" LEFT JOIN "pg_catalog"."pg_attribute"
AS "col_attr" ON "col_attr"."attname" = "columns"."column_name" AND "col_attr"."attrelid" = ( SELECT "cls"."oid"
FROM "pg_catalog"."pg_class" AS "cls" LEFT JOIN "pg_catalog"."pg_namespace" AS "ns" ON "ns"."oid" = "cls"."relnamespace"
WHERE "cls"."relname" = "columns"."table_name" AND "ns"."nspname" = "columns"."table_schema" ) WHERE ("table_schema"
= 'public' AND "table_name" = 'tusers') OR ("table_schema" = 'public' AND "table_name" = 'torders')
---
SELECT "ns"."nspname" AS "table_schema", "t"."relname" AS "table_name", "cnst"."conname" AS "constraint_name",
pg_get_constraintdef("cnst"."oid") AS "expression", CASE "cnst"."contype" WHEN 'p' THEN 'PRIMARY' WHEN
'u' THEN 'UNIQUE' WHEN 'c' THEN 'CHECK' WHEN 'x' THEN 'EXCLUDE' END AS "constraint_type", "a"."attname" AS "column_name"
FROM "pg_constraint" "cnst" INNER JOIN "pg_class" "t" ON "t"."oid" = "cnst"."conrelid" INNER JOIN "pg_namespace"
"ns" ON "ns"."oid" = "cnst"."connamespace" LEFT JOIN "pg_attribute" "a" ON "a"."attrelid" = "cnst"."conrelid"
AND "a"."attnum" = ANY ("cnst"."conkey") WHERE "t"."relkind" IN ('r', 'p') AND (("ns"."nspname"
= 'public' AND "t"."relname" = 'tusers') OR ("ns"."nspname" = 'public' AND "t"."relname" = 'torders'))
---
SELECT "ns"."nspname" AS "table_schema", "t"."relname" AS "table_name", "i"."relname" AS "constraint_name",
"a"."attname" AS "column_name", CASE "ix"."indisunique" WHEN 't' THEN 'TRUE' ELSE'FALSE' END AS "is_unique",
pg_get_expr("ix"."indpred", "ix"."indrelid") AS "condition", "types"."typname" AS "type_name", "am"."amname"
AS "index_type" FROM "pg_class" "t" INNER JOIN "pg_index" "ix" ON "ix"."indrelid" = "t"."oid" INNER JOIN "pg_attribute"
"a" ON "a"."attrelid" = "t"."oid" AND "a"."attnum" = ANY ("ix"."indkey") INNER JOIN "pg_namespace" "ns"
ON "ns"."oid" = "t"."relnamespace" INNER JOIN "pg_class" "i" ON "i"."oid" = "ix"."indexrelid" INNER JOIN
"pg_type" "types" ON "types"."oid" = "a"."atttypid" INNER JOIN "pg_am" "am" ON "i"."relam" = "am"."oid"
LEFT JOIN "pg_constraint" "cnst" ON "cnst"."conname" = "i"."relname" WHERE "t"."relkind" IN ('r', 'p')
AND "cnst"."contype" IS NULL AND (("ns"."nspname" = 'public' AND "t"."relname" = 'tusers') OR ("ns"."nspname"
= 'public' AND "t"."relname" = 'torders'))
---
SELECT "con"."conname" AS "constraint_name", "con"."nspname" AS "table_schema", "con"."relname" AS "table_name",
"att2"."attname" AS "column_name", "ns"."nspname" AS "referenced_table_schema", "cl"."relname" AS "referenced_table_name",
"att"."attname" AS "referenced_column_name", "con"."confdeltype" AS "on_delete", "con"."confupdtype" AS
"on_update", "con"."condeferrable" AS "deferrable", "con"."condeferred" AS "deferred" FROM ( SELECT UNNEST
("con1"."conkey") AS "parent", UNNEST ("con1"."confkey") AS "child", "con1"."confrelid", "con1"."conrelid",
"con1"."conname", "con1"."contype", "ns"."nspname", "cl"."relname", "con1"."condeferrable", CASE
WHEN "con1"."condeferred" THEN 'INITIALLY DEFERRED' ELSE 'INITIALLY IMMEDIATE' END as condeferred, CASE "con1"."confdeltype"
WHEN 'a' THEN 'NO ACTION' WHEN 'r' THEN 'RESTRICT' WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' WHEN 'd' THEN
'SET DEFAULT' END as "confdeltype", CASE "con1"."confupdtype" WHEN 'a' THEN 'NO ACTION' WHEN 'r' THEN 'RESTRICT'
WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' WHEN 'd' THEN 'SET DEFAULT' END as "confupdtype" FROM "pg_class"
"cl" INNER JOIN "pg_namespace" "ns" ON "cl"."relnamespace" = "ns"."oid" INNER JOIN "pg_constraint" "con1" ON
"con1"."conrelid" = "cl"."oid" WHERE "con1"."contype" = 'f' AND (("ns"."nspname" = 'public' AND "cl"."relname"
= 'tusers') OR ("ns"."nspname" = 'public' AND "cl"."relname" = 'torders')) ) "con" INNER JOIN "pg_attribute"
"att" ON "att"."attrelid" = "con"."confrelid" AND "att"."attnum" = "con"."child" INNER JOIN "pg_class"
"cl" ON "cl"."oid" = "con"."confrelid" AND "cl"."relispartition" = 'f'INNER JOIN "pg_namespace" "ns" ON
"cl"."relnamespace" = "ns"."oid" INNER JOIN "pg_attribute" "att2" ON "att2"."attrelid" = "con"."conrelid"
AND "att2"."attnum" = "con"."parent"
---
SELECT "udt_schema", "udt_name" FROM "information_schema"."columns" WHERE "table_schema" = 'public' AND "table_name"
= 'tusers' AND "column_name"='role'
---
SELECT "e"."enumlabel" AS "value" FROM "pg_enum" "e" INNER JOIN "pg_type" "t" ON "t"."oid" = "e"."enumtypid"
INNER JOIN "pg_namespace" "n" ON "n"."oid" = "t"."typnamespace" WHERE "n"."nspname" = 'public' AND "t"."typname"
= 'tusers_role_enum' ORDER BY "e"."enumsortorder"
---
INSERT INTO "tusers"("name", "role", "tags", "data", "createdAt") VALUES ($1, DEFAULT, $2, $3, DEFAULT)
RETURNING "id", "role", "createdAt"
---
SELECT "TUser"."id" AS "TUser_id", "TUser"."name" AS "TUser_name", "TUser"."role" AS "TUser_role", "TUser"."tags"
AS "TUser_tags", "TUser"."data" AS "TUser_data", "TUser"."createdAt" AS "TUser_createdAt" FROM "tusers" "TUser"
WHERE "TUser"."id" = $1
---
UPDATE "tusers" SET "name" = $1 WHERE "id" = $2
---
SELECT "TUser"."id" AS "TUser_id", "TUser"."name" AS "TUser_name", "TUser"."role" AS "TUser_role", "TUser"."tags"
AS "TUser_tags", "TUser"."data" AS "TUser_data", "TUser"."createdAt" AS "TUser_createdAt", "TUser__TUser_orders"."id"
AS "TUser__TUser_orders_id", "TUser__TUser_orders"."amount" AS "TUser__TUser_orders_amount", "TUser__TUser_orders"."userId"
AS "TUser__TUser_orders_userId" FROM "tusers" "TUser" LEFT JOIN "torders" "TUser__TUser_orders" ON "TUser__TUser_orders"."userId"="TUser"."id"
---
SELECT "TUser"."id" AS "TUser_id", "TUser"."name" AS "TUser_name", "TUser"."role" AS "TUser_role", "TUser"."tags"
AS "TUser_tags", "TUser"."data" AS "TUser_data", "TUser"."createdAt" AS "TUser_createdAt" FROM "tusers" "TUser"
LIMIT 2 OFFSET 0
---
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE
---
INSERT INTO "torders"("id", "amount", "userId") VALUES (DEFAULT, $1, $2) RETURNING "id"
---
SAVEPOINT typeorm_1
---
RELEASE SAVEPOINT typeorm_1
---
SELECT * FROM "information_schema"."columns" WHERE "table_schema" = $1 AND "table_name" = $2 AND "column_name"
= $3
---
select id from orders
---
drop table torders, tusers cascade
