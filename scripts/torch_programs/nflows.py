from nflows import distributions, flows, transforms

layers = [transforms.MaskedAffineAutoregressiveTransform(2, 8), transforms.ReversePermutation(2)] * 2
flow = fixed(flows.Flow(transforms.CompositeTransform(layers), distributions.StandardNormal([2])))
loss = -flow.log_prob(torch.linspace(-1, 1, 8).view(4, 2)).mean()
loss.backward()
show(loss, *(p.grad.norm() for p in flow.parameters()))
