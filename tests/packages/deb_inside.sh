#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Run by deb_root.sh inside the root: apt installs each package alone as far as possible, debian/tests run as under
# autopkgtest, and the recipes of docs/guide/recipes.md for images and for ld.so.preload are tried. A line for each
# check.
set -uo pipefail

cd /source
library=/usr/lib/$(uname -m)-linux-gnu/libhakmem.so.0
failed=0

check() {
  local what=$1
  shift
  if "$@" >/tmp/said 2>&1; then
    sed -n "s|^passed: |passed: $what: |p" /tmp/said
    echo "passed: $what"
  else
    failed=$((failed + 1))
    echo "FAILED: $what: status $?"
    tail -n 20 /tmp/said
  fi
}

install() { apt-get -qq -y -o DPkg::Lock::Timeout=60 install --no-install-recommends "$@"; }

served() { [ "$(env LD_PRELOAD=$library "$@" python3 debian/tests/served.py)" = "served by HAKMEM" ]; }

# A program other than Python that needs only the image's packages.
perl_on_it() { [ "$(LD_PRELOAD=$library perl -e 'open my $f, "<", "/proc/self/maps"; print scalar grep /libhakmem/, <$f>')" -gt 0 ]; }

by_ld_so_preload() {
  echo $library >/etc/ld.so.preload
  python3 debian/tests/served.py && [ "$(su -s /bin/sh nobody -c 'grep -c libhakmem /proc/self/maps')" -gt 0 ]
  local status=$?
  rm /etc/ld.so.preload
  return $status
}

tests_of_package() {
  install $(sed -n 's/^Depends: @, //p' debian/tests/control | tr -d ,) && for each in consumer command; do
    debian/tests/$each || return 1
  done
}

echo "in $(. /etc/os-release && echo "$PRETTY_NAME"), by apt"
apt-get -qq update >/tmp/said 2>&1 || { tail -n 5 /tmp/said; exit 1; }
check "libhakmem0, which needs libc alone" install libhakmem0
check "a program of the bare image loads it (perl, by LD_PRELOAD)" perl_on_it
check "libhakmem-secure0, which needs libc alone" install libhakmem-secure0
check "libhakmem-dl" install libhakmem-dl
check "hakmem, with Python" install hakmem
check "served, as an image with ENV LD_PRELOAD is" served
check "served, with a setting" served HAKMEM_PRICE=lean
check "python3 -m hakmem" python3 -m hakmem path
check "by ld.so.preload, su among them" by_ld_so_preload
check "libhakmem-dev" install libhakmem-dev
check "debian/tests" tests_of_package
check "dpkg finds every file as it was packed" dpkg --verify hakmem libhakmem0 libhakmem-secure0 libhakmem-dl libhakmem-dev
check "all are removed" apt-get -qq -y purge hakmem libhakmem0 libhakmem-secure0 libhakmem-dl libhakmem-dev
check "nothing of them stays" sh -c '! find /usr /etc /var/lib -name "*hakmem*" ! -path "*/apt/*" | grep .'
echo "$failed failed"
[ "$failed" -eq 0 ]
