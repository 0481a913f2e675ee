"""Reference models: what an engineer would ship, and what the checks compare with.

The letters in shape comments are the same everywhere:

    B batch      T query length    S key length
    D d_model    H num_heads       K d_head, width of one head (the paper's d_k)
    F d_ff       V vocabulary

A mask is boolean, True means "may attend", and it broadcasts to (B, H, T, S). Layers
return one tensor; weights come on request, with `need_weights=True`.
"""
