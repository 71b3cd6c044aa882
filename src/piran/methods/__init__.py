"""Methods that learn labels from texts, all behind one contract."""

from piran.methods.base import METHODS, Method, load_method

__all__ = ["METHODS", "Method", "load_method"]
