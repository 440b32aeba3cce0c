class Dicts(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.Dicts,
    x: Tensor) -> Tuple[Dict[str, Tensor], Tensor]:
    d = {"a": x}
    torch._set_item(d, "b", torch.mul(d["a"], 2))
    _0 = torch.__not__(torch.__contains__(d, "c"))
    if _0:
      torch._set_item(d, "c", torch.add(d["b"], 1))
    else:
      pass
    s = torch.zeros_like(x)
    _1 = torch.items(d)
    s0 = s
    for _2 in range(torch.len(_1)):
      k, v, = _1[_2]
      s0 = torch.add(s0, v)
    return (d, s0)
