// The status bar item: how many approvals are open, what runs do.

import * as vscode from 'vscode';
import { statusOf, type Standing } from './standing';

/** The item itself. */
export class StatusItem implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem('agent-ls.status', vscode.StatusBarAlignment.Left, 10);

  constructor() {
    this.item.name = 'Agent';
    this.item.show();
  }

  /** What it says now. */
  get text(): string {
    return this.item.text;
  }

  draw(standing: Standing): void {
    const { text, tooltip, command, warn } = statusOf(standing);
    this.item.text = text;
    this.item.tooltip = tooltip;
    this.item.command = command;
    this.item.backgroundColor = warn ? new vscode.ThemeColor('statusBarItem.warningBackground') : undefined;
    this.item.accessibilityInformation = { label: text.replace(/\$\([^)]*\)\s*/g, '') };
  }

  dispose(): void {
    this.item.dispose();
  }
}
