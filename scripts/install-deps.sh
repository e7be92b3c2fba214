#!/bin/sh
# install-deps.sh demo|test|test-servers [SERVER...]: installs the packages that a goal needs beside Rust, on a
# Debian-like system.
#
#   demo           a linker for Rust, and a MariaDB server
#   test           the same, a browser for the HTML report, a PostgreSQL server, and the programs to compare with:
#                  sysbench, mariadb-slap, and a Python for mtls-perf-bench; fusermount3 for emulated disks without root,
#                  and mkfs.xfs for a second file system
#   test-servers   a linker, a MariaDB and a PostgreSQL server
#
# Each SERVER is a name of get-test-servers.sh: it is fetched, and the necessary clients are installed. A server that this
# machine can never have is named and left out. A server that cannot be fetched, or whose client cannot be installed, is
# SKIPPED with the reason for `test`, and an error for `test-servers`.
#
# Lists missing packages before it installs anything. Needs root only if packages are missing.
set -eu
export DEBIAN_FRONTEND=noninteractive

goal=${1:?usage: install-deps.sh demo|test|test-servers [SERVER...]}
shift
get_servers=$(dirname "$0")/get-test-servers.sh
# Servers that this machine cannot have are reported later, when they are fetched.
servers=$("$get_servers" --here "$@" 2>/dev/null | tr '\n' ' ')
missing=""
postgresql=""
clients=""
what=everything
# All servers together, for `test`: CI must not wait for a slow network.
fetch_seconds=600
createcluster=/etc/postgresql-common/createcluster.conf

has() { PATH="$PATH:/usr/sbin:/sbin" command -v "$1" >/dev/null 2>&1; }

has cargo || {
    echo "truetps: cargo is missing. Install Rust with rustup, then run this again." >&2
    exit 1
}

# Debian's programs are outside of PATH.
has_postgresql() {
    has initdb && return 0
    for folder in "${TRUETPS_TEST_POSTGRES_BINDIR:-/nowhere}" /usr/lib/postgresql/*/bin; do
        [ ! -x "$folder/initdb" ] || return 0
    done
    return 1
}

# Debian's package of a PostgreSQL server creates a cluster and starts it, on port 5432 and at each boot. The tests create
# their own clusters and use no other, so it is unwanted. Only one setting prevents it, in a file of /etc that belongs to
# the user: it is changed during the installation, and only if that file was just installed.
install_postgresql() {
    if [ -e "$createcluster" ]; then
        echo "truetps: PostgreSQL's server is missing, and $createcluster belongs to you: left unchanged." >&2
        echo "    Install the server yourself (Debian: postgresql), then run \`make $goal\` again." >&2
        exit 1
    fi
    apt-get install -y --no-install-recommends postgresql-common >/dev/null
    cp -p "$createcluster" "$createcluster.truetps"
    trap 'mv -f "$createcluster.truetps" "$createcluster"' EXIT
    echo "create_main_cluster = false" >>"$createcluster"
    apt-get install -y --no-install-recommends postgresql >/dev/null
}

has cc || missing="$missing gcc libc6-dev"
has mariadbd || has mysqld || missing="$missing mariadb-server-core"
if [ "$goal" != demo ]; then
    has_postgresql || postgresql=" postgresql"
    # shellcheck disable=SC2086 # a list of words
    for package in $("$get_servers" --needs $servers); do
        clients="$clients $package"
    done
fi
if [ "$goal" = test ]; then
    has chromium || has chromium-browser || has google-chrome || missing="$missing chromium"
    has sysbench && [ -e /usr/share/sysbench/oltp_read_write.lua ] || missing="$missing sysbench"
    has mariadb-slap || missing="$missing mariadb-client"
    has strace || missing="$missing strace"
    has fusermount3 || missing="$missing fuse3"
    has mkfs.xfs || missing="$missing xfsprogs"
    python3 -c 'import ensurepip, venv' 2>/dev/null || missing="$missing python3-venv"
fi

# The clients that fetch servers, each in separate calls: if one is not available, the others are still installed. The
# download has a time limit; dpkg is never interrupted.
install_clients() {
    [ -n "$clients" ] || return 0
    if ! has apt-get || [ "$(id -u)" -ne 0 ]; then
        echo "truetps: missing to fetch servers with:$clients (Debian's names). Install them with your package manager." >&2
        return 0
    fi
    echo "truetps: installing from Debian's packages:$clients"
    [ -n "$missing$postgresql" ] || timeout 300 apt-get update -qq || true
    get="apt-get install -y --no-install-recommends"
    for client in $clients; do
        # shellcheck disable=SC2086 # a list of words
        { timeout 300 $get --download-only "$client" && $get "$client"; } >/dev/null ||
            echo "truetps: COULD NOT INSTALL $client, which fetches some of the servers" >&2
    done
}

# Servers that are not packages of this system are fetched without installing them: some 140 MB for `make test`, once.
fetch_servers() {
    "$get_servers" --here "$@" >/dev/null
    [ -n "$servers" ] || return 0
    if [ "$goal" = test ]; then
        # shellcheck disable=SC2086 # a list of words
        "$get_servers" --within "$fetch_seconds" $servers >/dev/null || {
            echo "truetps: NOT ALL SERVERS COULD BE FETCHED (reasons above): their tests are SKIPPED. All others are tested." >&2
            what="all but what is SKIPPED"
        }
        return 0
    fi
    # shellcheck disable=SC2086 # a list of words
    "$get_servers" $servers >/dev/null || {
        echo "truetps: \`make $goal\` needs servers that this machine can have, and that could not be fetched (reasons above)." >&2
        echo "    Fix that, or leave some out and skip their tests: make $goal TEST_SERVERS=\"NAME...\"" >&2
        exit 1
    }
}

if [ -z "$missing$postgresql" ]; then
    install_clients
    fetch_servers "$@"
    echo "truetps: $what that \`make $goal\` needs is installed."
    exit 0
fi

install="apt-get install -y --no-install-recommends$missing"
if ! has apt-get; then
    echo "truetps: missing here:$missing$postgresql (Debian's names). Install them with your package manager, then run this again." >&2
    exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
    echo "truetps: missing here:$missing$postgresql. Installing them needs root; run this, then \`make $goal\` again:" >&2
    [ -z "$missing" ] || echo "    sudo apt-get update && sudo $install" >&2
    if [ -n "$postgresql" ]; then
        echo "    sudo apt-get install -y --no-install-recommends postgresql-common" >&2
        echo "    sudo pg_conftool $createcluster set create_main_cluster off   # no server of the system's own" >&2
        echo "    sudo apt-get install -y --no-install-recommends postgresql" >&2
    fi
    exit 1
fi
echo "truetps: installing from Debian's packages:$missing$postgresql"
apt-get update -qq
if [ -n "$missing" ]; then
    # shellcheck disable=SC2086 # a list of words
    $install >/dev/null
fi
[ -z "$postgresql" ] || install_postgresql
install_clients
fetch_servers "$@"
echo "truetps: installed."
