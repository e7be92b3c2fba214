#!/bin/sh
# Rows over curl, whose --retry honours Retry-After: see README.md.
set -eu
url=$1 first=$2 stop=$3

send() {
    client=$1 seq=0
    while [ ! -e "$stop" ]; do
        status=$(curl --silent --output "$stop-$client" --write-out '%{http_code}' --max-time 30 --retry 1000 --retry-all-errors \
            --retry-delay 1 --json "{\"client\":$client,\"seq\":$seq,\"text\":\"$client-$seq\"}" "$url")
        [ "$status" = 200 ] || { echo "client $client, row $seq: $status" >&2; return 1; }
        seq=$((seq + 1))
    done
    echo "$client $seq"
}

pids=
for n in 0 1 2 3; do
    send $((first + n)) &
    pids="$pids $!"
done
for pid in $pids; do wait "$pid"; done
