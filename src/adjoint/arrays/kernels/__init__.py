"""Functions of arrays that no library has, or that are quicker here, one file per task."""
