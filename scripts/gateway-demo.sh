#!/usr/bin/env bash
# gateway-demo.sh: a private MariaDB or MySQL, the gateway before it, 1,000 clients that send a row a second each for a
# minute, and the database killed once in the middle. Prints the verdict; the run is kept in runs/. The private server has
# a name and stays on disk, stopped: `truetps server remove gateway-demo` removes it.
#
#   TRUETPS=target/release/truetps CLIENTS=1000 SECONDS_EACH=60 DISK=flush-10ms scripts/gateway-demo.sh
set -euo pipefail

truetps=${TRUETPS:-target/release/truetps}
clients=${CLIENTS:-1000}
seconds=${SECONDS_EACH:-60}
port=${PORT:-13307}
name=gateway-demo
log=$(mktemp)

gateway=''
clean() {
    [ -z "$gateway" ] || { kill "$gateway" && wait "$gateway"; } 2>/dev/null || true
    "$truetps" --quiet server stop "$name" >/dev/null 2>&1 || true
    rm -f "$log"
}
trap clean EXIT

"$truetps" server list | grep -q "^$name " || "$truetps" --quiet server add "$name" >/dev/null
"$truetps" --quiet server start "$name" --port "$port" ${DISK:+--disk "$DISK"} \
    --set innodb_flush_log_at_trx_commit=1 --set log_bin=ON --set sync_binlog=1 >/dev/null
"$truetps" --quiet server sql "$name" "CREATE DATABASE IF NOT EXISTS demo;
    CREATE USER IF NOT EXISTS gateway@'127.0.0.1' IDENTIFIED BY 'demo'; GRANT ALL ON demo.* TO gateway@'127.0.0.1';
    DROP TABLE IF EXISTS demo.readings;
    CREATE TABLE demo.readings (client BIGINT NOT NULL, seq BIGINT NOT NULL, payload VARCHAR(1000) NOT NULL,
    PRIMARY KEY (client, seq)) ENGINE=InnoDB" >/dev/null

TRUETPS_PASSWORD=demo "$truetps" gateway --dsn "mysql://gateway@127.0.0.1:$port/demo" --table readings \
    --listen 127.0.0.1:0 --page >"$log" 2>&1 &
gateway=$!
url=''
for _ in $(seq 100); do
    url=$(grep -o 'http://127.0.0.1:[0-9]*' "$log" | head -1 || true)
    [ -n "$url" ] && break
    kill -0 "$gateway" 2>/dev/null || { cat "$log" >&2; exit 1; }
    sleep 0.1
done
cat "$log"
echo "The page $url/ shows it live. After $((seconds / 2)) s the database is killed."
echo
"$truetps" verify "$url/v1/readings" --server "$name" --table demo.readings --clients "$clients" --rate 1/s \
    --measure "$seconds" --kill 1 --retries 50
