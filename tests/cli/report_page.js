// Appended to a page of `tenon report`: uses it as a person would, and leaves what went wrong in the
// title, "passed" if nothing did.
(async () => {
  const wrong = [];
  const expect = (is, what) => is || wrong.push(what);
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 20)));
  const painted = (canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height), seen = new Set();
    for (let k = 0; k < data.length; k += 4) if (data[k + 3]) seen.add((data[k] << 16) | (data[k + 1] << 8) | data[k + 2]);
    return seen.size;
  };
  try {
    await frame();
    expect(document.documentElement.dataset.ready === "yes", "the page has not begun");
    for (const canvas of document.querySelectorAll("canvas")) expect(painted(canvas) > 2, `${canvas.className} canvas is blank`);
    expect(document.documentElement.scrollWidth <= innerWidth, "the page is wider than the window");
    for (const head of document.querySelectorAll(".compare th")) expect(!/\b1 threads/.test(head.textContent), "1 threads");
    for (const table of document.querySelectorAll(".compare"))
      expect(table.scrollWidth <= table.clientWidth, "numbers side by side are cut off");
    const alive = aliveBytes([[0, 8, 0, 1], [0, 8, 1, 2], [16, 4, 1, 1]], 3); // the second lies over the first
    expect(alive.join() === "8,12,8", `${alive.join()} bytes are alive`);
    const search = document.querySelector("input[type=search]"), details = document.querySelector(".details");
    search.value = "conv";
    search.dispatchEvent(new Event("input"));
    const found = [...document.querySelectorAll(".found li")];
    expect(found.length > 0, "search finds nothing");
    found[0]?.dispatchEvent(new Event("pointerdown"));
    expect(/kernel.*conv/s.test(details.textContent), "the details name no kernel");
    expect(/not taken/.test(details.textContent), "the details name no refusals");
    const press = (text) => [...document.querySelectorAll("button")].find((b) => b.textContent === text).click();
    press("as in the file");
    await frame();
    expect(!/kernel/.test(details.textContent), "details of the other graph stay");
    expect(painted(document.querySelector("canvas.plan")) > 2, "the graph of the file is blank");
    const rows = document.querySelectorAll("tr.pick").length;
    expect(rows > 0, "no steps in the table");
    document.querySelector("tr.pick").click();
    expect(/kernel/.test(details.textContent), "a click on a step shows nothing");
    for (const select of document.querySelectorAll("select")) {
      select.selectedIndex = select.options.length - 1;
      select.dispatchEvent(new Event("change"));
    }
    await big(expect);
  } catch (e) {
    wrong.push(String(e.stack || e));
  }
  document.title = wrong.length ? "failed: " + wrong.join("; ") : "passed";

  // A graph of ten thousand nodes: laid out once, painted with every move.
  async function big(expect) {
    const n = 10000, nodes = [], values = [["x", "f32[8]", 1]];
    for (let k = 0; k < n; k++) {
      const near = k > 3 && k % 5 === 4 ? [k - (k % 29)] : [];
      nodes.push({ name: `/block.${Math.floor(k / 50)}/layer/n${k}`, op: near.length ? "Add" : "Relu", in: [k, ...near], out: [k + 1] });
      values.push([`v${k}`, "f32[8]", k === n - 1 ? 2 : 0]);
    }
    const data = new GraphData({ nodes, values }, { steps: [] }), canvas = document.querySelector("canvas.plan");
    expect(data.items().items.length <= 1500, "a big graph is not collapsed at first");
    data.collapsed.clear();
    const view = new GraphView(canvas, () => {});
    const timed = (what, most, run) => {
      const begin = performance.now();
      run();
      const took = performance.now() - begin;
      expect(took < most, `${what} takes ${took.toFixed(0)} ms`);
    };
    timed("layout", 5000, () => view.show(data));
    expect(view.items.length === n + 2, `${view.items.length} items of ${n}`);
    const { x, ranks } = view.layout;
    for (const [a, b] of view.edges) expect(ranks[a] < ranks[b], "an edge goes up");
    for (const row of view.rows) for (let k = 1; k < row.length; k++) expect(x[row[k]] - x[row[k - 1]] >= BOX.width, "nodes overlap");
    const paint = () => onCanvas(canvas, (c, w, h) => view.paint(c, w, h));
    for (const zoom of [1, 0.3, 0.1, 0.01, 0.002]) {
      view.zoom = zoom;
      timed(`painting at ${zoom}`, 250, paint);
    }
  }
})();
