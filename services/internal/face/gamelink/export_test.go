package gamelink

import "strings"

// Members returns the paths of the members of each kind of request, such as config.endsAt of
// "create poll".
func Members() map[string][]string {
	all := map[string][]string{}
	for name, k := range requestKinds() {
		all[strings.TrimSpace(name[0]+" "+name[1])] = k.members.paths("")
	}
	return all
}

func (t memberTree) paths(prefix string) (all []string) {
	for name, within := range t {
		all = append(all, prefix+name)
		all = append(all, within.paths(prefix+name+".")...)
	}
	return all
}
