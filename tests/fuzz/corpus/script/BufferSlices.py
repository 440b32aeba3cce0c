class BufferSlices(Module):
  __parameters__ = []
  __buffers__ = ["ring", ]
  ring : Tensor
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.BufferSlices,
    x: Tensor) -> Tensor:
    ring = self.ring
    _0 = torch.slice(ring, 0, None, 2)
    ring0 = self.ring
    _1 = torch.clone(torch.slice(ring0, 0, 2))
    _2 = torch.copy_(_0, _1)
    ring1 = self.ring
    _3 = torch.copy_(torch.slice(ring1, 0, 2), x)
    ring2 = self.ring
    return torch.clone(ring2)
