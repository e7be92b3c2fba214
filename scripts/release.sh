#!/bin/sh
# release.sh: makes the files of a release in target/release-files: an archive for each kind of system, packages for Debian, a
# list of the parts (CycloneDX), and SHA256SUMS.
#
# The programs are linked against an old C library, by tools that scripts/release-tools.txt pins. A kind of system that this
# machine cannot build for is SKIPPED with the reason; with TRUETPS_REQUIRE_TARGETS=1 that is an error. TRUETPS_RELEASE names
# some of the kinds: TRUETPS_RELEASE="x86_64-linux".
set -eu
cd "$(dirname "$0")/.."

# glibc of 2012, older than the distributions of the last eight years. It is the oldest that Rust supports.
glibc=2.17 # as in crates/cli/Cargo.toml
host=$(uname -m)-linux
kinds=${TRUETPS_RELEASE:-x86_64-linux aarch64-linux}
case " $kinds " in *" $host "*) ;; *) kinds="$host $kinds" ;; esac
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
export CARGO_TARGET_DIR="$target"
files=$target/release-files
tools=$target/release-tools
skipped=""

say() { echo "truetps: release: $*"; }
fail() {
    echo "truetps: release: FAILED: $*" >&2
    exit 1
}

# All files get the time of the commit.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH

if ! cmp -s scripts/release-tools.txt "$tools/installed.txt"; then
    say "installing cargo-zigbuild and zig in $tools"
    rm -rf "$tools" && python3 -m venv "$tools"
    "$tools/bin/pip" install --quiet --require-hashes --only-binary :all: -r scripts/release-tools.txt
    cp scripts/release-tools.txt "$tools/installed.txt"
fi

# rust_target KIND
rust_target() { echo "${1%-linux}-unknown-linux-gnu"; }

# build KIND TOOLCHAIN. Paths of this machine are replaced in the program. LuaJIT's makefile links a program of its own, too,
# which needs zig's library to unwind, and no strip of this machine.
build() {
    flags=""
    c_flags=""
    for folder in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*; do
        flags="$flags--remap-path-prefix=$folder=/crates "
        c_flags="$c_flags-ffile-prefix-map=$folder=/crates "
    done
    flags="$flags--remap-path-prefix=$PWD=/truetps"
    c_flags="$c_flags-ffile-prefix-map=$target=/target"
    PATH="$tools/bin:$2/bin:$PATH" RUSTFLAGS="$flags" TARGET_LIBS=-lunwind TARGET_STRIP=true CFLAGS="$c_flags" \
        cargo zigbuild --release --locked --quiet --package truetps --target "$(rust_target "$1").$glibc"
}

# The names of folders of this machine are not in a program that others get.
check_paths() {
    for folder in "$PWD/" "$target/" "${CARGO_HOME:-$HOME/.cargo}/"; do
        if grep -qaF "$folder" "$1"; then fail "$1 contains $folder"; fi
    done
}

# check_glibc PROGRAM: it needs no newer glibc, and neither does the library for servers that it contains, which is made with it.
check_glibc() {
    newest=$(readelf --dyn-syms --wide "$1" | grep -o 'GLIBC_[0-9.]*' | cut -d_ -f2 | sort -uV | tail -1)
    [ "$(printf '%s\n' "$newest" $glibc | sort -V | tail -1)" = $glibc ] || fail "$1 needs glibc $newest"
}

# pack KIND: what `make install` installs, in one folder, and the package for Debian.
pack() {
    built=$target/$(rust_target "$1")/release
    name=truetps-$version-$1
    rm -rf "$built/unpacked"
    make --no-print-directory install built="$built" writer="$writer" DESTDIR="$built/unpacked" PREFIX="/$name" >/dev/null
    tar -C "$built/unpacked" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --format=gnu \
        -cf - "$name" | gzip -9n >"$files/$name.tar.gz"
    make --no-print-directory deb built="$built" writer="$writer" deb_target="$(rust_target "$1")" debs="$files" >/dev/null
}

# Its sources are there before their folders are listed.
cargo fetch --locked --quiet
rm -rf "$files" && mkdir -p "$files"
writer=$target/$(rust_target "$host")/release/truetps
for kind in $host $(echo "$kinds" | tr ' ' '\n' | grep -vx "$host"); do
    if ! toolchain=$(scripts/release-std.sh "$(rust_target "$kind")"); then
        say "SKIPPED: $kind"
        skipped="$skipped $kind"
        continue
    fi
    say "building for $kind"
    build "$kind" "$toolchain"
    check_paths "$target/$(rust_target "$kind")/release/truetps"
    check_glibc "$target/$(rust_target "$kind")/release/truetps"
    pack "$kind"
done

cargo run --quiet --locked --package xtask -- parts >"$files/truetps-$version.cdx.json"
cd "$files"
sha256sum truetps* >SHA256SUMS
ls -l
[ -z "$skipped" ] || {
    say "SKIPPED:$skipped: no standard library of Rust for them (reasons above)"
    [ -z "${TRUETPS_REQUIRE_TARGETS:-}" ] || exit 1
}
say "the files are in $files"
