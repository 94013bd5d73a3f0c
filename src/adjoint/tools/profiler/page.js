// What a trace says, worked out from its entries in the trace-event format, and drawn on the page.
// The functions up to `draw` need no browser.
"use strict";

const COLOURS = { forward: "#5b8ff9", backward: "#f6a04d", label: "#9aa5b1" };
const AREA_COLOURS = ["#5b8ff9", "#9aa5b1", "#f6a04d", "#5ad8a6", "#e8684a", "#9270ca", "#6dc8ec"];

function entriesOf(trace) {
  return Array.isArray(trace) ? trace : trace.traceEvents || [];
}

// Calls by thread, each with its depth and the calls inside; times in microseconds from the first on.
function threadsOf(trace) {
  const names = new Map();
  const calls = new Map();
  for (const entry of entriesOf(trace)) {
    const key = entry.pid + "/" + entry.tid;
    if (entry.ph === "M" && entry.name === "thread_name") names.set(key, entry.args.name);
    if (entry.ph !== "X" || entry.cat === "Trace") continue;
    if (!calls.has(key)) calls.set(key, []);
    calls.get(key).push({
      name: entry.name, cat: entry.cat || "", start: Number(entry.ts), end: Number(entry.ts) + Number(entry.dur || 0),
      args: entry.args || {}, depth: 0, inside: [], outer: null, thread: key,
    });
  }
  const found = [];
  for (const [key, own] of calls) {
    own.sort((a, b) => a.start - b.start || b.end - a.end);
    const open = [];
    let rows = 0;
    for (const call of own) {
      while (open.length && !(call.start < open[open.length - 1].end && call.end <= open[open.length - 1].end)) open.pop();
      call.outer = open.length ? open[open.length - 1] : null;
      call.depth = open.length;
      if (call.outer) call.outer.inside.push(call);
      open.push(call);
      rows = Math.max(rows, call.depth + 1);
    }
    found.push({ key, name: names.get(key) || "thread " + key, calls: own, rows });
  }
  found.sort((a, b) => (a.key < b.key ? -1 : 1));
  const first = Math.min(...found.map((thread) => thread.calls[0].start), Infinity);
  for (const thread of found) for (const call of thread.calls) { call.start -= first; call.end -= first; }
  return { threads: found, origin: first === Infinity ? 0 : first };
}

function kindOf(call) {
  if (call.cat === "user_annotation") return "label";
  for (let at = call; at; at = at.outer) {
    if (at.name.startsWith("autograd::engine") || /Backward\d*$/.test(at.name)) return "backward";
  }
  return "forward";
}

// Calls of the same names inside calls of the same names, with their times added.
function flameOf(threads) {
  const root = { name: "all", total: 0, count: 0, inside: new Map() };
  const add = (node, call) => {
    let own = node.inside.get(call.name);
    if (!own) node.inside.set(call.name, (own = { name: call.name, kind: kindOf(call), total: 0, count: 0, inside: new Map() }));
    own.total += call.end - call.start;
    own.count += 1;
    for (const inner of call.inside) add(own, inner);
  };
  for (const thread of threads) {
    for (const call of thread.calls) {
      if (call.outer) continue;
      add(root, call);
      root.total += call.end - call.start;
    }
  }
  return root;
}

// Sums over the calls of each name, most time of their own first.
function summaryOf(threads) {
  const rows = new Map();
  for (const thread of threads) {
    for (const call of thread.calls) {
      let row = rows.get(call.name);
      if (!row) rows.set(call.name, (row = { name: call.name, count: 0, total: 0, self: 0, shapes: new Set() }));
      const time = call.end - call.start;
      row.count += 1;
      row.total += time;
      row.self += call.inside.reduce((rest, inner) => rest - (inner.end - inner.start), time);
      if (call.args["Input Dims"]) row.shapes.add(JSON.stringify(call.args["Input Dims"]));
    }
  }
  return [...rows.values()].sort((a, b) => b.self - a.self);
}

// Memory over time: times, and the bytes of each series from that time on.
function memoryOf(trace, origin) {
  const counters = entriesOf(trace).filter((entry) => entry.ph === "C" && /mem/i.test(entry.name));
  counters.sort((a, b) => a.ts - b.ts);
  const names = [...new Set(counters.flatMap((entry) => Object.keys(entry.args)))];
  return {
    times: counters.map((entry) => Math.max(0, entry.ts - origin)),
    series: names.map((name) => ({ name, sizes: counters.map((entry) => Number(entry.args[name] || 0)) })),
  };
}

// Arrows by their ids: from [thread, time] to [thread, time].
function arrowsOf(trace, origin) {
  const starts = new Map();
  const found = [];
  for (const entry of entriesOf(trace)) {
    const place = { thread: entry.pid + "/" + entry.tid, time: entry.ts - origin };
    if (entry.ph === "s") starts.set(entry.id, place);
    if (entry.ph === "f" && starts.has(entry.id)) found.push({ from: starts.get(entry.id), to: place });
  }
  return found;
}

function timeInWords(us) {
  if (us >= 1e6) return (us / 1e6).toFixed(3) + "s";
  return us >= 1e3 ? (us / 1e3).toFixed(3) + "ms" : us.toFixed(3) + "us";
}

function sizeInWords(bytes) {
  for (const [unit, size] of [["GB", 2 ** 30], ["MB", 2 ** 20], ["KB", 2 ** 10]]) {
    if (Math.abs(bytes) >= size) return (bytes / size).toFixed(2) + " " + unit;
  }
  return bytes + " B";
}

function shortName(name) {
  return name.replace("autograd::engine::evaluate_function: ", "").replace(/^aten::/, "");
}

// the page -------------------------------------------------------------------------------------------------------------

function draw(trace) {
  const { threads, origin } = threadsOf(trace);
  const memory = memoryOf(trace, origin);
  const arrows = arrowsOf(trace, origin);
  const root = flameOf(threads);
  const end = Math.max(1, ...threads.map((thread) => Math.max(...thread.calls.map((call) => call.end))));
  const byId = (id) => document.getElementById(id);
  const view = { from: 0, to: end, chosen: null, flame: root };
  const ROW = 18;
  const TOP = 18;

  function prepared(canvas, height) {
    const width = canvas.parentElement.clientWidth;
    const ratio = window.devicePixelRatio || 1;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.height = height + "px";
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.font = "11px sans-serif";
    pen.textBaseline = "middle";
    pen.clearRect(0, 0, width, height);
    return [pen, width];
  }

  function box(pen, x, y, width, colour, text) {
    pen.fillStyle = colour;
    pen.fillRect(x, y, Math.max(width - 0.5, 0.5), ROW - 1);
    if (width < 24) return;
    pen.save();
    pen.beginPath();
    pen.rect(x, y, width - 2, ROW);
    pen.clip();
    pen.fillStyle = "#111";
    pen.fillText(text, x + 3, y + ROW / 2);
    pen.restore();
  }

  function timeline() {
    const height = TOP + threads.reduce((sum, thread) => sum + (thread.rows + 1) * ROW, 0);
    const [pen, width] = prepared(byId("timeline"), height);
    const scale = width / (view.to - view.from);
    const at = (time) => (time - view.from) * scale;
    const placed = new Map();
    pen.fillStyle = "#666";
    for (let k = 0; k <= 8; k++) {
      const time = view.from + (k * (view.to - view.from)) / 8;
      pen.fillText(timeInWords(time), Math.min(at(time) + 2, width - 60), 8);
      pen.fillRect(at(time), 0, 0.5, height);
    }
    let y = TOP;
    view.hit = [];
    for (const thread of threads) {
      pen.fillStyle = "#666";
      pen.fillText(thread.name, 2, y + ROW / 2);
      y += ROW;
      placed.set(thread.key, y);
      for (const call of thread.calls) {
        const x = at(call.start);
        const w = (call.end - call.start) * scale;
        if (x > width || x + w < 0 || w < 0.1) continue;
        const left = Math.max(x, 0);
        box(pen, left, y + call.depth * ROW, Math.min(x + w, width) - left, COLOURS[kindOf(call)], shortName(call.name));
        if (call === view.chosen) {
          pen.strokeStyle = "#000";
          pen.strokeRect(left, y + call.depth * ROW, Math.max(w, 1), ROW - 1);
        }
        view.hit.push([left, y + call.depth * ROW, Math.max(w, 2), call]);
      }
      y += thread.rows * ROW;
    }
    pen.strokeStyle = "#c00";
    for (const { from, to } of arrows) {
      const chosen = view.chosen;
      const touches = (place) => chosen && place.thread === chosen.thread && Math.abs(place.time - chosen.start) < 1e-3;
      if (!touches(from) && !touches(to)) continue;
      pen.beginPath();
      pen.moveTo(at(from.time), placed.get(from.thread) + ROW / 2);
      pen.lineTo(at(to.time), placed.get(to.thread) + ROW / 2);
      pen.stroke();
    }
  }

  function memoryChart() {
    byId("memory-part").hidden = memory.times.length === 0;
    if (memory.times.length === 0) return;
    const height = 150;
    const [pen, width] = prepared(byId("memory"), height);
    const scale = width / (view.to - view.from);
    const totals = memory.times.map((_, k) => memory.series.reduce((sum, one) => sum + one.sizes[k], 0));
    const most = Math.max(1, ...totals);
    let below = memory.times.map(() => 0);
    const y = (size) => height - 4 - (size / most) * (height - 24);
    memory.series.forEach((one, i) => {
      const above = below.map((low, k) => low + one.sizes[k]);
      pen.fillStyle = AREA_COLOURS[i % AREA_COLOURS.length];
      memory.times.forEach((time, k) => {
        const next = k + 1 < memory.times.length ? memory.times[k + 1] : end;
        const x = (time - view.from) * scale;
        pen.fillRect(x, y(above[k]), Math.max((next - time) * scale, 0.7), y(below[k]) - y(above[k]));
      });
      below = above;
    });
    byId("legend").replaceChildren(...memory.series.flatMap((one, i) => {
      if (!one.sizes.some((size) => size)) return [];
      const item = document.createElement("span");
      item.textContent = one.name + " (peak " + sizeInWords(Math.max(...one.sizes)) + ")";
      item.style.borderLeft = "12px solid " + AREA_COLOURS[i % AREA_COLOURS.length];
      return [item];
    }));
    const known = Object.entries(trace.memoryPeaks || {}).map(([name, words]) => "Peak, " + name + ": " + words);
    const plain = "Peak " + sizeInWords(most) + " at " + timeInWords(memory.times[totals.indexOf(most)] || 0);
    byId("memory-peak").textContent = known.join("\n") || plain;
  }

  function flame() {
    const depthOf = (node) => 1 + Math.max(0, ...[...node.inside.values()].map(depthOf));
    const [pen, width] = prepared(byId("flame"), depthOf(view.flame) * ROW + 2);
    view.flameHit = [];
    const put = (node, x, w, depth) => {
      if (w < 0.3) return;
      box(pen, x, depth * ROW, w, node === root ? "#ddd" : COLOURS[node.kind], shortName(node.name) + " " + timeInWords(node.total));
      view.flameHit.push([x, depth * ROW, w, node]);
      let left = x;
      for (const inner of [...node.inside.values()].sort((a, b) => b.total - a.total)) {
        const own = node.total ? (w * inner.total) / node.total : 0;
        put(inner, left, own, depth + 1);
        left += own;
      }
    };
    put(view.flame, 0, width, 0);
  }

  function table(key, rows) {
    const whole = rows.reduce((sum, row) => sum + row.self, 0) || 1;
    rows.sort((a, b) => (key === "name" ? (a.name < b.name ? -1 : 1) : b[key] - a[key]));
    byId("rows").replaceChildren(...rows.map((row) => {
      const line = document.createElement("tr");
      const cells = [row.name, timeInWords(row.self), ((100 * row.self) / whole).toFixed(2) + "%", timeInWords(row.total),
        timeInWords(row.total / row.count), String(row.count), [...row.shapes].slice(0, 3).join(" ")];
      for (const text of cells) line.appendChild(document.createElement("td")).textContent = text;
      return line;
    }));
  }

  function found(hits, event) {
    const bounds = event.target.getBoundingClientRect();
    const [x, y] = [event.clientX - bounds.left, event.clientY - bounds.top];
    return (hits.filter(([left, top, w]) => x >= left && x <= left + w && y >= top && y < top + ROW).pop() || [])[3];
  }

  function details(call) {
    if (!call) return "";
    const lines = [call.name, timeInWords(call.end - call.start) + " from " + timeInWords(call.start)];
    return lines.concat(Object.entries(call.args).map(([key, value]) => key + ": " + (typeof value === "string" ? value : JSON.stringify(value)))).join("\n");
  }

  function redraw() {
    timeline();
    memoryChart();
    flame();
  }

  const rows = summaryOf(threads);
  table("self", rows);
  for (const head of document.querySelectorAll("th[data-key]")) head.onclick = () => table(head.dataset.key, rows);
  const canvas = byId("timeline");
  canvas.onwheel = (event) => {
    event.preventDefault();
    const place = view.from + ((view.to - view.from) * event.offsetX) / canvas.clientWidth;
    const factor = event.deltaY > 0 ? 1.25 : 0.8;
    view.from = Math.max(0, place - (place - view.from) * factor);
    view.to = Math.min(end, place + (view.to - place) * factor);
    redraw();
  };
  let held = null;
  canvas.onmousedown = (event) => { held = { x: event.clientX, from: view.from, to: view.to }; };
  window.onmouseup = () => { held = null; };
  canvas.onmousemove = (event) => {
    if (!held) { canvas.title = details(found(view.hit, event)); return; }
    const length = held.to - held.from;
    const shift = ((held.x - event.clientX) * length) / canvas.clientWidth;
    view.from = Math.min(Math.max(0, held.from + shift), end - length);
    view.to = view.from + length;
    redraw();
  };
  canvas.onclick = (event) => {
    view.chosen = found(view.hit, event) || null;
    byId("details").textContent = details(view.chosen);
    timeline();
  };
  canvas.ondblclick = () => { [view.from, view.to] = [0, end]; redraw(); };
  byId("flame").onclick = (event) => { view.flame = found(view.flameHit, event) || root; if (view.flame === view.zoomed) view.flame = root; view.zoomed = view.flame; flame(); };
  window.onresize = redraw;
  redraw();
  const calls = threads.reduce((sum, thread) => sum + thread.calls.length, 0);
  byId("facts").textContent = calls + " calls in " + threads.length + " threads, " + timeInWords(end) + ", " + arrows.length + " arrows from forward to backward";
  document.body.dataset.ready = "yes";
}

if (typeof document !== "undefined") {
  draw(JSON.parse(document.getElementById("trace").textContent));
} else if (typeof module !== "undefined") {
  module.exports = { threadsOf, flameOf, summaryOf, memoryOf, arrowsOf, timeInWords, sizeInWords, kindOf };
}
