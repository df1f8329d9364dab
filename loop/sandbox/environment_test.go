package sandbox

import "testing"

func TestSecretNames(t *testing.T) {
	for _, name := range []string{
		"OPENAI_KEY", "GITHUB_PAT", "PGPASSWORD", "NPM_AUTH", "MY_SECRETS", "DATABASE_URL", "SENTRY_DSN", "SOME_API_KEYS", "MYSQL_PWD", "REDIS_URL", "dbpassword",
		"DB_PASS", "GOOGLE_APPLICATION_CREDENTIALS", "AWSCREDENTIALS", "GH_TOKENS", "MYTOKEN", "CLIENTSECRET", "OPENAIKEY", "NPM_CONFIG__AUTH", "AWS_ACCESS_KEY_ID", "STRIPEAPIKEY",
	} {
		if !Secret(name) {
			t.Errorf("%s is shown to commands", name)
		}
	}
	for _, name := range []string{"PATH", "HOME", "PWD", "OLDPWD", "GOFLAGS", "GOPATH", "KEYBOARD", "COMPAT", "MONKEY", "LANG", "NODE_PATH", "EDITOR", "AUTHOR", "GIT_AUTHOR_NAME", "TERM", "BYPASS", "XDG_CACHE_HOME", "TURKEY"} {
		if Secret(name) {
			t.Errorf("%s is hidden from commands", name)
		}
	}
}
