// The Approvals view: each open call with its edits and hunks, who asked, what
// hooks said and what an answer would cover.

import * as vscode from 'vscode';
import { decisionIcon, openDecision } from '../decisions/item';
import { duration, fileName, placeOf } from '../decisions/place';
import type { Approval, Decision, Edit, Hunk } from '../protocol';
import { shortValue, visible, visibleLine } from '../visible';
import { changeLines, choicesOf, trailLine } from './describe';
import { lineCounts } from './edited';
import type { OpenApproval, OpenApprovals } from './open';

/** A row of the view. */
export type ApprovalNode =
  | { kind: 'approval'; approval: Approval }
  | { kind: 'edit'; approval: Approval; n: number; edit: Edit }
  | { kind: 'hunk'; approval: Approval; hunk: Hunk }
  | { kind: 'hook'; decision: Decision }
  | { kind: 'change'; text: string }
  | { kind: 'fact'; label: string; description: string; icon: string; tooltip?: string };

const riskIcons: Record<string, string> = { read: 'eye', write: 'edit', execute: 'terminal', network: 'globe' };

/** The tree behind the view. */
export class ApprovalsTree implements vscode.TreeDataProvider<ApprovalNode>, vscode.Disposable {
  private readonly change = new vscode.EventEmitter<void>();
  private readonly unsubscribe: () => void;
  private nodes: ReadonlyMap<string, ApprovalNode> = new Map();

  readonly onDidChangeTreeData = this.change.event;

  constructor(private readonly approvals: OpenApprovals) {
    this.unsubscribe = approvals.onChange(() => { this.change.fire(); });
  }

  dispose(): void {
    this.unsubscribe();
    this.change.dispose();
  }

  /** The row of an approval, to reveal it. */
  nodeOf(id: string): ApprovalNode | undefined {
    return this.nodes.get(id);
  }

  getChildren(node?: ApprovalNode): ApprovalNode[] {
    if (node === undefined) {
      // The same object for the same approval, so that a row can be revealed by it.
      const roots = this.approvals.all.map(({ approval }): [string, ApprovalNode] => [
        approval.id, this.nodes.get(approval.id) ?? { kind: 'approval', approval },
      ]);
      this.nodes = new Map(roots);
      return [...this.nodes.values()];
    }
    switch (node.kind) {
      case 'approval':
        return this.detailsOf(node.approval);
      case 'edit': {
        const hunks = node.edit.hunks ?? [];
        return hunks.length > 1 ? hunks.map(hunk => ({ kind: 'hunk', approval: node.approval, hunk })) : [];
      }
      case 'hook':
        return changeLines(node.decision).map(text => ({ kind: 'change', text }));
      default:
        return [];
    }
  }

  getParent(): undefined {
    return undefined; // only roots are revealed
  }

  getTreeItem(node: ApprovalNode): vscode.TreeItem {
    switch (node.kind) {
      case 'approval':
        return this.approvalItem(node.approval);
      case 'edit':
        return editItem(node.approval, node.n, node.edit);
      case 'hunk':
        return hunkItem(node.hunk, this.approvals.get(node.approval.id));
      case 'hook':
        return hookItem(node.decision);
      case 'change':
        return iconItem(node.text, 'arrow-right');
      case 'fact': {
        const item = iconItem(node.label, node.icon);
        item.description = node.description;
        item.tooltip = node.tooltip ?? `${node.label}: ${node.description}`;
        return item;
      }
    }
  }

  private approvalItem(approval: Approval): vscode.TreeItem {
    const item = new vscode.TreeItem(visibleLine(approval.title), vscode.TreeItemCollapsibleState.Expanded);
    item.id = approval.id;
    item.description = `${approval.risk} · ${visibleLine(approval.stage)}${approval.elsewhere === true ? ' · other window' : ''}`;
    item.iconPath = new vscode.ThemeIcon(riskIcons[approval.risk] ?? 'question', new vscode.ThemeColor('list.warningForeground'));
    item.contextValue = `approval:${approval.outcomes.join(':')}:`;
    item.tooltip = visibleLine(approval.title, 1000);
    item.command = { command: 'agent-ls.approval.review', title: 'Review', arguments: [{ id: approval.id }] };
    return item;
  }

  private detailsOf(approval: Approval): ApprovalNode[] {
    const out: ApprovalNode[] = [];
    if (approval.command !== undefined) {
      const line = approval.command.line;
      out.push({
        kind: 'fact', icon: 'terminal', label: visibleLine(line), description: `in ${visibleLine(approval.command.cwd)}`, tooltip: visible(line),
      });
    }
    (approval.edits ?? []).forEach((edit, n) => out.push({ kind: 'edit', approval, n, edit }));
    if (approval.command === undefined && (approval.edits ?? []).length === 0) {
      out.push({ kind: 'fact', icon: 'json', label: 'arguments', description: shortValue(approval.arguments) });
    }
    for (const why of approval.why ?? []) {
      out.push({ kind: 'fact', icon: 'shield', label: 'asks because', description: visibleLine(why) });
    }
    for (const decision of approval.hooks ?? []) {
      out.push({ kind: 'hook', decision });
    }
    const open = this.approvals.get(approval.id);
    for (const choice of open === undefined ? [] : choicesOf(open)) {
      if (choice.outcome === 'allowSession' || choice.outcome === 'allowAlways') {
        const label = choice.outcome === 'allowSession' ? 'session would cover' : 'always would cover';
        out.push({ kind: 'fact', icon: 'key', label, description: choice.covers });
      }
    }
    return out;
  }
}

function editItem(approval: Approval, n: number, edit: Edit): vscode.TreeItem {
  const many = (edit.hunks ?? []).length > 1;
  const item = new vscode.TreeItem(
    fileName(edit.uri),
    many ? vscode.TreeItemCollapsibleState.Expanded : vscode.TreeItemCollapsibleState.None,
  );
  const { added, removed } = lineCounts(edit.diff);
  item.description = `+${added} −${removed}`;
  item.iconPath = new vscode.ThemeIcon('diff');
  item.tooltip = visible(edit.diff);
  item.command = { command: 'agent-ls.approval.review', title: 'Review', arguments: [{ id: approval.id, edit: n }] };
  return item;
}

function hunkItem(hunk: Hunk, open: OpenApproval | undefined): vscode.TreeItem {
  const line = hunk.range.start.line + 1;
  const item = new vscode.TreeItem(`hunk ${hunk.n}, line ${line}`);
  item.description = visibleLine(hunk.newText, 80);
  item.tooltip = visible(hunk.newText);
  const accepted = !(open?.refused.has(hunk.n) ?? false);
  item.checkboxState = {
    state: accepted ? vscode.TreeItemCheckboxState.Checked : vscode.TreeItemCheckboxState.Unchecked,
    tooltip: accepted ? 'part of what would be allowed' : 'refused',
  };
  return item;
}

function hookItem(decision: Decision): vscode.TreeItem {
  const changed = (decision.changes ?? []).length > 0;
  const item = new vscode.TreeItem(
    trailLine(decision),
    changed ? vscode.TreeItemCollapsibleState.Expanded : vscode.TreeItemCollapsibleState.None,
  );
  item.description = `${placeOf(decision).label} · ${duration(decision.durationUs)}`;
  item.iconPath = decisionIcon(decision);
  item.tooltip = `${trailLine(decision)}\n${placeOf(decision).label}`;
  item.command = openDecision(decision);
  return item;
}

function iconItem(label: string, icon: string): vscode.TreeItem {
  const item = new vscode.TreeItem(visibleLine(label));
  item.iconPath = new vscode.ThemeIcon(icon);
  return item;
}
