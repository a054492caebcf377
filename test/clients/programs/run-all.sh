#!/bin/bash
# run-all.sh [name ...] : run the recorded clients against the server at PGHOST/PGPORT/PGUSER/PGPASSWORD/PGDATABASE, print PASS/FAIL per client.
# WORK (default /tmp/weir-clients) holds what setup.sh built: bin/ (Go and C programs), node/ (npm installs), java/.
# LABEL_FILE, when set, gets the client's name before each run (for the recording proxy).
# The clients write to the database: load schema.sql into a fresh database first. RESET_CMD, when set, is run before each client.
D=$(cd "$(dirname "$0")" && pwd); W=${WORK:-/tmp/weir-clients}; J=/usr/share/java/postgresql.jar; PY=/usr/bin/python3; L=${LOGS:-$W/logs}; mkdir -p "$L"
declare -A C; N=()
c() { N+=("$1"); C[$1]=$2; }
c psql-golden       "bash $D/psql/golden-diff.sh"
c psql-script       "bash $D/psql/script.sh"
c psql-interactive  "$PY $D/psql/interactive.py"
c wire              "diff -u $D/../golden/wire-transcript.txt <($W/bin/wire)"
c pg_dump           "bash $D/pgtools/pg_dump.sh"
c pgbench           "bash $D/pgtools/pgbench.sh"
c maint             "bash $D/pgtools/maint.sh"
c pgcli             "$PY $D/pgcli/run.py"
c pgx               "$W/bin/pgxnative"
c libpq-go          "$W/bin/libpq"
c sqlc-databasesql  "$W/bin/sqlstd"
c gorm              "$W/bin/gormc"
c node-postgres     "cd $W/node && node pg.js"
c postgresjs        "cd $W/node && node postgresjs.js"
c knex              "cd $W/node && node knexc.js"
c kysely            "cd $W/node && node kyselyc.js"
c drizzle           "cd $W/node && node drizzlec.js"
c typeorm           "cd $W/node && node typeormc.js"
c sequelize         "cd $W/node && node sequelizec.js"
c psycopg2          "$PY $D/python/psycopg2_sqlalchemy.py psycopg2"
c sqlalchemy        "$PY $D/python/psycopg2_sqlalchemy.py sqlalchemy"
c pandas            "$PY $D/python/psycopg2_sqlalchemy.py pandas"
c psycopg3          "$PY $D/python/psycopg3c.py"
c asyncpg           "$PY $D/python/asyncpgc.py"
c django            "$PY $D/python/djangoc.py"
c jdbc              "java -cp $J:$W/java Compat"
c odbc              "ODBCC=$W/bin/odbccat bash $D/odbc/run.sh && DECLARE_FETCH=1 ODBCC=$W/bin/odbccat bash $D/odbc/run.sh"
for r in dbeaver metabase; do c $r-replay "java -cp $J:$W/java Replay $D/replay/$r.sql $r"; done
for r in grafana; do c $r-replay "bash $D/replay/replay.sh $D/replay/$r.sql"; done
pass=0; fail=0
for n in "${@:-${N[@]}}"; do
  [ -n "$RESET_CMD" ] && bash -c "$RESET_CMD" > /dev/null 2>&1
  [ -n "$LABEL_FILE" ] && echo "$n" > "$LABEL_FILE"
  if timeout "${TMO:-180}" bash -c "${C[$n]:-echo unknown client; false}" > "$L/$n.log" 2>&1; then echo "PASS $n"; pass=$((pass+1)); else echo "FAIL $n (rc $?, see $L/$n.log): $(grep -E 'FAIL|rror' "$L/$n.log" | head -1 | cut -c1-160)"; fail=$((fail+1)); fi
done
echo "$pass passed, $fail failed"; [ $fail = 0 ]
