// A chart; see chart.py. Everything that outlives a redraw is on the element `plot`.

const TRIES = 4
const PAUSE = 1000 // milliseconds before another try
const ARRAYS = {
  i1: Int8Array,
  u1: Uint8Array,
  i2: Int16Array,
  u2: Uint16Array,
  i4: Int32Array,
  u4: Uint32Array,
  f4: Float32Array,
  f8: Float64Array,
}
const isTouch = matchMedia("(pointer: coarse)").matches

const wait = (time) => new Promise((resolve) => setTimeout(resolve, time))

async function retry(attempt) {
  for (let n = 1; ; n++) {
    try {
      return await attempt()
    } catch (error) {
      if (n === TRIES) throw error
      await wait(PAUSE)
    }
  }
}

// Components run from a blob, so addresses are of the document.
const resolve = (address) => new URL(address, document.baseURI)

function loadScript(address) {
  return new Promise((done, fail) => {
    const script = document.createElement("script")
    script.src = resolve(address)
    script.onload = () => done(window.Plotly)
    script.onerror = () => {
      script.remove()
      fail(new Error("The script of charts does not load. Reload the page."))
    }
    document.head.append(script)
  })
}

// One script for all charts of the window, and a new try by the next chart where it fails.
function loadPlotly(address) {
  window.clsvizPlotly ??= retry(() => loadScript(address)).catch((error) => {
    window.clsvizPlotly = undefined
    throw error
  })
  return window.clsvizPlotly
}

async function fetchFigure(address) {
  const answer = await fetch(resolve(address))
  if (!answer.ok) throw new Error("The picture does not load. Reload the page.")
  return answer.text()
}

// Arrays in base64 as typed arrays: Plotly would decode them anew each time that it reads one.
function decode(value) {
  if (Array.isArray(value)) return value.map(decode)
  if (value === null || typeof value !== "object") return value
  if (value.bdata === undefined) {
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, decode(inner)]))
  }
  const bytes = Uint8Array.from(atob(value.bdata), (letter) => letter.charCodeAt(0))
  const flat = new ARRAYS[value.dtype](bytes.buffer)
  if (!value.shape) return flat
  const [rows, columns] = String(value.shape).split(",").map(Number)
  return Array.from({ length: rows }, (_, n) => flat.subarray(n * columns, (n + 1) * columns))
}

// The colours of the figure, which are those of the light theme, replaced by the page's.
function paint(text, theme, style) {
  const colours = {}
  for (const [colour, role] of Object.entries(theme)) {
    const [name, place] = role.split(" ")
    const values = style.getPropertyValue(`--st-${name}`).match(/[^,(]+(\([^)]*\))?/g) ?? []
    colours[colour] = values[place]?.trim() ?? colour
  }
  return text.replace(/"(#[0-9a-f]{6})([0-9a-f]{2})?"/g, (match, colour, alpha = "") => {
    const own = colours[colour]
    if (!own) return match
    return own.length === 7 ? `"${own}${alpha}"` : `"${own}"`
  })
}

function fit(layout, style) {
  layout.font.family = style.getPropertyValue("--st-font")
  if (!isTouch) return
  layout.dragmode = false // a finger scrolls the page
  for (const [name, axis] of Object.entries(layout)) if (/^[xy]axis/.test(name)) axis.fixedrange = true
}

// Traces with a style for picked points show which ones are.
function mark(data, rows) {
  for (const trace of data) {
    if (!trace.selected) continue
    const places = rows.map((row) => trace.customdata.indexOf(row)).filter((place) => place >= 0)
    trace.selectedpoints = places.length ? places : null
  }
}

function configure(Plotly, { dragmode }) {
  const save = (format, title) => ({
    name: format,
    title,
    icon: format === "png" ? Plotly.Icons.camera : Plotly.Icons.disk,
    click: (plot) => Plotly.downloadImage(plot, { format, filename: "clsviz", scale: 2 }),
  })
  const files = [save("png", "Download as PNG"), save("svg", "Download as SVG")]
  const tools = ["zoom2d", "pan2d", "select2d", "lasso2d"]
  return {
    displaylogo: false,
    displayModeBar: !isTouch && dragmode !== false ? "hover" : false,
    modeBarButtons: [tools, ["resetScale2d"], files],
    doubleClick: "reset",
    responsive: false,
  }
}

async function draw(plot) {
  if (plot.isDrawing || plot.isHeld || !plot.isStale) return
  plot.isDrawing = true
  plot.isStale = false
  try {
    await redraw(plot)
  } catch (error) {
    window.Plotly?.purge(plot)
    plot.textContent = error.message
    plot.isHeard = false
  }
  plot.isDrawing = false
  draw(plot) // another figure may have come
}

async function redraw(plot) {
  const { address, figure, plotly, theme } = plot.content
  if (address && plot.fetched?.address !== address) {
    plot.fetched = { address, text: retry(() => fetchFigure(address)) }
  }
  const [Plotly, text] = await Promise.all([loadPlotly(plotly), figure || plot.fetched.text])
  if (!plot.isConnected) return
  const style = getComputedStyle(plot)
  const { data, layout } = decode(JSON.parse(paint(text, theme, style)))
  fit(layout, style)
  mark(data, plot.rows)
  if (!plot.isHeard) plot.replaceChildren()
  await Plotly.react(plot, data, layout, configure(Plotly, layout))
  if (!plot.isHeard) listen(plot)
  plot.isHeard = true
  if (plot.hovered !== undefined) hover(Plotly, plot)
}

// A label stays through a redraw.
function hover(Plotly, plot) {
  const points = plot.data.flatMap(({ customdata }, curveNumber) => {
    const pointNumber = customdata ? customdata.indexOf(plot.hovered) : -1
    return pointNumber < 0 ? [] : [{ curveNumber, pointNumber }]
  })
  if (points.length) Plotly.Fx.hover(plot, points)
}

function listen(plot) {
  const rowsOf = (points) => points.map(({ customdata }) => customdata).filter(Number.isInteger)
  const pick = (rows) => {
    if (plot.isDrawing) return // Plotly tells of its own redraws too
    plot.rows = rows
    plot.report(rows)
    if (!plot.data.some(({ selected }) => selected)) return
    plot.isStale = true
    draw(plot)
  }
  plot.on("plotly_click", ({ points }) => {
    const rows = rowsOf(points).slice(0, 1)
    if (rows.length) pick(points[0].data.selected && String(plot.rows) === String(rows) ? [] : rows)
  })
  plot.on("plotly_selected", (event) => event?.points && pick(rowsOf(event.points)))
  plot.on("plotly_deselect", () => plot.rows.length && pick([]))
  plot.on("plotly_hover", ({ points: [point] }) => (plot.hovered = point.customdata))
  plot.on("plotly_unhover", () => (plot.hovered = undefined))
}

function mount(parent) {
  const plot = document.createElement("div")
  const leaving = new AbortController()
  const { signal } = leaving
  const sizes = new ResizeObserver(() => {
    if (plot.isHeard && plot.clientWidth) window.Plotly.Plots.resize(plot)
  })
  plot.rows = []
  plot.setAttribute("role", "figure")
  plot.addEventListener("pointerdown", () => (plot.isHeld = true), { signal, capture: true })
  const release = async () => {
    await wait(0) // Plotly hears of it first
    plot.isHeld = false
    draw(plot)
  }
  for (const event of ["pointerup", "pointercancel"]) window.addEventListener(event, release, { signal })
  plot.leave = () => {
    leaving.abort()
    sizes.disconnect()
    window.Plotly?.purge(plot)
    plot.remove()
  }
  parent.append(plot)
  sizes.observe(plot)
  return plot
}

export default function ({ data, parentElement, setStateValue }) {
  const plot = (parentElement.plot ??= mount(parentElement))
  if (plot.content && plot.content.table !== data.table) plot.rows = []
  plot.content = data
  plot.report = (rows) => setStateValue("picked", { rows, table: data.table, time: Date.now() })
  plot.style.height = `${data.height}px`
  plot.setAttribute("aria-label", data.alt)
  plot.isStale = true
  draw(plot)
  return () => {
    plot.leave()
    delete parentElement.plot
  }
}
