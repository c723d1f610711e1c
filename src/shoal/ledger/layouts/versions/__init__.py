"""One module for each layout; `shoal.ledger.layouts` says how they are run."""
