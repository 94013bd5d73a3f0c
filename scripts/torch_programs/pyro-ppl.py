import pyro
from pyro.infer import SVI, Trace_ELBO

data = torch.tensor([1.2, 0.8, 1.9, 1.4])


def model():
    mean = pyro.sample("mean", pyro.distributions.Normal(0.0, 3.0))
    with pyro.plate("data", 4):
        pyro.sample("x", pyro.distributions.Normal(mean, 0.5), obs=data)


def guide():
    loc = pyro.param("loc", torch.tensor(0.0))
    pyro.sample("mean", pyro.distributions.Delta(loc))


svi = SVI(model, guide, pyro.optim.Adam({"lr": 0.1}), Trace_ELBO())
show(torch.tensor([svi.step() for _ in range(20)]), pyro.param("loc").detach())
