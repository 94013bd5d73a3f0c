import snntorch as snn
from snntorch import functional as SF
from snntorch import surrogate

x = torch.sin(torch.arange(60)).view(5, 3, 4).abs()
for make in (
    lambda: snn.Leaky(beta=0.9, spike_grad=surrogate.fast_sigmoid()),
    lambda: snn.Leaky(beta=0.9, spike_grad=surrogate.atan(), learn_beta=True),
    lambda: snn.Lapicque(beta=0.8),
    lambda: snn.Synaptic(alpha=0.9, beta=0.8),
    lambda: snn.Alpha(alpha=0.9, beta=0.8),
    lambda: snn.RLeaky(beta=0.9, V=0.5, all_to_all=False),
):
    lin = fixed(torch.nn.Linear(4, 2))
    n = make()
    state = None
    spikes = []
    for t in range(5):
        out = n(lin(x[t] * 4)) if state is None else n(lin(x[t] * 4), *state)
        state = out[1:] if not isinstance(n, snn.RLeaky) else out
        spikes.append(out[0])
    s = torch.stack(spikes)
    l = SF.ce_rate_loss()(s, torch.tensor([0, 1, 0]))
    l.backward()
    show(s, l, *[p.grad for p in lin.parameters()])
