"""vmap: batched arrays, the operations that lead in and out, and the transformation itself."""
