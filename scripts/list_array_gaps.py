"""Write the lists of rules that do not work on the arrays of other libraries, each with the reason.

python scripts/list_array_gaps.py [strict] [dask] [cupy]

tests/arrays/test_strict.py and tests/distributed/test_dask.py compare with them. On array-api-strict a rule may fail
only because the standard has no function that it needs; what else it is that cannot be has to be said in OTHER_REASONS
first.
"""

import json
import re
import runpy
import sys
import warnings
from pathlib import Path

TESTS = Path(__file__).parents[1] / "tests"
sys.path[:0] = [str(TESTS)]

#: Why rules cannot give NumPy's results on array-api-strict although it has all functions that they need.
OTHER_REASONS = {
    "moved": "the samples go to main memory, where arrays are NumPy's",
    "linalg_eigh": "eigenvectors are determined up to a phase, which differs where the upper triangle is given",
}


def strict_gaps() -> dict[str, str]:
    """The rules that array-api-strict has no functions for."""
    from adjoint.rules import TABLE
    from other_arrays import failure_of

    library = runpy.run_path(str(TESTS / "arrays" / "test_strict.py"))["STRICT"]
    gaps = {}
    for name, rule in TABLE.items():
        failure = failure_of(library, rule, every_kind=True)
        if failure is None:
            continue
        missing = re.match(r"MissingFunction: arrays of array_api_strict have no ([\w.]+),", failure)
        if missing:
            gaps[name] = f"the standard has no {missing[1]}"
        elif name in OTHER_REASONS:
            gaps[name] = OTHER_REASONS[name]
        else:
            raise SystemExit(f"{name} fails for no reason that the standard gives: {failure}")
    return gaps


def dask_gaps() -> dict[str, str]:
    """What fails on dask arrays, and the beginning of the error."""
    import dask

    from adjoint.rules import TABLE
    from other_arrays import failure_of

    # tests/distributed cannot be imported by a name that is also dask's
    library = runpy.run_path(str(TESTS / "distributed" / "test_dask.py"))["DASK"]
    with dask.config.set(scheduler="synchronous"):
        found = {name: failure_of(library, rule) for name, rule in TABLE.items()}
    return {name: why[:100].strip() for name, why in found.items() if why is not None}


def cupy_gaps() -> dict[str, str]:
    """The rules that CuPy has no functions for, by the stand-in that has CuPy's names."""
    import stand_in_cupy
    from adjoint.rules import TABLE
    from other_arrays import Library, failure_of

    gaps = {}
    with stand_in_cupy.installed() as cupy:
        library = Library(cupy.asarray, lambda array: array.get(), cupy.ndarray)
        for name, rule in TABLE.items():
            failure = failure_of(library, rule)
            if failure is None:
                continue
            missing = re.match(r"MissingFunction: arrays of cupy have no ([\w.]+),", failure)
            if missing is None and name not in OTHER_REASONS:
                raise SystemExit(f"{name} fails for another reason than a missing function: {failure}")
            gaps[name] = f"CuPy has no {missing[1]}" if missing else OTHER_REASONS[name]
    return gaps


FINDERS = {"strict": strict_gaps, "dask": dask_gaps, "cupy": cupy_gaps}


def main(names: list[str]) -> None:
    from adjoint.rules import TABLE

    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", "Casting complex values")
    for name in names or FINDERS:
        gaps = FINDERS[name]()
        (TESTS / "data" / f"{name}_gaps.json").write_text(json.dumps(dict(sorted(gaps.items())), indent=2) + "\n")
        print(f"{len(TABLE) - len(gaps)} of {len(TABLE)} rules work on the arrays of {name}")


if __name__ == "__main__":
    main(sys.argv[1:])
