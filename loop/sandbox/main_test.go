package sandbox

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	Main() // this very binary is the floor's helper, when it is started as that
	os.Exit(m.Run())
}
