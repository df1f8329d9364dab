package model

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"

	"agent-ls/loop/manifest"
)

// keyTimeout is how long a command may take to print a key.
const keyTimeout = 30 * time.Second

// secretKey is a model's key: from the environment when the model is opened,
// or from a command when it is first needed.
type secretKey struct {
	command []string
	model   string

	mu    sync.Mutex // guards what follows; held while the command runs, so that it runs once
	value string
}

// newKey finds the key or says which variable is missing. usual is the
// provider's own variable; it counts only where the configuration names
// neither variable nor command, and is needed only for the provider's own
// server: others may want no key.
func newKey(m manifest.Model, usual string, getenv func(string) string) (*secretKey, error) {
	k := &secretKey{command: m.APIKeyCommand, model: m.Name}
	if len(m.APIKeyCommand) > 0 {
		return k, nil
	}
	name := m.APIKeyEnv
	if name == "" {
		if m.BaseURL != "" {
			return k, nil // a key for the provider does not go to another server
		}
		name = usual
	}
	if k.value = strings.TrimSpace(getenv(name)); k.value == "" {
		return nil, fmt.Errorf("the environment variable %s, which holds the key of the model %q, is not set", name, m.Name)
	}
	return k, nil
}

// get returns the key, "" if there is none to send.
func (k *secretKey) get(ctx context.Context) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.value != "" || len(k.command) == 0 {
		return k.value, nil
	}
	ctx, cancel := context.WithTimeout(ctx, keyTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, k.command[0], k.command[1:]...)
	cmd.WaitDelay = time.Second
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		said := strings.TrimSpace(errs.String())
		if len(said) > 200 {
			said = said[:200]
		}
		return "", fmt.Errorf("the command for the key of the model %q failed: %w %s", k.model, err, said)
	}
	k.value = strings.TrimSpace(string(out))
	if k.value == "" {
		return "", errors.New("the command for the key of the model " + k.model + " printed nothing")
	}
	return k.value, nil
}
