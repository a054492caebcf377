#!/bin/bash
# setup.sh : installs the client libraries and builds the programs into WORK (default /tmp/weir-clients). Debian 12, root; npm, Go module proxy, apt only.
set -e
# postgresql-15 is asked for only when it is missing, so that an installed minor version is not upgraded under a running server.
D=$(cd "$(dirname "$0")" && pwd); W=${WORK:-/tmp/weir-clients}; mkdir -p $W/bin $W/java $W/node
apt-get update -q
DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $([ -x /usr/lib/postgresql/15/bin/pgbench ] || echo postgresql-client-15 postgresql-15) pgcli python3-pexpect python3-psycopg2 python3-psycopg python3-sqlalchemy python3-pandas python3-asyncpg python3-django \
  libpostgresql-jdbc-java odbc-postgresql unixodbc unixodbc-dev g++
(cd $D/go && for p in pgxnative libpq sqlstd gormc wire; do go build -o $W/bin/$p ./$p; done)
gcc $D/odbc/odbccat.c -lodbc -o $W/bin/odbccat
javac -cp /usr/share/java/postgresql.jar -d $W/java $D/java/Compat.java $D/replay/Replay.java
cp $D/node/* $W/node/ && (cd $W/node && npm install --no-fund --no-audit --ignore-scripts)
echo "setup ok in $W"
