import numpy as np
from skorch import NeuralNetClassifier


class M(torch.nn.Module):
    def __init__(self, n=8):
        super().__init__()
        self.l = fixed(torch.nn.Sequential(torch.nn.Linear(4, n), torch.nn.ReLU(), torch.nn.Linear(n, 3)))

    def forward(self, x):
        return self.l(x).softmax(-1)


X = np.sin(np.arange(160)).reshape(40, 4).astype("float32")
y = (np.arange(40) % 3).astype("int64")
net = NeuralNetClassifier(M, max_epochs=3, lr=0.1, verbose=0, train_split=None, iterator_train__shuffle=False).fit(X, y)
show(torch.as_tensor(net.predict_proba(X)), net.history[-1, "train_loss"], net.score(X, y))
from sklearn.model_selection import GridSearchCV

gs = GridSearchCV(net, {"lr": [0.01, 0.1], "module__n": [4, 8]}, cv=2).fit(X, y)
show(gs.best_score_)
