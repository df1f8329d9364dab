package run

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"agent-ls/loop/manifest"
	"agent-ls/loop/report"
)

// behindLogin is an MCP server over HTTP that wants a login, and who grants it:
// whoever opens the login's page is let in.
func behindLogin(t *testing.T) *httptest.Server {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "guarded", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "Says it again."}, func(_ context.Context, _ *mcp.CallToolRequest, a struct {
		Text string `json:"text"`
	}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: a.Text}}}, nil, nil
	})
	inside := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	at := server.URL
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer let-me-in" {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+at+`/.well-known/oauth-protected-resource"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		inside.ServeHTTP(w, r)
	})
	answer := func(path string, status int, v map[string]any) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(v)
		})
	}
	answer("/.well-known/oauth-protected-resource", 200, map[string]any{"resource": at + "/mcp", "authorization_servers": []string{at}})
	answer("/.well-known/oauth-authorization-server", 200, map[string]any{
		"issuer": at, "authorization_endpoint": at + "/authorize", "token_endpoint": at + "/token", "registration_endpoint": at + "/register",
		"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
		"grant_types_supported": []string{"authorization_code"}, "token_endpoint_auth_methods_supported": []string{"none"},
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
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {q.Get("code_challenge")}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		if r.FormValue("code") != base64.RawURLEncoding.EncodeToString(sum[:]) {
			http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"access_token":"let-me-in","token_type":"Bearer","expires_in":3600}`)
	})
	return server
}

// withBrowser is a front end that can show a page.
type withBrowser struct {
	*screen
	open func(url string) error
}

func (b withBrowser) OpenPage(_ context.Context, _, url string) error { return b.open(url) }

// The hooks of a login see each step of it before the connection is there, or
// why there is none.
func TestEventsOfALogin(t *testing.T) {
	visit := func(page string) error {
		go func() { // as a browser does
			if resp, err := http.Get(page); err == nil {
				resp.Body.Close()
			}
		}()
		return nil
	}
	for name, tt := range map[string]struct {
		open  func(string) error
		order string
		says  string // mcp:auth:error
		found string // by the model
	}{
		"works": {visit, "mcp:auth:required mcp:auth:url mcp:auth:success mcp:connect mcp:bootstrap:end", "", "mcp__tickets__echo"},
		"fails": {func(string) error { return errors.New("no display") }, "mcp:auth:required mcp:auth:url mcp:auth:error mcp:error mcp:bootstrap:end", "no display", "no display"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := behindLogin(t) // before the rig, whose end closes the connection to it
			r := newRig(t)
			h := r.overhear("mcp:auth:required", "mcp:auth:url", "mcp:auth:success", "mcp:auth:error", "mcp:connect", "mcp:error", "mcp:bootstrap:end")
			r.withServer(func(s *manifest.MCPServer) {
				s.Name, s.Command, s.Env, s.URL = "tickets", nil, nil, server.URL+"/mcp"
			})
			r.svc.opt.Frontend = withBrowser{r.screen, tt.open}
			r.model.turns = []turn{{calls: []string{`find_tools {}`}}, {text: "Done."}}
			if end := r.wait(r.start("go").RunID); end.Status != report.Done {
				t.Fatalf("end %s %s", end.Status, end.Error)
			}
			if got := h.order(); got != tt.order {
				t.Errorf("heard\n%s\nwant\n%s", got, tt.order)
			}
			if got, _ := h.field("mcp:auth:url", 0, "url").(string); !strings.HasPrefix(got, server.URL+"/authorize?") {
				t.Errorf("mcp:auth:url: url = %q", got)
			}
			if got, _ := h.field("mcp:auth:error", 0, "error").(string); !strings.Contains(got, tt.says) {
				t.Errorf("mcp:auth:error: error = %q, want %q in it", got, tt.says)
			}
			for event := range h.fields {
				if got := h.field(event, 0, "server"); got != "tickets" {
					t.Errorf("%s: server = %v", event, got)
				}
			}
			if got := r.resultText(1); !strings.Contains(got, tt.found) {
				t.Errorf("the model found %q, want %q in it", got, tt.found)
			}
		})
	}
}
