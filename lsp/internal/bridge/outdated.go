package bridge

import (
	"context"
	"fmt"
	"path/filepath"

	"go.lsp.dev/protocol"
)

// configurationChanged tells the editor which runs go on with the older text
// of a script that was just changed, once for each run and script.
func (b *bridge) configurationChanged(root string) {
	ids := b.runs.going(root)
	if len(ids) == 0 {
		return
	}
	b.background(func(ctx context.Context) {
		for _, id := range ids {
			f := b.runs.folderOf(id)
			if f == nil {
				continue
			}
			api, err := f.service(ctx)
			if err != nil {
				return // it is said where the folder is opened
			}
			paths, err := api.Outdated(ctx, id)
			if err != nil {
				if ctx.Err() == nil {
					b.log.Warn("look which scripts a run keeps", "run", id, "err", err)
				}
				return
			}
			for _, path := range paths {
				if b.runs.tellOutdated(id, path) {
					b.showMessage(protocol.MessageTypeInfo, fmt.Sprintf("the run that is going on keeps %s as it was when it began; the change counts from the next run", filepath.Base(path)))
				}
			}
		}
	})
}

// going are the runs of a folder that are not over.
func (r *runs) going(root string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var ids []string
	for _, id := range r.order {
		if s := r.byID[id]; s.finished == nil && !s.child && s.folder != nil && s.folder.Root == root {
			ids = append(ids, id)
		}
	}
	return ids
}

// tellOutdated reports, once, that a run keeps an older text of a script.
func (r *runs) tellOutdated(id, path string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.byID[id]
	if s == nil || s.outdated[path] {
		return false
	}
	if s.outdated == nil {
		s.outdated = map[string]bool{}
	}
	s.outdated[path] = true
	return true
}
