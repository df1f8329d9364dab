package pool_test

// strangers are programs that speak no worker's language.
var strangers = []string{"whoami.exe"}
