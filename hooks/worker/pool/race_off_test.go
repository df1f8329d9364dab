//go:build !race

package pool_test

const grows = 1
