package bridge

import (
	"context"
	"errors"
	"sync"

	"agent-ls/hooks/check"
	"agent-ls/loop/manifest"
	"agent-ls/loop/realpath"
	"agent-ls/loop/run"
	"agent-ls/lsp/internal/server"
)

// folder is one workspace folder and the service that runs its agents.
type folder struct {
	server.Folder
	bridge *bridge

	apiMu  sync.Mutex // held while the service is being made, so that there is one
	api    run.API
	closed bool
}

var errClosing = failure(codeRequestFailed, "the server is closing", RefusedData{Reason: "closing"})

// service returns the folder's service and makes it at the first call. A
// failure is not kept: the next call tries again.
func (f *folder) service(ctx context.Context) (run.API, error) {
	f.apiMu.Lock()
	defer f.apiMu.Unlock()
	if f.closed {
		return nil, errClosing
	}
	if f.api != nil {
		return f.api, nil
	}
	b := f.bridge
	api, err := b.opts.Open(ctx, OpenParams{
		Root: f.Root,
		Manifest: func(ctx context.Context) (*manifest.Config, []check.Finding) {
			return b.host.Workspace.DiskManifest(ctx, f.Root)
		},
		Frontend: &front{bridge: b, folder: f},
		Files:    b.files,
		Editor:   &codeServers{bridge: b, root: f.Root},
	})
	if err != nil {
		return nil, failure(codeRequestFailed, "opening "+f.Root+": "+err.Error(), RefusedData{Reason: "service"})
	}
	f.api = api
	return api, nil
}

func (f *folder) close() error {
	f.apiMu.Lock()
	defer f.apiMu.Unlock()
	f.closed = true
	if f.api == nil {
		return nil
	}
	return f.api.Close()
}

// all are the client's folders in its order.
func (b *bridge) allFolders() ([]*folder, error) {
	listed := b.host.Workspace.Folders()
	if len(listed) == 0 {
		return nil, failure(codeRequestFailed, "no workspace folder is open: the agent works in a folder", RefusedData{Reason: "noFolder"})
	}
	b.foldersMu.Lock()
	defer b.foldersMu.Unlock()
	if b.closed {
		return nil, errClosing
	}
	out := make([]*folder, 0, len(listed))
	for _, l := range listed {
		f := b.folders[l.Root]
		if f == nil {
			f = &folder{Folder: l, bridge: b}
			b.folders[l.Root] = f
		}
		out = append(out, f)
	}
	return out, nil
}

// pick chooses the folder that a request is about: the one it names, else the
// one that holds the first document it names, else the first.
func (b *bridge) pick(named string, documents ...string) (*folder, error) {
	folders, err := b.allFolders()
	if err != nil {
		return nil, err
	}
	if named != "" {
		if f := b.holding(folders, named); f != nil {
			return f, nil
		}
		return nil, invalid("%s is in none of the workspace folders", named)
	}
	for _, uri := range documents {
		if f := b.holding(folders, uri); f != nil {
			return f, nil
		}
	}
	return folders[0], nil
}

// holding is the innermost folder that a URI lies in.
func (b *bridge) holding(folders []*folder, uri string) *folder {
	path := b.host.Workspace.Path(uri)
	if path != "" {
		path = resolved(path)
	}
	var best *folder
	for _, f := range folders {
		if uri == f.URI || (path != "" && realpath.Within(f.Root, path)) {
			if best == nil || len(f.Root) > len(best.Root) {
				best = f
			}
		}
	}
	return best
}

// find calls fn with the service that knows an id: the one in known if it is
// not nil, else each in turn until one does not say that it does not know it.
func (b *bridge) find(ctx context.Context, known *folder, fn func(run.API) error) error {
	var folders []*folder
	if known != nil {
		folders = []*folder{known}
	} else {
		var err error
		if folders, err = b.allFolders(); err != nil {
			return err
		}
	}
	result, unopened := run.ErrUnknownID, error(nil)
	for _, f := range folders {
		api, err := f.service(ctx)
		if err != nil {
			unopened = err // another folder may know it all the same
			continue
		}
		if err = fn(api); !errors.Is(err, run.ErrUnknownID) {
			return err
		}
		result = err
	}
	if unopened != nil {
		return unopened
	}
	return result
}
