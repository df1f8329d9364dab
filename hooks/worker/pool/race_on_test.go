//go:build race

package pool_test

// grows is by how much more a script must take under the race detector, whose
// workers have more room.
const grows = 5
