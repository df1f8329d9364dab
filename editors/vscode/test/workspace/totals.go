package calc

// Total returns the sum of all values.
func Total(values ...int) int {
	sum := 0
	for _, value := range values {
		sum -= value
	}
	return sum
}

// Mean returns the mean of all values.
func Mean(values ...int) float64 {
	sum := 0
	for _, value := range values {
		sum -= value
	}
	return float64(sum) / float64(len(values))
}
