"""What the trials of scripts/soak and scripts/networks share: a relay, an upstream, devices, and the
book that says who owes what."""
