"use strict";
// Draws the page from the data in it. Charts over steps come ready for plotly; the panels ("what
// the agent sees") are unpacked here, one snapshot at a time, as the slider moves.

const data = JSON.parse(document.getElementById("data").textContent);
// Nothing may leave the page, so the button that uploads a chart is not there.
const CONFIG = { displaylogo: false, responsive: true, showSendToCloud: false, plotlyServerURL: "",
  modeBarButtonsToRemove: ["select2d", "lasso2d"] };
const at = (id) => document.getElementById(id);

data.curves.forEach((chart, i) => {
  Plotly.newPlot(`curves-${i}`, chart.traces, chart.layout, CONFIG);
  at("seeds").addEventListener("change", (event) => {
    const seeds = chart.traces.flatMap((trace, k) => (trace.meta === "seeds" ? [k] : []));
    Plotly.restyle(`curves-${i}`, { visible: event.target.checked }, seeds);
  });
});
data.diagnostics.forEach((chart, i) => {
  Plotly.newPlot(`diagnostic-${i}`, chart.traces, chart.layout, { ...CONFIG, displayModeBar: false });
});

// 16 bits a number, base64; the largest stands for "not finite". Rows of `low.length` columns.
function unpack(text, low, high) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const numbers = new Uint16Array(bytes.buffer);
  const d = low.length;
  return Array.from({ length: d }, (_, column) =>
    Array.from({ length: numbers.length / d }, (_, row) => {
      const n = numbers[row * d + column];
      return n === 65535 ? null : low[column] + ((high[column] - low[column]) * n) / 65534;
    }));
}

const between = (low, high, n) => Array.from({ length: n }, (_, i) => low + ((high - low) * i) / (n - 1));

// Height of the surface at (x, y), between the four grid points around it.
function heightOn(values, panel, x, y) {
  if (x === null || y === null) return null;
  const n = panel.grid;
  const [u, v] = [x, y].map((s, i) =>
    Math.min(Math.max(((s - panel.low[i]) / (panel.high[i] - panel.low[i])) * (n - 1), 0), n - 1));
  const [i, j] = [Math.min(Math.floor(u), n - 2), Math.min(Math.floor(v), n - 2)];
  const [p, q] = [u - i, v - j];
  const corners = [values[j][i], values[j][i + 1], values[j + 1][i], values[j + 1][i + 1]];
  if (corners.includes(null)) return null;
  return (corners[0] * (1 - p) + corners[1] * p) * (1 - q) + (corners[2] * (1 - p) + corners[3] * p) * q;
}

// The camera of a surface; where a chart is narrow, it stands further away, so that nothing is cut.
function cameraFor(chart) {
  const far = Math.max(1, (1.05 * chart.clientHeight) / chart.clientWidth);
  return { eye: { x: -1.3 * far, y: -1.52 * far, z: 1.05 * far }, center: { x: 0, y: 0, z: -0.1 } };
}

function surfaceOf(panel, shot, fixed, camera) {
  const flat = unpack(shot.values, [shot.bottom], [shot.top])[0];
  const values = Array.from({ length: panel.grid }, (_, j) => flat.slice(j * panel.grid, (j + 1) * panel.grid));
  const shots = fixed ? panel.snapshots : [shot];
  const bottom = Math.min(...shots.map((s) => s.bottom));
  const top = Math.max(...shots.map((s) => s.top));
  const span = top > bottom ? top - bottom : 1;
  const lay = (xs, ys, above) => xs.map((x, i) => {
    const z = heightOn(values, panel, x, ys[i]);
    return z === null ? null : z + above * span;
  });
  const dots = (packed, above) => {
    const [x, y] = packed ? unpack(packed, panel.low, panel.high) : [[], []];
    return { type: "scatter3d", mode: "markers", x, y, z: lay(x, y, above), hoverinfo: "skip" };
  };
  const lines = (paths, above) => {
    const x = paths.flatMap((path) => [...path.map((s) => s[0]), null]);
    const y = paths.flatMap((path) => [...path.map((s) => s[1]), null]);
    return { type: "scatter3d", mode: "lines", x, y, z: lay(x, y, above), hoverinfo: "skip" };
  };
  const [cx, cy] = unpack(shot.climbs, panel.low, panel.high);
  const length = cx.length / panel.climbs;
  const climbs = between(0, panel.climbs - 1, panel.climbs).map((k) =>
    between(0, length - 1, length).map((i) => [cx[k * length + i], cy[k * length + i]]));
  const [vx, vy] = panel.variables;
  const traces = [
    { type: "surface", name: "V̂(s)", x: between(panel.low[0], panel.high[0], panel.grid),
      y: between(panel.low[1], panel.high[1], panel.grid), z: values, colorscale: "Viridis",
      cmin: bottom, cmax: bottom + span, showscale: false, opacity: 0.95,
      lighting: { ambient: 0.85, diffuse: 0.35, specular: 0.02, roughness: 0.9 },
      hovertemplate: `${vx} %{x:.3g}, ${vy} %{y:.3g}<br>V̂ = %{z:.4g}<extra></extra>` },
    { ...dots(shot.replay, 0.012), name: "replay states", marker: { size: 2.6, color: "#4dabf7" } },
    { ...dots(shot.queue, 0.016), name: "search-control queue", visible: true, showlegend: true,
      marker: { size: 2.6, color: "#ffffff", symbol: "diamond", line: { color: "#212529", width: 1 } } },
    { ...lines(climbs, 0.02), name: "climbs on V̂", line: { color: "#ff2d20", width: 5 } },
    { ...dots(null), name: "starts", showlegend: false, x: climbs.map((c) => c[0][0]), y: climbs.map((c) => c[0][1]),
      z: lay(climbs.map((c) => c[0][0]), climbs.map((c) => c[0][1]), 0.02), marker: { size: 5, color: "#ff2d20" } },
  ];
  for (const [i, mark] of panel.marks.entries()) {
    const path = mark.corners.slice(1).flatMap((end, k) => {
      const begin = mark.corners[k];
      return between(0, 1, 9).map((t) => [begin[0] + (end[0] - begin[0]) * t, begin[1] + (end[1] - begin[1]) * t]);
    });
    traces.push({ ...lines([path], 0.014), name: mark.name, legendgroup: mark.name,
      showlegend: panel.marks.findIndex((m) => m.name === mark.name) === i, line: { color: mark.colour, width: 6 } });
  }
  const axis = { gridcolor: "#ced4da", backgroundcolor: "#f8f9fa", showbackground: true, zeroline: false,
    tickfont: { size: 10 } };
  const named = (text) => ({ text, font: { size: 12 } });
  const scene = {
    xaxis: { ...axis, title: named(vx), range: [panel.low[0], panel.high[0]] },
    yaxis: { ...axis, title: named(vy), range: [panel.low[1], panel.high[1]] },
    zaxis: { ...axis, title: named("V̂"), range: [bottom - 0.05 * span, bottom + 1.08 * span] },
    aspectmode: "manual", aspectratio: { x: 1.15, y: 1.15, z: 0.7 }, uirevision: "kept",
    camera,
  };
  return { traces, layout: { scene } };
}

function scatterOf(panel, shot, pair) {
  const dots = (packed) => {
    const columns = packed ? unpack(packed, panel.low, panel.high) : [];
    return { type: "scatter", mode: "markers", x: columns[pair[0]] || [], y: columns[pair[1]] || [] };
  };
  const traces = [
    { ...dots(shot.replay), name: "replay states", marker: { size: 5, color: "#2f6fb5", opacity: 0.55 } },
    { ...dots(shot.queue), name: "search-control queue",
      marker: { size: 7, color: "#c8342c", symbol: "cross-thin-open", line: { width: 1.2 }, opacity: 0.8 } },
  ];
  const [x, y] = pair.map((v) => {
    const edge = 0.04 * (panel.high[v] - panel.low[v] || 1);
    return { title: { text: panel.variables[v], font: { size: 13 } }, range: [panel.low[v] - edge, panel.high[v] + edge],
      gridcolor: "#e8eaed", zeroline: false };
  });
  return { traces, layout: { xaxis: x, yaxis: y } };
}

function drawPanels() {
  const step = data.steps[Number(at("slider").value)];
  at("step").textContent = `after ${step.toLocaleString("en")} steps`;
  data.panels.forEach((panel, i) => {
    // A run without a snapshot at this very step shows the one before.
    const shot = panel.snapshots.filter((s) => s.step <= step).pop() || panel.snapshots[0];
    const pair = panel.surface ? null : [at(`x-${i}`), at(`y-${i}`)].map((choice) => Number(choice.value));
    const { traces, layout } = panel.surface
      ? surfaceOf(panel, shot, at("fixed").checked, cameraFor(at(`panel-${i}`)))
      : scatterOf(panel, shot, pair);
    Plotly.react(`panel-${i}`, traces, {
      font: data.font, paper_bgcolor: "#ffffff", plot_bgcolor: "#ffffff", uirevision: "kept",
      margin: panel.surface ? { l: 0, r: 0, t: 30, b: 0 } : { l: 60, r: 16, t: 34, b: 50 },
      legend: { orientation: "h", yref: "container", y: 0, yanchor: "bottom", itemsizing: "constant", font: { size: 11 } }, ...layout,
    }, CONFIG);
  });
}

// Turning one surface turns the others too.
function turnTogether() {
  const surfaces = data.panels.flatMap((panel, i) => (panel.surface ? [`panel-${i}`] : []));
  let busy = false;
  for (const id of surfaces) {
    at(id).on("plotly_relayout", (change) => {
      const camera = change["scene.camera"];
      if (!camera || busy) return;
      busy = true;
      Promise.all(surfaces.filter((other) => other !== id).map((other) =>
        Plotly.relayout(other, { "scene.camera": camera }))).finally(() => { busy = false; });
    });
  }
}

if (data.panels.length) {
  drawPanels();
  turnTogether();
  const slider = at("slider");
  let playing = null;
  const stop = () => {
    clearInterval(playing);
    playing = null;
    at("play").textContent = "▶ play";
  };
  slider.addEventListener("input", drawPanels);
  document.querySelectorAll("#fixed, .pair").forEach((choice) => choice.addEventListener("change", drawPanels));
  at("play").addEventListener("click", () => {
    if (playing !== null) return stop();
    if (slider.value === slider.max) slider.value = 0;
    at("play").textContent = "❚❚ stop";
    drawPanels();
    playing = setInterval(() => {
      slider.value = Number(slider.value) + 1;
      drawPanels();
      if (slider.value === slider.max) stop();
    }, 600);
  });
}
