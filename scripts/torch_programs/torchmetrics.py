import torchmetrics

probs = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.6, 0.3, 0.1]])
target = torch.tensor([0, 1, 2, 1])
for metric in (
    torchmetrics.Accuracy(task="multiclass", num_classes=3),
    torchmetrics.R2Score(),
    torchmetrics.AUROC(task="multiclass", num_classes=3),
    torchmetrics.MeanSquaredError(),
    torchmetrics.PearsonCorrCoef(),
    torchmetrics.ConfusionMatrix(task="multiclass", num_classes=3),
):
    pair = (
        (probs[:, 0], target.float())
        if "task" not in repr(vars(metric)) and not hasattr(metric, "num_classes")
        else (probs, target)
    )
    metric.update(*pair)
    show(metric.compute())
