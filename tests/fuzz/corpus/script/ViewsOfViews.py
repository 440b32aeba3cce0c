class ViewsOfViews(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.ViewsOfViews,
    x: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    y = torch.clone(x)
    z = torch.t(y)
    w = torch.slice(z, 0, 1, 3)
    _0 = torch.add_(w, 10)
    v = torch.view(y, [-1])
    _1 = torch.select(v, 0, 0)
    _2 = torch.tensor(-1, dtype=ops.prim.dtype(_1), device=ops.prim.device(_1))
    _3 = torch.copy_(_1, _2)
    u = torch.transpose(torch.unsqueeze(y, 0), 1, 2)
    _4 = torch.mul_(u, 2)
    return (y, z, w, v, u)
