// Every chart of the pages; see plot.py. Plotly draws into the component, and only what is different is drawn anew.

const PAUSE = 250 // milliseconds without another change of the zoom until the server is told
const MOST_RINGED = 5 // points, which their size alone would not tell from their neighbours
const MOST_CORNERS = 200 // of a lasso in a link
const MOST_MARKS = 1000 // points in a link
const RETRIES = 5
const COLOUR = /(["':])(#[0-9a-f]{6})/g

const ARRAYS = {
  i1: Int8Array, u1: Uint8Array, i2: Int16Array, u2: Uint16Array, i4: Int32Array, u4: Uint32Array, f4: Float32Array,
  f8: Float64Array,
}

const FULLSCREEN = {
  name: "Fullscreen", title: "Fullscreen", icon: { width: 24, height: 24, path: "M4 4h6v2H6v4H4zM14 4h6v6h-2V6h-4zM4 14h2v4h4v2H4zM18 14h2v6h-6v-2h4z" },
  click: (plot) => document.fullscreenElement ? document.exitFullscreen() : plot.requestFullscreen(),
}

// Of what is named by its digest; the last few, since labels of a sample are large.
const fetched = new Map()

function fetchOnce(name, retries = RETRIES) {
  if (!fetched.has(name)) {
    const answer = fetch(new URL(`./drawn/${name}`, document.baseURI)).then((response) => {
      if (response.ok) return response.text()
      fetched.delete(name)
      if (!retries) throw new Error(`${name} is not on the server`)
      return new Promise((resolve) => { setTimeout(resolve, 1000) }).then(() => fetchOnce(name, retries - 1))
    })
    fetched.set(name, answer)
    if (fetched.size > 6) fetched.delete(fetched.keys().next().value)
  }
  return fetched.get(name)
}

function plotly(name) {
  window.clsvizPlotly ??= new Promise((resolve, reject) => {
    const script = document.createElement("script")
    script.src = new URL(`./${name}`, document.baseURI)
    script.onload = () => resolve(window.Plotly)
    script.onerror = reject
    document.head.append(script)
  })
  return window.clsvizPlotly
}

function bytesOf(text) {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
}

// Plotly would decode an array whenever it looks at it, and take it for another one.
function decoded(value) {
  const kind = value?.bdata && !value.shape && ARRAYS[value.dtype]
  return kind ? new kind(bytesOf(value.bdata).buffer) : value
}

function placesOf(bits) {
  const places = []
  bytesOf(bits).forEach((byte, at) => {
    for (let bit = 0; bit < 8; bit++) if (byte & (1 << bit)) places.push(8 * at + bit)
  })
  return places
}

// The colours of the theme in the place of those of the palette, and its fonts and grid as the template.
function themed(text, roles, host) {
  const style = getComputedStyle(host)
  const list = (name) => style.getPropertyValue(`--st-${name}`).split(",").map((colour) => colour.trim())
  const [background] = list("background-color")
  const colours = { background }
  list("chart-categorical-colors").forEach((colour, at) => { colours[at] = colour })
  list("chart-sequential-colors").forEach((colour, at) => { colours[`scale ${at}`] = colour })
  const figure = JSON.parse(text.replace(COLOUR, (all, before, colour) => before + (colours[roles[colour]] ?? colour)))
  const isDark = style.colorScheme.includes("dark")
  const [quiet, grid, strong] = isDark ? ["#e6eaf1", "#31333f", "#fafafa"] : ["#808495", "#e6eaf1", "#262730"]
  const family = style.getPropertyValue("--st-font")
  const font = { size: 12, color: quiet, family }
  const title = { font: { size: 14, color: quiet } }
  const axis = { zerolinecolor: grid, gridcolor: grid, tickcolor: grid, tickfont: font, automargin: true, zeroline: false }
  const template = {
    data: { scatter: [{ marker: { line: { width: 0 } } }] },
    layout: {
      font, paper_bgcolor: background, plot_bgcolor: background, margin: { pad: 8, r: 0, l: 0 },
      xaxis: { ...axis, showgrid: false, title: { ...title, standoff: 20 } },
      yaxis: { ...axis, title: { ...title, standoff: 24 } },
      legend: { borderwidth: 0, font: { ...font, color: strong }, title: { font, side: "top" }, valign: "top" },
      hoverlabel: { bgcolor: background, bordercolor: list("border-color")[0], font },
      coloraxis: { colorbar: { ticklabelposition: "outside", outlinewidth: 0, title, tickfont: font } },
    },
  }
  return { ...figure, layout: { ...figure.layout, template, spikedistance: 0 } }
}

// What is in the cells of a density; see `cells` in density.py.
function cellsOf({ counts, lengths, norms }) {
  const said = (n) => n === 1 ? "1 sentence" : `${n.toLocaleString("en")} sentences`
  return {
    z: counts.map((row) => row.map((n) => n ? Math.log10(n) : null)),
    text: counts.map((row, at) => row.map((n, column) => n ? `${lengths[column]}, ${norms[at]}: ${said(n)}` : "")),
  }
}

// The figure as Plotly takes it: with what is sent once for all points, and a trace for the rings.
async function figureOf(chart) {
  const { data, host } = chart
  const figure = themed(data.route ? await fetchOnce(data.route) : data.figure, data.roles, host)
  const { sent } = figure
  for (const trace of figure.data) {
    for (const [name, value] of Object.entries(trace)) trace[name] = decoded(value)
  }
  if (!sent) return figure
  const cloud = figure.data[sent.cloud]
  if (!cloud) return figure
  if (sent.density) Object.assign(figure.data[0], cellsOf(sent.density))
  if (sent.line) cloud.customdata = cloud.y.map((norm, at) => norm - (sent.line.intercept + sent.line.slope * cloud.x[at]))
  sent.numbers = placesOf(sent.is_drawn)
  cloud.text = sent.labels ?? new Array(cloud.x.length).fill("")
  if (sent.ring) figure.data.push({ ...sent.ring, x: [], y: [] })
  if (data.labels) {
    fetchOnce(data.labels).then((text) => { // into the array that Plotly has: it need not draw anything for it
      const labels = JSON.parse(text)
      sent.numbers.forEach((number, at) => { cloud.text[at] = labels[number] })
    }).catch(() => {}) // the sentences are not told of then
  }
  return figure
}

// The ends of both axes, or nothing if all is seen.
function seenIn(plot, whole) {
  const { xaxis, yaxis } = plot._fullLayout
  const hasAllLengths = xaxis.autorange || (whole && whole.every((end, at) => Math.abs(end - xaxis.range[at]) < 1e-6))
  return yaxis.autorange && hasAllLengths ? [] : [...xaxis.range, ...yaxis.range].map(Number)
}

// Of a trace of points: those of a click, a box or a lasso, as `Bits` of plot.py has them.
function bitsOf(places, n) {
  if (!places.length) return ""
  const bytes = new Uint8Array(Math.ceil(n / 8))
  for (const at of places) bytes[at >> 3] |= 1 << (at & 7)
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""))
}

function marksOf(event, { cloud, numbers }) {
  const written = (word, values) => `${word}:${values.map((value) => Number(Number(value).toPrecision(6))).join(",")}`
  const shapes = (event?.selections ?? []).map(({ type, path, x0, x1, y0, y1 }) => {
    if (type === "rect") return written("box", [x0, x1, y0, y1])
    const corners = path.match(/[^MLZ]+/g).map((pair) => pair.split(","))
    const step = Math.floor(corners.length / MOST_CORNERS) + 1
    return written("lasso", corners.filter((_, at) => at % step === 0).flat())
  })
  if (shapes.length) return shapes.join(";")
  const points = (event?.points ?? []).filter(({ curveNumber }) => curveNumber === cloud)
  const known = points.map(({ pointNumber }) => numbers[pointNumber]).sort((a, b) => a - b).slice(0, MOST_MARKS)
  return known.length ? `points:${known.join(",")}` : ""
}

// Which points stand out; a few of them get rings. The outline of a box or a lasso stays while it is what is marked.
function mark({ figure, selected, marks, told }) {
  const { cloud: at, ring } = figure.sent
  const cloud = figure.data[at]
  if (!cloud) return
  const places = placesOf(selected)
  cloud.selectedpoints = places.length ? places : null
  if (marks !== told) figure.layout.selections = []
  if (!ring) return
  const ringed = places.length <= MOST_RINGED ? places : []
  Object.assign(figure.data.at(-1), { x: ringed.map((place) => cloud.x[place]), y: ringed.map((place) => cloud.y[place]) })
}

const stateOf = ({ selected, marks }) => `${selected} ${marks}`

function listen(chart) {
  const { plot } = chart
  const isOurs = () => !chart.isDrawing && chart.figure?.sent && chart.data.tools
  const choose = (event) => {
    if (!isOurs()) return
    const { sent } = chart.figure
    chart.marks = chart.told = marksOf(event, sent)
    const points = (event?.points ?? []).filter(({ curveNumber }) => curveNumber === sent.cloud)
    chart.selected = bitsOf(points.map(({ pointNumber }) => pointNumber), chart.figure.data[sent.cloud].x.length)
    chart.tell("selected", chart.told)
    chart.figure.layout.selections = plot.layout.selections
    const isRinged = chart.figure.data.at(-1).x?.length > 0
    if (!isRinged && points.length > MOST_RINGED) { // Plotly has drawn them, and there is nothing else to draw
      mark(chart)
      chart.state = stateOf(chart)
      return
    }
    chart.isStale = true
    draw(chart)
  }
  chart.choose = choose
  plot.on("plotly_selected", choose)
  plot.on("plotly_deselect", () => choose(null))
  plot.on("plotly_click", ({ points }) => {
    if (chart.data.clicks && points[0]) chart.tell("clicked", points[0].customdata)
  })
  plot.on("plotly_relayout", () => {
    if (!isOurs() || chart.figure.sent.cloud < 0) return
    const { whole, of } = chart.figure.sent.zoom
    chart.ends = seenIn(plot, whole)
    clearTimeout(chart.pause)
    chart.pause = setTimeout(() => {
      if (String(chart.ends) !== String(chart.data.zoom)) chart.tell("zoomed", { of, ends: chart.ends })
    }, PAUSE)
  })
  plot.addEventListener("pointerdown", () => { chart.isHeld = true })
}

// By keyboard: the arrows step through the sentences that are seen, by length and by norm; Enter selects one.
function stepThrough(chart, event) {
  const { plot, figure, data } = chart
  const cloud = data.tools && figure?.sent?.cloud >= 0 && figure.data[figure.sent.cloud]
  const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, Home: -Infinity, End: Infinity }[event.key]
  if (!cloud || event.target !== plot || event.ctrlKey || event.metaKey || event.altKey) return
  if (event.key === "Enter" && chart.at !== undefined) {
    chart.choose({ points: [{ curveNumber: figure.sent.cloud, pointNumber: chart.at }] })
  } else if (step) {
    const { xaxis, yaxis } = plot._fullLayout
    const isSeen = (value, [low, high]) => value >= Math.min(low, high) && value <= Math.max(low, high)
    const seen = [...cloud.x.keys()].filter((at) => isSeen(cloud.x[at], xaxis.range) && isSeen(cloud.y[at], yaxis.range))
    if (!seen.length) return
    const [first, second] = ["ArrowUp", "ArrowDown"].includes(event.key) ? [cloud.y, cloud.x] : [cloud.x, cloud.y]
    seen.sort((a, b) => first[a] - first[b] || second[a] - second[b] || a - b)
    const from = seen.indexOf(chart.at)
    const to = from < 0 ? (step > 0 ? 0 : seen.length - 1) : Math.min(Math.max(from + step, 0), seen.length - 1)
    chart.at = seen[to]
    window.Plotly.Fx.hover(plot, [{ curveNumber: figure.sent.cloud, pointNumber: chart.at }])
    const text = String(cloud.text[chart.at] ?? "").replaceAll("<br>", " ").replaceAll("&lt;", "<").replaceAll("&gt;", ">")
    const place = `length ${cloud.x[chart.at]}, norm ${Number(cloud.y[chart.at]).toPrecision(5)}`
    chart.said.textContent = `${text.replaceAll("&amp;", "&")} · ${place} · ${to + 1} of ${seen.length}`
  } else return
  event.preventDefault()
}

// What a visitor has done with the chart so far: where they zoomed to, the tool that they hold, what they outlined.
function keep(chart) {
  const { plot, figure, uirevision, data } = chart
  const { layout } = figure
  if (uirevision !== layout.uirevision) chart.ends = data.zoom
  const ends = figure.sent?.cloud >= 0 ? chart.ends : []
  if (ends.length === 4) {
    layout.xaxis = { ...layout.xaxis, range: ends.slice(0, 2), autorange: false }
    layout.yaxis = { ...layout.yaxis, range: ends.slice(2), autorange: false }
  }
  const isCoarse = matchMedia("(pointer: coarse)").matches // a finger scrolls the page
  layout.dragmode = plot._fullLayout ? plot._fullLayout.dragmode : isCoarse ? false : figure.sent ? "pan" : "zoom"
  if (figure.sent) layout.clickmode = "event+select"
}

async function draw(chart) {
  if (chart.isDrawing || chart.isHeld || !chart.isStale) return
  chart.isDrawing = true
  try {
    chart.isStale = false
    const Plotly = await plotly(chart.data.plotly)
    const { data, plot } = chart
    const name = JSON.stringify([data.route || data.figure, data.labels, getComputedStyle(chart.host).colorScheme])
    const isNew = name !== chart.name
    const state = stateOf(chart)
    if (!isNew && state === chart.state) return
    const figure = isNew ? await figureOf(chart) : chart.figure
    if (!chart.isMounted) return
    if (isNew) chart.at = undefined
    Object.assign(chart, { figure, name, state })
    if (isNew) keep(chart)
    if (isNew && figure.layout.uirevision === chart.uirevision) figure.layout.selections = plot.layout?.selections
    if (figure.sent) mark(chart)
    chart.uirevision = figure.layout.uirevision
    const config = {
      displaylogo: false, displayModeBar: data.tools ? "hover" : false, responsive: false,
      modeBarButtonsToRemove: ["autoScale2d", "sendChartToCloud", ...(figure.sent ? [] : ["lasso2d", "select2d"])],
      modeBarButtonsToAdd: [FULLSCREEN],
    }
    delete figure.layout.height
    await Plotly.react(plot, { data: figure.data, layout: figure.layout, config })
    if (!chart.isHeard) listen(chart)
    chart.isHeard = true
  } finally {
    chart.isDrawing = false
  }
  if (chart.plot === document.querySelector(".clsviz-plot")) { // what the page showed before, see web/page.py
    requestAnimationFrame(() => document.getElementById("first")?.remove())
  }
  draw(chart) // if more came meanwhile
}

export default function ({ data, parentElement, setTriggerValue }) {
  const chart = (parentElement.chart ??= { marks: "", selected: "", told: null, ends: [] })
  if (!chart.plot) {
    const host = parentElement.host ?? parentElement
    const plot = document.createElement("div")
    plot.className = "clsviz-plot"
    plot.setAttribute("role", "figure")
    const said = document.createElement("p")
    said.setAttribute("aria-live", "polite")
    said.className = "clsviz-said"
    parentElement.append(plot, said)
    plot.addEventListener("keydown", (event) => stepThrough(chart, event))
    const release = () => {
      if (!chart.isHeld) return
      setTimeout(() => { // Plotly tells of it a moment later
        chart.isHeld = false
        draw(chart)
      }, PAUSE)
    }
    for (const event of ["pointerup", "pointercancel"]) window.addEventListener(event, release)
    const sizes = new ResizeObserver(() => {
      if (plot._fullLayout && plot.clientWidth) window.Plotly.Plots.resize(plot)
    })
    sizes.observe(plot)
    chart.leave = () => {
      chart.isMounted = false
      for (const event of ["pointerup", "pointercancel"]) window.removeEventListener(event, release)
      sizes.disconnect()
      clearTimeout(chart.pause)
      window.Plotly?.purge(plot)
      plot.remove()
      said.remove()
      delete parentElement.chart
    }
    Object.assign(chart, { host, plot, said, isMounted: true })
  }
  chart.plot.style.height = `${data.height}px`
  chart.plot.style.opacity = data.dimmed ? 0.35 : ""
  chart.plot.setAttribute("aria-label", data.alt)
  if (data.tools) {
    chart.plot.tabIndex = 0
    chart.plot.setAttribute("aria-description", "Arrow keys step through the sentences, Enter selects one.")
  }
  Object.assign(chart, { data, tell: setTriggerValue, isStale: true, selected: data.selected, marks: data.marks })
  draw(chart)
  return chart.leave
}
