import torch_optimizer

for name in (
    "AdaBound",
    "AdaMod",
    "AggMo",
    "DiffGrad",
    "Lamb",
    "MADGRAD",
    "NovoGrad",
    "QHAdam",
    "RAdam",
    "Ranger",
    "SGDW",
    "Yogi",
):
    x = torch.tensor([1.5, -0.7], requires_grad=True)
    optimizer = getattr(torch_optimizer, name)([x], lr=0.01)
    for _ in range(5):
        optimizer.zero_grad()
        (x**4).sum().backward()
        optimizer.step()
    show(x.detach())
