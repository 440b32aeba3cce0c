#!/bin/sh
# The whole build of the plug-in without a build system: one header of Tenon, nothing to link.
# usage: build_plain.sh FOLDER-WITH-tenon/plugin.h OUTPUT.so
set -eu
include=$1 output=$2
cd "$(dirname "$0")"
cc -O3 -shared -fPIC -I "$include" plugin.c attention.c emit.c kernel_c.c -lm -o "$output"
