"""Where the commands find the repository, and where they build."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "trust"
