//go:build race

package bridge_test

// raceEnabled: bounds on time are for the program as it is shipped.
const raceEnabled = true
