"""Passes over the instructions of a program: sums of parts, parts before and after cotangents, recomputation."""
