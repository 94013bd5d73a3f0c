from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.metrics import Accuracy, ConfusionMatrix, Loss, Precision, Recall

net = fixed(torch.nn.Linear(4, 3))
o = torch.optim.SGD(net.parameters(), lr=0.1)
data = [(torch.sin(torch.arange(12) + i).view(3, 4), torch.arange(3)) for i in range(4)]
t = create_supervised_trainer(net, o, torch.nn.functional.cross_entropy)
losses = []
t.on(Events.ITERATION_COMPLETED)(lambda e: losses.append(e.state.output))
t.run(data, max_epochs=2)
e = create_supervised_evaluator(
    net,
    {
        "a": Accuracy(),
        "l": Loss(torch.nn.functional.cross_entropy),
        "p": Precision(average=True),
        "r": Recall(average=True),
        "c": ConfusionMatrix(3),
    },
)
e.run(data)
show(torch.tensor(losses), *net.parameters(), *e.state.metrics.values())
