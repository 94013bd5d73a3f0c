from pytorch_metric_learning import losses, miners

e = torch.sin(torch.arange(48, dtype=torch.float64)).view(12, 4)
labels = torch.arange(12) % 3
for make in (
    losses.TripletMarginLoss,
    losses.ContrastiveLoss,
    losses.NTXentLoss,
    losses.MultiSimilarityLoss,
    losses.CircleLoss,
    losses.LiftedStructureLoss,
    losses.NPairsLoss,
    losses.FastAPLoss,
    losses.AngularLoss,
    losses.SupConLoss,
    losses.GeneralizedLiftedStructureLoss,
    losses.IntraPairVarianceLoss,
    losses.MarginLoss,
    losses.PNPLoss,
    losses.SignalToNoiseRatioContrastiveLoss,
    losses.TupletMarginLoss,
    losses.NCALoss,
    losses.VICRegLoss,
):
    z = e.clone().requires_grad_()
    try:
        l = make()(z, labels) if make is not losses.VICRegLoss else make()(z, ref_emb=z.detach().flip(0))
    except Exception as error:
        print(make.__name__, type(error), error)
        raise
    l.backward()
    show(l, z.grad)
for make in (
    miners.MultiSimilarityMiner,
    miners.BatchHardMiner,
    miners.TripletMarginMiner,
    miners.PairMarginMiner,
    miners.BatchEasyHardMiner,
):
    z = e.clone().requires_grad_()
    l = losses.TripletMarginLoss()(z, labels, make()(z, labels))
    l.backward()
    show(l, z.grad)
