#!/bin/sh
# test-package.sh FILE [SYSTEM]: installs a package, or unpacks an archive of a release, on a bare system, uses it as an
# ordinary user, and removes it. SYSTEM is a release of Debian; the default is the release of this machine.
# test-package.sh --can-run: whether this machine can do that; says why not.
# test-package.sh --not-run-here: the line at the end of `make test`, which leaves this test out.
#
# The bare system is made once by debootstrap and kept in /var/cache/truetps-test-package. DEBIAN_MIRROR names another mirror
# than debootstrap's own.
set -eu

kept=/var/cache/truetps-test-package
# shellcheck source=/dev/null
suite=${2:-$(. /etc/os-release 2>/dev/null && echo "${VERSION_CODENAME:-}")}

why_not() {
    if [ "$(id -u)" -ne 0 ]; then
        echo "it needs root"
    elif [ -z "$suite" ] || ! command -v dpkg >/dev/null; then
        echo "this is no Debian-like system"
    elif [ ! -e "$kept/$suite.tar" ] && ! command -v debootstrap >/dev/null; then
        echo "debootstrap is missing"
    fi
}

case "${1:?usage: test-package.sh FILE [SYSTEM]|--can-run|--not-run-here}" in
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
path=/usr/bin:/bin
as_user() {
    chroot --userspec="$user" "$root" /usr/bin/env -i PATH="$path" HOME=/home/tester LANG=C.UTF-8 sh -c "cd && $1"
}
# says WORDS COMMAND: what the command prints has these words.
says() {
    as_user "$2" >"$root/tmp/said" 2>&1 || fail "\`$2\` ended with $?: $(cat "$root/tmp/said")"
    grep -q -e "$1" "$root/tmp/said" || fail "\`$2\` does not say \`$1\`: $(cat "$root/tmp/said")"
}

# bare SUITE: makes a bare Debian, once.
bare() {
    [ ! -e "$kept/$1.tar" ] || return 0
    step "making a bare $1, once"
    mkdir -p "$kept"
    # shellcheck disable=SC2086 # no mirror is no argument
    debootstrap --variant=minbase "$1" "$kept/$1" ${DEBIAN_MIRROR:-} >"$kept/$1.log" 2>&1 ||
        fail "debootstrap: see $kept/$1.log"
    tar -C "$kept/$1" -cf "$kept/$1.tar.new" . && rm -rf "${kept:?}/$1"
    mv "$kept/$1.tar.new" "$kept/$1.tar"
}

bare "$suite"
tar -C "$root" -xf "$kept/$suite.tar"
mount -t proc proc "$root/proc"
# As every container has it.
echo '127.0.0.1 localhost' >"$root/etc/hosts"
inside useradd --create-home tester
user=$(chroot "$root" id -u tester):$(chroot "$root" id -g tester)

step "installing $(basename "$package") on a bare $suite"
case "$package" in
*.deb)
    cp "$package" "$root/tmp/truetps.deb"
    share=$root/usr/share
    vendor_zsh=zsh/vendor-completions
    inside dpkg -i /tmp/truetps.deb >"$root/tmp/dpkg.log" 2>&1 || fail "dpkg -i: $(cat "$root/tmp/dpkg.log")"
    inside dpkg -L truetps >"$root/tmp/files"
    for file in man/man1/truetps.1.gz man/man1/truetps-server-add.1.gz doc/truetps/copyright; do
        [ -f "$share/$file" ] || fail "the package lacks /usr/share/$file"
    done
    ;;
*)
    # As the installation guide says.
    (cd "$(dirname "$package")" && grep " $(basename "$package")\$" SHA256SUMS | sha256sum --check --quiet) ||
        fail "$(basename "$package") is not as SHA256SUMS says"
    folder=/home/tester/$(basename "$package" .tar.gz)
    cp "$package" "$root/tmp/truetps.tar.gz"
    as_user 'tar -xzf /tmp/truetps.tar.gz' || fail "the archive cannot be unpacked"
    path=$folder/bin:$path
    share=$root$folder/share
    vendor_zsh=zsh/site-functions
    for file in man/man1/truetps.1 man/man1/truetps-server-add.1 doc/truetps/LICENSE-MIT; do
        [ -f "$share/$file" ] || fail "the archive lacks share/$file"
    done
    ;;
esac
for file in bash-completion/completions/truetps $vendor_zsh/_truetps fish/vendor_completions.d/truetps.fish \
    truetps/plans/durability.toml truetps/workloads/ingest.lua; do
    [ -f "$share/$file" ] || fail "$file is missing"
done
inside_share=${share#"$root"}

step "using it as an ordinary user, without a server"
says '^target ' 'truetps --version'
says '^durability ' 'truetps plan list'
says '^The method' 'truetps help method'
says '^workers = 3' 'mkdir -p .config/truetps && echo workers = 3 >.config/truetps/config.toml && truetps config show'
# shellcheck disable=SC2016 # for the shell inside
says '^durability durability-hdd$' 'bash -c '\''. '"$inside_share"'/bash-completion/completions/truetps
    COMP_WORDS=(truetps sweep dur) COMP_CWORD=2 COMP_TYPE=9; _clap_complete_truetps truetps dur sweep; echo ${COMPREPLY[*]}'\'
says 'ingest' "truetps sysbench $inside_share/truetps/workloads/ingest.lua help; echo ingest"
# Functions of truetps and of the C library, by their names.
# shellcheck disable=SC2016 # for the shell inside
says '^seven 7 true' 'echo "ffi.cdef[[int getpid(void);]] print(\"seven\", ffi.C.sb_rand_uniform(7, 7), ffi.C.getpid() > 0)" |
    tr "\t" " " >ffi.lua && truetps sysbench ffi.lua help | tr "\t" " "'
says '^ok .*folder' 'truetps doctor || true'
# The name is found, and nothing listens there.
says 'localhost:9: Connection refused' 'truetps run insert --dsn mysql://nobody@localhost:9 --measure 1 2>&1 || true'
if as_user 'truetps run insert --measure 1' >"$root/tmp/said" 2>&1; then fail "a run without a server succeeded"; fi
grep -q '^hint: ' "$root/tmp/said" || fail "a run without a server has no hint: $(cat "$root/tmp/said")"

step "measuring with the system's MariaDB"
cp /etc/resolv.conf "$root/etc/resolv.conf"
inside sh -c 'apt-get update -qq && apt-get install -y --no-install-recommends mariadb-server-core*' \
    >"$root/tmp/apt.log" 2>&1 || fail "mariadb-server-core: $(tail -5 "$root/tmp/apt.log")"
says 'valid' 'truetps run insert --connections 2 --warm-up 0.2 --measure 1 --table-rows 1000'
says '"tps"' 'truetps report --format json'
# A trial whose binlog was not as its level says is not valid, which a short one can be: one of them, so that both levels have valid ones. Debian 11 has a server that the library refuses to work
# with: the refusal is from the library in the server.
says '[56] of 6 valid\|prealloc: this server version was not tested' 'truetps sweep insert --vary prealloc=0,ahead -c 2 --blocks 2 --warm-up 0.2 --measure 0.5 --table-rows 200 2>&1 || true'

step "removing it"
case "$package" in
*.deb)
    inside dpkg --purge truetps >"$root/tmp/dpkg.log" 2>&1 || fail "dpkg --purge: $(cat "$root/tmp/dpkg.log")"
    while read -r file; do
        [ ! -f "$root$file" ] || fail "$file is left behind"
    done <"$root/tmp/files"
    ;;
*) rm -rf "${root:?}$folder" ;;
esac
left=$(find "$root/usr" "$root/etc" -iname '*truetps*')
[ -z "$left" ] || fail "left behind: $left"
pgrep -u "${user%:*}" -f mariadbd >/dev/null && fail "a server is left running"
echo "truetps: package: installed, used and removed on a bare $suite: fine"
