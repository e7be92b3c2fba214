#!/bin/sh
# get-test-servers.sh [--to DIR] NAME...: fetches database servers for tests and prints the base folder of each.
#
#   mysql-9.7       MySQL, from Debian sid
#   mariadb-11.8    MariaDB with its plugins, from Debian trixie
#
# The packages are unpacked below DIR, with the libraries that they need; nothing is installed, nothing outside DIR is
# touched, and no rights are needed. DIR is ~/.cache/truetps-test-servers by default, for root
# /var/cache/truetps-test-servers: a server of root gives up its rights, and must be able to look there. apt does the
# fetching and checks signatures, with a configuration of its own and the address of this machine's Debian mirror
# (TRUETPS_DEBIAN_URI names another one). A server that is there already is not fetched again.
set -eu

say() { echo "truetps: $*" >&2; }
fail() {
    say "$*"
    exit 1
}

# Not needed by a server that runs without being installed: perl, and what sets up accounts and services.
unneeded='^(perl|perl-base|perl-modules-.*|libperl.*|libdbi-perl|libconfig-inifiles-perl|debianutils|debconf|adduser'
unneeded="$unneeded"'|passwd|mount|util-linux|procps|psmisc|rsync|socat|lsof|gawk|iproute2|tzdata|sysvinit-utils'
unneeded="$unneeded"'|libgdbm.*|libdb5.*|gcc-.*-base|libc-gconv-modules-extra|openssl-provider-legacy|mysql-common'
unneeded="$unneeded"'|mariadb-common|galera-4|libtirpc-common|libpam.*|libaudit.*|libsemanage.*)$'

# Sets what is fetched for $1: suite, package, program, version, and packages whose files alone are wanted.
choose() {
    case $1 in
    mysql-9.7) suite=sid package=mysql-server-core program=mysqld version=9.7 files_of='' ;;
    mariadb-11.8) suite=trixie package=mariadb-server-core program=mariadbd version=11.8 files_of=mariadb-server ;;
    *) fail "unknown server \`$1\`: there are mysql-9.7 and mariadb-11.8" ;;
    esac
}

# Prints the address of the Debian mirror that this machine's apt uses.
debian_uri() {
    if [ -n "${TRUETPS_DEBIAN_URI:-}" ]; then
        echo "$TRUETPS_DEBIAN_URI"
        return
    fi
    # shellcheck disable=SC1091,SC2154 # a file of every system; it sets ID and VERSION_CODENAME
    id_and_codename=$(. /etc/os-release && echo "${ID:-} ${VERSION_CODENAME:-}")
    [ "${id_and_codename% *}" = debian ] || fail "this is not Debian: name a Debian mirror in TRUETPS_DEBIAN_URI"
    # shellcheck disable=SC2016 # apt's own variables
    apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
        awk -v suite="${id_and_codename#* }" '$2 == suite && $3 == "main" { print $1; exit }'
}

# An apt of our own below $1: its lists, cache and state, the machine's proxies, and none of the machine's hooks.
configure_apt() {
    mkdir -p "$1/state/lists/partial" "$1/cache/archives/partial" "$1/log" "$1/debs" "$1/nothing"
    : >"$1/status"
    keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    signed=''
    [ -r "$keyring" ] && signed="[signed-by=$keyring] "
    echo "deb $signed$uri $suite main" >"$1/sources.list"
    cat >"$1/apt.conf" <<CONF
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Post-Invoke;
#clear DPkg::Pre-Install-Pkgs;
Dir::Etc::sourcelist "$1/sources.list";
Dir::Etc::sourceparts "$1/nothing";
Dir::Etc::preferences "$1/nothing/preferences";
Dir::Etc::preferencesparts "$1/nothing";
Dir::State "$1/state";
Dir::State::lists "$1/state/lists";
Dir::State::status "$1/status";
Dir::Cache "$1/cache";
Dir::Cache::archives "$1/cache/archives";
Dir::Log "$1/log";
APT::Sandbox::User "root";
APT::Install-Recommends "false";
APT::Update::Error-Mode "any";
APT::Default-Release "";
Acquire::Retries "3";
Acquire::http::Timeout "30";
Acquire::https::Timeout "30";
Acquire::Languages "none";
CONF
}

apt_get() { apt-get -qq -c "$work/apt.conf" "$@" >&2; }

# Fetches and unpacks into $work/tree. Its output is for people.
fetch() {
    uri=$(debian_uri)
    [ -n "$uri" ] || fail "no Debian mirror found in apt's configuration: name one in TRUETPS_DEBIAN_URI"
    say "$1: fetching $package from Debian $suite ($uri)"
    configure_apt "$work"
    apt_get update || fail "$1: cannot read the lists of packages of $uri; is the network there?"
    apt-get -qq -c "$work/apt.conf" -y --print-uris install "$package" >"$work/uris" ||
        fail "$1: $package cannot be had from Debian $suite"
    # 'uri' name_version_arch.deb size hash
    sed -n "s/^'[^']*' \([^_]*\)_.*/\1/p" "$work/uris" | grep -Ev "$unneeded" >"$work/names"
    # shellcheck disable=SC2046,SC2086 # lists of words
    (cd "$work/debs" && apt_get download $(cat "$work/names") $files_of) ||
        fail "$1: the packages could not be fetched; try again"
    mkdir "$work/tree"
    for deb in "$work"/debs/*.deb; do
        dpkg-deb -x "$deb" "$work/tree" || fail "$1: $deb cannot be unpacked; is the disk full?"
    done
    # Debian trees of before 2024 have libraries outside usr.
    if [ -d "$work/tree/lib" ] && [ ! -L "$work/tree/lib" ]; then
        cp -a "$work/tree/lib/." "$work/tree/usr/lib/"
    fi
    rm -rf "$work/tree/usr/share/doc" "$work/tree/usr/share/man" "$work/tree/usr/share/locale"
}

# usr/bin/PROGRAM starts the server with the loader and the libraries of its own tree.
write_wrapper() {
    loader=$(cd "$1" && find usr/lib usr/lib64 -name 'ld-linux*.so.*' 2>/dev/null | sort | head -n 1)
    [ -n "$loader" ] || fail "no loader among the packages"
    [ -x "$1/usr/sbin/$program" ] || fail "no $program among the packages"
    mkdir -p "$1/usr/bin"
    cat >"$1/usr/bin/$program" <<WRAPPER
#!/bin/sh
P=\$(dirname "\$(dirname "\$(dirname "\$(readlink -f "\$0")")")")
L="\$P/${loader%/*}"
exec "\$P/$loader" --library-path "\$L:\$L/mysql:\$P/usr/lib/mysql/private" \\
    --argv0 "\$P/usr/sbin/$program" "\$P/usr/sbin/$program" "\$@"
WRAPPER
    chmod 755 "$1/usr/bin/$program"
}

# The version that the server below $1 says it is; nothing where it does not run.
version_of() { "$1/usr/bin/$program" --no-defaults --version 2>/dev/null || true; }

get() {
    choose "$1"
    dest=$to/$1
    if [ -f "$dest/complete" ] && [ -n "$(version_of "$dest")" ]; then
        echo "$dest/usr"
        return
    fi
    for tool in apt-get dpkg-deb awk; do
        command -v "$tool" >/dev/null 2>&1 || fail "$tool is missing: servers are fetched on Debian-like systems only"
    done
    mkdir -p "$to"
    # Others run servers of this tree: a server of root gives up its rights.
    chmod a+x "$to" 2>/dev/null || true
    work=$to/.fetching-$1-$$
    trap 'rm -rf "$work"' EXIT
    trap 'exit 130' HUP INT TERM
    rm -rf "$work"
    mkdir "$work"
    fetch "$1"
    write_wrapper "$work/tree"
    found=$(version_of "$work/tree")
    case $found in
    *" Ver $version."*) ;;
    '') fail "$1: the server does not run: $("$work/tree/usr/bin/$program" --version 2>&1 | tail -n 1)" ;;
    *) fail "$1: Debian $suite has another version by now: $found" ;;
    esac
    echo "$found" >"$work/tree/complete"
    chmod 755 "$work/tree"
    rm -rf "$dest"
    mv "$work/tree" "$dest"
    rm -rf "$work"
    say "$1: ${found#*Ver }"
    echo "$dest/usr"
}

cache=${XDG_CACHE_HOME:-${HOME:?}/.cache}
[ "$(id -u)" -ne 0 ] || cache=/var/cache
to=$cache/truetps-test-servers
names=''
while [ $# -gt 0 ]; do
    case $1 in
    --to)
        [ $# -ge 2 ] || fail "--to needs a folder"
        to=$2
        shift
        ;;
    -h | --help)
        sed -n '2,/^set /s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    -*) fail "unknown option $1" ;;
    *) names="$names $1" ;;
    esac
    shift
done
[ -n "$names" ] || fail "usage: get-test-servers.sh [--to DIR] mysql-9.7|mariadb-11.8 ..."
case $to in /*) ;; *) to=$PWD/$to ;; esac
for name in $names; do
    choose "$name"
done
for name in $names; do
    get "$name"
done
