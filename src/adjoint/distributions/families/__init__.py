"""The classes of distributions, one file for each family."""
