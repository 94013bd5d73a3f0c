from backpack import backpack, extend
from backpack.extensions import (
    KFLR,
    KFRA,
    BatchDiagGGNExact,
    BatchGrad,
    BatchL2Grad,
    DiagGGNExact,
    DiagHessian,
    SqrtGGNExact,
    SumGradSquared,
    Variance,
)

for make in (
    lambda: torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Sigmoid(), torch.nn.Linear(5, 3)),
    lambda: torch.nn.Sequential(torch.nn.Conv2d(1, 2, 2), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(2, 3)),
):
    net = extend(fixed(make()))
    x = (
        torch.linspace(-1, 1, 8).view(2, 4)
        if isinstance(net[0], torch.nn.Linear)
        else torch.linspace(-1, 1, 8).view(2, 1, 2, 2)
    )
    loss = extend(torch.nn.CrossEntropyLoss())
    with backpack(
        BatchGrad(),
        BatchL2Grad(),
        SumGradSquared(),
        Variance(),
        DiagGGNExact(),
        BatchDiagGGNExact(),
        SqrtGGNExact(),
        KFLR(),
    ):
        loss(net(x), torch.tensor([0, 2])).backward()
    for p in net.parameters():
        show(
            p.grad,
            p.grad_batch,
            p.batch_l2,
            p.sum_grad_squared,
            p.variance,
            p.diag_ggn_exact,
            p.diag_ggn_exact_batch,
            *p.kflr,
        )
net = extend(fixed(torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Sigmoid(), torch.nn.Linear(5, 3))))
with backpack(DiagHessian(), KFRA()):
    extend(torch.nn.CrossEntropyLoss())(net(torch.linspace(-1, 1, 8).view(2, 4)), torch.tensor([0, 2])).backward()
for p in net.parameters():
    show(p.diag_h, *p.kfra)
