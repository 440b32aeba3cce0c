class WhileData(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.WhileData,
    x: Tensor) -> Tuple[Tensor, int]:
    _0 = torch.gt(torch.max(torch.abs(x)), 0.25)
    if bool(_0):
      _1 = True
    else:
      _1 = False
    x0 = x
    n = 0
    _2 = _1
    while _2:
      x1 = torch.div(x0, 2)
      n0 = torch.add(n, 1)
      _3 = torch.gt(torch.max(torch.abs(x1)), 0.25)
      if bool(_3):
        _4 = torch.lt(n0, 10)
      else:
        _4 = False
      _2, x0, n = _4, x1, n0
    return (x0, n)
