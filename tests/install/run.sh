#!/bin/bash
# Installs the build and uses it from outside: a CMake project with an application and plug-ins,
# every project of examples/ that finds it, pkg-config, and the plug-in header alone under several
# standards.
# usage: run.sh BUILD-DIR SOURCE-DIR WORK-DIR CMAKE project|projects   project: without the examples
set -euo pipefail

build=$1 source=$2 work=$3 cmake=$4 which=$5
stage=$work/stage
rm -rf "$work"
mkdir -p "$work"

"$cmake" --install "$build" --prefix "$stage" >"$work/install.log"
# A moved installation works as well: nothing of it may remember where it was.
mv "$stage" "$work/moved"
stage=$work/moved
! grep -rn --include='*.cmake' --include='*.pc' "$work/stage" "$stage" ||
  { echo "the package names the folder it was installed to"; exit 1; }

echo "== plug-ins that ship with it"
plugins=$(dirname "$(find "$stage" -path '*/tenon/plugins/contrib.so')")
found=$(env -u TENON_PLUGIN_DIR "$stage/bin/tenon" plugin list --why 2>&1)
grep -qF "'$(realpath "$plugins")' (installed)" <<<"$found" ||
  { echo "the moved command does not look into $plugins:"; echo "$found"; exit 1; }
[ -x "$(find "$stage" -name build_plain.sh)" ] || { echo "build_plain.sh cannot be run"; exit 1; }

projects=("$source/tests/install/project")
[ "$which" = project ] || projects+=("$source"/examples/*/)
for project in "${projects[@]}"; do
  grep -qs "find_package(Tenon" "$project/CMakeLists.txt" || continue # others need no installed one
  name=$(basename "$project")
  echo "== $name"
  "$cmake" -S "$project" -B "$work/$name" -DCMAKE_PREFIX_PATH="$stage" \
    -DCMAKE_BUILD_TYPE=Release >"$work/$name.log"
  "$cmake" --build "$work/$name" >>"$work/$name.log" 2>&1 || { cat "$work/$name.log"; exit 1; }
  ctest --test-dir "$work/$name" --output-on-failure >>"$work/$name.log" 2>&1 ||
    { cat "$work/$name.log"; exit 1; }
  ! grep -i 'warning' "$work/$name.log" || { echo "$name: warnings"; exit 1; }
done

# The harness holds a plug-in's kernels to its references, as it does those that ship with Tenon.
held=()
[ "$which" = project ] ||
  held=(flash_attention_swa_sink/flash_attention custom_linear/custom_linear
    clip_formats/clip_formats my_custom_op/my_custom_op dequantize_add/dequantize_add
    one_plugin_many_hosts/swish)
for name in "${held[@]}"; do
  echo "== ${name#*/}.so in the harness"
  "$build/tests/check/check" --plugin "$work/$name.so"
  "$build/tenon" plugin vet --quiet --timeout 120 "$work/$name.so"
done

# A plug-in needs nothing of Tenon at run time, and exports one symbol.
plugin=$work/project/acme.so
exported=$(nm -D --defined-only "$plugin" | awk '$2 != "w" { print $3 }')
[ "$exported" = tn_plugin_query ] || { echo "acme.so exports: $exported"; exit 1; }
! ldd "$plugin" | grep -i tenon || { echo "acme.so is linked with Tenon"; exit 1; }

# A driver from the copy that is installed, with the lines that docs/add-a-device.md has for it.
echo "== a driver"
page=$(find "$stage" -name add-a-device.md) null=$(find "$stage" -name null.c)
{
  grep -v null.gen.h "$null"
  sed -n '/^   static const tn_device_driver/,/^   }/s/^   //p' "$page"
} | sed 's/NAME_driver/null_driver/; s/"NAME"/"mine"/; s/\.name = "null"/.name = "mine"/' \
  >"$work/mine.c"
cc -std=c11 -shared -fPIC -Werror -I "$stage/include" "$work/mine.c" -o "$work/mine.so"
drivers=$("$stage/bin/tenon" device list --plugin "$work/mine.so")
grep -qF "mine: the null driver has no hardware: it is to copy" <<<"$drivers" ||
  { echo "a driver made of null.c is not there: $drivers"; exit 1; }

# The header alone, no generator, no build system: the plug-in is one call of the compiler.
echo "== plain cc"
cc -std=c11 -Wall -Wextra -Werror -shared -fPIC -I "$stage/include" \
  "$source/tests/install/project/by_hand.c" -o "$work/plain.so"
LD_LIBRARY_PATH=$(dirname "$(find "$stage" -name libtenon.so)") "$work/project/app" "$work/plain.so"

echo "== pkg-config"
if command -v pkg-config >/dev/null; then
  export PKG_CONFIG_PATH=$stage/lib/pkgconfig:$(dirname "$(find "$stage" -name tenon.pc)")
  # shellcheck disable=SC2046
  cc -std=c11 "$source/tests/install/project/app.c" -o "$work/app" \
    $(pkg-config --cflags --libs tenon)
  said=$(LD_LIBRARY_PATH=$(pkg-config --variable=libdir tenon) "$work/app" "$plugin")
  echo "$said"
  [[ $said == "Tenon $(pkg-config --modversion tenon):"* ]] ||
    { echo "tn_version() is not the version of the package"; exit 1; }
  [ -d "$(pkg-config --variable=plugindir tenon)" ] ||
    { echo "there is no plug-in folder"; exit 1; }
else
  echo "skipped: no pkg-config"
fi

echo "== headers"
for standard in c99 c11 c17; do
  echo '#include <tenon/plugin.h>' |
    cc -x c -std=$standard -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I "$stage/include" -
  echo '#include <tenon/tenon.h>' |
    cc -x c -std=$standard -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I "$stage/include" -
done
if command -v c++ >/dev/null; then
  for standard in c++11 c++17; do
    echo '#include <tenon/tenon.h>' |
      c++ -x c++ -std=$standard -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I "$stage/include" -
  done
else
  echo "C++ skipped: no compiler"
fi
echo "all projects build and run against the installed Tenon"
