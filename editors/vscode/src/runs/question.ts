// agent/ask: a question of the agent's. Leaving it is "dismissed", which the
// agent is told.

import * as vscode from 'vscode';
import type { Question, QuestionAnswer } from '../protocol';
import { plainLabel, visibleLine } from '../visible';

/** Puts a question to the user. A request that the server takes back takes the question down. */
export async function askQuestion(question: Question, token: vscode.CancellationToken): Promise<QuestionAnswer> {
  const title = plainLabel(question.header, 100);
  const prompt = visibleLine(question.prompt, 500);
  const own = '$(edit) Answer in your own words…';
  const options = question.options ?? [];
  if (options.length > 0) {
    const rows: (vscode.QuickPickItem & { answer?: string })[] = options.map(option => ({
      label: plainLabel(option.label), detail: plainLabel(option.description ?? ''), answer: option.label,
    }));
    if (question.freeText === true) {
      rows.push({ label: own });
    }
    const picked = await vscode.window.showQuickPick(rows, { title, placeHolder: prompt, ignoreFocusOut: true }, token);
    if (picked === undefined) {
      return { dismissed: true };
    }
    if (picked.answer !== undefined) {
      return { answer: picked.answer };
    }
  }
  const answer = await vscode.window.showInputBox({ title, prompt, ignoreFocusOut: true }, token);
  return answer === undefined ? { dismissed: true } : { answer };
}
