"""scipy.interpolate over Tensors: interpolants have derivatives by values, by nodes and by the places of evaluation.

piecewise    polynomials by pieces, and the cubic ones through data
splines      B-splines, by the recurrence of Cox and de Boor
grids        functions on regular grids, and interp1d
face         the objects of adjoint.scipy.interpolate
"""
