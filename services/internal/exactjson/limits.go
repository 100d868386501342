package exactjson

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/acclaim-dev/acclaim/api/contract"
)

// Errors of [CheckLimits], meant for the client that sent the JSON.
var (
	errNesting     = fmt.Errorf("JSON must not be nested deeper than %d levels", contract.MaxNesting)
	errNumberBytes = fmt.Errorf("A number in JSON must have at most %d characters", contract.MaxNumber)
	errNumberRange = errors.New("A number in JSON must be within the range of a double")
)

// CheckLimits returns why a reader may fail at valid JSON, or nil. It changes nothing,
// so that integers keep every digit.
func CheckLimits(valid []byte) error {
	depth := 0
	for i := 0; i < len(valid); i++ {
		switch valid[i] {
		case '"':
			i = endOfString(valid, i)
		case '{', '[':
			if depth++; depth > contract.MaxNesting {
				return errNesting
			}
		case '}', ']':
			depth--
		case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			end := endOfNumber(valid, i)
			if err := checkNumber(valid[i:end]); err != nil {
				return err
			}
			i = end - 1
		}
	}
	return nil
}

func endOfNumber(valid []byte, start int) int {
	end := start + 1
	for end < len(valid) && isNumberByte(valid[end]) {
		end++
	}
	return end
}

// endOfString returns the index of the quote that ends the string which begins at start.
func endOfString(valid []byte, start int) int {
	for i := start + 1; i < len(valid); i++ {
		switch valid[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(valid)
}

func isNumberByte(c byte) bool {
	return '0' <= c && c <= '9' || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-'
}

func checkNumber(number []byte) error {
	if len(number) > contract.MaxNumber {
		return errNumberBytes
	}
	if bytes.ContainsAny(number, "eE") { // else the digits are in range
		if _, err := strconv.ParseFloat(string(number), 64); err != nil {
			return errNumberRange
		}
	}
	return nil
}
