package cache

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// pollInterval is how often files are looked at that nobody else watches.
const pollInterval = time.Second

// maxPolled bounds the files of one folder that are looked at.
const maxPolled = 5_000

// stamp is what a file looks like from outside.
type stamp struct {
	size int64
	time int64
	mode fs.FileMode
}

// Poll looks at the configuration's files again and again, and tells the
// session what changed, until ctx ends. With clientWatches the agent's folders
// are left to the client; what lies elsewhere, such as the user's config, is
// looked at in any case.
func (s *Session) Poll(ctx context.Context, clientWatches bool) {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	var was map[string]stamp
	for {
		now := s.stamps(clientWatches)
		if was != nil {
			if changed := differences(was, now); len(changed) > 0 {
				s.ChangeFiles(changed)
			}
		}
		was = now
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (s *Session) stamps(clientWatches bool) map[string]stamp {
	out := map[string]stamp{}
	for _, v := range s.Snapshot().views {
		dir := filepath.Join(v.Folder.Path, AgentDir)
		for _, path := range v.Watch() {
			if _, within := below(dir, path); !within || !clientWatches {
				out[path] = stampOf(path)
			}
		}
		if clientWatches {
			continue
		}
		seen := 0
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if seen++; err != nil || seen > maxPolled {
				return filepath.SkipDir
			}
			out[path] = stampOf(path)
			return nil
		})
	}
	return out
}

func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	if info.IsDir() {
		return stamp{mode: info.Mode().Type()} // its entries are looked at themselves
	}
	return stamp{info.Size(), info.ModTime().UnixNano(), info.Mode()}
}

// differences lists the paths that are not as they were. A path that is in
// only one of the two counts when there is a file.
func differences(was, now map[string]stamp) []string {
	var out []string
	for path, n := range now {
		if w, known := was[path]; w != n || !known && n != (stamp{}) {
			out = append(out, path)
		}
	}
	for path, w := range was {
		if _, still := now[path]; !still && w != (stamp{}) {
			out = append(out, path)
		}
	}
	return out
}
