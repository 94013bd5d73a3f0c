"""Checks the pages of the site: links lead to files and anchors, and pages load nothing from another host.

python docs/_extensions/check_site.py build/docs
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: Attributes that load something without a click.
LOADED = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("video", "src")}
#: Links of the head that browsers load; others (canonical, search) only name an address.
SHEETS = {"stylesheet", "preload", "modulepreload", "icon", "shortcut icon"}


class Page(HTMLParser):
    """The references of a page, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if value is None:
                continue
            if name == "id" or (name == "name" and tag == "a"):
                self.anchors.add(value)
            if (tag, name) in LOADED:
                self.loaded.append(value)
            if name == "href" and tag == "link" and dict(attributes).get("rel") in SHEETS:
                self.loaded.append(value)
            elif name == "href" and tag == "a":
                self.links.append(value)


def faults(folder: Path) -> list[str]:
    """One line for each fault."""
    pages = {
        path: Page(path.read_text(encoding="utf-8"))
        for path in sorted(folder.rglob("*.html"))
        if "_static" not in path.parts
    }
    messages = []
    for path, page in pages.items():
        where = path.relative_to(folder)
        messages += [f"{where} loads {url} from another host" for url in page.loaded if urlsplit(url).netloc]
        for link in {*page.links, *page.loaded}:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path.resolve()
            if not target.exists():
                messages.append(f"{where} links to {link}, which does not exist")
            elif parts.fragment and target.suffix == ".html":
                anchors = pages[folder.resolve() / target.relative_to(folder.resolve())].anchors
                if unquote(parts.fragment) not in anchors and parts.fragment != "top":
                    messages.append(f"{where} links to {link}: no such anchor")
    for sheet in folder.rglob("*.css"):
        for url in re.findall(
            r"(?:url\(|@import )[\"']?(https?://[^\"') ]+|//[^\"') ]+)", sheet.read_text(encoding="utf-8")
        ):
            messages.append(f"{sheet.relative_to(folder)} loads {url} from another host")
    return messages


def main() -> int:
    folder = Path(sys.argv[1]).resolve()
    messages = faults(folder)
    print("\n".join(messages[:40]))
    n_pages = sum("_static" not in path.parts for path in folder.rglob("*.html"))
    n_pictures = len(list((folder / "_images").glob("sphx_glr_*_thumb.*")))
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 2**20
    print(f"{n_pages} pages, {n_pictures} programs in the gallery, {size:.0f} MiB, {len(messages)} faults")
    return 1 if messages or not n_pages else 0


if __name__ == "__main__":
    sys.exit(main())
