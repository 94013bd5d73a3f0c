"""Programs: a function of arrays is traced once as a list of steps, which run tile by tile.

form        the steps of a program in single-assignment order: their kinds and their printed form
trace       from a function to its form: symbols replace arrays and record the operations on them
passes      a form made shorter: dead steps, trivial steps
schedule    a form and shapes: rows and columns, the steps tile by tile, before and after, scratch memory
machine     the runner in C; a tile is the whole array where it is small
fused       a function and its programs: finds the program for the arguments at hand, and runs it
"""
