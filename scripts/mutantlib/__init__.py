"""What scripts/mutants is made of; `list/` has the mistakes."""
