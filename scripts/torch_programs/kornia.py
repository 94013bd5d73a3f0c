import kornia as K

im = (torch.sin(torch.arange(3 * 16 * 16) * 0.37).view(1, 3, 16, 16) * 0.5 + 0.5).requires_grad_()
fs = dict(
    g=lambda x: K.filters.gaussian_blur2d(x, (3, 3), (1.0, 1.0)),
    sob=K.filters.sobel,
    lap=lambda x: K.filters.laplacian(x, 3),
    hsv=K.color.rgb_to_hsv,
    lab=K.color.rgb_to_lab,
    xyz=K.color.rgb_to_xyz,
    gray=K.color.rgb_to_grayscale,
    med=lambda x: K.filters.median_blur(x, (3, 3)),
    can=lambda x: K.filters.canny(x)[0],
    rot=lambda x: K.geometry.rotate(x, torch.tensor([30.0])),
    res=lambda x: K.geometry.resize(x, (8, 9)),
    aff=lambda x: K.geometry.affine(x, torch.tensor([[[0.9, 0.1, 1.0], [-0.1, 0.9, 0.5]]])),
    warp=lambda x: K.geometry.warp_perspective(
        x, torch.tensor([[[1.0, 0.1, 0.5], [0.0, 1.1, 0.2], [0.001, 0.0, 1.0]]]), (16, 16)
    ),
    bil=lambda x: K.filters.bilateral_blur(x, (3, 3), 0.1, (1.5, 1.5)),
    eq=lambda x: K.enhance.adjust_gamma(x, 0.8),
    hue=lambda x: K.enhance.adjust_hue(x, 0.3),
    dil=lambda x: K.morphology.dilation(x, torch.ones(3, 3)),
    ero=lambda x: K.morphology.opening(x, torch.ones(3, 3)),
    pyr=lambda x: K.geometry.pyrdown(x),
    ssim=lambda x: K.metrics.ssim(x, x.detach() * 0.8, 5),
    har=lambda x: K.feature.harris_response(x),
    sift=lambda x: K.feature.SIFTDescriptor(16)(K.color.rgb_to_grayscale(x)),
    hist=lambda x: K.enhance.histogram(x[:, 0].reshape(1, -1), torch.linspace(0, 1, 5), torch.tensor(0.1)),
    unsharp=lambda x: K.filters.unsharp_mask(x, (3, 3), (1.0, 1.0)),
    elast=lambda x: K.geometry.transform.elastic_transform2d(
        x, torch.linspace(-1, 1, 512).view(1, 2, 16, 16), (5, 5), (2.0, 2.0)
    ),
)
for name, f in fs.items():
    y = f(im)
    print("#", name)
    show(
        y.double().sum(),
        y.double().pow(2).sum(),
        *(
            [torch.autograd.grad(y.pow(2).sum(), im, allow_unused=True)[0].norm()]
            if y.requires_grad and name != "can"
            else []
        ),
    )
