#!/bin/sh
# The page of the zoo is what its test prints. usage: page.sh ZOO_TEST PAGE
"$1" --page | diff -u "$2" - && exit 0
echo "docs/zoo.md is out of date: write it anew with  build/tests/zoo/zoo_test --page > docs/zoo.md"
exit 1
