"""The recording of one call: arrays whose uses are noted, the steps, and what a function sees besides its arguments."""
