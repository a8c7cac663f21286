package azurelease

// Known is how many names b remembers.
func Known(b *Backend) int {
	b.memory.mu.Lock()
	defer b.memory.mu.Unlock()
	return len(b.memory.names)
}

// Abandoned is how many attempts of unknown outcome b remembers for a name.
func Abandoned(b *Backend, name string) int {
	b.memory.mu.Lock()
	defer b.memory.mu.Unlock()
	return len(b.memory.of(name).abandoned)
}
