import keras
import numpy as np

keras.utils.set_random_seed(0)
m = keras.Sequential(
    [
        keras.layers.Input((4,)),
        keras.layers.Dense(8, activation="relu"),
        keras.layers.BatchNormalization(),
        keras.layers.Dense(3, activation="softmax"),
    ]
)
m.set_weights(
    [
        np.sin(np.arange(w.size) + i).reshape(w.shape) * 0.3 + (1.0 if "var" in str(i) or i in (2, 5) else 0)
        for i, w in enumerate(m.get_weights())
    ]
)
X = np.sin(np.arange(160)).reshape(40, 4).astype("float32")
y = np.arange(40) % 3
m.compile(optimizer=keras.optimizers.Adam(0.01), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
h = m.fit(X, y, epochs=2, batch_size=8, shuffle=False, verbose=0)
show(torch.tensor(h.history["loss"]), torch.as_tensor(m.predict(X, verbose=0)))
c = keras.Sequential(
    [
        keras.layers.Input((8, 8, 1)),
        keras.layers.Conv2D(4, 3, activation="gelu"),
        keras.layers.MaxPooling2D(),
        keras.layers.Flatten(),
        keras.layers.Dense(2),
    ]
)
c.set_weights([np.sin(np.arange(w.size) + i).reshape(w.shape) * 0.3 for i, w in enumerate(c.get_weights())])
c.compile(optimizer="sgd", loss="mse")
show(
    torch.tensor(
        c.fit(np.sin(np.arange(256)).reshape(4, 8, 8, 1), np.ones((4, 2)), epochs=2, shuffle=False, verbose=0).history[
            "loss"
        ]
    )
)
r = keras.Sequential(
    [
        keras.layers.Input((5, 3)),
        keras.layers.LSTM(4, return_sequences=True),
        keras.layers.GRU(3),
        keras.layers.LayerNormalization(),
        keras.layers.Dense(1),
    ]
)
r.set_weights([np.sin(np.arange(w.size) + i).reshape(w.shape) * 0.3 for i, w in enumerate(r.get_weights())])
r.compile(optimizer="rmsprop", loss="huber")
show(
    torch.tensor(
        r.fit(np.sin(np.arange(60)).reshape(4, 5, 3), np.ones((4, 1)), epochs=2, shuffle=False, verbose=0).history[
            "loss"
        ]
    )
)
