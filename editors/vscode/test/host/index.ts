// Runs in the extension host of a real VS Code, on a copy of test/workspace,
// against the real server. The result goes to the file that the lane names.

import { appendFileSync, writeFileSync } from 'node:fs';
import Mocha from 'mocha';

/** Called by VS Code. Rejects when a test failed. */
export async function run(): Promise<void> {
  const report = process.env.AGENT_LS_TEST_REPORT ?? '';
  const log = (line: string): void => { appendFileSync(report, `${line}\n`); };
  writeFileSync(report, '');
  const only = process.env.AGENT_LS_TEST_ONLY ?? '';
  const mocha = new Mocha({ ui: 'tdd', timeout: 90_000, reporter: Mocha.reporters.Base, ...(only === '' ? {} : { grep: only }) });
  mocha.suite.emit('pre-require', globalThis, '', mocha);
  await import('./language.test');
  await import('./run.test');
  await import('./approval.test');
  await import('./decisions.test');
  await import('./server.test');
  const failed = await new Promise<number>(resolve => {
    mocha
      .run(resolve)
      .on('pass', test => { log(`ok ${test.duration ?? 0} ms ${test.fullTitle()}`); })
      .on('fail', (test, error: Error) => { log(`not ok ${test.fullTitle()}\n${error.stack ?? error.message}`); });
  });
  if (failed > 0) {
    throw new Error(`${failed} failed`);
  }
}
