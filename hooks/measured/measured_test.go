package measured

import (
	"testing"
	"time"
)

func TestAtIsWhatAShareStayedWithin(t *testing.T) {
	var hundred Sample
	for i := 100; i > 0; i-- {
		hundred = append(hundred, time.Duration(i)*time.Millisecond)
	}
	for _, c := range []struct {
		s    Sample
		q    float64
		want float64
	}{{nil, 0.5, 0}, {Sample{time.Millisecond}, 0.99, 1}, {hundred, 0.5, 51}, {hundred, 0.99, 100}, {hundred, 1, 100}, {hundred, 0, 1}} {
		if got := c.s.Millis(c.q); got != c.want {
			t.Errorf("of %d samples at %v: %v ms, want %v", len(c.s), c.q, got, c.want)
		}
	}
	if hundred[0] != 100*time.Millisecond {
		t.Error("the sample was sorted in place")
	}
	at := time.Now()
	if got := Between([]time.Time{at, at.Add(time.Second), at.Add(3 * time.Second)}); len(got) != 2 || got[1] != 2*time.Second {
		t.Errorf("Between: %v", got)
	}
}
