// Takes away the page that stands still, piece by piece as Streamlit draws the same, and all of it where that draws
// anything else; see web/still.py.
(() => {
  const still = document.getElementById("still")
  const column = still.querySelector(".column")
  const began = location.pathname + location.search
  const PICTURE = ".js-plotly-plot :is(.gl-canvas, .trace, .heatmaplayer image)"
  const OTHER = "[data-testid=stMain] :is([data-testid=stAlert], [data-testid=stException]), [role=dialog]"
  const PAUSE = 300 // milliseconds, in which Streamlit draws a new chart a second time
  const FADE = matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 200
  let frame = 0
  let isDrawn = false

  const said = (node) => node?.textContent.replace(/\s+/g, " ").trim()
  const live = (selector) => document.querySelector(`#root ${selector}`)

  function leave() {
    changes.disconnect()
    document.removeEventListener("scroll", follow, true)
    still.remove()
  }

  // What a visitor has chosen for good: no sidebar, or a theme.
  function recall() {
    for (const [name, value] of Object.entries(localStorage)) {
      if (name.startsWith("stSidebarCollapsed") && value === "true") leave()
      const theme = name.startsWith("stActiveTheme") && /light|dark/i.exec(value)
      if (theme && name.includes(`-${location.pathname}-`)) still.dataset.theme = theme[0].toLowerCase()
    }
  }

  function look() {
    frame = 0
    const question = said(live("h1"))
    const isOther = question && question !== said(still.querySelector(".question b"))
    if (isOther || live(OTHER) || location.pathname + location.search !== began) return leave()
    const side = still.querySelector(".side")
    if (side && live("[data-testid=stSidebar]")) side.remove()
    if (live(".st-key-answer h2")) still.querySelector(".head").style.visibility = "hidden"
    if (isDrawn || !live(PICTURE)) return
    isDrawn = true
    setTimeout(() => {
      still.animate({ opacity: [1, 0] }, { duration: FADE, fill: "forwards" }).finished.then(leave)
    }, PAUSE)
  }

  function follow({ target }) {
    if (target.matches?.("[data-testid=stMain]")) column.style.transform = `translateY(${-target.scrollTop}px)`
  }

  const changes = new MutationObserver(() => { frame ||= requestAnimationFrame(look) })
  changes.observe(document.getElementById("root"), { childList: true, subtree: true })
  document.addEventListener("scroll", follow, true)
  try {
    recall()
  } catch { // where a browser lets nobody remember anything
  }
})()
