package wire

import "encoding/binary"

// Report says what keeps a worker from the machine. Each mechanism is "" when
// it is active, else why it is not.
type Report struct {
	Landlock    string // no files
	Seccomp     string // no network, no new process
	Memory      string // a hard limit, kept by the kernel
	Files       string // tried: opening a file is refused
	Environment string // tried: there is none
	Descriptors string // tried: none but its own
	LastWords   string // tells where a script was when its worker was killed
}

func (r *Report) fields() []*string {
	return []*string{&r.Landlock, &r.Seccomp, &r.Memory, &r.Files, &r.Environment, &r.Descriptors, &r.LastWords}
}

// Append adds the message.
func (r *Report) Append(b []byte) []byte {
	b = append(b, byte(OpHello))
	fields := r.fields()
	b = binary.AppendUvarint(b, uint64(len(fields)))
	for _, f := range fields {
		b = AppendText(b, Clip(*f))
	}
	return b
}

// ReadReport reads what follows OpHello.
func ReadReport(r *Reader) (Report, error) {
	var out Report
	fields := out.fields()
	if n := r.Count(len(fields)); n != len(fields) {
		r.Fail(errTruncated)
	}
	for _, f := range fields {
		*f = r.Text(MaxMessage)
	}
	return out, r.Done()
}
