// What is known of the node that is selected.

class Details {
  constructor(element, view) {
    this.element = element;
    this.view = view; // goes to nodes
    this.show(null);
  }

  row(list, name, value) {
    if (value === undefined || value === "") return;
    list.append(make("dt", { text: name }), typeof value === "string" ? make("dd", { text: value }) : value);
  }

  show(item) {
    this.element.replaceChildren();
    if (!item) {
      this.element.append(make("p", { text: "Select a node to see what runs it. Drag to move, wheel or pinch to zoom, double click to expand a group." }));
      return;
    }
    item.group ? this.group(item) : this.node(item);
  }

  group(item) {
    const list = make("dl"), data = this.view.data, counts = new Map();
    for (const k of item.members) counts.set(data.nodes[k].op, (counts.get(data.nodes[k].op) || 0) + 1);
    this.element.append(make("h3", { text: data.groupName(item.group) }), list);
    this.row(list, "nodes", `${item.members.length}`);
    const time = data.time(item);
    if (time) this.row(list, "time", timeText(time));
    this.row(list, "operators", [...counts].sort((a, b) => b[1] - a[1]).map(([op, n]) => `${n} × ${op}`).join("\n"));
    const expand = make("button", { text: "expand", onclick: () => this.view.open(this.view.selected) });
    this.element.append(make("p", {}), expand);
  }

  // Names and types of values, with the nodes at their other ends.
  values(ids, others) {
    const cell = make("dd"), data = this.view.data;
    ids.forEach((v, i) => {
      if (i) cell.append("\n");
      if (v < 0) return cell.append("left out");
      const [name, type, flags] = data.values[v];
      cell.append(`${name || "unnamed"}: ${type}${flags & IS_CONST ? ", constant" : ""}`);
      for (const k of others(v).slice(0, 12)) {
        const other = data.nodes[k];
        cell.append(" ", make("a", { text: `${other.name || other.op}`, onclick: () => this.view.goTo(k) }));
      }
    });
    return cell;
  }

  node(item) {
    const data = this.view.data, node = data.nodes[item.node], step = data.step(node);
    const list = make("dl");
    this.element.append(make("h3", { text: `${node.op}${node.name ? " · " + node.name : ""}` }), list);
    if (step) this.step(list, node, step);
    else if (data.isAfter && kindOf(node.op) !== "io") this.row(list, "runs", "not at all: its output lies where another value lies, or is written in place");
    this.row(list, "inputs", this.values(node.in, (v) => (data.producer.has(v) ? [data.producer.get(v)] : [])));
    this.row(list, "outputs", this.values(node.out, (v) => data.users.get(v) || []));
    this.row(list, "attributes", node.attrs);
    if (step) this.refused(list, step);
    const group = node.groups[node.groups.length - 1];
    if (!group) return;
    const collapse = () => (data.collapsed.add(group), this.view.regroup());
    this.element.append(make("p", {}), make("button", { text: `collapse ${data.groupName(group)}`, onclick: collapse }));
  }

  step(list, node, step) {
    const report = this.view.data.report, leader = step.leader;
    this.row(list, "step", `${step.step}`);
    this.row(list, "kernel", `${step.kernel}, from ${step.plugin || "Tenon"}`);
    this.row(list, "device", step.device + (step.segment === undefined ? "" : `, segment ${step.segment + 1}`));
    if (leader !== undefined) this.row(list, "runs", `on each range that step ${leader} (${report.steps[leader].op}) has written; its time is part of that step's`);
    else if (step.segment !== undefined && !step.ns) this.row(list, "time", "part of that of its segment, which stands at the segment's first step");
    else this.row(list, "time", `${timeText(step.ns)}, ${shareText(step.ns, report.stepTime)} of all steps`);
    this.row(list, "cost", `${timeText(step.cost_ns)} estimated`);
    if (step.flops) this.row(list, "work", `${countText(step.flops)} FLOP` + (step.ns ? `, ${(step.flops / step.ns).toPrecision(3)} GFLOP/s` : ""));
    this.row(list, "reads, writes", bytesText(step.bytes));
    if (step.scratch_bytes) this.row(list, "scratch", bytesText(step.scratch_bytes));
    if (step.state_bytes) this.row(list, "prepared", bytesText(step.state_bytes));
    this.row(list, "fused", step.fused.join(", "));
    const layouts = step.inputs.map((t) => t?.layout || "-").join(", ") + " → " + step.outputs.map((t) => t?.layout || "-").join(", ");
    this.row(list, "layouts", layouts);
  }

  refused(list, step) {
    const refusals = this.view.data.report.not_taken[step.not_taken] || [];
    this.row(list, "not taken", refusals.map((r) => `${r.kernel}: ${r.reason}`).join("\n"));
  }
}
