package tool

import (
	"bytes"
	"fmt"
	"image"
	_ "image/gif" // for their sizes
	_ "image/jpeg"
	_ "image/png"

	"agent-ls/loop"
)

// maxImage is the largest image that a model is shown, in bytes; what the
// providers take at most.
const maxImage = 5 << 20

// imageType is the media type of an image that models can see, by its first
// bytes; "" for anything else.
func imageType(b []byte) string {
	switch {
	case bytes.HasPrefix(b, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(b, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case bytes.HasPrefix(b, []byte("GIF87a")), bytes.HasPrefix(b, []byte("GIF89a")):
		return "image/gif"
	case len(b) > 12 && string(b[:4]) == "RIFF" && string(b[8:12]) == "WEBP":
		return "image/webp"
	}
	return ""
}

// image shows an image file to the model.
func (w *workspace) image(path, kind string, b []byte) loop.ToolResult {
	if len(b) > maxImage {
		return failure(fmt.Sprintf("%s is an image of %d bytes, more than the %d that can be shown; make a smaller copy of it", w.show(path), len(b), maxImage))
	}
	size := ""
	if c, _, err := image.DecodeConfig(bytes.NewReader(b)); err == nil {
		size = fmt.Sprintf(", %d by %d pixels", c.Width, c.Height)
	}
	w.Tracker.Saw(path, b)
	r := success(fmt.Sprintf("%s: %s%s, %d bytes", w.show(path), kind, size, len(b)))
	r.Images = []loop.Block{{Kind: loop.ImageBlock, MediaType: kind, Data: b}}
	return r
}
