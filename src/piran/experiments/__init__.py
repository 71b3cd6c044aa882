"""Runs: settings in, one record out."""
