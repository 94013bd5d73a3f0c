"""The profiler: the time and memory of each operation, forward and backward.

`recorder` records notes while the program runs. `events` are made from the notes, and `tables` and `traces` show them.
`profile` combines these, and `schedule` does so for training loops.
"""
