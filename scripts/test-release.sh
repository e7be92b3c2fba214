#!/bin/sh
# test-release.sh FOLDER: tries the files of a release that this machine can run, each on bare systems. As root.
set -eu

folder=$(realpath "${1:?usage: test-release.sh FOLDER}")
test_package=$(dirname "$0")/test-package.sh
machine=$(uname -m)
suites="bullseye bookworm trixie"

[ -e "$folder/SHA256SUMS" ] || {
    echo "truetps: $folder has no SHA256SUMS: \`make release\` makes it" >&2
    exit 1
}
(cd "$folder" && sha256sum --check --quiet SHA256SUMS)
for file in "$folder"/truetps-*-"$machine"-linux.tar.gz "$folder"/truetps_*_"$(dpkg --print-architecture)".deb; do
    for suite in $suites; do "$test_package" "$file" "$suite"; done
done
