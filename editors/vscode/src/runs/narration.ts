// Writes runs into an output channel as they go, for those who like to read
// along: one line for each thing, text as it streams.

import { duration, placeOf } from '../decisions/place';
import type { AgentEvent, Decision } from '../protocol';
import { shortValue, visible, visibleLine } from '../visible';

/** Where the text goes. */
export interface Sink {
  append: (text: string) => void;
}

/** Narrates events. Text that streamed is not written again when its message is finished. */
export class Narration {
  /** Runs whose text is in the middle of a line. */
  private readonly writing = new Set<string>();

  constructor(private readonly sink: Sink) {}

  event(event: AgentEvent): void {
    switch (event.type) {
      case 'text_delta':
        this.writing.add(event.runId);
        this.sink.append(visible(event.text ?? ''));
        return;
      case 'message':
        if (this.writing.delete(event.runId)) {
          this.sink.append('\n');
        } else {
          this.line(event.runId, visible(event.text ?? ''));
        }
        return;
    }
    const text = lines[event.type]?.(event);
    if (text !== undefined) {
      this.line(event.runId, text);
    }
  }

  decision(decision: Decision): void {
    const reason = decision.error?.message ?? decision.reason;
    const said = reason === undefined || reason === '' ? '' : `: ${visibleLine(reason)}`;
    this.line(
      decision.runId,
      `  hook ${visibleLine(decision.event)} ${visibleLine(decision.action)}${said} (${placeOf(decision).label}, ${duration(decision.durationUs)})`,
    );
  }

  private line(runId: string, text: string): void {
    this.sink.append(`${this.writing.delete(runId) ? '\n' : ''}${text}\n`);
  }
}

const lines: Partial<Record<string, (event: AgentEvent) => string>> = {
  run_started: event => `\n▶ ${visibleLine(event.prompt ?? '', 500)}\n  ${(['agent', 'model', 'mode', 'sandbox'] as const)
    .map(fact => `${fact} ${visibleLine(event[fact] ?? 'unknown')}`).join(', ')}`,
  stage_entered: event => `  stage ${visibleLine(event.stage ?? '')}`,
  tool_started: event => `  → ${visibleLine(event.title ?? event.tool ?? '')}  ${shortValue(event.arguments, 300)}`,
  tool_finished: event => `  ← ${visibleLine(event.outcome ?? 'finished')}${event.durationMs === undefined ? '' : `, ${event.durationMs} ms`}`,
  approval_requested: () => '  ? waits for you',
  approval_withdrawn: event => `  ? withdrawn (${visibleLine(event.by ?? 'unknown')})`,
  file_changed: event => `  changed ${visibleLine(event.uri ?? '')}`,
  retrying: event => `  tries again: ${visibleLine(event.because ?? '')}`,
  notice: event => `  ${visibleLine(event.level ?? 'info')}: ${visible(event.text ?? '')}`,
  run_finished: event => `■ ${event.status ?? 'done'}${event.error === undefined ? '' : `: ${visible(event.error)}`}`,
};
