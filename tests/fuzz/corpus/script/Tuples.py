class Tuples(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.Tuples,
    x: Tensor) -> Tuple[Tensor, Dict[str, Tensor]]:
    a, _0, = (self).pair(x, )
    b, n, = _0
    _1 = torch.add(a, torch.mul(b, n))
    _2 = {"sum": torch.add(a, b), "n": torch.tensor(n)}
    return (_1, _2)
  def pair(self: __torch__.Tuples,
    x: Tensor) -> Tuple[Tensor, Tuple[Tensor, int]]:
    return (x, (torch.add(x, 1), 3))
