package text

import (
	"path/filepath"
	"runtime"
	"strings"
)

// Path returns the file that a URI names. Only the scheme file names one; any
// other, an unsaved document's included, gives "". Escapes that are none are
// taken as they stand. It never fails: what it cannot read is no file.
func Path(uri string) string { return pathFor(uri, runtime.GOOS == "windows") }

func pathFor(uri string, windows bool) string {
	scheme, rest, ok := strings.Cut(uri, ":")
	if !ok || !strings.EqualFold(scheme, "file") {
		return ""
	}
	host := ""
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		slash := strings.IndexByte(after, '/')
		if slash < 0 {
			return ""
		}
		host, rest = unescape(after[:slash]), after[slash:]
	}
	if !strings.HasPrefix(rest, "/") {
		return "" // a relative reference names nothing
	}
	path := unescape(rest)
	if strings.IndexByte(path, 0) >= 0 {
		return ""
	}
	if strings.EqualFold(host, "localhost") {
		host = ""
	}
	if !windows {
		if host != "" {
			return ""
		}
		return filepath.Clean(collapse(path))
	}
	path = collapse(path)
	switch {
	case host != "":
		path = "//" + host + path
	case hasDrive(path[1:]):
		path = strings.ToUpper(path[1:2]) + path[2:]
		if len(path) == 2 {
			path += "/"
		}
	}
	return strings.ReplaceAll(path, "/", `\`)
}

// collapse removes the second and further slashes at the beginning: to
// filepath they can mean a host, and none is left here.
func collapse(path string) string { return "/" + strings.TrimLeft(path, "/") }

func hasDrive(s string) bool {
	return len(s) >= 2 && s[1] == ':' && ('a' <= s[0]|0x20 && s[0]|0x20 <= 'z') && (len(s) == 2 || s[2] == '/')
}

func unescape(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			hi, ok1 := unhex(s[i+1])
			lo, ok2 := unhex(s[i+2])
			if ok1 && ok2 {
				b.WriteByte(hi<<4 | lo)
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func unhex(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}

// FileURI is the URI of an absolute path.
func FileURI(path string) string { return fileURIFor(path, runtime.GOOS == "windows") }

func fileURIFor(path string, windows bool) string {
	if windows {
		path = strings.ReplaceAll(path, `\`, "/")
		if host, ok := strings.CutPrefix(path, "//"); ok {
			return "file://" + EscapePath(host)
		}
	}
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return "file://" + EscapePath(path)
}

// EscapePath escapes a path with slashes for use in a URI.
func EscapePath(path string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		c := path[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._~/", c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	return b.String()
}

// Key is what two spellings of one document have in common: the path for a
// file, else the URI itself.
func Key(uri string) string {
	if path := Path(uri); path != "" {
		return "file:" + path
	}
	return uri
}
