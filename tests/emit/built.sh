#!/bin/bash
# Builds what emit-c has written as its documentation says, and runs its test. usage: built.sh DIR
cd "$1" && cc -std=c11 -O2 -Wall -Wextra -Werror ./*.c -lm -o built && timeout 100 ./built
