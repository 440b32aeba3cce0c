// The page: a view for each report, a table before them if there are two.

class ReportView {
  constructor(root, report) {
    Object.assign(this, { root, report, drawings: [] });
    this.pick = (step) => this.goToStep(step);
    root.append(this.head(), this.graphSection(), this.timeSection(), this.memorySection(), this.roofSection(), this.stepSection());
  }

  head() {
    const r = this.report, facts = make("div", { class: "facts" });
    const fact = (name, value) => facts.append(make("div", {}, make("b", { text: value }), make("span", { text: name })));
    fact(`median of ${r.runs} runs`, timeText(r.ns.median));
    fact("shortest", timeText(r.ns.min));
    fact("loaded in", timeText(r.ns.load));
    fact("planned, first run", timeText(r.ns.first_run));
    if (r.flops) fact("FLOP", countText(r.flops)), fact("GFLOP/s", (r.flops / r.ns.median).toPrecision(3));
    fact("nodes, steps", `${r.before.nodes.length}, ${r.steps.length}`);
    fact(r.machine.threads > 1 ? "threads" : "thread", `${r.machine.threads}`);
    const values = (list) => list.map((v) => `${v.name}: ${v.type}`).join("; ");
    const placed = (r.placement?.devices || []).map((d) => `${d.device}: ${d.nodes} nodes, ${shareText(d.share_of_flops, 1)} of the work`);
    return make("section", {}, make("h1", { text: shortName(r.model) }),
      make("p", { text: `${r.format || "made by hand"}, Tenon ${r.tenon}. Takes ${values(r.inputs)}. Answers ${values(r.outputs)}.` }),
      r.settings.length ? make("p", { text: `With: ${r.settings.join(", ")}.` }) : "",
      placed.length ? make("p", { text: placed.join("; ") }) : "", facts);
  }

  // ---- graph ----

  graphSection() {
    const canvas = make("canvas", { class: "plan", "aria-label": "graph" }), details = make("div", { class: "details" });
    this.after = new GraphData(this.report.after, this.report);
    this.after.isAfter = true;
    this.before = new GraphData(this.report.before, { ...this.report, steps: [] });
    this.graph = new GraphView(canvas, (item) => this.details.show(item));
    this.details = new Details(details, this.graph);
    this.graph.data = this.after;
    this.drawings.push({ draw: () => this.graph.draw() });
    this.legend = make("div", { class: "legend" });
    return make("section", {}, make("h2", { text: "Graph" }), this.graphBar(), make("div", { class: "graph" }, make("div", {}, canvas, this.legend), details));
  }

  graphBar() {
    const button = (text, onclick, title) => make("button", { text, onclick, title });
    this.afterButton = button("as it runs", () => this.turnTo(this.after));
    this.beforeButton = button("as in the file", () => this.turnTo(this.before));
    const colours = make("select", { "aria-label": "colours", onchange: () => this.colour(colours.value) });
    for (const [value, text] of [["kind", "colour: operators"], ["time", "colour: time"], ["device", "colour: devices"]])
      colours.append(make("option", { value, text }));
    this.levels = make("select", { "aria-label": "groups", onchange: () => this.collapse(this.levels.value) });
    return make("div", { class: "bar" }, this.afterButton, this.beforeButton, colours, this.levels,
      button("+", () => this.graph.scaleMiddle(1.3), "zoom in"), button("−", () => this.graph.scaleMiddle(1 / 1.3), "zoom out"),
      button("fit", () => this.graph.fit(true), "all of it"), this.search());
  }

  turnTo(data) {
    this.afterButton.setAttribute("aria-pressed", data === this.after);
    this.beforeButton.setAttribute("aria-pressed", data === this.before);
    this.levels.replaceChildren(make("option", { value: "", text: data.depth ? "groups …" : "no groups" }));
    for (let d = 0; d < data.depth; d++) this.levels.append(make("option", { value: d, text: `collapse level ${d + 1}` }));
    if (data.depth) this.levels.append(make("option", { value: data.depth, text: "expand all" }));
    this.graph.show(data);
    this.details.show(null);
    this.colour(this.graph.colouring);
  }

  collapse(level) {
    if (level === "") return;
    this.graph.data.collapseTo(+level);
    this.graph.regroup();
    this.levels.value = "";
  }

  colour(how) {
    this.graph.colouring = how;
    this.legend.replaceChildren();
    const add = (colour, text) => {
      const mark = make("i");
      mark.style.background = colour;
      this.legend.append(make("span", {}, mark, text));
    };
    if (how === "kind") for (const [kind, text] of Object.entries(KIND_NAMES)) add(`var(--${kind})`, text);
    else if (how === "device") this.graph.devices.forEach((name, k) => add(deviceColour(k), name));
    else add("var(--heat0)", "no time"), add("var(--heat1)", "a quarter of the longest"), add("var(--heat2)", timeText(this.graph.longest));
    this.graph.draw();
  }

  search() {
    const input = make("input", { type: "search", placeholder: "search nodes, operators, kernels", "aria-label": "search" });
    const list = make("ul", { hidden: "" }), box = make("div", { class: "found grow" }, input, list);
    const find = () => {
      const data = this.graph.data, word = input.value.toLowerCase(), found = [];
      for (let k = 0; word && k < data.nodes.length && found.length < 50; k++) {
        const node = data.nodes[k], text = `${node.name} ${node.op} ${data.step(node)?.kernel || ""}`;
        if (text.toLowerCase().includes(word)) found.push([k, `${node.op} ${node.name}`]);
      }
      list.hidden = !found.length;
      list.replaceChildren(...found.map(([k, text]) => make("li", { text, onpointerdown: () => this.take(k, list) })));
      this.found = found;
    };
    input.addEventListener("input", find);
    input.addEventListener("focus", find);
    input.addEventListener("blur", () => (list.hidden = true));
    input.addEventListener("keydown", (e) => e.key === "Enter" && this.found?.length && this.take(this.found[0][0], list));
    return box;
  }

  take(node, list) {
    list.hidden = true;
    this.graph.goTo(node);
  }

  goToStep(step) {
    const node = this.after.nodes.findIndex((n) => n.step === step);
    if (node < 0) return;
    if (this.graph.data !== this.after) this.turnTo(this.after);
    this.graph.goTo(node);
    this.graph.canvas.scrollIntoView({ block: "nearest", behavior: "smooth" });
  }

  // ---- the other sections ----

  chart(Chart) {
    const canvas = make("canvas");
    const chart = new Chart(canvas, this.report, this.pick);
    this.drawings.push(chart);
    return [canvas, chart];
  }

  timeSection() {
    const [canvas] = this.chart(Timeline);
    return make("section", {}, make("h2", { text: "Threads and devices" }),
      make("p", { text: "One run with the profiler on. Steps, then what each thread computed, then each device from submission until the host had waited. Wheel to zoom, drag to move." }), canvas);
  }

  memorySection() {
    const [canvas, map] = this.chart(MemoryMap), arena = this.report.arena;
    const choose = make("select", { "aria-label": "arena", onchange: () => map.set(+choose.value) });
    for (const d of map.devices) choose.append(make("option", { value: d, text: d ? `device ${d}` : "processor" }));
    const over = arena.bytes > arena.bound ? `, ${(100 * (arena.bytes / arena.bound - 1)).toFixed(1)} % more than what is alive at once` : "";
    return make("section", {}, make("h2", { text: "Memory" }), make("div", { class: "pair" },
      make("div", {}, make("p", { text: `Blocks of the arena from step to step: ${bytesText(arena.bytes)}${over}.` }), map.devices.length > 1 ? choose : "", canvas),
      make("div", {}, make("p", { text: "Sizes" }), sizes(this.report))));
  }

  roofSection() {
    const [canvas] = this.chart(Roofline), m = this.report.machine;
    return make("section", {}, make("h2", { text: "Limits of the machine" }), make("div", { class: "pair" },
      make("div", {}, make("p", { text: `Measured with ${m.threads} thread${m.threads > 1 ? "s" : ""} of ${m.cores} core${m.cores > 1 ? "s" : ""} (${m.isa}) before the page was written: multiply-adds in f32, reading 64 MiB and 128 KiB a thread. A circle is a step, its area its time.` }), canvas),
      make("div", {}, make("p", { text: "By operator and kernel" }), kernelTable(this.report))));
  }

  stepSection() {
    return make("section", {}, make("h2", { text: "Steps" }), make("p", { text: `Means of ${this.report.profiled_runs} profiled runs. A click shows the node.` }), stepTable(this.report, this.pick));
  }

  draw() {
    for (const d of this.drawings) d.draw();
  }
}

function begin() {
  const all = JSON.parse(document.getElementById("data").textContent), page = document.getElementById("page");
  const reports = [all.report, ...(all.compared || [])];
  for (const r of reports) r.stepTime = r.steps.reduce((sum, s) => sum + s.ns, 0);
  document.title = `${reports.map((r) => shortName(r.model)).join(", ")} – Tenon report`;
  readPalette();
  if (reports.length > 1) page.append(make("section", {}, make("h2", { text: "Side by side" }), comparison(...reports)));
  const grid = make("div", { class: reports.length > 1 ? "views two" : "views" });
  page.append(grid, tip);
  const views = reports.map((r) => {
    const root = make("div");
    grid.append(root);
    return new ReportView(root, r);
  });
  for (const v of views) v.turnTo(v.after);
  const redraw = () => views.forEach((v) => v.draw());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => (readPalette(), redraw()));
  new ResizeObserver(redraw).observe(page);
  redraw();
  document.documentElement.dataset.ready = "yes";
}

begin();
