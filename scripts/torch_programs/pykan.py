import io
import sys

import kan

out, sys.stdout = (sys.stdout, io.StringIO())
torch.manual_seed(0)
m = kan.KAN(width=[2, 3, 1], grid=3, k=3, seed=0, auto_save=False)
sys.stdout = out
fixed(m)
x = torch.sin(torch.arange(20)).view(10, 2)
y = m(x)
y.pow(2).sum().backward()
show(y, *[p.grad.norm() for p in m.parameters() if p.grad is not None])
