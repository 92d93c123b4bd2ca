"""What scripts/check-backlog is made of."""
