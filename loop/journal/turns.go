package journal

// turns is a lock whose waiters get it in the order in which they came, so
// that none of many runs is overtaken for long by those that just wrote.
type turns chan struct{}

func newTurns() turns {
	t := make(turns, 1)
	t <- struct{}{}
	return t
}

// Lock waits for its turn.
func (t turns) Lock() { <-t }

// Unlock hands the lock to whoever waits longest.
func (t turns) Unlock() { t <- struct{}{} }
