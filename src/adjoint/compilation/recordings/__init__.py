"""The recording of one call: arrays that record their uses, the steps, and the values visible to the function."""
