// Draws what is sent into a chart of Streamlit's; see drawing.py.

const ARRAYS = {
  i1: Int8Array, u1: Uint8Array, i2: Int16Array, u2: Uint16Array, i4: Int32Array, u4: Uint32Array, f4: Float32Array,
  f8: Float64Array,
}

const labels = new Map() // of the points, by sample: those of the last one

const pictures = new Set()

const watched = new WeakSet()

const MOST_FRAMES = 120 // to wait for Streamlit to change a theme

const PAUSE = 150 // milliseconds without another change of the zoom until the server is told

function bytesOf(text) {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
}

// Plotly would decode an array whenever it looks at it, and take it for another one. Streamlit makes JSON of a figure
// when the theme changes, in which an array is to be what it was.
function decoded(value) {
  const kind = value?.bdata && !value.shape && ARRAYS[value.dtype]
  if (!kind) return value
  return Object.defineProperty(new kind(bytesOf(value.bdata).buffer), "toJSON", { value: () => value })
}

function backgroundOf(host) {
  return getComputedStyle(host).getPropertyValue("--st-background-color").trim()
}

function colourListOf(host, kind) {
  return getComputedStyle(host).getPropertyValue(`--st-chart-${kind}-colors`).split(",")
}

function themed(text, colours, host) {
  const of = { ...colourListOf(host, "categorical"), background: backgroundOf(host) }
  colourListOf(host, "sequential").forEach((colour, at) => { of[`scale ${at}`] = colour })
  for (const [written, role] of Object.entries(colours)) text = text.replaceAll(written, of[role].trim())
  return text
}

// Which of the points of the sample these are, by number.
function numbersOf(isDrawn) {
  const numbers = []
  bytesOf(isDrawn).forEach((byte, at) => {
    for (let bit = 0; bit < 8; bit++) if (byte & (1 << bit)) numbers.push(8 * at + bit)
  })
  return numbers
}

// What is in the cells of a density; see `cells` in density.py.
function cellsOf({ counts, lengths, norms }) {
  const said = (n) => n === 1 ? "1 sentence" : `${n.toLocaleString("en")} sentences`
  return {
    z: counts.map((row) => row.map((n) => n ? Math.log10(n) : null)),
    text: counts.map((row, at) => row.map((n, column) => n ? `${lengths[column]}, ${norms[at]}: ${said(n)}` : "")),
  }
}

function figureOf({ sent, host }) {
  const figure = JSON.parse(themed(JSON.stringify(sent.figure), sent.colours, host))
  for (const trace of figure.data) {
    for (const [name, value] of Object.entries(trace)) trace[name] = decoded(value)
  }
  const first = sent.density ? 1 : 0
  if (sent.density) Object.assign(figure.data[0], cellsOf(sent.density))
  const texts = sent.labels ?? numbersOf(sent.is_drawn).map((number) => labels.get(sent.sample)[number])
  let start = 0
  for (const trace of figure.data.slice(first, first + sent.n_clouds)) {
    const { x, y } = trace
    trace.text = texts.slice(start, start += x.length)
    if (sent.line) trace.customdata = y.map((norm, at) => norm - (sent.line.intercept + sent.line.slope * x[at]))
  }
  return figure
}

// A density has fine cells, and points, where it is seen: if that is elsewhere now, the server is told.
function look(picture) {
  clearTimeout(picture.pause)
  picture.pause = setTimeout(() => {
    const { sent, tell } = picture
    const plot = plotOf(picture)
    if (!pictures.has(picture) || !sent.zoom || !plot?.layout.meta?.startsWith?.(sent.name)) return
    if (plot._dragging) return look(picture)
    const told = JSON.stringify([sent.name, seenIn(plot, sent.zoom.whole)])
    if (told === picture.told || told === JSON.stringify([sent.name, sent.zoom.ends])) return
    picture.told = told
    tell("zoomed", { of: sent.zoom.of, ends: seenIn(plot, sent.zoom.whole) })
  }, PAUSE)
}

// Plotly does so itself, but not a second time: in between Streamlit has drawn what it took over.
function keepZoom(picture, plot, layout) {
  const { whole } = picture
  picture.whole = picture.sent.zoom?.whole
  if (!whole || !picture.whole || plot.layout.uirevision !== layout.uirevision || !seenIn(plot, whole).length) return
  for (const axis of ["xaxis", "yaxis"]) {
    const { range, autorange } = plot._fullLayout[axis]
    Object.assign(layout[axis], autorange ? { autorange } : { range: [...range], autorange: false })
  }
}

// The ends of both axes, or nothing if all is seen.
function seenIn(plot, whole) {
  const { xaxis, yaxis } = plot._fullLayout
  const hasAllLengths = xaxis.autorange || whole.every((end, at) => Math.abs(end - xaxis.range[at]) < 1e-6)
  const isWhole = yaxis.autorange && hasAllLengths
  return isWhole ? [] : [...xaxis.range, ...yaxis.range]
}

function plotOf({ sent }) {
  return document.querySelector(`.st-key-${sent.chart} .js-plotly-plot`)
}

function soon(picture) {
  picture.frame ||= requestAnimationFrame(() => {
    picture.frame = 0
    if (pictures.has(picture)) draw(picture)
  })
}

async function draw(picture) {
  const { sent, host } = picture
  const plot = plotOf(picture)
  const isThere = window.Plotly && plot?.calcdata && plot.layout.width // which Streamlit sets in a second drawing
  const isHeld = plot?._dragging // Plotly moves the axes on from where they were when a visitor took hold of them
  const isReady = isThere && !isHeld && (!sent.n_clouds || sent.labels || labels.has(sent.sample))
  if (!isReady) return soon(picture)
  const name = `${sent.name} ${themed(Object.keys(sent.colours).join(), sent.colours, host)}`
  if (plot.layout.meta === name) return look(picture)
  const isOfTheme = plot.layout.template?.layout?.paper_bgcolor === backgroundOf(host)
  if (!isOfTheme && picture.waited++ < MOST_FRAMES) return soon(picture)
  picture.waited = 0
  if (!watched.has(plot)) {
    watched.add(plot)
    plot.on("plotly_afterplot", () => pictures.forEach(soon)) // it may be Streamlit that drew
    plot.on("plotly_relayout", () => pictures.forEach(look))
    plot.on("plotly_click", ({ points }) => { // a cell is nothing to select: Plotly lets all points fade
      if (points[0]?.data.type === "heatmap") window.Plotly.restyle(plot, { selectedpoints: null })
    })
  }
  const { data, layout } = figureOf(picture)
  const { template, width, height, dragmode, clickmode } = plot.layout
  const margin = { ...layout.margin } // no less than it took so far, or all would be drawn twice
  for (const side in margin) margin[side] = Math.max(margin[side], plot._fullLayout._size[side])
  Object.assign(layout, { meta: name, template, width, height, margin, dragmode, clickmode })
  keepZoom(picture, plot, layout)
  plot.closest("[data-testid=stPlotlyChart]")?.setAttribute("aria-label", sent.alt)
  const { emit } = plot
  plot.emit = (event, ...about) => event !== "plotly_selected" && emit.call(plot, event, ...about) // no visitor did
  try {
    await window.Plotly.react(plot, data, layout, plot._context)
  } finally {
    plot.emit = emit
  }
  plot.emit("plotly_redraw") // Streamlit takes over what is drawn
  look(picture)
}

// A line of JSON, and more of the same object, compressed.
async function unpacked(data) {
  const end = data.indexOf("\n".charCodeAt(0))
  const stream = new Blob([data.subarray(end + 1)]).stream().pipeThrough(new DecompressionStream("deflate"))
  const more = await new Response(stream).json()
  return Object.assign(more, JSON.parse(new TextDecoder().decode(data.subarray(0, end))))
}

function take(sent, picture, host, tell) {
  if (!sent.figure) {
    labels.clear()
    labels.set(sent.sample, sent.labels)
    pictures.forEach(soon)
    return
  }
  Object.assign(picture, { sent, host, tell })
  pictures.add(picture)
  draw(picture)
}

export default function ({ data, parentElement, setTriggerValue }) {
  const picture = (parentElement.picture ??= { frame: 0, waited: 0, n_sent: 0 })
  const number = ++picture.n_sent // meanwhile something newer may be sent
  unpacked(data).then((sent) => {
    if (number === picture.n_sent) take(sent, picture, parentElement.host, setTriggerValue)
  })
  return () => {
    picture.n_sent++
    pictures.delete(picture)
    cancelAnimationFrame(picture.frame)
    clearTimeout(picture.pause)
  }
}
