"""Derivatives by structure: patterns of Jacobians and Hessians, their colouring, and the products that fill them."""
