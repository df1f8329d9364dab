package tool

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"agent-ls/loop"
)

func fetched(t *testing.T, public func(netip.Addr) bool, address string) loop.ToolResult {
	t.Helper()
	f := &webFetch{public: public}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	ask := arguments(t, args{"url": address})
	if _, err := f.Prepare(ctx, ask); err != nil {
		return loop.ToolResult{Text: err.Error(), IsError: true, Outcome: loop.CallInvalid}
	}
	return f.Run(ctx, loop.Invocation{Arguments: ask})
}

func everywhere(netip.Addr) bool { return true }

func TestWebFetch(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { t.Error("another host was reached") }))
	defer other.Close()
	mux := http.NewServeMux()
	mux.HandleFunc("/page", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Cookie") != "" || r.Header.Get("Authorization") != "" || r.Method != http.MethodGet {
			t.Errorf("the request has more than it should: %v", r.Header)
		}
		w.Header().Set("Set-Cookie", "a=b")
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte("<head><title>no</title><style>x{}</style></head><body><h2>Title</h2><p>One  <b>two</b>\nthree <a href='/x'>link</a>.</p><script>evil()</script><ul><li>a<li>b</ul><pre>  x\n y</pre>"))
	})
	mux.HandleFunc("/json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"a":1}`))
	})
	mux.HandleFunc("/binary", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/zip")
		_, _ = w.Write([]byte("PK"))
	})
	mux.HandleFunc("/huge", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = w.Write([]byte(strings.Repeat("0123456789abcde\n", 3<<20/16)))
	})
	mux.HandleFunc("/gone", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "not here", http.StatusGone) })
	mux.HandleFunc("/near", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/json", http.StatusFound) })
	mux.HandleFunc("/far", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL+"/x", http.StatusFound) })
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	server := httptest.NewServer(mux)
	defer server.Close()
	tests := map[string]struct {
		path, want string
		outcome    loop.CallOutcome
	}{
		"a page":           {"/page", "## Title\nOne two three link (" + server.URL + "/x).\n- a\n- b\n  x\n y", loop.CallOK},
		"json":             {"/json#frag", `{"a":1}`, loop.CallOK},
		"no text":          {"/binary", "is application/zip (2 bytes), which is not shown", loop.CallError},
		"a large one":      {"/huge", "bytes left out", loop.CallOK},
		"an error":         {"/gone", "[HTTP status 410]\nnot here", loop.CallError},
		"on the same":      {"/near", `{"a":1}`, loop.CallOK},
		"to another host":  {"/far", "leads to " + other.URL + "/x, which is another place", loop.CallOK},
		"round in circles": {"/loop", "more than 5 times", loop.CallError},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := fetched(t, everywhere, server.URL+tt.path)
			if !strings.Contains(r.Text, tt.want) || r.Outcome != tt.outcome || len(r.Text) > fetchText+1000 {
				t.Errorf("%s: %.300q, want %q", r.Outcome, r.Text, tt.want)
			}
		})
	}
	for name, address := range map[string]string{
		"this machine": server.URL + "/page", "by name": strings.Replace(server.URL, "127.0.0.1", "localhost", 1) + "/page", "mapped": strings.Replace(server.URL, "127.0.0.1", "[::ffff:127.0.0.1]", 1) + "/page",
	} {
		if r := fetched(t, isPublic, address); !strings.Contains(r.Text, "is not an address of the public internet") {
			t.Errorf("%s: %q", name, r.Text)
		}
	}
	for address, want := range map[string]string{
		"file:///etc/passwd": "only http and https", "http://a:b@example.com/": "a name or a password", "http:///x": "names no host", "::": "is no address",
		"http://" + strings.Repeat("a", maxURL): "more than",
	} {
		if r := fetched(t, isPublic, address); r.Outcome != loop.CallInvalid || !strings.Contains(r.Text, want) {
			t.Errorf("%.40s: %q, want %q", address, r.Text, want)
		}
	}
}

func TestWhichAddressesArePublic(t *testing.T) {
	for _, a := range []string{"127.0.0.1", "10.1.2.3", "192.168.0.1", "172.16.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1", "255.255.255.255", "::1", "fe80::1", "fd00::1", "::", "64:ff9b::7f00:1", "2002:7f00:1::"} {
		if isPublic(netip.MustParseAddr(a)) {
			t.Errorf("%s counts as public", a)
		}
	}
	for _, a := range []string{"1.1.1.1", "93.184.216.34", "2606:4700::1111"} {
		if !isPublic(netip.MustParseAddr(a)) {
			t.Errorf("%s does not count as public", a)
		}
	}
}
