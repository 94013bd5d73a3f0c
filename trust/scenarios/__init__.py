"""Programs that commands of `trust` run in separate processes."""
