import pytorch_optimizer

NAMES = """
    a2grad adabelief adabound adadelta adafactor adagc adai adalite adam adamax adamg adamp adams adamw adan
    adanorm adapnm adatam ademamix adopt aggmo aida amos apollo avagrad came cautiousadam cosmos diffgrad
    exadam fadam fira focus fromage grams laprop lamb lars lion madgrad mars msvag nadam nero novograd padam
    pid pnm qhadam qhm racs radam ranger ranger21 rmsprop sgd sgdp sgdw signsgd simplifiedademamix sm3 srmm
    stableadamw swats tiger vsgd yogi
"""
supported = pytorch_optimizer.get_supported_optimizers()
for name in NAMES.split():
    if name not in supported:
        continue
    torch.manual_seed(0)
    net = fixed(torch.nn.Linear(3, 2))
    try:
        optimizer = pytorch_optimizer.load_optimizer(name)(net.parameters(), lr=1e-2)
    except TypeError:
        continue
    for _ in range(4):
        optimizer.zero_grad()
        net(torch.ones(2, 3)).pow(2).sum().backward()
        optimizer.step()
    show(*net.parameters())
