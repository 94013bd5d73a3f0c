from botorch.acquisition import (
    ExpectedImprovement,
    LogExpectedImprovement,
    UpperConfidenceBound,
    qExpectedImprovement,
)
from botorch.models import SingleTaskGP
from botorch.sampling import SobolQMCNormalSampler
from gpytorch.mlls import ExactMarginalLogLikelihood

x = torch.linspace(0, 1, 8, dtype=torch.float64).view(-1, 1)
y = torch.sin(6 * x)
m = SingleTaskGP(x, y)
mll = ExactMarginalLogLikelihood(m.likelihood, m)
l = mll(m(*m.train_inputs), m.train_targets)
l.backward()
show(l, *[p.grad for p in m.parameters() if p.grad is not None])
m.zero_grad()
from botorch.fit import fit_gpytorch_mll

fit_gpytorch_mll(mll)
show(mll(m(*m.train_inputs), m.train_targets) * 0 + 1)
m.eval()
z = torch.tensor([[[0.33]], [[0.8]]], dtype=torch.float64, requires_grad=True)
for a in (ExpectedImprovement(m, 0.5), UpperConfidenceBound(m, 0.2), LogExpectedImprovement(m, 0.5)):
    v = a(z)
    show(v, torch.autograd.grad(v.sum(), z)[0])
s = SobolQMCNormalSampler(torch.Size([64]), seed=3)
a = qExpectedImprovement(m, 0.5, s)
show(a(z.view(1, 2, 1)).round(decimals=1))
from botorch.optim import optimize_acqf

c, v = optimize_acqf(
    UpperConfidenceBound(m, 0.2), torch.tensor([[0.0], [1.0]], dtype=torch.float64), q=1, num_restarts=3, raw_samples=16
)
show(c, v)
