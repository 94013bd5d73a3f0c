"""The profiler: what each operation costs, forward and backward.

`recorder` notes while the program runs, `events` are what was noted, `tables` and `traces` show them, `profile` ties
these together, `steps` does so for training loops.
"""
