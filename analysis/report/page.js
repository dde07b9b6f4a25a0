"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const byId = (id) => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg";
  const BLACK = "#000000";

  const node = (name, attributes = {}, text) => {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const html = (name, text) => {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const ink = (colour) => (colour === BLACK ? "currentColor" : colour);
  const round = (value) => {
    const size = Math.abs(value);
    return value.toLocaleString("en", { maximumFractionDigits: size >= 1 || size === 0 ? 1 : 3 });
  };
  const thousands = (value) => (value >= 1000 ? `${+(value / 1000).toFixed(1)}K` : `${value}`);

  // A short piece of an agent's line, for legends.
  const swatch = ({ colour, dash }, width, thickness) => {
    const svg = node("svg", { width, height: 10, "aria-hidden": "true" });
    const stroke = { x1: 0, x2: width, y1: 5, y2: 5, stroke: ink(colour), "stroke-width": thickness };
    svg.append(node("line", dash ? { ...stroke, "stroke-dasharray": dash } : stroke));
    return svg;
  };

  // Round numbers between low and high.
  const ticks = (low, high, count) => {
    if (!(high > low)) return [low];
    const raw = (high - low) / count;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= raw * 0.999);
    const found = [];
    for (let index = Math.ceil(low / step - 1e-9); index * step <= high + step * 1e-9; index++) found.push(index * step);
    return found;
  };

  // A line chart. series: {title, colour, dash, rows: [[x, y, low, high]]}; references: {y, colour, dash}.
  // Returns what the pointer and the keyboard need to read values from it.
  const drawLines = (svg, { series, references = [], xRange, yRange, width, height, small = false, xTitle = "", yTitle = "", xFormat = String }) => {
    svg.replaceChildren();
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const left = small ? 34 : 58, right = references.length ? (small ? 10 : 26) : 8, top = 8, bottom = small ? 16 : 42;
    let [yLow, yHigh] = yRange || [Infinity, -Infinity];
    if (!yRange) {
      for (const { rows } of series) for (const row of rows) {
        if (row[2] !== null) { yLow = Math.min(yLow, row[2]); yHigh = Math.max(yHigh, row[3]); }
        else { yLow = Math.min(yLow, row[1]); yHigh = Math.max(yHigh, row[1]); }
      }
      for (const { y } of references) { yLow = Math.min(yLow, y); yHigh = Math.max(yHigh, y); }
      if (!Number.isFinite(yLow)) [yLow, yHigh] = [0, 1];
      const margin = (yHigh - yLow || 1) * 0.04;
      yLow -= margin; yHigh += margin;
    }
    const [xLow, xHigh] = xRange;
    const x = (value) => left + ((width - left - right) * (value - xLow)) / (xHigh - xLow || 1);
    const y = (value) => height - bottom - ((height - bottom - top) * (value - yLow)) / (yHigh - yLow || 1);
    for (const tick of ticks(yLow, yHigh, small ? 3 : 6)) {
      svg.append(node("line", { class: "grid", x1: left, x2: width - right, y1: y(tick), y2: y(tick) }));
      svg.append(node("text", { class: "tick", x: left - 5, y: y(tick) + 4, "text-anchor": "end" }, round(+tick.toPrecision(12))));
    }
    for (const tick of ticks(xLow, xHigh, small ? 2 : 8)) {
      if (!small) svg.append(node("line", { class: "grid", x1: x(tick), x2: x(tick), y1: top, y2: height - bottom }));
      svg.append(node("text", { class: "tick", x: x(tick), y: height - bottom + (small ? 13 : 17), "text-anchor": "middle" }, xFormat(+tick.toPrecision(12))));
    }
    if (references.length) svg.append(node("rect", { class: "gutter", x: x(xHigh), y: top, width: right, height: height - bottom - top }));
    const bands = node("g"), lines = node("g", { fill: "none", "stroke-linejoin": "round" });
    for (const { colour, dash, rows } of series) {
      const banded = rows.filter((row) => row[2] !== null);
      if (banded.length > 1) {
        const upper = banded.map((row) => `${x(row[0]).toFixed(1)},${y(row[3]).toFixed(1)}`);
        const lower = banded.map((row) => `${x(row[0]).toFixed(1)},${y(row[2]).toFixed(1)}`).reverse();
        bands.append(node("polygon", { points: [...upper, ...lower].join(" "), fill: ink(colour), "fill-opacity": 0.12 }));
      }
      const points = rows.map((row) => `${x(row[0]).toFixed(1)},${y(row[1]).toFixed(1)}`).join(" ");
      const style = { points, stroke: ink(colour), "stroke-width": small ? 1.2 : 2 };
      if (dash) style["stroke-dasharray"] = dash;
      lines.append(node("polyline", style));
      const last = rows[rows.length - 1];
      if (last && last[0] < xHigh) {
        // A smaller budget: the last value as a level to compare with.
        lines.append(node("line", { x1: x(last[0]), x2: x(xHigh), y1: y(last[1]), y2: y(last[1]), stroke: ink(colour), "stroke-width": 0.7 }));
      }
      if (rows.length === 1) lines.append(node("circle", { cx: x(rows[0][0]), cy: y(rows[0][1]), r: 3, fill: ink(colour) }));
    }
    svg.append(bands, lines);
    for (const { y: value, colour } of references) {
      svg.append(node("line", { x1: x(xHigh), x2: x(xHigh) + right - 1, y1: y(value), y2: y(value), stroke: ink(colour), "stroke-width": small ? 1.5 : 2.5 }));
    }
    if (!small) {
      svg.append(node("text", { class: "axis", x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, xTitle));
      svg.append(node("text", { class: "axis", transform: `translate(13 ${(height - bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, yTitle));
    }
    return { x, top, bottom: height - bottom, width, height };
  };

  // Pointing at a chart, or the arrow keys on it, shows the values at the nearest x.
  const makeReadable = (svg, tip, live, state) => {
    let cross = null, index = -1;
    const positions = () => [...new Set(state.series.flatMap(({ rows }) => rows.map((row) => row[0])))].sort((a, b) => a - b);
    const hide = () => { tip.hidden = true; if (cross) cross.remove(); cross = null; };
    const show = (at, announce) => {
      const found = state.series
        .map((line) => ({ line, row: line.rows.find((row) => row[0] === at) }))
        .filter(({ row }) => row)
        .sort((a, b) => b.row[1] - a.row[1]);
      if (!found.length) return hide();
      const { x, top, bottom, width } = state.geometry;
      if (!cross) cross = node("line", { class: "cross" });
      for (const [key, value] of Object.entries({ x1: x(at), x2: x(at), y1: top, y2: bottom })) cross.setAttribute(key, value);
      svg.append(cross);
      tip.replaceChildren(html("b", state.heading(at)));
      for (const { line, row } of found) {
        const item = html("div");
        item.append(swatch(line, 18, 2.5), html("span", line.title), html("span", state.value(row)));
        tip.append(item);
      }
      tip.hidden = false;
      const scale = svg.clientWidth / width, place = x(at) * scale;
      const right = place + 16 + tip.offsetWidth <= svg.clientWidth;
      tip.style.left = `${Math.max(0, right ? place + 12 : place - tip.offsetWidth - 12)}px`;
      tip.style.top = `${top * scale}px`;
      if (announce) live.textContent = `${state.heading(at)}: ${found.map(({ line, row }) => `${line.title} ${state.value(row)}`).join(", ")}`;
    };
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect(), all = positions();
      if (!all.length) return;
      const wanted = ((event.clientX - box.left) / box.width) * state.geometry.width;
      index = all.reduce((best, value, i) => (Math.abs(state.geometry.x(value) - wanted) < Math.abs(state.geometry.x(all[best]) - wanted) ? i : best), 0);
      show(all[index], false);
    });
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("blur", hide);
    svg.addEventListener("keydown", (event) => {
      const all = positions(), move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (event.key === "Escape") return hide();
      if (event.key === "Home") index = 0;
      else if (event.key === "End") index = all.length - 1;
      else if (move && index < 0) index = all.length - 1;
      else if (move) index = Math.min(Math.max(index + move, 0), all.length - 1);
      else return;
      event.preventDefault();
      if (all.length) show(all[index], true);
    });
    return hide;
  };

  const chosen = new Set(data.labels.filter((label) => label.on).map((label) => label.id));
  let task = data.tasks.length ? data.tasks[0].id : null;
  let metric = data.metric;

  const curveSeries = (which) => {
    const curves = ((data.curves[metric] || {})[which]) || {};
    return data.labels
      .filter((label) => chosen.has(label.id) && curves[label.id])
      .map((label) => ({ ...label, rows: curves[label.id].map(([step, mean, std, n]) => [step, mean, std === null ? null : mean - std, std === null ? null : mean + std, std, n]) }));
  };
  const curveReferences = (which) => data.labels
    .filter((label) => chosen.has(label.id) && (data.paper[which] || {})[label.id])
    .map((label) => ({ y: data.paper[which][label.id][0], colour: label.colour }));

  const curve = { series: [], geometry: null, heading: (at) => `step ${at.toLocaleString("en")}`, value: (row) => (row[4] === null ? round(row[1]) : `${round(row[1])} ± ${round(row[4])}`) };
  const curveSvg = byId("curve");
  const hideCurve = makeReadable(curveSvg, byId("curve-tip"), byId("curve-live"), curve);

  const drawCurves = () => {
    hideCurve();
    if (task === null) { curveSvg.replaceChildren(node("text", { x: 20, y: 30 }, "no finished run")); return; }
    const narrow = window.innerWidth < 720;
    curve.series = curveSeries(task);
    curve.geometry = drawLines(curveSvg, {
      series: curve.series, references: curveReferences(task), xRange: [0, data.steps],
      width: narrow ? 480 : 960, height: narrow ? 360 : 440, xTitle: "environment steps", yTitle: "return", xFormat: thousands,
    });
    const title = data.tasks.find((entry) => entry.id === task).title;
    curveSvg.setAttribute("aria-label", `Return against environment steps on ${title}, ${curve.series.length} agents; use the arrow keys to read values`);
    for (const button of byId("overview").children) {
      const which = button.dataset.task;
      button.setAttribute("aria-pressed", String(which === task));
      drawLines(button.querySelector("svg"), { series: curveSeries(which), references: curveReferences(which), xRange: [0, data.steps], width: 210, height: 120, small: true, xFormat: thousands });
    }
  };

  const buildCurveControls = () => {
    const select = byId("task");
    for (const entry of data.tasks) {
      const option = html("option", entry.title);
      option.value = entry.id;
      select.append(option);
      const button = html("button");
      button.type = "button";
      button.dataset.task = entry.id;
      button.append(html("span", entry.title), node("svg", { class: "chart", "aria-hidden": "true" }));
      button.addEventListener("click", () => { task = entry.id; select.value = task; drawCurves(); });
      byId("overview").append(button);
    }
    select.addEventListener("change", () => { task = select.value; drawCurves(); });
    const boxes = [];
    for (const label of data.labels) {
      const item = html("label"), box = html("input");
      box.type = "checkbox";
      box.checked = label.on;
      box.value = label.id;
      item.append(box, swatch(label, 26, 3), html("span", label.title));
      box.addEventListener("change", () => { chosen[box.checked ? "add" : "delete"](label.id); drawCurves(); });
      byId("agents").append(item);
      boxes.push(box);
    }
    const all = (on) => () => {
      for (const box of boxes) { box.checked = on; chosen[on ? "add" : "delete"](box.value); }
      drawCurves();
    };
    byId("all-agents").addEventListener("click", all(true));
    byId("no-agents").addEventListener("click", all(false));
  };

  const drawProfiles = () => {
    const svg = byId("profile");
    if (!svg) return;
    const lines = data.labels.filter((label) => data.profiles[label.id]).map((label) => ({ ...label, rows: data.profiles[label.id] }));
    for (const line of lines) {
      const item = html("span");
      item.append(swatch(line, 26, 3), html("span", ` ${line.title}`));
      byId("profile-legend").append(item);
    }
    const xs = lines.flatMap(({ rows }) => rows.map((row) => row[0]));
    const state = { series: lines, heading: (at) => `τ = ${at}`, value: (row) => `${(100 * row[1]).toFixed(0)} % [${(100 * row[2]).toFixed(0)}, ${(100 * row[3]).toFixed(0)}]` };
    state.geometry = drawLines(svg, { series: lines, xRange: [Math.min(...xs), Math.max(...xs)], yRange: [0, 1], width: 960, height: 380, xTitle: "normalised score τ", yTitle: "share of runs above τ" });
    makeReadable(svg, byId("profile-tip"), byId("profile-live"), state);
  };

  // What a cell is sorted by: the figure that is shown, else its number, else its text.
  const sortKey = (cell) => {
    const show = root.dataset.show, names = show === "paper" || show === "mbbl" ? [show] : [metric];
    for (const name of names) {
      const value = cell.dataset[name];
      if (value !== undefined) return value === "" ? null : Number(value);
    }
    if (["evaluation", "training", "paper", "mbbl"].some((name) => name in cell.dataset)) return null;
    const text = cell.textContent.trim(), number = parseFloat(text.replace(/,/g, ""));
    if (text === "" || text === "·" || text === "–") return null;
    return Number.isNaN(number) || !/^[-−]?[\d.,]/.test(text) ? text.toLowerCase() : number;
  };

  const sortTable = (table, column, direction) => {
    const sign = direction === "ascending" ? 1 : -1;
    for (const body of table.tBodies) {
      const rows = [...body.rows].filter((row) => !row.classList.contains("group"));
      const keyed = rows.map((row, index) => ({ row, index, key: row.cells[column] ? sortKey(row.cells[column]) : null }));
      keyed.sort((a, b) => {
        if (a.key === null || b.key === null) return (a.key === null) - (b.key === null) || a.index - b.index;
        if (typeof a.key !== typeof b.key) return typeof a.key === "number" ? -1 : 1;
        return (a.key < b.key ? -1 : a.key > b.key ? 1 : 0) * sign || a.index - b.index;
      });
      for (const { row } of keyed) body.append(row);
    }
  };

  const sorted = new Map();
  const resort = () => { for (const [table, [column, direction]] of sorted) sortTable(table, column, direction); };
  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = html("button", head.textContent);
      button.type = "button";
      head.replaceChildren(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        const direction = head.getAttribute("aria-sort") === "descending" ? "ascending" : "descending";
        for (const other of table.tHead.rows[0].cells) other.setAttribute("aria-sort", "none");
        head.setAttribute("aria-sort", direction);
        sorted.set(table, [column, direction]);
        sortTable(table, column, direction);
      });
    });
  }

  for (const input of document.querySelectorAll("input[name=metric]")) {
    input.addEventListener("change", () => { metric = input.value; root.dataset.metric = metric; drawCurves(); resort(); });
  }
  for (const input of document.querySelectorAll("input[name=show]")) {
    input.addEventListener("change", () => { root.dataset.show = input.value; resort(); });
  }
  byId("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
  let narrow = window.innerWidth < 720;
  window.addEventListener("resize", () => {
    if (narrow !== window.innerWidth < 720) { narrow = !narrow; drawCurves(); }
  });
  // A reload may bring back radio buttons in another state than the page's.
  for (const input of document.querySelectorAll("input:checked")) if (input.name in root.dataset) root.dataset[input.name] = input.value;
  metric = root.dataset.metric;

  buildCurveControls();
  drawCurves();
  drawProfiles();
})();
