"""Arrays and their elements; adapters of array libraries; kernels that no library has."""
