"""scipy.stats' distributions of numbers over Tensors and Arrays: see `univariate.Univariate`.

tables/         formulas by family, where SciPy's own code does not run on Arrays
scipy_code      SciPy's own code of the standard forms, run on Arrays
univariate      what follows by mathematical kind: location and scale, the support, cdf' = pdf, quantiles
pieces          functions by pieces, inverse functions, values from elsewhere
quadrature      integrals of densities, with derivatives by what they depend on
face            the objects of adjoint.scipy.stats
"""
