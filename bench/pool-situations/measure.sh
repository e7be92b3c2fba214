#!/usr/bin/env bash
# measure.sh: eight situations, inserts and a hot row on four disks. In each, `truetps pool` gives its advice; then a sweep
# over many numbers of connections, the advice among them, tells whether it is right. It takes about an hour, as root because
# of the emulated disks, on a machine that does nothing else. Then: evaluate.py RUNS >README.md
#
#   TRUETPS=target/release/truetps RUNS=runs POOL_FLAGS=--quick BLOCKS=3 bench/pool-situations/measure.sh
set -u
truetps=${TRUETPS:-truetps}
runs=${RUNS:-runs}
flags=${POOL_FLAGS---quick}
blocks=${BLOCKS:-3}
for plan in insert hot-row; do
    grid=1,2,3,4,6,8,12,16,24,32,48,64,96,128,192,256,384,512
    [ "$plan" = hot-row ] && grid=1,2,3,4,6,8,12,16,24,32,64,128,256
    for disk in ${DISKS:-flush-100us flush-2ms flush-10ms flush-60ms}; do
        here="$runs/$plan-$disk"
        mkdir -p "$here"
        began=$(date +%s)
        # shellcheck disable=SC2086
        "$truetps" --quiet pool "$plan" $flags --disk "$disk" --runs "$here/pool" --format json >"$here/pool.json" 2>"$here/pool.err" </dev/null
        echo "$plan $disk pool rc $? $(($(date +%s) - began)) s" | tee -a "$runs/log"
        advice=$(python3 -c "import json,sys; print(json.load(open(sys.argv[1]))['findings'].get('advice') or '')" "$here/pool.json")
        began=$(date +%s)
        "$truetps" --quiet sweep "$plan" -c "$(echo "$grid,$advice" | tr , '\n' | sort -nu | grep . | paste -sd,)" --blocks "$blocks" --measure 2 \
            --disk "$disk" --runs "$here/sweep" --format json >"$here/sweep.json" 2>"$here/sweep.err" </dev/null
        echo "$plan $disk sweep rc $? $(($(date +%s) - began)) s, advice $advice" | tee -a "$runs/log"
    done
done
