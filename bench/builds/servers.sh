#!/usr/bin/env bash
# servers.sh: starts private servers on the loopback for measure.sh, and ends them when it is ended (Ctrl-C): MariaDB with a
# pool of threads and, where they are given, the program of a MySQL and the folder of a PostgreSQL. They write as little as
# possible, so that the generator matters. Prints the list that measure.sh takes: each by its socket, by TCP and by TLS.
#
#   MYSQL=/usr/sbin/mysqld POSTGRES=/usr/lib/postgresql/15 bench/builds/servers.sh >servers
set -eu
ulimit -n "$(ulimit -Hn)"
dir=$(mktemp -d)
pids=()

finish() {
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null && wait "$pid" || true; done
    rm -rf "$dir"
}
trap finish EXIT
trap 'exit 0' INT TERM

# answers COMMAND…: waits until it succeeds, at most 30 s.
answers() {
    for _ in $(seq 150); do "$@" >/dev/null 2>&1 && return; sleep 0.2; done
    echo "servers.sh: no answer to: $*" >&2
    exit 1
}

# list NAME SCHEME PORT USER SOCKET OPTIONS: the three ways to a server. Few sessions by TCP, many by the socket.
list() {
    echo "$1 unix ${CONNECTIONS:-1,2,4,8,64,1000} $2://$4@/$6?socket=$5"
    echo "$1 tcp ${CONNECTIONS_TCP:-1,64,1000} $2://$4@127.0.0.1:$3/$6?tls=off"
    echo "$1 tls ${CONNECTIONS_TCP:-1,64,1000} $2://$4@127.0.0.1:$3/$6?tls=required"
}

common=(--max-connections=10100 --back-log=10000 --table-open-cache=12000 --skip-name-resolve --bind-address=127.0.0.1
    --innodb-buffer-pool-size=1G --innodb-flush-log-at-trx-commit=0 --performance-schema=OFF)
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -keyout "$dir/key.pem" -out "$dir/cert.pem" 2>/dev/null
chmod 755 "$dir"

mariadb-install-db --no-defaults --datadir="$dir/mariadb" --auth-root-authentication-method=normal >"$dir/install" 2>&1
mariadbd --no-defaults --user=root --datadir="$dir/mariadb" --socket="$dir/mariadb.sock" --port=13301 "${common[@]}" \
    --innodb-log-file-size=1G --thread-handling=pool-of-threads --ssl-cert="$dir/cert.pem" --ssl-key="$dir/key.pem" \
    2>"$dir/mariadb.log" &
pids+=($!)
answers mariadb-admin --no-defaults -S "$dir/mariadb.sock" ping
mariadb --no-defaults -S "$dir/mariadb.sock" -e "CREATE USER bench@'127.0.0.1'; GRANT ALL ON *.* TO bench@'127.0.0.1';
    CREATE USER bench@localhost; GRANT ALL ON *.* TO bench@localhost"
CONNECTIONS=${CONNECTIONS:-1,2,4,8,64,1000,5000,10000} list mariadb mysql 13301 bench "$dir/mariadb.sock" ""

if [ -n "${MYSQL:-}" ]; then
    "$MYSQL" --no-defaults --user=root --datadir="$dir/mysql" --initialize-insecure >"$dir/install" 2>&1
    "$MYSQL" --no-defaults --user=root --datadir="$dir/mysql" --socket="$dir/mysql.sock" --port=13302 \
        --secure-file-priv="$dir" --mysqlx=OFF --skip-log-bin --innodb-redo-log-capacity=2G "${common[@]}" >"$dir/mysql.log" 2>&1 &
    pids+=($!)
    answers mariadb-admin --no-defaults -uroot -S "$dir/mysql.sock" ping
    mariadb --no-defaults -uroot -S "$dir/mysql.sock" -e "CREATE USER bench@'127.0.0.1'; GRANT ALL ON *.* TO bench@'127.0.0.1';
        CREATE USER bench@localhost; GRANT ALL ON *.* TO bench@localhost"
    list mysql mysql 13302 bench "$dir/mysql.sock" ""
fi

if [ -n "${POSTGRES:-}" ]; then
    as=(runuser -u nobody --)
    [ "$(id -u)" = 0 ] || as=()
    mkdir "$dir/postgres" "$dir/pg"
    cp "$dir/key.pem" "$dir/cert.pem" "$dir/pg/"
    chmod 600 "$dir/pg/key.pem"
    [ "$(id -u)" != 0 ] || chown -R nobody "$dir/postgres" "$dir/pg"
    "${as[@]}" "$POSTGRES/bin/initdb" -D "$dir/postgres/data" -U postgres --auth=trust >"$dir/install" 2>&1
    "${as[@]}" "$POSTGRES/bin/postgres" -D "$dir/postgres/data" -k "$dir/pg" -p 13303 -c listen_addresses=127.0.0.1 \
        -c max_connections=1100 -c synchronous_commit=off -c fsync=off -c shared_buffers=1GB -c max_wal_size=4GB -c ssl=on \
        -c ssl_cert_file="$dir/pg/cert.pem" -c ssl_key_file="$dir/pg/key.pem" >"$dir/postgres.log" 2>&1 &
    pids+=($!)
    answers "$POSTGRES/bin/pg_isready" -h "$dir/pg" -p 13303
    list postgresql postgresql 13303 postgres "$dir/pg" postgres | sed "s#socket=$dir/pg#&/.s.PGSQL.13303#"
fi
echo ready >&2
wait
