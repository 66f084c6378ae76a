package gauge

import "math"

// Gauge is one gauge.
type Gauge struct {
	Level float64
}

// Rounded rounds up, for safety.
func (g *Gauge) Rounded() int {
	return int(math.Ceil(g.Level))
}

func Worst(all []Gauge) int {
	return all[0].Rounded() // the last line of go
}
