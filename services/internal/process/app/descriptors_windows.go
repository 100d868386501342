package app

// countDescriptors returns the number of connections and files that the process plans with. Windows has no
// limit of them.
func countDescriptors() int64 { return 1 << 16 }
