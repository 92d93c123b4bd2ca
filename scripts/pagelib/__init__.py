"""What scripts/check-page works with: a relay and its upstreams, and a browser."""
