#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Builds the peers of bench/peers/ into build/peers/, from scratch each time (three minutes): peers.sh [NAME ...]
# Prints a line for each peer: built, or the reason why not (then the exit status is 1). Nothing else needs the peers.
set -euo pipefail

cd "$(dirname "$0")/.."
out=$PWD/build/peers
work=$out/work
crates=$PWD/bench/peers
names=(malloc free calloc realloc memalign aligned_alloc posix_memalign valloc pvalloc malloc_usable_size)
declare -A crate_of=([snmalloc]=snmalloc-sys [rpmalloc]=rpmalloc-sys [google-tcmalloc]=libtcmalloc-sys
  [snmalloc-checks]=snmalloc-sys [mimalloc-secure]=libmimalloc-sys [hardened-malloc]=hardened-malloc-sys)

# rpmalloc: -O3 -funroll-loops are the flags of its own release build; the crate alone takes -O2 and leaves malloc out.
# snmalloc: -mprfchw is added by its CMake if a check that needs lld succeeds; without C++ exceptions, as in the crate,
# the library needs no libstdc++.
export CFLAGS="-O3 -funroll-loops -DENABLE_OVERRIDE=1" CXXFLAGS="-fno-exceptions -mprfchw"
export LIBRPMALLOC_NO_PKG_CONFIG=1 CARGO_TARGET_DIR=$work

version_of() { sed -n "/^name = \"${crate_of[$1]}\"/{n;s/version = \"\(.*\)\"/\1/p}" "$crates/Cargo.lock"; }

# GCC before 13 has these words of C23 in headers or by older names only.
declare -A flags_of=([hardened-malloc]="-include stdalign.h -include stdbool.h -Dthread_local=_Thread_local")
compile() {
  CFLAGS="$CFLAGS ${flags_of[$1]:-}" \
    cargo build --quiet --release --locked --manifest-path "$crates/Cargo.toml" --package "peer-$1"
}

# One object out of the crate's archive: all code that the symbol $2 needs.
extract() { ld -r -u "$2" -o "$work/$1.o" "$work/release/libpeer_${1//-/_}.a"; }

# snmalloc's functions are called sn_malloc and so on. Only the names are changed: no code is added.
make_snmalloc() {
  local options=() name
  for name in "${names[@]}"; do
    options+=(--redefine-sym "sn_$name=$name")
  done
  extract "${1:-snmalloc}" sn_malloc && objcopy "${options[@]}" "$work/${1:-snmalloc}.o"
}

make_snmalloc-checks() { make_snmalloc snmalloc-checks; }

make_mimalloc-secure() { extract mimalloc-secure malloc; }

# The crate compiles the C files and leaves out new.cc, which compares the size of a sized delete.
make_hardened-malloc() {
  local sources
  extract hardened-malloc malloc
  sources=$(cargo metadata --quiet --locked --format-version 1 --manifest-path "$crates/Cargo.toml" |
    grep -o '"manifest_path":"[^"]*/hardened-malloc-sys-[^"]*"' | cut -d '"' -f 4)
  c++ -std=c++17 -O3 -fPIC -fvisibility=hidden -D_GNU_SOURCE -DCONFIG_SEAL_METADATA=0 -c \
    -I "$(dirname "$sources")/vendor/hardened-malloc/include" -o "$work/new.o" \
    "$(dirname "$sources")/vendor/hardened-malloc/new.cc"
  mv "$work/hardened-malloc.o" "$work/c.o"
  ld -r -o "$work/hardened-malloc.o" "$work/c.o" "$work/new.o"
}

# rpmalloc has the usual names. Its destructor is removed: at exit the destructor unmaps memory that running threads
# still use.
make_rpmalloc() {
  extract rpmalloc malloc && objcopy --remove-section .fini_array --remove-section .rela.fini_array "$work/rpmalloc.o"
}

# Google's functions are called TCMallocInternalMalloc and so on. Only the names are changed: no code is added.
make_google-tcmalloc() {
  local options=() name own
  for name in "${names[@]}" reallocarray; do
    own=$(sed -E 's/(^|_)(.)/\U\2/g; s/^Reallocarray/ReallocArray/; s/UsableSize/Size/' <<<"$name")
    options+=(--redefine-sym "TCMallocInternal$own=$name")
  done
  extract google-tcmalloc TCMallocInternalMalloc && objcopy "${options[@]}" "$work/google-tcmalloc.o"
}

# The last two define operator new and delete as well; in the others these are libstdc++'s, by malloc and free.
link() {
  local map=exports.map
  case $1 in mimalloc-secure | hardened-malloc) map=exports-new.map ;; esac
  c++ -static-libstdc++ -static-libgcc -shared -o "$work/lib$1.so" "$work/$1.o" \
    -Wl,--version-script="$crates/$map" -Wl,--gc-sections -Wl,--no-undefined
}

build() {
  rm -f "$out/lib$1.so" "$out/lib$1.version"
  if { compile "$1" && "make_$1" && link "$1"; } >"$out/$1.log" 2>&1; then
    echo "crate $(version_of "$1")" >"$out/lib$1.version"
    mv "$work/lib$1.so" "$out/lib$1.so"
    rm "$out/$1.log"
    echo "peers: build/peers/lib$1.so, crate ${crate_of[$1]} $(version_of "$1")"
  else
    echo "peers: no $1: $(grep -m 1 -i error "$out/$1.log" || tail -n 1 "$out/$1.log") (see build/peers/$1.log)" >&2
    return 1
  fi
}

for tool in cargo cc c++ cmake ld objcopy; do
  if ! command -v "$tool" >/dev/null; then
    echo "peers: none is built: $tool is missing" >&2
    exit 1
  fi
done
rm -rf "$work"
mkdir -p "$work"
status=0
[ $# -gt 0 ] || set -- snmalloc rpmalloc google-tcmalloc snmalloc-checks mimalloc-secure hardened-malloc
for name; do
  if [ -z "${crate_of[$name]:-}" ]; then
    echo "peers: no such peer: $name" >&2
    exit 1
  fi
  build "$name" || status=1
done
rm -rf "$work"
exit "$status"
