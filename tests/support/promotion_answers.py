"""The promotion of dtypes: PyTorch's answers (tests/arrays/data/promotion.json), or else those of the standard.

PyTorch refuses uint16, uint32 and uint64 with other integers, truth values and complex numbers. The array API
standard's rule for integers is NumPy's rule, except that uint64 with a signed integer has no rule. Truth values and
complex numbers combine with these types as with all integers.
"""

import json
import re
from pathlib import Path

import numpy as np

NAMES = {
    "Bool": "bool", "Byte": "uint8", "Char": "int8", "Short": "int16", "Int": "int32", "Long": "int64",
    "UInt16": "uint16", "UInt32": "uint32", "UInt64": "uint64", "ComplexFloat": "complex64",
    "ComplexDouble": "complex128",
}  # fmt: skip


def without_refusals(answers):
    if isinstance(answers, dict):
        return {key: without_refusals(value) for key, value in answers.items()}
    if isinstance(answers, list):
        return [without_refusals(value) for value in answers]
    refused = re.match("RuntimeError: Promotion for uint16.* attempted to promote (.+) and (.+)", str(answers))
    if not refused:
        return answers
    pair = [NAMES[name] for name in refused.groups()]
    for name in pair:
        if name.startswith("complex"):
            return name
    kind = np.result_type(*pair)
    return kind.name if kind.kind in "iu" else answers


ANSWERS = without_refusals(
    json.loads((Path(__file__).parents[1] / "arrays" / "data" / "promotion.json").read_text(encoding="utf-8"))
)
