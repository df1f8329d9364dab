package pool

import "time"

// KillAll kills every worker from outside, as far as the pool can tell, and
// waits until they are gone.
func KillAll(p *Pool) {
	for _, w := range all(p) {
		w.cmd.Process.Kill()
		<-w.done
	}
}

// CutLifelines does what the death of the server does to idle workers, and
// says whether they end.
func CutLifelines(p *Pool, within time.Duration) bool {
	for _, w := range all(p) {
		if w.life == nil {
			continue // it watches the process
		}
		w.life.Close()
		select {
		case <-w.done:
		case <-time.After(within):
			return false
		}
	}
	return true
}

func all(p *Pool) []*process {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []*process
	for w := range p.live {
		out = append(out, w)
	}
	return out
}
