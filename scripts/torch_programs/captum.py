from captum.attr import (
    LRP,
    Deconvolution,
    DeepLift,
    DeepLiftShap,
    FeatureAblation,
    GradientShap,
    GuidedBackprop,
    GuidedGradCam,
    InputXGradient,
    IntegratedGradients,
    InternalInfluence,
    KernelShap,
    LayerActivation,
    LayerConductance,
    LayerGradCam,
    LayerIntegratedGradients,
    NeuronGradient,
    Occlusion,
    Saliency,
)

net = fixed(torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.ReLU(), torch.nn.Linear(6, 3)).double())
x = torch.tensor([[0.2, -0.4, 0.7, 1.0], [0.5, 0.1, -0.3, 0.8]], dtype=torch.float64)
b = torch.zeros_like(x)
show(IntegratedGradients(net).attribute(x, b, target=1))
show(*IntegratedGradients(net).attribute(x, b, target=1, return_convergence_delta=True, internal_batch_size=8))
for cls in (Saliency, DeepLift, InputXGradient, GuidedBackprop, Deconvolution, FeatureAblation, LRP):
    show(cls(net).attribute(x.clone().requires_grad_(), target=2))
show(LayerConductance(net, net[0]).attribute(x, b, target=1))
show(LayerActivation(net, net[1]).attribute(x))
show(LayerIntegratedGradients(net, net[0]).attribute(x, b, target=1))
show(InternalInfluence(net, net[0]).attribute(x, b, target=1))
show(NeuronGradient(net, net[0]).attribute(x, 2))
conv = fixed(
    torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(18, 2)).double()
)
im = torch.linspace(-1, 1, 25, dtype=torch.float64).view(1, 1, 5, 5)
show(
    LayerGradCam(conv, conv[0]).attribute(im, target=1),
    GuidedGradCam(conv, conv[0]).attribute(im.requires_grad_(), target=1),
)
show(Occlusion(conv).attribute(im, sliding_window_shapes=(1, 3, 3), target=0))
show(DeepLiftShap(net).attribute(x, torch.zeros(3, 4, dtype=torch.float64), target=0))
torch.manual_seed(0)
show(GradientShap(net).attribute(x, b, n_samples=1, stdevs=0.0, target=0).shape[0])
show(KernelShap(net).attribute(x[:1], b[:1], target=0, n_samples=200).round(decimals=1).shape[1])
