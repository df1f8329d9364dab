package tool

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// maxRefSteps bounds how far references of one schema are followed.
const maxRefSteps = 100_000

// checkRefs refuses a schema whose references lead outside it, go by other
// ways than places in it, or come back to where they started without a step
// into the value: nothing would end the validation of one.
func checkRefs(doc any) error {
	r := refs{root: doc, left: maxRefSteps}
	return r.everywhere(doc)
}

type refs struct {
	root any
	left int
}

func (r *refs) everywhere(node any) error {
	switch node := node.(type) {
	case map[string]any:
		if err := r.follow(node, map[string]bool{}); err != nil {
			return err
		}
		for key, sub := range node {
			if key == "enum" || key == "const" || key == "default" || key == "examples" {
				continue // values, whatever they look like
			}
			if err := r.everywhere(sub); err != nil {
				return err
			}
		}
	case []any:
		for _, sub := range node {
			if err := r.everywhere(sub); err != nil {
				return err
			}
		}
	}
	return nil
}

// follow goes along what a schema says about the same value. within are the
// references on the way.
func (r *refs) follow(node any, within map[string]bool) error {
	schema, ok := node.(map[string]any)
	if !ok {
		return nil
	}
	if r.left--; r.left < 0 {
		return errors.New("its references lead too far")
	}
	if _, dynamic := schema["$dynamicRef"].(string); dynamic {
		return errors.New("$dynamicRef is not supported")
	}
	if ref, ok := schema["$ref"].(string); ok {
		if within[ref] {
			return fmt.Errorf("$ref %q comes back to itself", ref)
		}
		target, err := r.at(ref)
		if err != nil {
			return err
		}
		within[ref] = true
		err = r.follow(target, within)
		delete(within, ref)
		if err != nil {
			return err
		}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := schema[key].([]any)
		for _, sub := range list {
			if err := r.follow(sub, within); err != nil {
				return err
			}
		}
	}
	for _, key := range []string{"not", "if", "then", "else"} {
		if err := r.follow(schema[key], within); err != nil {
			return err
		}
	}
	for _, key := range []string{"dependentSchemas", "dependencies"} {
		m, _ := schema[key].(map[string]any)
		for _, sub := range m {
			if err := r.follow(sub, within); err != nil {
				return err
			}
		}
	}
	return nil
}

// at is the place in the document that a reference names.
func (r *refs) at(ref string) (any, error) {
	where, local := strings.CutPrefix(ref, "#")
	if !local || where != "" && where[0] != '/' {
		return nil, fmt.Errorf("%q: a schema cannot refer to other documents, nor by names", ref)
	}
	node := r.root
	if where == "" {
		return node, nil
	}
	for _, step := range strings.Split(where[1:], "/") {
		if plain, err := url.PathUnescape(step); err == nil {
			step = plain
		}
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		switch n := node.(type) {
		case map[string]any:
			node = n[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(n) {
				return nil, fmt.Errorf("$ref %q leads nowhere", ref)
			}
			node = n[i]
		default:
			node = nil
		}
		if node == nil {
			return nil, fmt.Errorf("$ref %q leads nowhere", ref)
		}
	}
	return node, nil
}
