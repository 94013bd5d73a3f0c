"""Connectionist temporal classification beside all paths, one by one, and with labels that are the blank."""

import itertools

import numpy as np
import pytest

import adjoint
from adjoint.nn.functional import ctc_loss

MOMENTS, CLASSES = 4, 3
LOGITS = adjoint.tensor(np.random.default_rng(5).normal(size=(MOMENTS, 1, CLASSES)))


def loss(logits, target, **options):
    lengths = adjoint.tensor([len(target)])
    return ctc_loss(
        logits.log_softmax(-1), adjoint.tensor([target]), adjoint.tensor([MOMENTS]), lengths, reduction="sum", **options
    )


def labels_of(path):
    """The labels of a path of classes: repeated classes are one, then blanks are removed."""
    return [kind for kind, _ in itertools.groupby(path) if kind != 0]


@pytest.mark.parametrize("target", [[1], [2], [1, 2], [1, 1], [2, 1], [1, 2, 1], [2, 2, 1], [1, 2, 1, 2]], ids=str)
def test_the_loss_is_that_of_all_paths(target):
    probabilities = LOGITS.softmax(-1)[:, 0].numpy()
    paths = itertools.product(range(CLASSES), repeat=MOMENTS)
    total = sum(probabilities[range(MOMENTS), path].prod() for path in paths if labels_of(path) == target)
    result = loss(LOGITS, target).item()
    assert result == pytest.approx(-np.log(total)) if total else result == np.inf


#: Losses of PyTorch 2.13 by target. It takes blanks as labels, though its page says otherwise.
WITH_BLANKS = [([1, 2, 1, 0], 4.394582271575928), ([1, 2, 0], 2.454359531402588), ([0, 2], 1.6984570026397705)]


@pytest.mark.parametrize(("target", "value"), WITH_BLANKS, ids=str)
def test_a_label_may_be_the_blank(target, value):
    logits = ((adjoint.arange(12.0) - 12) / 100).reshape(MOMENTS, 1, CLASSES)
    assert loss(logits, target).item() == pytest.approx(value, rel=1e-5)
    leaf = LOGITS.clone().requires_grad_()
    assert adjoint.autograd.gradcheck(lambda x: loss(x, target), (leaf,), check_forward_ad=True)
