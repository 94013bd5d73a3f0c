"""What an array is, and what its elements are; adapters of libraries; kernels that no library has."""
