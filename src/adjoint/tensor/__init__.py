"""The Tensor, its methods bound from the table of rules, and the functions that make tensors."""
