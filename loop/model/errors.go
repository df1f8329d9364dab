package model

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"agent-ls/hooks/lazyexp"
	"agent-ls/loop"
)

// maxErrorText bounds what of a server's answer goes into a message.
const maxErrorText = 500

// overflow matches how servers say that a request is too long.
var overflow = lazyexp.New(`(?i)context[ _-]?(length|window|size|limit)|prompt (is|was) too long|too many (input |prompt )?tokens|maximum (context|prompt|input)|input (is|was) too long|exceeds? the (available|maximum|model'?s?) (context|input|token)|request_too_large|reduce the length of`)

// reasoning matches how servers say that they do not take thinking back.
var reasoning = lazyexp.New("(?i)(invalid|missing|expired|unknown|malformed)[^.]{0,40}signature|signature[^.]{0,60}(thinking|reasoning)|(thinking|reasoning)[^.]{0,40}signature|expected .?(redacted_)?thinking|thinking.{0,3} blocks?.{0,80}(cannot be modified|must remain|not (allowed|supported|valid))|reasoning (item|content|state).{0,80}(not found|invalid|expired|without)")

// classify says what may be done about an answer with this status. The kind
// is the server's own word for the error.
func classify(status int, kind, body string) loop.ErrorClass {
	switch {
	case kind == "insufficient_quota":
		return loop.Terminal // 429, but no waiting helps
	case status == http.StatusRequestEntityTooLarge:
		return loop.ContextOverflow
	case (status == http.StatusBadRequest || status == 0 || status == http.StatusOK || status == http.StatusUnprocessableEntity || status == http.StatusInternalServerError) && overflow.MatchString(kind+" "+body):
		return loop.ContextOverflow
	case (status == http.StatusBadRequest || status == http.StatusUnprocessableEntity) && reasoning.MatchString(body):
		return loop.ReasoningRefused
	}
	switch status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout, 529:
		return loop.Retryable
	}
	switch kind {
	case "overloaded_error", "rate_limit_error", "api_error", "timeout_error", "server_error", "rate_limit_exceeded", "service_unavailable":
		return loop.Retryable
	}
	return loop.Terminal
}

// statusError makes an error of a server's answer.
func statusError(model string, status int, header http.Header, body []byte, now func() time.Time) *loop.ModelError {
	kind, said := errorBody(body)
	e := &loop.ModelError{
		Class: classify(status, kind, said), Status: status, RetryAfter: retryAfter(header, now),
		Message: fmt.Sprintf("the server of the model %q answered %d", model, status),
	}
	if text := http.StatusText(status); text != "" {
		e.Message += " (" + strings.ToLower(text) + ")"
	}
	if said != "" {
		e.Message += ": " + said
	}
	return e
}

// errorBody finds the kind and the words in the shapes that servers use.
func errorBody(body []byte) (kind, said string) {
	var shape struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  any             `json:"detail"`
	}
	var inner struct {
		Type, Message string
		Code          any
	}
	said = strings.TrimSpace(string(body))
	if json.Unmarshal(body, &shape) == nil {
		var plain string
		switch {
		case json.Unmarshal(shape.Error, &inner) == nil && (inner.Message != "" || inner.Type != ""):
			said, kind = inner.Message, inner.Type
			if code, ok := inner.Code.(string); ok && code != "" {
				kind = code
			}
		case json.Unmarshal(shape.Error, &plain) == nil && plain != "":
			said = plain
		case shape.Message != "":
			said = shape.Message
		}
	}
	return kind, shorten(said)
}

func shorten(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxErrorText {
		s = strings.ToValidUTF8(s[:maxErrorText], "") + "…"
	}
	return s
}

// retryAfter reads how long a server wants to be left alone: milliseconds,
// seconds or a date; 0 if it does not say.
func retryAfter(h http.Header, now func() time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("retry-after-ms"), 64); err == nil && ms > 0 {
		return bounded(ms / 1000)
	}
	value := h.Get("retry-after")
	if s, err := strconv.ParseFloat(value, 64); err == nil && s > 0 {
		return bounded(s)
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now()))
	}
	return 0
}

// bounded keeps a server's number of seconds within a day.
func bounded(seconds float64) time.Duration {
	return time.Duration(min(seconds, 86400) * float64(time.Second))
}

// cut is a stream that ended before its answer did.
func cut(model, why string) *loop.ModelError {
	return &loop.ModelError{Class: loop.Retryable, Message: fmt.Sprintf("the answer of the model %q was cut: %s", model, why)}
}

// transportError makes an error of a connection's failure.
func transportError(model string, err error) *loop.ModelError {
	e := &loop.ModelError{Class: loop.Retryable, Message: fmt.Sprintf("the model %q cannot be reached: %s", model, shorten(err.Error()))}
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	if errors.As(err, &dns) && dns.IsNotFound || errors.As(err, &certificate) || errors.As(err, &authority) {
		e.Class = loop.Terminal // asking again changes nothing
	}
	return e
}
