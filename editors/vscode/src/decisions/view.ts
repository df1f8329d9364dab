// The Decisions view: what hooks decided, run by run, each row the way to the
// line that decided.

import * as vscode from 'vscode';
import type { Decision } from '../protocol';
import type { RunLog } from '../runs/log';
import { shortValue, visible, visibleLine } from '../visible';
import { decisionIcon, decisionTooltip, openDecision } from './item';
import type { DecisionLog } from './log';
import { duration, fileName, placeOf } from './place';

/** A row of the view. */
export type DecisionNode =
  | { kind: 'run'; runId: string; decisions: Decision[] }
  | { kind: 'decision'; decision: Decision }
  | { kind: 'detail'; label: string; description: string; icon: string; tooltip: string };

/** What the view is narrowed to. */
export interface DecisionFilter {
  uri?: string;
  runId?: string;
}

/** The tree behind the view. */
export class DecisionsTree implements vscode.TreeDataProvider<DecisionNode>, vscode.Disposable {
  private readonly change = new vscode.EventEmitter<void>();
  private readonly unsubscribe: () => void;
  private filter: DecisionFilter = {};
  private first: DecisionNode | undefined;

  readonly onDidChangeTreeData = this.change.event;

  constructor(
    private readonly decisions: DecisionLog,
    private readonly runs: RunLog,
  ) {
    this.unsubscribe = decisions.onChange(() => { this.change.fire(); });
  }

  dispose(): void {
    this.unsubscribe();
    this.change.dispose();
  }

  /** Narrows the view to one script or one run, or to nothing. */
  narrow(filter: DecisionFilter): void {
    this.filter = filter;
    this.change.fire();
  }

  /** What the view is narrowed to, in words; undefined when it shows all. */
  get narrowed(): string | undefined {
    if (this.filter.uri !== undefined) {
      return fileName(this.filter.uri);
    }
    return this.filter.runId === undefined ? undefined : this.titleOf(this.filter.runId);
  }

  /** The newest run's row, to reveal it. */
  get newest(): DecisionNode | undefined {
    return this.first;
  }

  getChildren(node?: DecisionNode): DecisionNode[] {
    if (node === undefined) {
      const rows = this.decisions.byRun(decision => this.shows(decision)).map(run => ({ kind: 'run' as const, ...run }));
      this.first = rows[0];
      return rows;
    }
    switch (node.kind) {
      case 'run':
        return node.decisions.map(decision => ({ kind: 'decision', decision }));
      case 'decision':
        return detailsOf(node.decision);
      case 'detail':
        return [];
    }
  }

  getParent(): undefined {
    return undefined; // only roots are revealed
  }

  getTreeItem(node: DecisionNode): vscode.TreeItem {
    switch (node.kind) {
      case 'run':
        return this.runItem(node);
      case 'decision':
        return decisionItem(node.decision);
      case 'detail': {
        const item = new vscode.TreeItem(node.label);
        item.description = node.description;
        item.iconPath = new vscode.ThemeIcon(node.icon);
        item.tooltip = node.tooltip;
        return item;
      }
    }
  }

  private shows(decision: Decision): boolean {
    const { uri, runId } = this.filter;
    return (uri === undefined || sameFile(decision.hook.uri, uri) || sameFile(decision.error?.uri, uri))
      && (runId === undefined || decision.runId === runId);
  }

  private titleOf(runId: string): string {
    const prompt = this.runs.run(runId)?.prompt ?? '';
    return prompt === '' ? `run ${runId}` : visibleLine(prompt, 80);
  }

  private runItem(node: DecisionNode & { kind: 'run' }): vscode.TreeItem {
    const newest = node === this.first;
    const item = new vscode.TreeItem(
      this.titleOf(node.runId),
      newest ? vscode.TreeItemCollapsibleState.Expanded : vscode.TreeItemCollapsibleState.Collapsed,
    );
    item.id = `run ${node.runId}`;
    item.description = node.decisions.length === 1 ? '1 decision' : `${node.decisions.length} decisions`;
    item.iconPath = new vscode.ThemeIcon('law');
    return item;
  }
}

/** The row of a decision, here and in the Runs view. */
export function decisionItem(decision: Decision): vscode.TreeItem {
  const details = detailsOf(decision).length > 0;
  const item = new vscode.TreeItem(
    `${visibleLine(decision.event)} ${visibleLine(decision.action)}`,
    details ? vscode.TreeItemCollapsibleState.Collapsed : vscode.TreeItemCollapsibleState.None,
  );
  const place = placeOf(decision);
  item.description = `${place.label} · ${duration(decision.durationUs)}`;
  item.iconPath = decisionIcon(decision);
  item.tooltip = decisionTooltip(decision);
  item.contextValue = place.uri === undefined ? 'decision' : 'decision:line';
  item.command = openDecision(decision);
  return item;
}

/** The rows below a decision. */
export function detailsOf(decision: Decision): (DecisionNode & { kind: 'detail' })[] {
  const rows: (DecisionNode & { kind: 'detail' })[] = [];
  const row = (icon: string, label: string, description: string, tooltip = `${label} ${description}`): void => {
    rows.push({ kind: 'detail', icon, label: visibleLine(label), description: visibleLine(description), tooltip: visible(tooltip) });
  };
  if (decision.error !== undefined) {
    row('error', decision.error.message, decision.error.kind);
    for (const frame of decision.error.stack ?? []) {
      row('debug-stackframe', frame, '');
    }
  } else if (decision.reason !== undefined && decision.reason !== '') {
    row('comment', decision.reason, '');
  }
  for (const change of decision.changes ?? []) {
    row(
      'arrow-right', change.path === '' ? '/' : change.path, `${shortValue(change.before)} → ${shortValue(change.after)}`,
      `${change.path}\nbefore: ${JSON.stringify(change.before)}\nafter: ${JSON.stringify(change.after)}`,
    );
  }
  if (decision.printed !== undefined && decision.printed !== '') {
    row('output', 'printed', decision.printed, decision.printed);
  }
  return rows;
}

function sameFile(one: string | undefined, other: string): boolean {
  return one !== undefined && vscode.Uri.parse(one).toString() === vscode.Uri.parse(other).toString();
}
