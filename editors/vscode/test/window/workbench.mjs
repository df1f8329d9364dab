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
    await this.pick('Control+p', name, name);
    await this.page.locator('.tabs-container .tab.active', { hasText: name }).waitFor();
  }

  /** Runs a command from the palette. */
  async command(title) {
    await this.pick('F1', `>${title}`, title);
  }

  /**
   * Opens a list by its key, narrows it down and takes a row. A list closes when the focus moves elsewhere, and a view that
   * opens late takes it: then this does what a user does, and presses the key again.
   */
  async pick(key, filter, row) {
    const wanted = this.page.locator('.quick-input-list .monaco-list-row', { hasText: row }).first();
    const tries = 9;
    for (let tried = 1; ; tried++) {
      try {
        await this.page.keyboard.press(key);
        await this.quickInput().fill(filter, { timeout: 10_000 });
        await wanted.click({ timeout: 10_000 });
        return;
      } catch (error) {
        if (tried === tries) {
          throw error;
        }
        await this.page.keyboard.press('Escape');
      }
    }
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
