// What an approval shows, in words: the call, who asked, what hooks said, what
// each answer would cover. Pure, so that all surfaces say the same.

import { duration, placeOf, fileName } from '../decisions/place';
import type { Approval, Decision, Outcome } from '../protocol';
import { shortValue, visible, visibleLine } from '../visible';
import { hunksOf, type OpenApproval } from './open';

/** An answer that can be given, as it is offered. */
export interface Choice {
  outcome: Outcome;
  label: string;
  covers: string;
}

const labels: Record<Outcome, string> = {
  allowOnce: 'Allow once',
  allowSession: 'Allow for this session',
  allowAlways: 'Always allow',
  deny: 'Deny',
};

/** The answers that the server will honour, in the order in which they are offered. */
export function choicesOf({ approval, refused }: OpenApproval): Choice[] {
  const order: Outcome[] = ['allowOnce', 'allowSession', 'allowAlways', 'deny'];
  const partial = refused.size > 0;
  return order
    .filter(outcome => approval.outcomes.includes(outcome))
    .filter(outcome => !partial || outcome === 'allowOnce' || outcome === 'deny')
    .map(outcome => ({ outcome, label: labels[outcome], covers: coversOf(approval, refused, outcome) }));
}

function coversOf(approval: Approval, refused: ReadonlySet<number>, outcome: Outcome): string {
  switch (outcome) {
    case 'allowOnce': {
      const all = hunksOf(approval).length;
      return refused.size === 0 ? 'exactly this call' : `this call, with ${all - refused.size} of ${all} hunks`;
    }
    case 'allowSession':
      return visibleLine(approval.covers?.session ?? 'the server does not say what this would cover');
    case 'allowAlways':
      return visibleLine(approval.covers?.always ?? 'the server does not say what this would cover');
    case 'deny':
      return 'the call does not run; the run goes on';
  }
}

/** One line for a decision in an approval's trail. */
export function trailLine(decision: Decision): string {
  const reason = decision.error?.message ?? decision.reason;
  const said = reason === undefined || reason === '' ? '' : `: ${visibleLine(reason)}`;
  return `${visibleLine(decision.event)} ${visibleLine(decision.action)}${said}`;
}

/** What a decision changed, a line for each field. */
export function changeLines(decision: Decision): string[] {
  return (decision.changes ?? []).map(
    change => `${visibleLine(change.path === '' ? '/' : change.path)}: ${shortValue(change.before)} → ${shortValue(change.after)}`,
  );
}

/** Everything about an approval, as a text to read. */
export function detailsOf(open: OpenApproval): string {
  const { approval } = open;
  const out = [visibleLine(approval.title), `tool ${visibleLine(approval.tool)} · ${approval.risk} · stage ${visibleLine(approval.stage)}`, ''];
  if (approval.command !== undefined) {
    out.push(`Command, in ${visibleLine(approval.command.cwd)}`, '');
    out.push(...visible(approval.command.line).split('\n').map(line => `    ${line}`), '');
    const parts = approval.command.commands ?? [];
    if (parts.length > 1) {
      out.push('It runs', ...parts.map(part => `    ${visibleLine(part)}`), '');
    }
  }
  for (const edit of approval.edits ?? []) {
    out.push(`Edit of ${fileName(edit.uri)}`, '', ...visible(edit.diff).trimEnd().split('\n').map(line => `    ${line}`), '');
  }
  out.push('Arguments', '', ...visible(JSON.stringify(approval.arguments ?? {}, null, 2)).split('\n').map(line => `    ${line}`), '');
  out.push('Why it asks', ...listed(approval.why ?? []), '');
  out.push('Hooks that saw it');
  const hooks = approval.hooks ?? [];
  if (hooks.length === 0) {
    out.push('    none');
  }
  for (const decision of hooks) {
    out.push(`    ${trailLine(decision)}  (${placeOf(decision).label}, ${duration(decision.durationUs)})`);
    out.push(...changeLines(decision).map(line => `        ${line}`));
  }
  out.push('', 'What you can answer');
  for (const choice of choicesOf(open)) {
    out.push(`    ${choice.label}: ${choice.covers}`);
  }
  return `${out.join('\n')}\n`;
}

function listed(lines: readonly string[]): string[] {
  return lines.length === 0 ? ['    the server does not say'] : lines.map(line => `    ${visibleLine(line)}`);
}
