// Pictures on canvases: what threads did, memory over time, the roofline.

function hover(canvas, find, text, pick) {
  const at = (e) => {
    const box = canvas.getBoundingClientRect();
    return find(e.clientX - box.left, e.clientY - box.top);
  };
  canvas.addEventListener("pointermove", (e) => {
    const what = at(e);
    canvas.style.cursor = what ? "pointer" : "default";
    showTip(e, what ? text(what) : "");
  });
  canvas.addEventListener("pointerleave", (e) => showTip(e, ""));
  canvas.addEventListener("click", (e) => at(e) && pick(at(e)));
}

// ---- what threads and devices did in one run ----

class Timeline {
  constructor(canvas, report, pick) {
    Object.assign(this, { canvas, report });
    this.lanes = report.lanes.map((lane) => ({ name: lane.name, ...Timeline.stack(lane.spans) }));
    this.end = largest(this.lanes.map((l) => largest(l.spans.map((s) => s.end), 1)), 1);
    this.from = 0;
    this.to = this.end;
    let y = 20;
    for (const lane of this.lanes) (lane.y = y), (y += 20 + lane.depth * 22);
    canvas.style.height = y + 4 + "px";
    canvas.addEventListener("wheel", (e) => this.wheel(e), { passive: false });
    this.drag();
    hover(canvas, (x, y) => this.find(x, y), (s) => this.text(s), (s) => pick(s.step));
  }

  // What lies within a span stands below it.
  static stack(spans) {
    const list = spans.map(([step, begin, end]) => ({ step, begin, end }));
    list.sort((a, b) => a.begin - b.begin || b.end - a.end);
    const open = [];
    let depth = 1;
    for (const s of list) {
      while (open.length && open[open.length - 1].end <= s.begin) open.pop();
      s.level = open.length;
      depth = Math.max(depth, open.push(s));
    }
    return { spans: list, depth };
  }

  text(s) {
    const step = this.report.steps[s.step];
    return `${step ? `${step.op} ${step.node}\n${step.kernel}\n` : ""}${timeText(s.end - s.begin)}, from ${timeText(s.begin)}`;
  }

  wheel(event) {
    event.preventDefault();
    const width = this.canvas.clientWidth, at = this.from + (event.offsetX / width) * (this.to - this.from);
    const factor = Math.exp(event.deltaY * 0.0015);
    this.set(at - (at - this.from) * factor, at + (this.to - at) * factor);
  }

  set(from, to) {
    const span = Math.min(this.end, Math.max(50, to - from));
    this.from = Math.max(0, Math.min(from, this.end - span));
    this.to = this.from + span;
    this.draw();
  }

  drag() {
    let last = null;
    this.canvas.addEventListener("pointerdown", (e) => (last = e.clientX));
    addEventListener("pointerup", () => (last = null));
    this.canvas.addEventListener("pointermove", (e) => {
      if (last === null) return;
      const move = ((last - e.clientX) / this.canvas.clientWidth) * (this.to - this.from);
      last = e.clientX;
      this.set(this.from + move, this.to + move);
    });
  }

  find(x, y) {
    const t = this.from + (x / this.canvas.clientWidth) * (this.to - this.from);
    const lane = this.lanes.find((l) => y >= l.y && y < l.y + l.depth * 22);
    if (!lane) return null;
    const level = Math.floor((y - lane.y) / 22);
    return lane.spans.find((s) => s.level === level && s.begin <= t && t <= s.end) || null;
  }

  draw() {
    onCanvas(this.canvas, (c, w) => {
      const scale = w / (this.to - this.from);
      for (const lane of this.lanes) {
        c.fillStyle = palette.soft;
        c.fillText(lane.name, 4, lane.y - 5);
        for (let level = 0; level < lane.depth; level++) {
          c.fillStyle = palette.field;
          c.fillRect(0, lane.y + level * 22, w, 18);
        }
        this.paintSpans(c, lane, scale, w);
      }
      c.fillStyle = palette.soft;
      const label = `${timeText(this.from)} to ${timeText(this.to)}`;
      c.fillText(label, w - c.measureText(label).width - 4, 12);
    });
  }

  paintSpans(c, lane, scale, w) {
    const until = new Float64Array(lane.depth).fill(-1);
    for (const s of lane.spans) {
      const x = (s.begin - this.from) * scale, right = (s.end - this.from) * scale;
      if (right < 0 || x > w || right < until[s.level] + 0.5) continue;
      const left = Math.max(x, until[s.level]), width = Math.max(right - left, 0.7), step = this.report.steps[s.step];
      until[s.level] = right;
      c.fillStyle = palette[kindOf(step?.op || "")];
      c.fillRect(left, lane.y + s.level * 22, width > 3 ? width - 1 : width, 18);
      if (width < 40 || !step) continue;
      c.fillStyle = "#fff";
      c.fillText(cut(step.op, Math.floor((width - 8) / 7)), Math.max(left, 0) + 4, lane.y + s.level * 22 + 13);
    }
  }
}

// ---- memory ----

// Bytes of the blocks that are alive in each step; blocks may lie in one place (an operator that writes over its input).
function aliveBytes(blocks, n) {
  const born = Array.from({ length: n }, () => []), alive = [], bytes = new Float64Array(n);
  for (const b of blocks) if (b[2] < n) born[b[2]].push(b);
  for (let k = 0; k < n; k++) {
    let kept = 0;
    for (const b of alive) if (b[3] >= k) alive[kept++] = b;
    alive.length = kept;
    if (born[k].length) alive.push(...born[k]), alive.sort((a, b) => a[0] - b[0]);
    let end = 0;
    for (const [offset, size] of alive) (bytes[k] += Math.max(0, offset + size - Math.max(end, offset))), (end = Math.max(end, offset + size));
  }
  return bytes;
}

class MemoryMap {
  constructor(canvas, report, pick) {
    Object.assign(this, { canvas, report });
    canvas.style.height = "300px";
    const arena = report.arena;
    this.devices = [...new Set(arena.blocks.map((b) => b[5]))].sort();
    this.set(this.devices[0] ?? 0);
    hover(canvas, (x, y) => this.find(x, y), (b) => this.text(b), (b) => pick(arena.steps[b[2]]));
  }

  set(device) {
    this.blocks = this.report.arena.blocks.filter((b) => b[5] === device);
    this.top = this.blocks.reduce((m, b) => Math.max(m, b[0] + b[1]), 1);
    this.n = Math.max(1, this.report.arena.steps.length);
    this.live = aliveBytes(this.blocks, this.n);
    this.draw();
  }

  text([offset, bytes, first, last, name]) {
    const step = this.report.steps[this.report.arena.steps[first]];
    return `${name || "unnamed"}: ${bytesText(bytes)} at ${bytesText(offset)}\nsteps ${first} to ${last}${step ? `, from ${step.op} ${step.node}` : ""}`;
  }

  find(x, y) {
    const step = Math.floor((x / this.canvas.clientWidth) * this.n);
    const offset = ((this.canvas.clientHeight - y) / (this.canvas.clientHeight - 22)) * this.top;
    return this.blocks.find((b) => b[2] <= step && step <= b[3] && b[0] <= offset && offset < b[0] + b[1]) || null;
  }

  draw() {
    onCanvas(this.canvas, (c, w, h) => {
      const sx = w / this.n, sy = (h - 22) / this.top, colours = ["math", "each", "norm", "other"];
      this.blocks.forEach(([offset, bytes, first, last, name], k) => {
        c.fillStyle = name.startsWith("scratch") ? palette.move : palette[colours[k % 4]];
        const width = (last - first + 1) * sx, height = bytes * sy;
        c.fillRect(first * sx, h - (offset + bytes) * sy, width > 3 ? width - 0.7 : width, height > 3 ? height - 0.7 : Math.max(height, 0.4));
      });
      c.beginPath();
      const columns = Math.min(this.n, Math.ceil(w)), at = (column) => Math.floor((column * this.n) / columns);
      for (let k = 0; k < columns; k++) {
        const y = h - largest(this.live.subarray(at(k), at(k + 1)), 0) * sy;
        c.lineTo((k * w) / columns, y), c.lineTo(((k + 1) * w) / columns, y);
      }
      c.strokeStyle = palette.ink;
      c.lineWidth = 1.5;
      c.stroke();
      c.fillStyle = palette.soft;
      c.fillText(`${bytesText(this.top)}; the line is what is alive`, 4, 13);
    });
  }
}

// ---- roofline ----

class Roofline {
  constructor(canvas, report, pick) {
    Object.assign(this, { canvas, machine: report.machine });
    canvas.style.height = "300px";
    this.points = report.steps.filter((s) => s.flops > 0 && s.ns > 0 && s.bytes > 0)
      .map((s) => ({ s, x: s.flops / s.bytes, y: s.flops / s.ns, share: s.ns / (report.stepTime || 1) }));
    this.points.sort((a, b) => b.share - a.share);
    const m = this.machine, xs = this.points.map((p) => p.x), ys = this.points.map((p) => p.y);
    const top = largest(ys, m.gflops || 1);
    const knee = m.gflops && m.memory_gbps ? m.gflops / m.memory_gbps : 10;
    this.range = {
      x: [smallest(xs, 0.05) / 2, largest(xs, knee * 4) * 2],
      y: [smallest(ys, top / 1000) / 2, top * 2],
    };
    hover(canvas, (x, y) => this.find(x, y), (p) => this.text(p), (p) => pick(p.s.step));
  }

  text({ s, x, y, share }) {
    return `${s.op} ${s.node}\n${s.kernel}\n${y.toPrecision(3)} GFLOP/s at ${x.toPrecision(3)} FLOP a byte\n${timeText(s.ns)}, ${(100 * share).toFixed(1)} % of all steps`;
  }

  scales(w, h) {
    const log = (v, [a, b]) => Math.log(v / a) / Math.log(b / a);
    return [(v) => 44 + log(v, this.range.x) * (w - 54), (v) => h - 26 - log(v, this.range.y) * (h - 40)];
  }

  find(x, y) {
    const [sx, sy] = this.scales(this.canvas.clientWidth, this.canvas.clientHeight);
    let best = null, near = 12;
    for (const p of this.points) {
      const d = Math.hypot(sx(p.x) - x, sy(p.y) - y);
      if (d < near) (near = d), (best = p);
    }
    return best;
  }

  axes(c, w, h, sx, sy) {
    c.fillStyle = palette.soft;
    c.strokeStyle = palette.line;
    c.lineWidth = 1;
    c.beginPath();
    for (let k = -6; k <= 6; k++) {
      const v = 10 ** k, x = sx(v), y = sy(v), text = String(k < 0 ? v.toPrecision(1) : v);
      if (v > this.range.x[0] && v < this.range.x[1]) c.moveTo(x, 8), c.lineTo(x, h - 24), c.fillText(text, x - 8, h - 15);
      if (v > this.range.y[0] && v < this.range.y[1]) c.moveTo(40, y), c.lineTo(w - 6, y), c.fillText(text, 4, y + 4);
    }
    c.stroke();
    c.fillText("FLOP a byte", w - 74, h - 4);
    c.fillText("GFLOP/s", 4, 10);
  }

  // share: where on the slope its name stands; lift: how far above the line, in pixels.
  roof(c, sx, sy, gbps, name, dash, share, lift) {
    const peak = this.machine.gflops;
    if (!gbps || !peak) return;
    const x0 = Math.max(this.range.x[0], this.range.y[0] / gbps), knee = peak / gbps;
    c.setLineDash(dash);
    c.beginPath();
    c.moveTo(sx(x0), sy(x0 * gbps)), c.lineTo(sx(knee), sy(peak)), c.lineTo(sx(this.range.x[1]), sy(peak));
    c.strokeStyle = palette.ink;
    c.lineWidth = 1.5;
    c.stroke();
    c.setLineDash([]);
    const at = x0 * (knee / x0) ** share, angle = Math.atan2(sy(knee * gbps) - sy(x0 * gbps), sx(knee) - sx(x0));
    c.save();
    c.translate(sx(at), sy(at * gbps));
    c.rotate(angle);
    c.fillStyle = palette.soft;
    c.fillText(`${name} ${gbps.toPrecision(3)} GB/s`, 0, -lift);
    c.restore();
  }

  draw() {
    onCanvas(this.canvas, (c, w, h) => {
      const [sx, sy] = this.scales(w, h), m = this.machine;
      this.axes(c, w, h, sx, sy);
      this.roof(c, sx, sy, m.memory_gbps, "64 MiB:", [], 0.3, -12); // the lower line: below it, apart from the other name
      this.roof(c, sx, sy, m.cache_gbps, "128 KiB:", [4, 4], 0.2, 5);
      c.fillStyle = palette.soft;
      if (m.gflops) c.fillText(`${m.gflops.toPrecision(3)} GFLOP/s`, w - 100, sy(m.gflops) - 5);
      c.globalAlpha = 0.75;
      for (const p of this.points) {
        c.beginPath();
        c.arc(sx(p.x), sy(p.y), 3 + 22 * Math.sqrt(p.share), 0, 7);
        c.fillStyle = palette[kindOf(p.s.op)];
        c.fill();
      }
      c.globalAlpha = 1;
    });
  }
}
