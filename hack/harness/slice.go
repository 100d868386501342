package harness

import "fmt"

// SelectSlice returns one of several parts of a table, such as "2/4". Each part has neighbours of the
// table apart, as they need the same programs.
func SelectSlice[T any](all []T, slice string) (selected []T, err error) {
	var part, parts int
	if _, err := fmt.Sscanf(slice, "%d/%d", &part, &parts); err != nil || part < 1 || part > parts {
		return nil, fmt.Errorf("-slice %s: want a part and the number of parts, such as 2/4", slice)
	}
	for i, row := range all {
		if i%parts == part-1 {
			selected = append(selected, row)
		}
	}
	return selected, nil
}
