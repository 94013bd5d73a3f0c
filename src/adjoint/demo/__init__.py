"""The demonstration, ``python -m adjoint.demo``: three jobs, each checked against an independent answer.

- :mod:`adjoint.demo.digits`: a neural network learns handwritten digits (reverse mode, mini-batch SGD).
- :mod:`adjoint.demo.nist`: nonlinear regression against values certified by NIST (exact Jacobians).
- :mod:`adjoint.demo.newton`: Newton's method with Hessian-vector products (reverse mode over reverse mode).
"""
