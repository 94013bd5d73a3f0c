"""Write the lists of rules that do not work on the arrays of other libraries, each with the reason.

python scripts/list_array_gaps.py [--check] [strict] [dask] [cupy]

Each list has the versions of its measurement. The tests skip a gap that another version has closed. --check (`make
gaps`) writes nothing, and fails if a list is wrong for the installed versions. On array-api-strict a rule may fail only
because the standard lacks a function that it needs. OTHER_REASONS must name any other reason first.
"""

import argparse
import re
import runpy
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1] / "tests"
sys.path[:0] = [str(TESTS)]

#: The reasons why rules differ from NumPy on array-api-strict, although it has all functions that they need.
OTHER_REASONS = {
    "move": "the samples go to main memory, where arrays are NumPy's",
    "linalg_eigh": "eigenvectors are determined up to a phase, which differs where the upper triangle is given",
}


def strict_gaps() -> dict[str, str]:
    """The rules that array-api-strict has no functions for."""
    from adjoint.rules import TABLE
    from support.other_arrays import failure_of

    library = runpy.run_path(str(TESTS / "arrays" / "libraries" / "test_strict.py"))["STRICT"]
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
    """The rules that fail on dask arrays, with the beginning of the error."""
    import dask

    from adjoint.rules import TABLE
    from support.other_arrays import failure_of

    # tests/distributed has the name of a package of dask, so it cannot be imported
    library = runpy.run_path(str(TESTS / "distributed" / "test_dask.py"))["DASK"]
    with dask.config.set(scheduler="synchronous"):
        failures = {name: failure_of(library, rule) for name, rule in TABLE.items()}
    return {name: why[:100].strip() for name, why in failures.items() if why is not None}


def cupy_gaps() -> dict[str, str]:
    """The rules that CuPy has no functions for, by the stand-in that has CuPy's names."""
    from adjoint.rules import TABLE
    from support import stand_in_cupy
    from support.other_arrays import Library, failure_of

    gaps = {}
    with stand_in_cupy.install() as cupy:
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


#: The function that makes each list, and the packages whose versions it may depend on.
FINDERS = {
    "strict": (strict_gaps, ("array-api-strict", "numpy")),
    "dask": (dask_gaps, ("dask", "numpy", "scipy")),
    "cupy": (cupy_gaps, ("numpy", "scipy")),
}


def differences(listed: dict[str, str], gaps: dict[str, str]) -> Iterator[str]:
    """The necessary changes of a list, one line for each rule."""
    for name in sorted(listed.keys() | gaps.keys()):
        if name not in gaps:
            yield f"{name} works; it is listed: {listed[name]}"
        elif name not in listed:
            yield f"{name} is not listed: {gaps[name]}"
        elif listed[name] != gaps[name]:
            yield f"{name} has another reason: {gaps[name]} (listed: {listed[name]})"


def main(arguments: list[str]) -> int:
    from adjoint.rules import TABLE
    from support.other_arrays import GapList, versions_of

    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true", help="compare with the lists and write nothing")
    parser.add_argument("names", nargs="*", choices=[[], *FINDERS], help="which lists; all of them if none is named")
    options = parser.parse_args(arguments)
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", "Casting complex values")
    wrong = 0
    for name in options.names or FINDERS:
        find, packages = FINDERS[name]
        gap_list = GapList(name, versions_of(packages), find())
        if not options.check:
            gap_list.write()
        else:
            listed = GapList.read(name)
            lines = list(differences(listed.gaps, gap_list.gaps))
            wrong += len(lines)
            for line in lines:
                print(f"{name}: {line}")
            if lines:
                print(f"  listed with {listed.measured_with}, here are {gap_list.measured_with}")
        print(f"{len(TABLE) - len(gap_list.gaps)} of {len(TABLE)} rules work on the arrays of {name}", flush=True)
    if wrong:
        print("python scripts/list_array_gaps.py writes the lists anew")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
