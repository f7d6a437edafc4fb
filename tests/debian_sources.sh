# SPDX-License-Identifier: MIT OR Apache-2.0
# Debian's sources, from the mirror of this system's apt, whose own lists are left alone; to be sourced, in a folder that
# takes the lists and the sources.
#   fetch NAME [RELEASE] >>LOG 2>&1     unpacked and unpatched in the folder NAME; as it is, if it is there

release=$(. /etc/os-release && echo "$VERSION_CODENAME")

# The lists of binary packages, with the sources in place of these. A system has one form or both; a file may be missing.
source_lists() {
  cat /etc/apt/sources.list.d/*.sources 2>/dev/null | grep -v '^ *#' | sed -n 's/^Types: .*/Types: deb-src/; p' >debian.sources
  grep -hs '^deb ' /etc/apt/sources.list /etc/apt/sources.list.d/*.list | sed 's/^deb /deb-src /' >debian.list || true
  [ -s debian.sources ] || mv debian.list debian.sources
}

apt() { apt-get -qq -o Dir::Etc::SourceList="$PWD/debian.sources" -o Dir::Etc::SourceParts=/dev/null \
  -o Dir::State::Lists="$PWD/lists" -o APT::Sandbox::User=root "$@"; }

ensure_lists() {
  mkdir -p lists/partial
  [ "$(find lists -name '*Sources*' | wc -l)" -gt 0 ] || { source_lists; apt update; }
}

# The newest version, or the release's own where the mirror has lost the newest.
fetch() {
  [ ! -e "$1" ] || return 0
  ensure_lists
  apt --download-only source "$1" || apt --download-only source "$1/$release"
  dpkg-source --skip-patches -x "$(ls -t "$1"_*.dsc | head -n 1)" "$1"
}
