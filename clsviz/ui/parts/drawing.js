// Draws what is sent into a chart of Streamlit's; see drawing.py.

const ARRAYS = {
  i1: Int8Array, u1: Uint8Array, i2: Int16Array, u2: Uint16Array, i4: Int32Array, u4: Uint32Array, f4: Float32Array,
  f8: Float64Array,
}

const labels = new Map() // of the points, by sample: those of the last one

const pictures = new Set()

const watched = new WeakSet()

const MOST_FRAMES = 120 // to wait for Streamlit to change a theme

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

function themed(text, colours, host) {
  const categories = getComputedStyle(host).getPropertyValue("--st-chart-categorical-colors").split(",")
  const of = { ...categories, background: backgroundOf(host) }
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

function figureOf({ sent, host }) {
  const figure = JSON.parse(themed(JSON.stringify(sent.figure), sent.colours, host))
  for (const trace of figure.data) {
    for (const [name, value] of Object.entries(trace)) trace[name] = decoded(value)
  }
  const numbers = numbersOf(sent.is_drawn)
  let start = 0
  for (const trace of figure.data.slice(0, sent.n_clouds)) {
    const { x, y } = trace
    trace.text = numbers.slice(start, start += x.length).map((number) => labels.get(sent.sample)[number])
    if (sent.line) trace.customdata = y.map((norm, at) => norm - (sent.line.intercept + sent.line.slope * x[at]))
  }
  return figure
}

function soon(picture) {
  picture.frame ||= requestAnimationFrame(() => {
    picture.frame = 0
    if (pictures.has(picture)) draw(picture)
  })
}

async function draw(picture) {
  const { sent, host } = picture
  const plot = document.querySelector(`.st-key-${sent.chart} .js-plotly-plot`)
  const isThere = window.Plotly && plot?.calcdata && plot.layout.width // which Streamlit sets in a second drawing
  const isReady = isThere && (!sent.n_clouds || labels.has(sent.sample))
  if (!isReady) return soon(picture)
  const name = `${sent.name} ${themed(Object.keys(sent.colours).join(), sent.colours, host)}`
  if (plot.layout.meta === name) return
  const isOfTheme = plot.layout.template?.layout?.paper_bgcolor === backgroundOf(host)
  if (!isOfTheme && picture.waited++ < MOST_FRAMES) return soon(picture)
  picture.waited = 0
  if (!watched.has(plot)) {
    watched.add(plot)
    plot.on("plotly_afterplot", () => pictures.forEach(soon)) // it may be Streamlit that drew
  }
  const { data, layout } = figureOf(picture)
  const { template, width, height, dragmode, clickmode } = plot.layout
  const margin = { ...layout.margin } // no less than it took so far, or all would be drawn twice
  for (const side in margin) margin[side] = Math.max(margin[side], plot._fullLayout._size[side])
  Object.assign(layout, { meta: name, template, width, height, margin, dragmode, clickmode })
  plot.closest("[data-testid=stPlotlyChart]")?.setAttribute("aria-label", sent.alt)
  const { emit } = plot
  plot.emit = (event, ...about) => event !== "plotly_selected" && emit.call(plot, event, ...about) // no visitor did
  try {
    await window.Plotly.react(plot, data, layout, plot._context)
  } finally {
    plot.emit = emit
  }
  plot.emit("plotly_redraw") // Streamlit takes over what is drawn
}

export default function ({ data, parentElement }) {
  const sent = JSON.parse(new TextDecoder().decode(data))
  if (sent.labels) {
    labels.clear()
    labels.set(sent.sample, sent.labels)
    pictures.forEach(soon)
    return
  }
  const picture = (parentElement.picture ??= { frame: 0, waited: 0 })
  Object.assign(picture, { sent, host: parentElement.host })
  pictures.add(picture)
  draw(picture)
  return () => {
    pictures.delete(picture)
    cancelAnimationFrame(picture.frame)
  }
}
