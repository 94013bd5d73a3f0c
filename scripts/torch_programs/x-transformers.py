from x_transformers import Decoder, Encoder, TransformerWrapper

torch.manual_seed(0)
model = fixed(
    TransformerWrapper(
        num_tokens=20, max_seq_len=16, attn_layers=Decoder(dim=16, depth=2, heads=2, rotary_pos_emb=True, ff_glu=True)
    )
)
x = (torch.arange(20) * 7 % 20).view(2, 10)
y = model(x)
loss = torch.nn.functional.cross_entropy(y.transpose(1, 2), x)
loss.backward()
show(loss, y)
for p in model.parameters():
    show(0 if p.grad is None else p.grad)
for kwargs in (
    dict(use_rmsnorm=True, attn_flash=True),
    dict(alibi_pos_bias=True),
    dict(rel_pos_bias=True),
    dict(use_scalenorm=True, ff_swish=True),
    dict(sandwich_norm=True, attn_num_mem_kv=2),
    dict(ff_relu_squared=True),
    dict(attn_qk_norm=True, attn_one_kv_head=True),
    dict(shift_tokens=1, macaron=True),
    dict(residual_attn=True),
):
    model = fixed(
        TransformerWrapper(num_tokens=20, max_seq_len=16, attn_layers=Encoder(dim=16, depth=2, heads=2, **kwargs))
    )
    y = model(x, mask=torch.ones_like(x).bool())
    loss = y.logsumexp(-1).mean()
    loss.backward()
    show(loss, *[p.grad.norm() for p in model.parameters() if p.grad is not None])
