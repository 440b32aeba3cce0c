// Small things that all parts use: elements, units, colours.

function make(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) e.addEventListener(key.slice(2), value);
    else if (key === "text") e.textContent = value;
    else if (value !== undefined) e.setAttribute(key, value);
  }
  e.append(...children);
  return e;
}

function inUnits(n, units, step) {
  let k = 0;
  while (n >= step && k < units.length - 1) (n /= step), k++;
  return `${n >= 100 || n === 0 ? n.toFixed(0) : n.toPrecision(3)} ${units[k]}`;
}

// Of a list that may be longer than the arguments of a call.
const largest = (list, least) => list.reduce((a, b) => Math.max(a, b), least);
const smallest = (list, most) => list.reduce((a, b) => Math.min(a, b), most);

const bytesText = (n) => inUnits(n, ["B", "kB", "MB", "GB", "TB"], 1000);
const timeText = (ns) => inUnits(ns, ["ns", "µs", "ms", "s"], 1000);
const countText = (n) => inUnits(n, ["", "k", "M", "G", "T", "P"], 1000).trim();
const shortName = (path) => path.split("/").slice(-2).join("/");
const shareText = (part, whole) => (whole > 0 ? `${((100 * part) / whole).toFixed(1)} %` : "");

const KINDS = {
  math: /Conv|MatMul|Gemm|Attention|LSTM|GRU|RNN|Einsum|FullyConnected|Linear|Dot|InvertedResidual/i,
  norm: /Norm|Softmax|Pool|Reduce|ArgM|TopK|CumSum|LRN/i,
  move: /Reshape|Transpose|Concat|Split|Slice|Gather|Scatter|Region|Pad|Expand|Squeeze|Flatten|Tile|Shape|Identity|Cast|Reorder|Transfer|Resize|DepthToSpace|SpaceToDepth|Constant/i,
  other: /^(If|Loop|Scan|Call|While|NonMax|Island|Optional|Sequence)|::Island/i,
};
const KIND_NAMES = { math: "products", each: "element-wise", norm: "reductions", move: "movement",
  other: "control, other", io: "inputs, outputs" };

function kindOf(op) {
  if (op === "input" || op === "output") return "io";
  for (const [kind, pattern] of Object.entries(KINDS)) if (pattern.test(op)) return kind;
  return "each";
}

// What the style sheet calls the colours, read anew when the system turns light or dark.
let palette = {};
function readPalette() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["page", "card", "ink", "soft", "line", "edge", "accent", "mark", "field", "math",
    "each", "norm", "move", "other", "io", "heat0", "heat1", "heat2"])
    palette[name] = style.getPropertyValue("--" + name).trim();
}

function mix(a, b, t) {
  const part = (c, k) => parseInt(c.slice(1 + 2 * k, 3 + 2 * k), 16);
  const both = [0, 1, 2].map((k) => Math.round(part(a, k) + (part(b, k) - part(a, k)) * t));
  return `rgb(${both.join(",")})`;
}

const heatColour = (t) =>
  t < 0.5 ? mix(palette.heat0, palette.heat1, 2 * t) : mix(palette.heat1, palette.heat2, 2 * t - 1);

const deviceColour = (k) => palette[["math", "norm", "each", "other", "mark"][k % 5]];

// A canvas of the size of its element, in device pixels; draw(context, width, height).
function onCanvas(canvas, draw) {
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth, height = canvas.clientHeight;
  if (!width || !height) return;
  const w = Math.round(width * ratio), h = Math.round(height * ratio);
  if (canvas.width !== w || canvas.height !== h) (canvas.width = w), (canvas.height = h);
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = "12px system-ui, sans-serif";
  draw(context, width, height);
}

function cut(text, most) {
  return text.length <= most ? text : most < 2 ? "" : text.slice(0, most - 1) + "…";
}

// The end of a name says more than its beginning.
const cutHead = (text, most) => (text.length <= most ? text : "…" + text.slice(1 - most));

const tip = make("div", { class: "tip", hidden: "" });
function showTip(event, text) {
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  const w = tip.offsetWidth, h = tip.offsetHeight;
  tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - w - 4)) + "px";
  tip.style.top = Math.max(4, event.clientY + h + 24 > innerHeight ? event.clientY - h - 10
    : event.clientY + 14) + "px";
}
