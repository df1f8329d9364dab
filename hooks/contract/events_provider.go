package contract

// The provider, its cache, repairs, and what resuming a run brings.

var (
	changedField  = f("changed", listOf(oneOf("system", "tools", "messages", "model", "thinking")), "what differs from the last request")
	sectionsField = f("system_sections", listOf(oneOf("skills_catalog", "tools_catalog", "mcp_instructions", "rules", "host_static", "host_dynamic")),
		"which parts of the system prompt differ; empty when it did not change")
)

var providerEvents = []*Event{
	watched("cache:break", "Sees a turn that read much less from the cache.", "A turn read much less cached prefix than the last one; only with behavior.cache_telemetry.", "ctx.changed",
		modelField, f("cache_read", number(), "tokens read from the cache now"), f("previous_cache_read", number(), "tokens read by the turn before"), changedField, sectionsField),
	watched("cache:drift", "Sees a request that leaves the cached prefix.", "At turn:before, when the request differs from the last one's prefix; only with behavior.cache_telemetry.", "ctx.changed",
		modelField, f("at_message", nullable(number()), "the first message that differs, from 0; nil when none does"), changedField, sectionsField),
	watched("history:repair", "Sees reasoning removed from the history.", "The provider refused reasoning in the history, which was removed.", "ctx.removed",
		modelField, f("removed", number(), "how many parts were removed"), f("reason", text(), "what the provider said")),
	watched("provider:input-transformations", "Sees reasoning that the provider dropped.", "The provider tells with its answer that it left replayed reasoning out of the request; Anthropic's does where the model's headers ask for it.", "ctx.dropped",
		modelField, f("dropped", number(), "how many parts it dropped"), f("details", anything(), "what the provider tells")),
	watched("provider:diagnostic", "Sees what a provider remarks on a turn.", "The provider says something beside its answer: why it refused or filtered it, why its cache was not used, a warning.", "ctx.message",
		modelField, f("code", text(), "the provider's name for it, empty when it has none"), f("message", text(), "what it says"), f("details", anything(), "what else it tells")),
	watched("oauth:refresh", "Sees credentials renewed.", "The provider's OAuth credentials were renewed in a run.", "ctx.provider",
		f("provider", text(), "whose"), f("expires_at", maybeText(), "until when they hold, RFC 3339, nil when it is not known")),
	watched("pairing:repair", "Sees a call without a result repaired.", "A history had a call without a result or a result without a call, once per repair, before sending.", "ctx.call_id",
		f("call_id", text(), "the call"), f("name", text(), "the tool's name, empty when it is not known"), f("repair", oneOf("result_added", "result_removed"), "what was done")),
	{
		Name: "content-ref:resolve", Function: "content_ref_resolve", Class: Transform, Since: 1,
		Doc:     "Gives the bytes of content that is kept elsewhere.",
		Fires:   "A part of a message carries a reference in place of its content, before sending.",
		Fields:  []Field{f("ref", text(), "the reference"), f("media_type", text(), "what it is, such as image/png"), f("data", maybeText(), "the bytes in base64, nil while nobody has them")},
		Actions: actions(Modify), Value: value(text()), ValueField: "data", ValueDoc: "the bytes in base64",
		Example: `func content_ref_resolve(ctx) {
    if ctx.ref == "logo" {
        return hook.modify("R0lGODlhAQABAAAAACw=")
    }
    return hook.allow()
}
`,
	},
	{
		Name: "tracing:redact", Function: "tracing_redact", Class: Transform, Since: 1,
		Doc:     "Takes secrets out of what traces, metrics, logs and exports record.",
		Fires:   "Before a payload is recorded outside the journal.",
		Fields:  []Field{f("kind", oneOf("trace", "metric", "log", "export"), "what records it"), f("payload", anything(), "what would be recorded without any redaction"), f("redacted", anything(), "what will be recorded")},
		Actions: actions(Modify), Value: value(anything()), ValueField: "redacted", ValueDoc: "what is to be recorded",
		Example: `func tracing_redact(ctx) {
    if type(ctx.redacted) == "string" {
        return hook.modify(regexp.compile("sk-[A-Za-z0-9]+").replace_all(ctx.redacted, "<key>"))
    }
    return hook.allow()
}
`,
	},
	watched("replay:done", "Sees a durable host go from replay to live.", "The host has replayed what happened and goes on live.", "ctx.replayed",
		f("runtime", text(), "the host's name"), f("replayed", number(), "how many steps were replayed")),
	watched("tool-batch:resumed", "Sees a batch taken up again.", "A resumed run goes on with a batch that an ended process left, before any call runs.", "ctx.resuming",
		f("done", texts(), "the calls whose results are known"), f("resuming", texts(), "the calls that run again or are reported as interrupted")),
	watched("resume:mismatch", "Sees a run that cannot be taken up.", "What is recorded of a batch belongs to another turn than the saved ones; the run is closed properly and not resumed.", "ctx.reason",
		f("resume_turn", number(), "the turn of the batch"), f("stored_turns", number(), "the turns that are saved"), f("reason", text(), "what does not fit")),
}
