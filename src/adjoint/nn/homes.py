"""The file of each class of adjoint.nn."""

#: The names of the classes, by the module that defines them.
HOMES = {
    f"adjoint.nn.modules.{file}": names
    for file, names in {
        "activation": """
            CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid LogSoftmax Mish PReLU RReLU
            ReLU ReLU6 SELU SiLU Sigmoid Softmax Softmax2d Softmin Softplus Softshrink Softsign Tanh Tanhshrink
            Threshold
        """,
        "attention": """
            MultiheadAttention Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder
            TransformerEncoderLayer
        """,
        "batchnorm": "BatchNorm1d BatchNorm2d BatchNorm3d",
        "container": "ModuleDict ModuleList ParameterDict ParameterList Sequential",
        "conv": "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d",
        "dropout": "AlphaDropout Dropout Dropout1d Dropout2d Dropout3d FeatureAlphaDropout",
        "instancenorm": "InstanceNorm1d InstanceNorm2d InstanceNorm3d",
        "linear": "Bilinear Identity Linear",
        "loss": """
            BCELoss BCEWithLogitsLoss CTCLoss CosineEmbeddingLoss CrossEntropyLoss GaussianNLLLoss HingeEmbeddingLoss
            HuberLoss KLDivLoss L1Loss MSELoss MarginRankingLoss MultiLabelMarginLoss MultiLabelSoftMarginLoss
            MultiMarginLoss NLLLoss NLLLoss2d PoissonNLLLoss SmoothL1Loss SoftMarginLoss TripletMarginLoss
            TripletMarginWithDistanceLoss
        """,
        "module": "Module",
        "normalization": "GroupNorm LayerNorm RMSNorm",
        "padding": """
            CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d ReflectionPad1d
            ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d ZeroPad1d ZeroPad2d
            ZeroPad3d
        """,
        "pooling": """
            AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d
            AvgPool1d AvgPool2d AvgPool3d FractionalMaxPool2d FractionalMaxPool3d LPPool1d LPPool2d LPPool3d MaxPool1d
            MaxPool2d MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d
        """,
        "rnn": "GRU GRUCell LSTM LSTMCell RNN RNNBase RNNCell RNNCellBase",
        "shape": """
            ChannelShuffle CosineSimilarity Flatten Fold LocalResponseNorm PairwiseDistance PixelShuffle PixelUnshuffle
            Unflatten Unfold Upsample UpsamplingBilinear2d UpsamplingNearest2d
        """,
        "sparse": "Embedding EmbeddingBag",
    }.items()
}
