"""Figures: one a file, a data function and a draw function."""
