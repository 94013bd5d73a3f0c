"""What a process has: threads, locks, kept memory, crossovers, warnings given once, trees of containers."""
