"""Programs that commands of `trust` run in processes of their own."""
