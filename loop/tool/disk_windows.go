package tool

import (
	"io/fs"
	"os"
)

const umask fs.FileMode = 0

func keepOwner(*os.File, fs.FileInfo) {}
