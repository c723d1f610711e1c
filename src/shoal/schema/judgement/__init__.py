"""Judge what a column holds, once: the proposal, the scan, the presets and the gate before writing all read it here."""
