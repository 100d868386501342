package gamelink

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"
)

// sumNumbers returns the figures of all votes of several polls together. Those of the polls
// hold no squares, so the deviation comes from theirs and from the distance of their means.
func sumNumbers(polls []pollBody) matchNumbers {
	all := matchNumbers{Results: make([]int64, 32)}
	sum := new(big.Int)
	for _, p := range polls {
		for i, n := range p.Results {
			all.Results[i] += n
		}
		all.Count += p.Count
		if part, ok := new(big.Int).SetString(p.Sum.String(), 10); ok {
			sum.Add(sum, part)
		}
	}
	all.Sum = json.Number(sum.String())
	total, _ := new(big.Float).SetInt(sum).Float64()
	var mean, deviation float64
	if all.Count != 0 {
		mean = total / float64(all.Count)
	}
	if all.Count > 1 {
		deviation = math.Sqrt(max(squaresAround(mean, polls), 0) / float64(all.Count-1))
	}
	all.Mean, all.Stddev = formatFloat(mean), formatFloat(deviation)
	return all
}

// squaresAround returns the sum of the squares of the distances of all votes from a mean.
func squaresAround(mean float64, polls []pollBody) (squares float64) {
	for _, p := range polls {
		count := float64(p.Count)
		own, _ := p.Mean.Float64() // the API writes numbers
		deviation, _ := p.Stddev.Float64()
		squares += max(count-1, 0)*deviation*deviation + count*(own-mean)*(own-mean)
	}
	return squares
}

func formatFloat(f float64) json.Number { return json.Number(strconv.FormatFloat(f, 'g', -1, 64)) }
