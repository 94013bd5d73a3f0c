"""Opens every page of the site in headless Chromium, wide and narrow, from file://.

    python docs/_extensions/check_in_browser.py build/docs [--screenshots FOLDER]

A page must have no errors in the console, must not be wider than the window, and must load its pictures. Text must have
enough contrast (WCAG's ratio of 4.5, of 3 for large text) on light and dark pages. The search must find `tanh`.
"""

import argparse
import shutil
import sys
from itertools import product
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

#: Names of the browser on Linux, in the order of preference.
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SIZES = {"wide": (1280, 900), "narrow": (390, 844)}
MODES = ("light", "dark")
#: The pages of the screenshots, one of each kind.
KINDS = ("index", "first-minutes", "numpy-and-torch", "guides/index", "guides/from-pytorch", "guides/sharp-bits")
KINDS += ("gallery/index", "gallery/statistics/plot_kalman", "gallery/physics/plot_lens", "reference/index")
KINDS += ("reference/names/adjoint.linalg", "how-it-works/index", "engine", "benchmarks", "errors/index", "glossary")
#: The number of pixels by which the content is wider than the window.
OVERFLOW = "document.documentElement.scrollWidth - window.innerWidth"
BROKEN = "[...document.images].filter(i => i.loading !== 'lazy' && !(i.complete && i.naturalWidth)).map(i => i.src)"
#: Elements with text whose contrast is too small: text, ratio.
CONTRAST = """() => {
  const parse = text => {
    const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    canvas.fillStyle = text; canvas.fillRect(0, 0, 1, 1);
    const c = [...canvas.getImageData(0, 0, 1, 1).data]; c[3] /= 255;
    return c;
  };
  const cache = {};
  const colour = text => cache[text] ??= parse(text);
  const light = c => [0, 1, 2].reduce((sum, k) => {
    const v = c[k] / 255;
    return sum + [0.2126, 0.7152, 0.0722][k] * (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  }, 0);
  const behind = element => {
    for (let e = element; e; e = e.parentElement) {
      const c = colour(getComputedStyle(e).backgroundColor);
      if (c[3] > 0.99) return c;
    }
    return [255, 255, 255, 1];
  };
  const found = [];
  for (const e of document.querySelectorAll('body *')) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    const box = e.getBoundingClientRect(), style = getComputedStyle(e);
    if (!own || !box.width || !box.height || style.visibility === 'hidden' || +style.opacity < 0.1) continue;
    if (!e.checkVisibility({opacityProperty: true, visibilityProperty: true}) || e.closest('svg')) continue;
    const [a, b] = [light(colour(style.color)), light(behind(e))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.6 && +style.fontWeight >= 700);
    if (ratio < (large ? 3 : 4.5)) found.push(`${e.textContent.trim().slice(0, 30)} ${ratio.toFixed(2)}`);
  }
  return found;
}"""


def check_page(page: Page, path: Path) -> list[str]:
    """One line for each fault of a page at the present size of the window."""
    messages: list[str] = []

    def note(message: object) -> None:
        messages.append(str(getattr(message, "text", message)))

    def note_error(message: object) -> None:
        if getattr(message, "type", "") in ("error", "warning"):
            note(message)

    page.on("console", note_error)
    page.on("pageerror", note)
    page.on("requestfailed", lambda request: messages.append(f"not loaded: {request.url}"))
    page.goto(path.as_uri(), wait_until="load")
    faults = [f"console: {message}" for message in messages]
    wider = page.evaluate(OVERFLOW)
    faults += [f"{wider} pixels wider than the window"] if wider > 0 else []
    faults += [f"picture not loaded: {source}" for source in page.evaluate(BROKEN)]
    page.remove_listener("console", note_error)
    page.remove_listener("pageerror", note)
    return faults


def show(page: Page, mode: str) -> None:
    """Show a page light or dark, at once."""
    page.add_style_tag(content="* { transition: none !important }")
    page.evaluate(f"() => document.documentElement.dataset.theme = '{mode}'")
    page.wait_for_timeout(50)


def check_contrast(page: Page) -> list[str]:
    """Texts of the page without enough contrast."""
    faults = []
    for mode in MODES:
        show(page, mode)
        faults += [f"{mode}: contrast of {text}" for text in page.evaluate(CONTRAST)]
    return faults


def check_search(page: Page, folder: Path) -> list[str]:
    """The search for tanh finds its entry of the reference."""
    page.goto(f"{(folder / 'search.html').as_uri()}?q=tanh", wait_until="load")
    try:
        page.wait_for_selector("#search-results li a", timeout=20000)
    except Exception as error:
        return [f"search: no results ({error})"]
    links = page.eval_on_selector_all("#search-results li a", "all => all.map(a => a.href)")
    return [] if any("#adjoint.tanh" in link for link in links) else [f"search: no adjoint.tanh among {links[:9]}"]


def check(folder: Path, browser: Browser, screenshots: Path | None) -> list[str]:
    messages = []
    paths = sorted(path for path in folder.rglob("*.html") if "_static" not in path.parts)
    for size, (width, height) in SIZES.items():
        page = browser.new_context(viewport={"width": width, "height": height}).new_page()
        for path in paths:
            faults = check_page(page, path)
            if size == "wide":  # colours do not depend on it
                faults += check_contrast(page)
            messages += [f"{path.relative_to(folder)}, {size}: {fault}" for fault in faults]
        messages += check_search(page, folder)
        for kind, mode in product(KINDS if screenshots else (), MODES):
            page.goto((folder / f"{kind}.html").as_uri())
            show(page, mode)
            page.screenshot(path=f"{screenshots}/{kind.replace('/', '-')}-{size}-{mode}.png")
    print(f"{len(paths)} pages at {len(SIZES)} sizes, {len(messages)} faults")
    return messages


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--screenshots", type=Path)
    options = parser.parse_args()
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        print("no browser: install chromium", file=sys.stderr)
        return 1
    if options.screenshots:
        options.screenshots.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        faults = check(options.folder.resolve(), browser, options.screenshots)
        browser.close()
    print("\n".join(faults[:60]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
