"""Commands that search for faults beyond those of the tests, and record figures of each search.

Each command is a module (`python -m trust.fuzz`) and a target of the Makefile (`make fuzz`). It has a short form, which
the suite runs, and a long form (`--long`). The long form records its figures; `docs/trust.md` shows them.
"""
