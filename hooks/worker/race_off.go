//go:build !race

package worker

const memoryScale = 1
