"""What the profiler writes: tables, traces, pictures."""
