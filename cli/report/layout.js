// Layers from top to bottom: longest paths give the layers, barycentres the order in them, and least
// squares (pool adjacent violators) the places. Long edges go through points in the layers between.

const ROW = 74, GAP = 24, POINT = 10;

// Edges that close a cycle; there are some where nodes are collapsed.
function backEdges(n, out) {
  const state = new Uint8Array(n), back = new Set(), stack = [];
  for (let s = 0; s < n; s++) {
    if (state[s]) continue;
    stack.push([s, 0]), (state[s] = 1);
    while (stack.length) {
      const top = stack[stack.length - 1], next = out[top[0]][top[1]++];
      if (next === undefined) (state[top[0]] = 2), stack.pop();
      else if (state[next] === 1) back.add(top[0] * n + next);
      else if (!state[next]) (state[next] = 1), stack.push([next, 0]);
    }
  }
  return back;
}

function rankNodes(n, edges) {
  const out = Array.from({ length: n }, () => []), rank = new Int32Array(n), left = new Int32Array(n);
  for (const [a, b] of edges) out[a].push(b);
  const back = backEdges(n, out);
  const ahead = edges.filter(([a, b]) => a !== b && !back.has(a * n + b));
  for (const list of out) list.length = 0;
  for (const [a, b] of ahead) out[a].push(b), left[b]++;
  const isSource = Array.from(left, (k) => k === 0), queue = [];
  for (let k = 0; k < n; k++) if (!left[k]) queue.push(k);
  for (let i = 0; i < queue.length; i++)
    for (const b of out[queue[i]]) {
      rank[b] = Math.max(rank[b], rank[queue[i]] + 1);
      if (!--left[b]) queue.push(b);
    }
  for (let k = 0; k < n; k++)
    if (isSource[k] && out[k].length) rank[k] = smallest(out[k].map((b) => rank[b]), n) - 1;
  return { rank, ahead };
}

// Places in a layer, as near to what is wanted as the distances allow.
function place(wanted, weights, halves) {
  const blocks = [];
  let offset = 0;
  const offsets = wanted.map((_, k) => (offset += k ? halves[k - 1] + halves[k] + GAP : 0));
  wanted.forEach((x, k) => {
    let block = { sum: (x - offsets[k]) * weights[k], weight: weights[k], n: 1 };
    while (blocks.length) {
      const before = blocks[blocks.length - 1];
      if (before.sum / before.weight <= block.sum / block.weight) break;
      block = { sum: before.sum + block.sum, weight: before.weight + block.weight, n: before.n + block.n };
      blocks.pop();
    }
    blocks.push(block);
  });
  const at = [];
  for (const b of blocks) for (let k = 0; k < b.n; k++) at.push(b.sum / b.weight + offsets[at.length]);
  return at;
}

// Nodes 0..n-1 of these widths; points follow. Answers x and rank of all, layers, the pieces
// [from, to, is its end] between layers, and edges that are too long for points.
function layoutGraph(n, edges, widths) {
  const { rank, ahead } = rankNodes(n, edges);
  const ranks = Array.from(rank), half = Array.from(widths, (w) => w / 2), pieces = [], long = [];
  const most = 4 * n + 4000;
  for (const [a, b] of ahead) {
    const span = rank[b] - rank[a];
    if (span > 1 && (span > 60 || ranks.length > most)) {
      long.push([a, b]);
      continue;
    }
    let from = a;
    for (let r = rank[a] + 1; r < rank[b]; r++) {
      ranks.push(r), half.push(POINT / 2), pieces.push([from, ranks.length - 1, false]);
      from = ranks.length - 1;
    }
    pieces.push([from, b, true]);
  }
  const lowest = smallest(ranks, 0);
  const layers = [];
  ranks.forEach((r, k) => (layers[(ranks[k] = r - lowest)] ||= []).push(k));
  for (let r = 0; r < layers.length; r++) layers[r] ||= [];
  const up = ranks.map(() => []), down = ranks.map(() => []);
  for (const [a, b] of pieces) down[a].push(b), up[b].push(a);
  orderLayers(layers, up, down);
  const x = placeLayers(layers, up, down, half, n);
  return { n, x, ranks, layers, pieces, long, half };
}

function orderLayers(layers, up, down) {
  const at = new Float64Array(up.length), key = new Float64Array(up.length);
  const number = (layer) => layer.forEach((k, i) => (at[k] = i));
  layers.forEach(number);
  for (let sweep = 0; sweep < 8; sweep++) {
    const near = sweep % 2 ? down : up;
    const rows = sweep % 2 ? [...layers].reverse() : layers;
    for (const layer of rows) {
      if (layer.length < 2) continue;
      for (const k of layer) {
        let sum = 0;
        for (const j of near[k]) sum += at[j];
        key[k] = near[k].length ? sum / near[k].length : at[k];
      }
      layer.sort((a, b) => key[a] - key[b] || at[a] - at[b]);
      number(layer);
    }
  }
}

function placeLayers(layers, up, down, half, n) {
  const x = new Float64Array(up.length);
  for (const layer of layers) {
    let at = 0;
    for (const k of layer) (x[k] = at + half[k]), (at += 2 * half[k] + GAP);
    for (const k of layer) x[k] -= at / 2;
  }
  for (let sweep = 0; sweep < 10; sweep++) {
    const near = sweep % 2 ? down : up, rows = sweep % 2 ? [...layers].reverse() : layers;
    for (const layer of rows) {
      const wanted = layer.map((k) => {
        let sum = 0;
        for (const j of near[k]) sum += x[j];
        return near[k].length ? sum / near[k].length : x[k];
      });
      const weights = layer.map((k) => (k >= n ? 4 : near[k].length ? 1 : 0.1));
      place(wanted, weights, layer.map((k) => half[k])).forEach((v, i) => (x[layer[i]] = v));
    }
  }
  return x;
}
