// The Runs view: runs, their stages, and in each what the agent said, called
// and changed, with the hook decisions in between.

import * as vscode from 'vscode';
import { decisionItem, detailsOf, type DecisionNode } from '../decisions/view';
import { fileName } from '../decisions/place';
import type { Session } from '../protocol';
import { shortValue, visible, visibleLine } from '../visible';
import { isLive, type Item, type Run, type RunLog, type Stage, type ToolItem } from './log';

/** A row of the view. */
export type RunNode =
  | { kind: 'session'; session: Session }
  | { kind: 'run'; run: Run }
  | { kind: 'stage'; run: Run; stage: Stage }
  | { kind: 'item'; run: Run; item: Item }
  | { kind: 'writing'; run: Run }
  | { kind: 'ending'; run: Run }
  | (DecisionNode & { kind: 'detail' });

/** At most this often does streaming redraw the view. */
const redrawEvery = 100;

/** The tree behind the view. */
export class RunsTree implements vscode.TreeDataProvider<RunNode>, vscode.Disposable {
  private readonly change = new vscode.EventEmitter<void>();
  private redraw: NodeJS.Timeout | undefined;
  /** Sessions of the past, which have no run in this window. */
  private past: readonly Session[] = [];

  readonly onDidChangeTreeData = this.change.event;

  /** `load` fetches the events of a past session into the log. */
  constructor(
    private readonly log: RunLog,
    private readonly load: (sessionId: string) => Promise<void>,
  ) {}

  dispose(): void {
    clearTimeout(this.redraw);
    this.change.dispose();
  }

  /** Redraws soon; many calls make one redraw. */
  refresh(): void {
    this.redraw ??= setTimeout(() => {
      this.redraw = undefined;
      this.change.fire();
    }, redrawEvery);
  }

  /** Sets the sessions that are known from before. */
  setPast(sessions: readonly Session[]): void {
    this.past = sessions;
    this.refresh();
  }

  /** A session that goes on in this window is not of the past any more. */
  wake(sessionId: string): void {
    if (this.past.some(session => session.sessionId === sessionId)) {
      this.past = this.past.filter(session => session.sessionId !== sessionId);
      this.refresh();
    }
  }

  async getChildren(node?: RunNode): Promise<RunNode[]> {
    if (node === undefined) {
      const past = new Set(this.past.map(session => session.sessionId));
      const runs = this.log.runs.filter(run => !past.has(run.sessionId) && !this.isChild(run)).reverse();
      return [...runs.map(run => ({ kind: 'run' as const, run })), ...this.past.map(session => ({ kind: 'session' as const, session }))];
    }
    switch (node.kind) {
      case 'session': {
        const { sessionId } = node.session;
        await this.load(sessionId);
        return this.log.runs.filter(run => run.sessionId === sessionId && !this.isChild(run)).map(run => ({ kind: 'run', run }));
      }
      case 'run':
        return this.partsOf(node.run);
      case 'stage':
        return node.stage.items.filter(item => !beneathTool(node.run, item)).map(item => ({ kind: 'item', run: node.run, item }));
      case 'item':
        return node.item.kind === 'decision' ? detailsOf(node.item.decision) : beneath(node.run, node.item).map(item => ({ kind: 'item', run: node.run, item }));
      default:
        return [];
    }
  }

  getTreeItem(node: RunNode): vscode.TreeItem {
    switch (node.kind) {
      case 'session':
        return sessionItem(node.session);
      case 'run':
        return runItem(node.run);
      case 'stage':
        return stageItem(node.run, node.stage);
      case 'item':
        return itemItem(node.run, node.item);
      case 'writing': {
        const item = new vscode.TreeItem(visibleLine(node.run.streaming.slice(-160), 160));
        item.iconPath = new vscode.ThemeIcon('loading~spin');
        item.description = 'writing';
        return item;
      }
      case 'ending': {
        const text = node.run.error ?? node.run.stopReason ?? '';
        const item = new vscode.TreeItem(visibleLine(text));
        item.iconPath = new vscode.ThemeIcon('error', new vscode.ThemeColor('list.errorForeground'));
        item.tooltip = visible(text);
        return item;
      }
      case 'detail': {
        const item = new vscode.TreeItem(node.label);
        item.description = node.description;
        item.iconPath = new vscode.ThemeIcon(node.icon);
        item.tooltip = node.tooltip;
        return item;
      }
    }
  }

  private isChild(run: Run): boolean {
    return run.parentRunId !== undefined && this.log.run(run.parentRunId) !== undefined;
  }

  private partsOf(run: Run): RunNode[] {
    const out: RunNode[] = run.stages.map(stage => ({ kind: 'stage', run, stage }));
    for (const child of this.log.runs) {
      if (child.parentRunId === run.runId) {
        out.push({ kind: 'run', run: child });
      }
    }
    if (run.streaming.trim() !== '') {
      out.push({ kind: 'writing', run });
    }
    if (run.status === 'failed' && (run.error ?? run.stopReason) !== undefined) {
      out.push({ kind: 'ending', run });
    }
    return out;
  }
}

/** What a run is doing, in a few words. */
export function doing(run: Run): string {
  if (run.status === 'waiting') {
    return run.waiting.size > 1 ? `${run.waiting.size} calls wait for you` : 'waits for you';
  }
  if (run.status !== 'running') {
    return run.status;
  }
  const stage = run.stages.at(-1);
  const tool = stage?.items.findLast((item): item is ToolItem => item.kind === 'tool' && item.outcome === undefined);
  const what = tool !== undefined ? visibleLine(tool.title, 60) : run.streaming === '' ? 'thinking' : 'writing';
  return [stage?.name ?? '', run.turn > 0 ? `turn ${run.turn}` : '', what].filter(part => part !== '').join(' · ');
}

const runIcons: Record<string, [icon: string, color?: string]> = {
  running: ['loading~spin'],
  waiting: ['bell-dot', 'list.warningForeground'],
  done: ['pass', 'testing.iconPassed'],
  failed: ['error', 'list.errorForeground'],
  cancelled: ['circle-slash'],
  interrupted: ['debug-pause', 'list.warningForeground'],
};

function statusIcon(status: string): vscode.ThemeIcon {
  const [icon, color] = runIcons[status] ?? ['question'];
  return new vscode.ThemeIcon(icon, color === undefined ? undefined : new vscode.ThemeColor(color));
}

function sessionItem(session: Session): vscode.TreeItem {
  const title = session.title === '' ? session.sessionId : session.title;
  const item = new vscode.TreeItem(visibleLine(title, 100), vscode.TreeItemCollapsibleState.Collapsed);
  item.id = `session ${session.sessionId}`;
  item.description = `${session.status} · ${ago(session.startedAt)}`;
  item.iconPath = statusIcon(session.status === 'done' ? 'past' : session.status);
  if (session.status === 'done') {
    item.iconPath = new vscode.ThemeIcon('history');
  }
  item.contextValue = `session:${session.status}`;
  item.tooltip = visible(title);
  return item;
}

function runItem(run: Run): vscode.TreeItem {
  const label = run.prompt === '' ? `run ${run.runId}` : run.prompt;
  const item = new vscode.TreeItem(
    visibleLine(label, 100),
    isLive(run) ? vscode.TreeItemCollapsibleState.Expanded : vscode.TreeItemCollapsibleState.Collapsed,
  );
  // A run that ends keeps its row as the user left it: the id does not change.
  item.id = `run ${run.runId}`;
  item.description = doing(run);
  item.iconPath = statusIcon(run.status);
  item.contextValue = `run:${isLive(run) ? 'running' : run.status}`;
  const tokens = run.total === undefined ? '' : `\n${run.total.input} tokens in, ${run.total.output} out${cost(run)}`;
  item.tooltip = visible(
    `${run.prompt}\n\nagent ${run.agent} · model ${run.model} · mode ${run.mode}\nsandbox: ${run.sandbox}${tokens}`,
  );
  return item;
}

function cost(run: Run): string {
  const spent = run.total?.cost;
  return spent === undefined ? '' : `, ${spent.amount.toFixed(4)} ${spent.currency}`;
}

function stageItem(run: Run, stage: Stage): vscode.TreeItem {
  const item = new vscode.TreeItem(
    stage.name === '' ? 'stage' : visibleLine(stage.name),
    stage.items.length === 0 ? vscode.TreeItemCollapsibleState.None : vscode.TreeItemCollapsibleState.Expanded,
  );
  item.id = `stage ${run.runId} ${run.stages.indexOf(stage)}`;
  const calls = stage.items.filter(one => one.kind === 'tool').length;
  const count = calls === 1 ? '1 call' : `${calls} calls`;
  item.description = stage.outcome === undefined ? count : `${count} · ${visibleLine(stage.outcome)}`;
  item.iconPath = new vscode.ThemeIcon('layers');
  return item;
}

function itemItem(run: Run, one: Item): vscode.TreeItem {
  switch (one.kind) {
    case 'decision':
      return decisionItem(one.decision);
    case 'tool':
      return toolItem(run, one);
    case 'message':
      return opening(run, one, visibleLine(one.text, 160), 'comment-discussion', visible(one.text));
    case 'notice':
      return opening(run, one, visibleLine(one.text, 160), one.level === 'info' ? 'info' : one.level === 'error' ? 'error' : 'warning', visible(one.text));
    case 'file': {
      const item = new vscode.TreeItem(`changed ${fileName(one.uri)}`);
      item.iconPath = new vscode.ThemeIcon('diff-modified');
      item.tooltip = visible(one.diff);
      item.command = { command: 'vscode.open', title: 'Open', arguments: [vscode.Uri.parse(one.uri)] };
      return item;
    }
  }
}

function toolItem(run: Run, tool: ToolItem): vscode.TreeItem {
  const item = opening(run, tool, visibleLine(tool.title, 120), toolIcon(run, tool), undefined);
  if (beneath(run, tool).length > 0) {
    item.collapsibleState = vscode.TreeItemCollapsibleState.Expanded;
  }
  item.id = `call ${run.runId} ${tool.callId}`;
  const time = tool.durationMs === undefined ? '' : ` · ${tool.durationMs} ms`;
  item.description = tool.outcome === undefined
    ? waits(run, tool) ? 'waits for you' : 'running'
    : `${visibleLine(tool.outcome)}${time}`;
  item.tooltip = visible(`${tool.tool} ${shortValue(tool.arguments, 1000)}\n\n${(tool.output ?? '').slice(0, 2000)}`);
  return item;
}

function toolIcon(run: Run, tool: ToolItem): string {
  if (tool.outcome === undefined) {
    return waits(run, tool) ? 'bell-dot' : isLive(run) ? 'loading~spin' : 'debug-pause';
  }
  return /^(ok|done|success|completed?|allowed)$/.test(tool.outcome) ? 'check' : 'close';
}

function waits(run: Run, tool: ToolItem): boolean {
  return [...run.waiting.values()].includes(tool.callId);
}

/** A row that opens the transcript where it is written. */
function opening(run: Run, one: Item, label: string, icon: string, tooltip: string | undefined): vscode.TreeItem {
  const item = new vscode.TreeItem(label);
  item.iconPath = new vscode.ThemeIcon(icon);
  if (tooltip !== undefined) {
    item.tooltip = tooltip;
  }
  item.command = { command: 'agent-ls.showTranscript', title: 'Show in the transcript', arguments: [{ kind: 'item', run, item: one }] };
  return item;
}

/** The call that a decision or a file change belongs to. */
function callOf(item: Item): string | undefined {
  switch (item.kind) {
    case 'decision':
      return item.decision.callId;
    case 'file':
      return item.callId;
    default:
      return undefined;
  }
}

/** What is shown below a call: the decisions about it and the files that it changed. */
function beneath(run: Run, item: Item): Item[] {
  if (item.kind !== 'tool') {
    return [];
  }
  return run.stages.flatMap(stage => stage.items).filter(other => callOf(other) === item.callId);
}

function beneathTool(run: Run, item: Item): boolean {
  const callId = callOf(item);
  return callId !== undefined
    && run.stages.some(stage => stage.items.some(other => other.kind === 'tool' && other.callId === callId));
}

/** 5 min ago. */
function ago(at: string): string {
  const minutes = Math.round((Date.now() - Date.parse(at)) / 60_000);
  if (!Number.isFinite(minutes) || minutes < 1) {
    return 'just now';
  }
  if (minutes < 60) {
    return `${minutes} min ago`;
  }
  return minutes < 60 * 24 ? `${Math.round(minutes / 60)} h ago` : `${Math.round(minutes / 60 / 24)} d ago`;
}
