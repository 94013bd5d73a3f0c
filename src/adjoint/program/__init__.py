"""Programs: a function of arrays is traced once as a list of steps, which run tile by tile.

form        the steps of a program in single-assignment order; what they are, and how they print
trace       from a function to its form: symbols stand for arrays and note what is done to them
passes      a form made shorter: dead steps, trivial steps
schedule    a form and shapes: rows and columns, what runs tile by tile, what before and after, scratch memory
machine     the runner in C; a tile is the whole array where it is small
fused       a function and its programs: finds the program for the arguments at hand, and runs it
"""
