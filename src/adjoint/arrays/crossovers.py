"""The sizes from which on another way of doing the same pays. A crossover changes time alone, never a result.

`python -m benchmarks.crossovers` measures where they lie on the machine at hand. Sizes count elements of the largest
array, unless said otherwise.
"""

#: From here on arrays that adjoint makes get memory that is kept when they die.
KEPT_MEMORY = 1 << 13
#: From here on a function that is not elementwise is worth noting as a program.
SCHEDULED = 1 << 13
#: Steps times elements from which on a program runs without Python's lock, and from which on several threads run it.
UNLOCKED, THREADED = 40_000, 1 << 17
#: Multiplications from which on loops over vectors are run by several threads.
THREADED_VECTORS = 1 << 18
#: Rows shorter than the first are no rows for a program: NumPy runs the steps. Rows longer than the second do not fit a
#: tile when they are reduced.
SHORTEST_ROW, LONGEST_ROW = 8, 1 << 15
