class LoopAppends(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.LoopAppends,
    x: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
    parts = annotate(List[Tensor], [])
    total = torch.zeros([3])
    total0 = total
    for i in range(torch.size(x, 0)):
      total1 = torch.add(total0, torch.select(x, 0, i))
      _0 = torch.append(parts, total1)
      total0 = total1
    _1 = (torch.stack(parts), torch.cat(parts), total0)
    return _1
