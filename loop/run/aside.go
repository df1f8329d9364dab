package run

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"agent-ls/loop/sandbox"
)

// shownAside bounds how many protected files one note names.
const shownAside = 10

// setAside undoes changes of protected files that a program or a person made
// while the program ran, and says what became of them. Nothing is deleted.
func (s *Service) setAside(changes sandbox.Changes) string {
	undone := changes.SetAside()
	var did []string
	for _, u := range undone {
		if u.Aside == "" && u.OK && slices.ContainsFunc(undone, func(o sandbox.Undone) bool { return o.Path == filepath.Dir(u.Path) && o.Did == u.Did }) {
			continue // with its folder
		}
		name := s.shortPath(u.Path)
		switch {
		case !u.OK:
			did = append(did, name+" could not be undone and is left "+u.What)
		case u.Aside != "" && u.Did == "put aside":
			did = append(did, name+" was put aside as "+s.shortPath(u.Aside))
		case u.Aside != "":
			did = append(did, name+" was put back, and what was there is now "+s.shortPath(u.Aside))
		default:
			did = append(did, name+" was "+u.Did)
		}
	}
	if more := len(did) - shownAside; more > 0 {
		did = append(did[:shownAside], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(did, ", ")
}
