"""Memory by its purpose, and the lines that hold memory at the peaks."""

import gzip
import json
import xml.etree.ElementTree as tree

import pytest

import adjoint
from adjoint.autograd.profiler import EventList, FunctionEvent, profile
from adjoint.tools.profiler.export.pictures import picture
from adjoint.tools.profiler.memory import CATEGORIES, Block, MemoryTimeline

KILO = 1000  # bytes of 250 numbers of single precision


def kilo(**options):
    return adjoint.ones(250, **options)


def test_categories_follow_what_memory_is_for():
    w, data = kilo(requires_grad=True), kilo()
    with profile(profile_memory=True) as prof:
        hidden = (w * data).exp()  # exp saves its result
        loss = hidden.sum()
        loss.backward()
        del hidden, loss
    timeline = prof.memory_timeline()
    assert set(timeline.sizes) == set(CATEGORIES)
    assert timeline.sizes["parameters"] == [KILO] * len(timeline.times)
    assert timeline.sizes["inputs"][-1] == KILO
    assert max(timeline.sizes["saved for backward"]) == KILO
    assert timeline.sizes["saved for backward"][-1] == 0
    assert timeline.sizes["gradients"][-1] == KILO == max(timeline.sizes["gradients"])
    assert timeline.sizes["temporary"][-1] == 0
    assert timeline.times == sorted(timeline.times) and min(map(min, timeline.sizes.values())) == 0


def test_peaks_know_the_line_and_the_operation():
    w = kilo(requires_grad=True)

    def model(x):
        big = x.expand(100, 250) * 2  # 100 kB
        return big.sum(1)

    with profile(profile_memory=True) as prof:
        model(w).sum().backward()
    peak = prof.memory_timeline().peaks["total"]
    owner = peak.owners[0]
    assert owner.nbytes == 100 * KILO and owner.operation == "aten::mul" and owner.category == "temporary"
    assert "in model: big = x.expand(100, 250) * 2" in owner.line and __file__ in owner.line
    assert "aten::mul" in str(peak) and "in model" in str(prof.memory_timeline())
    # there are no lines for memory from before the profiler
    assert "made before the profiler was started" in str(prof.memory_timeline().peaks["parameters"])


def test_memory_of_a_backward_pass_belongs_to_the_line_of_its_operation():
    w = kilo(requires_grad=True)
    with profile(profile_memory=True) as prof:
        y = w.expand(100, 250).sin()
        y = y.sum()
        y.backward()
    gradients = [owner for owner in prof.memory_timeline().peaks["total"].owners if "sin()" in owner.line]
    assert sum(owner.nbytes for owner in gradients) >= 100 * KILO


def test_a_value_that_two_nodes_keep_is_saved_until_both_have_run():
    w = kilo(requires_grad=True)
    with profile(profile_memory=True) as prof:
        y = w * 2
        first, second = (y * y).sum(), y.sin().sum()
        first.backward(retain_graph=True)
        block = prof._recorder.arrays.blocks_of([y])[0]
        assert (block.category, block.savers) == ("saved for backward", 2)
        first.backward()
        assert (block.category, block.savers) == ("saved for backward", 1)
    assert prof.memory_timeline().peaks["saved for backward"].nbytes >= KILO
    del second


def test_a_node_that_kept_many_values_has_none_after_it_ran():
    x, weight, bias = adjoint.randn(4, 250), kilo(requires_grad=True), kilo(requires_grad=True)
    with profile(profile_memory=True) as prof:
        y = adjoint.nn.functional.layer_norm(x, (250,), weight, bias)
        y.sum().backward()
    assert len(y.grad_fn._ad_saved_items()) == 0
    sizes = prof.memory_timeline().sizes["saved for backward"]
    assert max(sizes) > 0 == sizes[-1]


def test_memory_of_batches():
    x = adjoint.ones(4, 250)
    with profile(profile_memory=True) as prof:
        adjoint.vmap(lambda row: row.sin())(x)
    (call,) = [event for event in prof.function_events if event.name == "aten::sin"]
    assert call.cpu_memory_usage == 4 * KILO


def test_timeline_of_given_blocks():
    early = Block(10, None, "", None, "inputs")
    late = Block(5, 2000, "aten::exp", None, "temporary")
    late.uses.append((3000, "gradients"))
    late.end = 4000
    timeline = MemoryTimeline([early, late], 1000)
    assert timeline.times == [0.0, 1.0, 2.0, 3.0]
    assert timeline.sizes["inputs"] == [10] * 4
    assert timeline.sizes["temporary"] == [0, 5, 0, 0] and timeline.sizes["gradients"] == [0, 0, 5, 0]
    assert (timeline.peaks["total"].time, timeline.peaks["total"].nbytes) == (1.0, 15)
    assert set(timeline.peaks) == {"total", "inputs", "temporary", "gradients"}


def test_a_timeline_needs_memory_to_have_been_noted():
    with profile() as prof:
        kilo() * 2
    with pytest.raises(RuntimeError, match=r"memory_timeline\(\) needs profile\(profile_memory=True\)"):
        prof.memory_timeline()
    with (
        profile(profile_memory=True) as prof,
        pytest.raises(RuntimeError, match="after the block has ended"),
    ):
        prof.memory_timeline()


def test_plot_shows_calls_and_memory(tmp_path):
    w = kilo(requires_grad=True)
    with profile(profile_memory=True, record_shapes=True, with_stack=True) as prof:
        with adjoint.autograd.profiler.record_function("<model>"):
            loss = (w.expand(200, 250) * 2).exp().sum()
        loss.backward()
    picture = prof.plot()
    svg = picture._repr_svg_()
    root = tree.fromstring(svg)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    titles = [title.text for title in root.iter("{http://www.w3.org/2000/svg}title")]
    assert any(title.startswith("<model>\n") for title in titles)
    assert any(title.startswith("aten::exp\n") and "[[200, 250]]" in title for title in titles)
    assert {"parameters", "gradients", "temporary"} <= set(titles)
    assert "Peak: " in svg and "expand(200, 250)" in svg
    picture.save(tmp_path / "profile.svg")
    assert (tmp_path / "profile.svg").read_text(encoding="utf-8") == str(picture)


def test_plot_of_nothing_and_of_calls_too_short_to_be_seen():
    with profile() as prof:
        pass
    assert prof.plot().svg.startswith("<svg")
    long_and_short = EventList([FunctionEvent(0, "long", 1, 0, 1e5), FunctionEvent(1, "short", 1, 10, 11)])
    long_and_short._build_tree()
    svg = picture(long_and_short).svg
    assert "1 calls are too short to be drawn" in svg and "long" in svg and "short\n" not in svg


def test_memory_timeline_in_files(tmp_path):
    w = kilo(requires_grad=True)
    with adjoint.profiler.profile(profile_memory=True) as prof:
        w.exp().sum().backward()
    prof.export_memory_timeline(tmp_path / "memory.json.gz")
    contents = json.loads(gzip.decompress((tmp_path / "memory.json.gz").read_bytes()))
    assert contents["categories"] == list(CATEGORIES) and len(contents["times"]) == len(contents["sizes"])
    assert contents["sizes"][0][0] == KILO
    prof.export_memory_timeline(tmp_path / "memory.html")
    assert "<svg" in (tmp_path / "memory.html").read_text(encoding="utf-8")
    with adjoint.profiler.profile() as prof:
        w.exp()
    with pytest.raises(ValueError, match="profile_memory=True required for memory profiling"):
        prof.export_memory_timeline(tmp_path / "memory.json")
