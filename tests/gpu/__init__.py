"""The pieces of `make test-gpu` on a device: every rule, and programs."""
