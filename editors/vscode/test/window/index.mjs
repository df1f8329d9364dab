// What a user sees, in a real window: each test drives one window and says after each step how it went. A step that fails
// leaves a picture, and ends its test.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Workbench } from './workbench.mjs';
import { openFolder } from '../../../testbed/vscode/browser.mjs';

export const windowTests = [
  { name: 'a trusted workspace', trust: true, test: steps(mainJob) },
  { name: 'a workspace that is not trusted', trust: false, test: steps(restricted) },
];

/** Makes a test of a list of steps: [what the user sees, how]. */
function steps(list) {
  return async ({ browser, base, workspace, shots, step }) => {
    const workbench = new Workbench(await openFolder(browser, base, workspace), shots);
    for (const [what, work] of list()) {
      try {
        await work(workbench, workspace);
        step(what);
      } catch (error) {
        await workbench.shot(`failed-${what.replace(/\W+/g, '-').slice(0, 60)}`);
        step(what, error);
        return;
      }
    }
  };
}

async function expectFile(workspace, path, pattern) {
  const end = Date.now() + 60_000;
  for (;;) {
    const text = await readFile(join(workspace, path), 'utf8');
    if (pattern.test(text)) {
      return;
    }
    if (Date.now() > end) {
      throw new Error(`${path} does not match ${pattern}:\n${text}`);
    }
    await new Promise(resolve => setTimeout(resolve, 50));
  }
}

function mainJob() {
  return [
    ['a mistake in a hook script is underlined', async wb => {
      await wb.open('draft.risor');
      await wb.page.locator('.squiggly-error').first().waitFor();
      await wb.page.locator('.squiggly-error').nth(1).waitFor();
      await wb.shot('inline-errors');
    }],
    ['hovering it says what is wrong', async wb => {
      await wb.page.locator('.view-line span', { hasText: /^tool_call/ }).first().hover();
      await wb.page.locator('.monaco-hover', { hasText: 'tool_calls' }).first().waitFor();
      await wb.shot('hover');
      await wb.page.keyboard.press('Escape');
    }],
    ['the Problems panel lists it', async wb => {
      await wb.command('Problems: Focus on Problems View');
      await wb.page.locator('.markers-panel .monaco-list-row', { hasText: 'unknown-field' }).first().waitFor();
      await wb.shot('problems');
      await wb.command('View: Hide Panel');
    }],
    ['a run is started from the palette and asks for its edit', async wb => {
      await wb.command('Agent: Start a Run');
      await wb.answerInput('Start a run', 'Fix the sum');
      await wb.toast('The agent asks').waitFor();
      await wb.status().filter({ hasText: '1 to approve' }).waitFor();
      await wb.shot('asks');
    }],
    ['the notification cannot allow an edit that was not seen', async wb => {
      const buttons = await wb.toast('The agent asks').locator('.monaco-button').allInnerTexts();
      if (buttons.some(text => /allow/i.test(text)) || !buttons.includes('Review')) {
        throw new Error(`the buttons are ${buttons.join(', ')}`);
      }
    }],
    ['reviewing it shows the diff and what hooks said beside it', async wb => {
      await wb.toast('The agent asks').locator('.monaco-button', { hasText: 'Review' }).click();
      await wb.page.locator('.monaco-diff-editor').waitFor();
      await wb.page.locator('.review-widget', { hasText: 'Asks because' }).waitFor();
      await wb.command('Agent: Focus on Approvals View');
      await wb.row('Approvals', 'always would cover').waitFor();
      await wb.row('Runs', 'edit calc.go').waitFor();
      await wb.shot('approval');
    }],
    ['the list of answers starts with the one that changes nothing', async (wb, workspace) => {
      await wb.command('Agent: Answer…');
      await wb.page.locator('.quick-input-list .monaco-list-row.focused', { hasText: 'Decide later' }).waitFor();
      await wb.shot('answers');
      await wb.page.keyboard.press('Enter');
      await wb.status().filter({ hasText: '1 to approve' }).waitFor();
      await expectFile(workspace, 'calc.go', /a - b/);
    }],
    ['allowing it in the diff changes the file', async (wb, workspace) => {
      await wb.page.locator('.editor-actions .action-label[aria-label^="Allow Once"]').first().click();
      await expectFile(workspace, 'calc.go', /a \+ b/);
      await wb.page.locator('.tab', { hasText: 'Approve?' }).waitFor({ state: 'detached' });
      await wb.row('Runs', 'Fix the sum').filter({ hasText: 'done' }).waitFor();
      await wb.shot('run-done');
    }],
    ['the decisions view goes to the line that decided', async wb => {
      await wb.command('Agent: Show Hook Decisions');
      await wb.row('Decisions', 'on_tool_call deny').click();
      await wb.page.locator('.tab.active', { hasText: 'guard.risor' }).waitFor();
      const line = Number(/\d+/.exec(await wb.cursor())[0]);
      const text = await wb.page.locator('.view-line', { hasText: 'action: "deny"' }).first().innerText();
      if (!(line > 1) || !text.includes('deny')) {
        throw new Error(`the cursor is on line ${line}`);
      }
      await wb.shot('decisions');
    }],
    ['a command is put as it is, with what a hook changed', async wb => {
      await wb.command('Agent: Start a Run');
      await wb.answerInput('Start a run', 'Say hello');
      await wb.toast('echo hello > hello.txt').waitFor();
      await wb.toast('echo hello > hello.txt').locator('.monaco-button', { hasText: 'Review' }).click();
      await wb.page.locator('.review-widget', { hasText: 'timeout_ms' }).waitFor();
      await wb.shot('command');
    }],
    ['a denial takes the reason along', async wb => {
      await wb.page.locator('.review-widget .review-thread-reply-button').click();
      await wb.page.keyboard.type('hello is not needed');
      await wb.shot('deny-with-reason');
      const buttons = await wb.page.locator('.review-widget .form-actions .monaco-button').allInnerTexts();
      if (buttons.join() !== 'Deny') {
        throw new Error(`a key could take the reason for a yes: ${buttons.join(', ')}`);
      }
      await wb.page.locator('.review-widget .form-actions .monaco-button', { hasText: 'Deny' }).click();
      await wb.status().filter({ hasText: '1 to approve' }).waitFor({ state: 'detached' });
      await wb.row('Runs', 'Say hello').filter({ hasText: 'done' }).waitFor();
    }],
    ['hunks are refused one by one', async (wb, workspace) => {
      await wb.command('Agent: Start a Run');
      await wb.answerInput('Start a run', 'Fix both totals');
      await wb.status().filter({ hasText: '1 to approve' }).click();
      await wb.page.locator('.monaco-diff-editor').waitFor();
      await wb.row('Approvals', 'hunk 2').locator('.monaco-checkbox').click();
      await wb.page.locator('.review-widget', { hasText: '1 of 2 taken in' }).waitFor();
      await wb.shot('hunks');
      await wb.page.locator('.editor-actions .action-label[aria-label^="Allow Once"]').first().click();
      await expectFile(workspace, 'totals.go', /sum \+= value[^]*sum -= value/);
    }],
  ];
}

function restricted() {
  return [
    ['the window is restricted', async wb => {
      await wb.page.locator('.statusbar-item', { hasText: 'Restricted Mode' }).waitFor();
    }],
    ['its hook scripts are checked', async wb => {
      await wb.open('draft.risor');
      await wb.page.locator('.squiggly-error').first().waitFor();
    }],
    ['nothing runs, and the view says why', async wb => {
      await wb.command('Agent: Focus on Runs View');
      await wb.page.locator('.welcome-view-content', { hasText: 'not trusted' }).first().waitFor();
      await wb.shot('untrusted');
    }],
  ];
}
