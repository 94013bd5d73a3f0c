"""The profiler: the time and memory of each operation, forward and backward.

`recorder` takes notes while the program runs, `events` are made from them, `tables` and `traces` show them, `profile`
combines these, `steps` does so for training loops.
"""
