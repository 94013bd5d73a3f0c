from pytorch_tabnet.tab_network import TabNet

torch.manual_seed(0)
net = TabNet(4, 2, n_d=4, n_a=4, n_steps=2, virtual_batch_size=4, group_attention_matrix=torch.eye(4))
fixed(net)
y, loss = net(torch.sin(torch.arange(32)).view(8, 4))
(y.pow(2).sum() + loss).backward()
show(y, loss, *[p.grad for p in net.parameters() if p.grad is not None])
