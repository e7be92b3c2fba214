#!/bin/sh
# test-package.sh PACKAGE: installs the package on a bare Debian, uses it as an ordinary user, and removes it.
# test-package.sh --can-run: whether this machine can do that; says why not.
# test-package.sh --not-run-here: the line at the end of `make test`, which leaves this test out.
#
# The bare system is made once by debootstrap and kept in /var/cache/truetps-test-package: of the release of this machine, whose
# C library the program was linked with. DEBIAN_MIRROR names another mirror than debootstrap's own.
set -eu

kept=/var/cache/truetps-test-package
# shellcheck source=/dev/null
suite=$(. /etc/os-release 2>/dev/null && echo "${VERSION_CODENAME:-}")

why_not() {
    if [ "$(id -u)" -ne 0 ]; then
        echo "it needs root"
    elif [ -z "$suite" ] || ! command -v dpkg >/dev/null; then
        echo "this is no Debian-like system"
    elif [ ! -e "$kept/$suite.tar" ] && ! command -v debootstrap >/dev/null; then
        echo "debootstrap is missing"
    fi
}

case "${1:?usage: test-package.sh PACKAGE|--can-run|--not-run-here}" in
--can-run)
    reason=$(why_not)
    [ -n "$reason" ] || exit 0
    echo "truetps: the test of the package is SKIPPED: $reason" >&2
    exit 1
    ;;
--not-run-here)
    reason=$(why_not)
    echo "truetps: SKIPPED: the test of the package. \`make test-package\` runs it${reason:+, but not here: $reason}." >&2
    exit 0
    ;;
esac
package=$(realpath "$1")

root=$(mktemp -d /tmp/truetps-package.XXXXXX)
chmod 755 "$root"
clean() {
    umount "$root/proc" 2>/dev/null || true
    rm -rf --one-file-system "$root"
}
trap clean EXIT
trap 'exit 130' INT TERM

step() { echo "truetps: package: $*"; }
fail() {
    echo "truetps: package: FAILED: $*" >&2
    exit 1
}
# In the bare system, as root and as an ordinary user.
inside() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"; }
as_user() {
    chroot --userspec=tester:tester "$root" /usr/bin/env -i PATH=/usr/bin:/bin HOME=/home/tester LANG=C.UTF-8 \
        sh -c "cd && $1"
}
# says WORDS COMMAND: what the command prints has these words.
says() {
    as_user "$2" >"$root/tmp/said" 2>&1 || fail "\`$2\` ended with $?: $(cat "$root/tmp/said")"
    grep -q -e "$1" "$root/tmp/said" || fail "\`$2\` does not say \`$1\`: $(cat "$root/tmp/said")"
}

if [ ! -e "$kept/$suite.tar" ]; then
    step "making a bare $suite, once"
    mkdir -p "$kept"
    # shellcheck disable=SC2086 # no mirror is no argument
    debootstrap --variant=minbase "$suite" "$kept/$suite" ${DEBIAN_MIRROR:-} >"$kept/$suite.log" 2>&1 ||
        fail "debootstrap: see $kept/$suite.log"
    tar -C "$kept/$suite" -cf "$kept/$suite.tar.new" . && rm -rf "${kept:?}/$suite"
    mv "$kept/$suite.tar.new" "$kept/$suite.tar"
fi
tar -C "$root" -xf "$kept/$suite.tar"
mount -t proc proc "$root/proc"
inside useradd --create-home tester
cp "$package" "$root/tmp/truetps.deb"

step "installing $(basename "$package") on a bare $suite"
inside dpkg -i /tmp/truetps.deb >"$root/tmp/dpkg.log" 2>&1 || fail "dpkg -i: $(cat "$root/tmp/dpkg.log")"
inside dpkg -L truetps >"$root/tmp/files"
for file in man/man1/truetps.1.gz man/man1/truetps-server-add.1.gz bash-completion/completions/truetps \
    zsh/vendor-completions/_truetps fish/vendor_completions.d/truetps.fish truetps/plans/durability.toml \
    truetps/workloads/ingest.lua doc/truetps/copyright; do
    [ -f "$root/usr/share/$file" ] || fail "the package lacks /usr/share/$file"
done

step "using it as an ordinary user, without a server"
says '^target ' 'truetps --version'
says '^durability ' 'truetps plan list'
says '^The method' 'truetps help method'
says '^workers = 3' 'mkdir -p .config/truetps && echo workers = 3 >.config/truetps/config.toml && truetps config show'
# shellcheck disable=SC2016 # for the shell inside
says '^durability durability-hdd$' 'bash -c '\''. /usr/share/bash-completion/completions/truetps
    COMP_WORDS=(truetps sweep dur) COMP_CWORD=2 COMP_TYPE=9; _clap_complete_truetps truetps dur sweep; echo ${COMPREPLY[*]}'\'
if as_user 'truetps run insert --measure 1' >"$root/tmp/said" 2>&1; then fail "a run without a server succeeded"; fi
grep -q '^hint: ' "$root/tmp/said" || fail "a run without a server has no hint: $(cat "$root/tmp/said")"

step "measuring with the system's MariaDB"
cp /etc/resolv.conf "$root/etc/resolv.conf"
inside sh -c 'apt-get update -qq && apt-get install -y --no-install-recommends mariadb-server-core' \
    >"$root/tmp/apt.log" 2>&1 || fail "mariadb-server-core: $(tail -5 "$root/tmp/apt.log")"
says 'valid' 'truetps run insert --connections 2 --warm-up 0.2 --measure 1 --table-rows 1000'
says '"tps"' 'truetps report --format json'
says 'ingest' 'truetps sysbench /usr/share/truetps/workloads/ingest.lua help; echo ingest'

step "removing it"
inside dpkg --purge truetps >"$root/tmp/dpkg.log" 2>&1 || fail "dpkg --purge: $(cat "$root/tmp/dpkg.log")"
while read -r file; do
    [ ! -f "$root$file" ] || fail "$file is left behind"
done <"$root/tmp/files"
left=$(find "$root/usr" "$root/etc" "$root/opt" -iname '*truetps*')
[ -z "$left" ] || fail "left behind: $left"
pgrep -u "$(inside id -u tester)" -f mariadbd >/dev/null && fail "a server is left running"
echo "truetps: package: installed, used and removed on a bare $suite: fine"
