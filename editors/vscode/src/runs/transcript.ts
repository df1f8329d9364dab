// A run as a text that can be read from top to bottom.

import { placeOf } from '../decisions/place';
import { shortValue, visible, visibleLine } from '../visible';
import type { Item, Run } from './log';

/** The text, and the line (from 0) on which each item starts. */
export interface Transcript {
  text: string;
  lines: Map<Item, number>;
}

/** Writes a run down. */
export function transcriptOf(run: Run): Transcript {
  const out: string[] = [];
  const lines = new Map<Item, number>();
  out.push(`Run ${run.runId}`, '');
  out.push(...indented(visible(run.prompt), '> '));
  out.push('', facts(run), '');
  for (const stage of run.stages) {
    out.push(`── stage ${visibleLine(stage.name)}${stage.outcome === undefined ? '' : ` (${visibleLine(stage.outcome)})`} ──`, '');
    for (const item of stage.items) {
      lines.set(item, out.length);
      out.push(...write(item), '');
    }
  }
  if (run.streaming !== '') {
    out.push(...visible(run.streaming).split('\n'), '');
  }
  out.push(ending(run));
  return { text: `${out.join('\n')}\n`, lines };
}

function facts(run: Run): string {
  const known = [
    run.agent === '' ? '' : `agent ${run.agent}`,
    run.model === '' ? '' : `model ${run.model}`,
    run.mode === '' ? '' : `mode ${run.mode}`,
    run.sandbox === '' ? '' : `sandbox ${run.sandbox}`,
  ];
  return visibleLine(known.filter(fact => fact !== '').join(' · '));
}

function write(item: Item): string[] {
  switch (item.kind) {
    case 'message':
      return visible(item.text).split('\n');
    case 'tool': {
      const head = `[${visibleLine(item.tool)}] ${visibleLine(item.title)}`;
      const time = item.durationMs === undefined ? '' : `, ${item.durationMs} ms`;
      const state = item.outcome === undefined ? 'running' : `${visibleLine(item.outcome)}${time}`;
      const output = item.output === undefined || item.output === '' ? [] : indented(visible(item.output), '  | ');
      return [`${head}  (${state})`, `  ${shortValue(item.arguments, 500)}`, ...output];
    }
    case 'decision': {
      const decision = item.decision;
      const head = `hook ${visibleLine(decision.event)}: ${visibleLine(decision.action)}  ${placeOf(decision).label}`;
      const reason = decision.error?.message ?? decision.reason;
      const changed = (decision.changes ?? []).map(
        change => `  ${visibleLine(change.path)}: ${shortValue(change.before)} → ${shortValue(change.after)}`,
      );
      return [head, ...(reason === undefined ? [] : indented(visible(reason), '  ')), ...changed];
    }
    case 'file':
      return [`changed ${visibleLine(item.uri)}`, ...indented(visible(item.diff).trimEnd(), '  ')];
    case 'notice':
      return [`${item.level}: ${visible(item.text)}`];
  }
}

function ending(run: Run): string {
  const because = run.error ?? (run.stopReason === undefined || run.stopReason === 'end' ? '' : run.stopReason);
  return because === '' ? `── ${run.status} ──` : `── ${run.status}: ${visible(because)} ──`;
}

function indented(text: string, by: string): string[] {
  return text.split('\n').map(line => by + line);
}
