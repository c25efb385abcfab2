# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# roost: verbs only; what is built, and how, stands in the folders' Makefiles.
#
#   make KVER=6.1 kmod        the module for a kernel of tools/kernel/kernel.sh,
#                             or for installed headers: KVER=$(uname -r)
#   make KDIR=/path kmod      the module for a kernel tree or headers folder

KVER ?= 6.12
KDIR ?=
# how long `make fuzz` goes on, and where its random numbers start
MINUTES ?= 30
SEED ?=
# options of `make behaviours` and `make cases`, as --complete
BEHAVIOURS ?=
# faults that `make mutants` puts in, as 'steal-* mpmc-*', and options
MUTANTS ?=
.PHONY: all setup kmod kunit lib tools roostctl examples selftests check check-kernels check-library coverage behaviours cases mutants style fuzz demo bench bench-vm clean help
# One after the other; the folders' own makes use the job server.
.NOTPARALLEL:

all: kmod lib tools

help:
	@echo 'make all         module (KVER=$(KVER)), library, tools'
	@echo 'make setup       install the Debian packages that are missing'
	@echo 'make kmod        roost.ko to build/RELEASE/ (KVER= or KDIR=)'
	@echo 'make kunit       its KUnit tests as roost_kunit.ko, beside it'
	@echo 'make lib         libroost.a and libroost.so'
	@echo 'make roostctl    tools/roostctl'
	@echo 'make examples    tools/examples'
	@echo 'make bench       tools/bench'
	@echo 'make selftests   the test programs'
	@echo 'make check       all tests, on this machine and in VMs (CHECK_KERNELS=, CHECK_DEBUG=)'
	@echo 'make check-kernels  the VM tests on every kernel, and a matrix (KERNELS=, FOLDERS=, FRESH=1)'
	@echo 'make check-library  the library in all its ways, and under tools (CELLS=, FRESH=1)'
	@echo 'make coverage    which lines of the module its tests run (COVERAGE=options)'
	@echo 'make behaviours  what there has to be, the tests for it, and what they last said'
	@echo 'make cases       the same for what has broken other systems'
	@echo 'make mutants     faults put into the library: does a test find each? (MUTANTS=names)'
	@echo 'make style       static checks'
	@echo 'make fuzz        random calls on a debugging kernel (MINUTES=, SEED=, FUZZ=--fail)'
	@echo 'make demo        the server demonstration in a VM (KERNEL=, DURATION=, ROUNDS=)'
	@echo 'make bench-vm    the echo benchmark in a VM (KERNEL=, BENCH=options)'
	@echo 'make install     library and tools, to DESTDIR and PREFIX (/usr/local)'
	@echo 'make uninstall   takes them away again'
	@echo 'make install-dkms    the module, for DKMS to build: its sources, udev rule'
	@echo 'make uninstall-dkms  takes them away again'
	@echo 'make check-packages  build the Debian packages, and try them in a chroot'
	@echo 'make clean       remove what was built; fetched kernels stay cached'

setup:
	@tools/setup.sh all

kmod:
	@tools/setup.sh build
	@tools/kernel/kmod.sh $(if $(KDIR),--kdir $(KDIR),--kver $(KVER))

kunit:
	@tools/setup.sh build
	@tools/kernel/kmod.sh $(if $(KDIR),--kdir $(KDIR),--kver $(KVER)) --kunit >/dev/null

lib:
	@tools/setup.sh build
	$(MAKE) -C lib

tools: roostctl examples bench

bench: lib
	@tools/setup.sh bench
	$(MAKE) -C tools/bench/vm

roostctl:
	@tools/setup.sh build
	$(MAKE) -C tools/roostctl

examples: lib
	$(MAKE) -C tools/examples

selftests: lib roostctl examples bench
	@tools/setup.sh compat
	$(MAKE) -C selftests KSELFTEST_DIR="$$(tools/kernel/source-files.sh)"

check:
	@tools/check/check.sh

check-kernels:
	@tools/check/kernels.sh $(if $(FRESH),--fresh) $(FOLDERS:%=--folder %) $(KERNELS)

check-library:
	@tools/check/library.sh $(if $(FRESH),--fresh) $(foreach cell,$(CELLS),'$(cell)')

behaviours:
	@tools/check/behaviours.py $(BEHAVIOURS)

cases:
	@tools/check/behaviours.py $(BEHAVIOURS) Documentation/cases.rst

coverage:
	@tools/check/coverage.sh $(COVERAGE)

mutants:
	@tools/setup.sh build
	@tools/check/mutants.py $(MUTANTS)

style:
	@tools/setup.sh check
	@tools/check/static.sh

fuzz:
	@tools/setup.sh check
	@tools/fuzz/run.sh --kernel $(or $(KERNEL),6.1-debug) --minutes $(MINUTES) \
		$(if $(SEED),--seed $(SEED)) -- $(FUZZ)

demo:
	@tools/setup.sh demo
	@tools/demo/run.sh

bench-vm:
	@tools/bench/vm/run.sh --kernel $(or $(KERNEL),6.1) $(or $(BENCH),--icount)

.PHONY: install uninstall install-dkms uninstall-dkms check-packages
# These only build and copy: no package is looked for.
install uninstall:
	$(MAKE) -C lib $@
	$(MAKE) -C tools $@

install-dkms:
	$(MAKE) -C kmod/dkms install

uninstall-dkms:
	$(MAKE) -C kmod/dkms uninstall

check-packages:
	@selftests/packaging/packages.sh

clean:
	rm -rf build
	$(MAKE) -C lib clean
	$(MAKE) -C tools/roostctl clean
	$(MAKE) -C tools/examples clean
	$(MAKE) -C tools/bench/vm clean
	$(MAKE) -C selftests clean
