class ByRank(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.ByRank,
    x: Tensor) -> Tensor:
    if torch.eq(torch.dim(x), 1):
      x0 = torch.unsqueeze(x, 0)
    else:
      x0 = x
    if torch.ne(torch.size(x0, -1), 3):
      ops.prim.RaiseException("wrong size", "builtins.RuntimeError")
    else:
      pass
    if torch.gt((torch.size(x0))[0], 1):
      out = torch.sum(x0, [0])
    else:
      out0 = torch.mul(torch.select(x0, 0, 0), 10)
      out = out0
    return out
