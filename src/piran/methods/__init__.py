"""Methods that learn labels from texts, all behind one contract."""
