// Compares the results of the client scenarios with expected.json: node judge.mjs RESULTS EXPECTED SCENARIO...
// What fails without being listed, and what is listed and does not fail, is wrong.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const [results, expectedPath, ...scenarios] = process.argv.slice(2);
const expected = JSON.parse(readFileSync(expectedPath, 'utf8'));
// Under load a client that waited as told can come too late for the scenario's clock; too early is a failure, and stays one.
const mayBeLate = 'client-sse-retry-timing';

const folders = readdirSync(results, { recursive: true }).filter(f => f.endsWith('checks.json')).map(f => f.slice(0, -'/checks.json'.length));
const problems = [];
let passed = 0;
for (const name of Object.keys(expected)) {
  if (!scenarios.includes(name)) problems.push(`${name} is expected to fail, but is no scenario`);
}
if (scenarios.length < 20) problems.push(`only ${scenarios.length} scenarios are listed`);
for (const name of scenarios) {
  const found = folders.filter(f => f.replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, '') === name);
  const wrong = found.length === 1 ? judge(name, join(results, found[0])) : [`it has ${found.length} results`];
  if (wrong.length === 0) {
    passed++;
    const why = expected[name]?.why;
    console.log(why ? `~ ${name}: as listed. ${why}` : `✓ ${name}`);
  } else {
    problems.push(...wrong.map(w => `${name}: ${w}`));
  }
}

function judge(name, folder) {
  const { checks: listed = [], call = 'works' } = expected[name] ?? {};
  const checks = JSON.parse(readFileSync(join(folder, 'checks.json'), 'utf8'));
  const bad = checks.filter(c => c.status === 'FAILURE' || (c.status === 'WARNING' && c.id !== mayBeLate));
  const wrong = bad.filter(c => !listed.includes(c.id)).map(c => `${c.status} of ${c.id}: ${c.errorMessage ?? c.description}`);
  for (const id of listed) {
    if (!bad.some(c => c.id === id)) wrong.push(`${id} is expected to fail, and does not`);
  }
  if (listed.length === 0 && !checks.some(c => c.status === 'SUCCESS')) wrong.push('no check of it succeeded');
  const said = readFileSync(join(folder, 'stdout.txt'), 'utf8').trimEnd().split('\n').at(-1);
  if (said !== `the call ${call}`) wrong.push(`wanted "the call ${call}", the client's last line is: ${said}`);
  if (wrong.length) console.log(readFileSync(join(folder, 'stdout.txt'), 'utf8'), readFileSync(join(folder, 'stderr.txt'), 'utf8'));
  return wrong;
}

for (const p of problems) console.log(`✗ ${p}`);
console.log(`${passed} passed, ${problems.length} failed`);
process.exitCode = problems.length ? 1 : 0;
