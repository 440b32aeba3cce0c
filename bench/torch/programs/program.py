"""What programs are made of, and the list of them: a program is a module and sets of arguments, which are
run in order on one module."""

import dataclasses

import torch
from torch import nn


@dataclasses.dataclass
class Program:
    model: nn.Module
    sets: list
    dynamic: object = None


class Calls(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


MADE = {}


def made(*sets, dynamic=None):
    def add(cls):
        MADE[cls.__name__] = lambda: Program(cls(), list(sets), dynamic)
        return cls

    return add


def function(name, f, *args, dynamic=None, more=()):
    MADE[name] = lambda: Program(Calls(f), [args, *more], dynamic)


def layer(name, make, *args):
    MADE[name] = lambda: Program(make(), [args])


def open_dims(name, f, *first, dims, more=()):
    MADE[name] = lambda: Program(f if isinstance(f, nn.Module) else Calls(f), [first, *more], dims)


# arguments that many share
x = torch.rand(2, 3, 8, 8)
m = torch.rand(4, 5) - 0.5
ids = torch.tensor([[0, 2, 1], [3, 3, 0]])
