// Scrolls to parts of the page; see into_view.py.

const MARGIN = 12 // pixels around what is brought into view, as it may have a frame

const NARROW = "(max-width: 768px)" // where the sidebar lies over the page

function boxesOf(keys) {
  const parts = keys.map((key) => document.querySelector(`.st-key-${key}`)).filter(Boolean)
  return parts.map((part) => part.getBoundingClientRect()).filter((box) => box.height)
}

function closeSidebar() {
  if (!matchMedia(NARROW).matches) return
  document.querySelector("[data-testid=stSidebarCollapseButton] button")?.click() // which is there while it is open
}

// How far to scroll until what lies between top and bottom is seen between start and end, or else its beginning.
function distance(top, bottom, start, end) {
  if (top < start || bottom - top > end - start) return top - start
  return Math.max(0, bottom - end)
}

function bring({ keys, below }) {
  const boxes = boxesOf(keys)
  const main = document.querySelector("[data-testid=stMain]")
  if (!boxes.length || !main) return
  closeSidebar()
  const header = document.querySelector("[data-testid=stHeader]")?.getBoundingClientRect().bottom ?? 0
  const [cover] = boxesOf([below])
  const start = Math.max(header, main.getBoundingClientRect().top) + MARGIN
  const end = (cover?.top ?? main.getBoundingClientRect().bottom) - MARGIN
  const top = Math.min(...boxes.map((box) => box.top))
  const bottom = Math.max(...boxes.map((box) => box.bottom))
  const behavior = matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth"
  main.scrollBy({ top: distance(top, bottom, start, end), behavior })
}

export default function ({ data, parentElement }) {
  if (parentElement.occasion === data.occasion) return
  parentElement.occasion = data.occasion
  requestAnimationFrame(() => bring(data)) // once what was sent with it has its place
}
