// Where a decision was made, in words: guard.risor:12, a command, Go code.

import type { Decision } from '../protocol';
import { visibleLine } from '../visible';

/** A place to show, and to go to when it is in a file. */
export interface Place {
  label: string;
  uri?: string;
  line?: number;
  character?: number;
}

/** The line that decided; of a broken hook, the line that broke. */
export function placeOf(decision: Decision): Place {
  const { hook, error } = decision;
  const broken = error?.uri === undefined ? undefined : { uri: error.uri, range: error.range ?? hook.range };
  const at = broken ?? (hook.uri === undefined ? undefined : { uri: hook.uri, range: hook.range });
  if (at !== undefined) {
    const line = at.range?.start.line;
    return {
      label: line === undefined ? fileName(at.uri) : `${fileName(at.uri)}:${line + 1}`,
      uri: at.uri,
      ...(at.range === undefined ? {} : { line: at.range.start.line, character: at.range.start.character }),
    };
  }
  if (hook.command !== undefined) {
    const status = hook.exitStatus === undefined ? '' : ` (exit ${hook.exitStatus})`;
    return { label: `${visibleLine(hook.command, 60)}${status}` };
  }
  return { label: visibleLine(hook.go ?? 'unknown hook', 60) };
}

/** The last part of a URI's path. */
export function fileName(uri: string): string {
  const name = uri.slice(uri.lastIndexOf('/') + 1);
  try {
    return visibleLine(decodeURIComponent(name));
  } catch {
    return visibleLine(name);
  }
}

/** 85 µs, 1.2 ms, 2.0 s. */
export function duration(us: number): string {
  if (us < 1000) {
    return `${Math.round(us)} µs`;
  }
  return us < 1_000_000 ? `${(us / 1000).toFixed(1)} ms` : `${(us / 1_000_000).toFixed(1)} s`;
}
