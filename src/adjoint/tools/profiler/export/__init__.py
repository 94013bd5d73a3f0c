"""The profiler's output: tables, traces, pictures."""
