"""The documentation site: `make docs` builds it into build/docs."""

import os
import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS / "_extensions"))
os.environ.setdefault("PYTHONHASHSEED", "0")

import pictures  # noqa: E402

import adjoint  # noqa: E402

project = "adjoint"
author = "The adjoint developers"
copyright = "The adjoint developers"
version = release = adjoint.__version__

extensions = ["myst_parser", "sphinx_gallery.gen_gallery", "mathml", "repository", "reference"]
exclude_patterns = ["_extensions", "releasing.md", "gallery/**/*.ipynb", "gallery/**/*.py", "**/sg_execution_times.rst"]
exclude_patterns += ["sg_execution_times.rst"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
myst_enable_extensions = ["dollarmath", "deflist", "attrs_block"]
myst_heading_anchors = 4
highlight_language = "python"
suppress_warnings = ["config.cache", "ref.python"]  # the gallery has a function among its options; types of one name
python_maximum_signature_line_length = 100
toc_object_entries_show_parents = "hide"

html_theme = "pydata_sphinx_theme"
html_title = "adjoint"
html_logo = "images/logo.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_search_summary = False  # a browser lets no page from file:// read another one
html_baseurl = "https://adjoint-autograd.github.io/adjoint/"
html_last_updated_fmt = None
html_theme_options = {
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "show_prev_next": True,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}
html_sidebars = {"index": [], "first-minutes": [], "glossary": []}

sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"/_",
    "abort_on_example_error": True,
    "only_warn_on_example_error": False,
    "plot_gallery": "True",
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": True,
    "copyfile_regex": r".*\.rst",
    "subsection_order": [
        f"../examples/{name}" for name in ("dynamics", "physics", "imaging", "statistics", "programs")
    ],
    "default_thumb_file": str(DOCS / "images" / "program.png"),
    "within_subsection_order": "FileNameSortKey",
    "thumbnail_size": (400, 280),
    "reset_modules": (pictures.style,),
    "min_reported_time": 0,
    "image_srcset": [],
    "doc_module": (),
    "first_notebook_cell": "%matplotlib inline",
}
