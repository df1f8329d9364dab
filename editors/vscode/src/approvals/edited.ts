// The text that a file would have: its hunks, or some of them, put into the
// text before.

import type { Hunk } from '../protocol';

/**
 * The text with the hunks applied that `accepted` takes. Ranges count lines from 0 and UTF-16 code units, all in the
 * text before. What points past the end of a line or the text is taken as its end.
 */
export function edited(before: string, hunks: readonly Hunk[], accepted: (n: number) => boolean): string {
  const starts = lineStarts(before);
  const offset = ({ line, character }: { line: number; character: number }): number => {
    const start = starts[line];
    if (start === undefined) {
      return before.length;
    }
    const next = starts[line + 1] ?? before.length;
    return Math.min(start + character, next);
  };
  const chosen = hunks
    .filter(hunk => accepted(hunk.n))
    .map(hunk => ({ from: offset(hunk.range.start), to: offset(hunk.range.end), text: hunk.newText }))
    .sort((a, b) => a.from - b.from || a.to - b.to);
  let out = '';
  let done = 0;
  for (const hunk of chosen) {
    out += before.slice(done, Math.max(done, hunk.from)) + hunk.text;
    done = Math.max(done, hunk.to);
  }
  return out + before.slice(done);
}

/** How many lines a unified diff adds and takes away. */
export function lineCounts(diff: string): { added: number; removed: number } {
  let added = 0;
  let removed = 0;
  let inHunk = false;
  for (const line of diff.split('\n')) {
    if (line.startsWith('@@')) {
      inHunk = true;
    } else if (inHunk && line.startsWith('+')) {
      added++;
    } else if (inHunk && line.startsWith('-')) {
      removed++;
    }
  }
  return { added, removed };
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '\n' || (text[at] === '\r' && text[at + 1] !== '\n')) {
      starts.push(at + 1);
    }
  }
  return starts;
}
