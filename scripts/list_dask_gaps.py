"""Write the list of what does not work on dask arrays that tests/distributed/test_dask.py compares with.

python scripts/list_dask_gaps.py
"""

import json
import runpy
import sys
import warnings
from pathlib import Path

import dask

TESTS = Path(__file__).parents[1] / "tests"
LIST = TESTS / "data" / "dask_gaps.json"


def main() -> None:
    if not LIST.exists():
        LIST.write_text("{}")
    sys.path[:0] = [str(TESTS)]
    test_dask = runpy.run_path(str(TESTS / "distributed" / "test_dask.py"))
    from adjoint.rules import TABLE

    warnings.simplefilter("error")
    with dask.config.set(scheduler="synchronous"):
        found = {name: test_dask["failure_of"](rule) for name, rule in TABLE.items()}
    gaps = {name: why for name, why in sorted(found.items()) if why is not None}
    LIST.write_text(json.dumps(gaps, indent=2) + "\n")
    print(f"{len(TABLE) - len(gaps)} of {len(TABLE)} rules work on dask arrays")


if __name__ == "__main__":
    main()
