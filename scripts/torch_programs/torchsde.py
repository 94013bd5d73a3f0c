import torchsde


class Motion(torch.nn.Module):
    noise_type, sde_type = "diagonal", "ito"

    def __init__(self):
        super().__init__()
        self.rate = torch.nn.Parameter(torch.tensor(0.5, dtype=torch.float64))

    def f(self, t, y):
        return self.rate * y

    def g(self, t, y):
        return 0 * y


motion, ts = Motion(), torch.linspace(0, 1, 5, dtype=torch.float64)
y0 = torch.full((3, 2), 1.5, dtype=torch.float64)
for solve in (torchsde.sdeint, torchsde.sdeint_adjoint):
    y = solve(motion, y0, ts, dt=1e-2, method="milstein")
    show(y, *torch.autograd.grad(y.sum(), motion.rate))
