//go:build race

package worker

// memoryScale: the race detector keeps books on the heap. A worker that runs
// under it gets the limit for its script, and for the books.
const memoryScale = 8
