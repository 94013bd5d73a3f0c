"""The classes of distributions, a file for each family."""
