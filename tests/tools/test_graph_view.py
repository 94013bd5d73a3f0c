"""Pictures of graphs, and lists of their saved tensors."""

from __future__ import annotations

import shutil
import subprocess
from xml.etree import ElementTree

import pytest

import adjoint
from adjoint.autograd import graph


@pytest.fixture
def x() -> adjoint.Tensor:
    return adjoint.ones(1000, requires_grad=True)


def test_dot_names_nodes_and_arrows(x: adjoint.Tensor) -> None:
    drawing = graph.draw((x.exp() * x).sum())
    text = drawing.dot()
    assert len(drawing) == 4 and text == str(drawing)
    assert 'n0 [label="SumBackward0\\n()"' in text and 'n3 [label="leaf\\n(1000,)"' in text
    arrows = {line.strip() for line in text.splitlines() if "->" in line}
    assert arrows == {"n1 -> n0;", "n2 -> n1;", "n3 -> n1;", "n3 -> n2;"}


def test_mermaid(x: adjoint.Tensor) -> None:
    text = graph.draw([x.exp(), x.unbind(0)[3]]).mermaid()
    assert text.startswith("flowchart BT\n") and "ExpBackward0<br/>(1000,)" in text and "UnbindBackward0" in text


def test_targets_may_be_edges_nodes_and_limited(x: adjoint.Tensor) -> None:
    y = x.exp().sin()
    whole = graph.draw(y).dot()
    assert graph.draw(graph.get_gradient_edge(y)).dot() == graph.draw(y.grad_fn).dot() == whole
    assert len(graph.draw(y, max_nodes=2)) == 2


def test_files_and_notebooks(x: adjoint.Tensor, tmp_path, monkeypatch) -> None:
    drawing = graph.draw(x.exp())
    drawing.save(tmp_path / "a.mmd")
    assert (tmp_path / "a.mmd").read_text() == drawing.mermaid()
    with pytest.raises(ValueError, match="no drawing is written to files that end in 'png'"):
        drawing.save(tmp_path / "a.png")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(RuntimeError, match="the program 'dot' was not found: install Graphviz"):
        drawing.svg()
    assert drawing._repr_mimebundle_()["text/markdown"] == f"```mermaid\n{drawing.mermaid()}```"


def test_svg_is_made_by_graphviz(x: adjoint.Tensor, monkeypatch) -> None:
    drawing = graph.draw(x.exp())

    def run(command, *, input, **options):
        assert command == ["/bin/dot", "-Tsvg"] and input == drawing.dot()
        return subprocess.CompletedProcess(command, 0, stdout="<svg/>")

    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.setattr(subprocess, "run", run)
    assert drawing.svg() == "<svg/>" == drawing._repr_mimebundle_()["image/svg+xml"]


def test_saved_tensors_count_shared_memory_once(x: adjoint.Tensor) -> None:
    with graph.record_locations():
        y = (x.exp() * x).sum()
    entries = graph.saved_tensors(y)
    assert entries.nbytes == 8000 and len(entries) == 3
    assert sorted((e.operation, e.name) for e in entries) == [
        ("ExpBackward0", "result"),
        ("MulBackward0", "other"),
        ("MulBackward0", "self"),
    ]
    assert all("y = (x.exp() * x).sum()" in e.location for e in entries)
    assert entries.by_operation() == {"MulBackward0": 8000, "ExpBackward0": 0}
    text = str(entries)
    assert "3 saved tensors, 8.00 kB" in text and "shared" in text and "4.00 kB" in text


def test_saved_tensors_of_all_sorts(x: adjoint.Tensor) -> None:
    with graph.saved_tensors_hooks(lambda t: None, lambda t: x):
        packed = x.exp()
    z = x.clone()
    z[:10].mul_(x[:10])
    entries = graph.saved_tensors([packed, z, x.sort().values])
    by_name = {(e.operation, e.name): e for e in entries}
    assert by_name["ExpBackward0", "result"].shape is None and by_name["ExpBackward0", "result"].nbytes == 0
    assert by_name["SortBackward0", "indices"].nbytes == 8000
    assert ("CopySlices", "other") in by_name
    x.exp().sum().backward()
    assert not graph.saved_tensors(x * 2)


@pytest.mark.quick(0)
def test_large_graphs_are_drawn_listed_and_freed() -> None:
    x = adjoint.ones(1, requires_grad=True)
    y = x
    for _ in range(50_000):
        y = (y * 1.0001).sin()
    drawing = graph.draw(y)
    assert drawing.dot().count(" -> ") == 100_000 == drawing.mermaid().count(" --> ")
    assert len(graph.saved_tensors(y)) == 50_000
    del drawing, y
    assert graph.saved_tensors(x.exp()).nbytes == 4


def test_saved_tensors_say_what_a_plan_did(tmp_path) -> None:
    def network(x, *layers):
        for layer in layers:
            x = adjoint.nn.functional.dropout((x @ layer).tanh(), 0.3)
        return (x**2).sum()

    layers = [(adjoint.randn(16, 16) / 4).requires_grad_() for _ in range(8)]
    x = adjoint.randn(64, 16)
    for budget, disk, fates in ((0.8, None, {"keep", "recompute"}), (0.05, tmp_path, {"keep", "disk"})):
        function = adjoint.utils.checkpoint.auto(network, budget, disk=disk or False)
        function(x, *layers)
        entries = graph.saved_tensors(function(x, *layers))
        plan = function.plan
        assert {entry.fate for entry in entries} == fates
        assert entries.plan is plan
        # x needs no gradient, so the first layer is not saved
        parameters = sum(layer.numel() * 4 for layer in layers[1:])
        n_bytes = sum(entry.nbytes for entry in entries) - parameters - x.numel() * 4
        assert n_bytes == sum(n for _, n, fate in plan.rows() if fate == "keep")
        assert sum(entry.size for entry in entries) - parameters - x.numel() * 4 == plan.nbytes
        assert "are not in memory" in str(entries) and max(fates - {"keep"}) in str(entries)
        assert_is_picture(entries.plot(), ["all kept, peak", "planned, peak", "budget"])


def assert_is_picture(picture: object, texts: list[str]) -> None:
    """An SVG picture. Its lines are inside, and its texts have these beginnings."""
    root = ElementTree.fromstring(str(picture))
    width, height = float(root.get("width", "")), float(root.get("height", ""))
    lines = [node for node in root.iter() if node.tag.endswith("polyline")]
    corners = [corner.split(",") for line in lines for corner in line.get("points", "").split()]
    assert corners and all(0 <= float(x) <= width and 0 <= float(y) <= height for x, y in corners)
    labels = [node.text or "" for node in root.iter() if node.tag.endswith("text")]
    assert all(any(line.startswith(text) for line in labels) for text in texts)


def test_memory_of_a_graph_over_time(x: adjoint.Tensor, tmp_path) -> None:
    picture = graph.saved_tensors((x.exp() * x).sin().sum()).plot()
    assert_is_picture(picture, ["saved, peak 12.00 kB"])
    picture.save(tmp_path / "memory.svg")
    assert (tmp_path / "memory.svg").read_text() == str(picture)
