package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"golang.org/x/oauth2"
)

// tokenStore is the file in which the tokens of one server's login are kept,
// readable by the user only.
type tokenStore struct{ path string }

// storeFor names the file by the server's name and address: a server that
// moved gets none of the old one's tokens.
func storeFor(stateDir, name string, at *url.URL) tokenStore {
	if stateDir == "" {
		return tokenStore{}
	}
	sum := sha256.Sum256([]byte(name + "\x00" + at.String()))
	return tokenStore{filepath.Join(stateDir, "mcp", hex.EncodeToString(sum[:16])+".json")}
}

// keptLogin is what the file holds.
type keptLogin struct {
	ClientID     string           `json:"clientId"`
	ClientSecret string           `json:"clientSecret,omitempty"`
	AuthURL      string           `json:"authUrl"`
	TokenURL     string           `json:"tokenUrl"`
	AuthStyle    oauth2.AuthStyle `json:"authStyle,omitempty"`
	RedirectURL  string           `json:"redirectUrl,omitempty"`
	Scopes       []string         `json:"scopes,omitempty"`
	Token        *oauth2.Token    `json:"token"`
}

// load gives what was kept, nil if nothing was.
func (s tokenStore) load() (*oauth2.Config, *oauth2.Token, error) {
	if s.path == "" {
		return nil, nil, nil
	}
	text, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	var k keptLogin
	if err == nil {
		err = json.Unmarshal(text, &k)
	}
	if err == nil && (k.Token == nil || k.TokenURL == "") {
		err = errors.New("it holds no token")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the kept login %s: %w", s.path, err)
	}
	return &oauth2.Config{
		ClientID: k.ClientID, ClientSecret: k.ClientSecret, RedirectURL: k.RedirectURL, Scopes: k.Scopes,
		Endpoint: oauth2.Endpoint{AuthURL: k.AuthURL, TokenURL: k.TokenURL, AuthStyle: k.AuthStyle},
	}, k.Token, nil
}

// save replaces the file at once or not at all.
func (s tokenStore) save(c *oauth2.Config, t *oauth2.Token) error {
	if s.path == "" {
		return nil
	}
	text, err := json.Marshal(keptLogin{
		ClientID: c.ClientID, ClientSecret: c.ClientSecret, RedirectURL: c.RedirectURL, Scopes: c.Scopes,
		AuthURL: c.Endpoint.AuthURL, TokenURL: c.Endpoint.TokenURL, AuthStyle: c.Endpoint.AuthStyle, Token: t,
	})
	if err != nil {
		return fmt.Errorf("keep the login: %w", err)
	}
	dir := filepath.Dir(s.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("keep the login: %w", err)
	}
	f, err := os.CreateTemp(dir, ".login-*") // 0600
	if err != nil {
		return fmt.Errorf("keep the login: %w", err)
	}
	defer os.Remove(f.Name()) // nothing is left to remove once it has its name
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), s.path)
	}
	if err != nil {
		return fmt.Errorf("keep the login in %s: %w", s.path, err)
	}
	return nil
}
