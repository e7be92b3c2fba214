#!/usr/bin/env bash
# measure.sh: two builds of truetps in turn on servers that run already, at numbers of connections that the list gives: one
# INSERT a transaction, trials of 2 s. Which build comes first alternates. Then: evaluate.py RUNS
#
#   BEFORE=old/truetps AFTER=new/truetps SERVERS=list RUNS=runs ROUNDS="1 2 3 4 5" bench/builds/measure.sh
#
# A line of the list: NAME WAY CONNECTIONS DSN, as servers.sh prints it.
set -u
runs=${RUNS:-runs}
mkdir -p "$runs"
while read -r name way connections dsn <&3; do
    for round in ${ROUNDS:-1 2 3 4 5}; do
        order="before after"
        [ $((round % 2)) = 0 ] && order="after before"
        for build in $order; do
            here="$runs/$round/$name-$way-$build"
            mkdir -p "$here"
            program=$BEFORE
            [ "$build" = after ] && program=$AFTER
            "$program" --quiet sweep insert -c "$connections" --blocks 1 --measure 2 --no-probe --yes --seed "$round" \
                --runs "$here" --dsn "$dsn" --format jsonl ${OPTIONS:-} >"$here/trials.jsonl" 2>"$here/err" </dev/null
            echo "$(date +%T) $name $way round $round $build rc $?" | tee -a "$runs/log"
        done
    done
done 3<"${SERVERS:?the list}"
