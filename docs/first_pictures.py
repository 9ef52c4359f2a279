"""What each page shows until it is drawn, found in a browser: python -m docs.first_pictures (part of make showcase).

Of the first chart of each page, the plot area as an image, light and dark; and where it and the answer are: measured in
two widths of each layout, as between them they move with the width.
"""

import html
import io
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from clsviz.ui.state.serving import PATHS
from clsviz.web.page import FIRST
from tests.support.visit import launch, serve

WIDTHS = {"wide": (1400, 1000), "narrow": (390, 600)}

PLACES = """() => {
  const place = (node) => {
    const { left, right, top, height } = node.getBoundingClientRect()
    const { fontSize, fontWeight } = getComputedStyle(node)
    return { left, right: innerWidth - right, top, height, size: fontSize, weight: fontWeight, text: node.innerText }
  }
  const area = document.querySelector(".js-plotly-plot .nsewdrag")
  return { texts: [...document.querySelectorAll("h1, .st-key-answer h2")].map(place), area: place(area) }
}"""


def opened(browser: Browser, address: str, width: int, scheme: str) -> Page:
    """The page, once its chart is drawn and nothing moves any more."""
    page = browser.new_page(viewport={"width": width, "height": 1000}, color_scheme=scheme, reduced_motion="reduce")
    page.goto(address)
    page.locator(".js-plotly-plot .main-svg").first.wait_for()
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()
    page.wait_for_timeout(3_000)
    return page


def picture(page: Page) -> bytes:
    """The plot area of the first chart, as WebP."""
    taken = page.screenshot(clip=page.locator(".js-plotly-plot .nsewdrag").first.bounding_box())
    content = io.BytesIO()
    Image.open(io.BytesIO(taken)).convert("RGB").save(content, "WEBP", quality=60, method=6)
    return content.getvalue()


def moving(ends: list[float], widths: tuple[int, int]) -> str:
    """A distance that is ends[0] and ends[1] in windows of these widths."""
    share = (ends[0] - ends[1]) / (widths[0] - widths[1])
    if abs(share) < 1e-4:
        return f"{ends[0]:.1f}px"
    return f"calc({ends[0] - share * widths[0]:.1f}px + {100 * share:.3f}vw)"


def layout(name: str, found: list[dict], widths: tuple[int, int], image: str) -> str:
    """The answer and the picture in one layout; found: what PLACES has in both widths."""

    def at(one: dict, other: dict) -> str:
        left, right = (moving([one[side], other[side]], widths) for side in ("left", "right"))
        return f"left:{left};right:{right};top:{one['top']:.1f}px"

    texts = [
        f'<b style="{at(one, other)};font:{one["weight"]} {one["size"]}/1.2 var(--font)">{html.escape(one["text"])}</b>'
        for one, other in zip(found[0]["texts"], found[1]["texts"], strict=True)
    ]
    area, of_area = found[0]["area"], at(found[0]["area"], found[1]["area"])
    width = " - ".join(moving([where["area"][side] for where in found], widths) for side in ("left", "right"))
    style = f"{of_area};width:calc(100vw - {width});height:{area['height']:.1f}px"
    source = f'<source srcset="./first/{image}-dark.webp" media="(prefers-color-scheme: dark)">'
    drawn = f'<picture>{source}<img src="./first/{image}-light.webp" style="{style}" alt=""></picture>'
    return f'<div class="{name}">{"".join(texts)}{drawn}</div>'


def main() -> None:
    """Write everything anew."""
    with tempfile.TemporaryDirectory() as folder, serve(Path(folder)) as address, sync_playwright() as playwright:
        browser = launch(playwright)
        for path in PATHS:
            name = path or "norm_vs_length"
            layouts = ""
            for kind, widths in WIDTHS.items():
                found = []
                for width in widths:
                    page = opened(browser, address + path, width, "light")
                    found.append(page.evaluate(PLACES))
                    if width == WIDTHS["wide"][0]:
                        (FIRST / f"{name}-light.webp").write_bytes(picture(page))
                    page.close()
                layouts += layout(kind, found, widths, name)
            page = opened(browser, address + path, WIDTHS["wide"][0], "dark")
            (FIRST / f"{name}-dark.webp").write_bytes(picture(page))
            page.close()
            layer = f'<div id="first" aria-hidden="true">{layouts}</div>\n'
            (FIRST / f"{name}.html").write_text(layer, encoding="utf-8")


if __name__ == "__main__":
    main()
