#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# The first process of the machine that boot.sh starts: mounts what tests need, runs ctest, and turns the machine off.
export PATH=/usr/sbin:/usr/bin HOME=/root LC_ALL=C.UTF-8

mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev 2>/dev/null
mkdir -p /dev/pts /dev/shm
mount -t devpts pts /dev/pts
mount -t tmpfs shm /dev/shm
mount -t tmpfs run /run
mount -t cgroup2 control /sys/fs/cgroup
ln -sfn /proc/self/fd /dev/fd
ip link set lo up

echo "kernel $(uname -r), pages of $(getconf PAGESIZE), huge pages $(cat /sys/kernel/mm/transparent_hugepage/enabled)"
mapfile -d '' arguments </arguments
ctest "${arguments[@]}" --output-on-failure --no-tests=error --no-label-summary --output-junit /tests.xml 2>&1 |
  grep --line-buffered -v -e '^ *Start ' -e '^Internal ctest' -e '^$'
sync
echo o >/proc/sysrq-trigger
sleep 60
