"""The rules that scripts/tidy holds the repository to."""
