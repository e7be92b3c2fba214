#!/usr/bin/env bash
# machines.sh: the same for two machines, as far as one host can have them: the server in a network namespace of its own, on
# core 0. `shared` reaches it by its socket from core 0, `apart` by TCP from core 1 and from another namespace, through a pair
# of virtual network cards. As root. Then: evaluate.py RUNS
#
#   TRUETPS=target/release/truetps RUNS=runs-machines ROUNDS="1 2" bench/bound/machines.sh
set -eu
truetps=${TRUETPS:-truetps}
plans=$(dirname "$0")
runs=${RUNS:-runs-machines}
load=(--vary innodb_flush_log_at_trx_commit=0,1 -c 1,4,16,64 --blocks 1 --measure 2 --no-probe --format jsonl)
space=truetps-bound
dir=$(mktemp -d)

finish() {
    [ -n "${server:-}" ] && kill "$server" && wait "$server" || true
    ip netns delete "$space" || true
    rm -rf "$dir"
}
trap finish EXIT

ip netns add "$space"
ip link add bound0 type veth peer name bound1 netns "$space"
ip address add 10.77.0.1/30 dev bound0
ip link set bound0 up
ip -n "$space" address add 10.77.0.2/30 dev bound1
ip -n "$space" link set bound1 up
mariadb-install-db --no-defaults --datadir="$dir/data" --auth-root-authentication-method=normal >"$dir/install" 2>&1
ip netns exec "$space" taskset -c 0 mariadbd --no-defaults --user=root --datadir="$dir/data" --socket="$dir/data/s" \
    --bind-address=10.77.0.2 --port=13306 --skip-name-resolve --innodb-buffer-pool-size=512M \
    --innodb-log-file-size=512M --innodb-flush-neighbors=0 2>"$dir/server.log" &
server=$!
for _ in $(seq 100); do mariadb-admin --no-defaults -S "$dir/data/s" ping >/dev/null 2>&1 && break; sleep 0.2; done
mariadb --no-defaults -S "$dir/data/s" -e "CREATE USER bound@'10.77.0.1'; GRANT ALL ON *.* TO bound@'10.77.0.1'"

# sweep PLACE WORKLOAD ROUND: one pass over all configurations.
sweep() {
    here="$runs/$3/$2-$1"
    mkdir -p "$here"
    case $1 in
        shared) core=0 dsn="mysql://root@?socket=$dir/data/s" ;;
        apart) core=1 dsn="mysql://bound@10.77.0.2:13306?tls=off" ;;
    esac
    rc=0
    plan=$2
    [ -e "$plans/$2.toml" ] && plan="$plans/$2.toml"
    taskset -c $core "$truetps" --quiet sweep "$plan" "${load[@]}" --yes --seed "$3" --runs "$here" --dsn "$dsn" \
        >"$here/trials.jsonl" 2>"$here/err" </dev/null || rc=$?
    echo "$(date +%T) round $3 $2 $1 rc $rc load $(cut -d' ' -f1 /proc/loadavg)" | tee -a "$runs/log"
}

mkdir -p "$runs"
for round in ${ROUNDS:-1 2}; do
    order="shared apart"
    [ $((round % 2)) = 0 ] && order="apart shared"
    for workload in ${WORKLOADS:-insert hot-row}; do
        for place in $order; do sweep "$place" "$workload" "$round"; done
    done
done
