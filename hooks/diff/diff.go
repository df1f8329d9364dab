// Package diff compares texts by lines, for hook scripts. Start at Unified.
// Its work is bounded: texts that differ in very many places are shown as one
// whole change.
package diff

import (
	"fmt"
	"strings"
)

const (
	around    = 3       // lines of context
	maxCells  = 1 << 20 // lines compared with lines, beyond which it is one change
	noNewline = "\\ No newline at end of file\n"
)

// op is a line of the comparison: kept, removed or added.
type op struct {
	sign byte // ' ', '-', '+'
	text string
}

// Unified gives what changed from a to b as the hunks of a unified diff, ""
// when nothing did.
func Unified(a, b string) string {
	if a == b {
		return ""
	}
	ops := compare(lines(a), lines(b))
	var out strings.Builder
	for i := 0; i < len(ops); {
		if ops[i].sign == ' ' {
			i++
			continue
		}
		first, end := max(0, i-around), i
		for quiet := 0; end < len(ops) && quiet <= 2*around; end++ {
			if quiet++; ops[end].sign != ' ' {
				quiet = 0
			}
		}
		for end > i && ops[end-1].sign == ' ' {
			end--
		}
		last := min(len(ops), end+around)
		hunk(&out, ops, first, last)
		i = last
	}
	return out.String()
}

func lines(text string) []string {
	all := strings.SplitAfter(text, "\n")
	if all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	return all
}

// hunk writes ops[first:last] behind a head that says where they are.
func hunk(out *strings.Builder, ops []op, first, last int) {
	oldLine, newLine := 1, 1
	for _, o := range ops[:first] {
		if o.sign != '+' {
			oldLine++
		}
		if o.sign != '-' {
			newLine++
		}
	}
	olds, news := 0, 0
	for _, o := range ops[first:last] {
		if o.sign != '+' {
			olds++
		}
		if o.sign != '-' {
			news++
		}
	}
	if olds == 0 {
		oldLine--
	}
	if news == 0 {
		newLine--
	}
	fmt.Fprintf(out, "@@ -%d,%d +%d,%d @@\n", oldLine, olds, newLine, news)
	for _, o := range ops[first:last] {
		out.WriteByte(o.sign)
		out.WriteString(o.text)
		if !strings.HasSuffix(o.text, "\n") {
			out.WriteString("\n" + noNewline)
		}
	}
}

// compare tells how a becomes b.
func compare(a, b []string) []op {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var ops []op
	for _, l := range a[:head] {
		ops = append(ops, op{' ', l})
	}
	ops = append(ops, middle(a[head:len(a)-tail], b[head:len(b)-tail])...)
	for _, l := range a[len(a)-tail:] {
		ops = append(ops, op{' ', l})
	}
	return ops
}

// middle compares what differs at both ends, by the longest common lines.
func middle(a, b []string) []op {
	var ops []op
	if (len(a)+1)*(len(b)+1) > maxCells {
		for _, l := range a {
			ops = append(ops, op{'-', l})
		}
		for _, l := range b {
			ops = append(ops, op{'+', l})
		}
		return ops
	}
	width := len(b) + 1
	common := make([]int32, (len(a)+1)*width) // of a[i:] and b[j:]
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i*width+j] = common[(i+1)*width+j+1] + 1
			} else {
				common[i*width+j] = max(common[(i+1)*width+j], common[i*width+j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			ops = append(ops, op{' ', a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[(i+1)*width+j] >= common[i*width+j+1]:
			ops = append(ops, op{'-', a[i]})
			i++
		default:
			ops = append(ops, op{'+', b[j]})
			j++
		}
	}
	return ops
}
