"""Checking derivatives against differences.

messages     GradcheckError and its text
functions    the checked inputs and outputs of a function, and its values at perturbed inputs
bases        directions and cotangents: all unit vectors, or one random vector (fast mode)
numerical    derivatives by differences
analytical   derivatives by backward and by forward mode
diagnosis    the largest difference, and the likely fault
contracts    further properties of a backward pass: linear, undefined and batched cotangents
check        gradcheck and gradgradcheck
derivatives  check_derivatives: all orders and modes in one call
older        functions of older releases
"""

from .check import gradcheck, gradgradcheck
from .derivatives import check_derivatives
from .messages import GradcheckError, Mismatch

__all__ = ["GradcheckError", "Mismatch", "check_derivatives", "gradcheck", "gradgradcheck"]
