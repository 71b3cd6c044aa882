"""Long-tailed multi-label text classification that rescues the rare labels."""
