#!/bin/sh
# install-deps.sh demo|test: makes sure that what a goal needs beside Rust is there, on a Debian-like system.
#
#   demo   a linker for Rust, and a MariaDB server
#   test   the same, and a browser that shows the HTML report
#
# Says what is missing before it installs anything. Needs root only where something is missing.
set -eu

goal=${1:?usage: install-deps.sh demo|test}
missing=""

has() { PATH="$PATH:/usr/sbin:/sbin" command -v "$1" >/dev/null 2>&1; }

has cargo || {
    echo "truetps: cargo is missing. Install Rust with rustup, then run this again." >&2
    exit 1
}
has cc || missing="$missing gcc libc6-dev"
has mariadbd || has mysqld || missing="$missing mariadb-server-core"
if [ "$goal" = test ]; then
    has chromium || has chromium-browser || has google-chrome || missing="$missing chromium"
fi

if [ -z "$missing" ]; then
    echo "truetps: everything that \`make $goal\` needs is installed."
    exit 0
fi

install="apt-get install -y --no-install-recommends$missing"
if ! has apt-get; then
    echo "truetps: missing here:$missing (Debian's names). Install them with your package manager, then run this again." >&2
    exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
    echo "truetps: missing here:$missing. Installing them needs root; run this, then \`make $goal\` again:" >&2
    echo "    sudo apt-get update && sudo $install" >&2
    exit 1
fi
echo "truetps: installing from Debian's packages:$missing"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# shellcheck disable=SC2086 # a list of words
$install >/dev/null
echo "truetps: installed."
