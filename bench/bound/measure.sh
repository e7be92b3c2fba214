#!/usr/bin/env bash
# measure.sh: does the bound hold? Three workloads, durable and not, at 1 to 64 connections, in pairs: `shared`, generator and
# server on core 0, gives the bound; `apart`, the server alone on core 0 and the generator on core 1, the throughput that it
# bounds. Which comes first alternates. A round takes about four minutes on a machine that does nothing else. Then:
# evaluate.py RUNS
#
#   TRUETPS=target/release/truetps RUNS=runs ROUNDS="1 2 3 4" bench/bound/measure.sh
set -u
truetps=${TRUETPS:-truetps}
plans=$(dirname "$0")
runs=${RUNS:-runs}
load=(--vary innodb_flush_log_at_trx_commit=0,1 -c 1,4,16,64 --blocks 1 --measure 2 --no-probe --format jsonl)

# sweep PLACE WORKLOAD ROUND: one pass over all configurations.
sweep() {
    here="$runs/$3/$2-$1"
    mkdir -p "$here"
    plan=$2
    [ -e "$plans/$2.toml" ] && plan="$plans/$2.toml"
    command=("$truetps" --quiet sweep "$plan" "${load[@]}" --seed "$3" --runs "$here")
    case $1 in
        shared) taskset -c 0 "${command[@]}" ;;
        apart) "${command[@]}" --pin 1 ;;
    esac >"$here/trials.jsonl" 2>"$here/err" </dev/null
    echo "$(date +%T) round $3 $2 $1 rc $? load $(cut -d' ' -f1 /proc/loadavg)" | tee -a "$runs/log"
}

mkdir -p "$runs"
for round in ${ROUNDS:-1 2 3 4}; do
    order="shared apart"
    [ $((round % 2)) = 0 ] && order="apart shared"
    for workload in ${WORKLOADS:-insert hot-row read-write}; do
        for place in $order; do sweep "$place" "$workload" "$round"; done
    done
done
