"""Small programs for models.py: what networks are made of, one thing each, and what is rare in them."""

from . import algebra, control, elements, images, indices, layers, moves, open_dims, user
from .program import MADE


def all_of_them():
    return MADE.items()
