from neuralop.models import FNO

torch.manual_seed(0)
m = FNO(n_modes=(4, 4), in_channels=1, out_channels=1, hidden_channels=8, n_layers=2, projection_channel_ratio=1)
with torch.no_grad():
    for k, p in enumerate(m.parameters()):
        p.copy_((torch.sin(torch.arange(p.numel()) * 1.7 + k) * 0.3).view(p.shape))
x = torch.sin(torch.arange(64) * 0.3).view(1, 1, 8, 8)
y = m(x)
y.pow(2).sum().backward()
show(y, *[p.grad.abs().pow(2).sum() for p in m.parameters() if p.grad is not None])
from neuralop.losses import H1Loss, LpLoss

show(LpLoss(d=2)(y, x), H1Loss(d=2)(y, x))
