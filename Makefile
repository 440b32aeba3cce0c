# Thin front of the CMake build. Each target does its own set-up: on a bare Debian 12, `make test` is all it takes.
#
#   make              everything; the command is build/tenon
#   make test         test-fast, test-asan, test-tsan
#   make test-fast    the whole suite
#   make test-asan    all but the slow tests, with the address and undefined-behaviour sanitizers (build-asan)
#   make test-tsan    the tests of threads, with the thread sanitizer (build-tsan)
#   make demo         an operator from outside, and a model that needs it
#   make docs         the op tables, in build/docs/ops
#   make install      to PREFIX (default /usr/local)
#   make clean        removes the build folders
#
# T=pattern chooses tests by name: make test-fast T=unit

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
PREFIX ?= /usr/local
CMAKE_FLAGS ?=
T ?= .
export CMAKE_GENERATOR ?= Ninja

# One configured and built folder: $(call build,folder,flags)
build = cmake -S . -B $(1) $(2) $(CMAKE_FLAGS) && cmake --build $(1)
# The thread sanitizer of GCC 12 cannot live with the address randomisation of newer kernels, so it is switched off
# where that is allowed.
fixed_addresses = $$(setarch -R true 2>/dev/null && echo setarch -R)
# $(call ctest,folder,options): shows ctest's output, and keeps it for the summary at the end of `make test`.
ctest = ctest --test-dir $(1) --output-on-failure --timeout 900 -j $$(nproc) -R '$(T)' $(2) | tee $(1)/ctest.log
closing = echo; echo "== $(1)"; tail -n 12 $(1)/ctest.log | grep -E 'tests passed|tests failed|Total Test time'

.PHONY: all setup test test-fast test-asan test-tsan demo docs install clean
all: setup
	@$(call build,build,)

setup:
	@scripts/setup

test: test-fast
	@$(MAKE) --no-print-directory test-asan
	@$(MAKE) --no-print-directory test-tsan
	@$(call closing,build-asan); $(call closing,build-tsan); $(call closing,build)

test-fast: all
	@$(call ctest,build,)

test-asan: setup
	@$(call build,build-asan,-DTENON_SANITIZE=address$(comma)undefined)
	@$(call ctest,build-asan,-LE slow)

test-tsan: setup
	@$(call build,build-tsan,-DTENON_SANITIZE=thread)
	@$(fixed_addresses) $(call ctest,build-tsan,-L thread -LE slow)

demo: all
	@scripts/demo build

docs: setup
	@$(call build,build,) --target tenon_generated
	@echo "the op tables are in build/docs/ops"

install: setup
	@$(call build,build,-DCMAKE_INSTALL_PREFIX=$(PREFIX))
	@cmake --install build

clean:
	rm -rf build build-asan build-tsan

comma := ,
