// The first real test replaces this one.
