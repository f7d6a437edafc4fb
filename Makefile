# SPDX-License-Identifier: MIT OR Apache-2.0
# The front door; CMake and Ninja do the work. `make help` lists the targets.
#   make run CMD="redis-server --version"      make install PREFIX=/opt/hakmem DESTDIR=/tmp/stage
#   make programs PROGRAMS="php nginx" RECORD=docs

CMD    ?=
unexport CMD
PREFIX ?= /usr/local
SCALE  ?= 20
PROGRAMS ?= --all
LIBRARY  ?= build/release/libhakmem.so
ROUNDS   ?= 1
RECORD   ?= build/programs
CORPUS   ?= build/corpus
RUNS     ?= 10
KERNEL   ?= 4k-madvise
TESTS    ?= .
ROOTS    ?= bullseye
SUITES   ?=
HOURS    ?= 1
COMMIT   ?=
ARCH     ?=
FAULTS   ?=
COVERED  ?=
HAKMEM := build/venv/bin/hakmem
LAB    := build/venv/bin/hakmem-lab

.DEFAULT_GOAL := help
.PHONY: help setup build musl run test bench bench-full paper peers stress programs suites soak versions arm64 crates consumers corpus constants front pareto judge install manual site dist wheel wheel-old-root deb deb-root deb-tests rpm rpm-root install-table recipes wheels clean mutate coverage fuzz
.NOTPARALLEL:

help:
	@echo "make run [CMD=\"program ...\"]     run a program, or a line of a shell as CMD='a | b', on HAKMEM and show what it did"
	@echo "                                 (default: a small server that has a burst and rests, on all allocators)"
	@echo "make test                        build and run every test"
	@echo "make bench                       benchmarks beside glibc and the installed peers, within 5 minutes"
	@echo "make bench-full                  all benchmarks, all passes: some hours"
	@echo "make paper                       lab/docs/report anew from its CSV files"
	@echo "make peers                       build more peers with cargo: snmalloc, rpmalloc, google-tcmalloc, and builds with checks"
	@echo "make stress [SCALE=20]           stress, model, fault and long tests, longer, in release and tsan"
	@echo "make mutate [FAULTS=\"blocks\"]   100 seeded faults, one at a time: which test catches each (tests/mutation); hours"
	@echo "make coverage [COVERED=unit_slab]  lines of src/ that the tests run, a row per layer; installs gcovr in build/"
	@echo "make fuzz [HOURS=1]              libFuzzer on calls, settings and files, and damaged files for every command, that long"
	@echo "make programs [PROGRAMS=\"php nginx\"] [ROUNDS=1] [RECORD=docs]"
	@echo "                                 some twenty real programs on glibc and on HAKMEM, compared; installs 1.4 GB"
	@echo "make suites [SUITES=\"redis cpython\"] [RECORD=lab/docs]"
	@echo "                                 test suites of other projects on glibc and on HAKMEM, compared; an hour, and 100 MB of sources"
	@echo "make soak [HOURS=1]              mixed load with forks, threads and limits for so long, and a day in simulated time"
	@echo "make versions COMMIT=HASH        the libraries of another commit and these in one process"
	@echo "make arm64 [KERNEL=4k-madvise] [TESTS=process_Trim] tests on a kernel of AArch64 under qemu (tests/arm64); an hour or more"
	@echo "make crates [RUNS=10]            programs of the crates registry on HAKMEM, mimalloc and glibc; needs cargo, 10 minutes"
	@echo "make consumers                   the source archive in projects of CMake, Meson and Conan; installs Conan in build/"
	@echo "make corpus [CORPUS=build/corpus] traces of eight real programs, recorded anew"
	@echo "make pareto [RUNS=10]            real programs and servers: CPU time against memory, HAKMEM and peers; hours"
	@echo "make judge [RUNS=10]             22 real programs on every allocator by turns, and a verdict on each; minutes a run"
	@echo "make constants                   what it costs to be wrong by two, of every constant: lab/docs/constants.md anew"
	@echo "make install [PREFIX= DESTDIR=]  libraries, header, CMake and pkg-config files, man pages, completion"
	@echo "make dist                        a source archive that builds and tests without git: build/hakmem-VERSION.tar.gz"
	@echo "make wheel                       what pip installs: build/wheels/*.whl, for glibc 2.34 and for 2.17 to 2.33"
	@echo "make wheels                      the same, and those for AArch64 and for musl; downloads a compiler, 100 MB"
	@echo "make wheel-old-root [ROOTS=bullseye] the wheel in the root of an older Debian; minutes, and 300 MB of downloads"
	@echo "make deb [ARCH=arm64]            packages of Debian and what lintian says: build/deb/*.deb, build/deb-arm64/*.deb"
	@echo "make deb-root [ARCH=arm64]       these by apt in a fresh root of Debian 12, and what is built on them; minutes"
	@echo "make deb-tests [ARCH=arm64]      debian/tests of these by Debian's autopkgtest in a fresh root; minutes"
	@echo "make rpm [ARCH=arm64]            packages by rpmbuild: build/rpm/RPMS, build/rpm-arm64/RPMS"
	@echo "make rpm-root                    these by rpm in an empty root, and a program served from there"
	@echo "make install-table [ROWS=Meson]  types the README's install table, each row in a fresh root of Debian 12; minutes"
	@echo "make recipes                     types every line of docs/guide/recipes.md: PostgreSQL, java, systemd too"
	@echo "make manual                      man pages and completion anew, from the help texts, the headers and docs/guide/settings.md"
	@echo "make site                        the documentation as a site: build/site/html"
	@echo "make build                       the release libraries and tools only"
	@echo "make musl                        the libraries for musl, by musl-gcc: build/musl"
	@echo "make clean                       remove everything built"

setup:
	@scripts/setup.sh

# Standard output belongs to the program that is run: building talks on stderr, and only when there is work.
musl: setup
	@scripts/build.sh musl libraries >&2

build:
	@scripts/setup.sh run
	@scripts/build.sh release libraries tools >&2

# Only what it needs is installed and built: the first result comes soon. CMD is a line for a shell, as it was typed: no $
# in it is make's.
run: export RUN_LINE := $(if $(strip $(value CMD)),$(value CMD))
run:
	@scripts/setup.sh run
	@scripts/build.sh release command >&2
	@line=$$RUN_LINE; unset RUN_LINE; $(HAKMEM) run $${line:+-- sh -c "$$line"}

bench: setup build
	@$(LAB) bench

bench-full: setup build
	@$(LAB) bench --set full

paper: setup
	@$(LAB) bench paper lab/docs/report

peers: setup
	@scripts/alone.sh peers scripts/peers.sh

test: setup
	@scripts/test.sh

stress: setup
	@scripts/test.sh stress $(SCALE)

mutate: setup
	@nice build/venv/bin/python tests/mutation/run.py $(FAULTS)

coverage: setup
	@scripts/coverage.sh $(if $(COVERED),'$(COVERED)')

fuzz: setup
	@build/venv/bin/python -m pip install --quiet --disable-pip-version-check --only-binary :all: atheris==3.0.0 || \
		echo "fuzz: no atheris for this Python or machine: readers_fuzz.py is left out" >&2
	@scripts/build.sh release libraries tools fuzz_programs >&2
	@build/venv/bin/python tests/fuzz/run.py all build/release/tests/fuzz "$(HOURS)"

programs:
	@scripts/setup.sh programs
	@scripts/build.sh release libraries tools >&2
	@build/venv/bin/python tests/real/run.py --library "$(LIBRARY)" --rounds $(ROUNDS) --record "$(RECORD)" $(PROGRAMS)

suites: build
	@build/venv/bin/python tests/suites/run.py --library "$(LIBRARY)" --record "$(RECORD)" $(SUITES)

soak: setup
	@scripts/build.sh release soak_soak soak_day >&2
	@build/venv/bin/python tests/soak/soak.py --simulated --program build/release/tests/soak/soak_day
	@build/venv/bin/python tests/soak/soak.py --program build/release/tests/soak/soak_soak --minutes $$(awk 'BEGIN { print $(HOURS) * 60 }')

versions: build
	@tests/versions/versions.sh $(COMMIT)

arm64: setup
	@tests/arm64/boot.sh "$(KERNEL)" -R "$(TESTS)" -j2

crates: build
	@HAK_TEST_CRATES=1 HAK_ZIG=$$(scripts/zig.sh) HAK_TEST_LIBRARY=$(CURDIR)/build/release/libhakmem.so build/venv/bin/python tests/rust/crates_test.py
	@build/venv/bin/python tests/rust/programs.py --rounds $(RUNS)

consumers: build
	@scripts/conan.sh
	@HAK_TEST_CONAN=$(CURDIR)/build/conan/bin/conan HAK_TEST_BUILD=$(CURDIR)/build/release \
	  build/venv/bin/python tests/consumer/sources_test.py -v

corpus:
	@scripts/setup.sh corpus
	@scripts/build.sh release libraries tools >&2
	@$(LAB) corpus --force -o "$(CORPUS)"

pareto:
	@scripts/setup.sh pareto
	@scripts/build.sh release libraries tools >&2
	@$(LAB) pareto --runs $(RUNS) -o build/pareto.csv
	@$(LAB) pareto report build/pareto.csv

judge:
	@scripts/setup.sh judge
	@scripts/build.sh release libraries tools >&2
	@$(LAB) judge --rounds $(RUNS) -o build/judge.csv
	@$(LAB) judge report build/judge.csv

front:
	$(error make front is now make pareto)

constants: setup
	@$(LAB) constants

install:
	@scripts/setup.sh run
	@scripts/build.sh release libraries >&2
	@cmake --install build/release --prefix "$(PREFIX)"

manual: setup
	@build/venv/bin/python scripts/tables.py
	@build/venv/bin/python scripts/manual

site:
	@scripts/site.sh

dist:
	@scripts/alone.sh packages python3 scripts/dist.py

wheel: setup
	@scripts/build.sh release libraries tools wheel >&2
	@scripts/alone.sh packages build/venv/bin/python scripts/wheel.py

wheels: wheel
	@scripts/musl_root.sh aarch64 >/dev/null
	@export HAK_ZIG=$$(scripts/zig.sh) && for preset in release-aarch64 musl-zig musl-zig-aarch64; do \
	  scripts/build.sh $$preset wheel >&2 || exit; done
	@scripts/alone.sh packages build/venv/bin/python scripts/wheel.py release release-aarch64 musl-zig musl-zig-aarch64

wheel-old-root: wheel
	@scripts/alone.sh packages tests/wheel/old_root.sh $(ROOTS)

deb: setup
	@scripts/alone.sh packages build/venv/bin/python scripts/package.py deb $(addprefix --arch ,$(ARCH))

deb-root: deb
	@scripts/alone.sh packages tests/packages/deb_root.sh $(ARCH)
	@scripts/alone.sh packages build/venv/bin/python tests/packages/container.py $(ARCH)

deb-tests: deb
	@scripts/alone.sh packages tests/packages/autopkgtest.sh $(ARCH)

rpm: setup
	@scripts/alone.sh packages build/venv/bin/python scripts/package.py rpm $(addprefix --arch ,$(ARCH))

rpm-root: rpm
	@scripts/alone.sh packages tests/packages/rpm_root.sh

install-table: wheel deb dist
	@scripts/alone.sh packages python3 tests/install/typed.py $(ROWS)

recipes: build
	@build/venv/bin/python tests/recipes/type_recipes.py all

# The stamps go first: what an interrupted clean leaves is made anew.
clean:
	rm -f build/venv/stamp build/site/venv/stamp build/conan/stamp build/roots/*/made
	rm -rf build cli/hakmem.egg-info lab/hakmem_lab.egg-info
