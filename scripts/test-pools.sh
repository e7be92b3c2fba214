#!/bin/sh
# test-pools.sh [SERVER...]: whether the configurations that `truetps pool` prints do what they say, each with its real
# library. SERVER: mariadb, postgresql (installed ones), or a name of get-test-servers.sh; default: mariadb, mysql-9.7 and
# postgresql.
#
# On each server, a search with few connections gives the configurations. Every library opens its pool as printed, and is
# checked by tests/pools/check.py; what is open, the server says. The rows are printed as a table; the exit code is 1 if one
# of them is wrong. It needs Java with Maven, Go, Python, Node.js with npm, and Rust, whose clients fetch the libraries once.
set -eu
cd "$(dirname "$0")/.."

[ $# -gt 0 ] || set -- mariadb mysql-9.7 postgresql
servers=$*
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
pools=$PWD/tests/pools
# Fetched libraries and programs: kept.
built=$target/pools
work=$(mktemp -d /tmp/truetps-pools.XXXXXX)
chmod 755 "$work"
export TRUETPS="$target/debug/truetps" TRUETPS_SANDBOX_DIR="$work/servers" TRUETPS_RUNS="$work/runs"

say() { echo "truetps: pools: $*" >&2; }
clean() {
    # Of a server that could not be prepared.
    cat "$work/prepare.log" 2>/dev/null >&2 || true
    for server in $servers; do "$TRUETPS" server stop --quiet "$server" >/dev/null 2>&1 || true; done
    rm -rf --one-file-system "$work"
}
trap clean EXIT
trap 'exit 130' INT TERM

for program in cargo mvn go python3 npm; do
    command -v $program >/dev/null || { say "$program is missing"; exit 1; }
done

say "fetching and building the libraries"
mkdir -p "$built"
cargo build --locked --quiet --package truetps --bin truetps
mvn -q -B -f "$pools/java" -DbuildFolder="$built/java" package dependency:copy-dependencies
[ -d "$built/python" ] || python3 -m venv "$built/python"
"$built/python/bin/pip" install --quiet --requirement "$pools/python/requirements.txt"
mkdir -p "$built/node" && cp "$pools"/node/*.js* "$built/node"
npm ci --silent --no-audit --no-fund --prefix "$built/node"

# A server with an account for each library, and the search: `$work/SERVER.json`.
prepare() {
    server=$1 port=$2
    case $server in
    mariadb | postgresql) path=$server ;;
    *) path=$(scripts/get-test-servers.sh "$server") ;;
    esac
    case $server in
    postgresql) limit=idle_session_timeout=60000 ;;
    *) limit=wait_timeout=60 ;;
    esac
    "$TRUETPS" server add --quiet "$server" "$path"
    "$TRUETPS" pool insert --quick --most 4 --measure 0.2 --warm-up 0.1 --table-rows 100 --server "$server" --set $limit \
        --quiet --format json >"$work/$server.json"
    "$TRUETPS" server start --quiet "$server" --port "$port" --set $limit
    accounts "$server" | "$TRUETPS" server sql --quiet "$server"
}

accounts() {
    echo "CREATE DATABASE pools;"
    for library in $(libraries "$1"); do
        if [ "$1" = postgresql ]; then
            echo "CREATE ROLE $library LOGIN PASSWORD 'pools-1';"
        else
            echo "CREATE USER $library@'127.0.0.1' IDENTIFIED BY 'pools-1'; GRANT ALL ON pools.* TO $library@'127.0.0.1';"
        fi
    done
}

libraries() { python3 "$pools/check.py" libraries "$work/$1.json"; }

# The program of a library with the configuration for a server, in `$work/SERVER`; prints the command line.
build() {
    server=$1 port=$2 library=$3
    here=$work/$server/$library
    mkdir -p "$here"
    fill() { python3 "$pools/check.py" configure "$work/$server.json" "$library" "127.0.0.1:$port" "$1"; }
    case $library in
    go)
        cp "$pools"/go/main.go "$pools"/go/go.* "$here"
        fill "$pools/go/pool.go.in" >"$here/pool.go"
        (cd "$here" && go build -mod=readonly -o pool_user .)
        echo "$here/pool_user"
        ;;
    sqlx)
        mkdir "$here/src"
        cp "$pools"/rust/Cargo.* "$here"
        cp "$pools/rust/src/main.rs" "$here/src"
        fill "$pools/rust/src/pool.rs.in" >"$here/src/pool.rs"
        CARGO_TARGET_DIR=$built/rust cargo build --locked --quiet --manifest-path "$here/Cargo.toml"
        cp "$built/rust/debug/pools" "$here/pool_user"
        echo "$here/pool_user"
        ;;
    sqlalchemy)
        fill "$pools/configuration.in" >"$here/pool.py"
        echo "$built/python/bin/python $pools/python/pool_user.py $here/pool.py"
        ;;
    mysql2)
        fill "$pools/configuration.in" >"$here/pool.js"
        echo "node $built/node/pool_user.js $here/pool.js"
        ;;
    *)
        fill "$pools/configuration.in" >"$here/pool.properties"
        echo "java -cp $built/java/pools-1.jar:$built/java/dependency/* PoolUser $library $here/pool.properties"
        ;;
    esac
}

port=13360
for server in $servers; do
    port=$((port + 1))
    echo $port >"$work/$server.port"
    say "$server: a search for the configurations"
    prepare "$server" $port >"$work/prepare.log" 2>&1
    rm "$work/prepare.log"
    for library in $(libraries "$server"); do
        build "$server" $port "$library" >"$work/$server.$library.command"
    done
done

# Programs start one after the other: the first login of each has a time limit, too.
say "checking, in about two minutes"
checks=
for server in $servers; do
    for library in $(libraries "$server"); do
        here=$work/$server/$library
        # shellcheck disable=SC2046 # a list of words
        python3 "$pools/check.py" check "$work/$server.json" "$library" "$server" "$here/ready" \
            $(cat "$work/$server.$library.command") >"$here/row" 2>"$here/log" &
        checks="$checks $!"
        while [ ! -e "$here/ready" ] && kill -0 $! 2>/dev/null; do sleep 0.1; done
    done
done
code=0
for server in $servers; do
    [ "$server" != postgresql ] || continue
    say "$server: the service of examples/clients-1000"
    (cd examples/clients-1000 && ROWS_DSN="go:pools-1@tcp(127.0.0.1:$(cat "$work/$server.port"))/pools" go test -count=1 .) >&2 ||
        code=1
done
for check in $checks; do wait "$check" || code=1; done
cat "$work"/*/*/row | python3 "$pools/check.py" table
[ $code -eq 0 ] || tail -n 20 "$work"/*/*/log >&2
exit $code
