from transformers import (
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    ViTConfig,
    ViTForImageClassification,
)

ids = (torch.arange(16) * 7 % 30).view(2, 8)
for make in (
    lambda: GPT2LMHeadModel(
        GPT2Config(
            vocab_size=30, n_positions=16, n_embd=8, n_layer=2, n_head=2, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0
        )
    ),
    lambda: LlamaForCausalLM(
        LlamaConfig(
            vocab_size=30,
            hidden_size=8,
            intermediate_size=16,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=1,
        )
    ),
):
    torch.manual_seed(0)
    m = fixed(make())
    out = m(input_ids=ids, labels=ids)
    out.loss.backward()
    show(out.loss, out.logits, *[p.grad.norm() for p in m.parameters() if p.grad is not None])
    m.eval()
    print(*m.generate(ids[:1], max_new_tokens=4, do_sample=False, pad_token_id=0)[0].tolist())
m = fixed(
    BertForSequenceClassification(
        BertConfig(
            vocab_size=30,
            hidden_size=8,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=16,
            hidden_dropout_prob=0,
            attention_probs_dropout_prob=0,
        )
    )
)
out = m(input_ids=ids, labels=torch.tensor([0, 1]))
out.loss.backward()
show(out.loss, out.logits, *[p.grad.norm() for p in m.parameters() if p.grad is not None])
m = fixed(
    ViTForImageClassification(
        ViTConfig(
            hidden_size=8,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=16,
            image_size=8,
            patch_size=4,
            num_labels=3,
            hidden_dropout_prob=0,
            attention_probs_dropout_prob=0,
        )
    )
)
out = m(pixel_values=torch.sin(torch.arange(2 * 3 * 64)).view(2, 3, 8, 8), labels=torch.tensor([0, 1]))
out.loss.backward()
show(out.loss, out.logits)
