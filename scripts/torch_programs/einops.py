from einops import einsum, rearrange, reduce, repeat
from einops.layers.torch import Rearrange

x = torch.arange(24.0).view(2, 3, 4).requires_grad_()
y = reduce(rearrange(x, "a b c -> a (b c)"), "a (b c) -> b", "mean", b=3)
show(y, repeat(y, "b -> b n", n=2), einsum(x, x, "a b c, a b d -> c d"), *torch.autograd.grad(y.sum(), x))
show(Rearrange("a b c -> c (a b)")(x))
