from linear_operator.operators import DiagLinearOperator, LowRankRootLinearOperator, ToeplitzLinearOperator

root = torch.linspace(-1, 1, 12, dtype=torch.float64).view(6, 2).requires_grad_()
operator = LowRankRootLinearOperator(root).add_diagonal(torch.full((6,), 0.5, dtype=torch.float64))
rhs = torch.arange(6, dtype=torch.float64)
solved = torch.linalg.solve(operator, rhs.unsqueeze(-1))
show(solved, operator.logdet(), torch.matmul(operator, rhs), *torch.autograd.grad(solved.sum(), root))
show(ToeplitzLinearOperator(rhs + 1).matmul(rhs), DiagLinearOperator(rhs + 1).inverse().to_dense())
