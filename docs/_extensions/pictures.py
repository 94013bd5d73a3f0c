"""The style of the gallery's pictures: a white background, on light and on dark pages."""

from typing import Any

#: Colours that also differ in lightness, so that they differ in grey.
COLOURS = ["#0b5fa5", "#d1601f", "#2a8c4a", "#8e44ad", "#b8860b", "#444444"]


def style(gallery: dict[str, Any], file: str) -> None:
    """Set matplotlib's defaults before each program."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    plt.rcdefaults()
    plt.rcParams.update(
        {
            "figure.figsize": (7.0, 4.0),
            "figure.dpi": 110,
            "figure.constrained_layout.use": True,
            "figure.facecolor": "white",
            "savefig.facecolor": "white",
            "axes.prop_cycle": plt.cycler(color=COLOURS),
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlesize": 11,
            "axes.grid": False,
            "legend.frameon": False,
            "font.size": 10,
        }
    )
