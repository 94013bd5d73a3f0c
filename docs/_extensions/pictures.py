"""How the gallery's pictures look: on white, which both the light and the dark pages show behind them."""

from typing import Any

#: Colours that differ in lightness, too, so that they can be told apart in grey.
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
