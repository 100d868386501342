package peer

// SpeakVersion makes a node a process of another version.
func (n *Node) SpeakVersion(version string) { n.wire = version }
