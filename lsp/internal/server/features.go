package server

import "go.lsp.dev/protocol"

// featureCapabilities declares the language features.
func (s *Server) featureCapabilities(*protocol.ServerCapabilities) {}
