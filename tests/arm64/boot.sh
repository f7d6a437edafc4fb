#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Runs the tests of AArch64 on a kernel of AArch64: boot.sh KERNEL [OPTION OF CTEST...]
# Debian's kernel, or one built from its source (kernels.txt), runs under qemu-system-aarch64, on a disk with Debian 12's
# programs, this tree and build/aarch64-kernel. ctest runs there (init.sh). Verdicts come over the serial line, and
# ctest's record lands in build/arm64/KERNEL.xml. Packages come from the mirror of this system's apt. Only root can do
# this. CPUS and MEMORY are the machine's, 2 and 3G when unset; qemu's time is limited to HOURS, 3 when unset. TARGETS:
# what is built before, all when unset.
set -euo pipefail

cd "$(dirname "$0")/../.."
. tests/debian_root.sh
. scripts/lock.sh
work=$PWD/build/arm64
tools=(qemu-system-aarch64 mmdebstrap mke2fs debugfs cpio depmod xz ctest)
packages=base-files,base-passwd,bash,dash,coreutils,util-linux,mount,procps,grep,sed,mawk,findutils,diffutils,tar,gzip,login,hostname
packages+=,libc6,libc-bin,libstdc++6,python3,cmake,binutils,strace,kmod,iproute2,busybox-static
# Modules without which the disk cannot be read. What a kernel has built in is not among its modules.
modules=(virtio_mmio virtio_blk ext4 virtio-rng)
# Pure packages of build/venv, which a Python of AArch64 reads as well.
pure=(rich pygments markdown_it mdurl elftools google '__editable__*.pth')

check_tools() {
  local missing=() tool
  for tool in "${tools[@]}"; do command -v "$tool" >/dev/null || missing+=("$tool"); done
  [ ${#missing[@]} -eq 0 ] && return
  say "missing: ${missing[*]}; apt-get install qemu-system-arm mmdebstrap e2fsprogs cpio kmod xz-utils cmake"
  exit 2
}

# Files of PACKAGES of AArch64 and of what they depend on, without running anything of theirs.
extract() {
  local suite=$1 list=$2 folder=$3
  [ ! -e "$folder/made" ] || return 0
  say "making $folder (once; a minute)"
  rm -rf "$folder"
  mkdir -p "$work"
  if ! mmdebstrap --variant=extract --architectures=arm64 \
    --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr --include="$list" "$suite" "$folder" "$(mirror)" >"$folder.log" 2>&1; then
    say "no $list of $suite: $(grep -m 1 '^E:' "$folder.log" || tail -n 1 "$folder.log") (see $folder.log)"
    exit 1
  fi
  touch "$folder/made"
}

# The first file system: modules for the disk, and what mounts it.
make_initrd() {
  local root=$1 out=$2 version module name
  version=$(ls "$root/usr/lib/modules")
  depmod -b "$root" "$version"
  rm -rf "$out.dir"
  mkdir -p "$out.dir"/{dev,new}
  cp "$root/usr/bin/busybox" "$out.dir/busybox"
  {
    printf '#!/busybox sh\n/busybox mount -t devtmpfs dev /dev\n'
    for module in "${modules[@]}"; do modprobe -d "$root" -S "$version" --show-depends "$module"; done |
      awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while IFS= read -r module; do
        name=$(basename "${module%.xz}")
        if [ "${module%.xz}" = "$module" ]; then cp "$module" "$out.dir/$name"; else xz -dc "$module" >"$out.dir/$name"; fi
        echo "/busybox insmod /$name"
      done
    echo "/busybox mount -t ext4 /dev/vda /new && exec /busybox switch_root /new /init"
  } >"$out.dir/init"
  chmod 755 "$out.dir/init"
  (cd "$out.dir" && find . | cpio -o -H newc --quiet -R 0:0) | gzip -1 >"$out"
  rm -rf "$out.dir"
}

# The kernel lies in /boot, or in later Debians beside its modules; one of the folders need not be there.
kernel_of() { find "$1/boot" "$1/usr/lib/modules" -name 'vmlinuz*' 2>/dev/null | head -n 1 || true; }

# The root with this tree in place; ARGUMENTS for ctest.
fill() {
  local root=$1 venv=$1$PWD/build/venv
  rm -rf "$root"
  cp -a "$work/root" "$root"
  mkdir -p "$root$PWD" "$venv/bin" "$venv/lib/python3.11/site-packages" "$root"/{proc,sys,dev,run,tmp,root}
  git ls-files -z | tar -c --null -T - | tar -x -C "$root$PWD"
  tar -c --exclude='*.o' --exclude=CMakeFiles build/aarch64-kernel | tar -x -C "$root$PWD"
  (cd build/venv/lib/python3*/site-packages && tar -c --exclude='*.so' ${pure[@]} | tar -x -C "$venv/lib/python3.11/site-packages")
  ln -s /usr/bin/python3 "$venv/bin/python"
  printf 'home = /usr/bin\nversion = 3.11\n' >"$venv/pyvenv.cfg"
  printf 'root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n' >"$root/etc/passwd"
  printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"
  ln -sf "$PWD/tests/arm64/init.sh" "$root/init"
  printf '%s\0' --test-dir "$PWD/build/aarch64-kernel" "${@:2}" >"$root/arguments"
  chmod 1777 "$root/tmp"
}

boot() {
  local root=$1 name=$2 options=$3 disk=$4
  timeout "${HOURS:-3}h" qemu-system-aarch64 -machine virt,mte=on,gic-version=3 -cpu max,pauth-impdef=on \
    -accel tcg,thread=multi -smp "${CPUS:-2}" -m "${MEMORY:-3G}" -nodefaults -nographic -serial stdio -no-reboot \
    -kernel "$(kernel_of "$root")" -initrd "$work/$name.initrd" -append "console=ttyAMA0 panic=-1 loglevel=4 $options" \
    -drive "if=none,id=disk,format=raw,file=$disk,cache=unsafe" -device virtio-blk-device,drive=disk \
    -device virtio-rng-device </dev/null
}

main() {
  local name=${1:-4k} suite package options root
  [ $# -eq 0 ] || shift
  read -r _ suite package options < <(grep -E "^$name " tests/arm64/kernels.txt) ||
    { say "no kernel '$name' in tests/arm64/kernels.txt"; exit 2; }
  check_tools
  hold arm64 "boot.sh: build/arm64"
  scripts/build.sh aarch64-kernel ${TARGETS:-}
  extract bookworm "$packages" "$work/root"
  root=$work/$suite-$package
  extract "$suite" "$package,busybox-static" "$root"
  case $package in linux-source-*) tests/arm64/build_kernel.sh "$root" "tests/arm64/${name%%-*}.config" ;; esac
  make_initrd "$root" "$work/$name.initrd"
  fill "$work/filled" "$@"
  disk=$work/$name-$$.disk
  trap 'rm -f "$disk"' EXIT
  mke2fs -q -t ext4 -O ^has_journal -d "$work/filled" "$disk" 6G
  rm -rf "$work/filled"
  exec 9>&- # other kernels may be started beside
  boot "$root" "$name" "$options" "$disk" | sed -u 's|\r$||' | tee "$work/$name.log"
  rm -f "$work/$name.xml"
  debugfs -R "dump /tests.xml $work/$name.xml" "$disk" 2>/dev/null
  [ -s "$work/$name.xml" ] || { say "ctest left no record: $work/$name.log"; exit 1; }
  python3 scripts/failed_tests.py "$name" "$work/$name.xml"
  grep -q '^100% tests passed' "$work/$name.log"
}

main "$@"
