//go:build race

package run

// raceEnabled: bounds on time and numbers of runs are for the program as it is
// shipped.
const raceEnabled = true
