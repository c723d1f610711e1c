"""The register of releases: what left before of the same people, and what a new release gives away beside it."""
