"""The benchmark of the profiler runs and prints its table. Its limit has a large margin for busy machines."""

import pytest

from benchmarks import profiler_overhead


@pytest.mark.quick(0)
def test_report(capsys):
    status = profiler_overhead.main(["--rounds", "5", "--repeats", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("never on: ") and lines[1].split()[:2] == ["case", "off,"]
    rows = {line[:40].strip(): line[40:].split() for line in lines[2:]}
    assert status in (0, 1) and len(rows) == 6
    # forward: 50 operations; backward: a node and the operations of its formula for each of them, and the sum
    assert rows["forward, 1 element"][3] == "50" and int(rows["forward and backward, 1 element"][3]) > 150


@pytest.mark.quick(0)
def test_what_is_added_to_a_call():
    result = profiler_overhead.measure(profiler_overhead.both(1), rounds=30, repeats=1)
    assert result.calls > 150 and result.cost_per_call < 10 * profiler_overhead.LIMIT_US
