#!/bin/bash
# The page of examples/browser: the model answers in WebAssembly as it does elsewhere, and in a
# browser digits that a mouse draws are read. usage: browser.sh TENON WORK SOURCE
set -uo pipefail
tenon=$1 work=$2 source=$3
digits=$source/examples/digits
for tool in clang wasm-ld node; do
  command -v $tool >/dev/null || { echo "skipped: there is no $tool"; exit 77; }
done
rm -rf "$work" && mkdir -p "$work" || exit 1
sh "$source/examples/flash_attention_swa_sink/build_plain.sh" "$source/include" "$work/flash.so" &&
  "$source/examples/browser/build.sh" "$tenon" "$work/flash.so" "$work" || exit 1

# all held-out images; 438 of 450 are right, as with the library
cat >"$work/run.js" <<'JS'
const fs = require("fs"), [wasm, images, labels] = process.argv.slice(2);
const model = new WebAssembly.Instance(new WebAssembly.Module(fs.readFileSync(wasm))).exports;
const npy = file => { const b = fs.readFileSync(file); return b.subarray(10 + b.readUInt16LE(8)); };
const pixels = npy(images), wanted = npy(labels), each = wanted.length / 450;
let right = 0;
for (let k = 0; k < 450; k++) {
  const x = new Float32Array(model.memory.buffer, model.image_at(), 64);
  for (let i = 0; i < 64; i++) x[i] = pixels.readFloatLE(4 * (64 * k + i));
  model.look();
  const p = [...new Float32Array(model.memory.buffer, model.probabilities_at(), 10)];
  right += p.indexOf(Math.max(...p)) === wanted[k * each] ? 1 : 0;
}
console.log(`${right} of 450 images are right`);
process.exit(right === 438 ? 0 : 1);
JS
node "$work/run.js" "$work/digits.wasm" "$digits/images.npy" "$digits/labels.npy" || exit 1

command -v chromium >/dev/null || { echo "skipped: there is no chromium"; exit 77; }
cp "$work/digits.html" "$work/drawn.html"
cat >>"$work/drawn.html" <<'HTML'
<pre id="report"></pre>
<script>
const drawn = {
  0: [[128, 40], [170, 70], [185, 128], [170, 186], [128, 216], [86, 186], [71, 128], [86, 70],
      [128, 40]],
  1: [[100, 80], [140, 40], [140, 216]],
  2: [[80, 80], [100, 50], [150, 45], [178, 85], [150, 130], [75, 214], [190, 214]],
  4: [[110, 40], [70, 140], [190, 140], [150, 140], [150, 90], [150, 216]] };
const paperElement = document.getElementById("paper"), box = paperElement.getBoundingClientRect();
const send = (type, [x, y], to) => to.dispatchEvent(new PointerEvent(type,
  { bubbles: true, clientX: box.left + 1 + x, clientY: box.top + 1 + y }));
for (const [digit, path] of Object.entries(drawn)) {
  document.getElementById("clear").click();
  send("pointerdown", path[0], paperElement);
  for (let k = 1; k < path.length; k++)
    for (let t = 0; t <= 8; t++)
      send("pointermove", [0, 1].map(d => path[k - 1][d] + (path[k][d] - path[k - 1][d]) * t / 8),
        paperElement);
  send("pointerup", path[path.length - 1], paperElement);
  document.getElementById("report").textContent +=
    `drawn ${digit}: seen ${document.getElementById("seen").textContent}\n`;
}
</script>
HTML
timeout 120 chromium --headless --no-sandbox --disable-gpu --dump-dom "file://$work/drawn.html" \
  2>"$work/log" >"$work/dom"
grep -o 'drawn [0-9]: seen [0-9]*' "$work/dom" | tee "$work/seen"
[ "$(wc -l <"$work/seen")" -eq 4 ] && ! grep -vE 'drawn ([0-9]): seen \1$' "$work/seen"
