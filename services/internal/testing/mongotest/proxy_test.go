package mongotest

import "testing"

func TestInDatabase(t *testing.T) {
	for server, want := range map[string]string{
		"mongodb://127.0.0.1:27017":                         "mongodb://127.0.0.1:27017/db",
		"mongodb://127.0.0.1:27017/":                        "mongodb://127.0.0.1:27017/db",
		"mongodb://u:p%40@a:1,b:2/admin?replicaSet=rs":      "mongodb://u:p%40@a:1,b:2/db?authSource=admin&replicaSet=rs",
		"mongodb+srv://u:p@cluster.example.com/?w=majority": "mongodb+srv://u:p@cluster.example.com/db?authSource=admin&w=majority",
		"mongodb://u:p@a/users":                             "mongodb://u:p@a/db?authSource=users",
		"mongodb://u:p@a/?authSource=users":                 "mongodb://u:p@a/db?authSource=users",
		"mongodb://[::1]:27017/?tls=true":                   "mongodb://[::1]:27017/db?tls=true",
	} {
		if got := inDatabase(server, "db"); got != want {
			t.Errorf("%s: %s, want %s", server, got, want)
		}
	}
}
