package mcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// loginWithin is how long a person may take to log in.
const loginWithin = 5 * time.Minute

// errLogin marks that a server wants a login and did not get one. It is not
// tried again by itself: nobody wants a browser to open again and again.
var errLogin = errors.New("the server wants a login")

// login logs in to one server over HTTP (OAuth 2.1 with PKCE): the page opens
// in the person's browser, and comes back to a loopback address that is open
// for this login only. Tokens are kept in the state folder.
type login struct {
	server *Server
	store  tokenStore

	mu     sync.Mutex // guards what follows, and is held during a login
	source oauth2.TokenSource
	loaded bool
	err    error
}

func newLogin(s *Server, at *url.URL) *login {
	return &login{server: s, store: storeFor(s.pool.opt.StateDir, s.def.Name, at)}
}

func (l *login) client() *http.Client {
	base := l.server.pool.opt.HTTP
	if base == nil {
		base = http.DefaultTransport
	}
	return &http.Client{Transport: &polite{base: base}, Timeout: 30 * time.Second}
}

// TokenSource implements auth.OAuthHandler.
func (l *login) TokenSource(ctx context.Context) (oauth2.TokenSource, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.loaded {
		l.loaded = true
		config, token, err := l.store.load()
		if err != nil {
			l.server.tell(Notice{Kind: Warned, Text: err.Error()})
		} else if token != nil {
			l.source = l.keeping(config, token)
		}
	}
	if l.source == nil {
		return nil, nil
	}
	return l.source, nil
}

// Authorize implements auth.OAuthHandler: it lets the person log in. A
// connection asks once: the SDK greets a server in more than one way, and who
// refused one login is not shown the page again for the next.
func (l *login) Authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		resp.Body.Close()
		return l.err
	}
	l.server.tell(Notice{Kind: AuthRequired})
	err := l.authorize(ctx, req, resp)
	if err != nil {
		l.err = fmt.Errorf("%w: %w", errLogin, err)
		l.server.tell(Notice{Kind: AuthError, Text: err.Error()})
		return l.err
	}
	l.err = nil
	l.server.tell(Notice{Kind: AuthSuccess})
	return nil
}

func (l *login) authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	if l.server.pool.opt.Browser == nil {
		resp.Body.Close()
		return ErrNobody
	}
	// The person may take longer than a start may.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loginWithin)
	defer cancel()
	stop := context.AfterFunc(l.server.pool.ctx, cancel)
	defer stop()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		resp.Body.Close()
		return fmt.Errorf("open the address that the login comes back to: %w", err)
	}
	defer listener.Close()
	back := "http://" + listener.Addr().String() + "/callback"
	handler, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		RedirectURL: back,
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			RedirectURIs: []string{back}, ClientName: "agent-ls", TokenEndpointAuthMethod: "none",
			GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		}},
		RequestRefreshToken: true,
		Client:              l.client(),
		AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			return l.askPerson(ctx, listener, args.URL)
		},
		NewTokenSource: func(_ context.Context, config *oauth2.Config, token *oauth2.Token) (oauth2.TokenSource, error) {
			if err := l.store.save(config, token); err != nil {
				l.server.tell(Notice{Kind: Warned, Text: err.Error()})
			}
			return l.keeping(config, token), nil
		},
	})
	if err != nil {
		resp.Body.Close()
		return err
	}
	if err := handler.Authorize(ctx, req, resp); err != nil {
		return err
	}
	l.source, err = handler.TokenSource(ctx)
	return err
}

// keeping is a source of tokens that keeps what it refreshes.
func (l *login) keeping(config *oauth2.Config, token *oauth2.Token) oauth2.TokenSource {
	ctx := context.WithValue(l.server.pool.ctx, oauth2.HTTPClient, l.client())
	return &keptTokens{from: config.TokenSource(ctx, token), last: token.AccessToken, save: func(t *oauth2.Token) {
		if err := l.store.save(config, t); err != nil {
			l.server.tell(Notice{Kind: Warned, Text: err.Error()})
		}
	}}
}

type keptTokens struct {
	from oauth2.TokenSource
	save func(*oauth2.Token)

	mu   sync.Mutex // guards last
	last string
}

func (k *keptTokens) Token() (*oauth2.Token, error) {
	t, err := k.from.Token()
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if t.AccessToken != k.last {
		k.last = t.AccessToken
		k.save(t)
	}
	return t, nil
}

// askPerson shows the login's page and waits for the browser to come back.
func (l *login) askPerson(ctx context.Context, listener net.Listener, page string) (*auth.AuthorizationResult, error) {
	at, err := url.Parse(page)
	if err != nil || at.Scheme != "https" && !(at.Scheme == "http" && loopback(at.Hostname())) {
		return nil, fmt.Errorf("the login's page %q is neither https nor on this machine", cut(page, 200))
	}
	state := at.Query().Get("state")
	came := make(chan *auth.AuthorizationResult, 1)
	refused := make(chan error, 1)
	server := &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			q := r.URL.Query()
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			switch {
			case r.URL.Path != "/callback" || state == "" || q.Get("state") != state:
				http.Error(w, "This is not the end of the login that agent-ls waits for.", http.StatusNotFound)
			case q.Get("error") != "" || q.Get("code") == "":
				fmt.Fprintln(w, "The login failed. You can close this page.")
				offer(refused, fmt.Errorf("the login was refused: %s %s", cut(q.Get("error"), 100), cut(q.Get("error_description"), 300)))
			default:
				fmt.Fprintln(w, "You are logged in. You can close this page.")
				offer(came, &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")})
			}
		}),
	}
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(listener) }()
	defer func() {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = server.Shutdown(stop) // the answer to the browser goes out first
		<-served
	}()
	l.server.tell(Notice{Kind: AuthURL, Text: page})
	if err := l.server.pool.opt.Browser(ctx, l.server.def.Name, page); err != nil {
		return nil, err
	}
	select {
	case result := <-came:
		return result, nil
	case err := <-refused:
		return nil, err
	case <-ctx.Done():
		return nil, fmt.Errorf("nobody logged in within %s", loginWithin)
	}
}

// offer hands over the first value; later ones are dropped.
func offer[T any](to chan T, v T) {
	select {
	case to <- v:
	default:
	}
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// failed is why a login did not come about.
func (l *login) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}
