"""What `make test-gpu` runs on a device: every rule, and programs on devices, in pieces."""
