"""Loops for each kind of processor give the same bits: functions, slopes and reductions, under each ADJOINT_CPU."""

from __future__ import annotations
