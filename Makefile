# Thin front of the CMake build. Each target does its own set-up: on a bare Debian 12, `make test` is all it takes.
#
#   make              the library, the command and the plug-ins; the command is build/tenon
#   make test         every test once, the core also under sanitizers; some minutes
#   make test-all     the slow tests, too, and everything under each sanitizer
#   make demo         an operator from outside, and a model that needs it
#   make docs         the op tables, in build/docs/ops
#   make format       formats all C
#   make install      to PREFIX (default /usr/local)
#   make clean        removes the build folders
#
# T=pattern chooses tests by name: make test T=unit. Parts of the two: test-main, test-asan, test-tsan, all-main, all-asan,
# all-tsan. docs/building.md says what they run, and how long.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
PREFIX ?= /usr/local
CMAKE_FLAGS ?=
T ?= .
export CMAKE_GENERATOR ?= Ninja

# One configured and built folder: $(call build,folder,flags)
build = cmake -S . -B $(1) $(2) $(CMAKE_FLAGS) && cmake --build $(1)
asan = -DTENON_SANITIZE=address$(comma)undefined
tsan = -DTENON_SANITIZE=thread
core = -DTENON_KERNELS_OF=$(CURDIR)/build
# The thread sanitizer of GCC 12 cannot live with the address randomisation of newer kernels, so it is switched off
# where that is allowed.
fixed_addresses = $$(setarch -R true 2>/dev/null && echo setarch -R)
# $(call ctest,folder,options): shows ctest's output, and keeps it for the summary at the end.
ctest = ctest --test-dir $(1) --output-on-failure --timeout 900 -j $$(nproc) -R '$(T)' $(2) | tee $(1)/ctest.log
# The closing lines of ctest once more, of one folder after the other: the main build comes last.
summary = for folder in $(1); do echo; echo "== $$folder"; grep -E 'tests passed,|^Total Test time' $$folder/ctest.log; done

.PHONY: all setup setup-test setup-all test test-main test-asan test-tsan test-all all-main all-asan all-tsan demo docs \
  format install clean

# A fresh folder has no tests; one that has them keeps them.
all: setup
	@$(call build,build,$(if $(wildcard build/CMakeCache.txt),,-DTENON_TESTS=OFF))

setup:
	@scripts/setup build

setup-test:
	@scripts/setup test

setup-all:
	@scripts/setup all

# ---- Every test once; under sanitizers the core, with the kernels of the main build ----
test: test-main
	@$(MAKE) --no-print-directory test-asan
	@$(MAKE) --no-print-directory test-tsan
	@$(call summary,build-asan build-tsan build)

test-main: setup-test
	@$(call build,build,-DTENON_TESTS=ON)
	@$(call ctest,build,-LE slow)

test-asan: setup-test
	@$(call build,build,-DTENON_TESTS=ON)
	@$(call build,build-asan,$(asan) $(core))
	@$(call ctest,build-asan,-LE 'slow|check')

test-tsan: setup-test
	@$(call build,build,-DTENON_TESTS=ON)
	@$(call build,build-tsan,$(tsan) $(core))
	@$(fixed_addresses) $(call ctest,build-tsan,-L thread -LE 'slow|check')

# ---- All of it ----
test-all: all-main
	@$(MAKE) --no-print-directory all-asan
	@$(MAKE) --no-print-directory all-tsan
	@$(call summary,build-asan-all build-tsan-all build)

all-main: setup-all
	@$(call build,build,-DTENON_TESTS=ON)
	@$(call ctest,build,)

all-asan: setup-all
	@$(call build,build-asan-all,$(asan))
	@$(call ctest,build-asan-all,-LE main)

all-tsan: setup-all
	@$(call build,build-tsan-all,$(tsan))
	@$(fixed_addresses) $(call ctest,build-tsan-all,-L thread -LE main)

demo: all
	@scripts/demo build

docs: setup
	@$(call build,build,) --target tenon_generated
	@echo "the op tables are in build/docs/ops"

format: setup-test
	@scripts/format

install: setup
	@$(call build,build,$(if $(wildcard build/CMakeCache.txt),,-DTENON_TESTS=OFF) -DCMAKE_INSTALL_PREFIX=$(PREFIX))
	@cmake --install build

clean:
	rm -rf build build-asan build-tsan build-asan-all build-tsan-all

comma := ,
