//go:build !race

package main

// raceDetector reports that these tests run with the race detector.
const raceDetector = false
