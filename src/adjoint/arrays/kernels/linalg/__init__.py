"""Factorizations and functions of matrices by LAPACK, and their errors."""
