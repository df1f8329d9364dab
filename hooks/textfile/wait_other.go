//go:build !unix

package textfile

// withoutWaiting: files of this platform's folders are no pipes.
const withoutWaiting = 0
