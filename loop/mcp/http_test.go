package mcp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func overHTTP(s *sdk.Server) http.Handler {
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
}

func TestToolsOverHTTP(t *testing.T) {
	var mu sync.Mutex
	keys := map[string]int{}
	var hello []byte
	handler := overHTTP(testServer())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		mu.Lock()
		keys[r.Header.Get("X-Key")]++
		if hello == nil {
			hello = body
		}
		mu.Unlock()
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	p := pool(t, Options{})
	l := use(t, p, Definition{Name: "web", URL: server.URL, Headers: map[string]string{"X-Key": "k"}})
	ready(t, l)
	if got, err := call(t, l, "echo", `{"text":"over http"}`); err != nil || got.Text != "over http" {
		t.Errorf("%+v, %v", got, err)
	}
	p.Close()
	mu.Lock()
	defer mu.Unlock()
	if keys["k"] == 0 || len(keys) != 1 {
		t.Errorf("keys %v", keys)
	}
	// A client without a version is none to a strict server.
	if !bytes.Contains(hello, []byte(`"name":"agent-ls","version":"unknown"`)) {
		t.Errorf("it says hello with %s", hello)
	}
}

func TestFaultsOverHTTP(t *testing.T) {
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"500":          {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "broken", 500) }, "Internal Server Error"},
		"no protocol":  {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>hello</html>") }, "connect"},
		"endless body": {endlessBody, "connect"},
		"hang": {func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-time.After(time.Second):
			}
		}, "no answer within"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(c.handler)
			t.Cleanup(server.Close)
			l := use(t, pool(t, Options{}), Definition{Name: "web", URL: server.URL, StartTimeout: 500 * time.Millisecond})
			notice(t, l, Failed, c.want)
		})
	}
	l := use(t, pool(t, Options{}), Definition{Name: "file", URL: "file:///etc/passwd"})
	notice(t, l, Failed, "no http or https address")
}

func endlessBody(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	for r.Context().Err() == nil {
		if _, err := fmt.Fprint(w, strings.Repeat(" ", 1<<20)); err != nil {
			return
		}
	}
}

// authority is an MCP server that wants a login, and who grants it.
type authority struct {
	*httptest.Server
	t          *testing.T
	mu         sync.Mutex // guards what follows
	challenges map[string]string
	granted    int
	refreshed  int
	valid      string
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t, challenges: map[string]string{}}
	protected := overHTTP(testServer())
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		ok := a.valid != "" && r.Header.Get("Authorization") == "Bearer "+a.valid
		a.mu.Unlock()
		if !ok {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+a.URL+`/.well-known/oauth-protected-resource"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		protected.ServeHTTP(w, r)
	})
	answer := func(path string, v func() any) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(v())
		})
	}
	answer("/.well-known/oauth-protected-resource", func() any {
		return map[string]any{"resource": a.URL + "/mcp", "authorization_servers": []string{a.URL}}
	})
	answer("/.well-known/oauth-authorization-server", func() any {
		return map[string]any{
			"issuer": a.URL, "authorization_endpoint": a.URL + "/authorize", "token_endpoint": a.URL + "/token", "registration_endpoint": a.URL + "/register",
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"}, "grant_types_supported": []string{"authorization_code", "refresh_token"},
			"token_endpoint_auth_methods_supported": []string{"none"},
		}
	})
	mux.HandleFunc("/register", func(w http.ResponseWriter, r *http.Request) {
		var asked map[string]any
		_ = json.NewDecoder(r.Body).Decode(&asked)
		asked["client_id"] = "the-client"
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(asked)
	})
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		back, err := url.Parse(q.Get("redirect_uri"))
		if err != nil || back.Hostname() != "127.0.0.1" || q.Get("code_challenge_method") != "S256" {
			http.Error(w, "bad request "+r.URL.String(), 400)
			return
		}
		a.mu.Lock()
		a.challenges["the-code"] = q.Get("code_challenge")
		a.mu.Unlock()
		back.RawQuery = url.Values{"code": {"the-code"}, "state": {q.Get("state")}}.Encode()
		http.Redirect(w, r, back.String(), http.StatusFound)
	})
	mux.HandleFunc("/token", a.token)
	a.Server = httptest.NewServer(mux)
	t.Cleanup(a.Close)
	return a
}

func (a *authority) token(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch r.FormValue("grant_type") {
	case "authorization_code":
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		if a.challenges[r.FormValue("code")] != base64.RawURLEncoding.EncodeToString(sum[:]) {
			http.Error(w, `{"error":"invalid_grant"}`, 400)
			return
		}
		a.granted++
	case "refresh_token":
		if r.FormValue("refresh_token") != "refresh-me" {
			http.Error(w, `{"error":"invalid_grant"}`, 400)
			return
		}
		a.refreshed++
	}
	a.valid = fmt.Sprintf("token-%d-%d", a.granted, a.refreshed)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"access_token": a.valid, "token_type": "Bearer", "expires_in": 3600, "refresh_token": "refresh-me"})
}

func TestLoginThroughTheBrowser(t *testing.T) {
	a := newAuthority(t)
	state := t.TempDir()
	opened := 0
	browser := func(ctx context.Context, server, page string) error {
		opened++
		go func() { // the person's browser, which follows the redirect
			resp, err := http.Get(page)
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
			if resp.StatusCode != 200 {
				t.Errorf("the login's last page has status %d", resp.StatusCode)
			}
		}()
		return nil
	}
	p := pool(t, Options{StateDir: state, Browser: browser})
	d := Definition{Name: "tickets", URL: a.URL + "/mcp"}
	l := use(t, p, d)
	ready(t, l)
	for _, kind := range []Kind{AuthRequired, AuthURL, AuthSuccess, Connected, Listed} {
		notice(t, l, kind, "")
	}
	if got, err := call(t, l, "echo", `{"text":"logged in"}`); err != nil || got.Text != "logged in" {
		t.Errorf("%+v, %v", got, err)
	}
	p.Close()
	files, err := filepath.Glob(filepath.Join(state, "mcp", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("kept %v, %v", files, err)
	}
	if info, err := os.Stat(files[0]); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the kept login has mode %v, %v", info.Mode(), err)
	}
	// Another process finds the login, refreshes what is too old, and asks nobody.
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var kept keptLogin
	if err := json.Unmarshal(text, &kept); err != nil {
		t.Fatal(err)
	}
	kept.Token.Expiry = time.Now().Add(-time.Hour)
	if text, err = json.Marshal(kept); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[0], text, 0o600); err != nil {
		t.Fatal(err)
	}
	again := use(t, pool(t, Options{StateDir: state, Browser: browser}), d)
	ready(t, again)
	a.mu.Lock()
	defer a.mu.Unlock()
	if opened != 1 || a.granted != 1 || a.refreshed != 1 {
		t.Errorf("opened %d times, granted %d, refreshed %d", opened, a.granted, a.refreshed)
	}
}

func TestNobodyLogsIn(t *testing.T) {
	a := newAuthority(t)
	for name, o := range map[string]Options{
		"no browser": {},
		"nobody":     {Browser: func(context.Context, string, string) error { return ErrNobody }},
	} {
		l := use(t, pool(t, o), Definition{Name: "tickets", URL: a.URL + "/mcp"})
		n := notice(t, l, Failed, "wants a login")
		if standing, err := l.Standing(); standing != Over || !errors.Is(err, errLogin) {
			t.Errorf("%s: stands at %d: %v (%s)", name, standing, err, n.Text)
		}
	}
	// A page that is not the server's own end of the login does not end it.
	var answer int
	browser := func(ctx context.Context, _, page string) error {
		at, err := url.Parse(page)
		if err != nil {
			return err
		}
		resp, err := http.Get(at.Query().Get("redirect_uri") + "?code=stolen&state=wrong")
		if err != nil {
			return err
		}
		resp.Body.Close()
		answer = resp.StatusCode
		return errors.New("closed the browser")
	}
	l := use(t, pool(t, Options{Browser: browser}), Definition{Name: "tickets", URL: a.URL + "/mcp"})
	notice(t, l, AuthError, "closed the browser")
	if answer != http.StatusNotFound {
		t.Errorf("a wrong state was answered with %d", answer)
	}
}
