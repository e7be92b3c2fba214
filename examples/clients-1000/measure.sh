#!/usr/bin/env bash
# measure.sh [DISK...]: 1,000 clients that send a row a second each to the service of this folder, on private servers with
# emulated disks (root), for each pool of POOLS. Prints one line for each; the runs are kept in RUNS. The guide
# docs/guides/clients-1000.md explains the result.
#
#   POOLS="10 64 gateway" SECONDS_EACH=30 ./measure.sh flush-10ms hdd7200
#
# A pool is the service with so many connections; `gateway` is the gateway of truetps in its place.
set -euo pipefail
cd "$(dirname "$0")"

disks=("${@:-flush-10ms}")
pools=${POOLS:-10}
clients=${CLIENTS:-1000}
seconds_each=${SECONDS_EACH:-30}
runs=${RUNS:-runs}
truetps=${TRUETPS:-truetps}
name=${SERVER:-clients-1000}
port=${PORT:-13306}
work=$(mktemp -d)

service=''
end_service() {
    [ -z "$service" ] || { kill "$service" && wait "$service" || true; } 2>/dev/null
    service=''
}
clean() {
    end_service
    "$truetps" --quiet server stop "$name" >/dev/null 2>&1 || true
    rm -rf "$work"
}
trap clean EXIT

"$truetps" server list | grep -q "^$name " || "$truetps" --quiet server add "$name" ${BASEDIR:+--basedir "$BASEDIR"} >/dev/null
[ "$pools" = gateway ] || go build -o "$work/service" .
echo "saver:secret@tcp(127.0.0.1:$port)/clients" >"$work/dsn"
chmod 600 "$work/dsn"

# What listens on 8080, until it answers.
start_service() {
    if [ "$1" = gateway ]; then
        TRUETPS_PASSWORD=secret "$truetps" gateway --dsn "mysql://saver@127.0.0.1:$port/clients" --table client_rows \
            --listen 127.0.0.1:8080 >"$work/service.log" 2>&1 &
    else
        "$work/service" -dsn-file "$work/dsn" -pool "$1" >"$work/service.log" 2>&1 &
    fi
    service=$!
    for _ in $(seq 100); do
        (exec 3<>/dev/tcp/127.0.0.1/8080) 2>/dev/null && return
        kill -0 "$service" 2>/dev/null || break
        sleep 0.1
    done
    cat "$work/service.log" >&2
    return 1
}

sql() { "$truetps" --quiet server sql "$name" "$1" >/dev/null; }

# Fills the table once, more than the redo log is long, and empties it. A log and a table that grow cost each commit a second
# flush of the disk; on a server that has run for a day they do not grow.
grow_table() {
    local power
    sql "INSERT INTO clients.client_rows VALUES (0, 0, REPEAT('x', 300))"
    for power in $(seq 0 18); do
        sql "INSERT INTO clients.client_rows SELECT client + $((1 << power)), 0, payload FROM clients.client_rows"
    done
}

for disk in "${disks[@]}"; do
    "$truetps" --quiet server start "$name" --disk "$disk" --port "$port" --set max_connections=1500 \
        --set innodb_flush_log_at_trx_commit=1 >/dev/null
    sql "CREATE DATABASE IF NOT EXISTS clients;
        CREATE USER IF NOT EXISTS saver@'127.0.0.1' IDENTIFIED BY 'secret'; GRANT ALL ON clients.* TO saver@'127.0.0.1';
        DROP TABLE IF EXISTS clients.client_rows;
        CREATE TABLE clients.client_rows (client BIGINT NOT NULL, seq BIGINT NOT NULL,
        payload VARCHAR(1000) NOT NULL, PRIMARY KEY (client, seq)) ENGINE=InnoDB"
    grow_table
    for pool in $pools; do
        sql 'DELETE FROM clients.client_rows'
        # The server removes the old versions of the rows.
        sleep "${PURGE_SECONDS:-10}"
        path=/rows
        [ "$pool" = gateway ] && path=/v1/client_rows
        start_service "$pool"
        echo "== $disk, $pool"
        "$truetps" --quiet verify "http://127.0.0.1:8080$path" --server "$name" --table clients.client_rows \
            --clients "$clients" --rate 1/s --measure "$seconds_each" --runs "$runs" ${VERIFY_FLAGS:-} || true
        end_service
    done
    "$truetps" --quiet server stop "$name" >/dev/null
done
