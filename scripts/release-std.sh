#!/bin/sh
# release-std.sh TARGET: Rust's standard library for a target of a release, where rustup has not installed it.
#
# `rustup target add TARGET` installs it. Where it is not installed, it is built from Debian's package rust-src, which has the
# sources of a few versions; it has to be the version of rustc. The result is in a copy of the toolchain, whose folder is printed: the
# toolchain itself is not changed. DEBIAN_MIRROR names another mirror than this system's.
set -eu

rust_target=${1:?usage: release-std.sh TARGET}
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
copy=$target/release-toolchain
suite=trixie-backports

has_std() { ls "$1/lib/rustlib/$rust_target/lib"/libstd-*.rlib >/dev/null 2>&1; }
fail() {
    echo "truetps: release: no standard library for $rust_target: $*; \`rustup target add $rust_target\` installs it" >&2
    exit 1
}

toolchain=$(rustc --print sysroot)
if has_std "$toolchain"; then
    echo "$toolchain"
    exit 0
fi
version=$(rustc --version)
if has_std "$copy" && [ "$("$copy/bin/rustc" --version)" = "$version" ]; then
    echo "$copy"
    exit 0
fi
command -v apt-get >/dev/null || fail "there is no apt-get to build it with"
echo "truetps: release: building the standard library for $rust_target" >&2

# The sources, from an apt of its own: the system's is not changed.
number=$(echo "$version" | cut -d' ' -f2)
apt=$target/release-rust-src
mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
# shellcheck disable=SC2016 # for apt-get
mirror=${DEBIAN_MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep '/debian/$' | head -1)}
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" >"$apt/sources.list"
cat >"$apt/apt.conf" <<EOF
Dir::Etc::sourcelist "$apt/sources.list"; Dir::Etc::sourceparts "-"; Dir::State::lists "$apt/lists";
Dir::Cache "$apt/cache"; Dir::State::status "/dev/null"; APT::Sandbox::User "root";
EOF
export APT_CONFIG="$apt/apt.conf"
cd "$apt"
apt-get update -qq >&2 || fail "$suite cannot be read"
package=$(apt-cache madison rust-src | cut -d'|' -f2 | tr -d ' ' | grep "^$number+" | head -1)
[ -n "$package" ] || fail "$suite does not have rust-src $number"
apt-get download -qq "rust-src=$package" >&2 || fail "rust-src $package cannot be fetched"
rm -rf sources && dpkg-deb -x rust-src_*.deb sources && rm rust-src_*.deb

if [ ! -x "$copy/bin/rustc" ] || [ "$("$copy/bin/rustc" --version)" != "$version" ]; then
    rm -rf "$copy" && mkdir -p "$copy"
    cp -r "$toolchain/bin" "$toolchain/lib" "$copy"
fi
rm -rf "$copy/lib/rustlib/src" && mkdir -p "$copy/lib/rustlib/src/rust"
cp -r "sources/usr/src/rustc-$number/library" "$copy/lib/rustlib/src/rust"

rm -rf crate && mkdir -p crate/src && : >crate/src/lib.rs
printf '[package]\nname = "std-only"\nedition = "2024"\n[workspace]\n[profile.release]\ncodegen-units = 1\n' >crate/Cargo.toml
# The bitcode is for LTO; paths of this machine are replaced by those that rustup's library has.
RUSTC_BOOTSTRAP=1 PATH="$copy/bin:$PATH" CARGO_TARGET_DIR="$apt/built" \
    RUSTFLAGS="-Cembed-bitcode=yes --remap-path-prefix=$copy/lib/rustlib/src/rust=/rustc/$number \
--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}/registry/src=/crates" \
    cargo build --quiet --manifest-path crate/Cargo.toml -Zbuild-std=std,panic_unwind,panic_abort --release \
    --target "$rust_target" >&2 || fail "building it failed"
mkdir -p "$copy/lib/rustlib/$rust_target/lib"
for library in "$apt/built/$rust_target/release/deps"/*.rlib; do
    case "$library" in *libstd_only*) ;; *) cp "$library" "$copy/lib/rustlib/$rust_target/lib" ;; esac
done
echo "$copy"
