#!/bin/bash
# run.sh [name ...]: builds Weir, starts it on a free port for each client program, with the sample schema, and runs the programs. Ends with
# 1 if one fails that is not in the file "failing", which says why those there do. SETUP=0 does not install anything before.
set -u
D=$(cd "$(dirname "$0")" && pwd); export WORK=${WORK:-/tmp/weir-clients}; mkdir -p "$WORK"
[ "${SETUP:-1}" = 0 ] || bash "$D/setup.sh" > "$WORK/setup.log" 2>&1 || { tail -20 "$WORK/setup.log"; exit 1; }
(cd "$D/../../.." && go build -o "$WORK/weir" ./cmd/weir) || exit 1
PORT=$(python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); print(s.getsockname()[1])')
export PGHOST=127.0.0.1 PGPORT=$PORT PGUSER=app PGPASSWORD=app PGDATABASE=weir SCHEMA="$D/../testdata/schema.sql"
cat > "$WORK/reset.sh" <<'R'
cd "$WORK"; [ -f pid ] && kill -9 "$(cat pid)" 2> /dev/null; rm -rf data
./weir serve --data-dir data --listen 127.0.0.1:$PGPORT --http off > weir.log 2>&1 & echo $! > pid
for i in $(seq 100); do psql -X -q -U weir -c 'select 1' > /dev/null 2>&1 && break; sleep 0.1; done
psql -X -q -U weir -c "CREATE ROLE app LOGIN SUPERUSER CREATEDB CREATEROLE PASSWORD 'app'"
psql -X -q -f "$SCHEMA"
R
trap 'kill "$(cat "$WORK/pid")" 2> /dev/null' EXIT
RESET_CMD="bash $WORK/reset.sh" TMO=${TMO:-120} bash "$D/run-all.sh" "$@" | tee "$WORK/result"
bad=0
while read -r what name _; do
  known=$(grep "^$name " "$D/failing" | cut -d' ' -f2-)
  case "$what$([ -n "$known" ] && echo -known)" in
  FAIL) echo "$name failed, and is not in the file failing"; bad=1 ;;
  FAIL-known) echo "$name: $known" ;;
  PASS-known) echo "$name passes now: take it out of the file failing" ;;
  esac
done < <(grep -E '^(PASS|FAIL) ' "$WORK/result")
exit $bad
