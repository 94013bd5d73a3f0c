import logging

import pytorch_lightning as pl

logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)


class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = fixed(torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3)))

    def training_step(self, batch, index):
        x, y = batch
        loss = torch.nn.functional.cross_entropy(self.net(x), y)
        self.log("train", loss)
        return loss

    def validation_step(self, batch, index):
        x, y = batch
        self.log("val", torch.nn.functional.cross_entropy(self.net(x), y), prog_bar=True)

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=0.01)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)]


data = torch.utils.data.TensorDataset(torch.sin(torch.arange(160.0)).view(40, 4), torch.arange(40) % 3)
loader = torch.utils.data.DataLoader(data, batch_size=8)
quiet = dict(logger=False, enable_checkpointing=False, enable_progress_bar=False)
trainer = pl.Trainer(max_epochs=3, accelerator="cpu", gradient_clip_val=1.0, **quiet)
model = Model()
trainer.fit(model, loader, loader)
show(*trainer.callback_metrics.values(), *model.parameters())
