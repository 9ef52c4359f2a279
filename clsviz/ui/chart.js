// A chart; see chart.py. Everything that outlives a redraw is on the element `plot`.

const TRIES = 4
const PAUSE = 1000 // milliseconds between two tries
const SECONDS = 30 // in which a script loads
const ECHO = 500 // milliseconds: a tap arrives as two clicks
const MOST_LARGE = 10 // picked points; with more, colour suffices
const ARRAYS = { i1: Int8Array, i2: Int16Array, i4: Int32Array, f4: Float32Array, f8: Float64Array }
Object.assign(ARRAYS, { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array })

const isTouch = matchMedia("(pointer: coarse)").matches
const wait = (time) => new Promise((resolve) => setTimeout(resolve, time))

// Plotly's script is in the head of the page; see web.py.
async function loadPlotly() {
  for (let n = 0; !window.Plotly; n += 1) {
    if (n > SECONDS * 20) throw new Error("The script of charts does not load. Reload the page.")
    await wait(50)
  }
  return window.Plotly
}

async function fetchFigure(address, tries = TRIES) {
  const answer = await fetch(address).catch(() => undefined)
  if (answer?.ok) return answer.text()
  if (tries === 1) throw new Error("The picture does not load. Reload the page.")
  await wait(PAUSE)
  return fetchFigure(address, tries - 1)
}

// The page's colours by those of the light theme, which figures have.
function coloursOf(theme, style) {
  const entries = Object.entries(theme).map(([colour, role]) => {
    const [name, place] = role.split(" ")
    const values = style.getPropertyValue(`--st-${name}`).match(/[^,(]+(\([^)]*\))?/g) ?? []
    return [colour, values[place]?.trim() ?? colour]
  })
  return Object.fromEntries(entries)
}

// A part of a figure with the page's colours, and typed arrays: Plotly would decode base64 at each use.
function translate(value, colours) {
  if (typeof value === "string") {
    const colour = value.startsWith("#") && colours[value.slice(0, 7)]
    return colour ? (colour.length === 7 ? colour + value.slice(7) : colour) : value
  }
  if (Array.isArray(value)) return value.map((part) => translate(part, colours))
  if (value === null || typeof value !== "object") return value
  if (value.bdata === undefined) {
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, translate(part, colours)]))
  }
  const bytes = Uint8Array.from(atob(value.bdata), (letter) => letter.charCodeAt(0))
  const numbers = new ARRAYS[value.dtype](bytes.buffer)
  if (!value.shape) return numbers
  const [rows, columns] = value.shape.split(",").map(Number)
  return Array.from({ length: rows }, (_, row) => numbers.subarray(row * columns, (row + 1) * columns))
}

function fit(layout, style) {
  layout.font.family = layout.hoverlabel.font.family = style.getPropertyValue("--st-font")
  layout.selectionrevision = Date.now() // picked points are marked by us
  if (!isTouch) return
  layout.dragmode = false // a finger scrolls the page
  for (const name of Object.keys(layout)) if (/^[xy]axis/.test(name)) layout[name].fixedrange = true
}

// Traces with a style for picked points show which ones those are.
function mark(data, rows) {
  for (const trace of data.filter(({ selected }) => selected)) {
    const places = rows.map((row) => trace.customdata.indexOf(row)).filter((place) => place >= 0)
    trace.selectedpoints = places.length ? places : null
    if (places.length > MOST_LARGE) delete trace.selected.marker.size
  }
}

function configure(Plotly, { dragmode }) {
  const save = (name, icon) => ({
    name,
    icon,
    title: `Download as ${name.toUpperCase()}`,
    click: (plot) => Plotly.downloadImage(plot, { format: name, filename: "clsviz", scale: 2 }),
  })
  const files = [save("png", Plotly.Icons.camera), save("svg", Plotly.Icons.disk)]
  return {
    displaylogo: false,
    displayModeBar: !isTouch && dragmode !== false ? "hover" : false,
    modeBarButtons: [["zoom2d", "pan2d", "select2d", "lasso2d"], ["autoScale2d"], files],
    doubleClick: "autosize",
    showTips: false,
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
    plot.config = plot.fetched = undefined
    plot.isReacting = false
  }
  plot.isDrawing = false
  draw(plot) // another figure may have come
}

async function redraw(plot) {
  const { address, figure, theme } = plot.content
  if (address && plot.fetched?.address !== address) plot.fetched = { address, text: fetchFigure(address) }
  const [Plotly, text] = await Promise.all([loadPlotly(), figure || plot.fetched.text])
  if (!plot.isConnected) return
  const { hovered } = plot
  const style = getComputedStyle(plot)
  const { data, layout } = translate(JSON.parse(text), coloursOf(theme, style))
  fit(layout, style)
  mark(data, plot.rows)
  const isNew = !plot.config
  if (isNew) plot.replaceChildren()
  plot.config ??= configure(Plotly, layout) // another one would undo a zoom
  plot.isReacting = true
  await Plotly.react(plot, data, layout, plot.config)
  plot.isReacting = false
  requestAnimationFrame(() => document.getElementById("first-words")?.remove()) // see web.py
  if (isNew) listen(plot)
  if (hovered !== undefined) hover(Plotly, plot, hovered)
}

// The label of a row in a trace comes back after a redraw.
function hover(Plotly, plot, { row, trace }) {
  const points = plot.data.flatMap(({ name, x, y, yaxis = "y", customdata }, curveNumber) => {
    const place = name === trace && yaxis === "y" ? (customdata?.indexOf(row) ?? -1) : -1
    return place < 0 ? [] : [{ curveNumber, xval: x[place], yval: y[place] }]
  })
  if (points.length) Plotly.Fx.hover(plot, points, "xy")
}

function listen(plot) {
  const pick = (points) => {
    if (plot.isReacting) return // the outline of a box goes, the points in it stay picked
    plot.rows = points.map(({ customdata }) => customdata).filter(Number.isInteger)
    plot.report(plot.rows)
    plot.isStale = true
    draw(plot)
  }
  plot.on("plotly_click", ({ points: [point] }) => {
    const { customdata: row, data } = point
    const isEcho = plot.click?.row === row && performance.now() - plot.click.time < ECHO
    if (!Number.isInteger(row) || isEcho) return
    plot.click = { row, time: performance.now() }
    pick(data.selected && String(plot.rows) === String(row) ? [] : [point])
  })
  plot.on("plotly_selected", (event) => event?.points && pick(event.points))
  plot.on("plotly_deselect", () => plot.rows.length && pick([]))
  plot.on("plotly_hover", ({ points: [point] }) => (plot.hovered = { row: point.customdata, trace: point.data.name }))
  plot.on("plotly_unhover", () => (plot.hovered = undefined))
}

function mount(parent) {
  const plot = document.createElement("div")
  const leaving = new AbortController()
  const { signal } = leaving
  const sizes = new ResizeObserver(() => plot.config && plot.clientWidth && window.Plotly.Plots.resize(plot))
  const release = async () => {
    await wait(0) // Plotly hears of it first
    plot.isHeld = false
    draw(plot)
  }
  plot.rows = []
  plot.setAttribute("role", "figure")
  // Streamlit's menu with sections is a list that holds boxes: not a list, to a screen reader
  const menu = '[data-testid="stSidebarNavItems"]'
  for (const node of document.querySelectorAll(`${menu}, ${menu} li`)) node.setAttribute("role", "presentation")
  plot.addEventListener("pointerdown", () => (plot.isHeld = true), { signal, capture: true })
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

window.clsvizChart = ({ data, parentElement, setStateValue }) => {
  const plot = (parentElement.plot ??= mount(parentElement))
  if (plot.content?.table !== data.table) plot.rows = []
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
