// The commands of the Decisions view.

import * as vscode from 'vscode';
import { loadDecisions } from '../missed';
import type { Parts } from '../parts';
import type { Decision } from '../protocol';
import type { RunNode } from '../runs/view';
import { openPlace } from './open';
import type { DecisionFilter } from './view';

/** Registers the commands. */
export function registerDecisionCommands(parts: Parts): vscode.Disposable {
  return vscode.Disposable.from(
    vscode.commands.registerCommand('agent-ls.showDecisions', (target?: RunNode | DecisionFilter) => show(parts, filterOf(target))),
    vscode.commands.registerCommand('agent-ls.showDecisionsOfScript', () => {
      const uri = vscode.window.activeTextEditor?.document.uri.toString();
      return uri === undefined ? undefined : show(parts, { uri });
    }),
    vscode.commands.registerCommand('agent-ls.decisions.showAll', () => show(parts, {})),
    vscode.commands.registerCommand('agent-ls.decisions.open', (target: Decision | { decision: Decision }) =>
      openPlace('decision' in target ? target.decision : target)),
  );
}

function filterOf(target: RunNode | DecisionFilter | undefined): DecisionFilter {
  if (target === undefined) {
    return {};
  }
  if ('kind' in target) {
    return 'run' in target ? { runId: target.run.runId } : {};
  }
  return target;
}

/** Narrows the view and brings it to the front, with what was recorded before this window. */
async function show(parts: Parts, filter: DecisionFilter): Promise<void> {
  await loadDecisions(parts, filter);
  parts.decisionsTree.narrow(filter);
  const narrowed = parts.decisionsTree.narrowed;
  parts.decisionsView.description = narrowed ?? '';
  await vscode.commands.executeCommand('setContext', 'agent-ls.decisionsFiltered', narrowed !== undefined);
  await vscode.commands.executeCommand('agent-ls.decisions.focus');
}
