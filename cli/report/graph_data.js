// A graph of the report with what the picture needs: edges, inputs and outputs as nodes of their own,
// groups that can be collapsed.

const IS_INPUT = 1, IS_OUTPUT = 2, IS_CONST = 4, SHOWN_AT_FIRST = 1500;

class GraphData {
  constructor(graph, report) {
    this.report = report;
    this.values = graph.values;
    this.nodes = graph.nodes.map((n) => ({ ...n }));
    this.producer = new Map();
    this.users = new Map();
    this.nodes.forEach((node, k) => this.link(node, k));
    this.addEnds();
    this.setPaths();
    this.collapsed = new Set();
    this.collapseAtFirst();
  }

  link(node, k) {
    for (const v of node.out) if (v >= 0) this.producer.set(v, k);
    for (const v of node.in) if (v >= 0) this.users.has(v) ? this.users.get(v).push(k) : this.users.set(v, [k]);
  }

  addEnds() {
    const add = (node) => this.link(node, this.nodes.push(node) - 1);
    this.values.forEach(([name, , flags], v) => {
      const near = this.users.get(v)?.[0] ?? this.producer.get(v);
      const parent = near === undefined ? undefined : this.nodes[near].parent;
      if (flags & IS_INPUT && !(flags & IS_CONST) && this.users.has(v) && !this.producer.has(v))
        add({ name, op: "input", in: [], out: [v], parent });
      if (flags & IS_OUTPUT && this.producer.has(v))
        add({ name, op: "output", in: [v], out: [], parent });
    });
  }

  // Groups by bodies of control flow, then by the parts of names: "/layer1/conv/Conv".
  setPaths() {
    const scopes = (name) => {
      const parts = name.includes("/") ? name.split("/") : name.split(".");
      return parts.filter((p) => p !== "").slice(0, -1);
    };
    const bodies = (node) => {
      const list = [];
      for (let p = node.parent; p !== undefined; p = this.nodes[p].parent) list.unshift(`${p}:`);
      return list;
    };
    this.sizes = new Map();
    for (const node of this.nodes) {
      let key = "";
      const parts = [...bodies(node), ...(kindOf(node.op) === "io" ? [] : scopes(node.name))];
      node.groups = parts.map((part) => (key += "/" + part));
      for (const g of node.groups) this.sizes.set(g, (this.sizes.get(g) || 0) + 1);
    }
    for (const node of this.nodes) node.groups = node.groups.filter((g) => this.sizes.get(g) > 1);
    this.depth = largest(this.nodes.map((n) => n.groups.length), 0);
  }

  collapseTo(depth) {
    this.collapsed.clear();
    for (const node of this.nodes) if (node.groups.length > depth) this.collapsed.add(node.groups[depth]);
  }

  collapseAtFirst() {
    for (let d = this.depth; d >= 0 && this.nodes.length > SHOWN_AT_FIRST; d--) {
      this.collapseTo(d);
      if (this.items().items.length <= SHOWN_AT_FIRST) return;
    }
  }

  groupName(key) {
    const part = key.slice(key.lastIndexOf("/") + 1), body = /^(\d+):$/.exec(part);
    return body ? `bodies of ${this.nodes[+body[1]].name || this.nodes[+body[1]].op}` : part;
  }

  // What is to be drawn: nodes and collapsed groups, the edges between them, which item each node is
  // in.
  items() {
    const items = [], byGroup = new Map(), of = new Int32Array(this.nodes.length);
    this.nodes.forEach((node, k) => {
      const group = node.groups.find((g) => this.collapsed.has(g));
      if (group === undefined) {
        of[k] = items.push({ node: k, members: [k] }) - 1;
        return;
      }
      if (!byGroup.has(group)) byGroup.set(group, items.push({ group, members: [] }) - 1);
      items[(of[k] = byGroup.get(group))].members.push(k);
    });
    const seen = new Set(), edges = [];
    const add = (a, b) => {
      if (a === b || seen.has(a * items.length + b)) return;
      seen.add(a * items.length + b);
      edges.push([a, b]);
    };
    this.nodes.forEach((node, k) => {
      for (const v of node.in) if (this.producer.has(v)) add(of[this.producer.get(v)], of[k]);
      if (node.parent !== undefined && !node.in.some((v) => this.producer.has(v))) add(of[node.parent], of[k]);
    });
    return { items, edges, of };
  }

  step(node) {
    return node.step === undefined ? undefined : this.report.steps[node.step];
  }

  time(item) {
    return item.members.reduce((sum, k) => sum + (this.step(this.nodes[k])?.ns || 0), 0);
  }
}
