from torchinfo import summary

net = torch.nn.Sequential(
    torch.nn.Conv2d(1, 4, 3),
    torch.nn.BatchNorm2d(4),
    torch.nn.ReLU(),
    torch.nn.Flatten(),
    torch.nn.Linear(4 * 36, 2),
    torch.nn.LSTM(2, 3),
)
s = summary(net[:5], input_size=(2, 1, 8, 8), verbose=0)
show(s.total_params, s.total_mult_adds, s.total_output_bytes, s.trainable_params)
str(s)
show(summary(torch.nn.LSTM(2, 3, 2), input_size=(4, 5, 2), verbose=0).total_params)
