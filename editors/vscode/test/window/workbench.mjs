// The hands and eyes of a user on the workbench.

import { join } from 'node:path';

/** A window on a folder, with a name for each picture that is taken of it. */
export class Workbench {
  constructor(page, shots) {
    this.page = page;
    this.shots = shots;
    // Far more than anything takes, but for a machine that has other things to do.
    page.setDefaultTimeout(90_000);
  }

  /** A picture for people to look at. */
  async shot(name) {
    await this.page.screenshot({ path: join(this.shots, `${name}.png`) });
  }

  /** Opens a file by its name. */
  async open(name) {
    await this.page.keyboard.press('Control+p');
    await this.quickInput().fill(name);
    await this.page.locator('.quick-input-list .monaco-list-row', { hasText: name }).first().click();
    await this.page.locator('.tabs-container .tab.active', { hasText: name }).waitFor();
  }

  /** Runs a command from the palette. */
  async command(title) {
    await this.page.keyboard.press('F1');
    await this.quickInput().fill(`>${title}`);
    await this.page.locator('.quick-input-list .monaco-list-row', { hasText: title }).first().click();
  }

  /** Types into the input box that a command opened, and accepts it. */
  async answerInput(title, text) {
    await this.page.locator('.quick-input-title', { hasText: title }).waitFor();
    await this.quickInput().fill(text);
    await this.page.keyboard.press('Enter');
  }

  quickInput() {
    return this.page.locator('.quick-input-widget input[type=text], .quick-input-widget .quick-input-box input').first();
  }

  /** The item of this extension in the status bar. */
  status() {
    return this.page.locator('[id="agent-ls.agent-ls.agent-ls.status"]');
  }

  /** A row of a tree view, by the view's name and a text in the row. */
  row(view, text) {
    return this.page.locator('.pane', { has: this.page.locator(`.pane-header[aria-label^="${view}"]`) })
      .locator('.monaco-list-row', { hasText: text }).first();
  }

  /** A notification that says a text. */
  toast(text) {
    return this.page.locator('.notification-toast', { hasText: text }).first();
  }

  /** The text of the line that the cursor is on, in the active editor. */
  async cursor() {
    return await this.page.locator('.statusbar-item', { hasText: /^Ln \d+/ }).innerText();
  }
}
