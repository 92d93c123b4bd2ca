// The first real test of this target replaces this one.
