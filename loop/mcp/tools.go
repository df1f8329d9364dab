package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxPages bounds how often a server may say that there is more.
const maxPages = 64

// list reads the server's tools and keeps those that can be used.
func (s *Server) list(ctx context.Context, session *sdk.ClientSession) error {
	var tools []Tool
	seen := map[string]bool{}
	cursor, total := "", 0
	for page := 0; ; page++ {
		got, err := session.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
		if err != nil {
			return err
		}
		for _, t := range got.Tools {
			one, why := usable(t)
			total += len(one.Schema)
			switch {
			case why != "":
			case seen[one.Name]:
				why = fmt.Sprintf("it lists the tool %q twice", one.Name)
			case len(tools) >= maxTools:
				why = fmt.Sprintf("it lists more than %d tools; the rest is left out", maxTools)
			case total > maxSchemas:
				why = fmt.Sprintf("the schemas of its tools have more than %d bytes; the rest is left out", maxSchemas)
			}
			if why != "" {
				s.tell(Notice{Kind: Warned, Text: why})
				if len(tools) >= maxTools || total > maxSchemas {
					s.keep(tools)
					return nil
				}
				continue
			}
			seen[one.Name] = true
			tools = append(tools, one)
		}
		if got.NextCursor == "" || got.NextCursor == cursor {
			break
		}
		if page >= maxPages {
			s.tell(Notice{Kind: Warned, Text: fmt.Sprintf("its list of tools has more than %d pages; the rest is left out", maxPages)})
			break
		}
		cursor = got.NextCursor
	}
	s.keep(tools)
	return nil
}

func (s *Server) keep(tools []Tool) {
	s.mu.Lock()
	s.tools = tools
	s.mu.Unlock()
	s.set(Ready, nil)
	s.tell(Notice{Kind: Listed})
}

// usable turns a listed tool into ours, or says why it cannot be.
func usable(t *sdk.Tool) (Tool, string) {
	if t == nil || t.Name == "" || len(t.Name) > 256 || !utf8.ValidString(t.Name) {
		return Tool{}, "it lists a tool without a usable name"
	}
	schema, err := json.Marshal(t.InputSchema)
	if err != nil {
		return Tool{}, fmt.Sprintf("the schema of its tool %q is no JSON: %v", t.Name, err)
	}
	var object map[string]any
	if json.Unmarshal(schema, &object) != nil || object == nil {
		return Tool{}, fmt.Sprintf("the schema of its tool %q is no object", t.Name)
	}
	if object["type"] == nil {
		object["type"] = "object" // some servers leave it out
		schema, _ = json.Marshal(object)
	}
	if object["type"] != "object" {
		return Tool{}, fmt.Sprintf("the schema of its tool %q is not that of an object", t.Name)
	}
	if len(schema) > maxSchema {
		return Tool{}, fmt.Sprintf("the schema of its tool %q has %d bytes, more than %d", t.Name, len(schema), maxSchema)
	}
	description := t.Description
	if description == "" {
		description = t.Title
	}
	return Tool{Name: t.Name, Description: cut(description, maxDescription), Schema: schema}, ""
}

// cut shortens a text to whole runes within a size.
func cut(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	text = text[:most]
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text + " … (cut)"
}

func fileURI(path string) string {
	p := filepath.ToSlash(path)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p
	}
	return (&url.URL{Scheme: "file", Path: p}).String()
}
