// How a decision looks in a tree, wherever the tree is.

import * as vscode from 'vscode';
import type { Decision } from '../protocol';
import { markdownText, visible } from '../visible';
import { duration, placeOf } from './place';

const icons: Record<string, [icon: string, color?: string]> = {
  allow: ['pass', 'testing.iconPassed'],
  modify: ['edit', 'charts.blue'],
  deny: ['circle-slash', 'list.errorForeground'],
  substitute: ['replace', 'charts.blue'],
  cancel: ['stop-circle', 'list.errorForeground'],
  retry: ['debug-restart', 'list.warningForeground'],
  error: ['error', 'list.errorForeground'],
};

/** The icon of a decision's action. */
export function decisionIcon(decision: Decision): vscode.ThemeIcon {
  const [icon, color] = icons[decision.action] ?? ['question'];
  return new vscode.ThemeIcon(icon, color === undefined ? undefined : new vscode.ThemeColor(color));
}

/** The command of a row that opens the line that decided. */
export function openDecision(decision: Decision): vscode.Command {
  return { command: 'agent-ls.decisions.open', title: 'Open the line that decided', arguments: [decision] };
}

/** All that is known of a decision. Text of scripts and models is escaped; nothing in it is a link. */
export function decisionTooltip(decision: Decision): vscode.MarkdownString {
  const out = new vscode.MarkdownString();
  out.isTrusted = false;
  out.supportHtml = false;
  out.appendMarkdown(`**${markdownText(`${decision.event}: ${decision.action}`)}**\n\n`);
  const reason = decision.error?.message ?? decision.reason;
  if (reason !== undefined && reason !== '') {
    out.appendMarkdown(`${markdownText(reason, 2000)}\n\n`);
  }
  for (const change of decision.changes ?? []) {
    out.appendCodeblock(visible(`${change.path}\n- ${JSON.stringify(change.before)}\n+ ${JSON.stringify(change.after)}`), 'diff');
  }
  if (decision.printed !== undefined && decision.printed !== '') {
    out.appendMarkdown('printed');
    out.appendCodeblock(visible(decision.printed), 'text');
  }
  for (const frame of decision.error?.stack ?? []) {
    out.appendMarkdown(`${markdownText(frame)}\n\n`);
  }
  const operations = decision.operations === undefined ? '' : `, ${decision.operations} operations`;
  out.appendMarkdown(markdownText(`${placeOf(decision).label}, ${duration(decision.durationUs)}${operations}, stage ${decision.stage}`));
  return out;
}
