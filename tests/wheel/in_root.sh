#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Run by old_root.sh inside a root: installs the wheel as a user would, and runs programs on the library. A line for
# each check.
set -uo pipefail

python=/v/bin/python
hakmem=/v/bin/hakmem
passed=0
failed=0

check() {
  local what=$1 wanted=$2 got
  shift 2
  if got=$("$@" 2>&1) && [[ $got == $wanted ]]; then
    passed=$((passed + 1))
    echo "passed: $what"
  else
    failed=$((failed + 1))
    printf 'FAILED: %s: status %s, and this instead of "%s":\n%s\n' "$what" $? "$wanted" "$got"
  fi
}

refusal() { ! "$@"; }

owns='import ctypes
c = ctypes.CDLL(None)
c.malloc.restype, c.hak_owns.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
print("owned" if c.hak_owns(c.malloc(99)) else "not owned")'
threads='import threading, os
def work():
    kept = [bytearray(n % 70000) for n in range(4000)]
crew = [threading.Thread(target=work) for _ in range(64)]
[each.start() for each in crew]; [each.join() for each in crew]
child = os.fork()
if child == 0:
    work(); os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))'

echo "in $(. /etc/os-release && echo "$PRETTY_NAME"): $(ldd --version | head -n 1), $(python3 --version)"
rm -rf /v /unpacked
python3 -m venv /v
check "pip takes the wheel for this glibc" "" "$python" -m pip install --quiet --no-index --no-deps --find-links /wheels hakmem
lib=$(echo /v/lib/python3*/site-packages/hakmem/lib)
check "it is the one for 2.17" "* 2.17" cat "$lib/made-for"
check "exec: HAKMEM serves" owned "$hakmem" exec -- python3 -c "$owns"
check "path: HAKMEM serves" owned env LD_PRELOAD="$("$hakmem" path)" python3 -c "$owns"
check "env: HAKMEM serves" owned sh -c 'eval "$('"$hakmem"' env)"; exec python3 -c "$0"' "$owns"
check "threads come and go, and a child is forked" 7 "$hakmem" exec -- python3 -c "$threads"
check "a program without threads" "1275" "$hakmem" exec -- perl -e 'my $s = 0; $s += $_ for 1 .. 50; print $s'
check "exec --stats, and a setting" "*served       by HAKMEM*" "$hakmem" exec --stats --set price=lean -- ls /
check "a wrong setting is refused" "hakmem: price=dear*" refusal "$hakmem" exec --set price=dear -- ls /
check "run proves and compares" "*served by HAKMEM*did not serve: 0 of*" "$hakmem" run --runs 1 -- python3 -c "$threads"
check "run, the script it brings" "*served by HAKMEM*" "$hakmem" run --runs 1
check "a dependency that is missing" "hakmem: trace needs more than is installed here: pip install hakmem*" refusal "$hakmem" trace ls
python3 -m zipfile -e /wheels/hakmem-*manylinux_2_34_*.whl /unpacked
check "the other wheel, unpacked by hand" "hakmem: *needs glibc 2.34*" refusal env PYTHONPATH=/unpacked python3 -m hakmem path
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
