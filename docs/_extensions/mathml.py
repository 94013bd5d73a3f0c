"""Formulas as MathML. Browsers draw it without a script and without fonts of another host."""

from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)


def translate(node: Any, block: bool) -> str:
    """The MathML of a node's LaTeX; a formula that cannot be translated is a warning, and so an error of the build."""
    try:
        return tex2mathml(node.astext().strip(), as_block=block)
    except Exception as error:
        LOGGER.warning("no MathML for %r: %s", node.astext(), error, location=node)
        return ""


def visit_inline(self: Any, node: Any) -> None:
    self.body.append(translate(node, block=False))
    raise nodes.SkipNode


def visit_block(self: Any, node: Any) -> None:
    self.body.append(f'<div class="formula">{translate(node, block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.config.html_math_renderer_name = "mathml"
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
