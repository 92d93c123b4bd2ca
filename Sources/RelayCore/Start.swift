// The first real file of this target replaces this one.
