// The picture of a graph on a canvas. Only what lies in the window is drawn, so that graphs of ten
// thousand nodes move at once.

const BOX = { width: 164, height: 40 };

class GraphView {
  constructor(canvas, onSelect) {
    this.canvas = canvas;
    this.onSelect = onSelect;
    this.colouring = "kind";
    this.pointers = new Map();
    canvas.tabIndex = 0;
    canvas.addEventListener("wheel", (e) => this.wheel(e), { passive: false });
    canvas.addEventListener("pointerdown", (e) => this.down(e));
    canvas.addEventListener("pointermove", (e) => this.move(e));
    for (const up of ["pointerup", "pointercancel"]) canvas.addEventListener(up, (e) => this.up(e));
    canvas.addEventListener("pointerleave", () => showTip(null, ""));
    canvas.addEventListener("dblclick", (e) => this.open(this.hit(e)));
    canvas.addEventListener("keydown", (e) => this.key(e));
  }

  show(data) {
    this.data = data;
    this.selected = -1;
    this.arrange();
    this.fit();
  }

  arrange() {
    Object.assign(this, this.data.items());
    const layout = layoutGraph(this.items.length, this.edges, this.items.map(() => BOX.width));
    this.layout = layout;
    this.rows = layout.layers.map((layer) => layer.filter((k) => k < layout.n).sort((a, b) => layout.x[a] - layout.x[b]));
    this.links = layout.layers.map(() => []);
    for (const piece of layout.pieces) this.links[layout.ranks[piece[0]]].push(piece);
    const left = this.items.map((_, k) => layout.x[k] - BOX.width / 2);
    this.left = smallest(left, 0);
    this.right = largest(left, 0) + BOX.width;
    this.height = layout.layers.length * ROW;
    this.times = this.items.map((item) => this.data.time(item));
    this.longest = largest(this.times, 0);
    this.devices = [...new Set(this.data.report.steps.map((s) => s.device))];
  }

  // All of it, or its top where that would be too small to read.
  fit(whole) {
    const w = this.canvas.clientWidth || 600, h = this.canvas.clientHeight || 400;
    const both = Math.min(w / (this.right - this.left + 40), h / (this.height + 20));
    this.zoom = Math.min(1, whole ? both : Math.max(both, 0.55));
    this.x = (this.left + this.right) / 2 - w / 2 / this.zoom;
    const first = this.rows.find((row) => row.length);
    if (!whole && both < this.zoom && first) this.x = this.layout.x[first[first.length >> 1]] - w / 2 / this.zoom;
    this.y = this.height * this.zoom < h ? this.height / 2 - h / 2 / this.zoom : -10 / this.zoom;
    this.draw();
  }

  scale(factor, px, py) {
    const zoom = Math.max(0.002, Math.min(4, this.zoom * factor));
    this.x += px / this.zoom - px / zoom;
    this.y += py / this.zoom - py / zoom;
    this.zoom = zoom;
    this.draw();
  }

  scaleMiddle(factor) {
    this.scale(factor, this.canvas.clientWidth / 2, this.canvas.clientHeight / 2);
  }

  // ---- what the user does ----

  local(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  wheel(event) {
    event.preventDefault();
    this.scale(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), ...this.local(event));
  }

  down(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, this.local(event));
    this.moved = this.pointers.size > 1;
  }

  move(event) {
    const before = this.pointers.get(event.pointerId), now = this.local(event);
    if (!before) return showTip(event, this.tipOf(this.hit(event)));
    const dx = now[0] - before[0], dy = now[1] - before[1];
    if (!this.moved && Math.hypot(dx, dy) < 4) return;
    this.moved = true;
    if (this.pointers.size === 2) this.pinch(event.pointerId, before, now);
    this.pointers.set(event.pointerId, now);
    this.x -= dx / this.pointers.size / this.zoom;
    this.y -= dy / this.pointers.size / this.zoom;
    this.draw();
  }

  pinch(id, before, now) {
    const [, other] = [...this.pointers].find(([k]) => k !== id);
    const distance = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]) || 1;
    this.scale(distance(now) / distance(before), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
  }

  up(event) {
    const clicked = this.pointers.delete(event.pointerId) && !this.moved && event.type === "pointerup";
    if (clicked) this.selectItem(this.hit(event));
  }

  key(event) {
    const step = 80 / this.zoom;
    const moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] };
    if (moves[event.key]) (this.x += moves[event.key][0]), (this.y += moves[event.key][1]), this.draw();
    else if (event.key === "+") this.scaleMiddle(1.25);
    else if (event.key === "-") this.scaleMiddle(0.8);
    else if (event.key === "0") this.fit(true);
    else if (event.key === "Enter" && this.selected >= 0) this.open(this.selected);
    else return;
    event.preventDefault();
  }

  hit(event) {
    const [px, py] = this.local(event);
    const gx = this.x + px / this.zoom, gy = this.y + py / this.zoom, r = Math.floor(gy / ROW);
    if (gy - r * ROW > BOX.height) return -1;
    return (this.rows[r] || []).find((k) => Math.abs(gx - this.layout.x[k]) <= BOX.width / 2) ?? -1;
  }

  tipOf(k) {
    if (k < 0) return "";
    const item = this.items[k], node = this.data.nodes[item.node];
    const time = this.times[k] ? `\n${timeText(this.times[k])}` : "";
    if (item.group) return `${this.data.groupName(item.group)}\n${item.members.length} nodes${time}\ndouble click: expand`;
    return `${node.op}\n${node.name}${time}`;
  }

  // Expands a group.
  open(k) {
    if (k < 0 || !this.items[k].group) return;
    const first = this.items[k].members[0];
    this.data.collapsed.delete(this.items[k].group);
    for (const m of this.items[k].members) { // what lies deeper stays together
      const next = this.data.nodes[m].groups.find((g) => g.length > this.items[k].group.length);
      if (next) this.data.collapsed.add(next);
    }
    this.regroup(first);
  }

  regroup(node) {
    this.arrange();
    this.selected = -1;
    node === undefined ? this.fit() : this.goTo(node);
  }

  selectItem(k) {
    this.selected = k;
    this.draw();
    this.onSelect(k < 0 ? null : this.items[k]);
  }

  // Shows a node in the middle, expanding what it is in.
  goTo(node) {
    const hidden = this.data.nodes[node].groups.filter((g) => this.data.collapsed.delete(g));
    if (hidden.length) this.arrange();
    const k = this.of[node];
    this.zoom = Math.max(this.zoom, 0.6);
    this.x = this.layout.x[k] - this.canvas.clientWidth / 2 / this.zoom;
    this.y = this.layout.ranks[k] * ROW - this.canvas.clientHeight / 2 / this.zoom;
    this.selectItem(k);
  }

  // ---- drawing ----

  draw() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      if (this.layout) onCanvas(this.canvas, (c, w, h) => this.paint(c, w, h));
    });
  }

  paint(c, w, h) {
    const begin = performance.now();
    const first = Math.max(0, Math.floor(this.y / ROW) - 1);
    const last = Math.min(this.rows.length - 1, Math.floor((this.y + h / this.zoom) / ROW) + 1);
    c.setTransform(c.getTransform().scale(this.zoom).translate(-this.x, -this.y));
    const step = Math.max(1, Math.floor(0.5 / (ROW * this.zoom))); // layers that half a pixel holds
    this.paintEdges(c, first, last, step);
    const seen = [this.x - BOX.width, this.x + w / this.zoom + BOX.width];
    for (let r = first; r <= last; r += step)
      for (const k of this.rows[r])
        if (this.layout.x[k] > seen[0] && this.layout.x[k] < seen[1]) this.paintItem(c, k);
    this.canvas.dataset.ms = (performance.now() - begin).toFixed(1);
  }

  curve(c, a, b, ends) {
    const { x, ranks, n } = this.layout;
    const y1 = ranks[a] * ROW + (a < n ? BOX.height : BOX.height / 2), y2 = ranks[b] * ROW + (b < n ? 0 : BOX.height / 2);
    const middle = (y1 + y2) / 2;
    c.moveTo(x[a], y1);
    if (this.zoom < 0.08) c.lineTo(x[b], y2);
    else c.bezierCurveTo(x[a], middle, x[b], middle, x[b], y2);
    if (!ends || this.zoom < 0.3) return;
    c.moveTo(x[b] - 4, y2 - 6), c.lineTo(x[b], y2), c.lineTo(x[b] + 4, y2 - 6);
  }

  paintEdges(c, first, last, step) {
    c.beginPath();
    for (let r = Math.max(0, first - 1); r <= last; r += step) for (const [a, b, ends] of this.links[r] || []) this.curve(c, a, b, ends);
    for (const [a, b] of this.layout.long) this.curve(c, a, b, true);
    c.strokeStyle = palette.edge;
    c.lineWidth = Math.max(1.1, 0.5 / this.zoom);
    c.stroke();
    if (this.selected >= 0) this.paintSelectedEdges(c);
  }

  // Those of the selected item, along their points.
  paintSelectedEdges(c) {
    const { n, pieces, long } = this.layout, wanted = new Set();
    const next = new Map(pieces.filter((p) => p[0] >= n).map((p) => [p[0], p]));
    const before = new Map(pieces.filter((p) => p[1] >= n).map((p) => [p[1], p]));
    for (const p of pieces) {
      if (p[0] === this.selected) for (let q = p; q; q = q[1] >= n ? next.get(q[1]) : null) wanted.add(q);
      if (p[1] === this.selected) for (let q = p; q; q = q[0] >= n ? before.get(q[0]) : null) wanted.add(q);
    }
    c.beginPath();
    for (const [a, b, ends] of wanted) this.curve(c, a, b, ends);
    for (const [a, b] of long) if (a === this.selected || b === this.selected) this.curve(c, a, b, true);
    c.strokeStyle = palette.accent;
    c.lineWidth = Math.max(2, 1 / this.zoom);
    c.stroke();
  }

  colour(k) {
    const item = this.items[k], node = this.data.nodes[item.members[0]], step = this.data.step(node);
    if (this.colouring === "time") return heatColour(this.longest ? Math.sqrt(this.times[k] / this.longest) : 0);
    if (this.colouring === "device") return step ? deviceColour(this.devices.indexOf(step.device)) : palette.move;
    return item.group ? palette.card : palette[kindOf(node.op)];
  }

  paintItem(c, k) {
    const item = this.items[k], node = this.data.nodes[item.members[0]], colour = this.colour(k);
    const x = this.layout.x[k] - BOX.width / 2, y = this.layout.ranks[k] * ROW;
    const isEnd = !item.group && kindOf(node.op) === "io";
    const isView = !item.group && !isEnd && this.data.isAfter && node.step === undefined;
    c.fillStyle = isView || isEnd ? palette.card : colour;
    if (this.zoom < 0.12) return c.fillRect(x, y, BOX.width, BOX.height);
    c.beginPath();
    c.roundRect(x, y, BOX.width, BOX.height, isEnd ? 20 : 6);
    c.fill();
    c.strokeStyle = k === this.selected ? palette.mark : item.group || isEnd || isView ? palette.soft : colour;
    c.lineWidth = k === this.selected ? 3 : 1.2;
    c.setLineDash(isView || item.group ? [5, 3] : []);
    c.stroke();
    c.setLineDash([]);
    if (this.zoom >= 0.28) this.paintText(c, item, node, x, y, isView || isEnd || this.isPale(item));
  }

  isPale(item) {
    return this.colouring === "time" || (this.colouring === "kind" && !!item.group);
  }

  paintText(c, item, node, x, y, pale) {
    const head = item.group ? `${this.data.groupName(item.group)}` : node.op.replace(/^tenon::/, "");
    const fused = this.data.step(node)?.fused || [];
    const tail = item.group ? `${item.members.length} nodes` : fused.length ? `+ ${fused.join(", ")}` : cutHead(node.name, 21);
    const heat = this.colouring === "time";
    c.fillStyle = pale ? palette.ink : "#fff";
    c.font = "600 13px system-ui, sans-serif";
    c.fillText(cut(head, 20), x + 10, y + 17);
    c.fillStyle = heat ? palette.ink : pale ? palette.soft : "#ffffffd0";
    c.font = "11px system-ui, sans-serif";
    c.fillText(cut(heat && this.times[this.of[item.members[0]]] ? timeText(this.times[this.of[item.members[0]]]) : tail, 23), x + 10, y + 32);
  }
}
