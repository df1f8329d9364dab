// Start here. The parts are in parts.ts, who hears of what in wiring.ts, the
// messages in protocol.ts.

import * as vscode from 'vscode';
import { registerApprovalCommands } from './approvals/commands';
import { registerDecisionCommands } from './decisions/commands';
import { catchUp } from './missed';
import { Parts } from './parts';
import { registerRunCommands } from './runs/commands';
import { draw, react, receive } from './wiring';

let parts: Parts | undefined;

/** Returns the parts, for tests to look into. */
export function activate(context: vscode.ExtensionContext): Parts {
  const made = new Parts(context.extensionPath);
  parts = made;
  receive(made);
  context.subscriptions.push(
    made,
    react(made),
    registerRunCommands(made.server, made.runs, made.transcripts),
    registerDecisionCommands(made),
    registerApprovalCommands(made.approvals, made.review, made.threads, () =>
      vscode.commands.executeCommand('agent-ls.approvals.focus')),
    vscode.commands.registerCommand('agent-ls.showOutput', () => { made.output.show(); }),
    vscode.commands.registerCommand('agent-ls.restartServer', () => made.server.restart()),
    vscode.commands.registerCommand('agent-ls.refresh', async () => {
      await catchUp(made);
      draw(made);
    }),
  );
  draw(made);
  void made.server.start();
  return made;
}

/** Ends the server; open approvals stay open in its journal. */
export async function deactivate(): Promise<void> {
  await parts?.server.stop();
}
