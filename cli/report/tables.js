// Tables that can be sorted, sizes as bars.

// columns: [head, row => value, value => text or null]; rows of numbers stand right.
function sortedTable(columns, rows, at, pick, most = 100) {
  const table = make("table"), more = make("button", { text: "show more" });
  let column = at, down = true, shown = most;
  const fill = () => {
    const value = columns[column][1];
    const sorted = [...rows].sort((a, b) => {
      const x = value(a), y = value(b), order = typeof x === "number" ? x - y : String(x).localeCompare(String(y));
      return down ? -order : order;
    });
    const head = make("tr");
    columns.forEach(([name, get], k) => {
      const number = rows.length && typeof get(rows[0]) === "number";
      const turn = () => ((down = k === column ? !down : number), (column = k), fill());
      head.append(make("th", { class: number ? "n sort" : "sort", text: name + (k === column ? (down ? " ↓" : " ↑") : ""), onclick: turn }));
    });
    table.replaceChildren(head);
    for (const row of sorted.slice(0, shown)) table.append(rowOf(columns, row, pick));
    more.hidden = rows.length <= shown;
  };
  more.addEventListener("click", () => ((shown *= 4), fill()));
  fill();
  return make("div", {}, make("div", { class: "scroll" }, table), more);
}

function rowOf(columns, row, pick) {
  const tr = make("tr", pick ? { class: "pick", onclick: () => pick(row) } : {});
  for (const [, get, text] of columns) {
    const value = get(row), shown = text ? text(value, row) : String(value);
    tr.append(make("td", { class: typeof value === "number" ? "n" : undefined, text: shown, title: shown }));
  }
  return tr;
}

function kernelRows(report) {
  const rows = new Map();
  for (const s of report.steps) {
    if (s.leader !== undefined) continue;
    const key = `${s.op} ${s.kernel}`;
    if (!rows.has(key)) rows.set(key, { op: s.op, kernel: s.kernel, device: s.device, calls: 0, ns: 0, flops: 0 });
    const r = rows.get(key);
    r.calls++, (r.ns += s.ns), (r.flops += s.flops);
  }
  return [...rows.values()];
}

const rate = (ns, flops) => (ns > 0 && flops > 0 ? flops / ns : 0);
const rateText = (v) => (v ? v.toPrecision(3) : "");

function kernelTable(report) {
  return sortedTable([
    ["time", (r) => r.ns, timeText],
    ["share", (r) => r.ns / (report.stepTime || 1), (v) => `${(100 * v).toFixed(1)} %`],
    ["calls", (r) => r.calls],
    ["GFLOP/s", (r) => rate(r.ns, r.flops), rateText],
    ["operator", (r) => r.op],
    ["kernel", (r) => r.kernel],
    ["device", (r) => r.device],
  ], kernelRows(report), 0, null);
}

function stepTimeText(ns, s) {
  if (s.leader !== undefined) return `with ${s.leader}`;
  return s.segment !== undefined && !ns ? `segment ${s.segment + 1}` : timeText(ns);
}

function stepTable(report, pick) {
  return sortedTable([
    ["step", (s) => s.step],
    ["time", (s) => s.ns, stepTimeText],
    ["estimated", (s) => s.cost_ns, timeText],
    ["GFLOP/s", (s) => rate(s.ns, s.flops), rateText],
    ["operator", (s) => s.op],
    ["node", (s) => s.node],
    ["kernel", (s) => s.kernel],
    ["fused", (s) => s.fused.join(", ")],
    ["output", (s) => s.outputs[0]?.type || ""],
    ["device", (s) => s.device],
  ], report.steps, 1, (s) => pick(s.step), 50);
}

function sizes(report) {
  const m = report.memory_bytes, grid = make("div", { class: "size" });
  const rows = [["file", report.file_bytes], ["constants", m.constants], ["prepared weights", m.state],
    ["arena", m.arena], ["alive at once", m.arena_lower_bound], ["scratch", m.scratch]];
  const most = Math.max(1, ...rows.map(([, v]) => v || 0));
  for (const [name, value] of rows) {
    if (value === undefined) continue;
    const bar = make("i");
    bar.style.width = `${(100 * value) / most}%`;
    grid.append(make("span", { text: name }), make("span", {}, bar), make("b", { text: bytesText(value) }));
  }
  return grid;
}

// Two reports in one table; how often the second takes the first's time, or needs its bytes.
function comparison(a, b) {
  const nameOf = (r) => [shortName(r.model), `${r.machine.threads} thread${r.machine.threads > 1 ? "s" : ""}`, ...r.settings].join(", ");
  const ratio = (x, y) => (x > 0 && y > 0 ? `× ${(y / x).toPrecision(3)}` : "");
  const row = (name, x, y, text) => make("tr", {}, make("td", { text: name }), make("td", { class: "n", text: text(x) }),
    make("td", { class: "n", text: text(y) }), make("td", { class: "n", text: ratio(x, y) }));
  const table = make("table", {}, make("tr", {}, ...["", nameOf(a), nameOf(b), "second / first"].map((text, k) => make("th", { class: k ? "n" : undefined, text }))));
  for (const key of ["median", "min", "first_run", "load"]) table.append(row(key.replace("_", " "), a.ns[key], b.ns[key], timeText));
  for (const key of Object.keys(a.memory_bytes)) table.append(row(key.replaceAll("_", " "), a.memory_bytes[key], b.memory_bytes[key] || 0, bytesText));
  table.append(row("steps", a.steps.length, b.steps.length, String));
  const ops = new Map();
  [a, b].forEach((report, k) => {
    for (const s of report.steps) {
      if (!ops.has(s.op)) ops.set(s.op, [0, 0]);
      ops.get(s.op)[k] += s.ns;
    }
  });
  for (const [op, [x, y]] of [...ops].sort((p, q) => Math.max(...q[1]) - Math.max(...p[1])).slice(0, 20))
    table.append(row(op, x, y, (v) => (v ? timeText(v) : "")));
  return make("div", { class: "scroll compare" }, table);
}
