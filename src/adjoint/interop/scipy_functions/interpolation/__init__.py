"""scipy.interpolate over Tensors: interpolants are differentiated by values, by nodes and by where they are evaluated.

piecewise    polynomials by pieces, and the cubic ones through data
splines      B-splines, by the recurrence of Cox and de Boor
grids        functions on regular grids, and interp1d
face         the objects of adjoint.scipy.interpolate
"""
