"""Whole programs of many fields, each written once under torch's names."""

from __future__ import annotations

from . import (
    control,
    estimation,
    generative,
    geometry,
    images,
    in_place,
    indexing,
    matrices,
    mechanics,
    networks,
    optimisers,
    scans,
    signals,
    statistics,
    transforms,
)  # fmt: skip
from .program import Program

FIELDS = (
    statistics, mechanics, networks, matrices, scans, indexing, signals, transforms, in_place, optimisers, geometry,
    estimation, control, generative, images,
)  # fmt: skip
#: All programs.
ALL: tuple[Program, ...] = tuple(program for field in FIELDS for program in field.PROGRAMS)
