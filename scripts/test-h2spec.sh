#!/bin/sh
# test-h2spec.sh: the cases of h2spec against the gateway on a private server. Those that fail must be the lines of
# tests/h2spec/expected-failures.txt. It needs Go, which fetches h2spec.
set -eu
cd "$(dirname "$0")/.."
command -v go >/dev/null || { echo "test-h2spec: go is missing" >&2; exit 1; }

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
cargo build --locked --quiet --package truetps --bin truetps
(cd tests/h2spec && go build -mod=readonly -o "$target/h2spec-check" .)
work=$(mktemp -d)
chmod 755 "$work"
gateway=''
clean() {
    [ -z "$gateway" ] || { kill "$gateway" && wait "$gateway"; } 2>/dev/null || true
    rm -rf --one-file-system "$work"
}
trap clean EXIT
trap 'exit 130' INT TERM

TRUETPS_SANDBOX_DIR=$work/servers "$target/debug/truetps" gateway --private --listen 127.0.0.1:0 >"$work/log" 2>&1 &
gateway=$!
address=''
while [ -z "$address" ]; do
    kill -0 $gateway 2>/dev/null || { cat "$work/log" >&2; exit 1; }
    address=$(sed -n 's|^Rows of .*http://\([^/]*\)/.*|\1|p' "$work/log")
    sleep 0.1
done
"$target/h2spec-check" "$address" tests/h2spec/expected-failures.txt >"$work/cases" || { cat "$work/cases" >&2; exit 1; }
grep '^h2spec: ' "$work/cases"
