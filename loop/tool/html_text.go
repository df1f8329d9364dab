package tool

import (
	"bytes"
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// unread are elements whose content is no text for readers.
var unread = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Noscript: true, atom.Template: true, atom.Svg: true, atom.Iframe: true, atom.Object: true, atom.Head: true,
}

// blocks are elements that stand on lines of their own.
var blocks = map[atom.Atom]bool{
	atom.P: true, atom.Div: true, atom.Section: true, atom.Article: true, atom.Header: true, atom.Footer: true, atom.Main: true, atom.Nav: true,
	atom.Ul: true, atom.Ol: true, atom.Li: true, atom.Table: true, atom.Tr: true, atom.Blockquote: true, atom.Pre: true, atom.Hr: true, atom.Br: true,
	atom.H1: true, atom.H2: true, atom.H3: true, atom.H4: true, atom.H5: true, atom.H6: true, atom.Dl: true, atom.Dt: true, atom.Dd: true,
	atom.Form: true, atom.Figure: true, atom.Figcaption: true, atom.Aside: true, atom.Title: true,
}

// htmlText is a page as plain text, with where its links lead. It reads token
// by token, so that no page can make it recurse.
func htmlText(page []byte, base *url.URL) string {
	p := plainPage{base: base}
	z := html.NewTokenizer(bytes.NewReader(page))
	z.SetMaxBuf(fetchBytes)
	for {
		switch z.Next() {
		case html.ErrorToken:
			return strings.TrimSpace(p.out.String())
		case html.TextToken:
			if len(p.skipping) == 0 {
				p.text(visible(string(z.Text())))
			}
		case html.StartTagToken:
			p.open(z.Token(), false)
		case html.SelfClosingTagToken:
			p.open(z.Token(), true)
		case html.EndTagToken:
			p.close(z.Token().DataAtom)
		}
	}
}

// plainPage is a page on its way to text.
type plainPage struct {
	base     *url.URL
	out      strings.Builder
	skipping []atom.Atom // open elements that are not read, outermost first
	pre      int
	links    []string // of open anchors
	newline  bool     // the text so far ends with a line end
	space    bool     // a space is owed before the next word
}

// deepest bounds how many open elements are kept in mind.
const deepest = 1000

func (p *plainPage) open(t html.Token, closed bool) {
	a := t.DataAtom
	switch {
	case len(p.skipping) > 0:
		if !closed && unread[a] && len(p.skipping) < deepest {
			p.skipping = append(p.skipping, a)
		}
		if a == atom.Body { // a head that nobody closed
			p.skipping = nil
		}
		return
	case unread[a] && !closed:
		p.skipping = append(p.skipping, a)
		return
	}
	if blocks[a] {
		p.line()
	}
	switch a {
	case atom.Li:
		p.out.WriteString("- ")
		p.newline = false
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		p.out.WriteString(strings.Repeat("#", int(t.Data[1]-'0')) + " ")
		p.newline = false
	case atom.Td, atom.Th:
		p.space = true
	case atom.Pre:
		p.pre++
	case atom.A:
		if len(p.links) < deepest {
			p.links = append(p.links, p.link(t))
		}
	}
}

// link is where an anchor leads, "" when that is no page.
func (p *plainPage) link(t html.Token) string {
	for _, a := range t.Attr {
		if a.Key != "href" {
			continue
		}
		u, err := p.base.Parse(strings.TrimSpace(a.Val))
		if err == nil && (u.Scheme == "http" || u.Scheme == "https") && !strings.HasPrefix(a.Val, "#") {
			return u.String()
		}
	}
	return ""
}

func (p *plainPage) close(a atom.Atom) {
	if n := len(p.skipping); n > 0 {
		if p.skipping[n-1] == a {
			p.skipping = p.skipping[:n-1]
		}
		return
	}
	switch {
	case a == atom.A && len(p.links) > 0:
		n := len(p.links) - 1
		if link := p.links[n]; link != "" {
			p.out.WriteString(" (" + cut(link, 500) + ")")
			p.newline = false
		}
		p.links = p.links[:n]
	case a == atom.Pre && p.pre > 0:
		p.pre--
	}
	if blocks[a] {
		p.line()
	}
}

func (p *plainPage) line() {
	p.space = false
	if !p.newline && p.out.Len() > 0 {
		p.out.WriteByte('\n')
	}
	p.newline = true
}

func (p *plainPage) text(s string) {
	if p.pre > 0 {
		p.out.WriteString(s)
		p.newline = strings.HasSuffix(s, "\n")
		return
	}
	if s != "" && strings.TrimLeft(s, " \t\r\n") != s {
		p.space = true
	}
	for i, w := range strings.Fields(s) {
		if (i > 0 || p.space) && !p.newline && p.out.Len() > 0 {
			p.out.WriteByte(' ')
		}
		p.out.WriteString(w)
		p.newline, p.space = false, false
	}
	p.space = strings.TrimSpace(s) != "" && strings.TrimRight(s, " \t\r\n") != s || strings.TrimSpace(s) == "" && s != ""
}
