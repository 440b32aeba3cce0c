#!/bin/bash
# The page of tenon report in a browser: TENON DATA WORK. Skipped where there is no chromium.
set -u
tenon=$1 data=$2 work=$3
here=$(cd "$(dirname "$0")" && pwd)
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
  { echo "skipped: there is no chromium"; exit 77; }
rm -rf "$work" && mkdir -p "$work" || exit 1
"$tenon" report "$data/net.onnx" -o "$work/one.html" --time 0.05 --threads 2 || exit 1
"$tenon" report "$data/net.onnx" -o "$work/two.html" --time 0.05 --no-optimize \
  --compare "$work/one.html" || exit 1
failed=0
# shows PAGE WIDTH FLAGS...: the script has found nothing wrong with it.
shows() {
  local page=$1 width=$2 title
  shift 2
  { cat "$work/$page.html"; echo "<script>"; cat "$here/report_page.js"; echo "</script>"; } \
    >"$work/test.html"
  # a window is not narrower than some 500 pixels, a frame may be
  echo "<iframe src=test.html width=$width height=900 onload='setInterval(() => document.title =
    frames[0].document.title, 50)'></iframe>" >"$work/frame.html"
  title=$("$browser" --headless=new --no-sandbox --disable-gpu --allow-file-access-from-files \
    --user-data-dir="$work/profile" --virtual-time-budget=30000 --window-size=1400,1000 "$@" \
    --dump-dom "file://$(realpath "$work")/frame.html" 2>/dev/null | grep -o '<title>.*</title>')
  echo "$page, $width pixels, $*: $title"
  [ "$title" = "<title>passed</title>" ] || failed=1
}
shows one 1280
shows one 390
shows one 390 --force-dark-mode --blink-settings=preferredColorScheme=0
shows two 1280
shows two 390
exit "$failed"
