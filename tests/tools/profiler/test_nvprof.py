"""Traces of nvprof: the tables of its files that are read."""

import sqlite3

import pytest

from adjoint.autograd.profiler import load_nvprof, parse_nvprof_trace

TABLES = """
CREATE TABLE StringTable (_id_ INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE CUPTI_ACTIVITY_KIND_MARKER (_id_ INTEGER PRIMARY KEY AUTOINCREMENT, flags INT, timestamp INT, id INT,
    objectKind INT, objectId BLOB, name INT, domain INT);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (_id_ INTEGER PRIMARY KEY AUTOINCREMENT, cbid INT, start INT, end INT,
    processId INT, threadId INT, correlationId INT, returnValue INT);
CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL (_id_ INTEGER PRIMARY KEY AUTOINCREMENT, start INT, end INT,
    deviceId INT, correlationId INT, name INT);
"""
STRINGS = {1: "aten::mul, seq=4", 2: "MulBackward0, stashed seq=4", 3: "inner", 4: "elementwise_kernel"}
# each marker: its id, the flag of its beginning or end, the time in nanoseconds, and its name
MARKERS = [(1, 2, 1000, 1), (2, 2, 2000, 3), (2, 4, 3000, 0), (1, 4, 5000, 0), (3, 2, 6000, 2), (3, 4, 9000, 0)]


@pytest.fixture
def trace(tmp_path):
    """Write a trace with these markers, launches (start, end, correlation) and kernels (start, end, ..., name)."""

    def write(markers=MARKERS, launches=(), kernels=()):
        path = tmp_path / "trace.prof"
        connection = sqlite3.connect(path)
        connection.executescript(TABLES)
        connection.executemany("INSERT INTO StringTable VALUES (?, ?)", STRINGS.items())
        connection.executemany(
            "INSERT INTO CUPTI_ACTIVITY_KIND_MARKER (id, flags, timestamp, name) VALUES (?, ?, ?, ?)", markers
        )
        connection.executemany(
            "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (cbid, start, end, correlationId) VALUES (211, ?, ?, ?)", launches
        )
        connection.executemany(
            "INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL (start, end, deviceId, correlationId, name)"
            " VALUES (?, ?, ?, ?, ?)",
            kernels,
        )
        connection.commit()
        connection.close()
        return path

    return write


def test_ranges_with_their_kernels(trace):
    launches = [(2500, 2600, 77), (6500, 6600, 78)]
    path = trace(launches=launches, kernels=[(4000, 4500, 0, 77, 4), (7000, 9000, 1, 78, 4)])
    events = load_nvprof(path)
    assert [(event.id, event.name) for event in events] == [(1, STRINGS[1]), (2, STRINGS[3]), (3, STRINGS[2])]
    assert [(event.time_range.start, event.time_range.end) for event in events] == [(1, 5), (2, 3), (6, 9)]
    assert [inner.name for inner in events[0].cpu_children] == ["inner"]
    # a kernel belongs to the innermost range that launched it
    assert [[tuple(kernel) for kernel in event.kernels] for event in events] == [
        [],
        [("elementwise_kernel", 0, 0.5)],
        [("elementwise_kernel", 1, 2.0)],
    ]
    assert [event.device_time_total for event in events] == [0.5, 0.5, 2.0]
    table = events.key_averages().table(sort_by="device_time_total")
    assert "Self CUDA time total: 2.500us" in table and "Node ID" in table
    assert [event.name for event in parse_nvprof_trace(path)] == [event.name for event in events]


def test_ranges_without_an_end_and_empty_traces(trace):
    assert load_nvprof(trace([(1, 2, 1000, 1)])) == []


def test_bad_files(trace, tmp_path):
    with pytest.raises(RuntimeError, match=r"duplicate key: \(1,\)"):
        load_nvprof(trace([*MARKERS, (1, 4, 5500, 0)]))
    with pytest.raises(sqlite3.OperationalError, match="unable to open database file"):
        load_nvprof(tmp_path / "missing.prof")
    (tmp_path / "text.prof").write_text("no database " * 200)
    with pytest.raises(sqlite3.DatabaseError, match="not a database"):
        load_nvprof(tmp_path / "text.prof")


def test_tables_that_are_programs_are_refused(trace):
    """A read of a view runs the view's query, which may never end."""
    path = trace()
    connection = sqlite3.connect(path)
    connection.execute("DROP TABLE StringTable")
    endless = "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n) SELECT k AS _id_, 'a' AS value FROM n"
    connection.execute(f"CREATE VIEW StringTable AS {endless}")
    connection.commit()
    connection.close()
    with pytest.raises(sqlite3.DatabaseError, match="a trace of nvprof has a table StringTable"):
        load_nvprof(path)


@pytest.mark.parametrize(("name", "start"), [(99, 1000), (1, "soon")])
def test_rows_of_other_contents_are_one_error(trace, name, start):
    with pytest.raises(sqlite3.DatabaseError, match="the trace is broken"):
        load_nvprof(trace([(1, 2, start, name), (1, 4, 2000, 0)]))


def test_names_of_files_have_no_meaning(trace, tmp_path):
    """The text after a question mark in a URI would be an option of the connection."""
    with pytest.raises(sqlite3.OperationalError):
        load_nvprof(tmp_path / "made?mode=rwc")
    assert not (tmp_path / "made").exists()
    path = trace().rename(tmp_path / "100% #1?.prof")
    assert len(load_nvprof(path)) == 3
