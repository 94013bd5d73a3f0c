"""The texts of tensors are PyTorch's, for arrays of all kinds (data/reprs.json)."""

import base64
import json
import time
from pathlib import Path

import numpy as np
import pytest

from adjoint.arrays.dtypes import DTYPES, float64, get_default_dtype, set_default_dtype
from adjoint.tensor.formatting import (
    PrintOptions,
    format_tensor,
    get_printoptions,
    printoptions,
    set_printoptions,
)

CASES = json.loads((Path(__file__).parent / "data" / "reprs.json").read_text())
BY_NAME = {each.name: each for each in DTYPES}


def array_of(case):
    data = base64.b64decode(case["data"])
    return np.frombuffer(data, BY_NAME[case["dtype"]].numpy).reshape(case["shape"])


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c['dtype']}-{c['shape']}")
def test_text_is_pytorchs(case):
    text = format_tensor(array_of(case), suffixes=case["suffixes"], options=PrintOptions(**case["options"]))
    assert text == case["text"]


def test_the_cases_cover_the_dtypes():
    assert len(CASES) >= 60 and {case["dtype"] for case in CASES} == set(BY_NAME)


def test_dtype_is_shown_unless_it_is_the_default():
    saved = get_default_dtype()
    assert format_tensor(np.ones(2)) == "tensor([1., 1.], dtype=adjoint.float64)"
    set_default_dtype(float64)
    try:
        assert format_tensor(np.ones(2)) == "tensor([1., 1.])"
        assert format_tensor(np.ones(2, np.float32)) == "tensor([1., 1.], dtype=adjoint.float32)"
    finally:
        set_default_dtype(saved)


def test_suffixes_go_to_a_new_line_when_they_do_not_fit():
    text = format_tensor(np.ones(13, np.float32), suffixes=["grad_fn=<A>"])
    assert text == f"tensor([{', '.join(['1.'] * 13)}], grad_fn=<A>)"
    text = format_tensor(np.ones(15, np.float32), suffixes=["grad_fn=<A>"])
    assert text == f"tensor([{', '.join(['1.'] * 15)}],\n       grad_fn=<A>)"


def test_edges_of_nothing():
    with printoptions(edgeitems=0, threshold=1):
        assert format_tensor(np.ones((3, 4), np.float32)) == "tensor([...], size=(3, 4))"


def test_other_prefixes_move_the_lines():
    text = format_tensor(np.eye(2, dtype=np.float32), prefix="Parameter(")
    assert text == "Parameter([[1., 0.],\n           [0., 1.]])"


def test_large_arrays_are_cut_before_they_are_formatted():
    large = np.broadcast_to(np.float32(0.5), (10**6, 10**6))  # no machine could format or copy this array as a whole
    start = time.perf_counter()
    text = format_tensor(large)
    assert time.perf_counter() - start < 1.0
    assert text.count("0.5000") == 36 and text.count("...") == 7


def test_set_printoptions():
    saved = get_printoptions()
    try:
        set_printoptions(precision=2)
        assert format_tensor(np.array(1.23456, np.float32)) == "tensor(1.23)"
        set_printoptions(sci_mode=True)
        assert format_tensor(np.array(1.23456, np.float32)) == "tensor(1.23e+00)"
        set_printoptions(profile="full")
        assert get_printoptions() == PrintOptions(threshold=float("inf"))
        set_printoptions(profile="short", linewidth=40)
        assert get_printoptions() == PrintOptions(precision=2, edgeitems=2, linewidth=40)
        with pytest.raises(ValueError, match="profile must be one of 'default', 'short', 'full', got 'foo'"):
            set_printoptions(profile="foo")
    finally:
        set_printoptions(**vars(saved))
    assert get_printoptions() == saved


def test_printoptions_are_restored_after_an_error():
    saved = get_printoptions()
    with pytest.raises(ZeroDivisionError), printoptions(precision=1):
        get_printoptions().precision / 0
    assert get_printoptions() == saved
