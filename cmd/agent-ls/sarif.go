package main

import (
	"encoding/json"
	"io"

	"agent-ls/hooks/check"
)

// The part of SARIF 2.1.0 that code scanning services read.
type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool struct {
		Driver sarifDriver `json:"driver"`
	} `json:"tool"`
	Results    []sarifResult `json:"results"`
	ColumnKind string        `json:"columnKind"`
}

type sarifDriver struct {
	Name    string      `json:"name"`
	Version string      `json:"version"`
	Rules   []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID               string    `json:"id"`
	ShortDescription sarifText `json:"shortDescription"`
	Help             sarifText `json:"help"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifResult struct {
	RuleID    string          `json:"ruleId"`
	Level     string          `json:"level"`
	Message   sarifText       `json:"message"`
	Locations []sarifLocation `json:"locations"`
}

type sarifLocation struct {
	PhysicalLocation sarifPhysical `json:"physicalLocation"`
}

type sarifPhysical struct {
	ArtifactLocation struct {
		URI string `json:"uri"`
	} `json:"artifactLocation"`
	Region sarifRegion `json:"region"`
}

type sarifRegion struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn"`
	EndLine     int `json:"endLine"`
	EndColumn   int `json:"endColumn"`
}

func writeSARIF(w io.Writer, findings []check.Finding, read textOf) error {
	driver := sarifDriver{Name: "agent-ls", Version: version}
	for _, code := range check.Codes() {
		driver.Rules = append(driver.Rules, sarifRule{string(code.Code), sarifText{code.Says}, sarifText{code.Do}})
	}
	run := sarifRun{Results: []sarifResult{}, ColumnKind: "unicodeCodePoints"}
	run.Tool.Driver = driver
	for _, f := range findings {
		at := foundOf(f, read)
		level := "note"
		switch f.Severity {
		case check.Error:
			level = "error"
		case check.Warning:
			level = "warning"
		}
		location := sarifLocation{sarifPhysical{Region: sarifRegion{at.Line, at.Column, at.EndLine, at.EndCol}}}
		location.PhysicalLocation.ArtifactLocation.URI = at.File
		run.Results = append(run.Results, sarifResult{string(f.Code), level, sarifText{f.Message}, []sarifLocation{location}})
	}
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
}
