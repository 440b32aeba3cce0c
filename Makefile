# Thin front of the CMake build. Each target does its own set-up: on a bare Debian 12, `make test` is all it takes.
#   make        everything; the command is build/tenon           make test       set-up, build, all tests
#   make demo   a guided tour on real models                      make clean      removes the build folders

BUILD ?= build
CMAKE_FLAGS ?=
export CMAKE_GENERATOR ?= Ninja

.PHONY: all setup configure test demo clean
all: configure
	cmake --build $(BUILD)

setup:
	@scripts/setup

configure: setup
	@cmake -S . -B $(BUILD) $(CMAKE_FLAGS)

test: all
	ctest --test-dir $(BUILD) --output-on-failure -j $$(nproc)

demo: all
	scripts/demo $(BUILD)

clean:
	rm -rf build build-asan build-tsan
