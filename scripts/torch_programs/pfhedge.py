from pfhedge.nn import BSEuropeanOption, EntropicRiskMeasure, ExpectedShortfall

m = BSEuropeanOption()
show(
    m.delta(torch.tensor([-0.1, 0.0, 0.1]), torch.tensor(0.5), torch.tensor(0.2)),
    m.gamma(torch.tensor([-0.1, 0.0, 0.1]), torch.tensor(0.5), torch.tensor(0.2)),
    m.vega(torch.tensor([-0.1, 0.0, 0.1]), torch.tensor(0.5), torch.tensor(0.2)),
    m.price(torch.tensor([-0.1, 0.0, 0.1]), torch.tensor(0.5), torch.tensor(0.2)),
)
x = torch.sin(torch.arange(10.0)).requires_grad_()
for l in (ExpectedShortfall(0.5), EntropicRiskMeasure()):
    v = l(x)
    show(v, *torch.autograd.grad(v, x))
