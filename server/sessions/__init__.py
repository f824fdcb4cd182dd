"""Live sessions: one actor each, found or loaded by the registry, told to viewers by the fan-out."""
