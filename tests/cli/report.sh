#!/bin/bash
# tenon report: what the page holds is complete and agrees with tenon explain; hostile names; two
# reports; bad arguments. What the page shows: report_page.sh.
. "$(dirname "$0")/kit.sh"
command -v python3 >/dev/null || { echo "skipped: there is no python3"; exit 77; }

# reports MODEL PATTERN ARGUMENTS: the page is as it should be, and what the check prints matches.
reports() {
  local model=$1 pattern=$2 said option options=()
  shift 2
  for option; do [[ $option == --compare=* ]] || options+=("$option"); done
  rm -f "$work/page.html"
  says 0 '' report "$model" -o "$work/page.html" --time 0.01 "$@"
  says 0 '' explain "$model" --random --json="$work/plan.json" "${options[@]}"
  checks=$((checks + 1))
  said=$(python3 "$here/report_check.py" "$work/page.html" "$work/plan.json" 2>&1) ||
    fail "$model: $said"
  grep -qE -- "$pattern" <<<"$said" || fail "$model: '$said' does not match '$pattern'"
}
reports "$data/net.onnx" '^5 nodes, [1-9]'
cp "$work/page.html" "$work/first.html"
reports "$data/net.onnx" 'compared with ..*net.onnx' --threads=2 --compare="$work/first.html"
cp "$work/page.html" "$work/both.html"
reports "$data/net.onnx" '^5 nodes, 4 steps' --no-optimize
reports "$data/mlp.onnx" 'nodes' --device=shadow
reports "$data/branch.onnx" 'nodes'
# of a page with two, the first is taken
says 0 '' report "$data/net.onnx" -o "$work/page.html" --time 0.01 --compare "$work/both.html"

# names are any text, in pages too
LC_ALL=C sed 's/relu/<!--/g; s/conv/<b>"/g' "$data/net.onnx" >"$work/markup.onnx"
reports "$work/markup.onnx" '^5 nodes'

echo x >"$work/first.txt"
says 3 'first.txt: holds no page of tenon report' report "$data/net.onnx" -o "$work/no.html" \
  --time 0.01 --compare "$work/first.txt"
echo '<script type="application/json" id="data">[{"report":1</script>' >"$work/first.txt"
says 3 'first.txt: holds no page' report "$data/net.onnx" -o "$work/no.html" --time 0.01 \
  --compare "$work/first.txt"
says 3 'nothing.html' report "$data/net.onnx" -o "$work/no.html" --time 0.01 \
  --compare "$work/nothing.html"
no_file "$work/no.html"
says 3 'missing' report "$work/missing.onnx"
says 1 'Foo' report "$data/missing.onnx" -o "$work/no.html"
says 2 'needs a model' report
finish
